//! The complete messages for files that are not valid traces.

use std::fmt::Write as _;
use std::io::{self, Read, Write as _};

use insta::assert_snapshot;
use penstock_workload::trace::{self, FORMATS, format, read, read_any};

const EVENT: &str = "254,0    1        2    0.000079000   549  Q  WS 40393264 + 16 [postgres]\n";

fn message(as_format: &str, input: impl Read) -> String {
    read(input, format(as_format).expect("a format")).expect_err("a mistake").to_string()
}

/// Returns the messages of `as_format` for each of these inputs, one below the other.
fn messages(as_format: &str, inputs: &[&[u8]]) -> String {
    let mut text = String::new();
    for input in inputs {
        writeln!(text, "{}\n", message(as_format, *input)).unwrap();
    }
    text
}

/// Returns a good line, followed by one in which `good` is replaced by `bad`.
fn instead(line: &str, good: &str, bad: &str) -> Vec<u8> {
    assert_eq!(line.matches(good).count(), 1, "{good} is not one place");
    let line = line.trim_end();
    format!("{line}\n{}\n", line.replace(good, bad)).into_bytes()
}

#[test]
fn blkparse() {
    let changed = [
        ("254,0 ", "254 "),
        ("    1   ", "    x   "),
        ("0.000079000", "0:000079000"),
        ("  549 ", "  -49 "),
        (" Q ", " 7 "),
        (" WS ", " 40393264 "),
        (" + 16", " + 8388608"),
        ("40393264", "36893488147419103231"),
        ("40393264", "18446744073709551615"),
        (" [postgres]", " postgres"),
    ];
    let inputs: Vec<_> = changed.iter().map(|(good, bad)| instead(EVENT, good, bad)).collect();
    let inputs: Vec<_> = inputs.iter().map(|input| &input[..]).collect();
    assert_snapshot!("blkparse_errors", messages("blkparse", &inputs));
}

/// Events of the kernel's dispatch to the disk are not used, but a file that ends in the middle of
/// such a line is cut.
#[test]
fn a_file_that_is_cut_within_a_skipped_line_is_refused() {
    let lines = format!("{EVENT}{}", EVENT.replace(" Q ", " D "));
    let cut = &lines[..lines.rfind(" + 16").unwrap()];
    let text = message("blkparse", cut.as_bytes());
    assert!(text.contains("line 2") && text.contains("`+` and how many sectors"), "{text}");
    let trace = read(lines.as_bytes(), format("blkparse").unwrap()).unwrap();
    assert_eq!(trace.records.len(), 1);
}

#[test]
fn disksim_and_mqsim() {
    assert_snapshot!(
        "disksim_errors",
        messages(
            "disksim",
            &[
                b"1.5 0 8 8 1\n-2.5 0 8 8 1\n",
                b"1.5 0 8 8 1\n2.5 sda 8 8 1\n",
                b"1.5 0 8 8 1\n2.5 0 8\n",
                b"1.5 0 8 8 1\n2.5 0 8 8 r\n",
                b"1.5 0 8 8 1\n2.5 0 8 8 1 7\n",
                b"1.5 0 8 0 1\n",
            ]
        )
    );
    assert_snapshot!(
        "mqsim_errors",
        messages(
            "mqsim",
            &[b"100 4 264719034 16 0\n200.5 4 264719034 16 0\n", b"100 4 264719034 16 2\n",]
        )
    );
}

#[test]
fn ptrace() {
    let begin = b"\x0f\0Penstock trace\x01";
    let event = b"\x0c\0EQ\0\x05\0\0\0\0\x07\x10\x08\0";
    assert_snapshot!(
        "ptrace_errors",
        messages(
            "ptrace",
            &[
                b"1.5 0 8 8 1\n",
                b"\x0f\0Penstock trace\x02",
                b"\x0f\0Penstock gates\x01",
                begin,
                &[&begin[..], &event[..]].concat(),
                &[&begin[..], b"\0\0"].concat(),
                &[&begin[..], b"\x04\0T8,0", &event[..9]].concat(),
                &[&begin[..], b"\x03\0EX\0"].concat(),
                &[&begin[..], b"\x02\0L\xff"].concat(),
            ]
        )
    );
}

