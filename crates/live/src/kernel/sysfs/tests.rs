//! Trees like `/sys`, as small as they come.

use super::fake::Tree;
use super::*;

fn stack(tree: &Tree, major: u32, minor: u32) -> Option<Stack> {
    Sysfs::new(tree.root()).stack(major, minor)
}

const STAT: &str = "8201 17 655360 1200 310 4 20480 90 0 1100 1290\n";

const QUEUE: [(&str, &str); 7] = [
    ("stat", STAT),
    ("queue/scheduler", "none [mq-deadline] kyber\n"),
    ("queue/rotational", "1\n"),
    ("queue/nr_requests", "256\n"),
    ("device/model", "ST4000 \n"),
    ("mq/0/cpu_list", "0\n"),
    ("mq/1/cpu_list", "1\n"),
];

#[test]
fn a_partition_leads_to_its_disk_and_the_disk_to_its_queue() {
    let tree = Tree::new("partition");
    tree.device("pci/sda", "8:0", &QUEUE).device("pci/sda/sda2", "8:2", &[("partition", "2\n")]);
    let stack = stack(&tree, 8, 2).unwrap();
    assert_eq!(stack.names, ["sda2", "sda"]);
    let disk = Disk {
        name: "sda".into(),
        model: Some("ST4000".into()),
        rotational: Some(true),
        scheduler: Some("mq-deadline".into()),
        schedulers: ["none", "mq-deadline", "kyber"].map(String::from).into(),
        requests: Some(256),
        hardware_queues: Some(2),
        backing_file: None,
        counters: Counters::parse(STAT),
    };
    assert_eq!(stack.disks, [disk]);
}

#[test]
fn a_mapping_leads_to_every_disk_below() {
    let tree = Tree::new("mapping");
    tree.device("pci/sda", "8:0", &[])
        .device("pci/sda/sda1", "8:1", &[("partition", "1")])
        .device("pci/sdb", "8:16", &[])
        .device("virtual/md0", "9:0", &[])
        .device("virtual/dm-0", "252:0", &[("dm/name", "home")])
        .stands_on("virtual/dm-0", "virtual/md0")
        .stands_on("virtual/md0", "pci/sda/sda1")
        .stands_on("virtual/md0", "pci/sdb");
    let stack = stack(&tree, 252, 0).unwrap();
    assert_eq!(stack.names, ["dm-0", "md0", "sda1", "sda", "sdb"]);
    let names: Vec<_> = stack.disks.iter().map(|disk| disk.name.as_str()).collect();
    assert_eq!(names, ["sda", "sdb"]);
}

#[test]
fn a_loop_device_names_its_file() {
    let tree = Tree::new("loop");
    let file = [("loop/backing_file", "/var/disk one.img\n"), ("queue/scheduler", "none\n")];
    tree.device("virtual/loop3", "7:3", &file);
    let disk = &stack(&tree, 7, 3).unwrap().disks[0];
    assert_eq!(disk.backing_file.as_deref(), Some(Path::new("/var/disk one.img")));
    // Without a choice there are no brackets.
    assert_eq!((disk.scheduler.as_deref(), disk.schedulers.len()), (None, 1));
}

#[test]
fn what_is_not_listed_is_not_there() {
    let tree = Tree::new("absence");
    assert_eq!(stack(&tree, 8, 0), None);
    tree.device("pci/sda", "8:0", &[("queue/nr_requests", "many\n"), ("queue/scheduler", "")]);
    let disk = &stack(&tree, 8, 0).unwrap().disks[0];
    assert_eq!((&disk.model, disk.rotational, disk.requests), (&None, None, None));
    assert_eq!((&disk.scheduler, disk.schedulers.len()), (&None, 0));
    assert_eq!(Sysfs::new("/no/such/tree").under(Path::new("/")).unwrap(), None);
    assert!(Sysfs::new(tree.root()).under(&tree.root().join("none")).is_err());
}

#[test]
fn devices_in_a_circle_end() {
    let tree = Tree::new("circle");
    tree.device("virtual/dm-0", "252:0", &[]).device("virtual/dm-1", "252:1", &[]);
    tree.stands_on("virtual/dm-0", "virtual/dm-1").stands_on("virtual/dm-1", "virtual/dm-0");
    assert_eq!(stack(&tree, 252, 0).unwrap().names, ["dm-0", "dm-1"]);
}

#[test]
fn the_deepest_mount_holds_a_path() {
    let mounts = "\
        21 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n\
        30 21 0:30 /@home /home rw,relatime - btrfs /dev/sdb2 rw\n\
        31 30 0:31 / /home/my\\040own rw - tmpfs tmpfs rw\n";
    let source = |path: &str| mount_source(mounts, Path::new(path));
    assert_eq!(source("/home/x").unwrap(), Path::new("/dev/sdb2"));
    assert_eq!(source("/homes").unwrap(), Path::new("/dev/sda1"));
    assert_eq!(source("/home/my own/y").unwrap(), Path::new("tmpfs"));
    assert_eq!(mount_source("nonsense\n", Path::new("/")), None);
}
