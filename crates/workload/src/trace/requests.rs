//! The requests of a trace, with facts about all of them.

use std::io;
use std::ops::Deref;

use penstock_core::Op;

use super::record::Record;
use super::spool::{Iter, Spool};

/// A list of requests that knows their range and kinds, so that a replay need not read them all
/// first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Requests {
    listed: Spool<Record>,
    /// The byte behind the last requested one of each device; `None` if it has no request.
    ends: Vec<Option<u64>>,
    longest: u32,
    non_reads: u64,
    processes: bool,
}

impl Requests {
    /// An empty list.
    pub const fn new() -> Self {
        let listed = Spool::new();
        Self { listed, ends: Vec::new(), longest: 0, non_reads: 0, processes: false }
    }

    /// Applies `arrange`, which may change the order and the times of the requests.
    ///
    /// # Errors
    /// The errors of `arrange`.
    pub(super) fn arranged(
        self,
        arrange: impl FnOnce(Spool<Record>) -> io::Result<Spool<Record>>,
    ) -> io::Result<Self> {
        Ok(Self { listed: arrange(self.listed)?, ..self })
    }

    /// Adds a request.
    ///
    /// # Errors
    /// If there is no room for it.
    #[inline]
    pub fn push(&mut self, record: Record) -> io::Result<()> {
        let device = record.device.index();
        if self.ends.len() <= device {
            self.ends.resize(device + 1, None);
        }
        self.ends[device] = self.ends[device].max(Some(record.end()));
        self.longest = self.longest.max(record.len);
        self.non_reads += u64::from(record.op != Op::Read);
        self.processes |= record.pid != 0;
        self.listed.push(record)
    }

    /// Replaces the request numbered `index` by `record`, which may differ only in latency.
    ///
    /// # Errors
    /// If the list cannot be written.
    pub(super) fn set(&mut self, index: usize, record: Record) -> io::Result<()> {
        self.listed.set(index, record)
    }

    /// The byte behind the last requested one of each device; `None` if it has no request.
    pub(super) fn ends(&self) -> &[Option<u64>] {
        &self.ends
    }

    /// Bytes of the largest request.
    pub(super) fn longest(&self) -> u32 {
        self.longest
    }

    /// Number of requests that are not reads.
    pub(super) fn non_reads(&self) -> u64 {
        self.non_reads
    }

    /// Whether process numbers were recorded.
    pub(super) fn processes(&self) -> bool {
        self.processes
    }
}

impl Deref for Requests {
    type Target = Spool<Record>;

    fn deref(&self) -> &Spool<Record> {
        &self.listed
    }
}

impl<'a> IntoIterator for &'a Requests {
    type Item = Record;
    type IntoIter = Iter<'a, Record>;

    fn into_iter(self) -> Iter<'a, Record> {
        self.listed.iter()
    }
}

/// Collects a list that is known to be short.
impl FromIterator<Record> for Requests {
    fn from_iter<I: IntoIterator<Item = Record>>(records: I) -> Self {
        let mut requests = Self::new();
        records.into_iter().for_each(|record| {
            requests.push(record).expect("room for a short list");
        });
        requests
    }
}
