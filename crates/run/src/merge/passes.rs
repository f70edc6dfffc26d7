//! Merges of more runs than can be open at once: passes over temporary runs.
//!
//! Each step of a pass merges runs that follow each other into a temporary run that takes their place, so
//! equal records stay in the order of the runs. No more is merged beforehand than brings the number of runs
//! down to what the last pass can open.
//!
//! Always true: temporary runs lie where the output goes, and are removed as soon as they are merged, also
//! after an error.

use std::fs;
use std::path::{Path, PathBuf};

use penstock_jobs::{MergeFiles, RUNS_OF_MERGE};

use super::one_pass::OnePass;
use super::options::{self, MergeOptions};
use super::result::{MergedResult, MergesResult};
use crate::failure::Failure;

/// Files that are open apart from runs and outputs: those of the engine, of the clock and of the process.
const OTHER_FILES: usize = 16;
/// Runs that any merge can open.
const WIDTH_MIN: usize = 4;

/// Merges whose options are checked; they can run once or in rounds.
pub struct MergeSession {
    options: MergeOptions,
    merges: Vec<MergeFiles>,
    /// The last pass, if it is the only one.
    only: Option<OnePass>,
    /// Folders of the outputs.
    folders: Vec<PathBuf>,
    /// Most runs of a merge that are open at once, and the limit of open files that it is due to.
    width: usize,
    limit: usize,
}

impl MergeSession {
    /// Checks `options` and finds their folders.
    ///
    /// # Errors
    /// [`Failure`]: options that do not go together; a folder that does not exist.
    pub fn open(options: MergeOptions) -> Result<Self, Failure> {
        let merges = options::merges(&options)?;
        let limit = open_files_max();
        let width = width(&merges, limit);
        if merges.iter().all(|merge| merge.runs.len() <= width) {
            let only = Some(OnePass::open(options.clone(), merges)?);
            return Ok(Self {
                options,
                merges: Vec::new(),
                only,
                folders: Vec::new(),
                width,
                limit,
            });
        }
        if options.on.is_some() || options.placement.is_some() {
            let most = merges.iter().map(|merge| merge.runs.len()).max().unwrap_or(0);
            let message = format!("{most} runs take several passes: {width} can be open at once");
            let hint =
                "passes do not go with --on or --placement; raise `ulimit -n`, or merge fewer runs";
            return Err(Failure::wrong(message, hint));
        }
        // As many runs as the last pass has, to check all options before the first.
        let few = merges.iter().map(|merge| MergeFiles {
            runs: merge.runs.iter().take(width).cloned().collect(),
            output: merge.output.clone(),
        });
        let folders = OnePass::open(options.clone(), few.collect())?.folders;
        Ok(Self { options, merges, only: None, folders, width, limit })
    }

    /// Returns what has to be known before the merges begin: passes and their temporary runs. `None` with a
    /// single pass.
    pub fn foreseen(&self) -> Option<String> {
        if self.only.is_some() {
            return None;
        }
        let (mut runs, mut temporary, mut bytes) = (0, 0, 0);
        for merge in &self.merges {
            let (steps, _) = steps(merge.runs.len(), self.width);
            let mut sizes: Vec<u64> = merge.runs.iter().map(|run| file_bytes(run)).collect();
            for step in &steps {
                sizes.push(step.iter().map(|run| sizes[*run]).sum());
            }
            runs += merge.runs.len();
            temporary += steps.len();
            bytes += sizes[merge.runs.len()..].iter().sum::<u64>();
        }
        let folders: Vec<_> =
            self.folders.iter().map(|folder| folder.display().to_string()).collect();
        Some(format!(
            "{runs} runs take several passes, as {} files can be open at once (ulimit -n): {temporary} \
             temporary runs of {} together are written to {} first, and removed once they are merged",
            self.limit,
            megabytes(bytes),
            folders.join(", ")
        ))
    }

