//! One access to the platter, in parts.

use penstock_core::{Op, Span};

/// One access, part by part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// What it does. An access of a write's that was answered before is a write too.
    pub op: Op,
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
    /// Cylinder from which the arm moves.
    pub from: u32,
    /// Cylinder of the first track.
    pub to: u32,
    /// The arm after the access.
    pub(super) arm: Arm,
}

impl Access {
    /// The access of a disk of which nothing is known but its cylinders: from where, to where, and where
    /// it ends.
    pub(crate) fn of_cylinders(
        op: Op,
        [seek, rotation, transfer]: [Span; 3],
        [from, to, last]: [u32; 3],
    ) -> Self {
        let arm = Arm { cylinder: last, head: 0 };
        let [overhead, bus] = [Span::ZERO; 2];
        Self { op, overhead, seek, rotation, transfer, bus, from, to, arm }
    }

    /// Whether the command needed nothing of the platter and cost its overhead alone.
    pub fn is_decoding(&self) -> bool {
        self.service() == self.overhead
    }

    /// Cylinder where it ends; with the cache, where its first track does.
    pub fn last(&self) -> u32 {
        self.arm.cylinder
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
