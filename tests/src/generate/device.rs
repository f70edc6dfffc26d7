//! Devices: every model, arrays of every level, faults, caches and queues.

use penstock_jobs::drives;

use super::{Draw, policies};

/// A device of a job.
pub(super) struct Medium {
    /// Its keys; empty if it is `named`.
    pub(super) table: String,
    /// The name of a device that is built in.
    pub(super) named: Option<&'static str>,
    /// Lower bound of its bytes.
    pub(super) capacity: u64,
    /// Approximate nanoseconds between two completions at its highest rate.
    pub(super) quick: u64,
}

/// Built-in devices with their approximate figures.
const NAMED: [(&str, u64); 10] = [
    ("flash", 80_000),
    ("paper-io-path", 1_000_000),
    ("paper-disk", 900_000),
    ("hdd-7200", 1_000_000),
    ("hdd-7200-ncq", 1_000_000),
    ("hdd-10k", 1_000_000),
    ("ssd-sata", 5_000),
    ("ssd-nvme", 2_000),
    ("ibm18es", 30_000),
    ("linear-1992", 1_000_000),
];
/// The smallest of them is larger than this.
const NAMED_CAPACITY: u64 = 1 << 30;

/// Draws any device.
pub(super) fn any(draw: &mut Draw<'_>) -> Medium {
    let (table, capacity, quick) = match draw.between(0, 10) {
        0..=3 => fixed(draw),
        4 | 5 => hdd(draw),
        6 | 7 => ssd(draw),
        8 => linear(draw),
        _ => {
            let (name, quick) = draw.pick(&NAMED);
            return Medium {
                table: String::new(),
                named: Some(name),
                capacity: NAMED_CAPACITY,
                quick,
            };
        }
    };
    let mut medium = Medium { table, named: None, capacity, quick };
    if draw.one_in(4) {
        faults(draw, &mut medium);
    }
    if draw.one_in(3) {
        array(draw, &mut medium);
    }
    medium
}

/// Draws a service time by length without faults, which a short reference can compute.
pub(super) fn plain(draw: &mut Draw<'_>) -> Medium {
    let (table, capacity, quick) = fixed(draw);
    Medium { table, named: None, capacity, quick }
}

/// Draws the keys of a law, and the time of a short request.
fn law(draw: &mut Draw<'_>) -> (Vec<String>, u64) {
    let (mut keys, quick) = if draw.one_in(3) {
        let (unit, bytes) =
            (draw.magnitude(1, 5_000_000), draw.pick(&[10_000, 4096, 512, 1, 65_536]));
        (vec![format!("unit = \"{unit}ns\""), format!("unit_bytes = \"{bytes}B\"")], unit)
    } else {
        let base = draw.pick(&[1_000_000, 80_000, 897_000, 0]);
        let base = if base == 0 { draw.magnitude(0, 10_000_000) } else { base };
        let per_mb = draw.pick(&[0, 2_000_000, 28_800_000, 1]);
        // A device that takes no time at all is refused.
        let per_mb = if base == 0 { per_mb.max(1_000_000) } else { per_mb };
        (vec![format!("base = \"{base}ns\""), format!("per_mb = \"{per_mb}ns\"")], base)
    };
    if draw.one_in(3) {
        keys.push(format!("latency = \"{}ns\"", draw.magnitude(0, 1_000_000)));
    }
    (keys, quick.max(500))
}

fn fixed(draw: &mut Draw<'_>) -> (String, u64, u64) {
    let (mut keys, mut quick) = law(draw);
    if draw.one_in(3) {
        let (writes, other) = law(draw);
        keys.push(format!("writes = {{ {} }}", writes.join(", ")));
        quick = quick.min(other);
    }
    keys.push(format!("depth = {}", draw.pick(&[1, 1, 2, 4, 32])));
    let capacity = draw.pick(&[1 << 30, 1 << 40, 1_000_000_007, 0]);
    let capacity = if capacity == 0 { draw.magnitude(1 << 16, 1 << 30) } else { capacity };
    keys.push(format!("capacity = \"{capacity}B\""));
    (format!("model = \"fixed\"\n{}\n", keys.join("\n")), capacity, quick)
}