    /// Runs round `round` of the merges, counted from 0. Each round has the next seed, and the first makes
    /// the runs. `go_on` is called several times a second; if it returns `false`, the merges end without
    /// complete outputs.
    ///
    /// # Errors
    /// [`Failure`]: a file that cannot be used; a run that is not sorted; too little memory; no room for an
    /// output; a disk that answers with an error, or not at all.
    pub fn merge(
        &self,
        round: u32,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<MergesResult, Failure> {
        if let Some(only) = &self.only {
            return only.merge(round, go_on);
        }
        let mut passes = Passes::default();
        let mut last = Vec::new();
        for (number, merge) in self.merges.iter().enumerate() {
            let runs = self.before_last(number, merge, &mut passes, go_on)?;
            last.push(MergeFiles { runs, output: merge.output.clone() });
        }
        let result = OnePass::open(self.options.clone(), last)?.merge(round, go_on)?;
        Ok(self.whole(result, &passes))
    }

    /// Does all passes of a merge but the last, and returns the runs of that.
    fn before_last(
        &self,
        number: usize,
        merge: &MergeFiles,
        passes: &mut Passes,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Vec<PathBuf>, Failure> {
        let folder = &self.folders[number % self.folders.len()];
        let (steps, last) = steps(merge.runs.len(), self.width);
        let mut files = merge.runs.clone();
        for step in steps {
            let name = format!(".merge{number}-run{}.{}", files.len(), std::process::id());
            let runs = step.iter().map(|run| files[*run].clone()).collect();
            let options = MergeOptions {
                runs: Vec::new(),
                jobs: None,
                to: vec![folder.clone()],
                ..self.options.clone()
            };
            let one =
                OnePass::open(options, vec![MergeFiles { runs, output: Some(name.clone()) }])?;
            let result = one.merge(0, go_on)?;
            let path = folder.join(name);
            passes.add(&result, path.clone());
            for used in step.iter().filter(|run| **run >= merge.runs.len()) {
                passes.remove(&files[*used]);
            }
            files.push(path);
        }
        Ok(last.into_iter().map(|run| files[run].clone()).collect())
    }

    /// Adds the earlier passes to the result of the last.
    fn whole(&self, result: MergesResult, passes: &Passes) -> MergesResult {
        let mut whole = result;
        whole.makespan_s += passes.makespan_s;
        whole.cpu_s += passes.cpu_s;
        whole.remarks.push(format!(
            "several passes: the earlier ones wrote {} into {} temporary runs, as {} files can be open at \
             once; disks are those of the last pass",
            megabytes(passes.bytes),
            passes.count,
            self.limit
        ));
        let merged = |(merged, merge): (MergedResult, &MergeFiles)| MergedResult {
            inputs: merge.runs.clone(),
            finish_s: merged.finish_s + passes.makespan_s,
            ..merged
        };
        whole.merges = whole.merges.into_iter().zip(&self.merges).map(merged).collect();
        whole
    }
}

/// Figures of the passes before the last, and the temporary runs that are there.
#[derive(Default)]
struct Passes {
    makespan_s: f64,
    cpu_s: f64,
    bytes: u64,
    count: usize,
    temporary: Vec<PathBuf>,
}

impl Passes {
    fn add(&mut self, result: &MergesResult, path: PathBuf) {
        self.makespan_s += result.makespan_s;
        self.cpu_s += result.cpu_s;
        self.bytes += result.merges.iter().map(|merged| merged.bytes).sum::<u64>();
        self.count += 1;
        self.temporary.push(path);
    }

    fn remove(&mut self, path: &Path) {
        // A run that cannot be removed now is tried again at the end.
        if fs::remove_file(path).is_ok() {
            self.temporary.retain(|left| left != path);
        }
    }
}

impl Drop for Passes {
    fn drop(&mut self) {
        for path in &self.temporary {
            // Nothing more can be done about one that stays.
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns which runs each step before the last pass merges, and the runs of the last pass. Runs are numbered;
/// the temporary run of the first step has the number after that of the last run, and so on.
fn steps(runs: usize, width: usize) -> (Vec<Vec<usize>>, Vec<usize>) {
    let mut steps = Vec::new();
    let mut level: Vec<usize> = (0..runs).collect();
    while level.len() > width {
        let surplus = level.len() - width;
        let needed = surplus.div_ceil(width - 1);
        let groups = needed.min(level.len() / width);
        let mut next = Vec::new();
        let mut rest = level.as_slice();
        for group in 1..=groups {
            // The last one that is needed merges no more than it must.
            let size =
                if group == needed { surplus - (needed - 1) * (width - 1) + 1 } else { width };
            let (merged, behind) = rest.split_at(size);
            next.push(runs + steps.len());
            steps.push(merged.to_vec());
            rest = behind;
        }
        next.extend_from_slice(rest);
        level = next;
    }
    (steps, level)
}

/// Returns how many runs of each merge may be open at once if `limit` files may.
fn width(merges: &[MergeFiles], limit: usize) -> usize {
    let files: usize = merges.iter().map(|merge| merge.runs.len() + 1).sum();
    let most = RUNS_OF_MERGE as usize;
    let free = limit.saturating_sub(open_files() + OTHER_FILES);
    if files <= free {
        return most;
    }
    (free / merges.len().max(1)).saturating_sub(1).clamp(WIDTH_MIN, most)
}

/// Returns how many files this process may open.
fn open_files_max() -> usize {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(usize::MAX)
}

/// Returns how many files this process has open.
fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Returns a number of bytes in words.
fn megabytes(bytes: u64) -> String {
    format!("{:.3} MB", bytes as f64 / 1e6)
}

/// Returns the length of a file. One without metadata fails with a message when it is opened.
fn file_bytes(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |meta| meta.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that every run is merged once, in order, and never more than `width` at once.
    #[test]
    fn steps_keep_the_order_and_the_width() {
        for width in 2..9 {
            for runs in 1..200 {
                let (steps, last) = steps(runs, width);
                let mut of: Vec<Vec<usize>> = (0..runs).map(|run| vec![run]).collect();
                for step in &steps {
                    assert!((2..=width).contains(&step.len()), "{runs} runs, {width} wide");
                    of.push(step.iter().flat_map(|run| of[*run].clone()).collect());
                }
                assert!(last.len() <= width);
                let all: Vec<usize> = last.iter().flat_map(|run| of[*run].clone()).collect();
                assert_eq!(all, (0..runs).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn no_more_is_merged_beforehand_than_has_to_be() {
        assert_eq!(steps(5, 5), (vec![], vec![0, 1, 2, 3, 4]));
        assert_eq!(steps(6, 5), (vec![vec![0, 1]], vec![6, 2, 3, 4, 5]));
        let (many, last) = steps(10_000, 240);
        assert_eq!((many.len(), last.len()), (41, 240));
    }
}
