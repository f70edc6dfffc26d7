//! Past the page cache of the machine, or through it: a file is open once for each way.

use std::fs::File;
use std::sync::Arc;

use rustix::fs::{Advice, fadvise};

use crate::engine::error::EngineError;
use crate::targets::Target;

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

/// The order in which commands go through the page cache, as the kernel is advised of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// The kernel is not advised.
    #[default]
    Unknown,
    /// One behind the other: it may read far ahead.
    Sequential,
    /// Anywhere: it reads nothing ahead.
    Random,
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

impl Order {
    fn of_file(self) -> Advice {
        match self {
            Self::Unknown => Advice::Normal,
            Self::Sequential => Advice::Sequential,
            Self::Random => Advice::Random,
        }
    }

    /// The same for pages in memory.
    pub(crate) fn of_pages(self) -> rustix::mm::Advice {
        match self {
            Self::Unknown => rustix::mm::Advice::Normal,
            Self::Sequential => rustix::mm::Advice::Sequential,
            Self::Random => rustix::mm::Advice::Random,
        }
    }
}

impl Caching {
    /// The open files of `targets`, their own ones first, and which of them each uses; the kernel is advised of
    /// their `order` in the page cache.
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
                // Advice: a file system that takes none reads ahead as it does anyway.
                let _ = fadvise(&buffered, 0, None, order.of_file());
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
