//! A trace as a source: the times, places, streams and classes of its requests.

use penstock_core::{ClassId, Done, Flags, Io, Op, Prio, ReqId, Source, Span, StreamId, Time};
use penstock_workload::trace::{
    self, ClassOf, DeviceId, Fit, Layout, Places, Record, Replay, ReplayError, Requests, Timing,
    Trace,
};

const MIB: u64 = 1 << 20;
const ONE: ClassOf = ClassOf::One(ClassId(0), Prio(0));

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// Returns four requests of two processes: a write, a read far behind it, a flush, a read.
fn trace() -> Trace {
    let mut records = vec![
        Record::new(ms(0), Op::Write, 4096, 8192),
        Record::new(ms(10), Op::Read, 100 * MIB - 4096, 4096),
        Record::new(ms(10), Op::Flush, 0, 0),
        Record::new(ms(25), Op::Read, 50 * MIB + 512, 1024),
    ];
    for (line, (record, pid)) in (1..).zip(records.iter_mut().zip([700, 20, 700, 700])) {
        (record.line, record.pid) = (line, pid);
    }
    records[0].flags = Flags::SYNC.with(Flags::FUA);
    let (records, processes) = (records.into_iter().collect(), vec![String::new()]);
    Trace { records, processes, devices: vec!["0".into()], ..Trace::default() }
}

fn replay(capacity: u64, fit: Option<Fit>, timing: Timing) -> Result<Replay, ReplayError> {
    let places = Places::new(&trace(), None, |_| capacity, fit)?;
    let class = ClassOf::each(|record| match record.op {
        Op::Flush => (ClassId(1), Prio(3)),
        _ => (ClassId(0), Prio(7)),
    });
    Replay::new(trace(), places, timing, class)
}

/// Places `trace` on a device of `capacity` bytes, in which it fits.
fn places(trace: &Trace, capacity: u64) -> Places {
    Places::new(trace, None, |_| capacity, None).unwrap()
}

fn all(mut replay: Replay) -> Vec<Io> {
    std::iter::from_fn(|| replay.take(Time::from_ns(u64::MAX - 1))).collect()
}

/// Returns the requests of `trace` with the process number `pid`.
fn with_process(trace: &Trace, pid: u32) -> Requests {
    let of_process = |mut record: Record| {
        record.pid = pid;
        record
    };
    trace.records.iter().map(of_process).collect()
}

fn finish(replay: &mut Replay, io: Io, now: Time) {
    let id = ReqId::new(0, 0);
    let done = Done { id, at: now, begun: now, service: Span::ZERO, len: io.len, error: None };
    replay.finished(now, &io.with(id), &done);
}

#[test]
fn requests_are_what_was_recorded() {
    let ios = all(replay(100 * MIB, None, Timing::Original).unwrap());
    let (start, len, flags) = (4096, 8192, Flags::SYNC.with(Flags::FUA));
    let (stream, class, prio) = (StreamId(0), ClassId(0), Prio(7));
    assert_eq!(ios[0], Io { due: ms(0), start, len, stream, class, op: Op::Write, prio, flags });
    let (start, len, flags) = (0, 0, Flags::SYNC);
    let (class, prio) = (ClassId(1), Prio(3));
    assert_eq!(ios[2], Io { due: ms(10), start, len, stream, class, op: Op::Flush, prio, flags });
    assert_eq!(ios.iter().map(|io| io.stream.0).collect::<Vec<_>>(), [0, 1, 0, 0]);
}

#[test]
fn requests_are_taken_for_direct_ones_unless_the_trace_says_who_waits() {
    let written = |tells_sync: bool, op: Op, flags: Flags| {
        let mut record = Record::new(ms(0), op, 0, 4096);
        record.flags = flags;
        let trace = Trace { records: [record].into_iter().collect(), tells_sync, ..trace() };
        let class = ClassOf::One(ClassId(0), Prio(0));
        let replayed =
            Replay::new(trace.clone(), places(&trace, MIB), Timing::Original, class).unwrap();
        let io = all(replayed)[0];
        assert_eq!(io.is_sync(), trace.is_sync(&record));
        io.is_sync()
    };
    let expected = [(Op::Read, true), (Op::Write, true), (Op::Flush, true), (Op::Discard, false)];
    assert_eq!(expected.map(|(op, _)| (op, written(false, op, Flags::NONE))), expected);
    let written_back = written(true, Op::Write, Flags::NONE);
    assert!(!written_back && written(true, Op::Write, Flags::SYNC));
    assert!(written(true, Op::Write, Flags::FUA) && written(true, Op::Read, Flags::NONE));
}

