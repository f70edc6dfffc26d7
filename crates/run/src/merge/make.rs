//! Makes runs: lines with random keys.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use penstock_core::{Rng, Seed};
use penstock_live::Output;
use penstock_workload::merge::{Depletion, DepletionOrder, Shape};
use rand::RngExt;

use crate::failure::Failure;

/// Bytes of a line if the number of keys in a block is not set.
const LINE_BYTES: u32 = 64;
/// Blocks between two calls that ask whether to continue.
const CHECK_BLOCKS: u32 = 1024;
/// Bytes of the shortest line: the digits of a key, and the end of the line.
const LINE_BYTES_MIN: u32 = 17;

/// Makes the `runs` of merge `job`, of the given `shape`. A merge uses their blocks up in the order that
/// `depletion` names; with random blocks this is the order of a simulated job with the same seed. If
/// `go_on` returns `false` meanwhile, no run is finished.
///
/// # Errors
/// [`Failure`]: a block is too small for its lines; a run cannot be written.
pub(super) fn make(
    job: u32,
    runs: Vec<Output>,
    shape: &Shape,
    depletion: Depletion,
    seed: Seed,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(), Failure> {
    let lines = match depletion {
        Depletion::RandomBlock => shape.block / LINE_BYTES,
        Depletion::Keys(keys) => keys,
    };
    if lines == 0 || !shape.block.is_multiple_of(lines) || shape.block / lines < LINE_BYTES_MIN {
        let message = format!("{lines} lines to a block of {} bytes", shape.block);
        let hint = format!("a line has {LINE_BYTES_MIN} bytes at least, and all are equally long");
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
            write_in_order(&mut files, order, (lines, width), go_on)
        }
        Depletion::Keys(_) => {
            let first = u64::from(job) * u64::from(shape.runs);
            let numbered = (first..).zip(&mut files).enumerate();
            let lines = shape.run as usize * lines as usize;
            let mut made = numbered.map(|(run, (number, file))| {
                check(go_on())
                    .and_then(|()| write_random(file, lines, width, seed.stream("run", number)))
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

/// Writes ascending keys; each block goes to the run that is next in `order`.
fn write_in_order(
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
        if block.is_multiple_of(CHECK_BLOCKS) {
            check(go_on()).map_err(|error| (run, error))?;
        }
        for _ in 0..lines {
            write_line(&mut files[run], key, width).map_err(|error| (run, error))?;
            key += 1;
        }
    }
    Ok(())
}

/// Returns an error unless the caller `goes_on`.
fn check(goes_on: bool) -> io::Result<()> {
    if goes_on { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
}

/// Writes `count` random keys in order.
fn write_random(file: &mut impl Write, count: usize, width: usize, mut rng: Rng) -> io::Result<()> {
    let mut keys: Vec<u64> = (0..count).map(|_| rng.random()).collect();
    keys.sort_unstable();
    keys.into_iter().try_for_each(|key| write_line(file, key, width))
}

/// Writes a line of `width` bytes with `key`.
fn write_line(file: &mut impl Write, key: u64, width: usize) -> io::Result<()> {
    let fill = width - LINE_BYTES_MIN as usize;
    writeln!(file, "{key:016x}{:.<fill$}", "")
}
