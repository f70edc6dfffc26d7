//! Every format is read from a sample, and read again from a written file.

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

/// The folder of the samples.
const SAMPLES: &str = "tests/data/traces";

fn sample(name: &str) -> Vec<u8> {
    fs::read(root().join(SAMPLES).join(name)).expect("a sample")
}

fn extension(name: &str) -> &str {
    name.rsplit_once('.').expect("an extension").1
}

/// Reads a sample in the format that its extension names.
fn read_sample(name: &str) -> Trace {
    let format = format(extension(name)).unwrap_or_else(|| panic!("{name} names no format"));
    parse(&sample(name), format).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Prints the trace for a snapshot: one request a line, the first twelve.
fn table(trace: &Trace) -> String {
    let Trace { origin_ns, out_of_order, skipped, remarks, .. } = trace;
    let mut text = format!(
        "{} requests, origin {origin_ns} ns, {out_of_order} out of order, {skipped} skipped\n",
        trace.records.len()
    );
    for remark in remarks {
        writeln!(text, "remark: {remark}").unwrap();
    }
    for record in trace.records.iter().take(12) {
        let Record { at, start, len, pid, line, op, .. } = record;
        let (device, process) = (trace.device(&record), trace.process(&record));
        let sync = if record.flags.has(Flags::SYNC) { " sync" } else { "" };
        let forced = if record.flags.has(Flags::FUA) { " forced" } else { "" };
        let latency = record.latency().map_or(String::new(), |took| format!(" took {took:?}"));
        let who = if pid == 0 { String::new() } else { format!(" {pid} [{process}]") };
        let where_ = format!("{device}:{start}+{len}");
        let ioprio = record.ioprio.map_or(String::new(), |ioprio| format!(" {ioprio}"));
        writeln!(text, "{line:4} {at:?} {op:?}{sync}{forced} {where_}{who}{ioprio}{latency}")
            .unwrap();
    }
    text
}

/// The extension of a sample names its format.
#[test]
fn every_sample_is_recognised_and_read_and_every_format_has_one() {
    let mut unread: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
    for entry in fs::read_dir(root().join(SAMPLES)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name != "NOTICE.md" {
            let (trace, format) =
                read_any(&sample(&name)[..]).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!((format.name, &trace), (extension(&name), &read_sample(&name)), "{name}");
            assert_snapshot!(&name[..], table(&trace));
            unread.retain(|name| *name != format.name);
        }
    }
    assert!(unread.is_empty(), "no sample of {unread:?} in {SAMPLES}");
}

/// A line with the names of columns is not needed.
#[test]
fn a_heading_is_skipped() {
    for (name, heading) in [
        ("alibaba", "device_id,opcode,offset,length,timestamp\n"),
        ("msr", "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\r\n"),
        ("tencent", "Timestamp,Offset,Size,IOType,VolumeID\n"),
    ] {
        let headed = [heading.as_bytes(), &sample(&format!("sample.{name}"))].concat();
        let (trace, format) = read_any(&headed[..]).unwrap();
        assert_eq!((trace.records.len(), format.name), (4, name));
    }
}

#[test]
fn the_last_line_needs_no_end() {
    assert_eq!(read_sample("wsrch.mqsim").records.len(), 50);
}

#[test]
fn records_are_read_in_either_byte_order_and_version() {
    assert_eq!(read_sample("big-endian.blktrace"), read_sample("sample.blktrace"));
    assert_eq!(read_sample("sample.vscsi1"), read_sample("sample.vscsi2"));
}

/// If there are passthrough commands, the summary has lines about them.
#[test]
fn the_summary_of_commands_is_skipped() {
    let mut text = sample("issued.blkparse");
    text.extend_from_slice(b"CPU0 (t):\n PC Reads Queued: 1\n PC Read Disp.: 0\n");
    assert_eq!(parse(&text, format("blkparse").unwrap()).unwrap().skipped, 6);
}

/// Current kernels record the sector 2^64 - 1 for a flush.
#[test]
fn the_sector_of_a_flush_means_nothing() {
    let text = b"7,0 1 1 0.000000000 10 Q FWS 18446744073709551615 + 0 [sync]\n\
                 7,0 1 2 0.002000000  0 C  FF 18446744073709551615 + 0 [0]\n";
    let trace = parse(text, format("blkparse").unwrap()).unwrap();
    let [flush] = trace.records.iter().collect::<Vec<_>>()[..] else {
        panic!("one request: {trace:?}")
    };
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
fn a_log_of_fio_that_ends_before_its_files_are_closed_is_told() {
    let whole = "fio version 3 iolog\n0 a add\n0 a open\n5 a read 0 4096\n9 a close\n";
    let remarks =
        |text: &str| parse(text.as_bytes(), format("fio-iolog3").unwrap()).unwrap().remarks;
    assert!(remarks(whole).is_empty());
    let cut = whole.strip_suffix("9 a close\n").unwrap();
    let said = "the log ends without a `close` of its last file: it may have been cut off";
    assert_eq!(remarks(cut), [said]);
    assert!(remarks("fio version 3 iolog\n5 a read 0 4096\n").is_empty(), "written by hand");
}

/// Making a file system begins with a discard of many gigabytes.
#[test]
fn a_discard_of_4_gib_and_more_becomes_several() {
    let gib = |n: u64| n << 30;
    let text = format!("fio version 3 iolog\n0 /dev/sda trim 512 {}\n", gib(5));
    let trace = parse(text.as_bytes(), format("fio-iolog3").unwrap()).unwrap();
    let pieces: Vec<_> = trace.records.iter().map(|r| (r.start - 512, u64::from(r.len))).collect();
    assert_eq!(pieces, [(0, gib(2)), (gib(2), gib(2)), (gib(4), gib(1))]);
    assert_eq!(
        trace.remarks,
        ["1 of its discards had 4 GiB or more; they became 3 of at most 2 GiB"]
    );
    let text = format!("8,0 0 1 0.0 7 Q D 0 + {0} [a]\n8,0 0 2 0.5 0 C D 0 + {0} [0]\n", 5 << 21);
    let trace = parse(text.as_bytes(), format("blkparse").unwrap()).unwrap();
    let took: Vec<_> = trace.records.iter().map(|record| record.latency()).collect();
    assert_eq!(took, [Some(Span::from_ms(500)); 3]);
}

/// The expected counts are independent of the reader:
/// `zcat … | awk '$6 == "Q" { n[$7]++; b[$7] += $10 * 512 }'`.
#[test]
fn the_real_trace_has_as_many_requests_as_awk_counts() {
    let path = root().join("examples/traces/pgbench-backup.blkparse.gz");
    let (trace, format) = trace::load(&path, None).unwrap();
    assert_eq!(format.name, "blkparse");
    let count = |op: Op, sync: bool| {
        let wanted = |r: &Record| r.op == op && r.flags.has(Flags::SYNC) == sync;
        let matching: Vec<_> = trace.records.iter().filter(wanted).collect();
        (matching.len(), matching.iter().map(|r| u64::from(r.len)).sum::<u64>())
    };
    assert_eq!(trace.records.len(), 135_565);
    assert_eq!(count(Op::Read, false), (48_375 + 62 + 1, 1_061_752_832 + 253_952 + 4_096));
    assert_eq!(count(Op::Write, true), (46_260 + 3_103, 919_224_320 + 12_709_888));
    assert_eq!(count(Op::Write, false), (14_841 + 136, 1_833_570_304 + 557_056));
    assert_eq!(count(Op::Flush, true), (22_776, 0));
    assert_eq!(count(Op::Discard, true), (11, 45_056));
    assert_eq!(trace.skipped, 137_587 + 135_749, "D and C events");
    assert_eq!(trace.end(), 203_339_870_208);
    let requests_of = |pid| trace.records.iter().filter(|r| r.pid == pid).count();
    assert_eq!(
        [547, 548, 549, 550, 579, 578, 505].map(requests_of),
        [16_147, 15_120, 15_692, 14_903, 34_444, 877, 30_361]
    );
    // The expected latencies are independent of the reader: each completion was matched by
    // a search of all waiting requests.
    let took = |op| {
        let latency =
            stats::compute(trace.records.iter().filter(|r| r.op == op)).unwrap().latency.unwrap();
        (latency.known, latency.mean.ns(), latency.p50.ns(), latency.p99.ns(), latency.max.ns())
    };
    assert_eq!(took(Op::Read), (48_438, 873_022, 956_000, 2_223_000, 17_946_000));
    assert_eq!(took(Op::Write), (64_340, 853_797, 500_000, 9_214_000, 48_427_000));
    assert_eq!(took(Op::Flush), (22_775, 58_914, 43_000, 733_000, 5_215_000));
}

#[test]
fn lines_out_of_order_are_sorted_and_counted() {
    let trace =
        parse(b"2.0 0 8 8 1\n1.0 0 0 8 1\n2.0 0 16 8 1\n1.5 0 0 8 0\n", format("disksim").unwrap())
            .unwrap();
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
    assert_eq!(read(&xz(&text)[..], blkparse).unwrap(), plain);
    // Several members or frames, with a note between them, are read as one file.
    let (front, back) = text.split_at(700);
    for two in [[gzip(front), gzip(back)], [xz(front), xz(back)]] {
        assert_eq!(read(&two.concat()[..], blkparse).unwrap(), plain);
    }
    let note = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, b'a', b'b', b'c'];
    let two = [note.to_vec(), zstd(front), note.to_vec(), zstd(back)].concat();
    assert_eq!(read(&two[..], blkparse).unwrap(), plain);
}

/// Folders and attributes before and after the file are skipped.
#[test]
fn the_one_file_in_an_archive_is_read() {
    let text = sample("kinds.blkparse");
    let blkparse = format("blkparse").unwrap();
    let plain = parse(&text, blkparse).unwrap();
    let parts = [
        member("day/", b'5', b""),
        member("PaxHeader", b'x', b"18 comment=a note\n"),
        member("day/a.blkparse", b'0', &text),
        member("day/notes/", b'5', b""),
        vec![0; 1024],
    ];
    let archive = parts.concat();
    for packed in [archive.clone(), gzip(&archive), xz(&archive), parts[2].clone()] {
        let (trace, format) = read_any(&packed[..]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((&trace, format.name), (&plain, "blkparse"));
    }
    let message = |archive: &[u8]| read_any(archive).unwrap_err().to_string();
    let two = [&parts[2][..], &member("day/b.blkparse", b'0', &text)].concat();
    let mut damaged = parts[2].clone();
    damaged.extend_from_slice(&[7; 512]);
    assert_snapshot!(
        "archives",
        [message(&gzip(&two)), message(&parts[0]), message(&parts[2][..700]), message(&damaged),]
            .join("\n\n")
    );
}

/// Returns a member of a tar archive, with its header.
fn member(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name).unwrap();
    header.set_entry_type(tar::EntryType::new(kind));
    header.set_size(content.len() as u64);
    header.set_cksum();
    let mut member = [header.as_bytes(), content].concat();
    member.resize(member.len().next_multiple_of(512), 0);
    member
}

fn xz(text: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut packed = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    packed.write_all(text).unwrap();
    packed.finish().unwrap()
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
fn what_is_no_trace_has_no_format() {
    for nothing in [&b""[..], b"\n\n", b"hello\n", b"1,2,3\n"] {
        assert!(detect(nothing).is_none());
    }
}

/// Both formats have five columns; `mqsim` has whole nanoseconds, `disksim` milliseconds with or
/// without decimals.
#[test]
fn mqsim_and_disksim_are_distinguished_or_both_are_named() {
    let format_of = |text: &str| detect(text.as_bytes()).map(|format| format.name);
    let far = "938513000 4 264719034 16 0\n938828000 3 197570570 16 1\n";
    assert_eq!(format_of(far), Some("mqsim"), "no disk waits minutes for each request");
    assert_eq!(
        format_of(&far.replace("000 ", "000.5 ")),
        Some("disksim"),
        "a part of a nanosecond"
    );
    assert_eq!(
        format_of(&far.replace("16 1", "16 3")),
        Some("disksim"),
        "more flags than a direction"
    );
    assert_eq!(format_of("0 0 0 8 1\n10000 0 8 8 1\n"), Some("mqsim"));
    for either in ["0 0 0 8 1\n9999 0 8 8 1\n", "0 0 0 8 1\n", "7 0 0 8 1\n7 0 8 8 1\n"] {
        assert_eq!(format_of(either), None, "{either}");
        let error = read_any(either.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("it could be one of disksim, mqsim"), "{error}");
    }
}

/// All requests go to one drive there, whatever number stands in the second column.
#[test]
fn the_devices_of_mqsim_are_one_address_space() {
    let text = "4851300 1 524288 16 0\n4864300 0 524304 16 0\n4871300 2 524320 16 1\n\
                4886300 1 524336 16 1\n4887300 0 524352 16 0\n";
    let mqsim = format("mqsim").unwrap();
    let trace = parse(text.as_bytes(), mqsim).unwrap();
    let Trace { records, devices, remarks, .. } = &trace;
    assert_eq!(devices.len(), 1);
    let sectors: Vec<_> = records.iter().map(|record| record.start / 512).collect();
    assert_eq!(sectors, [524_288, 524_304, 524_320, 524_336, 524_352]);
    assert_eq!(trace.end() / 512, 524_368);
    let remark =
        "its requests name several devices, which are ignored as in MQSim: all go to one drive";
    assert_eq!(remarks[..], [remark]);
    let trace = parse(&text.as_bytes()[..22], mqsim).unwrap();
    assert!(trace.remarks.is_empty());
}

/// Writes `original` in the format `name` and reads it again.
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
            let original = read_sample(file);
            let is_written = |r: &Record| all || matches!(r.op, Op::Read | Op::Write);
            let expected: Vec<_> = original.records.iter().filter(is_written).collect();
            let (again, written, text) = round_trip(name, &original);
            let left_out = original.records.len() - expected.len();
            let counts = Written { requests: expected.len() as u64, left_out: left_out as u64 };
            assert_eq!(written, counts, "{name} {file}");
            // Times count from the first written request and are cut to the resolution.
            let origin = if name == "msr" { original.origin_ns } else { 0 };
            let cut = |at: u64| (at + origin) / step_ns * step_ns;
            let first = cut(expected[0].at.ns());
            for (found, expected) in again.records.iter().zip(&expected) {
                assert_eq!(found.at.ns(), cut(expected.at.ns()) - first, "{name} {file}");
                let range = (expected.op, expected.start, expected.len);
                assert_eq!((found.op, found.start, found.len), range, "{name} {file}");
                if name == "msr" {
                    let took = |r: &Record| r.latency().map(|took| took.ns() / step_ns);
                    assert_eq!(took(&found), took(expected), "{file}");
                }
            }
            // A trace read from a format is written again unchanged.
            assert_eq!(round_trip(name, &again).2.len(), text.len(), "{name} {file}");
        }
    }
    for file in ["mix8k.disksim", "sample.fio-iolog3"] {
        let original = read_sample(file);
        let (again, ..) = round_trip(extension(file), &original);
        assert_eq!(again.devices, original.devices);
        assert_eq!(again.records.len(), original.records.len());
    }
    let original = read_sample("sample.msr");
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