#[test]
fn original_times_are_kept() {
    let mut replay = replay(100 * MIB, None, Timing::Original).unwrap();
    assert_eq!((replay.len(), replay.left(), replay.last_due()), (4, 4, Some(ms(25))));
    assert_eq!(replay.next_due(), ms(0));
    assert!(replay.take(ms(0)).is_some());
    assert_eq!(replay.next_due(), ms(10));
    assert!(replay.take(Time::from_ns(9_999_999)).is_none());
    // A request that is taken late keeps its intended arrival.
    assert_eq!(replay.take(ms(30)).unwrap().due, ms(10));
    assert_eq!(replay.take(ms(30)).unwrap().op, Op::Flush);
    assert_eq!(replay.take(ms(30)).unwrap().due, ms(25));
    assert_eq!(
        (replay.next_due(), replay.take(Time::NEVER), replay.left()),
        (Time::NEVER, None, 0)
    );
}

#[test]
fn a_speed_divides_all_times() {
    let due = |speed| {
        let ios = all(replay(100 * MIB, None, Timing::Scaled(speed)).unwrap());
        ios.iter().map(|io| io.due.ns() / 1000).collect::<Vec<_>>()
    };
    assert_eq!(due(2.0), [0, 5_000, 5_000, 12_500]);
    assert_eq!(due(0.5), [0, 20_000, 20_000, 50_000]);
    assert_eq!(due(1e-300), [0, u64::MAX / 1000, u64::MAX / 1000, u64::MAX / 1000]);
}

#[test]
fn as_fast_as_possible_keeps_its_depth() {
    let mut replay = replay(100 * MIB, None, Timing::Afap { depth: 2 }).unwrap();
    let first = replay.take(ms(1)).unwrap();
    let second = replay.take(ms(1)).unwrap();
    assert_eq!((first.due, second.due), (ms(0), ms(0)));
    assert_eq!((replay.next_due(), replay.take(ms(1))), (Time::NEVER, None));
    finish(&mut replay, second, ms(4));
    finish(&mut replay, first, ms(6));
    // The request is due at the time at which a place became free, however late it is taken.
    assert_eq!(replay.next_due(), ms(4));
    assert_eq!(replay.take(ms(7)).unwrap().due, ms(4));
    let last = replay.take(ms(7)).unwrap();
    assert_eq!((last.due, last.start), (ms(6), 50 * MIB + 512));
    finish(&mut replay, last, ms(8));
    assert_eq!((replay.next_due(), replay.take(ms(9))), (Time::NEVER, None));
}

#[test]
fn a_clone_begins_where_its_original_stands() {
    let mut replay = replay(100 * MIB, None, Timing::Original).unwrap();
    let again = replay.clone();
    assert!(replay.take(ms(0)).is_some());
    assert_eq!((replay.left(), again.left()), (3, 4));
}

#[test]
fn a_request_past_the_end_is_an_error_unless_it_is_made_to_fit() {
    let error = replay(100 * MIB - 1, None, Timing::Original).expect_err("it does not fit");
    assert_eq!(
        error.to_string(),
        "line 2 of the trace: found a request of 4096 B at 104853504 B, expected it to end within \
         the device's 104857599 B"
    );
    let starts = |fit, capacity| {
        let ios = all(replay(capacity, Some(fit), Timing::Original).unwrap());
        ios.iter().map(|io| io.start).collect::<Vec<_>>()
    };
    assert_eq!(starts(Fit::Wrap, 40 * MIB), [4096, 20 * MIB - 4096, 0, 10 * MIB + 512]);
    // The first request would cross the end and moves to the last aligned place.
    assert_eq!(starts(Fit::Wrap, 8192), [0, 4096, 0, 512]);
    assert_eq!(starts(Fit::Scale, 50 * MIB), [0, 50 * MIB - 4096, 0, 25 * MIB]);
    // Requests that fit keep their places.
    assert_eq!(starts(Fit::Scale, 200 * MIB), [4096, 100 * MIB - 4096, 0, 50 * MIB + 512]);
}

