use std::os::unix::fs::FileExt;

use super::*;

/// A file of holes that is removed with the test.
struct Image(File);

impl Image {
    fn new(len: u64) -> Self {
        let name =
            format!("penstock-signature-{}-{:?}", std::process::id(), std::thread::current().id());
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
    ("a GFS or GFS2 file system", 65_536, b"\x01\x16\x19\x70"),
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
    ("a bcache device", 4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    (
        "a bcachefs file system",
        4120,
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
    ),
    ("a member of a ZFS pool", 131_072, b"\x0c\xb1\xba\0\0\0\0\0"),
    ("a member of a ZFS pool", 262_144 + 131_072 + 1024 * 127, b"\0\0\0\0\0\xba\xb1\x0c"),
    ("a member of a ZFS pool", (9 << 20) - 262_144 + 131_072, b"\x0c\xb1\xba\0\0\0\0\0"),
    ("a Ceph block device", 0, b"bluestore block device\n"),
    ("an Oracle ASM disk", 32, b"ORCLDISK"),
    ("the mark of a file that Penstock owns", LEN - 4096, b"penstock owned\n\0"),
    ("a ReFS file system", 0, b"\0\0\0ReFS\0\0\0\0"),
    ("an XFS file system", 0, b"EXFS"),
    ("a NILFS2 file system", 1030, b"\x34\x34"),
    ("a NILFS2 file system", LEN - 4096 + 6, b"\x34\x34"),
    ("a High Sierra file system", 32_777, b"CDROM"),
    ("a SquashFS file system", 0, b"sqsh"),
    ("a cramfs file system", 0, b"\x45\x3d\xcd\x28"),
    ("a cramfs file system", 512, b"\x28\xcd\x3d\x45"),
    ("a romfs file system", 0, b"-rom1fs-"),
    ("a ReiserFS file system", 8244, b"ReIsErFs"),
    ("a Reiser4 file system", 65_536, b"ReIsEr4"),
    ("an HFS file system", 1024, b"BD"),
    ("an OCFS file system", 8, b"OracleCFS"),
    ("an OCFS2 file system", 1024, b"OCFSV2"),
    ("an OCFS2 file system", 8192, b"OCFSV2"),
    ("a VMFS file system", 2 << 20, b"\x5e\xf1\xab\x2f"),
    ("a VxFS file system", 1024, b"\xf5\xfc\x01\xa5"),
    ("a VxFS file system", 8192, b"\xa5\x01\xfc\xf5"),
    ("a UFS file system", 9564, b"\x54\x19\x01\x00"),
    ("a UFS file system", 66_908, b"\x19\x01\x54\x19"),
    ("a UFS file system", 263_516, b"\x19\x54\x01\x19"),
    ("a System V file system", 1016, b"\x20\x7e\x18\xfd"),
    ("a System V file system", 19_448, b"\xfd\x18\x7e\x20"),
    ("a Xenix file system", 2040, b"\x44\x55\x2b\x00"),
    ("an SCO BFS file system", 0, b"\xce\xfa\xad\x1b"),
    ("a BeOS file system", 544, b"1SFB"),
    ("an HPFS file system", 8192, b"\x49\xe8\x95\xf9\xc5\xe9\x53\xfa"),
    ("an HPFS file system", 8704, b"\x49\x18\x91\xf9\xc5\x29\x52\xfa"),
    ("a MINIX file system", 1040, b"\x7f\x13"),
    ("a MINIX file system", 1040, b"\x8f\x13"),
    ("a MINIX file system", 1040, b"\x68\x24"),
    ("a MINIX file system", 1040, b"\x24\x78"),
    ("a MINIX file system", 1048, b"\x5a\x4d"),
    ("a NetWare (NSS) pool", 4096, b"SPB5"),
    ("a UBI volume", 0, b"UBI#"),
    ("a UBIFS file system", 0, b"\x31\x18\x10\x06"),
    ("a zonefs file system", 0, b"SFOZ"),
    ("an mpool", 0, b"mpoolDev"),
    ("swap space", 4086, b"LINHIB0001"),
    ("an image of TuxOnIce", 0, b"\xed\xc3\x02\xe9\x98\x56\xe5\x0c"),
    ("a physical volume of LVM 1", 0, b"HM\x02\0"),
    ("a snapshot of the device mapper", 0, b"SnAp"),
    ("a hash tree of dm-verity", 0, b"verity\0\0"),
    ("a volume of dm-integrity", 0, b"integrt\0"),
    ("a VDO volume", 0, b"dmvdo001"),
    ("a member of a Stratis pool", 516, b"!Stra0tis\x86\xff\x02^Arh"),
    ("a DRBD volume", LEN - 4036, b"\x83\x74\x02\x6b"),
    ("a DRBD volume", LEN - 4036, b"\x83\x74\x02\x6d"),
    ("a control volume of DRBD Manage", 0, b"$DRBDmgr=q"),
    ("a log of DRBD Proxy", 0, b"DRBDdlh*"),
    ("a member of a VMFS volume", 1 << 20, b"\x0d\xd0\x01\xc0"),
    ("a disk of Windows' logical disk manager", 3072, b"PRIVHEAD"),
    ("a member of an LSI array", LEN - 512, b"$XIDE$"),
    ("a member of an NVIDIA array", LEN - 1024, b"NVIDIA  "),
    ("a member of a Promise array", LEN - 63 * 512, b"Promise Technology, Inc."),
    ("a member of a Promise array", LEN - 3087 * 512, b"Promise Technology, Inc."),
    ("a member of an ITE array", LEN - 970, b"Integrated Technology Express Inc      "),
    ("a member of a HighPoint array", 4640, b"\xf0\x16\x78\x5a"),
    ("a member of a HighPoint array", LEN - 5632, b"\xf3\x16\x78\x5a"),
    ("a member of an Adaptec array", LEN - 8704, b"\xc4\x65\x07\x90"),
    ("a member of an Adaptec array", LEN - 256, b"MTPD"),
    ("a member of a JMicron array", LEN - 512, b"JM"),
    ("an Apple partition table", 512, b"PM\0\0"),
    ("an SGI disk label", 0, b"\x0b\xe5\xa9\x41"),
    ("a BSD disk label", 64, b"\x57\x45\x56\x82"),
    ("a BSD disk label", 512, b"\x57\x45\x56\x82"),
    ("a Solaris x86 partition table", 524, b"\xee\xde\x0d\x60"),
    ("a UnixWare partition table", 14_852, b"\x0d\x60\x5e\xca"),
    ("an Ultrix disk label", 16_312, b"\x57\x29\x03\x00"),
    ("an Amiga partition table", 1024, b"RDSK"),
    ("an AIX disk label", 0, b"\xc9\xc2\xd4\xc1"),
];

/// Bytes around a mark: the offset and the bytes.
type Around = &'static [(u64, &'static [u8])];

