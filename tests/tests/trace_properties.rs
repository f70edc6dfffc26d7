//! Properties of every input: no bytes make a reader panic, and the requests of a trace are in
//! order.

use penstock_core::{ClassId, Op, Prio, Source, Time};
use penstock_tests::properties;
use penstock_workload::trace::{
    ClassOf, FORMATS, Fit, Places, Record, Replay, Timing, Trace, read,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Pieces of all formats, from which chance makes lines that are nearly right.
const PIECES: &[&str] = &[
    "0",
    "1",
    "7",
    "16",
    "254,0",
    "8,16",
    "0.000079000",
    "12.5",
    "549",
    "40393264",
    "8388607",
    "18446744073709551615",
    "18446744073709551616",
    "36028797018963968",
    "4294967295",
    "+",
    "-",
    "Q",
    "C",
    "D",
    "X",
    "WS",
    "RA",
    "FWS",
    "FWFS",
    "DS",
    "N",
    "F",
    "FF",
    "[",
    "]",
    "[postgres]",
    "[a [b] c]",
    "(",
    ")",
    "(12 00 ..)",
    "( 1234)",
    " ",
    "  ",
    "\t",
    ",",
    "\n",
    "\n",
    "\r\n",
    ".",
    "Read",
    "Write",
    "R",
    "w",
    "usr",
    "read",
    "write",
    "sync",
    "trim",
    "wait",
    "add",
    "open",
    "/dev/sda",
    "fio version 2 iolog\n",
    "fio version 3 iolog\n",
    "CPU0 (8,0):",
    "Total",
    "\u{e9}",
    "Timestamp,",
    "128166372003061629",
    "time_ms,op,offset,size\n",
    "TIME_S;Op;lba;blocks;pid;latency_us\n",
    "\"",
    ";",
    "trim",
    "0,5",
    "\u{feff}",
    "kjournald",
    "6f4922f45568161a",
];

fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        20 => prop::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..4),
    ];
    let glue = prop_oneof![6 => Just(b" ".to_vec()), 3 => Just(b",".to_vec()), 1 => Just(vec![])];
    vec((piece, glue), 0..80).prop_map(|pieces| {
        pieces.into_iter().flat_map(|(piece, glue)| [piece, glue].concat()).collect()
    })
}

/// Generates a line of each format with numbers of any size.
fn lines() -> impl Strategy<Value = Vec<u8>> {
    let number = || prop_oneof![4 => 0..100_u64, 2 => 0..1_u64 << 34, 1 => any::<u64>()];
    let line =
        (0..12_u8, number(), number(), number(), number()).prop_map(
            |(kind, a, b, c, d)| match kind {
                0 => format!("{a}.{b} {} {c} {d} {}", a % 3, b % 2),
                1 => format!("{a} {} {b} {c} {}", a % 3, d % 2),
                2 => format!("{a},h{},0,Read,{b},{c},{d}", b % 3),
                3 => format!("{},{a},{b},W,{c}.{d}", a % 3),
                4 => format!("{a} /f{} write {b} {c}", d % 2),
                5 => format!("8,{} 0 1 {}.{a:09} 7 Q W {b} + {c} [p]", a % 2, a % 9),
                6 => format!("8,{} 0 1 {}.{a:09} 0 C W {b} + {c} [0]", a % 2, a % 9),
                7 => format!("{a},{b},{c},{},{d}", d % 2),
                8 => format!("{},W,{b},{c},{a}", d % 3),
                9 => format!("{a}.5,0.{d},R,{},{b},{c}", d % 3),
                10 => format!("{a} 7 p {b} {c} R 8 {}", d % 2),
                _ => format!("8,{} 0 1 {}.{a:09} 7 Q FWS {b} + {} [p q]", a % 2, a % 9, c % 2),
            },
        );
    let headings =
        ["", "fio version 3 iolog\n", "fio version 2 iolog\n", "time_ns,offset,size,op,pid\n"];
    let heading = prop::sample::select(headings.to_vec());
    (heading, vec(line, 0..20))
        .prop_map(|(heading, lines)| (heading.to_owned() + &lines.join("\n")).into())
}

