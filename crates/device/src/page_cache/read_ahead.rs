//! Predicts the pages that each stream reads next.
//!
//! The scheme is that of F. Wu, H. Xi and C. Xu, "On the design of a new Linux readahead framework"
//! (ACM SIGOPS Operating Systems Review 42(5), 2008). A read that continues where the last one
//! ended and misses opens a window of twice its own length and at least four pages, rounded up to a
//! power of two. The first page of the window behind the read is marked. A read that reaches the
//! mark starts the next window, twice as long up to the limit, and marks its first page. So the
//! next window is being read while this one is used. A read elsewhere ends the window.

use std::ops::Range;

use penstock_core::StreamId;

/// Pages of the shortest window.
const LEAST: u64 = 4;
/// No page has this number.
const NOWHERE: u64 = u64::MAX;

/// A stream in an extent: what a stream reads in one file says nothing about another.
pub(super) type Reader = (StreamId, usize);

/// The streams of every extent, by their number.
#[derive(Debug)]
pub(super) struct ReadStreams {
    /// Pages of the longest window.
    most: u64,
    extents: usize,
    streams: Vec<Stream>,
}

#[derive(Clone, Debug)]
struct Stream {
    /// The page behind the last requested page.
    next: u64,
    /// The newest window.
    window: Range<u64>,
    /// The page that starts the next window.
    mark: u64,
}

/// The relation of an arriving read to its stream.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    /// Whether it continues where the last one ended, or in the last page of it.
    pub(super) sequential: bool,
    /// The next window, if the read reached the mark.
    pub(super) ahead: Option<Range<u64>>,
}

impl ReadStreams {
    /// Creates the streams of `extents` extents with windows of up to `most` pages; zero: no
    /// windows.
    pub(super) fn new(most: u64, extents: usize) -> Self {
        Self { most, extents, streams: Vec::new() }
    }

    fn stream(&mut self, (id, extent): Reader) -> &mut Stream {
        let index = id.0 as usize * self.extents + extent;
        if index >= self.streams.len() {
            let none = Stream { next: NOWHERE, window: 0..0, mark: NOWHERE };
            self.streams.resize(index + 1, none);
        }
        &mut self.streams[index]
    }

    /// Whether `page` is the last that the stream used. Another part of the same page is not a
    /// second use.
    pub(super) fn again(&mut self, id: Reader, page: u64) -> bool {
        self.stream(id).next == page + 1
    }

    /// Records that the stream writes `pages`.
    pub(super) fn write(&mut self, id: Reader, pages: &Range<u64>) {
        self.stream(id).next = pages.end;
    }

    /// Records that the stream reads `pages`.
    pub(super) fn read(&mut self, id: Reader, pages: &Range<u64>) -> Arrival {
        let most = self.most;
        let stream = self.stream(id);
        let sequential = stream.next == pages.start || stream.next == pages.start + 1;
        stream.next = pages.end;
        if !sequential {
            (stream.window, stream.mark) = (0..0, NOWHERE);
        }
        if !pages.contains(&stream.mark) {
            return Arrival { sequential, ahead: None };
        }
        let start = stream.window.end.max(pages.end);
        let length = (2 * (stream.window.end - stream.window.start)).min(most);
        (stream.window, stream.mark) = (start..start + length, start);
        Arrival { sequential, ahead: Some(stream.window.clone()) }
    }

    /// Opens a window for a stream that reads `pages` where it left off, and some of them are
    /// missing. Returns the end of the pages to read.
    pub(super) fn missed(&mut self, id: Reader, pages: &Range<u64>) -> u64 {
        let (most, requested) = (self.most, pages.end - pages.start);
        if most == 0 {
            return pages.end;
        }
        let length = (2 * requested).next_power_of_two().max(LEAST).min(most);
        // A request longer than any window is followed by one.
        let end = if length > requested { pages.start + length } else { pages.end + most };
        let stream = self.stream(id);
        (stream.window, stream.mark) = (pages.start..end, pages.end);
        if requested >= most {
            stream.window.start = pages.end;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Reader = (StreamId(0), 0);

    /// Reads `count` pages one by one from `from` on; a page that was not read ahead is missing.
    /// Returns the read-ahead as (when, from, to).
    fn windows(
        streams: &mut ReadStreams,
        id: Reader,
        from: u64,
        count: u64,
    ) -> Vec<(u64, u64, u64)> {
        let (mut here, mut found) = (from, Vec::new());
        for page in from..from + count {
            let pages = page..page + 1;
            let arrival = streams.read(id, &pages);
            if page >= here {
                here = if arrival.sequential { streams.missed(id, &pages) } else { page + 1 };
                if here > page + 1 {
                    found.push((page, page, here));
                }
            }
            if let Some(ahead) = arrival.ahead {
                found.push((page, ahead.start, ahead.end));
                here = ahead.end;
            }
        }
        found
    }

    #[test]
    fn windows_double_up_to_the_most_and_are_asked_for_a_window_before() {
        let found = windows(&mut ReadStreams::new(32, 1), ONE, 100, 80);
        let wanted = [
            (101, 101, 105),
            (102, 105, 113),
            (105, 113, 129),
            (113, 129, 161),
            (129, 161, 193),
            (161, 193, 225),
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn a_read_elsewhere_begins_anew() {
        let mut streams = ReadStreams::new(32, 1);
        windows(&mut streams, ONE, 0, 64);
        let away = streams.read(ONE, &(1000..1001));
        assert!(!away.sequential && away.ahead.is_none());
        assert_eq!(windows(&mut streams, ONE, 1001, 1), [(1001, 1001, 1005)]);
    }

    #[test]
    fn streams_do_not_disturb_one_another() {
        let (mut apart, mut mixed) = (ReadStreams::new(32, 1), ReadStreams::new(32, 1));
        let alone = windows(&mut apart, ONE, 0, 40);
        let mut found = Vec::new();
        let mut here = [0, 500];
        for step in 0..40 {
            for (stream, from) in [0, 500].into_iter().enumerate() {
                let (id, pages) = ((StreamId(stream as u32), 0), from + step..from + step + 1);
                let arrival = mixed.read(id, &pages);
                let mut ahead = arrival.ahead;
                if pages.start >= here[stream] {
                    here[stream] = pages.end;
                    if arrival.sequential {
                        ahead = Some(pages.start..mixed.missed(id, &pages));
                    }
                }
                let Some(ahead) = ahead else { continue };
                here[stream] = ahead.end;
                if stream == 0 {
                    found.push((step, ahead.start, ahead.end));
                }
            }
        }
        assert_eq!(found, alone);
    }

    #[test]
    fn long_requests_are_followed_by_a_window_too() {
        let mut streams = ReadStreams::new(32, 1);
        streams.read(ONE, &(0..64));
        assert!(streams.read(ONE, &(64..128)).sequential);
        assert_eq!(streams.missed(ONE, &(64..128)), 160);
        assert_eq!(streams.read(ONE, &(128..192)).ahead, Some(192..224));
    }

    #[test]
    fn without_a_window_nothing_is_read_ahead() {
        assert_eq!(windows(&mut ReadStreams::new(0, 1), ONE, 0, 50), []);
    }
}
