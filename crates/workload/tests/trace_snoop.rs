//! What tracing programs print for people: times, names of several words, and what cannot be replayed.

use std::fmt::Write as _;

use insta::assert_snapshot;
use penstock_core::{Op, Span};
use penstock_workload::trace::{Record, Trace, read_any};

const BIOSNOOP: &str =
    "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  QUE(ms) LAT(ms)\n";

fn read_as(name: &str, text: &str) -> Trace {
    let (trace, found) = read_any(text.as_bytes()).unwrap_or_else(|e| panic!("{text}{e}"));
    assert_eq!(found.name, name);
    trace
}

/// Returns the arrivals and latencies in microseconds.
fn times(trace: &Trace) -> Vec<(u64, Option<u64>)> {
    let us = |span: Span| span.ns() / 1_000;
    trace.records.iter().map(|r| (r.at.ns() / 1_000, r.latency().map(us))).collect()
}

/// The first completion is at 0 there, so that the arrivals before it are negative.
#[test]
fn a_request_of_biosnoop_arrived_before_its_queue_and_its_latency() {
    let trace = read_as(
        "biosnoop",
        &[
            BIOSNOOP,
            "0.000000    kworker/u8:1   310     vdb       W 81920      8192      1.20    5.50\n",
            "0.001000    kworker/u8:1   310     vdb       W 163840     425984    0.02    6.70\n",
            "0.002900    postgres       2812    vdb       R 24798464   8192      0.01    0.80\n",
            "0.004100    jbd2/vdb1-8    422     vdb       W 4565264    4096      0.00    0.70\n",
        ]
        .concat(),
    );
    let expected = [(0, Some(6_700)), (980, Some(6_720)), (8_790, Some(810)), (10_100, Some(700))];
    assert_eq!(times(&trace), expected);
    assert_eq!(trace.devices, ["vdb"]);
    assert_eq!(trace.processes[1..], ["kworker/u8:1", "postgres", "jbd2/vdb1-8"]);
    assert!(trace.remarks.is_empty());
}

/// Without `-Q` the request arrives when it was sent to the device, which a remark says.
#[test]
fn columns_of_biosnoop_may_be_missing_or_more() {
    let columns = |heading: &str, line: &str| {
        let trace = read_as("biosnoop", &format!("{heading}\n{line}\n{line}\n"));
        let &Record { op, start, len, pid, .. } = &trace.records.iter().next().unwrap();
        assert_eq!((op, start, len, pid), (Op::Read, 4_096, 512, 7), "{heading}");
        (trace.records.first().and_then(|r| r.latency()).unwrap().ns(), trace.remarks.len())
    };
    for (heading, line, expected) in [
        (
            "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)",
            "1.5 tar 7 sda R 8 512 0.25",
            (250_000, 1),
        ),
        (
            "TIME(s) COMM PID DISK T SECTOR BYTES P QUE(ms) LAT(ms)",
            "1.5 a b c 7 sda R 8 512 S 1.000 0.25",
            (1_250_000, 0),
        ),
        (
            "TIMESTAMP COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)",
            "15:04:05.120 tar 7 sda RA 8 512 -1.000 0.25",
            (250_000, 0),
        ),
        ("TIME COMM PID T SECTOR BYTES LAT(ms)", "15:04:05 tar 7 R 8 512 0.25", (250_000, 1)),
    ] {
        assert_eq!(columns(heading, line), expected, "{heading}");
    }
}

#[test]
fn the_time_of_day_goes_on_after_midnight() {
    let heading = "TIMESTAMP COMM PID DISK T SECTOR BYTES LAT(ms)\n";
    let line = |time: &str| format!("{time} tar 7 sda R 8 512 1\n");
    let lines = ["23:59:59.900", "00:00:00.100", "00:00:00.050", "23:59:59.900", "00:00:00.000"];
    let trace = read_as("biosnoop", &(heading.to_owned() + &lines.map(line).concat()));
    let at: Vec<_> = times(&trace).iter().map(|&(at_us, _)| at_us / 1_000).collect();
    assert_eq!(at, [0, 150, 200, 86_400_000, 86_400_100]);
}

#[test]
fn a_command_of_the_driver_is_skipped_and_a_write_without_bytes_is_a_flush() {
    let trace = read_as(
        "biosnoop",
        &[
            BIOSNOOP,
            "0.000000    postgres       1788    nvme0n1   W 8          4096      0.00    0.03\n",
            "0.170403    ?              0                 R 0          8         0.00    0.53\n",
            "0.200000    ?              0       <unknown> R 0          8         0.00    0.53\n",
            "0.300000    postgres       1788    nvme0n1   W 0          0         0.00    2.14\n",
            BIOSNOOP,
            "0.400000    postgres       1788    nvme0n1   R 8          0         0.00    0.10\n",
            "0.500000    postgres       1788    nvme0n1   R 8          4096      0.00    0.10\n",
        ]
        .concat(),
    );
    let ops: Vec<_> = trace.records.iter().map(|record| record.op).collect();
    assert_eq!(ops, [Op::Write, Op::Flush, Op::Read]);
    assert_eq!(trace.skipped, 4, "two headings and two commands");
    assert_eq!(trace.remarks, ["1 request without bytes is left out"]);
}

