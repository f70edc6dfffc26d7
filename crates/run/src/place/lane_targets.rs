//! Real targets of the files of a job: one for each lane.

use penstock_jobs::{Extent, FileTarget, Job};

use crate::ask::engines::RunEngine;
use crate::ask::target_options::TargetOptions;
use crate::failure::Failure;
use crate::place::extents;
use crate::place::live_target::Live;
use crate::place::target::{
    self, Creation, Identity, ToBeNamed, created, is_device, named_for_nothing, unlooped,
};

/// Open targets, each with the first file on it.
#[derive(Clone)]
pub(crate) struct LaneTargets {
    name: String,
    /// The first file on each target.
    firsts: Vec<FileTarget>,
    targets: Vec<Live>,
}

impl LaneTargets {
    /// Opens the targets that `jobs` name for their files, each behind `engine`. A missing target
    /// is made if `options` say so and the jobs fit, and removed again if another one cannot be
    /// opened.
    ///
    /// # Errors
    /// Two paths of one target, a target that is refused, options that do not go with it, or a job
    /// that does not fit.
    pub(crate) fn open(
        jobs: &[&Job],
        engine: RunEngine,
        options: &TargetOptions,
        progress: &mut Creation<'_>,
    ) -> Result<Self, Failure> {
        let mut files: Vec<FileTarget> = Vec::new();
        for job in jobs {
            let named = job.workload.file_targets()?;
            if named.is_empty() {
                let message = format!("{} names no targets, and another job does", job.name);
                return Err(Failure::wrong(message, "jobs of one session are on the same targets"));
            }
            check_distinct(&named)?;
            add(&mut files, named);
        }
        let options = options_of_each(&files, options)?;
        let mut opened: Vec<Option<Live>> = Vec::new();
        // Opens existing targets first, so that nothing is made if one of them is refused.
        for (file, options) in files.iter().zip(&options) {
            let missing = options.create.is_some() && !unlooped(&file.path).0.exists();
            let open = || Live::open(&file.path, &[], engine, options, progress);
            opened.push((!missing).then(open).transpose()?);
        }
        check_fit(jobs, &files, &options, &opened)?;
        let mut made = Vec::new();
        for (at, (file, options)) in files.iter().zip(&options).enumerate() {
            if opened[at].is_some() {
                continue;
            }
            match Live::open(&file.path, &[], engine, options, progress) {
                Ok(live) => {
                    opened[at] = Some(live);
                    made.push(at);
                }
                Err(failure) => {
                    let made = made.iter().filter_map(|&at| opened[at].as_ref());
                    made.for_each(Live::discard);
                    return Err(failure);
                }
            }
        }
        Ok(Self::new(name(&files), files, opened.into_iter().flatten().collect()))
    }

    fn new(name: String, firsts: Vec<FileTarget>, targets: Vec<Live>) -> Self {
        Self { name, firsts, targets }
    }

    /// The targets of the files of `job`, cut to its view.
    ///
    /// # Errors
    /// A file is on a target that is not open, or a view does not fit.
    pub(crate) fn of(&self, job: &Job) -> Result<Self, Failure> {
        let files = job.workload.file_targets()?;
        let name = name(&files);
        let mut firsts = Vec::new();
        add(&mut firsts, files);
        let of = |file: &FileTarget| {
            let known = self.firsts.iter().position(|known| known.path == file.path);
            let known = known.ok_or_else(|| {
                let message = format!("file {} is on {}, which is not open", file.file, file.path);
                Failure::wrong(message, "jobs of one session are on the targets of the first ones")
            })?;
            self.targets[known].viewed(job)
        };
        let targets = firsts.iter().map(of).collect::<Result<_, _>>()?;
        Ok(Self::new(name, firsts, targets))
    }

    /// The only target, if there is one.
    pub(crate) fn only(&self) -> Option<&Live> {
        if let [one] = &self.targets[..] { Some(one) } else { None }
    }

