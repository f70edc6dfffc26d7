//! Places of files on their devices.

use std::path::Path;

use super::*;

fn file(count: u32) -> FileSpec {
    let node = crate::tree::parse(&crate::diagnose::Source::file(
        "job.toml",
        &format!("name = \"data\"\ncount = {count}\nsize = \"1MiB\"\nat = \"50%\"\n"),
    ));
    let around = Surroundings { folder: Path::new(""), devices: None, only_set: false };
    FileSpec::read(&node.unwrap(), around).unwrap().0
}

#[test]
fn a_file_lies_where_it_is_said_on_its_device() {
    let device = Extent { base: 1 << 30, capacity: 4 << 20, block: 512 };
    let FileExtent { first, size, step } = file(1).extent_on("data", device, 0).unwrap();
    assert_eq!((first, size, step), ((1 << 30) + (2 << 20), 1 << 20, 4096));
    let at = file(1).extent_on("data", Extent { capacity: 3 << 19, ..device }, 0);
    assert!(at.is_err_and(|error| error.to_string().contains("ends past its device")));
}
