//! What a block device carries, told by the marks that formats put at fixed places.
//!
//! Use it to find out that a device holds something before it is written over. The table is written
//! from the published descriptions of the formats. A mark of few bytes counts only with a plausible
//! surrounding, so that bytes which a run wrote are not taken for a file system; with longer marks
//! a false alarm is as good as impossible.
//!
//! Invariant: nothing is written.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A format found on a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Signature {
    /// What it is a mark of.
    pub(crate) name: &'static str,
    /// First byte of the mark on the device.
    pub(crate) offset: u64,
}

/// Where a mark lies, in bytes.
#[derive(Clone, Copy)]
enum Place {
    /// Behind the start.
    Start(u64),
    /// Before the end.
    End(u64),
    /// Before the end, then down to a multiple.
    Aligned { back: u64, step: u64 },
    /// In any of the 128 slots of the ring in each of ZFS's four labels.
    Ring,
}
use Place::{Aligned, End, Ring, Start};

/// A format: what it is called, where its marks may lie, and what they are.
struct Format {
    name: &'static str,
    places: &'static [Place],
    magics: &'static [&'static [u8]],
    /// Whether the rest of the device looks like it, where the mark is short.
    plausible: fn(&Bytes<'_>) -> bool,
}

const fn format(
    name: &'static str,
    places: &'static [Place],
    magics: &'static [&'static [u8]],
) -> Format {
    Format { name, places, magics, plausible: |_| true }
}

/// Bytes of one of ZFS's labels; two at the start, two at the end.
const LABEL: u64 = 256 << 10;
/// Where the ring begins in a label, and bytes of a slot.
const RING: u64 = 128 << 10;
const SLOT: u64 = 1 << 10;

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
/// Ten bytes before the end of the first page, whose size is the machine's that made it.
const SWAP: &[Place] = &[Start(4086), Start(8182), Start(16374), Start(32758), Start(65526)];
const MD: &[&[u8]] = &[b"\xfc\x4e\x2b\xa9", b"\xa9\x2b\x4e\xfc"];
const BCACHE: &[u8] = b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
const BCACHEFS: &[u8] = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";

/// Everything that is looked for. Tables of partitions stand behind file systems whose first
/// sector looks like one.
const FORMATS: &[Format] = &[
    format("an NTFS file system", &[Start(3)], &[b"NTFS    "]),
    format("an exFAT file system", &[Start(3)], &[b"EXFAT   "]),
    format("a BitLocker volume", &[Start(3)], &[b"-FVE-FS-"]),
    format("a FAT file system", &[Start(54)], &[b"FAT12   ", b"FAT16   ", b"FAT     "]),
    format("a FAT file system", &[Start(82)], &[b"FAT32   "]),
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
        name: "an ext2, ext3 or ext4 file system",
        places: &[Start(1024 + 56)],
        magics: &[b"\x53\xef"],
        plausible: ext,
    },
    format("an XFS file system", &[Start(0)], &[b"XFSB"]),
    format("a Btrfs file system", &[Start((64 << 10) + 64)], &[b"_BHRfS_M"]),
    format("an F2FS file system", &[Start(1024)], &[b"\x10\x20\xf5\xf2"]),
    format("an ISO 9660 file system", &[Start(32769)], &[b"CD001"]),
    format("a UDF file system", &[Start(32769)], &[b"BEA01"]),
    format("a SquashFS file system", &[Start(0)], &[b"hsqs", b"sqsh"]),
    format("an EROFS file system", &[Start(1024)], &[b"\xe2\xe1\xf5\xe0"]),
    format("a JFS file system", &[Start(32768)], &[b"JFS1"]),
    format("a ReiserFS file system", &[Start((64 << 10) + 52)], &[b"ReIsErFs", b"ReIsEr2Fs"]),
    format("an HFS+ file system", &[Start(1024)], &[b"H+\0\x04", b"HX\0\x05"]),
    format("an APFS container", &[Start(32)], &[b"NXSB"]),
    format("a GFS2 file system", &[Start(64 << 10)], &[b"\x01\x16\x19\x70"]),
    format(
        "swap space",
        SWAP,
        &[b"SWAPSPACE2", b"SWAP-SPACE", b"S1SUSPEND\0", b"S2SUSPEND\0", b"ULSUSPEND\0"],
    ),
    format("a LUKS volume", &[Start(0)], &[b"LUKS\xba\xbe"]),
    format("the second header of a LUKS volume", LUKS_SECOND, &[b"SKUL\xba\xbe"]),
    format(
        "a physical volume of LVM",
        &[Start(0), Start(512), Start(1024), Start(1536)],
        &[b"LABELONE"],
    ),
    format("a member of an md array (1.1)", &[Start(0)], MD),
    format("a member of an md array (1.2)", &[Start(4096)], MD),
    format("a member of an md array (1.0)", &[Aligned { back: 8192, step: 4096 }], MD),
    format("a member of an md array (0.90)", &[Aligned { back: 65536, step: 65536 }], MD),
    format("a member of a DDF array", &[End(512)], &[b"\xde\x11\xde\x11"]),
    format("a member of an Intel array", &[End(1024)], &[b"Intel Raid ISM Cfg Sig. "]),
    format("a bcache device", &[Start(4096 + 24)], &[BCACHE]),
    format("a bcachefs file system", &[Start(4096 + 24)], &[BCACHEFS]),
    format(
        "a member of a ZFS pool",
        &[Ring],
        &[b"\x0c\xb1\xba\0\0\0\0\0", b"\0\0\0\0\0\xba\xb1\x0c"],
    ),
    format("a Ceph block device", &[Start(0)], &[b"bluestore block device"]),
    format("an Oracle ASM disk", &[Start(32)], &[b"ORCLDISK"]),
    format("the mark of a file that Penstock owns", &[End(4096)], &[b"penstock owned\n\0"]),
];