fn linear(draw: &mut Draw<'_>) -> (String, u64, u64) {
    let (seek, turn) = (draw.magnitude(0, 1_000_000), draw.magnitude(0, 30_000_000));
    let transfer = draw.magnitude(10_000, 10_000_000);
    let latency = draw.pick(&["uniform", "constant"]);
    let block = draw.pick(&[512, 4096, 1, 65_536]);
    let capacity = draw.magnitude(1 << 20, 1 << 32);
    let text = format!(
        "model = \"linear\"\nseek = \"{seek}ns\"\nturn = \"{turn}ns\"\nlatency = \"{latency}\"\n\
         transfer = \"{transfer}ns\"\nblock = \"{block}B\"\nper_cylinder = {}\n\
         capacity = \"{capacity}B\"\n",
        draw.between(1, 300),
    );
    (text, capacity, transfer)
}

fn hdd(draw: &mut Draw<'_>) -> (String, u64, u64) {
    let mut text = "model = \"hdd\"\n".to_owned();
    let drive = if draw.one_in(3) {
        sheet(draw)
    } else {
        let names: Vec<_> = drives::names().collect();
        let name = draw.pick(&names);
        let known = drives::observed::names().any(|known| known == name);
        if known && draw.one_in(2) {
            text += "observed = true\n";
        }
        format!("\"{name}\"")
    };
    text += &format!("drive = {drive}\n");
    text += &format!("overheads = \"{}\"\n", draw.pick(&["none", "drive", "0.3ms", "1ns", "10ms"]));
    let rates = "{ read = \"3MB/s\", write = \"20MB/s\" }";
    text += &format!("bus = {}\n", draw.pick(&["\"none\"", "\"drive\"", rates]));
    let mut quick = 300_000;
    if draw.one_in(2) {
        quick = 30_000;
        let (segments, blocks) = (draw.between(1, 20), draw.magnitude(2, 4096));
        let own = format!("{{ segments = {segments}, blocks = {blocks} }}");
        text += &format!("cache = {}\n", if draw.one_in(2) { own } else { "\"drive\"".into() });
        let ahead = ["drive", "none", "track", "cylinder", "segment", "stream", "0B", "64KiB"];
        text += &format!("readahead = \"{}\"\n", draw.pick(&ahead));
        text += &format!("write_back = {}\n", draw.pick(&["\"drive\"", "true", "false"]));
    }
    if draw.one_in(3) {
        text += &format!("turnaround = \"{}ns\"\n", draw.magnitude(0, 2_000_000));
    }
    if draw.one_in(2) {
        text += &format!("queue = {}\n", policies::queue(draw));
    }
    (text, 1 << 30, quick)
}

/// Draws the figures of a data sheet.
fn sheet(draw: &mut Draw<'_>) -> String {
    let single = draw.between(1, 1_900);
    let (average, full) =
        (single + draw.between(0, 8_000), single + 8_000 + draw.between(0, 9_000));
    let outer = draw.between(80, 400);
    let inner = (outer * draw.between(40, 100) / 100).max(40);
    let mut text = format!(
        "{{ capacity = \"{}GB\", rpm = {}, single_seek = \"{single}us\", average_seek = \
         \"{average}us\", full_seek = \"{full}us\", outer_rate = \"{outer}MB/s\", inner_rate = \
         \"{inner}MB/s\"",
        draw.pick(&[146, 300, 36, 73]),
        draw.pick(&[7_200, 5_400, 10_000, 15_000]),
    );
    if draw.one_in(2) {
        text += &format!(", heads = {}", draw.between(1, 20));
        text += &format!(", head_switch = \"{}us\"", draw.between(0, 2_000));
        text += &format!(", write_settle = \"{}us\"", draw.between(0, 2_000));
        text += &format!(", buffer = \"{}MiB\"", draw.between(1, 256));
    }
    text + " }"
}

