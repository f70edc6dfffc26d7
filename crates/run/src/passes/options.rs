//! The options of a plan of tests, and their checks.

use std::path::PathBuf;

use penstock_jobs::nearest::suggest;
use penstock_live::queue_settings::{SchedulerStep, Setting};
use penstock_live::{CallForm, FileTest, FirstUse, PassSettings};

use crate::ask::target_options::TargetOptions;
use crate::failure::Failure;

/// Maximum number of records in flight: the library looks at each of them whenever it waits.
const DEPTH_MAX: u32 = 1024;
/// Maximum number of workers.
const THREADS_MAX: u32 = 1024;
/// Largest record in bytes.
const RECORD_MAX: u64 = 256 << 20;
/// Bytes of a verified block.
const BLOCK: u64 = 512;

/// The files of a plan of tests, and what stays the same in all of them.
#[derive(Clone, Debug)]
pub struct FileTestOptions {
    /// Names of the tests, in the order in which they first run.
    pub tests: Vec<String>,
    /// Largest number of workers.
    pub threads: u32,
    /// Largest size of a worker's file in bytes.
    pub size: u64,
    /// Every length of a record in bytes.
    pub records: Vec<u64>,
    /// The file of each worker; none on a device.
    pub files: Vec<PathBuf>,
    /// The device, in place of files.
    pub target: TargetOptions,
    /// First byte of each worker on the device; by default one follows the other.
    pub starts: Vec<u64>,
    /// Whether files that are made are kept.
    pub keep: bool,
    /// Share of the workers that read in `random_mix`, in percent.
    pub read_percent: u32,
    /// The scheduler of the disk below the device for the time of the session; `None`: the one
    /// that it has.
    pub scheduler: Option<SchedulerStep>,
    /// Settings of all passes.
    pub settings: PassSettings,
}

impl FileTestOptions {
    /// Parses a form of calls: `calls`, `mmap` or `aio`.
    ///
    /// # Errors
    /// No form has this name.
    pub fn form(name: &str, depth: u32, copies: bool) -> Result<CallForm, Failure> {
        match name {
            "calls" => Ok(CallForm::Calls),
            "mmap" => Ok(CallForm::Mapped),
            "aio" => Ok(CallForm::InFlight { depth, copies }),
            _ => {
                let hint = suggest(name, ["calls", "mmap", "aio"]);
                Err(Failure::wrong(format_args!("unknown form of calls: {name}"), hint))
            }
        }
    }

    /// Makes the step to a scheduler of the kernel with `tunables`, pairs of key and value.
    pub fn scheduler(scheduler: String, tunables: Vec<(String, String)>) -> SchedulerStep {
        let setting = |(key, value)| Setting { key, value };
        SchedulerStep { scheduler, settings: tunables.into_iter().map(setting).collect() }
    }

    /// Checks the options, without a look at the files, and returns the first use of each file.
    pub(super) fn check(&self) -> Result<FirstUse, Failure> {
        let tests = self.tests.iter().map(|name| test(name)).collect::<Result<Vec<_>, _>>()?;
        let Some(first) = tests.first() else {
            return Err(Failure::wrong("found no test; expected one at least", "as write"));
        };
        let Self { threads, size, .. } = *self;
        if !(1..=THREADS_MAX).contains(&threads) {
            let message = format!("found {threads} threads; expected 1 to {THREADS_MAX}");
            return Err(Failure::wrong(message, "use -t with fewer"));
        }
        for &record in &self.records {
            check_record(record, size)?;
        }
        self.check_settings()?;
        self.check_places()?;
        Ok(match first {
            test if test.is_initial() => FirstUse::Creates,
            _ if tests.iter().any(FileTest::writes) => FirstUse::Writes,
            _ => FirstUse::Reads,
        })
    }

    fn check_settings(&self) -> Result<(), Failure> {
        let PassSettings { form, direct, sync, verify, .. } = self.settings;
        match form {
            CallForm::InFlight { depth, .. } if !(1..=DEPTH_MAX).contains(&depth) => {
                let message = format!("found {depth} records in flight; expected 1 to {DEPTH_MAX}");
                return Err(Failure::wrong(message, "use -H with fewer"));
            }
            CallForm::Mapped if direct => {
                let message = "a mapping goes through the page cache, and direct I/O past it";
                return Err(Failure::wrong(message, "leave out -I or -B"));
            }
            CallForm::Mapped if sync => {
                let message = "O_SYNC does nothing for a mapping";
                return Err(Failure::wrong(
                    message,
                    "use -e in place of -o: it flushes the mapping",
                ));
            }
            _ => {}
        }
        if self.settings.stride == 0 {
            return Err(Failure::wrong("found a stride of 0 records", "use -j with 1 at least"));
        }
        if self.read_percent > 100 {
            let message = format!("found {} % of reads", self.read_percent);
            return Err(Failure::wrong(message, "use -+p with 100 at most"));
        }
        if let Some(odd) = self.records.iter().find(|record| !record.is_multiple_of(BLOCK))
            && verify
        {
            let message = format!(
                "found verified records of {odd} bytes; expected a multiple of {BLOCK} bytes"
            );
            return Err(Failure::wrong(message, "use another -r, or leave -+d out"));
        }
        Ok(())
    }

    /// Checks that there is one place for each worker.
    fn check_places(&self) -> Result<(), Failure> {
        let (threads, files, starts) = (self.threads as usize, self.files.len(), self.starts.len());
        match &self.target.on {
            Some(on) if files > 0 => {
                let message =
                    format!("found {files} files and the device {on}; expected one or the other");
                Err(Failure::wrong(message, "leave out -F or --on"))
            }
            None if self.scheduler.is_some() => {
                let message = "a scheduler goes with a device, and files are named";
                Err(Failure::wrong(message, "set that of their disk with `penstock linux set`"))
            }
            Some(_) if starts > 0 && starts < threads => {
                let message = format!("found {starts} starts for {threads} threads");
                Err(Failure::wrong(message, "give one for each"))
            }
            None if files < threads => {
                let message =
                    format!("found {files} files for {threads} threads; expected one for each");
                Err(Failure::wrong(message, format_args!("name {threads} files with -F")))
            }
            _ => Ok(()),
        }
    }
}

/// Finds a test.
pub(super) fn test(name: &str) -> Result<FileTest, Failure> {
    FileTest::from_name(name).ok_or_else(|| {
        let names = FileTest::ALL.iter().map(|test| test.name);
        Failure::wrong(format_args!("unknown test {name}"), suggest(name, names))
    })
}

/// Checks a record of a file of `size` bytes.
pub(super) fn check_record(record: u64, size: u64) -> Result<(), Failure> {
    if record == 0 || record > RECORD_MAX {
        let message = format!("found records of {record} bytes; expected 1 to {RECORD_MAX}");
        return Err(Failure::wrong(message, "use -r with 512k, for example"));
    }
    if record > size {
        let message = format!("found records of {record} bytes in files of {size} bytes");
        return Err(Failure::wrong(message, "use a smaller -r or a larger -s"));
    }
    Ok(())
}
