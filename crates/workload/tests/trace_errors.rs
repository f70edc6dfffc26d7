//! The whole message that a person reads when a file is not the trace that it should be.

use std::fmt::Write as _;
use std::io::{self, Read, Write as _};

use insta::assert_snapshot;
use penstock_workload::trace::{self, FORMATS, format, read, read_any};

const EVENT: &str = "254,0    1        2    0.000079000   549  Q  WS 40393264 + 16 [postgres]\n";

fn message(as_format: &str, input: impl Read) -> String {
    read(input, format(as_format).expect("a format")).expect_err("a mistake").to_string()
}

/// The messages of `as_format` for each of these, one below the other.
fn messages(as_format: &str, inputs: &[&[u8]]) -> String {
    let mut text = String::new();
    for input in inputs {
        writeln!(text, "{}\n", message(as_format, *input)).unwrap();
    }
    text
}

/// A good line, then one with `good` replaced by `bad`.
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
        (" + 16", ""),
        (" + 16", " + 0"),
        (" + 16", " + 8388608"),
        ("40393264", "36893488147419103231"),
        ("40393264", "18446744073709551615"),
        (" [postgres]", " postgres"),
    ];
    let inputs: Vec<_> = changed.iter().map(|(good, bad)| instead(EVENT, good, bad)).collect();
    let inputs: Vec<_> = inputs.iter().map(|input| &input[..]).collect();
    assert_snapshot!("blkparse_errors", messages("blkparse", &inputs));
}

/// The kernel's dispatch to the disk is not used, but a file that ends in the middle of such a line
/// is cut.
#[test]
fn a_file_that_is_cut_within_a_skipped_line_is_refused() {
    let whole = format!("{EVENT}{}", EVENT.replace(" Q ", " D "));
    let cut = &whole[..whole.rfind(" + 16").unwrap()];
    let text = message("blkparse", cut.as_bytes());
    assert!(text.contains("line 2") && text.contains("`+` and how many sectors"), "{text}");
    let trace = read(whole.as_bytes(), format("blkparse").unwrap()).unwrap();
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
        (",4,", ",0,"),
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
    // Within the last line; in the middle of the packed data; its checksum.
    let cut = &text.as_bytes()[..text.len() - 20];
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    let gzip = packed.finish().unwrap();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = ruzstd::encoding::compress_to_vec(text.as_bytes(), level);
    let mut damaged = gzip.clone();
    let end = damaged.len() - 6;
    damaged[end] ^= 1;
    let messages = messages(
        "blkparse",
        &[cut, &gzip[..gzip.len() / 2], &gzip[..5], &zstd[..zstd.len() / 2], &zstd[..5], &damaged],
    );
    assert_snapshot!("cut_off", messages);
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
