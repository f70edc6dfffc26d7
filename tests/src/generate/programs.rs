//! Programs on processors.

use super::{Draw, Medium};

/// Bytes of a request.
const SIZES: [u64; 5] = [4_096, 1_000, 10_000, 65_536, 500_000];

/// Draws `[cpu]` and the programs of a job of `duration` nanoseconds.
pub(super) fn sections(
    draw: &mut Draw<'_>,
    medium: &Medium,
    duration: u64,
    classes: u64,
) -> String {
    let mut text = String::new();
    if draw.one_in(2) {
        text += &format!(
            "[cpu]\ncount = {}\nslice = \"{}ms\"\norder = \"{}\"\npreempt = {}\npick = \"{}\"\n",
            draw.between(1, 8),
            draw.between(1, 20),
            draw.pick(&["fifo", "priority"]),
            draw.pick(&["false", "true"]),
            draw.pick(&["round-robin", "lowest"]),
        );
    }
    for _ in 0..draw.between(1, 3) {
        text += &program(draw, medium, duration, classes);
    }
    text
}

fn program(draw: &mut Draw<'_>, medium: &Medium, duration: u64, classes: u64) -> String {
    let phases: Vec<_> = (0..draw.between(1, 4)).map(|_| phase(draw, medium)).collect();
    let mut text = format!(
        "[[program]]\nclass = \"c{}\"\nphases = [{}]\nrepeat = {}\npattern = \"{}\"\narrivals = \
         {{ {} }}\n",
        draw.between(0, classes - 1),
        phases.join(", "),
        draw.between(1, 4),
        draw.pick(&["sequential", "random"]),
        arrivals(draw, duration),
    );
    if draw.one_in(4) {
        let start = draw.between(0, duration - 1);
        let stop = draw.between(start + 1, duration);
        text += &format!("start = \"{start}ns\"\nstop = \"{stop}ns\"\n");
    }
    text
}

fn phase(draw: &mut Draw<'_>, medium: &Medium) -> String {
    let size = draw.pick(&SIZES).min(medium.capacity);
    match draw.between(0, 2) {
        0 => format!("{{ write = \"{size}B\" }}"),
        1 => format!("{{ read = \"{size}B\" }}"),
        _ => format!("{{ cpu = \"{}us\" }}", draw.magnitude(1, 20_000)),
    }
}

fn arrivals(draw: &mut Draw<'_>, duration: u64) -> String {
    match draw.between(0, 2) {
        0 => {
            let stagger = draw.pick(&[0, 1, 1_000_000]);
            format!("kind = \"once\", count = {}, stagger = \"{stagger}ns\"", draw.between(1, 20))
        }
        1 => {
            let rate = draw.between(1, 40) as f64 * 1e9 / duration as f64;
            format!("kind = \"poisson\", rate = \"{}/s\"", rate.min(1e6))
        }
        _ => {
            let period = (duration / draw.between(1, 30)).max(1_000);
            let mut offsets: Vec<_> =
                (0..draw.between(1, 3)).map(|_| draw.between(0, period - 1)).collect();
            offsets.sort_unstable();
            let offsets: Vec<_> = offsets.iter().map(|ns| format!("\"{ns}ns\"")).collect();
            let offsets = offsets.join(", ");
            format!("kind = \"groups\", offsets = [{offsets}], period = \"{period}ns\"")
        }
    }
}
