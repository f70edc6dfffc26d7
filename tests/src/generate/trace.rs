//! Traces in every format, and the section of a job for one.

use super::{Draw, Medium, Shape};

/// A request of a trace.
#[derive(Clone, Copy)]
struct TracedRequest {
    /// Time in nanoseconds.
    at: u64,
    op: Op,
    sector: u64,
    sectors: u64,
    pid: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Op {
    Read,
    Write,
    Flush,
    Discard,
}

/// Formats that are recognised by their first lines, or are named.
const FORMATS: [&str; 8] =
    ["blkparse", "msr", "fio-iolog3", "fio-iolog2", "disksim", "mqsim", "spc", "measured"];

/// Bytes of a sector.
const SECTOR: u64 = 512;

/// Draws a trace, and the sections of a job that plays it; the trace is called `name` there.
pub(super) fn sections(
    draw: &mut Draw<'_>,
    medium: &Medium,
    shape: Shape,
    classes: u64,
    name: &str,
) -> (String, Vec<u8>) {
    let format = draw.pick(&FORMATS);
    // Some requests lie behind the end of the device, if the job has a `fit`.
    let fit = if shape == Shape::Any { draw.pick(&["", "wrap", "scale"]) } else { "" };
    let room = if fit.is_empty() { medium.capacity } else { medium.capacity.saturating_mul(3) };
    let all = requests(draw, medium, shape, room / SECTOR);
    let mut bytes = text(format, &all).into_bytes();
    if shape == Shape::Any && draw.one_in(8) {
        damage(draw, &mut bytes);
    }
    let mut job = format!("[trace]\nfile = \"{name}\"\n");
    if draw.one_in(2) {
        job += &format!("format = \"{format}\"\n");
    }
    if !fit.is_empty() {
        job += &format!("fit = \"{fit}\"\n");
    }
    if shape == Shape::Any {
        let timings = [
            "\"original\"",
            "\"closed\"",
            "{ latency = \"1ms\" }",
            "{ speed = 0.3 }",
            "{ speed = 1000 }",
            "{ depth = 3 }",
        ];
        job += &format!("timing = {}\n", draw.pick(&timings));
    }
    for number in 0..draw.between(0, 2) {
        job += &rule(draw, classes, number);
    }
    (job, bytes)
}

fn requests(draw: &mut Draw<'_>, medium: &Medium, shape: Shape, room: u64) -> Vec<TracedRequest> {
    let mut at = draw.pick(&[0, 1_000, 3_600_000_000_000]);
    let mut all = Vec::new();
    let mut next = 0;
    for _ in 0..draw.between(1, 120) {
        if draw.is_empty() && !all.is_empty() {
            break;
        }
        at += match draw.between(0, 3) {
            0 => medium.quick,
            1 => 0,
            2 => draw.between(0, 10) * medium.quick,
            _ => draw.magnitude(0, 100_000_000),
        };
        let op = match (shape, draw.between(0, 9)) {
            (_, 0..=4) => Op::Read,
            (Shape::Any, 8) => Op::Flush,
            (Shape::Any, 9) => Op::Discard,
            _ => Op::Write,
        };
        let sectors = draw.pick(&[8, 1, 128, 2_048]).min(room);
        let sector = if draw.one_in(3) { next } else { draw.between(0, room - sectors) };
        let sector = sector.min(room - sectors);
        next = sector + sectors;
        all.push(TracedRequest { at, op, sector, sectors, pid: draw.between(0, 3) });
    }
    // Few traces are written in perfect order.
    if shape == Shape::Any && draw.one_in(4) && all.len() > 1 {
        let last = all.len() as u64 - 1;
        all.swap(draw.between(0, last) as usize, draw.between(0, last) as usize);
    }
    all
}

fn text(format: &str, all: &[TracedRequest]) -> String {
    let mut text = match format {
        "fio-iolog3" => "fio version 3 iolog\n0 /srv/a add\n0 /srv/a open\n".to_owned(),
        "fio-iolog2" => "fio version 2 iolog\n/srv/a add\n/srv/a open\n".to_owned(),
        _ => String::new(),
    };
    let mut before = 0;
    for (number, request) in all.iter().enumerate() {
        text += &line(format, request, before, number);
        before = request.at;
    }
    text
}

/// Returns the lines of a request; empty if the format cannot express it.
fn line(format: &str, request: &TracedRequest, before: u64, number: usize) -> String {
    let TracedRequest { at, op, sector, sectors, pid } = *request;
    let (start, len) = (sector * SECTOR, sectors * SECTOR);
    let seconds = format!("{}.{:09}", at / 1_000_000_000, at % 1_000_000_000);
    let read = u8::from(op == Op::Read);
    match format {
        "blkparse" => {
            let (letters, sector, sectors) = match op {
                Op::Read => ("R", sector, sectors),
                Op::Write => (["W", "WS", "FWFS"][number % 3], sector, sectors),
                Op::Flush => ("FWS", 0, 0),
                Op::Discard => ("D", sector, sectors),
            };
            format!("8,0 1 {number} {seconds} {pid} Q {letters} {sector} + {sectors} [p{pid}]\n")
        }
        "fio-iolog3" | "fio-iolog2" => {
            let (verb, place) = match op {
                Op::Read => ("read", format!(" {start} {len}")),
                Op::Write => ("write", format!(" {start} {len}")),
                Op::Flush => ("sync", " 0 0".into()),
                Op::Discard => ("trim", format!(" {start} {len}")),
            };
            if format == "fio-iolog3" {
                return format!("{} /srv/a {verb}{place}\n", at / 1_000);
            }
            let wait = at.saturating_sub(before) / 1_000;
            format!("/srv/a wait {wait} 0\n/srv/a {verb}{place}\n")
        }
        _ if matches!(op, Op::Flush | Op::Discard) => String::new(),
        "msr" => {
            let (kind, took) = (["Write", "Read"][usize::from(read)], number * 37 % 5_000);
            format!("{},usr,0,{kind},{start},{len},{took}\n", at / 100)
        }
        "disksim" => {
            format!("{}.{:06} 0 {sector} {sectors} {read}\n", at / 1_000_000, at % 1_000_000)
        }
        "mqsim" => format!("{at} {pid} {sector} {sectors} {read}\n"),
        "spc" => format!("{pid},{sector},{len},{},{seconds}\n", ["W", "R"][usize::from(read)]),
        _ => {
            let (op, took) = (["W", "R"][usize::from(read)], number * 37 % 30);
            let think = at.saturating_sub(before) / 1_000;
            let (ms, us) = (think / 1_000, think % 1_000);
            format!("{op},{sector},{sectors},{took}.125,{ms}.{us:03}\n")
        }
    }
}

fn damage(draw: &mut Draw<'_>, bytes: &mut Vec<u8>) {
    for _ in 0..draw.between(1, 3) {
        if !bytes.is_empty() {
            let at = draw.between(0, bytes.len() as u64 - 1) as usize;
            bytes[at] = draw.pick(b"0 9,.-\nQxR\xff");
        }
    }
    bytes.extend(draw.bytes(40));
}

fn rule(draw: &mut Draw<'_>, classes: u64, number: u64) -> String {
    let what = match draw.between(0, 5) {
        0 => "op = [\"read\"]".to_owned(),
        1 => format!("pid = [{}, 3]", draw.between(0, 3)),
        2 => "min_size = \"5000B\"".to_owned(),
        3 => "sync = true".to_owned(),
        4 => format!("process = \"p{number}\""),
        _ => "range = [\"0B\", \"1MiB\"]".to_owned(),
    };
    format!("[[rule]]\nclass = \"c{}\"\n{what}\n", draw.between(0, classes - 1))
}
