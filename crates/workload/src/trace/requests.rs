//! The requests of a trace, and what is known of all of them together.

use std::io;
use std::ops::Deref;

use penstock_core::Op;

use super::record::Record;
use super::spool::{Iter, Spool};

/// A list of requests that knows how far they reach: whoever plays them need not look at each first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Requests {
    listed: Spool<Record>,
    /// By device: the byte behind the last that any request touches; none if no request goes there.
    ends: Vec<Option<u64>>,
    longest: u32,
    others: u64,
    processes: bool,
}

impl Requests {
    /// None yet.
    pub const fn new() -> Self {
        let listed = Spool::new();
        Self { listed, ends: Vec::new(), longest: 0, others: 0, processes: false }
    }

    /// The same requests as `arrange` puts them: in another order, or at other times.
    ///
    /// # Errors
    /// Those of `arrange`.
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
        self.others += u64::from(record.op != Op::Read);
        self.processes |= record.pid != 0;
        self.listed.push(record)
    }

    /// Puts `record` in the place of the one numbered `index`, which differs in its latency only.
    ///
    /// # Errors
    /// If the list cannot be written.
    pub(super) fn set(&mut self, index: usize, record: Record) -> io::Result<()> {
        self.listed.set(index, record)
    }

    /// By device: the byte behind the last that any request touches.
    pub(super) fn ends(&self) -> &[Option<u64>] {
        &self.ends
    }

    /// Bytes of the largest.
    pub(super) fn longest(&self) -> u32 {
        self.longest
    }

    /// How many are no reads.
    pub(super) fn others(&self) -> u64 {
        self.others
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

/// For lists that are known to be short.
impl FromIterator<Record> for Requests {
    fn from_iter<I: IntoIterator<Item = Record>>(records: I) -> Self {
        let mut requests = Self::new();
        records.into_iter().for_each(|record| {
            requests.push(record).expect("room for a short list");
        });
        requests
    }
}
