//! Ways in which commands reach the kernel.

/// How commands reach the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// One ring, registered files and buffers.
    Uring,
    /// Linux's older asynchronous calls.
    Aio,
    /// A blocking call on a worker thread for each command in flight.
    Threads,
}

impl Engine {
    /// Every engine, the one to prefer first.
    pub const ALL: [Self; 3] = [Self::Uring, Self::Aio, Self::Threads];

    /// The name by which a person chooses it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uring => "io_uring",
            Self::Aio => "libaio",
            Self::Threads => "threads",
        }
    }

    /// The engine of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }
}
