//! Finds the folder of each file and its place on a disk. All files are opened and checked before anything is
//! written.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use penstock_core::{Span, Time};
use penstock_live::{Input, Output, PageCache, Target};
use penstock_workload::Merge;
use penstock_workload::merge::{JobDisks, Placement, Shape};

use super::job::Merging;
use super::make::make;
use super::options::{CheckedMerges, MergeOptions};
use super::record::RecordFormat;
use super::run_reader::RunReader;
use super::source::{FilePlace, MergePlaces};
use crate::failure::Failure;

/// Merges that are ready to start.
pub(super) struct MergePlan {
    pub(super) jobs: Vec<Merging>,
    pub(super) files: Vec<PlannedMerge>,
    pub(super) disks: Vec<PlannedDisk>,
    /// Whether every file is accessed past the page cache.
    pub(super) direct: bool,
}

/// The files of a merge.
pub(super) struct PlannedMerge {
    pub(super) inputs: Vec<PathBuf>,
    pub(super) output: Output,
    pub(super) places: MergePlaces,
    pub(super) bytes: u64,
}

/// A disk and its files.
pub(super) struct PlannedDisk {
    pub(super) path: PathBuf,
    /// First byte and target of each file.
    pub(super) files: Vec<(u64, Target)>,
    pub(super) capacity: u64,
}

/// The disks of all files.
struct MergeSites {
    /// A folder on each disk.
    paths: Vec<PathBuf>,
    /// The disks of each merge.
    jobs: Vec<JobDisks>,
    /// The places on modelled disks.
    merge: Option<Merge>,
}