fn ssd(draw: &mut Draw<'_>) -> (String, u64, u64) {
    let capacity = draw.pick(&[960_000_000_000, 1 << 30, 1_000_003 * 512, 64 << 20]);
    let (page, planes) =
        (draw.pick(&[16_384, 4_096, 512, 20_000, 65_536]), draw.pick(&[2, 1, 4, 16]));
    let mut text = format!("model = \"ssd\"\ncapacity = \"{capacity}B\"\npage = \"{page}B\"\n");
    text += &format!("planes = {planes}\ndies = {}\n", draw.pick(&[16, 1, 2, 7, 64, 300]));
    text += &format!("channels = {}\n", draw.pick(&[8, 1, 3, 16]));
    text += &format!("block_pages = {}\n", draw.pick(&[768, 1, 2, 64]));
    text += &format!("read_time = \"{}ns\"\n", draw.pick(&[60_000, 1, 45_000, 1_000_000]));
    text += &format!("program_time = \"{}ns\"\n", draw.pick(&[700_000, 1, 90_000, 5_000_000]));
    text += &format!("erase_time = \"{}ns\"\n", draw.pick(&[5_000_000, 0, 1_000]));
    text += &format!("suspend_time = \"{}\"\n", draw.pick(&["off", "20us", "0s"]));
    text += &format!("channel_rate = \"{}MB/s\"\n", draw.pick(&[1_000, 1, 200]));
    text += &format!("link_rate = \"{}MB/s\"\n", draw.pick(&[550, 6_500, 1]));
    text += &format!("link_duplex = \"{}\"\n", draw.pick(&["full", "half"]));
    text += &format!("link_overhead = \"{}ns\"\n", draw.pick(&[0, 2_750]));
    text += &format!("command_overhead = \"{}ns\"\n", draw.pick(&[20_000, 0, 45_700]));
    text += &format!("command_interval = \"{}ns\"\n", draw.pick(&[0, 1_170, 100_000]));
    let buffer = draw.pick(&[8 << 20, 0, 100_000]).max(page * planes);
    text += &format!("write_buffer = \"{buffer}B\"\n");
    text += &format!("power_loss_protection = {}\n", draw.pick(&[false, true]));
    text += &format!("over_provisioning = \"{}%\"\n", draw.pick(&[7, 1, 28, 100]));
    text += &format!("queue_depth = {}\n", draw.pick(&[32, 1, 2, 256]));
    (text, capacity, 5_000)
}

fn faults(draw: &mut Draw<'_>, medium: &mut Medium) {
    let errors = draw.pick(&["0%", "1%", "20%", "100%"]);
    medium.table += &format!("faults = {{ errors = \"{errors}\"");
    if draw.one_in(2) {
        let (stalls, stall) = (draw.pick(&["1%", "30%", "100%"]), draw.magnitude(0, 50_000_000));
        medium.table += &format!(", stalls = \"{stalls}\", stall = \"{stall}ns\"");
    }
    medium.table += " }\n";
}

fn array(draw: &mut Draw<'_>, medium: &mut Medium) {
    let level = draw.pick(&["raid0", "raid1", "raid5", "jbod"]);
    let least = [1, 2, 3][usize::from(level == "raid1") + 2 * usize::from(level == "raid5")];
    let disks = draw.pick(&[0, 1, 2, 3, 9]) + least;
    medium.table += &format!("array = {{ level = \"{level}\", disks = {disks}");
    if matches!(level, "raid0" | "raid5") {
        let stripe = draw.pick(&[65_536, 4_096, 10_000, 1 << 20]).min(medium.capacity);
        medium.table += &format!(", stripe = \"{stripe}B\"");
        // Disks are used in whole stripes.
        medium.capacity = medium.capacity / stripe * stripe;
    }
    if draw.one_in(3) {
        medium.table += &format!(", max_extent = \"{}\"", draw.pick(&["64KiB", "off", "1000B"]));
    }
    medium.table += &format!(", phase = \"{}\" }}\n", draw.pick(&["same", "random"]));
    medium.quick = (medium.quick / disks).max(500);
}
