//! Every format read from a sample, and read again from the written file.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use insta::assert_snapshot;
use penstock_core::{Flags, Op, Span};
use penstock_workload::trace::{
    self, FORMATS, Record, Trace, TraceError, Written, detect, format, parse, read, read_any, stats,
};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sample(name: &str) -> Vec<u8> {
    fs::read(root().join("tests/data/traces").join(name)).expect("a sample")
}

fn read_sample(name: &str, as_format: &str) -> Trace {
    parse(&sample(name), format(as_format).expect("a format")).unwrap_or_else(|e| panic!("{e}"))
}

/// The trace as a person would check it: one request a line, at most `most`.
fn table(trace: &Trace, most: usize) -> String {
    let Trace { origin_ns, out_of_order, skipped, .. } = trace;
    let mut text = format!(
        "{} requests, origin {origin_ns} ns, {out_of_order} out of order, {skipped} skipped\n",
        trace.records.len()
    );
    for record in trace.records.iter().take(most) {
        let &Record { at, start, len, pid, line, op, .. } = record;
        let (device, process) = (trace.device(record), trace.process(record));
        let sync = if record.flags.has(Flags::SYNC) { " sync" } else { "" };
        let forced = if record.flags.has(Flags::FUA) { " forced" } else { "" };
        let latency = record.latency().map_or(String::new(), |took| format!(" took {took:?}"));
        let who = if pid == 0 { String::new() } else { format!(" {pid} [{process}]") };
        let where_ = format!("{device}:{start}+{len}");
        writeln!(text, "{line:4} {at:?} {op:?}{sync}{forced} {where_}{who}{latency}").unwrap();
    }
    text
}

#[test]
fn blkparse() {
    assert_snapshot!("blkparse", table(&read_sample("kinds.blkparse", "blkparse"), 99));
    assert_snapshot!("blkparse_real", table(&read_sample("pgbench.blkparse", "blkparse"), 12));
}

/// Kernels of today number the sector of a flush 2^64 - 1.
#[test]
fn the_sector_of_a_flush_means_nothing() {
    let text = b"7,0 1 1 0.000000000 10 Q FWS 18446744073709551615 + 0 [sync]\n\
                 7,0 1 2 0.002000000  0 C  FF 18446744073709551615 + 0 [0]\n";
    let trace = parse(text, format("blkparse").unwrap()).unwrap();
    let [flush] = trace.records[..] else { panic!("one request: {trace:?}") };
    assert_eq!((flush.op, flush.start, flush.len), (Op::Flush, 0, 0));
    assert_eq!(flush.latency(), Some(Span::from_ms(2)));
    let refused =
        parse(b"7,0 1 1 0.0 0 C R 36028797018963968 + 8 [0]\n", format("blkparse").unwrap());
    assert_eq!(
        refused.unwrap_err().to_string(),
        "line 1: found `R 36028797018963968 + 8 [0]`, expected a block number below 2^55"
    );
}

#[test]
fn disksim() {
    assert_snapshot!("disksim", table(&read_sample("mix8k.disksim", "disksim"), 6));
}

#[test]
fn mqsim() {
    assert_snapshot!("mqsim", table(&read_sample("tpcc.mqsim", "mqsim"), 6));
    let whole = read_sample("wsrch.mqsim", "mqsim");
    assert_eq!(whole.records.len(), 50, "the last line has no end and counts");
}

#[test]
fn msr() {
    assert_snapshot!("msr", table(&read_sample("sample.msr", "msr"), 9));
    let mut headed = b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\r\n".to_vec();
    headed.extend(sample("sample.msr"));
    assert_eq!(parse(&headed, format("msr").unwrap()).unwrap().records.len(), 4);
}

#[test]
fn measured() {
    assert_snapshot!("measured", table(&read_sample("sample.measured", "measured"), 99));
}

#[test]
fn spc() {
    assert_snapshot!("spc", table(&read_sample("sample.spc", "spc"), 9));
}

#[test]
fn fio_iologs() {
    assert_snapshot!("fio_iolog2", table(&read_sample("sample.iolog2", "fio-iolog2"), 9));
    assert_snapshot!("fio_iolog3", table(&read_sample("sample.iolog3", "fio-iolog3"), 9));
}