/// Plans the merges that `checked` names, on disks with these `folders`. In round 0 runs are made if `options`
/// say so.
///
/// # Errors
/// [`Failure`]: a file that cannot be used; a placement that is not possible; no room for an output.
pub(super) fn plan(
    checked: &CheckedMerges,
    options: &MergeOptions,
    folders: &[PathBuf],
    round: u32,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<MergePlan, Failure> {
    let merges = if options.make { made_files(checked, folders)? } else { named_files(checked) };
    let sites = sites(checked, options, folders, &merges)?;
    check_names(&merges, &sites)?;
    if options.make && round == 0 {
        let spec = checked.spec();
        let Shape { run, block, .. } = spec.shape;
        let bytes = u64::from(run) * u64::from(block);
        let create = |path: &PathBuf| Output::create(path, bytes, PageCache::Used);
        for (job, (inputs, _)) in (0..).zip(&merges) {
            let runs = inputs.iter().map(create).collect::<Result<_, _>>()?;
            make(job, runs, &spec.shape, spec.depletion, checked.seed(round), go_on)?;
        }
    }
    let mut plan = MergePlan {
        jobs: Vec::new(),
        files: Vec::new(),
        disks: sites.paths.iter().map(|path| disk(path, &sites)).collect(),
        direct: true,
    };
    let stagger = checked.spec().stagger;
    for (number, (inputs, name)) in merges.into_iter().enumerate() {
        plan.add(checked, &sites, number, inputs, &name, Time::ZERO + delay(stagger, number))?;
    }
    Ok(plan)
}

/// Time between the start of the first merge and that of merge `number`.
fn delay(stagger: Span, number: usize) -> Span {
    stagger.share(number as u64, 1)
}

fn disk(path: &Path, sites: &MergeSites) -> PlannedDisk {
    let capacity = sites.merge.as_ref().map_or(0, |merge| merge.disk);
    PlannedDisk { path: path.to_owned(), files: Vec::new(), capacity }
}

/// Returns the runs of each merge, and the name of its output.
fn named_files(checked: &CheckedMerges) -> Vec<(Vec<PathBuf>, String)> {
    let several = checked.merges.len() > 1;
    let default_name = |job| if several { format!("merged{job}") } else { "merged".into() };
    let merges = checked.merges.iter().enumerate();
    merges
        .map(|(job, merge)| {
            let name = merge.output.clone().unwrap_or_else(|| default_name(job));
            (merge.runs.clone(), name)
        })
        .collect()
}

/// Returns the runs of each merge that are to be made, on the disks of their placement, and the name of its
/// output.
fn made_files(
    checked: &CheckedMerges,
    folders: &[PathBuf],
) -> Result<Vec<(Vec<PathBuf>, String)>, Failure> {
    let spec = checked.spec();
    let merge = checked.placed(folders.len() as u32)?;
    Ok((0..spec.jobs)
        .zip(&merge.layout.jobs)
        .map(|(job, layout)| {
            let run = |(run, place): (usize, &penstock_workload::merge::Place)| {
                folders[place.disk as usize].join(format!("merge{job}-run{run:02}"))
            };
            (layout.runs.iter().enumerate().map(run).collect(), format!("merged{job}"))
        })
        .collect())
}

/// Finds the disk of each run and of each output.
fn sites(
    checked: &CheckedMerges,
    options: &MergeOptions,
    folders: &[PathBuf],
    merges: &[(Vec<PathBuf>, String)],
) -> Result<MergeSites, Failure> {
    let disks = folders.len();
    let mut paths = folders.to_vec();
    let laid = (options.make || checked.model.is_some() || options.placement.is_some())
        .then(|| checked.placed(disks as u32))
        .transpose()?;
    if let Some(merge) = laid.as_ref().filter(|_| options.make || checked.model.is_some()) {
        let disks =
            |(layout, (runs, _)): (&penstock_workload::merge::JobLayout, &(Vec<_>, _))| JobDisks {
                inputs: layout.runs.iter().take(runs.len()).map(|place| place.disk).collect(),
                output: layout.output.disk,
            };
        let jobs = merge.layout.jobs.iter().zip(merges).map(disks).collect();
        let merge = laid.filter(|_| checked.model.is_some());
        return Ok(MergeSites { paths, jobs, merge });
    }
    let mut jobs = Vec::new();
    for (number, (runs, _)) in merges.iter().enumerate() {
        let output = match &laid {
            Some(merge) => merge.layout.jobs[number].output.disk,
            None => (number % disks) as u32,
        };
        let inputs = runs.iter().map(|run| disk_of(run, &mut paths)).collect::<Result<_, _>>()?;
        jobs.push(JobDisks { inputs, output });
    }
    if laid.is_some() {
        let placed = checked.spec().placement.clone();
        check_placement(&placed, &jobs, &paths, merges)?;
    }
    Ok(MergeSites { paths, jobs, merge: None })
}

/// Returns the disk of the run at `path`: the one with its folder, or with its file system. If there is neither,
/// the folder of the run becomes a further disk.
fn disk_of(path: &Path, disks: &mut Vec<PathBuf>) -> Result<u32, Failure> {
    let unreadable = |error| Failure::unreadable(path, &error);
    let real = std::fs::canonicalize(path).map_err(unreadable)?;
    let inside = |disk: &&PathBuf| real.starts_with(disk);
    let deepest = disks.iter().filter(inside).max_by_key(|disk| disk.as_os_str().len());
    let device = |path: &Path| std::fs::metadata(path).map(|meta| meta.dev());
    let number = if let Some(deepest) = deepest {
        disks.iter().position(|disk| disk == deepest)
    } else {
        let run_device = device(&real).map_err(unreadable)?;
        disks.iter().position(|disk| device(disk).is_ok_and(|device| device == run_device))
    };
    Ok(number.unwrap_or_else(|| {
        disks.push(real.parent().unwrap_or(Path::new("/")).to_owned());
        disks.len() - 1
    }) as u32)
}

/// Checks that the runs lie where `placement` allows.
fn check_placement(
    placement: &Placement,
    jobs: &[JobDisks],
    disks: &[PathBuf],
    merges: &[(Vec<PathBuf>, String)],
) -> Result<(), Failure> {
    let count = jobs.len() as u32;
    for (job, (disks_of_job, (runs, _))) in (0..).zip(jobs.iter().zip(merges)) {
        for (disk, run) in disks_of_job.inputs.iter().zip(runs) {
            let output_of = match placement {
                Placement::Dedicated if *disk < count => Some(*disk),
                Placement::Separate if *disk == job => Some(job),
                Placement::Shared if count > 1 && *disk == (job + count - 1) % count => Some(*disk),
                Placement::Listed(listed) if !listed[job as usize].inputs.contains(disk) => {
                    let message = format!(
                        "{} lies on disk {disk}, {}, which the placement does not list for merge {job}",
                        run.display(),
                        disks[*disk as usize].display()
                    );
                    return Err(Failure::wrong(message, "runs stay where they are: list it too"));
                }
                _ => None,
            };
            if let Some(other) = output_of {
                let message = format!(
                    "{} lies on {}, which is also the target of the output of merge {other}",
                    run.display(),
                    disks[*disk as usize].display()
                );
                let hint = "runs stay where they are: name the folders of --to in another order, take \
                            another placement, or leave it out";
                return Err(Failure::wrong(message, hint));
            }
        }
    }
    Ok(())
}

/// Checks that no two outputs have the same path.
fn check_names(merges: &[(Vec<PathBuf>, String)], sites: &MergeSites) -> Result<(), Failure> {
    let mut outputs = BTreeSet::new();
    for ((_, name), disks) in merges.iter().zip(&sites.jobs) {
        let path = sites.paths[disks.output as usize].join(name);
        if !outputs.insert(path.clone()) {
            let message = format!("two outputs are to be {}", path.display());
            return Err(Failure::wrong(message, "give each merge an `output` of its own"));
        }
    }
    Ok(())
}

impl MergePlan {
    /// Opens the files of merge `number`, which starts at `start`.
    fn add(
        &mut self,
        checked: &CheckedMerges,
        sites: &MergeSites,
        number: usize,
        inputs: Vec<PathBuf>,
        name: &str,
        start: Time,
    ) -> Result<(), Failure> {
        let shape = checked.shape();
        let cache = if checked.model.is_some() { PageCache::Used } else { PageCache::Avoided };
        let block = u64::from(shape.block);
        let layout = sites.merge.as_ref().map(|merge| &merge.layout.jobs[number]);
        let disks = &sites.jobs[number];
        let mut runs = Vec::new();
        let mut places = Vec::new();
        for (run, path) in inputs.iter().enumerate() {
            let input = Input::open(path, cache)?;
            let (target, rest) = split(path, input, checked.format, &mut self.direct)?;
            let address = layout.map(|layout| layout.runs[run].block * block);
            let place = self.place(disks.inputs[run], target.as_ref(), address, checked)?;
            let parts = (target.map_or(0, |target| target.capacity()), rest);
            let group = u64::from(shape.read) * block;
            runs.push(RunReader::new(path.clone(), checked.format, parts, group, block));
            places.push((path.display().to_string(), place));
        }
        let merging = Merging::new(runs, (shape.write * shape.block) as usize, start);
        let path = self.disks[disks.output as usize].path.join(name);
        let output = Output::create(&path, merging.bytes, cache)?;
        self.direct &= output.direct || merging.bytes == 0;
        let address = layout.map(|layout| layout.output.block * block);
        let place = self.place(disks.output, output.target.as_ref(), address, checked)?;
        let places = MergePlaces { runs: places, output: (path.display().to_string(), place) };
        self.files.push(PlannedMerge { inputs, output, places, bytes: merging.bytes });
        self.jobs.push(merging);
        Ok(())
    }

    /// Places `target` on `disk`: at byte `address`, or behind the files there.
    fn place(
        &mut self,
        disk: u32,
        target: Option<&Target>,
        address: Option<u64>,
        checked: &CheckedMerges,
    ) -> Result<FilePlace, Failure> {
        let planned = &mut self.disks[disk as usize];
        let start = address.unwrap_or(planned.capacity);
        let mut unit = 1;
        if let Some(target) = target {
            let is_aligned = checked.shape().block.is_multiple_of(target.unit());
            if checked.model.is_none() {
                checked.spec().fits_units(target.unit(), &target.path().display().to_string())?;
            }
            // Otherwise the device completes the blocks to units.
            unit = if is_aligned { target.unit() } else { 1 };
            if address.is_none() {
                planned.capacity += target.capacity();
            }
            planned.files.push((start, target.clone()));
        }
        Ok(FilePlace { disk, address: start, unit })
    }
}

/// Splits `input` at `path` into the part that is read in whole blocks, and the bytes behind it. Checks that it
/// consists of whole records.
fn split(
    path: &Path,
    input: Input,
    format: RecordFormat,
    direct: &mut bool,
) -> Result<(Option<Target>, Vec<u8>), Failure> {
    let len = input.len();
    *direct &= input.direct || input.target.is_none();
    let Input { target, mut rest, last, .. } = input;
    match format {
        // `sort` adds the missing end of the last line too.
        RecordFormat::Lines if last.is_some_and(|last| last != b'\n') => rest.push(b'\n'),
        RecordFormat::Lines => {}
        RecordFormat::Fixed { length, .. } => {
            let (records, more) = (len / length as u64, len % length as u64);
            if more > 0 {
                let message = format!(
                    "{} ends in the middle of a record: {records} records of {length} bytes and {more} \
                     bytes more",
                    path.display()
                );
                return Err(Failure::wrong(
                    message,
                    "the file was cut, or --record is not its own",
                ));
            }
        }
    }
    Ok((target, rest))
}