/// Formats whose mark alone does not count: the mark, and the bytes around it.
const SURROUNDED: &[(&str, u64, &[u8], Around)] = &[
    ("a log of an XFS file system", 0, b"\xfe\xed\xba\xbe", &[(11, &[2]), (303, &[1])]),
    ("a log of an XFS file system", 65_536, b"\xfe\xed\xba\xbe", &[(65_547, &[1])]),
    ("a CoreStorage volume of FileVault 2", 88, b"CS", &[(8, b"\x01\0\x10\0")]),
    ("a member of a Silicon Image array", LEN - 416, b"\0\0\0\x2f", &[(LEN - 194, b"\0\xd1")]),
    ("a member of a VIA array", LEN - 512, b"\x55\xaa", &[(LEN - 462, &[0xff])]),
    ("an Apple partition table", 0, b"ER", &[(2, b"\x08\0"), (2048, b"PM")]),
    ("a Sun disk label", 508, b"\xda\xbe", &[(510, b"\xda\xbe")]),
    ("an Atari partition table", 0x1c7, b"GEM", &[(0x1c6, &[1]), (0x1ca, b"\0\0\0\x02\0\0\x10\0")]),
];

#[test]
fn every_format_is_found_at_its_places() {
    for &(name, offset, magic) in WRITTEN {
        let found = Image::new(LEN).put(offset, magic).found();
        assert_eq!(found, Some(Signature { name, offset }), "{name} at {offset}");
    }
    for &(name, offset, magic, around) in SURROUNDED {
        let image = Image::new(LEN);
        image.put(offset, magic);
        assert_eq!(image.found(), None, "{name}: the mark alone");
        for (at, bytes) in around {
            image.put(*at, bytes);
        }
        assert_eq!(image.found(), Some(Signature { name, offset }), "{name} at {offset}");
    }
    let all = WRITTEN.iter().map(|line| line.0).chain(SURROUNDED.iter().map(|line| line.0));
    let named: Vec<_> = all.collect();
    let left: Vec<_> = formats().map(|format| format.name).filter(|n| !named.contains(n)).collect();
    assert_eq!(left, ["a boot sector"], "each has a line above");
}

#[test]
fn a_mark_at_another_place_is_none() {
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
fn two_bytes_of_chance_are_no_format() {
    // Marks among bytes that look like nothing.
    for format in formats() {
        let short = format.magics.iter().filter(|magic| magic.len() <= 3);
        for (magic, place) in short.flat_map(|magic| format.places.iter().map(move |p| (magic, p)))
        {
            for offset in place.offsets(LEN) {
                let image = Image::new(LEN);
                image.put(0, &[0x5a; 4096]).put(LEN - 4096, &[0x5a; 4096]).put(offset, magic);
                assert_eq!(image.found(), None, "{} at {offset}", format.name);
            }
        }
    }
}

#[test]
fn small_and_empty_devices_carry_nothing() {
    for len in [0, 511, 4096, LEN] {
        assert_eq!(Image::new(len).found(), None, "{len}");
    }
}

#[test]
fn what_runs_write_is_no_format() {
    let mut bytes = vec![0; LEN as usize];
    for seed in 0..4 {
        crate::filling::fill(penstock_core::Seed(seed), &mut bytes);
        let image = Image::new(LEN);
        assert_eq!(image.put(0, &bytes).found(), None, "seed {seed}");
        assert_eq!(ask(&image.0), None, "seed {seed}");
    }
}
