//! Agents: every kind of arrivals, patterns, spreads, sizes and ends, through the page cache and past it, on files
//! and without.

use super::files::Files;
use super::{Draw, Medium, Shape};

/// Most bytes of an agent on a schedule: requests may be split into many pieces.
const BYTES_MOST: u64 = 64 << 20;
/// Approximate limit on requests that go through the page cache.
const HITS_MOST: u64 = 2_000;

/// Settings that all agents of a job share.
struct Scene<'a> {
    medium: &'a Medium,
    shape: Shape,
    /// Duration of the job in nanoseconds.
    duration: u64,
    classes: u64,
    buffered: bool,
    files: Option<Files>,
}

impl Scene<'_> {
    /// Bytes of the device or file that an agent works on.
    fn capacity(&self) -> u64 {
        self.files.as_ref().map_or(self.medium.capacity, |files| files.size)
    }
}

/// Draws the agents of a job of `duration` nanoseconds, and their page cache if they need one.
pub(super) fn sections(
    draw: &mut Draw<'_>,
    medium: &Medium,
    shape: Shape,
    duration: u64,
    classes: u64,
) -> String {
    let buffered = shape == Shape::Any && draw.one_in(3);
    let several = shape == Shape::Any && draw.one_in(3);
    let files = several.then(|| Files::drawn(draw, medium));
    let mut text = files.as_ref().map_or_else(String::new, |files| files.text.clone());
    let scene = Scene { medium, shape, duration, classes, buffered, files };
    for number in 0..draw.between(1, 4) {
        text += &agent(draw, &scene, number);
    }
    if buffered {
        text += &page_cache(draw, duration);
    }
    text
}

fn agent(draw: &mut Draw<'_>, scene: &Scene<'_>, number: u64) -> String {
    let (asked, class) = (operations(draw, scene), draw.between(0, scene.classes - 1));
    // The first goes through the cache: a job without such an agent has none.
    let buffered = scene.buffered && (number == 0 || draw.one_in(2));
    let size = draw.pick(&[4_096, 512, 65_536, 1_000, 10_000, 1 << 18, 1 << 20, 0]);
    let size = if size == 0 { draw.magnitude(1, 300_000) } else { size };
    let size = size.min(scene.capacity());
    let mut text = format!(
        "[[agent]]\nclass = \"c{class}\"\n{asked}size = {}\n{}",
        sizes(draw, scene, size),
        pattern(draw, scene, size),
    );
    if buffered {
        text += "cache = \"buffered\"\n";
    }
    if draw.one_in(3) {
        text += "sync = true\n";
    }
    if let Some(files) = &scene.files {
        text += &files.of_agent(draw);
    }
    if let Some(region) = region(draw, scene.capacity(), size) {
        text += &format!("region = [{region}]\n");
    }
    let mut lasts = scene.duration;
    if draw.one_in(4) {
        let start = draw.between(0, scene.duration - 1);
        let stop = draw.between(start + 1, scene.duration);
        lasts = stop - start;
        text += &format!("start = \"{start}ns\"\nstop = \"{stop}ns\"\n");
    }
    let most = (BYTES_MOST / size).clamp(1, 300);
    let arrivals = match scene.shape {
        Shape::Any => any_arrivals(draw, scene, lasts, most),
        Shape::Plain => plain_arrivals(draw, scene, lasts, most),
    };
    text += &format!("arrivals = {{ {arrivals} }}\n");
    // Turns are counted in their arrivals, and have nothing in flight of their own.
    if scene.shape == Shape::Any && !arrivals.contains("turns") {
        text += &quota(draw, size);
        if !arrivals.contains("depth") && draw.one_in(4) {
            text += &format!("buffers = {}\n", draw.pick(&[1, 2, 16]));
        }
    }
    text
}

/// Draws the operations of an agent.
fn operations(draw: &mut Draw<'_>, scene: &Scene<'_>) -> String {
    let op = draw.pick(&["read", "write"]);
    if scene.shape == Shape::Plain || !draw.one_in(3) {
        return format!("op = \"{op}\"\n");
    }
    let flush = if draw.one_in(2) {
        format!("flush = {}\n", draw.pick(&[1, 3, 50]))
    } else {
        String::new()
    };
    match draw.between(0, 2) {
        0 => format!("op = \"trim\"\n{flush}"),
        1 => format!("op = \"write\"\n{flush}"),
        _ => format!("mix = {}\n{flush}", draw.pick(&["0.5", "0", "0.999"])),
    }
}

/// Draws one size, or several of which none is larger.
fn sizes(draw: &mut Draw<'_>, scene: &Scene<'_>, size: u64) -> String {
    if scene.shape == Shape::Plain || !draw.one_in(4) {
        return format!("\"{size}B\"");
    }
    let other = draw.between(1, size);
    format!("[[\"{size}B\", {}], [\"{other}B\", {}]]", draw.pick(&[1, 40]), draw.pick(&[1, 0, 60]))
}

/// Draws the places of requests of at most `size` bytes.
fn pattern(draw: &mut Draw<'_>, scene: &Scene<'_>, size: u64) -> String {
    let pattern = draw.pick(&["random", "sequential"]);
    if scene.shape == Shape::Plain || !draw.one_in(3) {
        return format!("pattern = \"{pattern}\"\n");
    }
    match draw.between(0, 2) {
        0 => format!("pattern = \"random\"\nspread = {}\n", spread(draw)),
        1 => format!("pattern = \"sequential\"\nstride = \"{}B\"\n", size * draw.pick(&[2, 1, 9])),
        _ => "pattern = \"backwards\"\n".into(),
    }
}

