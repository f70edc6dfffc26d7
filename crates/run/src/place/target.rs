//! From the name of a target to the open target: a file, a loop device over one, or a block device.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use penstock_jobs::path_text::path;
use penstock_jobs::units;
use penstock_jobs::{Job, View};
use penstock_live::{Contents, Target, User, VERIFIED_BLOCK};

use crate::ask::target_options::{LOOP, TargetOptions};
use crate::failure::Failure;

/// Progress of writing an owned file: gets its path and the fraction that is written; `false` ends
/// the writing.
pub(crate) type Creation<'a> = dyn FnMut(&str, f64) -> bool + 'a;

/// A target, ready to be run on.
pub(crate) struct Named {
    /// The open target.
    pub(crate) target: Target,
    /// Whether its file was just made.
    pub(crate) made: bool,
}

/// Identifies a file or device, whatever its names.
#[derive(PartialEq, Eq)]
pub(crate) enum Identity {
    /// Number of a block device.
    Device(u64),
    /// File system of a file, and its number there.
    File(u64, u64),
    /// Path where a file is to be made.
    Missing(PathBuf),
}

impl Identity {
    /// Identifies the file or device at `path`.
    pub(crate) fn of(path: &Path) -> Self {
        match std::fs::metadata(path) {
            Ok(meta) if meta.file_type().is_block_device() => Self::Device(meta.rdev()),
            Ok(meta) => Self::File(meta.dev(), meta.ino()),
            Err(_) => {
                let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
                let folder = whole.parent().and_then(|folder| std::fs::canonicalize(folder).ok());
                let real = folder.zip(whole.file_name()).map(|(folder, name)| folder.join(name));
                Self::Missing(real.unwrap_or(whole))
            }
        }
    }
}

/// Splits `on` into the path and whether a loop device is to be made over the file there.
pub(crate) fn unlooped(on: &str) -> (Cow<'_, Path>, bool) {
    on.strip_prefix(LOOP).map_or_else(|| (path(on), false), |file| (path(file), true))
}

/// Whether `on` names an existing block device.
pub(crate) fn is_device(on: &str) -> bool {
    let (path, looped) = unlooped(on);
    !looped && std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_block_device())
}

/// A target that may have to be named a second time.
pub(crate) struct ToBeNamed<'a> {
    pub(crate) path: Cow<'a, Path>,
    /// Whether it is a block device, which must be named a second time.
    pub(crate) is_device: bool,
}

