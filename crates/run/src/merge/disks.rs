//! The disks of merges, opened: folders of files, or targets of which runs and outputs are ranges.

use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use penstock_jobs::units::size_text;
use penstock_live::Target;

use super::options::{AskedMerges, MergeOptions};
use crate::failure::Failure;
use crate::target::{
    Identity, LOOP, ToBeNamed, created, named_again, named_for_nothing, open, unlooped,
};
use crate::target_options::TargetOptions;

/// A new file is to have a multiple of this, so that its size is short to write.
const STEP: u64 = 1 << 20;

/// The disks of merges, by number.
pub(super) enum MergeDisks {
    /// Runs and outputs are files in them.
    Folders(Vec<PathBuf>),
    /// Runs and outputs are ranges of them.
    Targets(Vec<TargetDisk>),
}

/// A target that is a disk of merges.
pub(super) struct TargetDisk {
    /// As results call it: its path, behind `loop:` if a loop device is made of it.
    pub(super) name: PathBuf,
    /// Its path alone.
    pub(super) path: PathBuf,
    pub(super) target: Target,
}

/// What `--to` names.
struct NamedDisk {
    /// As it was named, below the folder of emulated disks.
    shown: PathBuf,
    path: PathBuf,
    looped: bool,
    kind: DiskKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DiskKind {
    Folder,
    Device,
    File,
    Missing,
}

impl MergeDisks {
    /// Opens the disks that `options` name. `go_on` is asked meanwhile; `false` ends that.
    ///
    /// # Errors
    /// [`Failure`]: a disk cannot be used, is too small, or does not go with another one or with what is
    /// asked for.
    pub(super) fn open(
        asked: &AskedMerges,
        options: &MergeOptions,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Self, Failure> {
        if options.to.is_empty() {
            let hint = "name a folder of each disk: --to /disk0 /disk1";
            return Err(Failure::wrong("nothing says where outputs go", hint));
        }
        let creates = options.create.is_some();
        let named: Vec<NamedDisk> =
            options.to.iter().map(|to| NamedDisk::new(to, asked, creates)).collect();
        let Some(target) = named.iter().find(|disk| disk.is_target()) else {
            return folders(&named, asked, options).map(Self::Folders);
        };
        check_targets(target, &named, options)?;
        targets(&named, asked, options, go_on).map(Self::Targets)
    }

    /// What remarks call them.
    pub(super) fn noun(&self) -> &'static str {
        match self {
            Self::Folders(_) => "folders",
            Self::Targets(_) => "targets",
        }
    }
}

impl NamedDisk {
    fn new(to: &Path, asked: &AskedMerges, creates: bool) -> Self {
        let (path, looped) = to.to_str().map_or((to, false), unlooped);
        let path =
            asked.folder.as_ref().map_or_else(|| path.to_owned(), |folder| folder.join(path));
        let kind = match std::fs::metadata(&path).map(|meta| meta.file_type()) {
            Ok(kind) if kind.is_dir() => DiskKind::Folder,
            Ok(kind) if kind.is_block_device() => DiskKind::Device,
            Ok(_) => DiskKind::File,
            // Folders of emulated disks are made.
            Err(_) if looped || creates && asked.folder.is_none() => DiskKind::File,
            Err(_) => DiskKind::Missing,
        };
        let shown = if looped { to.to_owned() } else { path.clone() };
        Self { shown, path, looped, kind }
    }

    fn is_target(&self) -> bool {
        self.looped || matches!(self.kind, DiskKind::Device | DiskKind::File)
    }

    fn identity(&self) -> Identity {
        Identity::of(&self.path)
    }
}

fn named_twice(shown: &Path) -> Failure {
    let message = format!("--to names {} twice", shown.display());
    Failure::wrong(message, "name each disk once")
}

/// The folder of each disk.
fn folders(
    named: &[NamedDisk],
    asked: &AskedMerges,
    options: &MergeOptions,
) -> Result<Vec<PathBuf>, Failure> {
    let of_targets = [
        ("--create", options.create.is_some()),
        ("--i-will-lose-data", !options.i_will_lose_data.is_empty()),
        ("--even-if-not-empty", options.even_if_not_empty),
    ];
    if let Some((option, _)) = of_targets.iter().find(|(_, given)| *given) {
        let message = format!("{option} does not go with --to {}", named[0].shown.display());
        let hint = "outputs are new files in a folder: leave it out, or name files and devices";
        return Err(Failure::wrong(message, hint));
    }
    let mut disks = Vec::new();
    for NamedDisk { path, kind, .. } in named {
        if asked.folder.is_some() && *kind == DiskKind::Missing {
            std::fs::create_dir_all(path).map_err(|error| Failure::unwritable(path, &error))?;
        }
        let shown = path.display();
        let real = std::fs::canonicalize(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                let message = format!("--to {shown}: found nothing there; expected a folder");
                let make = format!("make it first: mkdir -p {shown}");
                let file = "; or `--create SIZE` makes a file for runs and outputs";
                Failure::wrong(message, make + if options.make { file } else { "" })
            }
            _ => Failure::unreadable(path, &error),
        })?;
        if disks.contains(&real) {
            return Err(named_twice(path));
        }
        disks.push(real);
    }
    Ok(disks)
}

