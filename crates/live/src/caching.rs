//! Past the page cache of the machine, or through it: a file is open once for each way.

use std::fs::File;
use std::sync::Arc;

use crate::error::EngineError;
use crate::target::Target;

/// How commands go to the files of a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Caching {
    /// All of them past the page cache.
    Direct,
    /// All of them through it.
    Buffered,
    /// Those that are [buffered](penstock_core::Flags::BUFFERED) through it, and the others past it.
    Mixed,
}

/// The numbers of the open files that the commands of a target go to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneFiles {
    /// Of the target's own, which alone may discard: it holds a block device exclusively.
    pub(crate) own: u32,
    /// Of direct transfers.
    pub(crate) direct: u32,
    /// Of buffered ones.
    pub(crate) buffered: u32,
}

impl LaneFiles {
    /// One file for everything.
    pub(crate) const fn one(number: u32) -> Self {
        Self { own: number, direct: number, buffered: number }
    }
}

impl Caching {
    /// The open files of `targets`, their own ones first, and which of them each uses.
    pub(crate) fn open(
        self,
        targets: &[Target],
    ) -> Result<(Vec<Arc<File>>, Vec<LaneFiles>), EngineError> {
        let mut files: Vec<_> = targets.iter().map(|target| Arc::clone(target.file())).collect();
        let own = files.len() as u32;
        if self != Self::Direct {
            for target in targets {
                let buffered = target.buffered().map_err(|source| {
                    let doing = "open the target through the page cache";
                    EngineError::System { doing, source }
                })?;
                files.push(Arc::new(buffered));
            }
        }
        let lane = |number: u32| {
            let buffered = own + number;
            match self {
                Self::Direct => LaneFiles::one(number),
                Self::Buffered => LaneFiles { own: number, ..LaneFiles::one(buffered) },
                Self::Mixed => LaneFiles { buffered, ..LaneFiles::one(number) },
            }
        };
        Ok((files, (0..own).map(lane).collect()))
    }
}
