//! Ways in which commands reach the kernel.

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

/// How commands reach the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// One ring, registered files and buffers.
    Uring,
    /// Linux's older asynchronous calls.
    Aio,
    /// A blocking call on a worker thread for each command in flight.
    Threads,
    /// The C library's asynchronous calls.
    PosixAio,
    /// A blocking call on the thread of the loop.
    Psync,
    /// The same, one for all commands that lie behind each other.
    Vsync,
    /// Copies from and to the pages of a mapped file.
    Mmap,
}

impl Engine {
    /// Every engine, the one to prefer first.
    pub const ALL: [Self; 7] = [
        Self::Uring,
        Self::Aio,
        Self::Threads,
        Self::PosixAio,
        Self::Psync,
        Self::Vsync,
        Self::Mmap,
    ];

    /// The name by which a person chooses it.
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

    /// The engine of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// Whether its calls block the thread of the loop.
    pub const fn is_blocking(self) -> bool {
        matches!(self, Self::Psync | Self::Vsync | Self::Mmap)
    }

    /// Whether its calls return before their commands are done.
    pub const fn is_asynchronous(self) -> bool {
        matches!(self, Self::Uring | Self::Aio | Self::PosixAio)
    }

    /// Whether other threads can end its waits, and its calls never block the loop.
    pub const fn can_be_woken(self) -> bool {
        matches!(self, Self::Uring | Self::Threads)
    }

    /// Whether its transfers can be refused where they would have to wait.
    pub const fn has_nowait(self) -> bool {
        !matches!(self, Self::PosixAio | Self::Mmap)
    }

    /// Whether it can go past the page cache.
    pub const fn can_be_direct(self) -> bool {
        !matches!(self, Self::Mmap)
    }
}
