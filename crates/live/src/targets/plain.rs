//! Plain files of any length: inputs, which are only read, and outputs, which are new and have a known length.
//!
//! Use them for a program that reads a user's files and makes others of them, such as a merge. Direct I/O
//! moves whole blocks: the rest of an input after its last whole block is read when it is opened, and an
//! output is cut to its length when it is complete. A file system without direct I/O is used through the page
//! cache.
//!
//! An output has no name until it is complete, so that nothing remains however the process ends. Where the
//! file system cannot do that, its name says that it is unfinished until then.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::direct::{Alignment, Direct};
use super::error::TargetError;
use super::file_systems;
use super::new_file::{NewFile, folder_of};
use super::opened::{Locked, check_kind};
use super::{Inner, Target};

/// Whether a file is read or written through the page cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageCache {
    /// Direct I/O, where the file system allows it.
    Avoided,
    /// Through the page cache: for files below a model, which determines the time.
    Used,
}

/// The alignment without direct I/O: any byte may be read and written alone.
const THROUGH_THE_CACHE: Alignment = Alignment { offset: 1, memory: 1 };

/// A file that is only read.
#[derive(Debug)]
pub struct Input {
    /// Its whole blocks; `None` if it has less than one.
    pub target: Option<Target>,
    /// The bytes after them.
    pub rest: Vec<u8>,
    /// Its last byte, if it has any.
    pub last: Option<u8>,
    /// Whether it is read with direct I/O.
    pub direct: bool,
}

impl Input {
    /// Opens the regular file at `path`, even if it is in use: nothing is locked.
    ///
    /// # Errors
    /// [`TargetError`]: there is no file, or no regular one; it cannot be read.
    pub fn open(path: &Path, cache: PageCache) -> Result<Self, TargetError> {
        let system = |doing| move |error| TargetError::system(path, doing, error);
        let meta = std::fs::metadata(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => TargetError::NoInput { path: path.to_owned() },
            _ => TargetError::system(path, "look at it", error),
        })?;
        check_kind(path, meta.file_type()).map_err(|error| match error {
            TargetError::NotAFile { path, kind } => TargetError::NoRun { path, kind },
            error => error,
        })?;
        file_systems::check_not_the_kernels(path, path)?;
        let plain = File::open(path).map_err(system("open it"))?;
        let length = plain.metadata().map_err(system("look at it"))?.len();
        let open = || Direct::open_reading(path);
        let (file, alignment) = opened(path, &plain, cache, open)?;
        let usable = length / u64::from(unit(alignment)) * u64::from(unit(alignment));
        let mut rest = vec![0; (length - usable) as usize];
        let mut last = [0];
        let read = plain.read_exact_at(&mut rest, usable).and_then(|()| match length {
            0 => Ok(()),
            _ => plain.read_exact_at(&mut last, length - 1),
        });
        read.map_err(system("read its end"))?;
        let file_system = file_systems::name(&file);
        let (path, file) = (path.to_owned(), Arc::new(file));
        let inner = Inner { path, alignment, file_system, file, length, lock: None };
        Ok(Self {
            target: (usable > 0).then(|| Target::with_usable(inner, usable)),
            rest,
            last: (length > 0).then_some(last[0]),
            direct: alignment != THROUGH_THE_CACHE,
        })
    }

    /// Returns the length of the file in bytes.
    pub fn len(&self) -> u64 {
        self.target.as_ref().map_or(0, Target::capacity) + self.rest.len() as u64
    }

    /// Returns whether the file is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A new file, with space for all of its content.
#[derive(Debug)]
pub struct Output {
    /// The target to be written; `None` if the length is 0.
    pub target: Option<Target>,
    /// Whether it is written with direct I/O.
    pub direct: bool,
    new: NewFile,
    length: u64,
}

impl Output {
    /// Creates a file of `length` bytes that gets the name `path`, which must be free, when it is finished.
    ///
    /// # Errors
    /// [`TargetError`]: something is there, or no file can be created there; there is no space.
    pub fn create(path: &Path, length: u64, cache: PageCache) -> Result<Self, TargetError> {
        let system = |doing| move |error| TargetError::system(path, doing, error);
        if std::fs::symlink_metadata(path).is_ok() {
            return Err(TargetError::Exists { path: path.to_owned() });
        }
        file_systems::check_not_the_kernels(folder_of(path), path)?;
        let new = NewFile::create_unlocked(path).map_err(system("create it"))?;
        let fd_path = PathBuf::from(format!("/proc/self/fd/{}", new.file().as_raw_fd()));
        let mut output = Self { target: None, direct: false, new, length };
        output.reserve()?;
        if length == 0 {
            return Ok(output);
        }
        let open = || Direct::REAL.open_as(&fd_path, path);
        let (file, alignment) = opened(path, output.new.file(), cache, open)?;
        output.direct = alignment != THROUGH_THE_CACHE;
        let rounded = length.next_multiple_of(u64::from(unit(alignment)));
        rustix::fs::ftruncate(output.new.file(), rounded)
            .map_err(|errno| TargetError::system(path, "set its length", errno.into()))?;
        let file_system = file_systems::name(&file);
        // The lock tells `doctor --clean` that its process is alive.
        let lock = Locked::new(path, Arc::new(file))?;
        let (path, file) = (path.to_owned(), Arc::clone(&lock.file));
        let inner = Inner { path, alignment, file_system, file, length: rounded, lock: Some(lock) };
        output.target = Some(Target::with_usable(inner, rounded));
        Ok(output)
    }