fn spread(draw: &mut Draw<'_>) -> &'static str {
    draw.pick(&[
        "{ zipf = { theta = 1.2 } }",
        "{ zipf = { theta = 0.4 } }",
        "{ pareto = { h = 0.2 } }",
        "{ normal = { mean = \"50%\", dev = \"100%\" } }",
        "{ poisson = { mean = \"90%\" } }",
        "{ zoned = [[\"50%\", 60], [\"50%\", 40]] }",
        "\"uniform\"",
        "\"once\"",
    ])
}

/// Draws the end of an agent, in one of three cases.
fn quota(draw: &mut Draw<'_>, size: u64) -> String {
    match draw.between(0, 8) {
        6 => format!("total = \"{}B\"\n", draw.magnitude(1, size * 50)),
        7 => format!("count = {}\n", draw.magnitude(1, 100)),
        8 => "passes = 1\n".into(),
        _ => String::new(),
    }
}

/// Draws a part of the device that holds `size` bytes; `None` for the whole device.
fn region(draw: &mut Draw<'_>, capacity: u64, size: u64) -> Option<String> {
    /// Borders that are shares are rounded down to this, or to whole blocks.
    const STEP: u64 = 8_192;
    match draw.between(0, 2) {
        0 => None,
        1 => {
            let from = draw.between(0, 99);
            let to = draw.between(from + 1, 100);
            let holds = u128::from(capacity) * u128::from(to - from) / 100;
            let fits = holds >= u128::from(size + STEP);
            fits.then(|| format!("\"{from}%\", \"{to}%\""))
        }
        _ => {
            let from = draw.between(0, capacity - size) / 512 * 512;
            let to = from + size + draw.between(0, (capacity - size - from).min(size * 40));
            Some(format!("\"{from}B\", \"{to}B\""))
        }
    }
}

fn any_arrivals(draw: &mut Draw<'_>, scene: &Scene<'_>, lasts: u64, most: u64) -> String {
    let kind = draw.pick(&["poisson", "fixed", "closed", "turns"]);
    match kind {
        "closed" => closed(draw, scene),
        "turns" if draw.one_in(4) => "kind = \"turns\"".into(),
        "turns" => format!("kind = \"turns\", count = {}", draw.between(1, most)),
        _ => {
            let rate = draw.between(1, most) as f64 * 1e9 / lasts as f64;
            let rate = rate.min(1e8);
            let mut text = format!("kind = \"{kind}\", rate = \"{rate}/s\"");
            if draw.one_in(3) {
                let factors: Vec<_> =
                    (0..draw.between(1, 5)).map(|_| draw.pick(&["1", "0", "0.5", "3"])).collect();
                // A curve of zeros is refused.
                text += &format!(", curve = [{}, 1]", factors.join(", "));
            }
            text
        }
    }
}

/// Draws deterministic arrivals in whole nanoseconds.
fn plain_arrivals(draw: &mut Draw<'_>, scene: &Scene<'_>, lasts: u64, most: u64) -> String {
    if draw.one_in(2) {
        return closed(draw, scene);
    }
    // Divisors of a second, so that a rate in whole requests has a period in whole nanoseconds.
    let periods = [10_000_000, 1_000_000, 500_000, 200_000, 100_000, 10_000, 1_000];
    let period = draw.pick(&periods).max((lasts / most).next_power_of_two());
    let rate = (1_000_000_000 / period).max(1);
    let rate = (1..=rate).rev().find(|rate| 1_000_000_000 % rate == 0).unwrap_or(1);
    format!("kind = \"fixed\", rate = \"{rate}/s\"")
}

fn closed(draw: &mut Draw<'_>, scene: &Scene<'_>) -> String {
    let depth = draw.pick(&[1, 2, 4, 8, 33]);
    let think = draw.pick(&[0, 0, 1, 10, 100]) * scene.medium.quick;
    if scene.shape == Shape::Any && think > 0 && draw.one_in(3) {
        return format!(
            "kind = \"closed\", depth = {depth}, think = {{ exponential = \"{think}ns\" }}"
        );
    }
    format!("kind = \"closed\", depth = {depth}, think = \"{think}ns\"")
}

fn page_cache(draw: &mut Draw<'_>, duration: u64) -> String {
    let memory = draw.pick(&[1 << 20, 1 << 16, 100_000, 1 << 24]);
    // A hit takes at least this long: the shorter it is, the more requests hit.
    let least = (duration * 40 / HITS_MOST).clamp(1_000, 1_000_000_000);
    let mut text = format!("[page_cache]\nmemory = \"{memory}B\"\nbase = \"{least}ns\"\n");
    if draw.one_in(2) {
        text += &format!("per_mb = \"{}ns\"\n", draw.pick(&[100_000, 0, 10_000_000]));
    }
    if draw.one_in(2) {
        let dirty = draw.between(1, 100);
        let background = draw.between(0, dirty - 1);
        text +=
            &format!("dirty_ratio = \"{dirty}%\"\ndirty_background_ratio = \"{background}%\"\n");
    }
    if draw.one_in(2) {
        // A run may last a hundred times as long as its agents issue requests.
        let often = draw.pick(&[0, duration, duration * 3, duration / 3]);
        text += &format!("dirty_writeback = \"{often}ns\"\n");
        text += &format!("dirty_expire = \"{}ns\"\n", draw.pick(&[0, duration / 4, duration]));
    }
    if draw.one_in(2) {
        text += &format!("read_ahead = \"{}B\"\n", draw.pick(&[0, 4_096, 100_000, 1 << 20]));
    }
    text
}
