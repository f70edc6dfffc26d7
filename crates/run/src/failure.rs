//! Why a command failed, in words for a person.

use std::fmt;
use std::io;
use std::path::Path;

use penstock_jobs::diagnose::JobError;
use penstock_jobs::nearest::suggest;
use penstock_live::queue_settings::QueueError;
use penstock_live::serve::ServeError;
use penstock_live::{EngineError, PassError, RecordError, TargetError};

/// A message with the exit code that goes with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    message: String,
    exit_code: u8,
    deadlock: bool,
}

/// Prefix of every message.
const ERROR: &str = "error: ";

/// Exit code if the run itself failed.
const RUN_FAILED: u8 = 1;
/// Exit code for wrong use or wrong input.
const WRONG_INPUT: u8 = 2;
/// Exit code for what is unsafe to use, as another process uses it.
const UNSAFE: u8 = 5;
/// Exit code if this machine lacks something that the command needs.
const CANNOT: u8 = 77;

impl Failure {
    fn new(message: String, exit_code: u8) -> Self {
        Self { message, exit_code, deadlock: false }
    }

    /// Wrong use or wrong input: what was found, and what would be right.
    pub fn wrong(message: impl fmt::Display, hint: impl fmt::Display) -> Self {
        Self::new(format!("error: {message}"), WRONG_INPUT).hint(hint)
    }

    /// The run began and failed.
    pub fn run(message: impl fmt::Display) -> Self {
        Self::new(format!("error: {message}"), RUN_FAILED)
    }

    /// A failure of this machine at something that every machine should be able to do.
    pub fn here(doing: &str, error: &io::Error) -> Self {
        let message = format!("error: cannot {doing}: {error}");
        Self::new(message, CANNOT)
            .hint("the machine is short of it, or limits it: look at `ulimit -u` and `ulimit -v`")
    }

    /// Something that this machine or this user cannot do.
    pub fn cannot(message: impl fmt::Display, hint: impl fmt::Display) -> Self {
        Self::new(format!("error: {message}"), CANNOT).hint(hint)
    }

    /// The failure of another command of ours that printed `said`.
    pub(crate) fn said(said: &str, exit_code: u8) -> Self {
        Self::new(said.trim_end().to_owned(), exit_code)
    }

    /// Something that another process uses.
    pub fn in_use(message: impl fmt::Display, hint: impl fmt::Display) -> Self {
        Self::new(format!("error: {message}"), UNSAFE).hint(hint)
    }

    /// A file that cannot be read.
    pub fn unreadable(path: &Path, error: &io::Error) -> Self {
        let message = format!("error: {} cannot be read: {error}", path.display());
        Self::new(message, WRONG_INPUT)
    }

    /// A file with invalid contents.
    pub fn wrong_in(path: &Path, error: &impl fmt::Display) -> Self {
        let message = format!("error: {}: {error}", path.display());
        Self::new(message, WRONG_INPUT)
    }

    /// A valid file that this machine cannot process.
    pub fn run_over(path: &Path, error: &impl fmt::Display) -> Self {
        Self::run(format_args!("{}: {error}", path.display()))
    }

    /// A file that cannot be written. On a full disk that is no wrong use: the run failed.
    pub fn unwritable(path: &Path, error: &io::Error) -> Self {
        if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            return Self::half_written(path, error);
        }
        let message = format!("error: {} cannot be written: {error}", path.display());
        let failure = Self::new(message, WRONG_INPUT);
        match error.kind() {
            io::ErrorKind::AlreadyExists => failure.hint("nothing is overwritten: name a new file"),
            _ => failure,
        }
    }

    /// A file that could not be written to its end: the run itself failed.
    pub fn half_written(path: &Path, error: &io::Error) -> Self {
        Self::run(format_args!("{} cannot be written: {error}", path.display()))
            .hint("what was written of it is removed; make room, or name another place")
    }

    /// Adds a hint to the message.
    #[must_use]
    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.message = format!("{}\nhint: {hint}", self.message);
        self
    }

    /// Puts `path`, the target concerned, before the message unless the message has it already.
    #[must_use]
    pub(crate) fn at(mut self, path: &str) -> Self {
        if !self.text().contains(path) {
            self.message = format!("{ERROR}{path}: {}", self.text());
        }
        self
    }

    /// Marks the failure as a deadlock: every job waits for memory, and no request is outstanding.
    #[must_use]
    pub(crate) fn of_deadlock(self) -> Self {
        Self { deadlock: true, ..self }
    }

    /// Whether a run began and failed: the input was right, and the machine able.
    pub(crate) fn is_of_the_run(&self) -> bool {
        self.exit_code == RUN_FAILED
    }

    /// The message without the word that begins it.
    pub(crate) fn text(&self) -> &str {
        self.message.strip_prefix(ERROR).unwrap_or(&self.message)
    }

    /// Whether it was a deadlock.
    pub fn is_deadlock(&self) -> bool {
        self.deadlock
    }

    /// The exit code: 1 the run failed, 2 wrong use or input, 4 data differs, 5 unsafe target, 77 not
    /// on this machine.
    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        Self::new(error.to_string(), WRONG_INPUT)
    }
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        Self::new(format!("error: {error}"), error.exit_code())
    }
}

impl From<PassError> for Failure {
    fn from(error: PassError) -> Self {
        Self::new(format!("error: {error}"), error.exit_code())
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::new(format!("error: {error}"), error.exit_code())
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        Self::new(format!("error: {error}"), error.exit_code())
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        Self::new(format!("error: {error}"), error.exit_code())
    }
}

impl From<QueueError> for Failure {
    fn from(error: QueueError) -> Self {
        if let QueueError::Unknown { name, known, .. } = &error {
            let hint = suggest(name, known.iter().map(String::as_str));
            let hint = format!("{hint}; others may be modules that are not loaded");
            return Self::wrong(error, hint);
        }
        Self::new(format!("error: {error}"), error.exit_code())
    }
}