    /// Returns the path that it gets.
    pub fn path(&self) -> &Path {
        self.new.path()
    }

    /// Returns the file, to be written through the page cache.
    ///
    /// # Errors
    /// An error of the system.
    pub fn file(&self) -> io::Result<File> {
        self.new.file().try_clone()
    }

    /// Finishes the file, all of which is written: cuts it to its length, makes it durable, and gives it its
    /// name.
    ///
    /// # Errors
    /// [`TargetError`]: a file has been created there meanwhile; an error of the system. Nothing is left.
    pub fn finish(self) -> Result<(), TargetError> {
        let Self { new, length, target, .. } = self;
        let path = new.path().to_owned();
        let system = |doing| {
            let path = path.clone();
            move |error| TargetError::system(&path, doing, error)
        };
        new.file().set_len(length).map_err(system("cut it to its length"))?;
        new.finish().map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => TargetError::Exists { path: path.clone() },
            _ => system("make it durable and give it its name")(error),
        })?;
        drop(target);
        Ok(())
    }

    /// Reserves the space for all of it.
    fn reserve(&self) -> Result<(), TargetError> {
        let Self { new, length, .. } = self;
        let (plain, path) = (new.file(), new.path());
        let free = rustix::fs::fstatvfs(plain)
            .map(|answer| answer.f_bavail.saturating_mul(answer.f_frsize));
        let no_space = || TargetError::NoSpace {
            path: path.to_owned(),
            file_system: file_systems::name(plain),
            needed: *length,
            available: free.unwrap_or(0),
        };
        if *length == 0 {
            return Ok(());
        }
        if free.is_ok_and(|free| *length > free) {
            return Err(no_space());
        }
        let reserve = || rustix::fs::fallocate(plain, FallocateFlags::empty(), 0, *length);
        match rustix::io::retry_on_intr(reserve) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            Err(Errno::NOSPC | Errno::DQUOT) => Err(no_space()),
            Err(errno) => Err(TargetError::system(path, "set its space aside", errno.into())),
        }
    }
}

/// Returns the file to read or write and its alignment: `open` opens the file `plain` at `path` for direct I/O, unless
/// the page cache is used.
fn opened(
    path: &Path,
    plain: &File,
    cache: PageCache,
    open: impl FnOnce() -> Result<File, TargetError>,
) -> Result<(File, Alignment), TargetError> {
    let direct = || {
        let file = open()?;
        let alignment = Direct::REAL.alignment(path, &file)?;
        Direct::REAL.probe(path, &file, alignment).map(|()| Some((file, alignment)))
    };
    let opened = match cache {
        PageCache::Used => None,
        PageCache::Avoided => match direct() {
            Err(TargetError::DirectRefused { .. } | TargetError::Alignment { .. }) => None,
            opened => opened?,
        },
    };
    opened.map_or_else(
        || {
            let file = plain.try_clone();
            let file = file.map_err(|error| TargetError::system(path, "open it", error))?;
            Ok((file, THROUGH_THE_CACHE))
        },
        Ok,
    )
}

fn unit(alignment: Alignment) -> u32 {
    alignment.offset.max(alignment.memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("penstock-{name}-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn an_output_has_its_name_when_it_is_whole_and_takes_no_other_file_s_place() {
        let folder = folder("output");
        let path = folder.join("out");
        drop(Output::create(&path, 10_000, PageCache::Avoided).unwrap());
        assert!(names(&folder).is_empty(), "nothing is left of what was not finished");
        let output = Output::create(&path, 10_000, PageCache::Avoided).unwrap();
        let target = output.target.as_ref().unwrap();
        assert!(target.capacity() >= 10_000 && !path.exists());
        output.finish().unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 10_000);
        let late = Output::create(&folder.join("late"), 1, PageCache::Used).unwrap();
        std::fs::write(folder.join("late"), "theirs").unwrap();
        assert!(matches!(late.finish(), Err(TargetError::Exists { .. })));
        assert_eq!(std::fs::read(folder.join("late")).unwrap(), b"theirs");
        assert!(matches!(
            Output::create(&path, 1, PageCache::Avoided),
            Err(TargetError::Exists { .. })
        ));
        assert_eq!(names(&folder).len(), 2);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn there_is_no_room_for_more_than_there_is() {
        let folder = folder("room");
        let error = Output::create(&folder.join("out"), 1 << 60, PageCache::Avoided).unwrap_err();
        assert!(matches!(error, TargetError::NoSpace { needed, .. } if needed == 1 << 60));
        assert!(names(&folder).is_empty());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_input_has_whole_blocks_and_a_rest() {
        let folder = folder("input");
        for length in [0_usize, 1, 511, 4096, 10_000] {
            let bytes: Vec<u8> = (0..length).map(|at| at as u8).collect();
            std::fs::write(folder.join("in"), &bytes).unwrap();
            for cache in [PageCache::Avoided, PageCache::Used] {
                let input = Input::open(&folder.join("in"), cache).unwrap();
                assert_eq!((input.len(), input.last), (length as u64, bytes.last().copied()));
                assert_eq!(input.rest, bytes[length - input.rest.len()..]);
                assert_eq!(input.is_empty(), length == 0);
                assert!(cache == PageCache::Avoided || !input.direct && input.rest.is_empty());
            }
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
