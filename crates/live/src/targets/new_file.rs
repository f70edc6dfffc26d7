//! A new file that gets its name when it is whole.
//!
//! Until then it has no name, so that nothing remains however the process ends. Where the file system cannot
//! do that, its name says that it is unfinished, and it is locked: `doctor --clean` removes it once its
//! process is gone. A pipe, a character device or a stream of this process is written directly.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FlockOperation, RenameFlags};
use rustix::io::Errno;

use super::direct::Direct;

/// The ending of a file's name until it is whole.
pub(crate) const UNFINISHED: &str = ".penstock-unfinished";

/// A file that gets its name, which is free until then, by [`finish`](Self::finish). It is removed when it
/// is dropped unfinished.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    path: PathBuf,
    place: Option<NamedPlace>,
}

/// The place of a file that will have a name.
#[derive(Debug)]
struct NamedPlace {
    folder: File,
    /// The unfinished name, if the file needs one.
    unfinished: Option<PathBuf>,
}

impl NewFile {
    /// Creates a file for `path`, where nothing is yet but perhaps a stream.
    ///
    /// # Errors
    /// Something is there, or no file can be created there.
    pub fn create(path: &Path) -> io::Result<Self> {
        let new = Self::create_unlocked(path)?;
        // It tells `doctor --clean` that its process is alive; a file system without locks cannot tell.
        let _ = rustix::fs::flock(&new.file, FlockOperation::NonBlockingLockExclusive);
        Ok(new)
    }

    /// Checks that a file can be created for `path`, by creating one that gets no name: permissions do not
    /// tell whether a file system is full or takes no files. A stream is not opened: its reader would see
    /// its end.
    ///
    /// # Errors
    /// As of [`create`](Self::create).
    pub fn check(path: &Path) -> io::Result<()> {
        if is_stream(path) { Ok(()) } else { Self::create(path).map(drop) }
    }

    /// Creates a file as [`create`](Self::create) does, for a caller that locks it.
    pub(super) fn create_unlocked(path: &Path) -> io::Result<Self> {
        if is_stream(path) {
            let file = OpenOptions::new().write(true).open(path)?;
            return Ok(Self { file, path: path.to_owned(), place: None });
        }
        match std::fs::symlink_metadata(path) {
            Ok(_) => return Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // A file without a name would be created all the same.
            Err(error) => return Err(error),
        }
        let at = folder_of(path);
        let folder = File::open(at)?;
        let (file, unfinished) = make(path, at)?;
        let place = Some(NamedPlace { folder, unfinished });
        Ok(Self { file, path: path.to_owned(), place })
    }

    /// The file, to be written.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the path that it gets.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the file, all of which is written, durable, and gives it its name.
    ///
    /// # Errors
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if a file has been created there meanwhile; an error of the
    /// system. Nothing is left.
    pub fn finish(mut self) -> io::Result<()> {
        let Some(place) = &mut self.place else { return Ok(()) };
        self.file.sync_all()?;
        if let Some(unfinished) = &place.unfinished {
            rename(unfinished, &self.path)?;
            place.unfinished = None;
        } else {
            let fd_path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            let (here, follow) = (rustix::fs::CWD, AtFlags::SYMLINK_FOLLOW);
            rustix::fs::linkat(here, fd_path, here, &self.path, follow)?;
        }
        place.folder.sync_all()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(NamedPlace { unfinished: Some(unfinished), .. }) = &self.place {
            // The error that led here is the one that is reported.
            let _ = std::fs::remove_file(unfinished);
        }
    }
}

/// Returns the folder in which the file at `path` is.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether `path` takes what is written to it and keeps no name for it: a pipe, a character device, a socket,
/// or a stream that this process has open.
fn is_stream(path: &Path) -> bool {
    let Ok(meta) = std::fs::metadata(path) else { return false };
    let kind = meta.file_type();
    let ours = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd"];
    kind.is_fifo()
        || kind.is_char_device()
        || (kind.is_file() && ours.iter().any(|ours| path.starts_with(ours)))
}

/// Creates a file that will be at `path` in `folder`. Returns it with its unfinished name, if it needs one.
fn make(path: &Path, folder: &Path) -> io::Result<(File, Option<PathBuf>)> {
    if let Some(file) = (Direct::REAL.nameless)(folder)?
        && Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())).exists()
    {
        return Ok((file, None));
    }
    let mut name = b".".to_vec();
    name.extend(path.file_name().unwrap_or_default().to_owned().into_vec());
    name.extend(format!(".{}{UNFINISHED}", std::process::id()).into_bytes());
    let unfinished = folder.join(std::ffi::OsString::from_vec(name));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&unfinished)?;
    Ok((file, Some(unfinished)))
}

/// Renames the file `from` to `to`, which must not exist.
fn rename(from: &Path, to: &Path) -> Result<(), Errno> {
    let here = rustix::fs::CWD;
    match rustix::fs::renameat_with(here, from, here, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::linkat(here, from, here, to, AtFlags::empty())?;
            rustix::fs::unlink(from)
        }
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("penstock-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_has_its_name_once_it_is_whole() {
        let folder = folder("new-file");
        let path = folder.join("new");
        let entries = || std::fs::read_dir(&folder).unwrap().count();
        let new = NewFile::create(&path).unwrap();
        new.file().write_all(b"half").unwrap();
        drop(new);
        assert_eq!(entries(), 0);
        let new = NewFile::create(&path).unwrap();
        new.file().write_all(b"whole").unwrap();
        assert!(!path.exists());
        new.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        let error = NewFile::create(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_that_took_the_name_meanwhile_stays() {
        let folder = folder("new-file-late");
        let path = folder.join("new");
        let new = NewFile::create(&path).unwrap();
        std::fs::write(&path, b"theirs").unwrap();
        assert_eq!(new.finish().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_name_that_is_too_long_is_refused_at_once() {
        let path = std::env::temp_dir().join("x".repeat(300));
        assert_eq!(NewFile::check(&path).unwrap_err().kind(), io::ErrorKind::InvalidFilename);
    }

    #[test]
    fn a_device_is_written_directly() {
        let new = NewFile::create(Path::new("/dev/null")).unwrap();
        new.file().write_all(b"gone").unwrap();
        new.finish().unwrap();
    }
}