#[test]
fn msr_and_spc() {
    let msr = "128166372003061629,usr,0,Read,7014609920,24576,41286";
    let changed = [
        ("128166372003061629", "218166372003061629"),
        ("usr", ""),
        ("usr,0", "usr,zero"),
        ("Read", "Trim"),
        (",41286", ""),
        ("41286", "41286,7"),
    ];
    let inputs: Vec<_> = changed.iter().map(|(good, bad)| instead(msr, good, bad)).collect();
    let inputs: Vec<_> = inputs.iter().map(|input| &input[..]).collect();
    assert_snapshot!("msr_errors", messages("msr", &inputs));
    assert_snapshot!(
        "spc_errors",
        messages(
            "spc",
            &[
                b"0,20941264,8192,W,0.551706\nx,20941264,8192,W,0.551706\n",
                b"0,20941264,8192,X,0.551706\n",
                b"0,20941264,8192,W\n",
            ]
        )
    );
}

#[test]
fn measured() {
    let line = "R,2992396,4,13.670,35.942";
    let changed = [
        ("R,", "r,"),
        ("2992396", "-1"),
        ("13.670", "13,670"),
        (",35.942", ""),
        ("35.942", "35.942,1"),
        ("35.942", "18446744073700"),
    ];
    let inputs: Vec<_> = changed.iter().map(|(good, bad)| instead(line, good, bad)).collect();
    let inputs: Vec<_> = inputs.iter().map(|input| &input[..]).collect();
    assert_snapshot!("measured_errors", messages("measured", &inputs));
}

#[test]
fn fio_iologs() {
    assert_snapshot!(
        "fio_errors",
        messages(
            "fio-iolog3",
            &[
                b"fio version 2 iolog\n/dev/sda read 0 4096\n",
                b"fio version 3 iolog\n/dev/sda read 0 4096\n",
                b"fio version 3 iolog\n5 /dev/sda wait 0 4096\n",
                b"fio version 3 iolog\n5 /dev/sda read 0\n",
                b"fio version 3 iolog\n5 /dev/sda add\n",
            ]
        ) + &messages(
            "fio-iolog2",
            &[b"read, 0, 4096\n", b"fio version 2 iolog\n/dev/sda wait long\n",]
        )
    );
}

#[test]
fn published_traces() {
    let mut text = String::new();
    for (name, line, changed) in [
        (
            "alibaba",
            "419,W,8792731648,16384,1577808144360767",
            [("419", "x"), ("W", "w"), ("8792731648", "x"), ("1577808144360767", "1.5")],
        ),
        (
            "tencent",
            "1538323200,12910952,128,0,1063",
            [("1538323200", "1.5"), ("12910952", "2"), (",0,", ",2,"), (",1063", "")],
        ),
        (
            "systor17",
            "1456095145.133076000,0.000806,R,7,899056122368,131072",
            [("R", "X"), (",7,", ",,"), ("0.000806", "x"), (",131072", "")],
        ),
        (
            "fiu",
            "89966496912869 2559 kjournald 3145944 8 W 6 1 6f4922f45568161a",
            [("2559 ", ""), ("W", "w"), (" 6 1", " 6"), ("6f49", "6g49")],
        ),
    ] {
        let inputs = changed.map(|(good, bad)| instead(line, good, bad));
        // Some replacements are valid, and those lines are read.
        let wrong = inputs.iter().filter(|input| read(&input[..], format(name).unwrap()).is_err());
        let wrong: Vec<_> = wrong.map(|input| &input[..]).collect();
        write!(text, "{name}\n{}", messages(name, &wrong)).unwrap();
    }
    assert_snapshot!("published_errors", text);
}

#[test]
fn tables() {
    let heading = "time_ms,op,offset,size,pid";
    let mut inputs: Vec<String> = [
        "time,op,offset,size",
        "hello,world",
        "time_ms,op,offset,lba,size",
        "time_ms,time_us,op,offset,size",
    ]
    .map(|heading| format!("{heading}\n0.5,read,0,4096,1\n"))
    .into();
    for line in [
        "0.5,read,0",
        "0,5,read,0,4096,1",
        "0.5,Lesen,0,4096,1",
        "0.5,read,,4096,1",
        "0.5,read,0,4294967296,1",
        "0.5,read,0,4096,x",
        "half,read,0,4096,1",
    ] {
        inputs.push(format!("{heading}\n{line}\n"));
    }
    let inputs: Vec<_> = inputs.iter().map(String::as_bytes).collect();
    assert_snapshot!("csv_errors", messages("csv", &inputs));
}

