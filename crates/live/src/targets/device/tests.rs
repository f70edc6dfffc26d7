//! Every refusal that depends on the kernel's trees, over trees that stand for a machine.

use std::path::Path;

use super::usage::Obstacle;
use super::*;
use crate::kernel::sysfs::fake::Tree;

const MOUNTS: &str = "\
    21 1 8:33 / / rw shared:1 - ext4 /dev/penq1 rw\n\
    22 21 0:5 / /dev rw - devtmpfs devtmpfs rw\n";
const SWAPS: &str = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";

/// A machine with a disk of two partitions, `penq`, and one of none, `penr`; all is free but the
/// first partition of the former.
fn machine(name: &str) -> Tree {
    let tree = Tree::new(name);
    let penr = [("size", "8192\n"), ("ro", "0\n"), ("device/serial", " Z1D2\n")];
    tree.device("pci/penq", "8:32", &[("size", "9000\n"), ("ro", "0\n"), ("serial", "Q0\n")])
        .device("pci/penq/penq1", "8:33", &partition("1", "0", "4096"))
        .device("pci/penq/penq2", "8:34", &partition("2", "4096", "4096"))
        .device("pci/penr", "8:48", &penr)
        .file("devices/pci/penr/device/model", "DISK 9\n")
        .file("proc/self/mountinfo", MOUNTS)
        .file("proc/swaps", SWAPS);
    tree
}

fn partition<'a>(number: &'a str, start: &'a str, size: &'a str) -> [(&'a str, &'a str); 4] {
    [("partition", number), ("start", start), ("size", size), ("ro", "0\n")]
}

fn roots(tree: &Tree) -> Roots {
    Roots { sys: tree.root().into(), proc: tree.root().join("proc") }
}

fn listed(tree: &Tree, minor: u32) -> Listed {
    Listed::find(&roots(tree), rustix::fs::makedev(8, minor)).expect("it is listed")
}

/// The obstacle to the device 8:`minor`; empty if there is none.
fn found(tree: &Tree, minor: u32) -> String {
    let obstacle = listed(tree, minor).obstacle().unwrap();
    obstacle.map_or_else(String::new, |Obstacle { found, hint }| {
        assert!(!hint.is_empty());
        found
    })
}

#[test]
fn a_free_disk_and_a_free_partition_have_nothing_in_the_way() {
    let tree = machine("free");
    assert_eq!(found(&tree, 48), "");
    assert_eq!(found(&tree, 34), "", "the disk's other partition is mounted, and that is all");
    std::fs::remove_file(tree.root().join("proc/swaps")).unwrap();
    assert_eq!(found(&tree, 48), "", "a kernel without swap");
}

#[test]
fn what_is_mounted_is_refused_wherever_and_by_whatever_name() {
    let tree = machine("mounted");
    assert_eq!(found(&tree, 33), "it mounted at /");
    assert_eq!(found(&tree, 32), "its partition penq1 mounted at /");
    for line in [
        "40 21 8:48 /sub /srv/a\\040b rw - xfs /dev/disk/by-label/x rw\n",
        "40 21 0:44 / /srv/a\\040b rw - btrfs /dev/penr rw\n",
    ] {
        tree.file("proc/self/mountinfo", &format!("{MOUNTS}{line}"));
        assert_eq!(found(&tree, 48), "it mounted at /srv/a b", "{line}");
    }
    tree.file("proc/self/mountinfo", "40 21 8:32 / /whole rw - ext4 /dev/penq rw\n");
    assert_eq!(found(&tree, 34), "penq, the disk of it, mounted at /whole");
}

#[test]
fn what_is_swap_is_refused() {
    let tree = machine("swap");
    tree.file("proc/swaps", &format!("{SWAPS}/dev/penr  partition\t100\t0\t-2\n"));
    assert_eq!(found(&tree, 48), "it in use as swap");
    assert_eq!(found(&tree, 34), "");
    tree.file("proc/swaps", &format!("{SWAPS}/dev/penq2  partition\t100\t0\t-2\n"));
    assert_eq!(found(&tree, 34), "it in use as swap");
    tree.file("proc/self/mountinfo", "");
    assert_eq!(found(&tree, 32), "its partition penq2 in use as swap");
}

