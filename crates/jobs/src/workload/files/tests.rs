//! Names, numbers and places of files.

use std::path::Path;

use super::*;

fn file(count: u32) -> FileSpec {
    let node = crate::tree::parse(&crate::diagnose::Source::file(
        "job.toml",
        &format!("name = \"data\"\ncount = {count}\nsize = \"1MiB\"\nat = \"50%\"\n"),
    ));
    let around = Surroundings { folder: Path::new(""), machine: None, only_set: false };
    FileSpec::read(&node.unwrap(), around).unwrap().0
}

#[test]
fn one_file_has_a_name_and_several_have_numbers() {
    assert_eq!(names(&[file(1)]), ["data"]);
    assert_eq!(names(&[file(3)]), ["data.0", "data.1", "data.2"]);
    let origin = file(1).name_origin;
    let numbers = |name, count| named(name, &origin, &[file(count)]).ok();
    assert_eq!(numbers("data", 3), Some(0..3));
    assert_eq!(numbers("data.2", 3), Some(2..3));
    assert_eq!(numbers("data.0", 1), Some(0..1));
    assert_eq!((numbers("data.3", 3), numbers("dat", 3), numbers("data.", 3)), (None, None, None));
}

#[test]
fn a_file_lies_where_it_is_said_on_its_device() {
    let device = Extent { base: 1 << 30, capacity: 4 << 20, block: 512 };
    let FileExtent { first, size, step } = file(1).extent_on("data", device).unwrap();
    assert_eq!((first, size, step), ((1 << 30) + (2 << 20), 1 << 20, 4096));
    let at = file(1).extent_on("data", Extent { capacity: 3 << 19, ..device });
    assert!(at.is_err_and(|error| error.to_string().contains("ends past its device")));
}
