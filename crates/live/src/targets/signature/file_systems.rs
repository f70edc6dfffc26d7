//! File systems, swap space, and auxiliary devices of file systems.

use super::bytes::Bytes;
use super::format::Place::{self, Aligned, Head, Start};
use super::format::{Format, format};

/// The places of the mark of UFS: at byte 1372 of each possible superblock.
const UFS: &[Place] =
    &[Start(1372), Start(8192 + 1372), Start(65_536 + 1372), Start(262_144 + 1372)];
/// UFS1, UFS2, and the variants of HP-UX and of the Enhanced Security kernels, in both byte orders.
const UFS_MAGICS: &[&[u8]] = &[
    b"\x54\x19\x01\x00",
    b"\x00\x01\x19\x54",
    b"\x19\x01\x54\x19",
    b"\x19\x54\x01\x19",
    b"\x14\x50\x09\x00",
    b"\x00\x09\x50\x14",
    b"\x12\x56\x19\x00",
    b"\x00\x19\x56\x12",
    b"\x95\x21\x61\x00",
    b"\x00\x61\x21\x95",
    b"\x94\x19\x23\x05",
    b"\x05\x23\x19\x94",
];

/// The places of the mark of swap space: ten bytes before the end of the first page, in each page size.
const SWAP: &[Place] = &[Start(4086), Start(8182), Start(16374), Start(32758), Start(65526)];

/// The places of the mark of System V: at byte 504 of each possible superblock.
const SYSV: &[Place] = &[Start(1016), Start(10_232), Start(16_376), Start(19_448)];

pub(super) const FILE_SYSTEMS: &[Format] = &[
    format("an NTFS file system", &[Start(3)], &[b"NTFS    "]),
    format("a ReFS file system", &[Start(0)], &[b"\0\0\0ReFS\0"]),
    format("an exFAT file system", &[Start(3)], &[b"EXFAT   "]),
    format("a FAT file system", &[Start(54)], &[b"FAT12   ", b"FAT16   ", b"FAT     "]),
    format("a FAT file system", &[Start(82)], &[b"FAT32   "]),
    Format {
        name: "an ext2, ext3 or ext4 file system",
        places: &[Start(1024 + 56)],
        magics: &[b"\x53\xef"],
        plausible: ext,
    },
    format("an XFS file system", &[Start(0)], &[b"XFSB", b"EXFS"]),
    Format {
        name: "a log of an XFS file system",
        places: &[Head(512)],
        magics: &[b"\xfe\xed\xba\xbe"],
        plausible: xfs_log,
    },
    format("a Btrfs file system", &[Start((64 << 10) + 64)], &[b"_BHRfS_M"]),
    format("a bcachefs file system", &[Start(4096 + 24)], &[BCACHEFS]),
    format("an F2FS file system", &[Start(1024)], &[b"\x10\x20\xf5\xf2"]),
    Format {
        name: "a NILFS2 file system",
        places: &[Start(1024 + 6), Aligned { back: 4096, step: 4096, plus: 6 }],
        magics: &[b"\x34\x34"],
        plausible: nilfs,
    },
    format("an ISO 9660 file system", &[Start(32_769)], &[b"CD001"]),
    format("a High Sierra file system", &[Start(32_777)], &[b"CDROM"]),
    format("a UDF file system", &[Start(32_769)], &[b"BEA01", b"NSR02", b"NSR03"]),
    format(
        "a SquashFS file system",
        &[Start(0)],
        &[b"hsqs", b"sqsh", b"hsqt", b"tqsh", b"shsq", b"qshs"],
    ),
    format("an EROFS file system", &[Start(1024)], &[b"\xe2\xe1\xf5\xe0"]),
    format(
        "a cramfs file system",
        &[Start(0), Start(512)],
        &[b"\x45\x3d\xcd\x28", b"\x28\xcd\x3d\x45"],
    ),
    format("a romfs file system", &[Start(0)], &[b"-rom1fs-"]),
    format("a JFS file system", &[Start(32_768)], &[b"JFS1"]),
    format("a ReiserFS file system", &[Start((64 << 10) + 52)], &[b"ReIsErFs", b"ReIsEr2Fs"]),
    format("a ReiserFS file system", &[Start((8 << 10) + 52)], &[b"ReIsErFs"]),
    format("a Reiser4 file system", &[Start(64 << 10)], &[b"ReIsEr4"]),
    format("an HFS+ file system", &[Start(1024)], &[b"H+\0\x04", b"HX\0\x05"]),
    Format { name: "an HFS file system", places: &[Start(1024)], magics: &[b"BD"], plausible: hfs },
    format("an APFS container", &[Start(32)], &[b"NXSB"]),
    format("a GFS or GFS2 file system", &[Start(64 << 10)], &[b"\x01\x16\x19\x70"]),
    format("an OCFS file system", &[Start(8)], &[b"OracleCFS"]),
    format(
        "an OCFS2 file system",
        &[Start(1024), Start(2048), Start(4096), Start(8192)],
        &[b"OCFSV2"],
    ),
    format("a VMFS file system", &[Start(2 << 20)], &[b"\x5e\xf1\xab\x2f"]),
    format(
        "a VxFS file system",
        &[Start(1024), Start(8192)],
        &[b"\xf5\xfc\x01\xa5", b"\xa5\x01\xfc\xf5"],
    ),
    format("a UFS file system", UFS, UFS_MAGICS),
    format("a System V file system", SYSV, &[b"\x20\x7e\x18\xfd", b"\xfd\x18\x7e\x20"]),
    format(
        "a Xenix file system",
        &[Start(1024 + 1016)],
        &[b"\x44\x55\x2b\x00", b"\x00\x2b\x55\x44"],
    ),
    format("an SCO BFS file system", &[Start(0)], &[b"\xce\xfa\xad\x1b"]),
    format("a BeOS file system", &[Start(32), Start(512 + 32)], &[b"1SFB", b"BFS1"]),
    format("an HPFS file system", &[Start(8192)], &[b"\x49\xe8\x95\xf9\xc5\xe9\x53\xfa"]),
    format("an HPFS file system", &[Start(8704)], &[b"\x49\x18\x91\xf9\xc5\x29\x52\xfa"]),
    Format {
        name: "a MINIX file system",
        places: &[Start(1024 + 16)],
        magics: &[
            b"\x7f\x13",
            b"\x8f\x13",
            b"\x68\x24",
            b"\x78\x24",
            b"\x13\x7f",
            b"\x13\x8f",
            b"\x24\x68",
            b"\x24\x78",
        ],
        plausible: minix,
    },
    Format {
        name: "a MINIX file system",
        places: &[Start(1024 + 24)],
        magics: &[b"\x5a\x4d", b"\x4d\x5a"],
        plausible: minix_3,
    },
    format("a NetWare (NSS) pool", &[Start(4096)], &[b"SPB5"]),
    format("a UBI volume", &[Start(0)], &[b"UBI#"]),
    format("a UBIFS file system", &[Start(0)], &[b"\x31\x18\x10\x06"]),
    format("a zonefs file system", &[Start(0)], &[b"SFOZ"]),
    format("an mpool", &[Start(0)], &[b"mpoolDev", b"veDloopm"]),
    format(
        "swap space",
        SWAP,
        &[
            b"SWAPSPACE2",
            b"SWAP-SPACE",
            b"S1SUSPEND\0",
            b"S2SUSPEND\0",
            b"ULSUSPEND\0",
            b"LINHIB0001",
        ],
    ),
    format("an image of TuxOnIce", &[Start(0)], &[b"\xed\xc3\x02\xe9\x98\x56\xe5\x0c"]),
];

