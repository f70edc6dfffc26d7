//! A list of any length in little memory: the last items are kept in memory, those before them in
//! an unnamed temporary file that is deleted with the list.
//!
//! A list is written once, from the front, by a thread of its own while further items are added;
//! then any number of readers iterate over it at the same time, each with its own buffer. The file
//! is in `$TMPDIR`, or in `/var/tmp`: `/tmp` is memory on many machines. If a list cannot be read,
//! it ends early for its readers, and [`Spool::check`] returns the error.

mod packed;
mod sort;

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use super::stopping;

pub use packed::{Packed, PackedReader, PackedWriter};

/// Most items in memory. As many more may be on their way to the file. A shorter list has no file.
const IN_MEMORY: usize = 1 << 15;
/// Number of items written by one system call.
const WRITTEN_AT_ONCE: usize = 1 << 10;
/// Approximate bytes of a reader's buffer.
const BUFFER_BYTES: usize = 64 << 10;

/// A list of any length.
pub struct Spool<T> {
    /// The items before those in memory.
    file: Option<Arc<File>>,
    /// Number of items in the file.
    in_file: usize,
    /// The thread that writes the last of them. It returns their emptied vector.
    writing: Mutex<Option<JoinHandle<io::Result<Vec<T>>>>>,
    memory: Vec<T>,
    /// Most items in memory: fewer in tests.
    memory_most: usize,
    /// The first error in writing the file, or in reading it.
    failed: OnceLock<String>,
}

impl<T: Packed> Spool<T> {
    /// An empty list.
    pub const fn new() -> Self {
        Self::with_limit(IN_MEMORY)
    }

    /// An empty list that keeps at most `memory_most` items in memory, at least 1.
    pub(super) const fn with_limit(memory_most: usize) -> Self {
        Self {
            file: None,
            in_file: 0,
            writing: Mutex::new(None),
            memory: Vec::new(),
            memory_most,
            failed: OnceLock::new(),
        }
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.in_file + self.memory.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an item.
    ///
    /// # Errors
    /// If there is no room for it in the temporary file.
    #[inline]
    pub fn push(&mut self, item: T) -> io::Result<()> {
        if self.memory.len() == self.memory_most {
            self.write_memory()?;
        }
        self.memory.push(item);
        Ok(())
    }

    /// The item numbered `index`, which must exist.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub(super) fn get(&self, index: usize) -> io::Result<T> {
        if let Some(index) = index.checked_sub(self.in_file) {
            return Ok(self.memory[index]);
        }
        let mut bytes = vec![0; T::BYTES];
        self.file()?.read_exact_at(&mut bytes, offset::<T>(index))?;
        Ok(unpack(&bytes))
    }

    /// Replaces the item numbered `index`, which must exist.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub(super) fn set(&mut self, index: usize, item: T) -> io::Result<()> {
        if let Some(index) = index.checked_sub(self.in_file) {
            self.memory[index] = item;
            return Ok(());
        }
        write(self.file()?, index, &[item])
    }

    /// Iterates over the items in order.
    pub fn iter(&self) -> Iter<'_, T> {
        self.part(0, self.len(), BUFFER_BYTES)
    }

    /// The first item.
    pub fn first(&self) -> Option<T> {
        self.part(0, self.len().min(1), 0).next()
    }

    /// The last item, which is always in memory.
    pub fn last(&self) -> Option<T> {
        self.memory.last().copied()
    }

    /// Checks that no reader has ended early so far.
    ///
    /// # Errors
    /// The error of the first reader that did.
    pub fn check(&self) -> io::Result<()> {
        self.failed.get().map_or(Ok(()), |error| Err(io::Error::other(error.clone())))
    }

    /// A cursor at the beginning.
    pub(super) fn beginning(&self) -> Cursor {
        self.cursor(0, self.len(), BUFFER_BYTES)
    }

    /// A cursor over the items from `begin` to before `end`, which reads about `size` bytes at
    /// once.
    pub(super) fn cursor(&self, begin: usize, end: usize, size: usize) -> Cursor {
        debug_assert!(begin <= end && end <= self.len());
        Cursor { next: begin, end, buffer: Vec::new(), unread: 0, size }
    }

    fn part(&self, begin: usize, end: usize, size: usize) -> Iter<'_, T> {
        Iter { spool: self, cursor: self.cursor(begin, end, size) }
    }

    /// Waits until all items of the file are written. Returns the emptied vector of the last ones.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub(super) fn finish_writing(&self) -> io::Result<Vec<T>> {
        // Locked until the end: other readers wait too.
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(thread) = writing.take() else { return self.check().map(|()| Vec::new()) };
        let written = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.inspect_err(|error| drop(self.failed.set(error.to_string())))
    }

    /// Begins to write the items in memory to the file.
    #[cold]
    fn write_memory(&mut self) -> io::Result<()> {
        stopping::check()?;
        let room = self.finish_writing()?;
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile_in(folder())?.into()),
        };
        let (file, index) = (Arc::clone(file), self.in_file);
        let mut items = std::mem::replace(&mut self.memory, room);
        self.in_file += items.len();
        let write = move || {
            write(&file, index, &items)?;
            items.clear();
            Ok(items)
        };
        self.writing = Mutex::new(Some(thread::Builder::new().spawn(write)?));
        Ok(())
    }

    /// The file, once all of its items are written.
    fn file(&self) -> io::Result<&File> {
        self.finish_writing()?;
        Ok(self.file.as_ref().expect("items outside memory are in a file"))
    }
}

