//! Direct and buffered I/O: a file is open once for each of the two.

use std::fs::File;
use std::sync::Arc;

use rustix::fs::{Advice, fadvise};

use crate::engine::error::EngineError;
use crate::targets::Target;

/// Whether the commands of a stage go through the page cache of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Caching {
    /// All bypass it.
    Direct,
    /// All go through it.
    Buffered,
    /// Commands that are [buffered](penstock_core::Flags::BUFFERED) go through it, and the others bypass it.
    Mixed,
}

/// The order of buffered commands, as advice to the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// The kernel gets no advice.
    #[default]
    Unknown,
    /// Sequential: the kernel may read far ahead.
    Sequential,
    /// Random: the kernel reads nothing ahead.
    Random,
}

/// Indices of the open files that the commands of a target go to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneFiles {
    /// The target's own file, which gets discards because it holds a block device exclusively.
    pub(crate) own: u32,
    /// The file of direct transfers.
    pub(crate) direct: u32,
    /// The file of buffered transfers.
    pub(crate) buffered: u32,
}

impl LaneFiles {
    /// Returns the indices where one file does everything.
    pub(crate) const fn one(number: u32) -> Self {
        Self { own: number, direct: number, buffered: number }
    }
}

impl Order {
    /// Returns the advice for a file.
    fn file_advice(self) -> Advice {
        match self {
            Self::Unknown => Advice::Normal,
            Self::Sequential => Advice::Sequential,
            Self::Random => Advice::Random,
        }
    }

    /// Returns the advice for mapped pages.
    pub(crate) fn page_advice(self) -> rustix::mm::Advice {
        match self {
            Self::Unknown => rustix::mm::Advice::Normal,
            Self::Sequential => rustix::mm::Advice::Sequential,
            Self::Random => rustix::mm::Advice::Random,
        }
    }
}

impl Caching {
    /// Opens the files of `targets`. Returns the open files, the targets' own ones first, and the files of each target. The
    /// kernel is told the `order` of buffered commands.
    pub(crate) fn open(
        self,
        targets: &[Target],
        order: Order,
    ) -> Result<(Vec<Arc<File>>, Vec<LaneFiles>), EngineError> {
        let mut files: Vec<_> = targets.iter().map(|target| Arc::clone(target.file())).collect();
        let own = files.len() as u32;
        if self != Self::Direct {
            for target in targets {
                let buffered = target.buffered().map_err(|source| {
                    let doing = "open the target through the page cache";
                    EngineError::System { doing, source }
                })?;
                // A file system may ignore advice: then it reads ahead as usual.
                let _ = fadvise(&buffered, 0, None, order.file_advice());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::residency::resident;

    #[test]
    fn the_kernel_reads_ahead_as_it_is_advised() {
        let path = std::env::temp_dir().join(format!("penstock-advised-{}", std::process::id()));
        let target = Target::open(&path, Some(8 << 20)).unwrap();
        let read = |order| {
            target.drop_cached().unwrap();
            let (files, lanes) =
                Caching::Buffered.open(std::slice::from_ref(&target), order).unwrap();
            let file = &files[lanes[0].buffered as usize];
            rustix::io::pread(file, &mut [0_u8; 1], 0).unwrap();
            resident(file, 0, 8 << 20).unwrap()
        };
        assert_eq!(read(Order::Random), 4096);
        let (unknown, sequential) = (read(Order::Unknown), read(Order::Sequential));
        assert!(unknown.min(sequential) > 4096, "{unknown} and {sequential} bytes");
        std::fs::remove_file(&path).unwrap();
    }
}
