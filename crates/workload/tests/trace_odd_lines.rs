//! Odd lines: a few are played or left out, with a remark, and a wrong line does not hide the format.

use std::fmt::Write as _;

use insta::assert_snapshot;
use penstock_core::{Op, Span};
use penstock_workload::trace::{detect, format, parse, read_any};

/// A request of each format with a length that follows from the second text, and the length.
const REQUESTS: &[(&str, &str, &str)] = &[
    ("alibaba", "", "419,W,8792731648,LENGTH,1577808144360767\n"),
    ("blkparse", "", "8,0 1 2 0.000079000 549 Q WS 40393264 + LENGTH [postgres]\n"),
    ("csv", "time_ms,op,offset,bytes\n", "0.25,read,4096,LENGTH\n"),
    ("disksim", "", "34.025970 0 13020280 LENGTH 1\n"),
    ("fio-iolog2", "fio version 2 iolog\n", "/dev/sda read 4096 LENGTH\n"),
    ("fio-iolog3", "fio version 3 iolog\n", "250 /dev/sda trim 4096 LENGTH\n"),
    ("fiu", "", "89966496912869 2559 kjournald 3145944 LENGTH W 8 1 6f49\n"),
    ("measured", "", "R,2992396,LENGTH,13.670,35.942\n"),
    ("mqsim", "", "938513000 4 264719034 LENGTH 0\n"),
    ("msr", "", "128166372003061629,usr,0,Read,7014609920,LENGTH,41286\n"),
    ("spc", "", "0,20941264,LENGTH,W,0.551706\n"),
    ("systor17", "", "1456095145.133076000,0.000806,R,7,899056122368,LENGTH\n"),
    ("tencent", "", "1538323200,12910952,LENGTH,0,1063\n"),
];

fn message(text: &[u8]) -> String {
    read_any(text).expect_err("a mistake").to_string()
}

#[test]
fn a_request_without_bytes_is_left_out_and_told_in_every_format_of_text() {
    for (name, heading, line) in REQUESTS {
        let (good, empty) = (line.replace("LENGTH", "8"), line.replace("LENGTH", "0"));
        let requests_and_remark = |text: &str| {
            let trace = parse(text.as_bytes(), format(name).unwrap());
            let trace = trace.unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
            (trace.records.len(), trace.remarks.join("; "))
        };
        let few = format!("{heading}{good}{empty}{good}");
        assert_eq!(
            requests_and_remark(&few),
            (2, "1 request without bytes is left out".into()),
            "{name}"
        );
        let two = format!("{heading}{}{empty}{empty}", good.repeat(198));
        assert_eq!(
            requests_and_remark(&two),
            (198, "2 requests without bytes are left out".into()),
            "{name}"
        );
        // Two of 100 requests are more than 1 % of them.
        let many = format!("{heading}{}{empty}{empty}", good.repeat(98));
        let error = parse(many.as_bytes(), format(name).unwrap()).unwrap_err().to_string();
        let place = format!("line {}: ", 99 + heading.lines().count());
        assert!(error.starts_with(&place), "{name}: {error}");
        assert!(error.contains("a request of at least one byte"), "{name}: {error}");
        assert!(
            error.ends_with("2 of 100 requests are like this; up to 1 % are accepted"),
            "{error}"
        );
    }
}

#[test]
fn a_record_without_bytes_is_left_out_of_binary_traces() {
    for (name, bytes, length) in [("vscsi1", 32, 4..8), ("vscsi2", 40, 8..12)] {
        let path = format!("../../tests/data/traces/sample.{name}");
        let sample = std::fs::read(path).unwrap();
        let mut text = sample.clone();
        text[..bytes][length].fill(0);
        let (trace, found) = read_any(&text[..]).unwrap();
        assert_eq!(found.name, name);
        let whole = parse(&sample, found).unwrap();
        assert_eq!(trace.records.len(), whole.records.len() - 1);
        assert_eq!(trace.remarks, ["1 request without bytes is left out"]);
    }
}

/// A SCSI command of length 0 in the middle of a recorded trace, and as all of it.
#[test]
fn the_span_of_a_trace_is_that_of_its_other_requests() {
    let lines = [
        "128166372003061629,hm,0,Read,383496192,32768,413\n",
        "128166372016382155,hm,0,Write,2822144000,0,5737\n",
        "128166372016853566,hm,0,Write,2822979584,4096,4266\n",
    ];
    let (trace, found) = read_any(lines.concat().as_bytes()).unwrap();
    assert_eq!((found.name, trace.records.len()), ("msr", 2));
    assert_eq!(trace.span(), Span::from_ns(1_379_193_700));
    assert_eq!(
        message(lines[1].as_bytes()),
        format!("line 1: found `{}`, expected a request of at least one byte", lines[1].trim())
    );
}