/// That `target` goes with the other disks and with what is asked for.
fn check_targets(
    target: &NamedDisk,
    named: &[NamedDisk],
    options: &MergeOptions,
) -> Result<(), Failure> {
    let shown = target.shown.display();
    let kind = if target.kind == DiskKind::Device { "device" } else { "file" };
    if let Some(disk) = named.iter().find(|disk| disk.looped && disk.path.as_os_str().is_empty()) {
        let message = format!("--to {} names no file", disk.shown.display());
        return Err(Failure::wrong(message, "as loop:./disk.img"));
    }
    if !options.make {
        let runs = if options.jobs.is_some() { "those of --jobs" } else { "the runs" };
        let message =
            format!("--to {shown} names a {kind}; expected a folder, as {runs} are files");
        let hint = format!("name a folder for the outputs, or let --make make runs on the {kind}");
        return Err(Failure::wrong(message, hint));
    }
    if let Some(folder) = named.iter().find(|disk| disk.kind == DiskKind::Folder) {
        let folder = folder.shown.display();
        let message = format!("--to names a folder, {folder}, and a {kind}, {shown}");
        return Err(Failure::wrong(message, "name only folders, or only files and devices"));
    }
    if let Some(on) = &options.on {
        let message = format!("--on {on} does not go with --to {shown}");
        let hint = "models answer for folders of files: name folders, or leave --on out";
        return Err(Failure::wrong(message, hint));
    }
    for (number, disk) in named.iter().enumerate() {
        if named[..number].iter().any(|other| other.identity() == disk.identity()) {
            return Err(named_twice(&disk.shown));
        }
    }
    Ok(())
}

/// The target of each disk, with room for what is laid on it.
fn targets(
    named: &[NamedDisk],
    asked: &AskedMerges,
    options: &MergeOptions,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Vec<TargetDisk>, Failure> {
    let block = u64::from(asked.shape().block);
    let used = asked.laid(named.len() as u32)?.layout.used;
    let needs: Vec<u64> = used.iter().map(|blocks| blocks * block).collect();
    let create = options.create.as_deref().map(created).transpose()?;
    // Before any file is made.
    for (disk, needs) in named.iter().zip(&needs).filter(|(disk, _)| !disk.path.exists()) {
        create.map_or(Ok(()), |size| check_room(&disk.shown, *needs, size))?;
    }
    let twice = names(named, options)?;
    let devices = named.iter().all(|disk| disk.kind == DiskKind::Device && !disk.looped);
    let mut disks = Vec::new();
    for ((disk, needs), name) in named.iter().zip(needs).zip(twice) {
        let device = disk.kind == DiskKind::Device && !disk.looped;
        let options = TargetOptions {
            create: options.create.clone().filter(|_| devices || !device),
            even_if_not_empty: options.even_if_not_empty && name.is_some(),
            i_will_lose_data: name.into_iter().collect(),
            ..TargetOptions::default()
        };
        let Some(on) = disk.shown.to_str() else {
            let message = format!("--to {}: the name of a target is UTF-8", disk.shown.display());
            return Err(Failure::wrong(message, "name it by another path"));
        };
        let target = open(on, &[], &options, &mut |_| go_on())?.target;
        check_room(&disk.shown, needs, target.capacity())?;
        asked.spec().fits_units(target.unit(), on)?;
        let path = std::fs::canonicalize(&disk.path)
            .map_err(|error| Failure::unreadable(&disk.path, &error))?;
        let prefix = if disk.looped { LOOP } else { "" };
        let name = PathBuf::from(format!("{prefix}{}", path.display()));
        disks.push(TargetDisk { name, path, target });
    }
    Ok(disks)
}

/// That what is laid on a disk has room there.
fn check_room(disk: &Path, needs: u64, has: u64) -> Result<(), Failure> {
    if needs <= has {
        return Ok(());
    }
    let enough = size_text(needs.next_multiple_of(STEP));
    let [needs, has] = [needs, has].map(size_text);
    let message = format!("{needs} are to lie on {}, which holds {has}", disk.display());
    let hint = format!(
        "a new file with --create {enough} is large enough; or name more disks, or lower merge.jobs, \
         merge.runs or merge.run"
    );
    Err(Failure::wrong(message, hint))
}

/// What names each disk once more, if anything does.
fn names(named: &[NamedDisk], options: &MergeOptions) -> Result<Vec<Option<String>>, Failure> {
    let given = &options.i_will_lose_data;
    if options.even_if_not_empty && given.is_empty() {
        return Err(named_for_nothing(format_args!("--to {}", named[0].shown.display())));
    }
    let to_be_named = named.iter().map(|disk| ToBeNamed {
        path: &disk.path,
        is_device: disk.kind == DiskKind::Device && !disk.looped,
    });
    named_again(&to_be_named.collect::<Vec<_>>(), given, "--to")
}
