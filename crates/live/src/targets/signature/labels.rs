//! Partition tables, disk labels, boot sectors, and the mark of owned files.

use super::bytes::Bytes;
use super::format::Place::{End, Head, Start};
use super::format::{Format, SECTOR, format};

pub(super) const LABELS: &[Format] = &[
    format("a GPT partition table", &[Start(512), Start(4096)], &[b"EFI PART"]),
    format("the copy of a GPT partition table", &[End(512), End(4096)], &[b"EFI PART"]),
    Format {
        name: "an MBR partition table",
        places: &[Start(510)],
        magics: &[b"\x55\xaa"],
        plausible: partitions,
    },
    Format {
        name: "a boot sector",
        places: &[Start(510)],
        magics: &[b"\x55\xaa"],
        plausible: boots,
    },
    Format {
        name: "an Apple partition table",
        places: &[Start(0)],
        magics: &[b"ER"],
        plausible: apple,
    },
    format("an Apple partition table", &[Start(512)], &[b"PM\0\0"]),
    format("an SGI disk label", &[Start(0)], &[b"\x0b\xe5\xa9\x41"]),
    Format {
        name: "a Sun disk label",
        places: &[Start(508)],
        magics: &[b"\xda\xbe"],
        plausible: sun,
    },
    format(
        "a BSD disk label",
        &[Start(0), Start(64), Start(128), Start(512)],
        &[b"\x57\x45\x56\x82", b"\x82\x56\x45\x57"],
    ),
    format("a Solaris x86 partition table", &[Start(512 + 12)], &[b"\xee\xde\x0d\x60"]),
    format("a UnixWare partition table", &[Start(29 * 512 + 4)], &[b"\x0d\x60\x5e\xca"]),
    format("an Ultrix disk label", &[Start(16_384 - 72)], &[b"\x57\x29\x03\x00"]),
    format("an Amiga partition table", &[Head(16)], &[b"RDSK"]),
    format("an AIX disk label", &[Start(0)], &[b"\xc9\xc2\xd4\xc1"]),
    Format {
        name: "an Atari partition table",
        places: &[Start(0x1c7), Start(0x1d3), Start(0x1df), Start(0x1eb)],
        magics: &[b"GEM", b"BGM", b"XGM", b"RAW", b"LNX", b"SWP", b"MIX", b"MNX", b"UNX", b"F32"],
        plausible: atari,
    },
    format("the mark of a file that Penstock owns", &[End(4096)], &[b"penstock owned\n\0"]),
];

/// Returns whether each of the four entries begins with a valid boot flag, 0x80 or 0.
fn partitions(bytes: &Bytes<'_>, _: u64) -> bool {
    let entries = bytes.array::<64>(446);
    entries.is_some_and(|entries| entries.iter().step_by(16).all(|flag| matches!(flag, 0 | 0x80)))
}

/// Returns whether the first sector begins with a jump, as boot sectors of FAT do.
fn boots(bytes: &Bytes<'_>, _: u64) -> bool {
    bytes.array(0).is_some_and(|head: [u8; 3]| matches!(head, [0xe9, ..] | [0xeb, _, 0x90]))
}

/// Returns whether the block size is valid and the table begins in the second block.
fn apple(bytes: &Bytes<'_>, mark: u64) -> bool {
    let Some(block @ (512 | 1024 | 2048 | 4096)) = bytes.u16_be(mark + 2) else { return false };
    bytes.array(block.into()).is_some_and(|head| head == *b"PM")
}

/// Returns whether the exclusive or of all numbers of the label is zero.
fn sun(bytes: &Bytes<'_>, mark: u64) -> bool {
    bytes.array::<512>(mark - 508).is_some_and(|label| {
        label.chunks_exact(2).fold([0, 0], |sum, pair| [sum[0] ^ pair[0], sum[1] ^ pair[1]])
            == [0, 0]
    })
}

/// Returns whether the entry is in use and lies on the disk.
fn atari(bytes: &Bytes<'_>, mark: u64) -> bool {
    let flag = bytes.array(mark - 1).is_some_and(|flag| matches!(flag, [0x01 | 0x81]));
    let (start, length) = (bytes.u32_be(mark + 3), bytes.u32_be(mark + 7));
    let (start, length) = (u64::from(start.unwrap_or(0)), u64::from(length.unwrap_or(0)));
    flag && start > 0 && length > 0 && start + length <= bytes.len / SECTOR
}