    /// The name of all targets in results.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The targets, in the order of the lanes.
    pub(crate) fn targets(&self) -> &[Live] {
        &self.targets
    }

    /// The targets, mutable.
    pub(crate) fn targets_mut(&mut self) -> &mut [Live] {
        &mut self.targets
    }
}

/// The name of the targets of `files` in results.
pub(crate) fn name(files: &[FileTarget]) -> String {
    let each = files.iter().map(|FileTarget { file, path }| format!("{file}={path}"));
    each.collect::<Vec<_>>().join(", ")
}

/// Adds those of `more` whose targets are not among `files` yet.
fn add(files: &mut Vec<FileTarget>, more: Vec<FileTarget>) {
    for file in more {
        if files.iter().all(|known| known.path != file.path) {
            files.push(file);
        }
    }
}

/// Checks that `files` on the same target name it by the same path.
fn check_distinct(files: &[FileTarget]) -> Result<(), Failure> {
    let place = |file: &FileTarget| Identity::of(&unlooped(&file.path).0);
    let places: Vec<Identity> = files.iter().map(place).collect();
    for (number, file) in files.iter().enumerate() {
        let same = |(other, at): (&FileTarget, &Identity)| {
            (*at == places[number] && other.path != file.path).then(|| other.clone())
        };
        let Some(other) = files[..number].iter().zip(&places).find_map(same) else { continue };
        let (path, other_path) = (&file.path, &other.path);
        let message = format!(
            "files {} and {} are on {other_path} and {path}, which are the same",
            other.file, file.file
        );
        let hint = "write the same path for files that share a target";
        return Err(Failure::wrong(message, hint));
    }
    Ok(())
}

/// The options with which each of `files` is opened.
fn options_of_each(
    files: &[FileTarget],
    options: &TargetOptions,
) -> Result<Vec<TargetOptions>, Failure> {
    if options.even_if_not_empty && options.i_will_lose_data.is_empty() {
        return Err(named_for_nothing(name(files)));
    }
    let devices: Vec<bool> = files.iter().map(|file| is_device(&file.path)).collect();
    let targets = files.iter().zip(&devices);
    let targets =
        targets.map(|(file, &is_device)| ToBeNamed { path: unlooped(&file.path).0, is_device });
    let again = target::named_again(&targets.collect::<Vec<_>>(), &options.i_will_lose_data)?;
    let only_devices = devices.iter().all(|&device| device);
    let each = devices.iter().zip(again).map(|(&device, again)| TargetOptions {
        // If all are devices, it stays and is refused when they are opened.
        create: options.create.clone().filter(|_| only_devices || !device),
        even_if_not_empty: options.even_if_not_empty && again.is_some(),
        i_will_lose_data: again.into_iter().collect(),
        ..options.clone()
    });
    Ok(each.collect())
}

/// Checks that `jobs` fit the targets of `files`: those that are `opened`, and the others as
/// `options` would make them.
fn check_fit(
    jobs: &[&Job],
    files: &[FileTarget],
    options: &[TargetOptions],
    opened: &[Option<Live>],
) -> Result<(), Failure> {
    for job in jobs {
        let capacity = |file: &FileTarget| {
            let at = files.iter().position(|known| known.path == file.path).expect("it is a job's");
            match (&opened[at], &options[at].create) {
                (Some(live), _) => Ok((live.viewed(job)?.target.capacity(), 1)),
                (None, Some(create)) => Ok((target::viewed_of(created(create)?, job)?, 1)),
                (None, None) => unreachable!("what is not to be made is open"),
            }
        };
        let mut targets = Vec::new();
        add(&mut targets, job.workload.file_targets()?);
        let sizes = targets.iter().map(capacity).collect::<Result<Vec<_>, Failure>>()?;
        let extents: Vec<Extent> = extents::behind_each_other(sizes)?;
        job.agents_over(&extents)?;
    }
    Ok(())
}
