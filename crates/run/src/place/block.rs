//! A model that another process of ours serves as a block device for the time of a session.
//!
//! In a process of its own the model answers even if this one is killed while it waits for the device:
//! the other takes the device down when it sees the end of its standard input.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use penstock_jobs::params;
use penstock_live::Target;
use penstock_live::queue_settings::{SchedulerStep, Setting};
use penstock_policy::Params;
use serde::Deserialize;

use crate::failure::Failure;
use crate::result::ServedReport;

/// The process that serves a model. Dropping it takes the device down.
pub(crate) struct BlockServer {
    child: Child,
    ready: Ready,
}

/// The first line of the process.
#[derive(Deserialize)]
struct Ready {
    node: PathBuf,
    /// The file with the report; a real target has none.
    #[serde(default)]
    report: PathBuf,
}

impl BlockServer {
    /// Starts `server`, the words of the command that serves a device, for `device`.
    ///
    /// # Errors
    /// The failure of the command, with its exit code.
    pub(crate) fn start(server: &[String], device: &str) -> Result<Self, Failure> {
        Self::spawn(server, &[device.into()])
    }

    /// Starts `server` for `target`, which this process keeps open and locked, with the policy called `policy` and
    /// `params` between; with at most `in_flight` commands at the target, and as many as `depth` at the device.
    ///
    /// # Errors
    /// The failure of the command, with its exit code.
    pub(crate) fn over(
        server: &[String],
        target: &Target,
        (policy, params): (&str, &Params),
        (in_flight, depth): (u32, Option<u32>),
    ) -> Result<Self, Failure> {
        let (file, start, len) = target.to_lend();
        let path = target.path().to_string_lossy().into_owned();
        let lent = format!("{},{start},{len}", file.display());
        let mut words = vec![path, "--policy".into(), policy.into(), "--lent".into(), lent];
        words.extend(["--in-flight".into(), in_flight.to_string()]);
        words.extend(depth.into_iter().flat_map(|depth| ["--depth".into(), depth.to_string()]));
        let sets = params::arguments(params).into_iter();
        words.extend(sets.flat_map(|set| ["--set".into(), format!("{policy}.{set}")]));
        Self::spawn(server, &words)
    }

    fn spawn(server: &[String], served: &[String]) -> Result<Self, Failure> {
        let Some((program, words)) = server.split_first() else {
            let message = format!("{} needs a command that serves it", served[0]);
            return Err(Failure::wrong(
                message,
                "use the command `penstock`, or its Python package",
            ));
        };
        let mut child = Command::new(program)
            .args(words)
            .args(served)
            .args(["--json", "--until-stdin-ends"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Failure::here("start the process that serves it", &error))?;
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        let read = BufReader::new(stdout).read_line(&mut line);
        match read.ok().and_then(|_| serde_json::from_str(&line).ok()) {
            Some(ready) => Ok(Self { child, ready }),
            None => Err(failed(child)),
        }
    }

    /// Its node, as `/dev/loop3`.
    pub(crate) fn node(&self) -> &Path {
        &self.ready.node
    }

    /// Begins the report on its lateness anew.
    ///
    /// # Errors
    /// The process has ended.
    pub(crate) fn reset(&self) -> Result<(), Failure> {
        let reset = File::options().write(true).truncate(true).open(&self.ready.report);
        reset.map(drop).map_err(|error| self.gone(&error))
    }

    /// Its report since the reset.
    ///
    /// # Errors
    /// The process has ended.
    pub(crate) fn report(&self) -> Result<ServedReport, Failure> {
        let text =
            std::fs::read_to_string(&self.ready.report).map_err(|error| self.gone(&error))?;
        serde_json::from_str(&text).map_err(|error| self.gone(&error))
    }

    fn gone(&self, why: &dyn std::fmt::Display) -> Failure {
        Failure::run(format_args!("{}: its server does not answer: {why}", self.node().display()))
    }
}

/// The failure of a process that has not begun to serve.
fn failed(mut child: Child) -> Failure {
    drop(child.stdin.take());
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = stderr.read_to_string(&mut said);
    }
    let code = child.wait().ok().and_then(|status| status.code());
    let code = code.and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0);
    Failure::said(&said, code.unwrap_or(1))
}

impl Drop for BlockServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The first step of the settings of a served device: as many requests at once as the job says.
pub(crate) fn depth(depth: Option<u32>) -> SchedulerStep {
    let settings = depth.map(|depth| Setting::new("nr_requests", depth.to_string()));
    SchedulerStep { scheduler: "none".into(), settings: settings.into_iter().collect() }
}