/// The sixteen bytes of every superblock of bcachefs.
const BCACHEFS: &[u8] = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";

/// Returns whether the superblock has a valid revision and block size.
fn ext(bytes: &Bytes<'_>, mark: u64) -> bool {
    let superblock = mark - 56;
    bytes.u32(superblock + 76).is_some_and(|revision| revision <= 1)
        && bytes.u32(superblock + 24).is_some_and(|shift| shift <= 6)
}

/// Returns whether a record of the log has a valid version and byte order.
fn xfs_log(bytes: &Bytes<'_>, mark: u64) -> bool {
    bytes.u32_be(mark + 8).is_some_and(|version| (1..=2).contains(&version))
        && bytes.u32_be(mark + 300).is_some_and(|order| order <= 3)
}

/// Returns whether the revisions are valid and the superblock fits its block.
fn nilfs(bytes: &Bytes<'_>, mark: u64) -> bool {
    let superblock = mark - 6;
    bytes.u32(superblock).is_some_and(|revision| revision <= 2)
        && bytes.u16(superblock + 4).is_some_and(|minor| minor <= 2)
        && bytes.u16(superblock + 8).is_some_and(|len| len <= 1024)
}

/// Returns whether the allocation blocks are whole sectors and the length of the volume's name is valid.
fn hfs(bytes: &Bytes<'_>, mark: u64) -> bool {
    bytes.u32_be(mark + 20).is_some_and(|block| block.is_multiple_of(512))
        && bytes.array::<1>(mark + 36).is_some_and(|[len]| len <= 27)
}

/// Returns whether a zone has at most 64 blocks and the state has only the two defined bits.
fn minix(bytes: &Bytes<'_>, mark: u64) -> bool {
    bytes.is_small(mark - 6, 6) && bytes.is_small(mark + 2, 3)
}

/// Returns whether the zone and the state of the third version are valid, and its padding is empty.
fn minix_3(bytes: &Bytes<'_>, mark: u64) -> bool {
    bytes.is_small(mark - 12, 6) && bytes.is_small(mark - 10, 0) && bytes.is_small(mark + 2, 0)
}
