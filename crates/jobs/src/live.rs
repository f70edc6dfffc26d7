//! Options of real targets: `[live]`.

use penstock_core::Span;
use penstock_live::Settings;

use crate::amount::{Count, SIZE, TIME, or_off};
use crate::diagnose::{JobError, Source};
use crate::keys::{keys, table};
use crate::kinds::{Choice, Own, SWITCH, Text, section};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::Lines;
use crate::tree::{self, Node};

/// Bounds of the commands in flight at a real target or submitted together: deeper than any
/// device's queue.
pub(crate) const COMMANDS: Count = Count(1, 4096);

keys! {
    /// Settings of a live run.
    LIVE live: Node = section(|| table(KEYS));
}

keys! {
    /// Keys of `[live]`.
    KEYS:
    /// Commands at the device at once. If not given, 32 at a real target, and at a model as many as
    /// it takes.
    DEPTH depth: u32 = COMMANDS;
    /// Most commands that are submitted to the kernel together. If not given, a tenth of the depth,
    /// at least 2 and at most 8.
    BATCH batch: u32 = COMMANDS;
    /// Threads of each class where no policy of Penstock is in front of the target (`kernel:NAME`).
    /// If not given, one for each agent: that is what the kernel's schedulers tell apart.
    THREADS threads: u32 = Count(1, 1024);
    /// Time for which a command may be in flight before the run ends; `off`: without limit.
    TIMEOUT timeout: Option<Span> = or_off(TIME.above_zero().hint("to wait for ever, write `off`")),
        or Some(Settings::TIMEOUT);
    /// Treatment of the target's pages in the machine's page cache before a run with agents that
    /// are `buffered`: `drop` or `keep`. `drop-all` also drops the page cache, the dentries and the
    /// inodes of the whole machine before any run; only root may.
    PAGES page_cache: CachedPages = Choice(&[
        ("drop", CachedPages::Drop),
        ("drop-all", CachedPages::DropAll),
        ("keep", CachedPages::Keep),
    ]), or CachedPages::Drop;
    /// Whether a file that Penstock made is filled anew before each run, made durable and dropped
    /// from the page cache. Of a block device only the cached pages are dropped.
    LAY_OUT lay_out: bool = SWITCH, or false;
    /// Advice to the kernel on files of `buffered` agents: their `pattern`, if all have the same
    /// one, or `none`.
    ADVICE advice: bool = Choice(&[("pattern", true), ("none", false)]), or true;
    /// Whether the kernel is asked not to let a transfer wait (`RWF_NOWAIT`): a transfer that
    /// cannot be done or passed to the device at once, because a free slot, a lock or, through the
    /// page cache, its data is missing, fails with `EAGAIN`. The engines `posix-aio` and `mmap` do
    /// not support that.
    NOWAIT nowait: bool = SWITCH, or false;
    /// Whether a flush is `fsync`, which also writes the times of a file to the device, or
    /// `fdatasync`, which writes only what the data needs. A model has no times to write.
    FSYNC fsync: bool = SWITCH, or false;
    /// Whether the buffers of requests lie in huge pages, if they fill one and the kernel has any:
    /// large requests then have fewer pieces.
    HUGE_PAGES huge_pages: bool = SWITCH, or true;
    /// The part of the target that may be used; bytes outside are never accessed. If not given, all
    /// of it.
    VIEW view: View = Own { read: View::read, text: View::text, schema: || table(VIEW_KEYS) };
    /// Path of the record of verified writes, for agents with `verify`. If not given, `PATH.verify`
    /// next to a file, and for a block device a file in the user's folder for them
    /// (`~/.local/state/penstock`).
    VERIFY_RECORD verify_record: String = Text("the path of a file");
}

keys! {
    /// Keys of the view of a target.
    VIEW_KEYS:
    /// First byte.
    START start: u64 = SIZE, or 0;
    /// Number of bytes.
    LENGTH length: u64 = SIZE.above_zero().hint("leave `view` out to use all of it"),
        needs "\"1GiB\"";
}