#[test]
fn a_request_larger_than_the_device_never_fits() {
    for fit in [None, Some(Fit::Wrap), Some(Fit::Scale)] {
        let error = replay(8000, fit, Timing::Original).expect_err("it does not fit");
        assert_eq!(
            error.to_string(),
            "line 1 of the trace: found a request of 8192 B, expected at most the device's 8000 B\n\
             hint: replay it on a larger device"
        );
    }
}

/// In a trace measured one request at a time, requests arrive later on a slower device, after the
/// same pauses.
#[test]
fn one_at_a_time_each_waits_for_the_last_and_thinks_as_long() {
    let text = b"op,lbn,blocks,measured_response_ms,think_time_after_completion_ms\n\
                 R,0,8,4.5,10\nW,8,8,2,0.25\nR,16,8,3,7\n";
    let recorded = trace::parse(text, trace::format("measured").unwrap()).unwrap();
    assert!(recorded.one_by_one);
    let us = |us| Time::ZERO + Span::from_us(us);
    let times: Vec<Time> = recorded.records.iter().map(|record| record.at).collect();
    assert_eq!(times, [us(0), us(4_750), us(13_750)]);
    for (timing, dues) in [
        // A device that takes 1 ms for each request.
        (Timing::Original, [us(0), us(1_250), us(9_250)]),
        (Timing::Scaled(2.0), [us(0), us(1_125), us(5_625)]),
    ] {
        let places = places(&recorded, 1 << 20);
        let mut replay = Replay::new(recorded.clone(), places, timing, ONE).unwrap();
        assert_eq!(replay.last_due(), None, "unknown before");
        for due in dues {
            assert_eq!(replay.next_due(), due);
            assert!(due == Time::ZERO || replay.take(due - Span::from_ns(1)).is_none());
            let io = replay.take(due).unwrap();
            assert_eq!(io.due, due);
            assert_eq!(replay.next_due(), Time::NEVER, "one at a time");
            finish(&mut replay, io, due + Span::from_ms(1));
        }
        assert_eq!((replay.left(), replay.next_due()), (0, Time::NEVER));
    }
}

/// Returns the requests of two processes: one reads twice at once and then again, the other writes
/// once, and its write has no completion in the trace.
fn answered() -> Trace {
    let took = Span::from_ms;
    let mut records = vec![
        Record::new(ms(0), Op::Read, 0, 4096).with_latency(took(4)),
        Record::new(ms(1), Op::Read, 8192, 4096).with_latency(took(2)),
        Record::new(ms(2), Op::Write, 16_384, 4096),
        Record::new(ms(10), Op::Read, 24_576, 4096).with_latency(took(2)),
        Record::new(ms(10), Op::Write, 32_768, 4096).with_latency(took(2)),
        Record::new(ms(11), Op::Read, 40_960, 4096).with_latency(took(2)),
    ];
    for (record, pid) in records.iter_mut().zip([7, 7, 8, 7, 8, 7]) {
        record.pid = pid;
    }
    let (records, processes) = (records.into_iter().collect(), vec![String::new()]);
    Trace { records, processes, devices: vec!["0".into()], ..Trace::default() }
}

fn closed(trace: &Trace, latency: Option<Span>) -> Result<Replay, ReplayError> {
    let class = ClassOf::each(|record| (ClassId(u16::from(record.op == Op::Write)), Prio(0)));
    Replay::new(trace.clone(), places(trace, 100 * MIB), Timing::Closed { latency }, class)
}

