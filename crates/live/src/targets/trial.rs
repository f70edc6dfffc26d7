//! A trial of direct I/O in a folder, which leaves nothing behind.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use super::direct::{Alignment, Direct};
use super::error::TargetError;
use super::file_systems;

/// The requirements of direct I/O to files in a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DirectIo {
    /// The type of the file system, as `mount` names it.
    pub file_system: String,
    /// The alignment of offsets in a file, in bytes.
    pub offset: u32,
    /// The alignment of memory, in bytes.
    pub memory: u32,
    /// Whether the kernel reported the alignment; if not, a page is assumed.
    pub reported: bool,
}

impl DirectIo {
    /// Writes and reads a block with direct I/O, in an unnamed file in `folder`.
    ///
    /// # Errors
    /// No file can be created there, or the file system refuses.
    pub fn try_in(folder: &Path) -> Result<Self, TargetError> {
        Self::try_through(&Direct::REAL, folder)
    }

    fn try_through(direct: &Direct, folder: &Path) -> Result<Self, TargetError> {
        let make = |error| TargetError::system(folder, "make a file there", error);
        let plain = nameless(direct, folder).map_err(make)?;
        // Its only name is the one in /proc.
        let name = PathBuf::from(format!("/proc/self/fd/{}", plain.as_raw_fd()));
        let file = direct.open_as(&name, folder)?;
        let reported = (direct.alignment)(&file).is_some();
        let alignment = direct.alignment(folder, &file)?;
        Direct::probe_writing(folder, &file, alignment)?;
        direct.probe(folder, &file, alignment)?;
        let Alignment { offset, memory } = alignment;
        Ok(Self { file_system: file_systems::name(&file), offset, memory, reported })
    }
}

/// Returns the type of the file system of `path`, as `mount` names it; `None` if it cannot be inspected.
pub fn file_system(path: &Path) -> Option<String> {
    File::open(path).ok().map(|file| file_systems::name(&file))
}

/// Creates a file in `folder` that is gone with its last user.
fn nameless(direct: &Direct, folder: &Path) -> io::Result<File> {
    if let Some(file) = (direct.nameless)(folder)? {
        return Ok(file);
    }
    // The file system has no unnamed files: the file is created with a name and removed at once.
    let path = folder.join(format!(".penstock-trial-{}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("penstock-trial-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        // /tmp may be memory, which may refuse: the trial must end in an answer.
        let answer = DirectIo::try_in(&folder);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::remove_dir(&folder).unwrap();
        if let Ok(found) = answer {
            assert!(found.offset.is_power_of_two() && found.memory.is_power_of_two());
        }
    }

    #[test]
    fn a_refusal_names_the_folder() {
        let open = |_: &Path| Err(io::Error::from_raw_os_error(libc::EINVAL));
        let direct = Direct { open, ..Direct::REAL };
        let folder = std::env::temp_dir();
        let message = DirectIo::try_through(&direct, &folder).unwrap_err().to_string();
        assert!(message.starts_with(&folder.display().to_string()), "{message}");
        assert!(message.contains("refuses O_DIRECT (opening it said EINVAL)"), "{message}");
    }

    #[test]
    fn a_folder_that_takes_no_files_says_so() {
        let message = DirectIo::try_in(Path::new("/proc")).unwrap_err().to_string();
        assert!(message.contains("/proc: cannot make a file there"), "{message}");
    }
}
