//! Engines: the ways in which commands reach the kernel.

pub(crate) mod blocking;
pub(crate) mod buffers;
pub(crate) mod call_flags;
pub(crate) mod driver;
pub(crate) mod error;
pub(crate) mod faults;
pub(crate) mod idle;
pub(crate) mod libaio;
pub(crate) mod mapped;
pub(crate) mod posix_aio;
pub(crate) mod psync;
pub(crate) mod refusals;
pub(crate) mod threads;
pub(crate) mod uring;
pub(crate) mod vsync;

/// A way in which commands reach the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// io_uring: one ring, with registered files and buffers.
    Uring,
    /// Linux's older asynchronous calls (`io_submit`).
    Aio,
    /// A blocking call on a worker thread for each command in flight.
    Threads,
    /// The C library's asynchronous calls (`aio_read`).
    PosixAio,
    /// A blocking call per command on the thread of the loop.
    Psync,
    /// A blocking call per run of adjacent commands on the thread of the loop.
    Vsync,
    /// Copies from and to the pages of a mapped file.
    Mmap,
}

impl Engine {
    /// Every engine, in order of preference.
    pub const ALL: [Self; 7] = [
        Self::Uring,
        Self::Aio,
        Self::Threads,
        Self::PosixAio,
        Self::Psync,
        Self::Vsync,
        Self::Mmap,
    ];

    /// The name that users choose it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uring => "io_uring",
            Self::Aio => "libaio",
            Self::Threads => "threads",
            Self::PosixAio => "posix-aio",
            Self::Psync => "psync",
            Self::Vsync => "vsync",
            Self::Mmap => "mmap",
        }
    }

    /// Returns the engine called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// Returns whether its calls block the thread of the loop.
    pub const fn is_blocking(self) -> bool {
        matches!(self, Self::Psync | Self::Vsync | Self::Mmap)
    }

    /// Returns whether its calls return before their commands are done.
    pub const fn is_asynchronous(self) -> bool {
        matches!(self, Self::Uring | Self::Aio | Self::PosixAio)
    }

    /// Returns whether other threads can end its waits and its calls never block the loop.
    pub const fn can_be_woken(self) -> bool {
        matches!(self, Self::Uring | Self::Threads)
    }

    /// Returns whether it can make transfers fail where they would have to wait (`RWF_NOWAIT`).
    pub const fn has_nowait(self) -> bool {
        !matches!(self, Self::PosixAio | Self::Mmap)
    }

    /// Returns whether it can bypass the page cache.
    pub const fn can_be_direct(self) -> bool {
        !matches!(self, Self::Mmap)
    }
}
