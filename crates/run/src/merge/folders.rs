//! The disks of merges: a folder on each, for outputs and for runs that are made.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::options::{CheckedMerges, MergeOptions};
use crate::failure::Failure;

/// Returns the real path of each folder of `--to`. Missing folders of emulated disks are made.
///
/// # Errors
/// [`Failure`]: there is no folder, or one is named twice.
pub(super) fn open(
    checked: &CheckedMerges,
    options: &MergeOptions,
) -> Result<Vec<PathBuf>, Failure> {
    if options.to.is_empty() {
        let hint = "name a folder of each disk: --to /disk0 /disk1";
        return Err(Failure::wrong("nothing says where outputs go", hint));
    }
    let mut folders = Vec::new();
    for to in &options.to {
        let path = checked.folder.as_ref().map_or_else(|| to.clone(), |folder| folder.join(to));
        if checked.folder.is_some() && !path.exists() {
            std::fs::create_dir_all(&path).map_err(|error| Failure::unwritable(&path, &error))?;
        }
        let folder = real_folder(&path)?;
        if folders.contains(&folder) {
            let message = format!("--to names {} twice", path.display());
            return Err(Failure::wrong(message, "name each disk once"));
        }
        folders.push(folder);
    }
    Ok(folders)
}

fn real_folder(path: &Path) -> Result<PathBuf, Failure> {
    let shown = path.display();
    let folder = std::fs::canonicalize(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let message = format!("--to {shown}: found nothing there; expected a folder");
            Failure::wrong(message, format!("make it first: mkdir -p {shown}"))
        }
        _ => Failure::unreadable(path, &error),
    })?;
    if !folder.is_dir() {
        let message = format!("--to {shown} names a file; expected a folder");
        return Err(Failure::wrong(message, "outputs are new files: name a folder on each disk"));
    }
    Ok(folder)
}