#[test]
fn a_request_without_a_response_time_is_played_without_latency() {
    for (name, line, response) in [
        ("msr", "128166372003061629,usr,0,Read,7014609920,4096,41286\n", "41286"),
        ("systor17", "1456095145.133076000,0.000806,R,7,899056122368,4096\n", "0.000806"),
    ] {
        for missing in ["", "-", "-1"] {
            let text = format!("{line}{}", line.replace(response, missing));
            let (trace, found) = read_any(text.as_bytes()).unwrap();
            assert_eq!(found.name, name);
            let known: Vec<_> = trace.records.iter().map(|r| r.latency().is_some()).collect();
            assert_eq!(known, [true, false], "{name} {missing:?}");
            let remark = "1 request without a response time is played without latency";
            assert_eq!(trace.remarks, [remark]);
        }
        let many = format!("{}{}", line.repeat(98), line.replace(response, "-").repeat(2));
        let error = message(many.as_bytes());
        assert!(error.starts_with("line 99: found `-`, expected the response time"), "{error}");
    }
    // The line was cut off before its last comma.
    let cut = "1,usr,0,Read,7014609920,4096,41286\n1,usr,0,Read,7014609920,40";
    assert!(message(cut.as_bytes()).contains("found nothing, expected the response time"));
    let table = "time_ms,op,offset,size,latency_ms\n1,r,0,8,2\n2,r,0,8,-\n3,r,0,8,-1\n4,r,0,8,\n";
    let trace = parse(table.as_bytes(), format("csv").unwrap()).unwrap();
    assert_eq!(trace.records.iter().filter(|record| record.latency().is_none()).count(), 3);
}

/// The pause before a request counts from the completion of the one that is left out.
#[test]
fn a_measured_request_without_bytes_still_takes_its_time() {
    let text = b"R,0,8,10,0\nR,8,0,100,5\nW,8,8,10,7\n";
    let trace = parse(text, format("measured").unwrap()).unwrap();
    let at: Vec<_> = trace.records.iter().map(|record| (record.op, record.at.ns())).collect();
    assert_eq!(at, [(Op::Read, 0), (Op::Write, 122_000_000)]);
}

/// A heading proves a format, and so does the shape of the lines; the message names the wrong value.
#[test]
fn a_wrong_value_in_the_first_lines_does_not_hide_the_format() {
    let mut text = String::new();
    for input in [
        "time_ms,op,offset,size\nsoon,read,0,4096\n",
        "time_ms,op,offset,size\n1,read,0,4096\n2,Lesen,0,4096\n3,schreiben,0,4096\n",
        "time,op,offset,size\n1,read,0,4096\n",
        "ts,rw,lba,len\n0.5,read,0,4096\n0.7,write,8,4096\n",
        "op,time_ms,offset,size\nLesen,1,0,4096\n",
        "Timestamp,Response,IOType,LUN,Offset,Size\n1.5,0.1,X,7,0,4096\n",
        "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n1,usr,0,Trim,0,4096,1\n",
        "128166372003061629,usr,0,Trim,7014609920,24576,41286\n",
        "128166372003061629,usr,0,Read,-1,24576,41286\n",
        "128166372003061629,,0,Read,0,24576,41286\n",
        "0,20941264,8192,T,0.551706\n0,20941264,8192,W,0.551706\n",
        "1538323200,12910952,128,7,1063\n",
        "fio version 3 iolog\n5 /dev/sda wait 0 4096\n",
        "5 /dev/sda read 0 4096\n",
        "89966496912869 2559 kjournald 3145944 8 X 6 1 6f4922f45568161a\n",
        "8,0 1 2 0:79 549 Q WS 40393264 + 16 [postgres]\n",
    ] {
        writeln!(text, "{input}{}\n", message(input.as_bytes())).unwrap();
    }
    assert_snapshot!("wrong_value", text);
    // Prose, and lines of other shapes, are no trace.
    for other in ["a, b, c and d\n", "1,2,3\n", "the quick brown fox jumps\n", "1 2 3\n"] {
        assert!(detect(other.as_bytes()).is_none(), "{other}");
    }
}