/// The first format of the table that `device`, of `len` bytes, carries.
///
/// # Errors
/// It cannot be read.
pub(crate) fn find(device: &File, len: u64) -> io::Result<Option<Signature>> {
    let bytes = Bytes { device, len };
    for format in FORMATS {
        for offset in format.places.iter().flat_map(|place| place.offsets(len)) {
            for magic in format.magics {
                if bytes.at(offset, magic.len())? == *magic && (format.plausible)(&bytes) {
                    return Ok(Some(Signature { name: format.name, offset }));
                }
            }
        }
    }
    Ok(None)
}

impl Place {
    /// Where that is on a device of `len` bytes; nowhere if it is too small.
    fn offsets(self, len: u64) -> Vec<u64> {
        let one = |offset: Option<u64>| offset.into_iter().collect();
        match self {
            Start(offset) => vec![offset],
            End(back) => one(len.checked_sub(back)),
            Aligned { back, step } => one(len.checked_sub(back).map(|offset| offset / step * step)),
            Ring => {
                let end = len / LABEL * LABEL;
                let labels =
                    [Some(0), Some(LABEL), end.checked_sub(2 * LABEL), end.checked_sub(LABEL)];
                let slots = |label| (0..RING / SLOT).map(move |slot| label + RING + slot * SLOT);
                labels.into_iter().flatten().flat_map(slots).collect()
            }
        }
    }
}

/// The device as it is read.
struct Bytes<'a> {
    device: &'a File,
    len: u64,
}

impl Bytes<'_> {
    /// `count` bytes from `offset`; none if they lie past the end.
    fn at(&self, offset: u64, count: usize) -> io::Result<Vec<u8>> {
        if offset.checked_add(count as u64).is_none_or(|end| end > self.len) {
            return Ok(Vec::new());
        }
        let mut bytes = vec![0; count];
        self.device.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// The first sectors; empty if they cannot be read, which finding the mark would have told.
    fn head(&self) -> Vec<u8> {
        self.at(0, 2048).unwrap_or_default()
    }
}

/// Whether each of the four entries says of itself, by 0x80 or 0, whether it is booted from.
fn partitions(bytes: &Bytes<'_>) -> bool {
    let head = bytes.head();
    !head.is_empty() && (0..4).all(|entry| matches!(head[446 + 16 * entry], 0 | 0x80))
}

/// Whether the first sector begins with a jump, as those of FAT do.
fn boots(bytes: &Bytes<'_>) -> bool {
    matches!(bytes.head()[..], [0xe9, ..] | [0xeb, _, 0x90, ..])
}

