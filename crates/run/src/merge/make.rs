//! Runs to be merged, where there are none: lines with random keys.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use penstock_core::Seed;
use penstock_workload::merge::{Depletion, DepletionOrder, Shape};
use rand::RngExt;

use crate::failure::Failure;

/// Bytes of a line where no number of keys says how long one is.
const LINE: u32 = 64;
/// Digits of a key, and the end of its line.
const SHORTEST: u32 = 17;

/// Makes the runs of merge `job` at `paths`: so many as `shape` has, used up in the order that
/// `depletion` names. With random blocks that is the order of a simulated job of the same seed.
///
/// # Errors
/// [`Failure`]: a block is too small for so many lines; a file is there, or cannot be written.
pub(super) fn make(
    job: u32,
    paths: &[PathBuf],
    shape: &Shape,
    depletion: Depletion,
    seed: Seed,
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
    let mut made = Made { paths, files: Vec::new(), whole: false };
    for path in paths {
        let file = File::options().write(true).create_new(true).open(path);
        made.files.push(BufWriter::new(file.map_err(|error| Failure::unwritable(path, &error))?));
    }
    let written = match depletion {
        Depletion::RandomBlock => {
            let order = DepletionOrder::new(depletion, shape, seed.stream("merge", job.into()));
            made.in_order(order, lines, width)
        }
        Depletion::Keys(_) => made.random(job, shape, lines, width, seed),
    };
    written.and_then(|()| made.finish()).map_err(|(run, error)| {
        Failure::half_written(&paths[run], &error)
    })
}

/// Files that are being made; they go away again unless all are whole.
struct Made<'a> {
    paths: &'a [PathBuf],
    files: Vec<BufWriter<File>>,
    whole: bool,
}

impl Made<'_> {
    /// Each block has the keys that come next, in the run whose turn it is.
    fn in_order(&mut self, mut order: DepletionOrder, lines: u32, width: usize) -> Result<(), (usize, io::Error)> {
        let mut key = 0_u64;
        while !order.is_over() {
            let run = order.next_run() as usize;
            for _ in 0..lines {
                line(&mut self.files[run], key, width).map_err(|error| (run, error))?;
                key += 1;
            }
        }
        Ok(())
    }

    /// Each run has random keys, sorted.
    fn random(
        &mut self,
        job: u32,
        shape: &Shape,
        lines: u32,
        width: usize,
        seed: Seed,
    ) -> Result<(), (usize, io::Error)> {
        for (run, file) in self.files.iter_mut().enumerate() {
            let number = u64::from(job) * u64::from(shape.runs) + run as u64;
            let mut rng = seed.stream("run", number);
            let count = shape.run as usize * lines as usize;
            let mut keys: Vec<u64> = (0..count).map(|_| rng.random()).collect();
            keys.sort_unstable();
            for key in keys {
                line(file, key, width).map_err(|error| (run, error))?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), (usize, io::Error)> {
        for (run, file) in self.files.iter_mut().enumerate() {
            let durable = file.flush().and_then(|()| file.get_ref().sync_all());
            durable.map_err(|error| (run, error))?;
        }
        self.whole = true;
        Ok(())
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        if !self.whole {
            // What led here is the error to report.
            self.paths[..self.files.len()].iter().for_each(|path| drop(std::fs::remove_file(path)));
        }
    }
}

/// A line of `width` bytes with `key`.
fn line(file: &mut impl Write, key: u64, width: usize) -> io::Result<()> {
    let fill = width - SHORTEST as usize;
    writeln!(file, "{key:016x}{:.<fill$}", "")
}