/// Counted independently of the reader: `zcat … | awk '$6 == "Q" { n[$7]++; b[$7] += $10 * 512 }'`.
#[test]
fn the_real_trace_has_as_many_requests_as_awk_counts() {
    let path = root().join("examples/traces/pgbench-backup.blkparse.gz");
    let (trace, format) = trace::load(&path, None).unwrap();
    assert_eq!(format.name, "blkparse");
    let count = |op: Op, sync: bool| {
        let wanted = |r: &&Record| r.op == op && r.flags.has(Flags::SYNC) == sync;
        let found: Vec<_> = trace.records.iter().filter(wanted).collect();
        (found.len(), found.iter().map(|r| u64::from(r.len)).sum::<u64>())
    };
    assert_eq!(trace.records.len(), 135_565);
    assert_eq!(count(Op::Read, false), (48_375 + 62 + 1, 1_061_752_832 + 253_952 + 4_096));
    assert_eq!(count(Op::Write, true), (46_260 + 3_103, 919_224_320 + 12_709_888));
    assert_eq!(count(Op::Write, false), (14_841 + 136, 1_833_570_304 + 557_056));
    assert_eq!(count(Op::Flush, true), (22_776, 0));
    assert_eq!(count(Op::Discard, true), (11, 45_056));
    assert_eq!(trace.skipped, 137_587 + 135_749, "D and C events");
    assert_eq!(trace.end(), 203_339_870_208);
    let of = |pid| trace.records.iter().filter(|r| r.pid == pid).count();
    assert_eq!(
        [547, 548, 549, 550, 579, 578, 505].map(of),
        [16_147, 15_120, 15_692, 14_903, 34_444, 877, 30_361]
    );
    // Matched independently of the reader, by a search of all waiting requests for each completion.
    let took = |op| {
        let latency = stats::of(trace.records.iter().filter(|r| r.op == op)).latency.unwrap();
        (latency.known, latency.mean.ns(), latency.p50.ns(), latency.p99.ns(), latency.max.ns())
    };
    assert_eq!(took(Op::Read), (48_438, 873_022, 956_000, 2_223_000, 17_946_000));
    assert_eq!(took(Op::Write), (64_340, 853_797, 500_000, 9_214_000, 48_427_000));
    assert_eq!(took(Op::Flush), (22_775, 58_914, 43_000, 733_000, 5_215_000));
}

#[test]
fn lines_out_of_order_are_sorted_and_counted() {
    let trace =
        parse(b"2.0 0 8 8 1\n1.0 0 0 8 1\n2.0 0 16 8 1\n1.5 0 0 8 0\n", &FORMATS[1]).unwrap();
    let lines: Vec<_> = trace.records.iter().map(|r| (r.line, r.at.ns())).collect();
    assert_eq!(lines, [(2, 0), (4, 500_000), (1, 1_000_000), (3, 1_000_000)]);
    assert_eq!((trace.out_of_order, trace.origin_ns), (2, 1_000_000));
}

#[test]
fn packed_files_are_unpacked_whatever_their_name() {
    let text = sample("kinds.blkparse");
    let blkparse = format("blkparse").unwrap();
    let plain = parse(&text, blkparse).unwrap();
    assert_eq!(read(&gzip(&text)[..], blkparse).unwrap(), plain);
    assert_eq!(read(&zstd(&text)[..], blkparse).unwrap(), plain);
    // Several members, several frames and a note between them count as one file.
    let (front, back) = text.split_at(700);
    let two = [gzip(front), gzip(back)].concat();
    assert_eq!(read(&two[..], blkparse).unwrap(), plain);
    let note = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, b'a', b'b', b'c'];
    let two = [note.to_vec(), zstd(front), note.to_vec(), zstd(back)].concat();
    assert_eq!(read(&two[..], blkparse).unwrap(), plain);
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text).unwrap();
    packed.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn every_format_is_recognised() {
    for (name, expected) in [
        ("kinds.blkparse", Some("blkparse")),
        ("pgbench.blkparse", Some("blkparse")),
        ("mix8k.disksim", Some("disksim")),
        ("sample.measured", Some("measured")),
        ("sample.msr", Some("msr")),
        ("sample.spc", Some("spc")),
        ("sample.iolog2", Some("fio-iolog2")),
        ("sample.iolog3", Some("fio-iolog3")),
        ("tpcc.mqsim", Some("mqsim")),
        ("wsrch.mqsim", Some("mqsim")),
    ] {
        assert_eq!(detect(&sample(name)).map(|format| format.name), expected, "{name}");
        let found = read_any(&sample(name)[..]);
        assert_eq!(found.as_ref().map(|(_, format)| format.name).ok(), expected, "{name}");
    }
    for nothing in [&b""[..], b"\n\n", b"hello\n", b"1,2,3\n"] {
        assert!(detect(nothing).is_none());
    }
}

