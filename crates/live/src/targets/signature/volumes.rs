//! Volumes, mappings, encryption, and members of software and firmware arrays.

use super::bytes::Bytes;
use super::format::Place::{self, Aligned, End, Ring, Start, Tail};
use super::format::{Format, format};

const LUKS_SECOND: &[Place] = &[
    Start(16 << 10),
    Start(32 << 10),
    Start(64 << 10),
    Start(128 << 10),
    Start(256 << 10),
    Start(512 << 10),
    Start(1 << 20),
    Start(2 << 20),
    Start(4 << 20),
];
const MD: &[&[u8]] = &[b"\xfc\x4e\x2b\xa9", b"\xa9\x2b\x4e\xfc"];
const BCACHE: &[u8] = b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
const STRATIS: &[u8] = b"!Stra0tis\x86\xff\x02^Arh";

/// The longest track in sectors. The block of Promise's firmware is in the last track, whose length depends on the
/// geometry that a controller chooses.
const TRACK: u64 = 4096;

pub(super) const VOLUMES: &[Format] = &[
    format("a BitLocker volume", &[Start(3)], &[b"-FVE-FS-"]),
    format("a LUKS volume", &[Start(0)], &[b"LUKS\xba\xbe"]),
    format("the second header of a LUKS volume", LUKS_SECOND, &[b"SKUL\xba\xbe"]),
    Format {
        name: "a CoreStorage volume of FileVault 2",
        places: &[Start(88)],
        magics: &[b"CS"],
        plausible: core_storage,
    },
    format(
        "a physical volume of LVM",
        &[Start(0), Start(512), Start(1024), Start(1536)],
        &[b"LABELONE"],
    ),
    format("a physical volume of LVM 1", &[Start(0)], &[b"HM\x01\0", b"HM\x02\0"]),
    format("a snapshot of the device mapper", &[Start(0)], &[b"SnAp"]),
    format("a hash tree of dm-verity", &[Start(0)], &[b"verity\0\0"]),
    format("a volume of dm-integrity", &[Start(0)], &[b"integrt\0"]),
    format("a VDO volume", &[Start(0)], &[b"dmvdo001"]),
    format("a member of a Stratis pool", &[Start(516), Start(9 * 512 + 4)], &[STRATIS]),
    format("a member of an md array (1.1)", &[Start(0)], MD),
    format("a member of an md array (1.2)", &[Start(4096)], MD),
    format("a member of an md array (1.0)", &[Aligned { back: 8192, step: 4096, plus: 0 }], MD),
    format(
        "a member of an md array (0.90)",
        &[Aligned { back: 65_536, step: 65_536, plus: 0 }],
        MD,
    ),
    format(
        "a DRBD volume",
        &[Aligned { back: 4096, step: 4096, plus: 60 }],
        &[b"\x83\x74\x02\x6b", b"\x83\x74\x02\x6c", b"\x83\x74\x02\x6d"],
    ),
    format("a control volume of DRBD Manage", &[Start(0)], &[b"$DRBDmgr=q"]),
    format("a log of DRBD Proxy", &[Start(0)], &[b"DRBDdlh*"]),
    format("a bcache device", &[Start(4096 + 24)], &[BCACHE]),
    format(
        "a member of a ZFS pool",
        &[Ring],
        &[b"\x0c\xb1\xba\0\0\0\0\0", b"\0\0\0\0\0\xba\xb1\x0c"],
    ),
    format("a Ceph block device", &[Start(0)], &[b"bluestore block device"]),
    format("an Oracle ASM disk", &[Start(32)], &[b"ORCLDISK"]),
    format("a member of a VMFS volume", &[Start(1 << 20)], &[b"\x0d\xd0\x01\xc0"]),
    format("a disk of Windows' logical disk manager", &[Start(3072), End(512)], &[b"PRIVHEAD"]),
    format("a member of a DDF array", &[End(512)], &[b"\xde\x11\xde\x11", b"\x11\xde\x11\xde"]),
    format("a member of an Intel array", &[End(1024)], &[b"Intel Raid ISM Cfg Sig. "]),
    format("a member of an LSI array", &[End(512)], &[b"$XIDE$", b"$_IDE$"]),
    format("a member of an NVIDIA array", &[End(1024)], &[b"NVIDIA"]),
    format("a member of a Promise array", &[Tail(TRACK)], &[b"Promise Technology, Inc."]),
    format("a member of an ITE array", &[End(1024 - 54)], &[b"Integrated Technology Express Inc"]),
    format("a member of a HighPoint array", &[Start(9 * 512 + 32)], HIGHPOINT),
    format("a member of a HighPoint array", &[End(11 * 512)], HIGHPOINT),
    format("a member of an Adaptec array", &[End(17 * 512)], &[b"\xc4\x65\x07\x90"]),
    format("a member of an Adaptec array", &[End(256)], &[b"MTPD"]),
    Format {
        name: "a member of a JMicron array",
        places: &[End(512)],
        magics: &[b"JM"],
        plausible: jmicron,
    },
    Format {
        name: "a member of a Silicon Image array",
        places: &[End(512 - 0x60)],
        magics: &[b"\0\0\0\x2f"],
        plausible: silicon_image,
    },
    Format {
        name: "a member of a VIA array",
        places: &[End(512)],
        magics: &[b"\x55\xaa"],
        plausible: via,
    },
];

const HIGHPOINT: &[&[u8]] = &[b"\xf0\x16\x78\x5a", b"\xfd\x16\x78\x5a", b"\xf3\x16\x78\x5a"];

/// Returns whether the block claims to be the first version of a volume's header.
fn core_storage(bytes: &Bytes<'_>, mark: u64) -> bool {
    bytes.array(mark - 80).is_some_and(|head| head == [1, 0, 0x10])
}

/// Returns whether the version is valid. The checksum is not checked: a partly written array counts, too.
fn jmicron(bytes: &Bytes<'_>, mark: u64) -> bool {
    let filler = bytes.array(mark + 6).is_some_and(|filler| filler == [0; 10]);
    filler && bytes.u16(mark + 2).is_some_and(|version| version <= 2)
}

/// Returns whether the sum of the first 160 numbers is zero.
fn silicon_image(bytes: &Bytes<'_>, mark: u64) -> bool {
    bytes.array::<320>(mark - 0x60).is_some_and(|block| sum(&block) == 0)
}

/// Returns whether the version is valid and the 51st byte is the sum of the bytes before it.
fn via(bytes: &Bytes<'_>, mark: u64) -> bool {
    bytes.array::<51>(mark).is_some_and(|block| {
        let sum = block[..50].iter().fold(0_u8, |sum, &byte| sum.wrapping_add(byte));
        block[2] <= 1 && block[50] == sum
    })
}

/// Returns the sum of numbers of two bytes each, modulo 2¹⁶.
fn sum(block: &[u8]) -> u16 {
    let numbers = block.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    numbers.fold(0, u16::wrapping_add)
}