/// Generates records of a binary format that are nearly right.
fn records() -> impl Strategy<Value = Vec<u8>> {
    let number = || prop_oneof![4 => 0..100_u64, 2 => 0..1_u64 << 34, 1 => any::<u64>()];
    let record = (0..4_u8, number(), number(), any::<u32>(), number(), 0..40_u16);
    let bytes = record.prop_map(|(kind, time, place, bytes, action, tail)| {
        let half = action as u16;
        let action = ((action as u32) << 16) | (action % 9) as u32;
        let head = match kind {
            0 => [&0x6561_7407_u32.to_le_bytes()[..], &[0; 4], &time.to_le_bytes()].concat(),
            1 => [&0x6561_7407_u32.to_be_bytes()[..], &[0; 4], &time.to_be_bytes()].concat(),
            2 => [&[0; 4], &bytes.to_le_bytes()[..], &[0; 4], &[half as u8, 0, 0, 1]].concat(),
            _ => [&[half as u8, 0, 0, 2][..], &[0; 4], &bytes.to_le_bytes(), &[0; 4]].concat(),
        };
        let rest = match kind {
            0 => [
                &place.to_le_bytes()[..],
                &bytes.to_le_bytes(),
                &action.to_le_bytes(),
                &[7; 14],
                &tail.to_le_bytes(),
                &vec![b'a'; tail.into()],
            ]
            .concat(),
            1 => [
                &place.to_be_bytes()[..],
                &bytes.to_be_bytes(),
                &action.to_be_bytes(),
                &[7; 14],
                &tail.to_be_bytes(),
                &vec![b'a'; tail.into()],
            ]
            .concat(),
            2 => [place.to_le_bytes(), time.to_le_bytes()].concat(),
            _ => [place.to_le_bytes(), time.to_le_bytes(), time.to_le_bytes()].concat(),
        };
        [head, rest].concat()
    });
    vec(bytes, 0..20).prop_map(|records| records.concat())
}

fn read_as_all(bytes: &[u8]) {
    for format in FORMATS {
        properties::trace(format.name, bytes);
    }
    properties::file(bytes);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..400)) {
        read_as_all(&bytes);
    }

    #[test]
    fn nearly_right_lines_never_panic(bytes in nearly()) {
        read_as_all(&bytes);
    }

    #[test]
    fn numbers_of_any_size_never_panic(bytes in lines()) {
        read_as_all(&bytes);
        for format in FORMATS {
            for line in bytes.split(|&byte| byte == b'\n') {
                properties::trace(format.name, line);
            }
        }
    }

    #[test]
    fn nearly_right_records_never_panic(
        mut bytes in records(),
        change in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        cut in any::<prop::sample::Index>(),
    ) {
        if let Some((at, byte)) = change && !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            bytes.truncate(cut.index(bytes.len()) + 1);
        }
        read_as_all(&bytes);
    }

    #[test]
    fn damaged_packed_files_never_panic(
        text in nearly(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let zstd = ruzstd::encoding::compress_to_vec(&text[..], level);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gzip, &text).unwrap();
        let options = lzma_rust2::XzOptions::with_preset(0);
        let mut xz = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
        std::io::Write::write_all(&mut xz, &text).unwrap();
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_cksum();
        let tar = [header.as_bytes(), &text[..]].concat();
        for mut packed in [zstd, gzip.finish().unwrap(), xz.finish().unwrap(), tar] {
            for (at, byte) in &changes {
                let at = at.index(packed.len());
                packed[at] = *byte;
            }
            packed.truncate(cut.index(packed.len()) + 1);
            for format in FORMATS {
                let _ = read(&packed[..], format);
            }
        }
    }

    #[test]
    fn what_fits_lies_inside_and_stays_aligned(
        records in vec((0..1_u64 << 40, 1..64_u32), 1..50),
        capacity in 1_u64 << 15..1 << 36,
    ) {
        let at = Time::ZERO;
        let record = |&(start, len): &(u64, u32)| Record::new(at, Op::Read, start * 512, len * 512);
        let records = records.iter().map(record).collect();
        let trace = Trace { records, ..Trace::default() };
        for fit in [Fit::Wrap, Fit::Scale] {
            let class = ClassOf::One(ClassId(0), Prio(0));
            let places = Places::new(&trace, None, |_| capacity, Some(fit)).unwrap();
            let replay = Replay::new(trace.clone(), places, Timing::Original, class);
            let mut replay = replay.unwrap();
            while let Some(io) = replay.take(Time::ZERO) {
                prop_assert!(io.end() <= capacity);
                prop_assert_eq!(io.start % 512, 0);
            }
        }
    }
}
