//! The disk of the FAIRIO report against its published facts; tables as they are written.

use penstock_core::Op;

use super::*;
use crate::devices::{self, DriveSpec, HddSpec, Model};

fn disk(name: &str) -> HddSpec {
    match devices::find(name).expect("a named device").model {
        Model::Hdd(hdd) => hdd,
        other => panic!("{name} is a {other:?}"),
    }
}

fn geometry(hdd: &HddSpec) -> &GeometrySpec {
    match &hdd.drive {
        DriveSpec::Geometry(geometry) => geometry,
        other => panic!("it is described as {other:?}"),
    }
}

#[test]
fn the_disk_of_the_report_has_the_published_facts() {
    let spec = disk("fairio-18es");
    let hdd = Hdd::new(&geometry(&spec).drive(), Options::MECHANICAL).expect("a good drive");
    let blocks = 17_916_240;
    assert_eq!(penstock_core::Device::capacity(&hdd), blocks * 512);
    let place = |sector| {
        let place = hdd.place(sector);
        (place.cylinder, place.head, place.sector, place.sectors_per_track)
    };
    assert_eq!(place(0), (0, 0, 0, 390));
    // A cylinder has five tracks.
    assert_eq!(place(5 * 390), (1, 0, 0, 390));
    assert_eq!(place(882 * 5 * 390), (882, 0, 0, 374));
    let (cylinder, .., sectors) = place(blocks - 1);
    assert_eq!(sectors, 247);
    assert!((11_400..11_474).contains(&cylinder), "spares are at the inner edge: {cylinder}");
    // The next track begins 1.24 ms later and the next cylinder 2.16 ms, of turns of 8.333 ms.
    let turns = |sector| hdd.place(sector).angle.turns();
    assert!((turns(390) - 1.24 / 8.333_333).abs() < 1e-6);
    assert!((turns(5 * 390) - (4.0 * 1.24 + 2.16) / 8.333_333).abs() < 1e-6);
}

#[test]
fn its_arm_takes_a_root_up_to_the_knee_and_a_line_behind_it() {
    let spec = disk("fairio-18es");
    let hdd = Hdd::new(&geometry(&spec).drive(), Options::MECHANICAL).expect("a good drive");
    let ns = |distance| hdd.seek(Op::Read, distance).ns();
    assert_eq!([0, 1, 100, 400, 11_473].map(ns), [0, 1_000_000, 1_947_368, 3_000_000, 13_000_000]);
    assert_eq!(ns(400 + 11_073 / 3), 3_000_000 + 10_000_000 / 3);
    // Between two random cylinders, distance d has 2·(n − d) of n² pairs.
    let n = 11_474_u64;
    let sum: u128 = (1..n).map(|d| u128::from(2 * (n - d) * ns(d as u32))).sum();
    let mean_ms = sum as f64 / (n * n) as f64 / 1e6;
    assert!((mean_ms - 6.06).abs() < 0.02, "{mean_ms} ms");
}

#[test]
fn the_array_of_the_report_is_of_that_disk() {
    assert_eq!(disk("fairio-raid"), disk("fairio-18es"));
    let array = devices::find("fairio-raid").expect("a named device");
    // Whole rows of eight units of 8 KiB.
    assert_eq!(array.build(penstock_core::Seed(1)).capacity(), 17_916_240 / 16 * 16 * 512 * 8);
}

#[test]
fn a_drive_written_out_reads_back() {
    let text = |seek: &str| {
        format!(
            "[device]\nmodel = \"hdd\"\n[device.drive]\ncylinders = 100\nheads = 2\nrpm = 5400\n\
             zones = [{{ first = 0, last = 49, sectors = 9 }}, {{ first = 60, last = 99, sectors = 7 }}]\n\
             track_skew = \"1ms\"\nhead_switch = \"0.5ms\"\nwrite_overhead = \"1us\"\nseek = {seek}\n"
        )
    };
    for seek in [
        "{ single = \"1ms\", average = \"5ms\", full = \"9ms\" }",
        "{ single = \"1ms\", knee = 40, at_knee = \"5ms\", full = \"9ms\" }",
        "[{ distance = 1, takes = \"1ms\" }, { distance = 9, takes = \"2ms\" }]",
    ] {
        let device = devices::parse("device.toml", &text(seek), "d").expect(seek);
        let mut out = crate::text::Lines::default();
        device.write(devices::DEVICE.name, &mut out);
        assert_eq!(devices::parse("device.toml", &out.done(), "d").expect(seek), device);
        assert_eq!(device.build(penstock_core::Seed(1)).capacity(), (50 * 9 + 40 * 7) * 2 * 512);
    }
}
