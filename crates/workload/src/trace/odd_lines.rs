//! Odd lines and records, of which recorded traces have a few: requests without bytes are left out, and
//! requests without a response time are played without latency. Remarks tell how many there are. If
//! they are more than 1 % of a trace, it is probably read wrongly: that is an error at the first of
//! them.

use super::error::{Oddity, TraceError};

/// Number of requests for each odd one that is accepted. The first is always accepted.
const REQUESTS_PER_ODD_ONE: u64 = 100;

/// The odd lines or records of a file.
#[derive(Default)]
pub(super) struct OddLines {
    no_bytes: u64,
    no_response: u64,
    /// The error at the first of them.
    first: Option<TraceError>,
}

impl OddLines {
    /// Counts an odd line or record. `error` is the error about it if there are too many.
    pub(super) fn add(&mut self, oddity: Oddity, error: TraceError) {
        match oddity {
            Oddity::NoBytes => self.no_bytes += 1,
            Oddity::NoResponse => self.no_response += 1,
        }
        self.first.get_or_insert(error);
    }

    /// Returns remarks on the odd lines of a trace of `requests` requests.
    ///
    /// # Errors
    /// If there are too many of them, or no other line.
    pub(super) fn remarks(&mut self, requests: u64) -> Result<Vec<String>, TraceError> {
        let &mut Self { no_bytes, no_response, .. } = self;
        let (odd, all) = (no_bytes + no_response, requests + no_bytes);
        if odd > all.div_ceil(REQUESTS_PER_ODD_ONE) || requests == 0 {
            return self
                .first
                .take()
                .map_or(Ok(Vec::new()), |first| Err(too_many(first, odd, all)));
        }
        let counted = [
            (no_bytes, "request without bytes is", "requests without bytes are", "left out"),
            (
                no_response,
                "request without a response time is",
                "requests without a response time are",
                "played without latency",
            ),
        ];
        let counted = counted.into_iter().filter(|&(count, ..)| count > 0);
        let remark = |(count, one, several, done)| {
            let subject = if count == 1 { one } else { several };
            format!("{count} {subject} {done}")
        };
        Ok(counted.map(remark).collect())
    }
}

/// Adds to the error `first` that `odd` of `all` requests are odd.
fn too_many(first: TraceError, odd: u64, all: u64) -> TraceError {
    match first {
        TraceError::Unexpected { place, found, expected, hint: None } if odd > 1 => {
            let hint = format!("{odd} of {all} requests are like this; up to 1 % are accepted");
            TraceError::Unexpected { place, found, expected, hint: Some(hint) }
        }
        other => other,
    }
}
