//! The options of merges of files, and the job that follows from them before any file is opened.

use std::path::PathBuf;

use penstock_core::{Device, Seed};
use penstock_jobs::{DeviceSpec, Job, MergeFiles, MergeSpec, path_text};
use penstock_live::Speed;
use penstock_workload::Merge;
use penstock_workload::merge::Shape;

use super::record::RecordFormat;
use crate::ask::target_options::EMULATED;
use crate::failure::Failure;
use crate::place::open::{model, model_and_path};

/// The options of merges of files.
#[derive(Clone, Debug, Default)]
pub struct MergeOptions {
    /// The runs of a single merge; empty if `jobs` names runs, or if they are made.
    pub runs: Vec<PathBuf>,
    /// A file with the runs and the output of each merge.
    pub jobs: Option<PathBuf>,
    /// A folder on each disk, for the outputs.
    pub to: Vec<PathBuf>,
    /// `emulated:DEVICE[@SPEED][:FOLDER]`, if models answer in real time for the disks. With a folder,
    /// the paths of `to` begin there, and those that are missing are made.
    pub on: Option<String>,
    /// The name of the policy before each disk.
    pub policy: String,
    /// Changes of `merge`, `live`, `seed` and of policies, as `merge.read=12`.
    pub sets: Vec<String>,
    /// The placement of runs and outputs: a word or a list, as in a job. If not given, runs may lie anywhere.
    pub placement: Option<String>,
    /// Bytes of a record, the first byte of its key, and bytes of the key; runs consist of lines if not
    /// given.
    pub record: Option<(u32, u32, u32)>,
    /// Make the runs in the first round.
    pub make: bool,
    /// The engine for the files; the first one that works if not given.
    pub engine: Option<String>,
}

/// Options that have been checked.
pub(super) struct CheckedMerges {
    pub(super) merges: Vec<MergeFiles>,
    /// The folder in which the folders of emulated disks lie, if it is given.
    pub(super) folder: Option<PathBuf>,
    /// The model before each disk, its speed, and the name of both.
    pub(super) model: Option<(DeviceSpec, Speed, String)>,
    pub(super) format: RecordFormat,
    pub(super) job: Job,
}

/// The name of the job in errors of `--set`.
const NAME: &str = "the merges";

impl CheckedMerges {
    /// Checks `options` of `merges`.
    ///
    /// # Errors
    /// [`Failure`]: an option is wrong, or does not go with another.
    pub(super) fn new(options: &MergeOptions, merges: Vec<MergeFiles>) -> Result<Self, Failure> {
        let (model, folder) = place(options)?;
        let format = format(options)?;
        let job =
            if options.make { job(options, "jobs = 1\n")? } else { of_files(options, &merges)? };
        Ok(Self { merges, folder, model, format, job })
    }

    /// The section `[merge]`.
    pub(super) fn spec(&self) -> &MergeSpec {
        self.job.workload.merges().expect("the job has merges alone")
    }

    pub(super) fn shape(&self) -> Shape {
        self.spec().shape
    }

    /// The seed of `round`, counted from 0: each round has the next.
    pub(super) fn seed(&self, round: u32) -> Seed {
        Seed(self.job.seed.wrapping_add(round.into()))
    }

    /// Returns the merges with their places on this number of `disks`.
    ///
    /// # Errors
    /// [`Failure`]: there are too few disks, or their models are too small.
    pub(super) fn placed(&self, disks: u32) -> Result<Merge, Failure> {
        let spec = self.spec();
        if let Err(error) = spec.placement.disks(spec.jobs, disks, spec.shape.runs) {
            let hint = "name more disks with --to, take another --placement, or merge less at once";
            return Err(Failure::wrong(error, hint));
        }
        let count = disks.try_into().expect("a disk at least");
        let (bytes, name) = match &self.model {
            Some((spec, _, name)) => (spec.build(Seed(0)).capacity(), name.as_str()),
            None => (u64::MAX, "the disks of --to"),
        };
        Ok(spec.on(count, bytes, name, &self.job.classes)?)
    }
}

/// Returns the job with these `keys` of `[merge]` and the changes of `options`.
fn job(options: &MergeOptions, keys: &str) -> Result<Job, Failure> {
    // A list is valid in a file, a word in an argument.
    let (list, word) = match options.placement.as_deref() {
        Some(list) if list.starts_with('[') => (format!("placement = {list}\n"), None),
        word => (String::new(), word.map(|word| format!("merge.placement={word}"))),
    };
    let text = format!("[merge]\n{keys}{list}");
    let sets: Vec<String> = options.sets.iter().cloned().chain(word).collect();
    let job = Job::parse(NAME, &text, &sets)?;
    if job.workload.merges().is_none() || job.live.view.is_some() {
        let hint = "set keys of `merge`, `live.depth`, `live.timeout`, `seed`, or of a policy";
        return Err(Failure::wrong("something is set that merges of files do not have", hint));
    }
    Ok(job)
}