/// Both have five columns; `mqsim` has whole nanoseconds, `disksim` milliseconds of any kind.
#[test]
fn mqsim_and_disksim_are_distinguished_or_both_are_named() {
    let of = |text: &str| detect(text.as_bytes()).map(|format| format.name);
    let far = "938513000 4 264719034 16 0\n938828000 3 197570570 16 1\n";
    assert_eq!(of(far), Some("mqsim"), "no disk waits minutes for each request");
    assert_eq!(of(&far.replace("000 ", "000.5 ")), Some("disksim"), "a part of a nanosecond");
    assert_eq!(of(&far.replace("16 1", "16 3")), Some("disksim"), "more flags than a direction");
    assert_eq!(of("0 0 0 8 1\n10000 0 8 8 1\n"), Some("mqsim"));
    for either in ["0 0 0 8 1\n9999 0 8 8 1\n", "0 0 0 8 1\n", "7 0 0 8 1\n7 0 8 8 1\n"] {
        assert_eq!(of(either), None, "{either}");
        let error = read_any(either.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("it could be one of disksim, mqsim"), "{error}");
    }
}

/// What `name` writes of the real sample and of all kinds, read again.
fn round_trip(name: &str, original: &Trace) -> (Trace, Written, Vec<u8>) {
    let format = format(name).unwrap();
    let mut text = Vec::new();
    let written = (format.write.expect("it can be written"))(original, &mut text).unwrap();
    let again = parse(&text, format).unwrap_or_else(|e: TraceError| panic!("{name}: {e}"));
    (again, written, text)
}

#[test]
fn what_is_written_is_read_again() {
    // The resolution of times in each format, in nanoseconds, and whether it can express all
    // operations.
    for (name, step_ns, all) in
        [("disksim", 1, false), ("msr", 100, false), ("fio-iolog3", 1_000, true)]
    {
        for file in ["kinds.blkparse", "pgbench.blkparse"] {
            let original = read_sample(file, "blkparse");
            let kept = |r: &&Record| all || matches!(r.op, Op::Read | Op::Write);
            let expected: Vec<_> = original.records.iter().filter(kept).collect();
            let (again, written, text) = round_trip(name, &original);
            let left_out = original.records.len() - expected.len();
            let counts = Written { requests: expected.len() as u64, left_out: left_out as u64 };
            assert_eq!(written, counts, "{name} {file}");
            // Counted from the first request that was written, and cut to the step.
            let origin = if name == "msr" { original.origin_ns } else { 0 };
            let cut = |at: u64| (at + origin) / step_ns * step_ns;
            let first = cut(expected[0].at.ns());
            for (found, expected) in again.records.iter().zip(&expected) {
                assert_eq!(found.at.ns(), cut(expected.at.ns()) - first, "{name} {file}");
                let range = (expected.op, expected.start, expected.len);
                assert_eq!((found.op, found.start, found.len), range, "{name} {file}");
                if name == "msr" {
                    let took = |r: &Record| r.latency().map(|took| took.ns() / step_ns);
                    assert_eq!(took(found), took(expected), "{file}");
                }
            }
            // What was read from a format is written as it was.
            assert_eq!(round_trip(name, &again).2.len(), text.len(), "{name} {file}");
        }
    }
    for (name, file) in [("disksim", "mix8k.disksim"), ("fio-iolog3", "sample.iolog3")] {
        let original = read_sample(file, name);
        let (again, ..) = round_trip(name, &original);
        assert_eq!(again.devices, original.devices);
        assert_eq!(again.records.len(), original.records.len());
    }
    let original = read_sample("sample.msr", "msr");
    let (again, _, text) = round_trip("msr", &original);
    let ranges =
        |t: &Trace| t.records.iter().map(|r| (r.at, r.start, r.latency())).collect::<Vec<_>>();
    assert_eq!(ranges(&again), ranges(&original));
    let mut lines: Vec<_> = std::str::from_utf8(&text).unwrap().lines().collect();
    let in_file = sample("sample.msr");
    let mut expected: Vec<_> = std::str::from_utf8(&in_file).unwrap().lines().collect();
    lines.sort_unstable();
    expected.sort_unstable();
    assert_eq!(lines, expected, "to the byte, but for the order of time");
}