/// `iosnoop -t` of perf-tools has the latency as well; both columns of times need no latency.
#[test]
fn iosnoop_tells_the_start_or_the_end_of_a_request() {
    for (heading, line, took) in [
        ("STARTs COMM PID TYPE DEV BLOCK BYTES LATms", "1.5 tar 7 R 8,0 8 512 0.25", Some(250)),
        ("ENDs COMM PID TYPE DEV BLOCK BYTES LATms", "1.5 tar 7 R 8,0 8 512 0.25", Some(250)),
        ("STARTs ENDs COMM PID TYPE DEV BLOCK BYTES", "1.5 1.501 tar 7 R 8,0 8 512", Some(1_000)),
        ("STIME(us) UID PID D BLOCK SIZE COMM PATHNAME", "1500 0 7 R 8 512 tar /a b c", None),
        ("TIME(us) DELTA(us) UID PID D BLOCK SIZE COMM ARGS", "1500 42 0 7 R 8 512 a b", Some(42)),
        (
            "TIME STIME DELTA DEVICE INS MAJ MIN UID PID PPID D BLOCK SIZE MOUNT FILE PATH COMM ARGS",
            "1500 1400 100 sd0 1 8 0 0 7 1 R 8 512 / b /a/b tar tar x",
            Some(100),
        ),
    ] {
        let trace = read_as("iosnoop", &format!("Tracing block I/O...\n{heading}\n{line}\n"));
        assert_eq!(times(&trace), [(0, took)], "{heading}");
        let record = trace.records.first().unwrap();
        assert_eq!((record.start, record.len, record.pid), (4_096, 512, 7), "{heading}");
    }
}

#[test]
fn tables_that_cannot_be_replayed_are_named() {
    let mut text = String::new();
    for input in [
        // Of bpftrace, in two versions.
        "Attached 4 probes\nTIME(ms)     COMM             PID    LAT(ms)\n611  bash  4179  10\n",
        "TIME(ms)  DISK ID      COMM    PID   LAT(ms)\n   MAJOR MINOR\n611 259 0 bash 4179 10\n",
        // Without options.
        "COMM PID TYPE DEV BLOCK BYTES LATms\ntar 1809 W 202,1 17039968 4096 1.32\n",
        "  UID   PID D    BLOCK   SIZE       COMM PATHNAME\n  100 15795 R 3808 8192 tar /a\n",
        &format!("{BIOSNOOP}noon tar 7 sda R 8 512 0.1 0.2\n"),
        &format!("{BIOSNOOP}1.0 tar 7 sda R 8 512 0.1\n"),
        &format!("{BIOSNOOP}1.0 tar 7 sda R 8 512 0.1 0.2\n2.0 tar 7 sda R 8 51"),
        &format!("{BIOSNOOP}1.0 tar 7 sda R 8 512 0.1 90000000000\n"),
        &format!("{}24:00:00 tar 7 sda R 8 512 0.1 0.2\n", BIOSNOOP.replace("(s)", "")),
        "STARTs ENDs COMM PID TYPE DEV BLOCK BYTES LATms\n2.5 2.4 tar 1809 W 8,0 8 4096 1.32\n",
    ] {
        let error = read_any(input.as_bytes()).expect_err("no trace");
        writeln!(text, "{}\n{error}\n", input.trim_end()).unwrap();
    }
    assert_snapshot!("not_replayed", text);
}

/// Letters of the kernel say whether a caller waits for a write, and `R` and `W` alone do not.
#[test]
fn a_write_is_direct_unless_letters_say_that_it_is_written_back() {
    let iosnoop = "STARTs ENDs COMM PID TYPE DEV BLOCK BYTES LATms\n";
    let dtrace = "STIME(us) TIME(us) DEVICE UID PID D BLOCK SIZE COMM PATHNAME\n";
    let waited = |name: &str, lines: &[&str]| {
        let trace = read_as(name, &lines.concat());
        trace.records.iter().map(|record| trace.is_sync(&record)).collect::<Vec<_>>()
    };
    let blkparse = |letters: &str, at: u32| {
        format!(
            "8,0 0 {at} 0.{at} 7 Q {letters} 8 + 8 [a]\n8,0 0 {at} 0.{at}5 7 C {letters} 8 + 8 [0]\n"
        )
    };
    let both = [blkparse("WS", 1), blkparse("W", 2)];
    assert_eq!(waited("blkparse", &[&both[0], &both[1]]), [true, false]);
    let line = |letters: &str| format!("0.1 0.2 tar 7 {letters} 8,0 8 4096 0.6\n");
    assert_eq!(waited("iosnoop", &[iosnoop, &line("WS"), &line("W")]), [true, false]);
    assert_eq!(waited("iosnoop", &[iosnoop, &line("W")]), [false]);
    assert_eq!(waited("iosnoop", &[dtrace, "1 2 sd0 0 7 W 8 4096 tar /a\n"]), [true]);
    let line = |letters: &str| format!("1.0 tar 7 sda {letters} 8 4096 0.0 0.5\n");
    assert_eq!(waited("biosnoop", &[BIOSNOOP, &line("W"), &line("R")]), [true, true]);
    assert_eq!(waited("biosnoop", &[BIOSNOOP, &line("W"), &line("WS")]), [false, true]);
}
