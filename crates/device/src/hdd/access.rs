//! One access to the platter, in parts.

use penstock_core::Span;

/// One access, part by part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// From the request's arrival until the arm begins to move: the command overhead. Of an access
    /// that is only computed, also the rest of the turnaround.
    pub overhead: Span,
    /// Arm, head switch and settling, to the first track.
    pub seek: Span,
    /// Until the first wanted sector comes round; for a write, until its data has arrived too.
    pub rotation: Span,
    /// From there until the last wanted sector has passed, switches between tracks included.
    pub transfer: Span,
    /// Time on the bus after the last sector has passed, and to report that the command is done.
    pub bus: Span,
    /// Cylinders that the arm moved to the first track.
    pub distance: u32,
    /// The arm after the access.
    pub(super) arm: Arm,
}

impl Access {
    /// Whether the command needed nothing of the platter and cost its overhead alone.
    pub fn is_decoding(&self) -> bool {
        self.service() == self.overhead
    }

    /// The sum of its parts.
    pub fn service(&self) -> Span {
        self.overhead + self.seek + self.rotation + self.transfer + self.bus
    }
}

/// Where arm and head stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Arm {
    pub(super) cylinder: u32,
    pub(super) head: u32,
}