/// Writes `items` into `file`, beginning at the place of the item numbered `index`.
fn write<T: Packed>(file: &File, mut index: usize, items: &[T]) -> io::Result<()> {
    let mut bytes = vec![0; WRITTEN_AT_ONCE.min(items.len()) * T::BYTES];
    for chunk in items.chunks(WRITTEN_AT_ONCE) {
        let bytes = &mut bytes[..chunk.len() * T::BYTES];
        for (item, place) in chunk.iter().zip(bytes.chunks_exact_mut(T::BYTES)) {
            item.pack(&mut PackedWriter(place));
        }
        file.write_all_at(bytes, offset::<T>(index))?;
        index += chunk.len();
    }
    Ok(())
}

/// Returns the folder for temporary files.
pub fn folder() -> PathBuf {
    if std::env::var_os("TMPDIR").is_none() && Path::new("/var/tmp").is_dir() {
        return "/var/tmp".into();
    }
    std::env::temp_dir()
}

fn offset<T: Packed>(index: usize) -> u64 {
    (index * T::BYTES) as u64
}

fn unpack<T: Packed>(bytes: &[u8]) -> T {
    T::unpack(&mut PackedReader(bytes))
}

/// The place of a reader in a list.
#[derive(Clone, Debug, Default)]
pub(super) struct Cursor {
    next: usize,
    end: usize,
    /// Items read from the file, and the offset of the first one that was not returned yet.
    buffer: Vec<u8>,
    unread: usize,
    /// Approximate number of bytes that are read at once.
    size: usize,
}

impl Cursor {
    /// The next item of `spool`, which must be the list of this cursor.
    #[expect(
        clippy::inline_always,
        reason = "copying a value just after it was built in memory stalls on its stores"
    )]
    #[inline(always)]
    pub(super) fn next<T: Packed>(&mut self, spool: &Spool<T>) -> Option<T> {
        if self.next >= self.end {
            return None;
        }
        let item = match self.next.checked_sub(spool.in_file) {
            Some(index) => *spool.memory.get(index)?,
            None => self.next_in_file(spool)?,
        };
        self.next += 1;
        Some(item)
    }

    #[inline]
    fn next_in_file<T: Packed>(&mut self, spool: &Spool<T>) -> Option<T> {
        if self.unread == self.buffer.len() {
            self.fill(spool)?;
        }
        let item = unpack(&self.buffer[self.unread..self.unread + T::BYTES]);
        self.unread += T::BYTES;
        Some(item)
    }

    /// Reads the next items from the file. An error ends the cursor.
    #[cold]
    fn fill<T: Packed>(&mut self, spool: &Spool<T>) -> Option<()> {
        let items = (self.size / T::BYTES).max(1).min(self.end.min(spool.in_file) - self.next);
        self.buffer.resize(items * T::BYTES, 0);
        self.unread = 0;
        let offset = offset::<T>(self.next);
        let read = stopping::check().and_then(|()| spool.file());
        let read = read.and_then(|file| file.read_exact_at(&mut self.buffer, offset));
        if let Err(error) = read {
            self.end = self.next;
            // Only the first error is kept.
            let _ = spool.failed.set(error.to_string());
            return None;
        }
        Some(())
    }
}

/// An iterator over a list.
#[derive(Clone)]
pub struct Iter<'a, T> {
    spool: &'a Spool<T>,
    cursor: Cursor,
}

impl<T: Packed> Iterator for Iter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.cursor.next(self.spool)
    }
}

impl<'a, T: Packed> IntoIterator for &'a Spool<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

/// Collects a list that is known to be short.
impl<T: Packed> FromIterator<T> for Spool<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut spool = Self::new();
        items.into_iter().for_each(|item| spool.push(item).expect("room for a short list"));
        spool
    }
}

impl<T: Packed> Clone for Spool<T> {
    fn clone(&self) -> Self {
        self.iter().collect()
    }
}

impl<T: Packed> Default for Spool<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Packed + PartialEq> PartialEq for Spool<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other)
    }
}

impl<T: Packed + Eq> Eq for Spool<T> {}

impl<T: Packed + fmt::Debug> fmt::Debug for Spool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a list of `count` numbers, of which at most four are in memory.
    fn numbers(count: u64) -> Spool<u64> {
        let mut spool = Spool::with_limit(4);
        (0..count).for_each(|number| spool.push(number).unwrap());
        spool
    }

    #[test]
    fn every_item_is_read_again_wherever_it_lies() {
        for count in [0, 1, 4, 5, 8, 9, 10_000] {
            let spool = numbers(count);
            assert_eq!(spool.len() as u64, count);
            assert!(spool.iter().eq(0..count));
            assert!(spool.iter().eq(0..count), "once more");
            assert_eq!((spool.first(), spool.last()), ((0..count).next(), (0..count).last()));
            assert!(spool.check().is_ok());
        }
    }

    #[test]
    fn an_item_is_changed_in_memory_and_in_the_file() {
        let mut spool = numbers(10);
        for index in [0, 3, 7, 8, 9] {
            spool.set(index, 100 + index as u64).unwrap();
            assert_eq!(spool.get(index).unwrap(), 100 + index as u64);
        }
        assert!(spool.iter().eq([100, 1, 2, 103, 4, 5, 6, 107, 108, 109]));
    }

    #[test]
    fn a_list_that_cannot_be_read_says_so() {
        let spool = numbers(100_000);
        spool.file().unwrap().set_len(5000 * 8).unwrap();
        assert!(spool.iter().count() < 100_000);
        assert!(spool.check().is_err());
    }
}