#[test]
fn what_is_held_is_refused() {
    let tree = machine("held");
    tree.file("proc/self/mountinfo", "").device("virtual/md0", "9:0", &[]);
    tree.stands_on("virtual/md0", "pci/penr").stands_on("virtual/md0", "pci/penq/penq2");
    assert_eq!(found(&tree, 48), "it held by md0");
    assert_eq!(found(&tree, 34), "it held by md0");
    assert_eq!(found(&tree, 32), "its partition penq2 held by md0");
    assert_eq!(found(&tree, 33), "");
}

#[test]
fn what_is_under_a_loop_device_is_refused() {
    let tree = machine("under-a-loop");
    tree.device("virtual/loop9", "7:9", &[("loop/backing_file", "/dev/penr\n")]);
    assert_eq!(found(&tree, 48), "it in use under loop9");
}

#[test]
fn what_is_read_only_partitioned_or_small_is_refused() {
    let tree = machine("small");
    tree.file("proc/self/mountinfo", "");
    assert_eq!(found(&tree, 32), "a block device with partitions (penq1, penq2)");
    tree.file("devices/pci/penr/size", "7\n");
    assert_eq!(found(&tree, 48), "a block device of 3584 bytes");
    tree.file("devices/pci/penr/ro", "1\n");
    assert_eq!(found(&tree, 48), "a block device that is read-only");
}

#[test]
fn a_partition_that_overlaps_counts_as_the_partition() {
    let tree = machine("overlap");
    tree.file("devices/pci/penq/penq2/start", "4095\n");
    assert_eq!(found(&tree, 34), "penq1, which overlaps it, mounted at /");
}

#[test]
fn what_cannot_be_seen_is_no_device() {
    let tree = machine("unseen");
    assert!(Listed::find(&roots(&tree), rustix::fs::makedev(8, 99)).is_none());
    std::fs::remove_file(tree.root().join("proc/self/mountinfo")).unwrap();
    assert!(listed(&tree, 48).obstacle().is_err());
}

#[test]
fn a_device_is_named_twice_by_serial_or_path() {
    let tree = machine("named");
    let path = tree.root().join("block/penr");
    let check = |named: Option<&str>| check_named(&path, named, &listed(&tree, 48));
    let canonical = std::fs::canonicalize(&path).unwrap();
    for named in ["Z1D2", path.to_str().unwrap(), canonical.to_str().unwrap()] {
        assert!(check(Some(named)).is_ok(), "{named}");
    }
    for named in [None, Some(""), Some("Z1D"), Some("Q0"), Some("/dev"), Some("penr")] {
        let error = check(named).expect_err("not its name");
        assert_eq!(error.exit_code(), 5);
        let message = error.to_string();
        assert!(message.contains("(4194304 bytes, model DISK 9, serial Z1D2)"), "{message}");
        assert!(message.contains("`--i-will-lose-data Z1D2`"), "{message}");
    }
}

#[test]
fn serial_numbers_are_those_of_the_disk() {
    let tree = machine("serials");
    assert_eq!(listed(&tree, 34).serials(), ["Q0"]);
    tree.file("devices/pci/penr/wwid", "naa.5000\n");
    tree.file("devices/pci/penr/device/vpd_pg80", "\0\u{1}\0\u{8}  Z9-8 \0");
    assert_eq!(listed(&tree, 48).serials(), ["Z1D2", "naa.5000", "Z9-8"]);
    tree.file("devices/pci/penq/serial", "\n");
    assert!(listed(&tree, 32).serials().is_empty(), "no name is no name");
}

#[test]
fn only_block_devices_are_opened_as_such() {
    for (path, code) in [("/dev/null", 5), ("/etc/passwd", 5), ("/", 2), ("/dev/none", 2)] {
        let open = open(Path::new(path), Some(path), Contents::Empty, &Roots::real());
        let error = open.expect_err("no block device");
        assert_eq!(error.exit_code(), code, "{error}");
    }
}