/// Options of a real target.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct Live {
    /// Commands in flight at the device, if the job says.
    pub depth: Option<u32>,
    /// Commands that are submitted to the kernel together, by engines that can; a tenth of the
    /// depth unless the job says.
    pub batch: u32,
    /// Threads of each class where the kernel schedules alone, if the job says.
    pub threads: Option<u32>,
    /// Longest time of a command in flight before the run ends; `None`: no limit.
    pub timeout: Option<Span>,
    /// Treatment of cached pages before a run.
    pub cached_pages: CachedPages,
    /// Whether owned files are filled anew before each run.
    pub lay_out: bool,
    /// Whether the kernel is advised of the access pattern of buffered files.
    pub advise: bool,
    /// Whether a transfer that would have to wait fails instead.
    pub nowait: bool,
    /// Whether a flush also writes the times of a file.
    pub fsync: bool,
    /// Whether buffers lie in huge pages.
    pub huge_pages: bool,
    /// The part of the target that may be used; `None`: all of it.
    pub view: Option<View>,
    /// Path of the record of verified writes, if the job says.
    pub verify_record: Option<String>,
}

/// Treatment of the pages in the machine's page cache before a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CachedPages {
    /// Drops those of the target if the run goes through the page cache.
    Drop,
    /// Drops those of the whole machine before any run.
    DropAll,
    /// Keeps them.
    Keep,
}

/// A part of a target, in bytes: nothing outside is touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View {
    /// Its first byte.
    pub start: u64,
    /// Number of bytes.
    pub length: u64,
}

impl Default for Live {
    fn default() -> Self {
        Self::read(&tree::empty()).expect("no key is needed")
    }
}

impl Live {
    /// Default of the commands in flight at a real target: the depth of SATA's native command
    /// queueing.
    pub(crate) const USUAL_DEPTH: u32 = 32;

    /// Commands in flight at a real target.
    pub fn target_depth(&self) -> u32 {
        self.depth.unwrap_or(Self::USUAL_DEPTH)
    }

    pub(crate) fn read(node: &Node) -> Result<Self, JobError> {
        let reader = Reader::new(node, LIVE.name, &[KEYS])?;
        let depth = reader.find(&DEPTH)?;
        let batch = || Settings::usual_batch(depth.unwrap_or(Self::USUAL_DEPTH));
        Ok(Self {
            depth,
            batch: reader.find(&BATCH)?.unwrap_or_else(batch),
            threads: reader.find(&THREADS)?,
            timeout: reader.get(&TIMEOUT)?,
            cached_pages: reader.get(&PAGES)?,
            lay_out: reader.get(&LAY_OUT)?,
            advise: reader.get(&ADVICE)?,
            nowait: reader.get(&NOWAIT)?,
            fsync: reader.get(&FSYNC)?,
            huge_pages: reader.get(&HUGE_PAGES)?,
            view: reader.find(&VIEW)?,
            verify_record: reader.find(&VERIFY_RECORD)?,
        })
    }

    /// Writes the section with every default in place.
    pub(crate) fn write(&self, out: &mut Lines) {
        Rows::of(&[KEYS])
            .maybe(&DEPTH, self.depth.as_ref())
            .put(&BATCH, &self.batch)
            .maybe(&THREADS, self.threads.as_ref())
            .put(&TIMEOUT, &self.timeout)
            .put(&PAGES, &self.cached_pages)
            .put(&LAY_OUT, &self.lay_out)
            .put(&ADVICE, &self.advise)
            .put(&NOWAIT, &self.nowait)
            .put(&FSYNC, &self.fsync)
            .put(&HUGE_PAGES, &self.huge_pages)
            .maybe(&VIEW, self.view.as_ref())
            .maybe(&VERIFY_RECORD, self.verify_record.as_ref())
            .section(Some(&format!("[{}]", LIVE.name)), out);
    }
}

/// Parses the time-out `text` in the way of `[live]`; `name` is its name in messages.
///
/// # Errors
/// It is neither a length of time above zero nor `off`.
pub fn timeout_in(name: &str, text: &str) -> Result<Option<Span>, JobError> {
    let root = tree::parse(&Source::file(name, &format!("{} = {text:?}", TIMEOUT.name)))?;
    Reader::new(&root, name, &[KEYS])?.get(&TIMEOUT)
}

impl View {
    fn read(node: &Node) -> Result<Self, JobError> {
        let reader = Reader::new(node, "the view", &[VIEW_KEYS])?;
        Ok(Self { start: reader.get(&START)?, length: reader.get(&LENGTH)? })
    }

    fn text(&self) -> String {
        Rows::of(&[VIEW_KEYS]).put(&START, &self.start).put(&LENGTH, &self.length).inline()
    }
}
