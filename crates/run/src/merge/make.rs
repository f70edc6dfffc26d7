//! Runs to be merged, where there are none: lines with random keys.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use penstock_core::{Rng, Seed};
use penstock_live::Output;
use penstock_workload::merge::{Depletion, DepletionOrder, Shape};
use rand::RngExt;

use crate::failure::Failure;

/// Bytes of a line where no number of keys says how long one is.
const LINE: u32 = 64;
/// The caller is asked before so many blocks whether to go on.
const BLOCKS: u32 = 1024;
/// Digits of a key, and the end of its line.
const SHORTEST: u32 = 17;

/// Makes the `runs` of merge `job`: so many as `shape` has, used up in the order that `depletion` names.
/// With random blocks that is the order of a simulated job of the same seed. None is finished if `go_on`
/// says `false` meanwhile.
///
/// # Errors
/// [`Failure`]: a block is too small for so many lines; a run cannot be written.
pub(super) fn make(
    job: u32,
    runs: Vec<Output>,
    shape: &Shape,
    depletion: Depletion,
    seed: Seed,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(), Failure> {
    let lines = match depletion {
        Depletion::RandomBlock => shape.block / LINE,
        Depletion::Keys(keys) => keys,
    };
    if lines == 0 || !shape.block.is_multiple_of(lines) || shape.block / lines < SHORTEST {
        let message = format!("{lines} lines to a block of {} bytes", shape.block);
        let hint = format!("a line has {SHORTEST} bytes at least, and all are equally long");
        return Err(Failure::wrong(message, hint));
    }
    let width = (shape.block / lines) as usize;
    let mut files = Vec::new();
    for run in &runs {
        let file = run.file().map_err(|error| failed(run.path(), &error))?;
        files.push(BufWriter::new(file));
    }
    match depletion {
        Depletion::RandomBlock => {
            let order = DepletionOrder::new(depletion, shape, seed.stream("merge", job.into()));
            in_order(&mut files, order, (lines, width), go_on)
        }
        Depletion::Keys(_) => {
            let first = u64::from(job) * u64::from(shape.runs);
            let numbered = (first..).zip(&mut files).enumerate();
            let lines = shape.run as usize * lines as usize;
            let mut made = numbered.map(|(run, (number, file))| {
                goes_on(go_on())
                    .and_then(|()| random(file, lines, width, seed.stream("run", number)))
                    .map_err(|error| (run, error))
            });
            made.try_for_each(|made| made)
        }
    }
    .map_err(|(run, error)| failed(runs[run].path(), &error))?;
    for (mut file, run) in files.into_iter().zip(&runs) {
        file.flush().map_err(|error| failed(run.path(), &error))?;
    }
    Ok(runs.into_iter().try_for_each(Output::finish)?)
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::half_written(path, error)
}

/// Each block has the keys that come next, in the run whose turn it is.
fn in_order(
    files: &mut [impl Write],
    mut order: DepletionOrder,
    (lines, width): (u32, usize),
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(), (usize, io::Error)> {
    let mut key = 0_u64;
    for block in 0_u32.. {
        if order.is_over() {
            break;
        }
        let run = order.next_run() as usize;
        if block.is_multiple_of(BLOCKS) {
            goes_on(go_on()).map_err(|error| (run, error))?;
        }
        for _ in 0..lines {
            line(&mut files[run], key, width).map_err(|error| (run, error))?;
            key += 1;
        }
    }
    Ok(())
}

fn goes_on(goes_on: bool) -> io::Result<()> {
    if goes_on { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
}

/// So many random keys, sorted.
fn random(file: &mut impl Write, count: usize, width: usize, mut rng: Rng) -> io::Result<()> {
    let mut keys: Vec<u64> = (0..count).map(|_| rng.random()).collect();
    keys.sort_unstable();
    keys.into_iter().try_for_each(|key| line(file, key, width))
}

/// A line of `width` bytes with `key`.
fn line(file: &mut impl Write, key: u64, width: usize) -> io::Result<()> {
    let fill = width - SHORTEST as usize;
    writeln!(file, "{key:016x}{:.<fill$}", "")
}
