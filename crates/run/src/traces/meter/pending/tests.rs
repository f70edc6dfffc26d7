//! Streams of events by hand, as the kernel sends them, and random ones.

use proptest::prelude::*;

use super::*;

/// Events, one a line: the time, `Q` or `C`, the letters, the first sector and the number of sectors,
/// as `10 Q WS 0+8`. `lost` means that events were lost.
fn replay(script: &str) -> (Pending, Ends) {
    let (mut pending, mut thread, mut ended) = (Pending::new(), 0, Vec::new());
    for line in script.lines().map(str::trim) {
        if line == "lost" {
            pending.doubt();
            continue;
        }
        let words: Vec<_> = line.split(' ').collect();
        let [at_ns, action, letters, range] = words[..] else { panic!("four words: {line}") };
        let at_ns: u64 = at_ns.parse().unwrap();
        let (sector, sectors) = range.split_once('+').unwrap();
        let range = (sector.parse().unwrap(), sectors.parse().unwrap());
        let letters = Letters::parse(letters.as_bytes());
        if action == "Q" {
            assert!(pending.queued(at_ns, (thread, 0), letters, range));
            thread += 1;
        } else {
            let note =
                |request: &PendingRequest| ended.push((request.thread, at_ns - request.at_ns));
            pending.completed(letters, range, note);
        }
    }
    (pending, ended)
}

/// Replays events. Each request that ends is the number of its `Q` with its latency; none waits at the
/// end but those in `waiting`.
fn check(script: &str, expected: &[(u32, u64)], waiting: &[u32]) {
    let (pending, ended) = replay(script);
    assert_eq!(ended, expected, "{script}");
    let mut waits: Vec<_> = pending.waiting().map(|request| request.thread).collect();
    waits.sort_unstable();
    assert_eq!(waits, waiting, "{script}");
}

#[test]
fn a_request_ends_with_its_completion() {
    check("0 Q RS 0+8\n5 C RS 0+8", &[(0, 5)], &[]);
    check("0 Q RS 0+8\n5 C WS 0+8", &[], &[0]);
    check("5 C RS 0+8\n6 Q RS 0+8", &[], &[0]);
}

#[test]
fn equal_ranges_end_in_the_order_of_their_age() {
    check("0 Q R 0+8\n1 Q R 0+8\n5 C R 0+8\n9 C R 0+8", &[(0, 5), (1, 8)], &[]);
}

#[test]
fn merged_requests_end_together() {
    check("0 Q W 8+8\n1 Q W 16+8\n2 Q W 0+8\n9 C W 0+24", &[(2, 7), (0, 9), (1, 8)], &[]);
}

#[test]
fn a_split_request_ends_with_its_last_piece() {
    let events = "0 Q R 0+1024\n3 C R 512+256\n4 C R 0+256\n5 C R 768+256\n6 C R 256+256";
    check(events, &[(0, 6)], &[]);
    let (pending, _) = replay(events);
    assert!(pending.sorted.is_empty());
}

#[test]
fn a_command_that_completes_in_parts_ends_its_requests_one_by_one() {
    check(
        "0 Q R 0+8\n0 Q R 8+8\n0 Q R 16+8\n3 C R 0+12\n7 C R 12+12",
        &[(0, 3), (1, 7), (2, 7)],
        &[],
    );
}

/// Neither an issue nor a requeue ends anything, and they are not asked for.
#[test]
fn a_requeued_request_ends_with_its_only_completion() {
    check("0 Q R 0+8\n90 C R 0+8", &[(0, 90)], &[]);
}

#[test]
fn pieces_of_a_split_request_are_found_below_many_short_ones() {
    let short = |step: &'static str| (0..100).map(move |at| format!("{step} R {}+8", at * 8));
    let long = ["0 Q R 0+1024", "5 C R 512+512", "6 C R 0+512"].map(String::from);
    let [queued, completed @ ..] = long;
    let lines = [queued].into_iter().chain(short("1 Q")).chain(completed).chain(short("9 C"));
    let events = lines.collect::<Vec<_>>().join("\n");
    let (pending, ended) = replay(&events);
    assert_eq!((ended.len(), pending.waiting().count()), (101, 0));
}

