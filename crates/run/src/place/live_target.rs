//! A real target and how it is driven.

use std::path::Path;
use std::sync::Arc;

use penstock_jobs::Job;
use penstock_live::{Contents, Engine, Target};

use crate::ask::candidate::Chosen;
use crate::ask::engines::RunEngine;
use crate::ask::target_options::TargetOptions;
use crate::failure::Failure;
use crate::place::block::BlockServer;
use crate::place::target::{self, Creation, Named};

/// A real target and how it is driven.
#[derive(Clone)]
pub(crate) struct Live {
    pub(crate) target: Target,
    engine: RunEngine,
    /// The path as the user wrote it.
    pub(crate) path: String,
    /// Whether this session made its file and no run has taken place on it yet.
    made: bool,
    /// The words of the command that serves it as a block device.
    server_words: Vec<String>,
    /// The process that serves it, if it is a model.
    pub(crate) server: Option<Arc<BlockServer>>,
}

impl Live {
    /// Opens the target at `path` behind `engine`; makes it if `options` say so and `jobs` fit it.
    ///
    /// # Errors
    /// Fails as [`target::open`] does.
    pub(crate) fn open(
        path: &str,
        jobs: &[&Job],
        engine: RunEngine,
        options: &TargetOptions,
        progress: &mut Creation<'_>,
    ) -> Result<Self, Failure> {
        let Named { target, made } = target::open(path, jobs, options, progress)?;
        let server_words = options.server.clone();
        Ok(Self { target, engine, path: path.into(), made, server_words, server: None })
    }

    /// Opens the device of `server`, called `name` in results, behind `engine`.
    ///
    /// # Errors
    /// The device cannot be opened.
    pub(crate) fn served(
        name: &str,
        server: BlockServer,
        engine: RunEngine,
    ) -> Result<Self, Failure> {
        let node = server.node();
        let named = node.to_string_lossy();
        let target = Target::open_device(node, Some(&named), Contents::Empty)?;
        let (server_words, server) = (Vec::new(), Some(Arc::new(server)));
        Ok(Self { target, engine, path: name.into(), made: false, server_words, server })
    }

    /// Opens the device at `node`, over which another process serves `live`, behind its engine and under its name.
    ///
    /// # Errors
    /// The device cannot be opened.
    pub(crate) fn over(live: &Self, node: &Path) -> Result<Self, Failure> {
        let target = Target::open_device(node, None, Contents::Kept)?;
        Ok(Self { target, server: None, ..live.clone() })
    }

    /// The words of the command that serves it as a block device.
    pub(crate) fn server_words(&self) -> &[String] {
        &self.server_words
    }

    /// The engine that drives it behind a Penstock policy.
    pub(crate) fn engine(&self) -> Engine {
        self.engine.engine
    }

    /// The engine of a thread that runs without a policy; `named` is the engine that its agents
    /// name.
    pub(crate) fn engine_of(&self, named: Option<Engine>) -> Engine {
        self.engine.of_thread(named)
    }

    /// Checks that one engine serves `job` under `policies`.
    ///
    /// # Errors
    /// The agents name different engines.
    pub(crate) fn check_engine(&self, job: &Job, policies: &[Chosen]) -> Result<(), Failure> {
        self.engine.check_one(job, policies)
    }

    /// The part of the target that `job` views.
    ///
    /// # Errors
    /// A view that does not fit.
    pub(crate) fn viewed(&self, job: &Job) -> Result<Self, Failure> {
        Ok(Self { target: target::viewed(&self.target, job)?, ..self.clone() })
    }

    /// Whether `job` names this target for its files.
    pub(crate) fn is_of_files(&self, job: &Job) -> bool {
        let files = job.workload.file_targets().unwrap_or_default();
        !files.is_empty() && files.iter().all(|file| file.path == self.path)
    }

    /// Its capacity and its block size in bytes.
    pub(crate) fn size(&self) -> (u64, u32) {
        (self.target.capacity(), self.target.block())
    }

    /// Keeps its file from now on, even if later runs fail.
    pub(crate) fn keep(&mut self) {
        self.made = false;
    }

    /// Removes its file if it was made for runs that did not take place: wrong input leaves nothing
    /// behind. A file that another program has put there meanwhile stays.
    pub(crate) fn discard(&self) {
        if self.made {
            self.target.remove_file();
        }
    }
}