#[test]
fn closed_each_process_thinks_after_its_own_answers() {
    let mut replay = closed(&answered(), None).unwrap();
    assert_eq!((replay.len(), replay.left(), replay.last_due()), (6, 6, None));
    let first = replay.take(ms(0)).unwrap();
    assert_eq!((replay.next_due(), replay.take(ms(0))), (ms(1), None));
    let second = replay.take(ms(1)).unwrap();
    let write = replay.take(ms(2)).unwrap();
    assert_eq!((first.due, second.due, write.due), (ms(0), ms(1), ms(2)));
    assert_eq!(replay.next_due(), Time::NEVER, "all others wait for answers");
    // The third read waited for both completions, in any order, and thought for 6 ms.
    finish(&mut replay, first, ms(20));
    assert_eq!(replay.next_due(), Time::NEVER);
    finish(&mut replay, second, ms(30));
    assert_eq!(replay.next_due(), ms(36));
    // The first write is assumed to have taken 2 ms, the median; the next one came 6 ms after that.
    finish(&mut replay, write, ms(25));
    assert_eq!(replay.next_due(), ms(31));
    // A request that is taken late keeps its intended arrival.
    assert_eq!(replay.take(ms(40)).unwrap().due, ms(31));
    // The last two reads waited for the same completions: they are outstanding together again.
    let dues = [replay.take(ms(40)).unwrap().due, replay.take(ms(40)).unwrap().due];
    assert_eq!(dues, [ms(36), ms(37)]);
    assert_eq!((replay.left(), replay.next_due(), replay.take(ms(90))), (0, Time::NEVER, None));
}

#[test]
fn closed_without_completions_needs_to_know_how_long_requests_took() {
    let error = closed(&trace(), None).expect_err("nothing is known of completions");
    assert_eq!(
        error.to_string(),
        "found completions of 0 of 4 requests, expected them of half or more: a closed replay \
         counts think times from them\nhint: trace.timing.latency=5ms sets how long requests took \
         that have none; trace.timing=original plays them at their own times"
    );
    let mut replay = closed(&trace(), Some(Span::from_ms(4))).unwrap();
    // The process that writes first flushes 6 ms after its completion; the other one reads at its
    // recorded time.
    let write = replay.take(ms(0)).unwrap();
    assert_eq!((replay.next_due(), replay.take(ms(10)).unwrap().op), (ms(10), Op::Read));
    finish(&mut replay, write, ms(20));
    let flush = replay.take(ms(26)).unwrap();
    assert_eq!((flush.due, flush.op), (ms(26), Op::Flush));
    finish(&mut replay, flush, ms(26));
    assert_eq!(replay.next_due(), ms(37));
}

/// The recorded latency of the other class then counts as think time.
#[test]
fn closed_a_class_alone_waits_for_its_own_answers() {
    let mut trace = answered();
    trace.records = with_process(&trace, 7);
    let mut alone = closed(&trace, None).unwrap().only(ClassId(1)).unwrap();
    let write = alone.take(ms(2)).unwrap();
    assert_eq!((alone.len(), write.due, alone.next_due()), (2, ms(2), Time::NEVER));
    finish(&mut alone, write, ms(100));
    assert_eq!(alone.next_due(), ms(106));
}

/// In a trace without process numbers each class waits for its own answers.
#[test]
fn closed_without_processes_classes_wait() {
    let mut trace = answered();
    trace.records = with_process(&trace, 0);
    let mut replay = closed(&trace, None).unwrap();
    let [_, _, write] = [ms(0), ms(1), ms(2)].map(|at| replay.take(at).unwrap());
    finish(&mut replay, write, ms(25));
    assert_eq!(replay.next_due(), ms(31));
}

/// For a trace measured one request at a time, a closed replay equals the original timing.
#[test]
fn closed_one_at_a_time_changes_nothing() {
    let text = b"R,0,8,4.5,10\nW,8,8,2,0.25\nR,16,8,3,7\n";
    let recorded = trace::parse(text, trace::format("measured").unwrap()).unwrap();
    for timing in [Timing::Original, Timing::Closed { latency: None }] {
        let places = places(&recorded, 1 << 20);
        let mut replay = Replay::new(recorded.clone(), places, timing, ONE).unwrap();
        let mut dues = Vec::new();
        while replay.left() > 0 {
            let io = replay.take(replay.next_due()).unwrap();
            dues.push(io.due.ns() / 1000);
            finish(&mut replay, io, io.due + Span::from_ms(1));
        }
        assert_eq!(dues, [0, 1_250, 9_250], "{timing:?}");
    }
}