/// The commit of a journal, to a disk that has a cache and cannot write past it.
#[test]
fn a_write_that_flushes_ends_after_its_flushes() {
    let commit = "0 Q FWFSM 96+8\n2 C FF 18446744073709551615+0\n4 C WSM 96+8\n\
                  7 C FF 18446744073709551615+0\n7 C WSM 96+0";
    check(commit, &[(0, 7)], &[]);
    check(&commit[..commit.len() - "\n7 C WSM 96+0".len()], &[], &[0]);
    // Split before, each piece with flushes.
    let long = "0 Q WFS 0+16\n3 C WS 0+8\n4 C WS 8+8\n5 C FF 0+0\n5 C WS 8+0\n6 C WS 0+0";
    check(long, &[(0, 6)], &[]);
}

#[test]
fn a_disk_that_writes_past_its_cache_completes_once() {
    check("0 Q WFS 0+8\n3 C WFS 0+8", &[(0, 3)], &[]);
    check("0 Q FWFS 0+8\n3 C WFS 0+8\n3 C WFS 0+0", &[(0, 3)], &[]);
    // Devices without a request queue keep the letters.
    check("0 Q FWFS 0+8\n3 C FWFS 0+8", &[(0, 3)], &[]);
}

#[test]
fn flushes_end_in_the_order_of_their_age() {
    let flushes = "0 Q FWS 0+0\n1 Q FWS 0+0\n3 C FF 0+0\n3 C WS 0+0\n4 C WS 0+0";
    check(flushes, &[(0, 3), (1, 3)], &[]);
    // A write that waits for its flush goes before, if it is there.
    check("0 Q FWS 0+0\n1 Q WFS 8+8\n2 C WS 8+8\n5 C WS 8+0\n6 C WS 0+0", &[(1, 4), (0, 6)], &[]);
}

#[test]
fn discards_that_are_no_neighbours_end_together() {
    check("0 Q DS 0+8\n0 Q DS 800+8\n0 Q DS 1600+8\n4 C DS 0+16", &[(0, 4), (1, 4)], &[2]);
    check("0 Q WZS 0+8\n4 C WZS 0+8", &[(0, 4)], &[]);
}

#[test]
fn requests_queued_before_the_first_event_are_no_harm() {
    check("0 Q R 8+8\n3 C R 0+32\n4 C R 64+8", &[(0, 3)], &[]);
    check("0 C FF 0+0\n0 C WS 0+0\n1 C N 0+8\n2 Q N 0+8\n3 Q R 0+0", &[], &[]);
}

#[test]
fn after_a_loss_a_request_waits_no_longer_and_counts_if_its_completion_comes() {
    check("0 Q R 0+8\nlost\n1 Q R 8+8", &[], &[1]);
    check("0 Q R 0+8\nlost\n5 C R 0+8", &[(0, 5)], &[]);
    // The completion of a request that is not in doubt is never taken for one that is.
    check("0 Q R 0+8\nlost\n7 Q R 0+8\n8 C R 0+8", &[(1, 1)], &[]);
    check("0 Q R 0+8\nlost\n7 Q R 0+16\n8 C R 0+8\n9 C R 8+8", &[(1, 2)], &[]);
    let (mut pending, _) = replay("0 Q R 0+8\n0 Q FWS 0+0\nlost\n50 Q R 0+8");
    pending.drop_doubtful(50);
    assert_eq!((pending.free_requests.len(), pending.waiting().count()), (2, 1));
    pending.doubt();
    pending.drop_doubtful(51);
    assert!(pending.sorted.is_empty());
}

#[test]
fn what_is_pending_is_bounded() {
    let (most, pieces) = (16, 64);
    let mut pending = Pending::with_room(most, pieces);
    let read = Letters::parse(b"R");
    let held = (0..100).filter(|at| pending.queued(0, (0, 0), read, (at * 8, 8)));
    assert_eq!(held.count(), most);
    // Cut into more pieces than there is room for: what is beyond counts as complete.
    let mut pending = Pending::with_room(most, pieces);
    assert!(pending.queued(0, (0, 0), read, (0, 1000)));
    let mut ended = 0;
    (0..100).for_each(|piece| pending.completed(read, (piece * 10 + 4, 1), |_| ended += 1));
    assert!(pending.pieces.len() <= pieces);
    (0..100).for_each(|piece| pending.completed(read, (piece * 10, 10), |_| ended += 1));
    assert_eq!((ended, pending.waiting().count()), (1, 0));
}

