//! Requests of an application to a gate.

use super::{Draw, policies};

/// A gate and the requests to it.
#[derive(Clone, Debug)]
pub struct GateCase {
    /// Size and owner of its files.
    pub files: Vec<(u64, Owner)>,
    /// The policy, with its parameters.
    pub policy: String,
    /// The length of pieces, if requests are split.
    pub split: Option<u64>,
    /// Commands in flight.
    pub depth: u32,
    /// Whether its engine is `threads`.
    pub threads: bool,
    /// The keys of a model in front of the file, if there is one; it may fail.
    pub model: Option<String>,
    /// Requests one after another, or in parallel: then no two share a byte.
    pub asked: Asked,
}

/// The owner of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// Made by Penstock.
    Penstock,
    /// The application's: the file existed before, and may grow.
    Application,
}

/// The requests.
#[derive(Clone, Debug)]
pub enum Asked {
    /// In this order.
    InTurn(Vec<Order>),
    /// Writes of equal length, one behind the other, by several threads.
    SideBySide {
        /// Bytes of a write.
        each: u64,
        /// Number of writes.
        count: u64,
        /// Threads that write.
        threads: u64,
    },
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub enum Order {
    /// Writes bytes at a place, durable or not.
    Write(u32, u64, u64, bool),
    /// Reads bytes at a place.
    Read(u32, u64, u64),
    /// Makes all earlier writes durable.
    Flush(u32),
}

/// Bytes of a file that Penstock made.
const SIZE: u64 = 256 << 10;

impl GateCase {
    /// Returns the case that `bytes` encode.
    pub fn of(bytes: &[u8]) -> Self {
        let draw = &mut Draw::new(bytes);
        let model = draw.one_in(2).then(|| model(draw));
        let count = if model.is_some() { 1 } else { draw.between(1, 3) };
        let file = |draw: &mut Draw<'_>| {
            if draw.one_in(2) {
                (draw.magnitude(0, 20_000), Owner::Application)
            } else {
                (SIZE, Owner::Penstock)
            }
        };
        let files = (0..count).map(|_| file(draw)).collect();
        let split = draw.one_in(2).then(|| draw.pick(&[4_096, 1_000, 10_000, 1 << 16]));
        let policy = match split {
            Some(_) => "size-priority".into(),
            None => policies::some(draw).swap_remove(0),
        };
        let depth = draw.pick(&[1, 2, 8, 32]);
        let threads = draw.one_in(2);
        let asked = if draw.one_in(4) {
            let (each, count) = (draw.pick(&[700, 512, 4_096, 9_000]), draw.between(1, 24));
            Asked::SideBySide { each, count, threads: draw.between(2, 4) }
        } else {
            let count = draw.between(1, 24);
            Asked::InTurn((0..count).map(|_| order(draw)).collect())
        };
        Self { files, policy, split, depth, threads, model, asked }
    }
}

/// Draws a model that answers within microseconds, and sometimes fails.
fn model(draw: &mut Draw<'_>) -> String {
    let (base, depth) = (draw.pick(&[1, 20]), draw.pick(&[1, 4, 32]));
    let errors = draw.pick(&["10%", "0%", "50%", "100%"]);
    let stalls = draw.pick(&["", ", stalls = \"20%\", stall = \"100us\""]);
    format!(
        "model = \"fixed\"\nbase = \"{base}us\"\ndepth = {depth}\nfaults = {{ errors = \
         \"{errors}\"{stalls} }}\n"
    )
}

fn order(draw: &mut Draw<'_>) -> Order {
    // Sometimes the file is missing, or the place behind its end.
    let file = draw.pick(&[0, 0, 0, 1, 2]);
    let at = draw.magnitude(0, SIZE + 10);
    let len = match draw.between(0, 2) {
        0 => draw.between(0, 600),
        1 => draw.between(0, 9_000),
        _ => draw.magnitude(0, SIZE),
    };
    match draw.between(0, 7) {
        0..=4 => Order::Write(file, at, len, draw.one_in(2)),
        5 | 6 => Order::Read(file, at, len),
        _ => Order::Flush(file),
    }
}