/// Returns requests of three devices, of which the second has none.
fn of_devices() -> Trace {
    let mut records = vec![
        Record::new(ms(0), Op::Read, 4096, 4096),
        Record::new(ms(1), Op::Write, MIB, 4096),
        Record::new(ms(2), Op::Flush, 0, 0),
    ];
    records[1].device = DeviceId(2);
    records[2].device = DeviceId(2);
    let devices = ["8,0", "8,16", "8,32"].map(Into::into).into();
    let (records, processes) = (records.into_iter().collect(), vec![String::new()]);
    Trace { records, processes, devices, ..Trace::default() }
}

#[test]
fn devices_of_a_trace_never_lie_over_each_other() {
    let mut trace = of_devices();
    let error = Places::new(&trace, None, |_| 100 * MIB, None).unwrap_err().to_string();
    assert!(error.starts_with("found requests of 2 devices (8,0 8,32), expected those of one"));
    let starts = |layout| {
        let places = Places::new(&trace, Some(layout), |_| 100 * MIB, None).unwrap();
        let lanes = places.lanes().iter().map(|device| device.0).collect::<Vec<_>>();
        let replay = Replay::new(trace.clone(), places, Timing::Original, ONE).unwrap();
        (all(replay).iter().map(|io| io.start).collect::<Vec<_>>(), lanes)
    };
    // The first device ends within its first MiB.
    assert_eq!(starts(Layout::SideBySide), (vec![4096, 2 * MIB, 0], vec![]));
    assert_eq!(starts(Layout::Each), (vec![4096, 101 * MIB, 100 * MIB], vec![0, 2]));
    trace.keep(&[DeviceId(2)]).unwrap();
    assert_eq!((trace.records.len(), trace.records.first().unwrap().at), (2, Time::ZERO));
    assert!(Places::new(&trace, None, |_| 100 * MIB, None).is_ok());
}

#[test]
fn each_device_is_made_to_fit_by_itself() {
    let trace = of_devices();
    for (layout, expected) in
        [(Layout::Each, [4096, MIB / 2, MIB / 2]), (Layout::SideBySide, [4096, 0, 0])]
    {
        let places = Places::new(&trace, Some(layout), |_| MIB / 2, Some(Fit::Wrap)).unwrap();
        let replay = Replay::new(trace.clone(), places, Timing::Original, ONE).unwrap();
        let starts: Vec<_> = all(replay).iter().map(|io| io.start).collect();
        assert_eq!(starts, expected);
    }
}

#[test]
fn each_device_has_the_size_of_its_own() {
    let trace = of_devices();
    let capacity = |device: DeviceId| [10 * MIB, 3 * MIB, MIB][device.index()];
    let starts = |fit| {
        let places = Places::new(&trace, Some(Layout::Each), capacity, fit).unwrap();
        let replay = Replay::new(trace.clone(), places, Timing::Original, ONE)?;
        Ok(all(replay).iter().map(|io| io.start).collect::<Vec<_>>())
    };
    let past = ReplayError::Past { line: 0, start: MIB, len: 4096, capacity: MIB };
    assert_eq!(starts(None), Err(past), "of the device that is too small");
    assert_eq!(starts(Some(Fit::Wrap)), Ok(vec![4096, 10 * MIB, 10 * MIB]));
    let last = 11 * MIB - 4096;
    assert_eq!(starts(Some(Fit::Scale)), Ok(vec![4096, last, 10 * MIB]), "the others stay");
}

#[test]
fn what_a_trace_knows_of_its_requests_is_what_they_are() {
    let recorded = Trace { records: with_process(&trace(), 0), ..trace() };
    let facts = |class| {
        let places = places(&recorded, 100 * MIB);
        let replay = Replay::new(recorded.clone(), places, Timing::Original, class).unwrap();
        let has = [0, 1].map(|class| replay.has(ClassId(class)));
        (replay.len(), replay.writes(), replay.last_due(), has, all(replay))
    };
    let (len, writes, last, has, ios) = facts(ONE);
    assert_eq!((len, writes, last, has), (4, true, Some(ms(25)), [true, false]));
    assert_eq!(facts(ClassOf::each(|_| (ClassId(0), Prio(0)))), (len, writes, last, has, ios));
}
