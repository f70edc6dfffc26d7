//! How merges of files are asked for, and what follows before any file is opened.

use std::path::PathBuf;

use penstock_core::{Device, Seed};
use penstock_jobs::{DeviceSpec, Job, MergeFiles, MergeSpec};
use penstock_live::Speed;
use penstock_workload::Merge;
use penstock_workload::merge::Shape;

use super::record::RecordFormat;
use crate::ask::target_options::EMULATED;
use crate::failure::Failure;
use crate::place::{model, model_and_path};

/// What merges of files are asked for.
#[derive(Clone, Debug, Default)]
pub struct MergeOptions {
    /// The runs of one merge; none if `jobs` names them, or they are made.
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
    /// Where runs and outputs lie: a word or a list, as in a job; where they are, if not given.
    pub placement: Option<String>,
    /// Bytes of a record, and from where to where its key is; lines if not given.
    pub record: Option<(u32, u32, u32)>,
    /// Make the runs first, in the first round.
    pub make: bool,
    /// How files are driven; the first engine that works if not given.
    pub engine: Option<String>,
}

/// Options that go together, and what they name.
pub(super) struct AskedMerges {
    pub(super) merges: Vec<MergeFiles>,
    /// Where the paths of disks begin, if they are emulated ones.
    pub(super) folder: Option<PathBuf>,
    /// The model before each disk, its speed, and what both are called.
    pub(super) model: Option<(DeviceSpec, Speed, String)>,
    pub(super) format: RecordFormat,
    pub(super) job: Job,
}

/// What a job is called that an error of `--set` is found in.
const NAME: &str = "the merges";

impl AskedMerges {
    /// What `options` ask for.
    ///
    /// # Errors
    /// [`Failure`]: they do not go together, or something in them is wrong.
    pub(super) fn new(options: &MergeOptions) -> Result<Self, Failure> {
        let (model, folder) = place(options)?;
        let format = format(options)?;
        let merges = merges(options)?;
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

    /// That of a round, from 0: each has the next.
    pub(super) fn seed(&self, round: u32) -> Seed {
        Seed(self.job.seed.wrapping_add(round.into()))
    }

    /// Where the merges lie on so many disks by the placement.
    ///
    /// # Errors
    /// [`Failure`]: there are too few disks; models of them are too small.
    pub(super) fn laid(&self, disks: u32) -> Result<Merge, Failure> {
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

/// The job with `keys` of `[merge]` and what `options` change.
fn job(options: &MergeOptions, keys: &str) -> Result<Job, Failure> {
    // A list is a value of a file, a word one of an argument.
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

/// The job of merges of these files: their number and length is that of the files.
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
    // A block of any length is shorter than that.
    let any = job(options, &keys("run = \"64GiB\"\n"))?;
    let shape = any.workload.merges().expect("the job has merges alone").shape;
    let blocks = longest.div_ceil(shape.block.into());
    // What is usual is less where runs are shorter; what a person says is not changed.
    let [read, write] = [shape.read, shape.write].map(|usual| u64::from(usual).min(blocks));
    let more = format!("run = \"{blocks}blocks\"\nread = {read}\nwrite = {write}\n");
    job(options, &keys(&more))
}

/// The model, its speed and what it is called, and the folder of its disks.
type AskedModel = (Option<(DeviceSpec, Speed, String)>, Option<PathBuf>);

fn place(options: &MergeOptions) -> Result<AskedModel, Failure> {
    let Some(on) = &options.on else { return Ok((None, None)) };
    let Some(what) = on.strip_prefix(EMULATED) else {
        let message = format!("--on {on}: merges of files are on real disks, or on emulated ones");
        return Err(Failure::wrong(message, "as emulated:linear-1992@20; `--to` names the disks"));
    };
    let (name, folder) = model_and_path(what);
    let (spec, speed) = model(name)?;
    Ok((Some((spec, speed, name.to_owned())), folder.map(PathBuf::from)))
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

fn merges(options: &MergeOptions) -> Result<Vec<MergeFiles>, Failure> {
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