/// Whether the superblock's revision and block size are ones that there are.
fn ext(bytes: &Bytes<'_>) -> bool {
    let head = bytes.head();
    let field =
        |at: usize| head.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    field(1024 + 76).is_some_and(|revision| revision <= 1)
        && field(1024 + 24).is_some_and(|shift| shift <= 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of holes that goes with the test.
    struct Image(File);

    impl Image {
        fn new(len: u64) -> Self {
            let name = format!(
                "penstock-signature-{}-{:?}",
                std::process::id(),
                std::thread::current().id()
            );
            let path = std::env::temp_dir().join(name);
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(true);
            let file = options.open(&path).unwrap();
            std::fs::remove_file(path).unwrap();
            file.set_len(len).unwrap();
            Self(file)
        }

        fn put(&self, offset: u64, bytes: &[u8]) -> &Self {
            self.0.write_all_at(bytes, offset).unwrap();
            self
        }

        fn found(&self) -> Option<Signature> {
            find(&self.0, self.0.metadata().unwrap().len()).unwrap()
        }
    }

    const LEN: u64 = (9 << 20) + 12_288;

    /// Where published formats have their marks on a device of `LEN` bytes, written out.
    const WRITTEN: &[(&str, u64, &[u8])] = &[
        ("an NTFS file system", 3, b"NTFS    "),
        ("an exFAT file system", 3, b"EXFAT   "),
        ("a BitLocker volume", 3, b"-FVE-FS-"),
        ("a FAT file system", 54, b"FAT12   "),
        ("a FAT file system", 54, b"FAT16   "),
        ("a FAT file system", 82, b"FAT32   "),
        ("a GPT partition table", 512, b"EFI PART"),
        ("a GPT partition table", 4096, b"EFI PART"),
        ("the copy of a GPT partition table", LEN - 512, b"EFI PART"),
        ("the copy of a GPT partition table", LEN - 4096, b"EFI PART"),
        ("an MBR partition table", 510, b"\x55\xaa"),
        ("an ext2, ext3 or ext4 file system", 1080, b"\x53\xef"),
        ("an XFS file system", 0, b"XFSB"),
        ("a Btrfs file system", 65_600, b"_BHRfS_M"),
        ("an F2FS file system", 1024, b"\x10\x20\xf5\xf2"),
        ("an ISO 9660 file system", 32_769, b"CD001"),
        ("a UDF file system", 32_769, b"BEA01"),
        ("a SquashFS file system", 0, b"hsqs"),
        ("an EROFS file system", 1024, b"\xe2\xe1\xf5\xe0"),
        ("a JFS file system", 32_768, b"JFS1"),
        ("a ReiserFS file system", 65_588, b"ReIsEr2Fs"),
        ("an HFS+ file system", 1024, b"H+\0\x04"),
        ("an APFS container", 32, b"NXSB"),
        ("a GFS2 file system", 65_536, b"\x01\x16\x19\x70"),
        ("swap space", 4086, b"SWAPSPACE2"),
        ("swap space", 4086, b"S1SUSPEND\0"),
        ("swap space", 65_526, b"SWAPSPACE2"),
        ("a LUKS volume", 0, b"LUKS\xba\xbe\0\x01"),
        ("a LUKS volume", 0, b"LUKS\xba\xbe\0\x02"),
        ("the second header of a LUKS volume", 16_384, b"SKUL\xba\xbe"),
        ("the second header of a LUKS volume", 4_194_304, b"SKUL\xba\xbe"),
        ("a physical volume of LVM", 512, b"LABELONE"),
        ("a physical volume of LVM", 1536, b"LABELONE"),
        ("a member of an md array (1.1)", 0, b"\xfc\x4e\x2b\xa9"),
        ("a member of an md array (1.2)", 4096, b"\xfc\x4e\x2b\xa9"),
        ("a member of an md array (1.0)", LEN - 8192, b"\xfc\x4e\x2b\xa9"),
        ("a member of an md array (0.90)", (9 << 20) - 65_536, b"\xfc\x4e\x2b\xa9"),
        ("a member of a DDF array", LEN - 512, b"\xde\x11\xde\x11"),
        ("a member of an Intel array", LEN - 1024, b"Intel Raid ISM Cfg Sig. 1.0.00"),
        ("a bcache device", 4120, BCACHE),
        ("a bcachefs file system", 4120, BCACHEFS),
        ("a member of a ZFS pool", 131_072, b"\x0c\xb1\xba\0\0\0\0\0"),
        ("a member of a ZFS pool", 262_144 + 131_072 + 1024 * 127, b"\0\0\0\0\0\xba\xb1\x0c"),
        ("a member of a ZFS pool", (9 << 20) - 262_144 + 131_072, b"\x0c\xb1\xba\0\0\0\0\0"),
        ("a Ceph block device", 0, b"bluestore block device\n"),
        ("an Oracle ASM disk", 32, b"ORCLDISK"),
        ("the mark of a file that Penstock owns", LEN - 4096, b"penstock owned\n\0"),
    ];

    #[test]
    fn every_format_is_found_at_its_places() {
        for &(name, offset, magic) in WRITTEN {
            let found = Image::new(LEN).put(offset, magic).found();
            assert_eq!(found, Some(Signature { name, offset }), "{name} at {offset}");
        }
        let named = |format: &&Format| WRITTEN.iter().any(|(name, ..)| *name == format.name);
        let left: Vec<_> = FORMATS.iter().filter(|f| !named(f)).map(|f| f.name).collect();
        assert_eq!(left, ["a boot sector"], "each has a line above");
    }

    #[test]
    fn a_mark_beside_its_place_is_none() {
        for &(name, offset, magic) in WRITTEN {
            let found = Image::new(LEN).put(offset ^ 5, magic).found();
            assert_eq!(found, None, "{name} at {}", offset ^ 5);
        }
    }

    #[test]
    fn a_first_sector_with_code_is_a_boot_sector() {
        let image = Image::new(LEN);
        image.put(446, &[7; 64]).put(510, b"\x55\xaa");
        assert_eq!(image.found(), None, "two bytes of chance");
        image.put(0, b"\xeb\x3c\x90");
        assert_eq!(image.found(), Some(Signature { name: "a boot sector", offset: 510 }));
    }

    #[test]
    fn two_bytes_of_chance_are_no_file_system() {
        let image = Image::new(LEN);
        image.put(1024, &[0x5a; 128]).put(1080, b"\x53\xef");
        assert_eq!(image.found(), None);
    }

    #[test]
    fn small_and_empty_devices_carry_nothing() {
        for len in [0, 511, 4096, LEN] {
            assert_eq!(Image::new(len).found(), None, "{len}");
        }
    }
}