#[test]
fn binary_records() {
    let sample = |name: &str| std::fs::read(format!("../../tests/data/traces/{name}")).unwrap();
    let changed = |name: &str, at: usize, byte: u8| {
        let mut bytes = sample(name);
        bytes[at] = byte;
        bytes
    };
    let blktrace = sample("sample.blktrace");
    let inputs = [
        b"".to_vec(),
        blktrace[..200].to_vec(),
        blktrace[..250].to_vec(),
        changed("sample.blktrace", 0, 6),
        changed("sample.blktrace", 64, 9),
        changed("big-endian.blktrace", 67, 9),
        changed("sample.blktrace", 64 + 2, 9),
        // The third record's sector is too large.
        changed("sample.blktrace", 64 + 56 + 23, 255),
    ];
    let inputs: Vec<_> = inputs.iter().map(|input| &input[..]).collect();
    let text = messages("blktrace", &inputs);
    let inputs = [
        sample("sample.vscsi1"),
        changed("sample.vscsi2", 43, 3),
        changed("sample.vscsi2", 31, 255),
        changed("sample.vscsi2", 23, 255),
    ];
    let inputs: Vec<_> = inputs.iter().map(|input| &input[..]).collect();
    assert_snapshot!("record_errors", text + &messages("vscsi2", &inputs));
}

/// A file most of whose lines fit a format is of that format, and the message names the wrong line.
#[test]
fn one_wrong_line_does_not_hide_the_format() {
    let mut text = String::new();
    let mut bad = EVENT.repeat(5);
    bad.insert_str(EVENT.len() * 2, &EVENT.replace(" + 16", " - 16"));
    let spc = "0,20941264,8192,W,0.551706\n".repeat(3) + "0,20941264,8192,T,0.55\n";
    let late = EVENT.repeat(100) + "something else\n";
    let headed = "time,op,offset,size\n".to_owned() + &"1,read,0,4096\n".repeat(3);
    let mut events = std::fs::read("../../tests/data/traces/sample.blktrace").unwrap();
    events[48 + 16 + 48 + 8] ^= 1;
    let records = events.clone();
    for input in [bad.as_bytes(), spc.as_bytes(), late.as_bytes(), headed.as_bytes(), &records] {
        writeln!(text, "{}\n", read_any(input).expect_err("a wrong line")).unwrap();
    }
    assert_snapshot!("one_wrong_line", text);
}