/// Finds for each of `targets` of `--on` the name among `given`, the values of
/// `--i-will-lose-data`, that names it.
///
/// # Errors
/// A name matches none of the targets.
pub(crate) fn named_again(
    targets: &[ToBeNamed<'_>],
    given: &[String],
) -> Result<Vec<Option<String>>, Failure> {
    let names = |target: &ToBeNamed<'_>| given.iter().position(|name| is_named(&target.path, name));
    let mut found: Vec<Option<usize>> = targets.iter().map(names).collect();
    let spare = (0..given.len()).find(|name| !found.contains(&Some(*name)));
    let unnamed =
        |(target, name): (&ToBeNamed<'_>, &Option<usize>)| target.is_device && name.is_none();
    let unnamed = targets.iter().zip(&found).position(unnamed);
    match (spare, unnamed) {
        // The refusal of the device says what it could be named.
        (Some(name), Some(target)) => found[target] = Some(name),
        (Some(name), None) => {
            let message = format!("--i-will-lose-data {} names no target of --on", given[name]);
            let hint = "name block devices of --on once more, by serial number or path";
            return Err(Failure::wrong(message, hint));
        }
        (None, _) => {}
    }
    Ok(found.into_iter().map(|name| name.map(|name| given[name].clone())).collect())
}

/// Whether `name` names the target at `path`.
fn is_named(target: &Path, name: &str) -> bool {
    Target::is_named(target, name) || *target == *path(name)
}

/// Whether `on` names a target: it looks like a path, or it exists, or it is to be created.
pub(crate) fn is_one(on: &str, options: &TargetOptions) -> bool {
    let like_a_path = on.contains(['/', '.']) || on.starts_with(LOOP);
    like_a_path || path(on).exists() || options.create.is_some()
}

/// Opens the target that `on` names; makes a file only if `jobs` fit it.
///
/// # Errors
/// Options that do not go with it, a target that is refused, or a job that does not fit.
pub(crate) fn open(
    on: &str,
    jobs: &[&Job],
    options: &TargetOptions,
    progress: &mut Creation<'_>,
) -> Result<Named, Failure> {
    let create = options.create.as_deref().map(created).transpose()?;
    let (whole, looped) = unlooped(on);
    let path = &*whole;
    if path.as_os_str().is_empty() {
        return Err(Failure::wrong(format_args!("--on {on} names no file"), "as loop:./disk.img"));
    }
    let named = match &options.i_will_lose_data[..] {
        [] => None,
        [one] => Some(one.clone()),
        several => named_again(
            &[ToBeNamed { path: Cow::Borrowed(path), is_device: is_device(on) }],
            several,
        )?
        .remove(0),
    };
    let named = named.as_deref();
    if options.even_if_not_empty && named.is_none() {
        return Err(named_for_nothing(on));
    }
    if options.read_only {
        options.check_reading(on, looped)?;
        return Ok(Named { target: Target::open_reading(path)?, made: false });
    }
    if !is_device(on) {
        let user = user(path, named)?;
        return owned(path, on, looped, create, user, jobs, progress);
    }
    if create.is_some() {
        let message = format!("--create does not go with {on}, which is a block device");
        return Err(Failure::wrong(message, "a device has its size: leave it out"));
    }
    let target = Target::open_device(path, named, contents(options.even_if_not_empty))?;
    Ok(Named { target, made: false })
}

/// The contents that a device may have when it is opened.
pub(crate) fn contents(even_if_not_empty: bool) -> Contents {
    if even_if_not_empty { Contents::MayBeLost } else { Contents::Empty }
}

/// The error for `--even-if-not-empty` without the second name that it needs.
pub(crate) fn named_for_nothing(on: impl fmt::Display) -> Failure {
    let message = format!("--even-if-not-empty does not go with {on}, which is not named twice");
    Failure::wrong(message, "it is about a block device: name it with --i-will-lose-data as well")
}

/// The rights of a run on the file at `path`. With `named`, the path from `--i-will-lose-data`, an
/// application's data in it may be lost.
pub(crate) fn user(path: &Path, named: Option<&str>) -> Result<User, Failure> {
    let Some(named) = named else { return Ok(User::Run) };
    let own = std::fs::canonicalize(path);
    if own.is_ok_and(|own| std::fs::canonicalize(self::path(named)).is_ok_and(|named| named == own))
    {
        return Ok(User::RunOverData);
    }
    let shown = path.display();
    if !path.exists() {
        let message =
            format!("--i-will-lose-data {named} does not go with {shown}, which is not there");
        return Err(Failure::wrong(message, "leave it out"));
    }
    let message = format!("--i-will-lose-data {named} does not name {shown} once more");
    Err(Failure::wrong(message, format!("write `--i-will-lose-data {shown}`, or leave it out")))
}

/// Opens or makes an owned file, or a loop device over one.
fn owned(
    path: &Path,
    on: &str,
    looped: bool,
    create: Option<u64>,
    user: User,
    jobs: &[&Job],
    progress: &mut Creation<'_>,
) -> Result<Named, Failure> {
    let made = !path.exists();
    if let Some(size) = create.filter(|_| made) {
        // A job that does not fit must leave no file behind.
        for job in jobs {
            job.agents_on(viewed_of(size, job)?, 1)?;
        }
    }
    let mut report = |written: u64, of: u64| {
        let fraction = written as f64 / of as f64;
        if progress(on, fraction) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let target = if looped {
        Target::open_loop(path, create, user, &mut report)?
    } else {
        Target::open_with(path, create, user, &mut report)?
    };
    Ok(Named { target, made })
}

/// Number of bytes that `job` views of `size` bytes.
pub(crate) fn viewed_of(size: u64, job: &Job) -> Result<u64, Failure> {
    match job.live.view {
        Some(View { start, length }) if start.checked_add(length).is_none_or(|end| end > size) => {
            let message = format!("live.view ends past the {size} bytes to create");
            Err(Failure::wrong(message, "create a larger file, or change the view"))
        }
        view => Ok(view.map_or(size, |view| view.length)),
    }
}

/// The part of `target` that `job` views.
///
/// # Errors
/// The view does not fit.
pub(crate) fn viewed(target: &Target, job: &Job) -> Result<Target, Failure> {
    let view = match job.live.view {
        None => target.clone(),
        Some(View { start, length }) => target.view(start, length)?,
    };
    if job.is_verified() { whole_blocks(view, job.live.view) } else { Ok(view) }
}

/// The part of `target` that consists of whole blocks, which can be verified. `view`: the job's
/// view of it.
fn whole_blocks(target: Target, view: Option<View>) -> Result<Target, Failure> {
    let block = u64::from(VERIFIED_BLOCK);
    if let Some(View { start, .. }) = view.filter(|view| !view.start.is_multiple_of(block)) {
        let message = format!(
            "live.view begins at byte {start}; data is verified in whole blocks of {block} bytes"
        );
        let hint = format!(
            "a multiple of that, as {}, or leave `verify` out",
            start.next_multiple_of(block)
        );
        return Err(Failure::wrong(message, hint));
    }
    let capacity = target.capacity();
    let whole = capacity / block * block;
    if whole == capacity { Ok(target) } else { Ok(target.view(0, whole)?) }
}

/// Parses the size of `--create`.
pub(crate) fn created(text: &str) -> Result<u64, Failure> {
    units::parse_size(text).map_err(|error| {
        Failure::wrong(format_args!("--create: {}", error.message()), "write it as 256MiB")
    })
}