/// Most blocks of a run, as far as a job of real files has to know its length: more than are read
/// or written at once.
const BLOCKS_OF_RUN: u64 = 1 << 21;

/// Returns the job of merges of these files. It has their number, and their length as far as it
/// matters: a model needs a place for all of it, on a real disk only reads and writes depend on it.
fn of_files(options: &MergeOptions, merges: &[MergeFiles]) -> Result<Job, Failure> {
    let most = |count: fn(&MergeFiles) -> usize| merges.iter().map(count).max().unwrap_or(1);
    let runs = most(|merge| merge.runs.len());
    let mut longest = 1;
    for path in merges.iter().flat_map(|merge| &merge.runs) {
        // A file without metadata fails with a message when it is opened.
        longest = longest.max(std::fs::metadata(path).map_or(0, |meta| meta.len()));
    }
    let jobs = merges.len();
    let keys = |more: &str| format!("jobs = {jobs}\nruns = {runs}\n{more}");
    let most = (u64::from(u32::MAX) / (jobs * runs).max(1) as u64).clamp(1, BLOCKS_OF_RUN);
    let any = job(options, &keys(&format!("run = \"{most}blocks\"\n")))?;
    let shape = any.workload.merges().expect("the job has merges alone").shape;
    let blocks = longest.div_ceil(shape.block.into());
    let blocks = if options.on.is_none() { blocks.min(most) } else { blocks };
    // Defaults shrink with short runs; values that are set stay.
    let [read, write] = [shape.read, shape.write].map(|default| u64::from(default).min(blocks));
    let more = format!("run = \"{blocks}blocks\"\nread = {read}\nwrite = {write}\n");
    job(options, &keys(&more))
}

/// The model with its speed and name, and the folder of its disks.
type ModelAndFolder = (Option<(DeviceSpec, Speed, String)>, Option<PathBuf>);

fn place(options: &MergeOptions) -> Result<ModelAndFolder, Failure> {
    let Some(on) = &options.on else { return Ok((None, None)) };
    let Some(model_and_folder) = on.strip_prefix(EMULATED) else {
        let message = format!("--on {on}: merges of files are on real disks, or on emulated ones");
        return Err(Failure::wrong(message, "as emulated:linear-1992@20; `--to` names the disks"));
    };
    let (name, folder) = model_and_path(model_and_folder);
    let (spec, speed) = model(name)?;
    Ok((
        Some((spec, speed, name.to_owned())),
        folder.map(|folder| path_text::path(folder).into_owned()),
    ))
}

fn format(options: &MergeOptions) -> Result<RecordFormat, Failure> {
    let Some((length, key, bytes)) = options.record else { return Ok(RecordFormat::Lines) };
    if options.make {
        return Err(Failure::wrong("--make does not go with --record", "it makes lines"));
    }
    let end = key.checked_add(bytes).filter(|end| *end <= length && bytes > 0 && length > 0);
    let Some(end) = end else {
        let message = format!("a key of {bytes} bytes at byte {key} of a record of {length} bytes");
        return Err(Failure::wrong(message, "as --record 100 --key 0:10"));
    };
    let [length, key, end] = [length, key, end].map(|bytes| bytes as usize);
    Ok(RecordFormat::Fixed { length, key, end })
}

/// Returns the merges that `options` name; none if their runs are to be made.
///
/// # Errors
/// [`Failure`]: they name none, or in several ways.
pub(super) fn merges(options: &MergeOptions) -> Result<Vec<MergeFiles>, Failure> {
    let given = [
        ("runs", !options.runs.is_empty()),
        ("--jobs", options.jobs.is_some()),
        ("--make", options.make),
    ];
    let given: Vec<&str> =
        given.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    match (given.as_slice(), &options.jobs) {
        ([], _) => {
            let hint = "name runs, a file of merges (--jobs FILE), or make some (--make)";
            Err(Failure::wrong("there is nothing to merge", hint))
        }
        ([_], Some(jobs)) => Ok(MergeFiles::load(jobs)?),
        ([_], None) if options.make => Ok(Vec::new()),
        ([_], None) => Ok(vec![MergeFiles { runs: options.runs.clone(), output: None }]),
        (several, _) => {
            let message = format!("{} do not go together", several.join(" and "));
            Err(Failure::wrong(message, "leave one of them out"))
        }
    }
}
