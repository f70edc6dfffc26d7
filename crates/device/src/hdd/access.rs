//! One access to the platter, in parts.

use penstock_core::{Op, Span};

/// An access, part by part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Its operation. The access of a write that was answered earlier is a write too.
    pub op: Op,
    /// Time from the request's arrival until the arm begins to move: the command overhead. For an
    /// access that is only computed, also the rest of the turnaround.
    pub overhead: Span,
    /// Time of arm, head switch and settling, to the first track.
    pub seek: Span,
    /// Wait until the first wanted sector comes round; for a write, also until its data has
    /// arrived.
    pub rotation: Span,
    /// Time from then until the last wanted sector has passed, switches between tracks included.
    pub transfer: Span,
    /// Time on the bus after the last sector has passed, and to report that the command is done.
    pub bus: Span,
    /// Cylinder from which the arm moves.
    pub from: u32,
    /// Cylinder of the first track.
    pub to: u32,
    /// The arm after the access.
    pub(super) arm: Arm,
}

impl Access {
    /// Creates the access of a disk with cylinders only; `from`, `to` and `last` are those of the
    /// arm before it, of its first and of its last track.
    pub(crate) fn over_cylinders(
        op: Op,
        [seek, rotation, transfer]: [Span; 3],
        [from, to, last]: [u32; 3],
    ) -> Self {
        let arm = Arm { cylinder: last, head: 0 };
        let [overhead, bus] = [Span::ZERO; 2];
        Self { op, overhead, seek, rotation, transfer, bus, from, to, arm }
    }

    /// Whether the command needed no platter and cost only its overhead.
    pub fn is_decoding(&self) -> bool {
        self.service() == self.overhead
    }

    /// Cylinder where it ends; with the cache, the cylinder where its first track ends.
    pub fn last(&self) -> u32 {
        self.arm.cylinder
    }

    /// The sum of its parts.
    pub fn service(&self) -> Span {
        self.overhead + self.seek + self.rotation + self.transfer + self.bus
    }
}

/// Position of arm and head.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Arm {
    pub(super) cylinder: u32,
    pub(super) head: u32,
}