#[test]
fn what_is_not_in_utf_8() {
    let utf16 = |text: &str| -> Vec<u8> {
        let units = [0xfeff].into_iter().chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    let mut text = String::new();
    let picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    for input in [utf16(EVENT), picture] {
        writeln!(text, "{}\n", read_any(&input[..]).expect_err("no trace")).unwrap();
    }
    text += &message("blkparse", &utf16(EVENT)[..]);
    assert_snapshot!("not_utf_8", text);
    let marked = ["\u{feff}", EVENT, EVENT].concat();
    assert_eq!(read_any(marked.as_bytes()).unwrap().0.records.len(), 2);
}

#[test]
fn long_discards_are_bounded() {
    let trim = |bytes: u64| format!("fio version 3 iolog\n0 /dev/sda trim 0 {bytes}\n");
    assert_snapshot!(
        "long_discards",
        messages(
            "fio-iolog3",
            &[
                trim(u64::MAX).as_bytes(),
                trim((1 << 50) + 1).as_bytes(),
                trim(1 << 50).replace("trim", "write").as_bytes(),
            ]
        )
    );
}

#[test]
fn a_foreign_file_is_refused_at_its_first_line() {
    let long = vec![b'a'; 100_000];
    let mut names = String::from("1.0 0 0 8 1\n").repeat(3).into_bytes();
    names.extend_from_slice(&long);
    assert_snapshot!(
        "foreign",
        messages(
            "disksim",
            &[
                b"",
                b"\n \n",
                b"<!DOCTYPE html>\n<html>\n",
                b"0,20941264,8192,W,0.551706\n",
                b"\x7fELF\x02\x01\x01\x00\x00\x00\n",
                "zeit \u{1b}[31m\u{e4}\u{f6} \"mit\" sehr vielen Worten\n".as_bytes(),
                b"\xff\xfe\xfd\n",
                &long,
                &names,
            ]
        )
    );
    let mut text = String::new();
    for input in [&b""[..], b"hello\nworld\n", b"100 4 264719034 16 0\n"] {
        writeln!(text, "{}\n", read_any(input).expect_err("no format")).unwrap();
    }
    assert_snapshot!("unknown", text);
}

#[test]
fn a_file_that_is_cut_off_is_refused_at_its_last_line() {
    let text = EVENT.repeat(2_000);
    // Cut within the last line, in the middle of the packed data, and in its checksum.
    let cut = &text.as_bytes()[..text.len() - 20];
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    let gzip = packed.finish().unwrap();
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut packed = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    packed.write_all(text.as_bytes()).unwrap();
    let xz = packed.finish().unwrap();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = ruzstd::encoding::compress_to_vec(text.as_bytes(), level);
    let mut damaged = gzip.clone();
    let end = damaged.len() - 6;
    damaged[end] ^= 1;
    let messages = messages(
        "blkparse",
        &[
            cut,
            &gzip[..gzip.len() / 2],
            &gzip[..5],
            &zstd[..zstd.len() / 2],
            &zstd[..5],
            &damaged,
            &xz[..xz.len() / 2],
            &xz[..7],
        ],
    );
    assert_snapshot!("cut_off", messages);
}

/// The file is fine, so that copying it again would not help.
#[test]
fn a_file_that_needs_too_much_memory_is_not_called_damaged() {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    xz.write_all(EVENT.as_bytes()).unwrap();
    let mut xz = xz.finish().unwrap();
    // The header of the first block follows the 12 bytes of the stream's: its length in words of
    // four bytes, its flags, and the filter with its dictionary, here of 1 GiB. It ends in a CRC.
    assert_eq!(xz[12..16], [2, 0, 0x21, 1]);
    xz[16] = 36;
    let mut crc = flate2::Crc::new();
    crc.update(&xz[12..20]);
    xz[20..24].copy_from_slice(&crc.sum().to_le_bytes());
    // The magic number, and a descriptor with a window of 1 GiB.
    let zstd = [0x28, 0xb5, 0x2f, 0xfd, 0, 20 << 3, 1, 0, 0];
    assert_snapshot!("too_much_memory", messages("blkparse", &[&xz, &zstd]));
}

#[test]
fn only_zeros_may_follow_a_gzip_file() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(EVENT.as_bytes()).unwrap();
    let gzip = packed.finish().unwrap();
    let with = |tail: &[u8]| [&gzip[..], tail].concat();
    let zeros = vec![0; 100_000];
    for tail in [&[0][..], &zeros] {
        let trace = read(&with(tail)[..], format("blkparse").unwrap());
        assert_eq!(trace.unwrap_or_else(|error| panic!("{error}")).records.len(), 1);
    }
    let tails = [&b"junk"[..], &[0, 0, 7], &[&zeros[..], &gzip].concat(), &gzip[..9]];
    let inputs = tails.map(with);
    let inputs: Vec<_> = inputs.iter().map(|input| &input[..]).collect();
    assert_snapshot!("behind_gzip", messages("blkparse", &inputs));
}

#[test]
fn a_file_that_cannot_be_read_is_refused() {
    struct Broken(usize);
    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let left = EVENT.len() * 3 - self.0;
            if left == 0 {
                return Err(io::Error::from_raw_os_error(5));
            }
            let text = EVENT.repeat(3);
            let count = left.min(buffer.len());
            buffer[..count].copy_from_slice(&text.as_bytes()[self.0..self.0 + count]);
            self.0 += count;
            Ok(count)
        }
    }
    assert_eq!(
        message("blkparse", Broken(0)),
        "line 4: the file cannot be read further: Input/output error (os error 5)"
    );
    let missing = trace::load("/nowhere/at.all".as_ref(), Some(&FORMATS[0]));
    assert_eq!(
        missing.expect_err("no such file").to_string(),
        "the file cannot be opened: No such file or directory (os error 2)"
    );
}