/// Numbers of requests, each with a time or a latency.
type Ends = Vec<(u32, u64)>;

/// A request of a random stream.
#[derive(Clone, Debug)]
struct Queued {
    write: bool,
    sector: u64,
    sectors: u64,
}

/// Random requests; those of one direction overlap only if `overlap`.
fn requests(overlap: bool) -> impl Strategy<Value = Vec<Queued>> {
    let request = (any::<bool>(), 0_u64..64, 1_u64..16);
    prop::collection::vec(request, 1..60).prop_map(move |requests| {
        let mut next = [0, 0];
        let place = |(write, place, sectors): (bool, u64, u64)| {
            let next = &mut next[usize::from(write)];
            // Some are neighbours.
            let sector = if overlap { place } else { *next + place % 3 };
            *next = sector + sectors;
            Queued { write, sector, sectors }
        };
        requests.into_iter().map(place).collect()
    })
}

/// Queues requests, makes commands of them as the kernel does, split, merged and completed in parts,
/// and completes these in the order of `picks`. Returns for each request the time of its last
/// completion, and what the table says.
fn stream(requests: &[Queued], picks: &[usize]) -> (Ends, Ends, usize) {
    let letters = |write: bool| Letters::parse(if write { b"WS" } else { b"RS" });
    let mut pending = Pending::new();
    // Parts of commands to complete, with the requests whose sectors they have.
    let mut parts: Vec<(bool, u64, u64, Vec<u32>)> = Vec::new();
    let mut picks = picks.iter().cycle().copied();
    let mut pick = move |from: usize| picks.next().expect("there are picks") % from;
    for (number, Queued { write, sector, sectors }) in requests.iter().enumerate() {
        let number = number as u32;
        pending.queued(u64::from(number), (number, 0), letters(*write), (*sector, *sectors));
        let cut = pick(*sectors as usize) as u64;
        for (start, end) in [(*sector, sector + cut), (sector + cut, sector + sectors)] {
            if start == end {
                continue;
            }
            let behind = parts.iter_mut().find(|part| (part.0, part.2) == (*write, start));
            match behind.filter(|_| pick(2) == 0) {
                Some(part) => {
                    part.2 = end;
                    part.3.push(number);
                }
                None => parts.push((*write, start, end, vec![number])),
            }
        }
    }
    let (mut now, mut ended) = (requests.len() as u64, Vec::new());
    let mut last = vec![0; requests.len()];
    while !parts.is_empty() {
        let next = pick(parts.len());
        let (write, start, end, parts_of) = parts.swap_remove(next);
        let upto = if pick(4) == 0 { start + 1 + pick((end - start) as usize) as u64 } else { end };
        now += 1;
        let is_in = |number: &&u32| {
            let Queued { sector, sectors, .. } = requests[**number as usize];
            sector < upto && sector + sectors > start
        };
        parts_of.iter().filter(is_in).for_each(|&number| last[number as usize] = now);
        pending.completed(letters(write), (start, upto - start), |request| {
            ended.push((request.thread, now - request.at_ns));
        });
        if upto < end {
            parts.push((write, upto, end, parts_of));
        }
    }
    let mut expected: Vec<_> =
        last.iter().zip(0_u32..).map(|(last, number)| (number, last - u64::from(number))).collect();
    expected.sort_unstable();
    ended.sort_unstable();
    (expected, ended, pending.waiting().count())
}

proptest! {
    #[test]
    fn every_request_ends_once_when_its_last_sector_completes(
        requests in requests(false), picks in prop::collection::vec(any::<usize>(), 1..99),
    ) {
        let (expected, ended, waiting) = stream(&requests, &picks);
        prop_assert_eq!(ended, expected);
        prop_assert_eq!(waiting, 0);
    }

    /// Which of two requests for a sector ends first is not known then.
    #[test]
    fn every_request_ends_once_though_they_overlap(
        requests in requests(true), picks in prop::collection::vec(any::<usize>(), 1..99),
    ) {
        let (expected, ended, waiting) = stream(&requests, &picks);
        let numbers = |ended: Ends| ended.into_iter().map(|(number, _)| number).collect();
        let (expected, ended): (Vec<u32>, Vec<u32>) = (numbers(expected), numbers(ended));
        prop_assert_eq!(ended, expected);
        prop_assert_eq!(waiting, 0);
    }
}
