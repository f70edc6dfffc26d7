//! A picture of a real drive and its model: two distribution functions, and next to them their
//! distance at every rank.
//!
//! The SVG is written by hand: two curves with axes need no library, and the same run gives the
//! same bytes. The colours are the package's (`python/penstock/charts/palette.py`), for light and
//! for dark surroundings.

use std::fmt::Write;
use std::ops::RangeInclusive;

use crate::drives::RealDrive;

/// Points of a curve. Details between two of them are narrower than the line.
const POINTS: usize = 250;
const HEAD: &str = include_str!("plot.svg");
/// The upper and lower edge of both panels, from the top.
const TOP: f64 = 36.0;
const BOTTOM: f64 = 296.0;

/// A panel: its horizontal place, and its range in milliseconds.
struct Panel {
    left: f64,
    right: f64,
    ms: RangeInclusive<i32>,
    step: i32,
}

/// Draws the picture of `drive`.
pub(crate) fn svg(drive: &RealDrive) -> String {
    let times = Panel { left: 52.0, right: 452.0, ms: 0..=30, step: 5 };
    let apart = Panel { left: 500.0, right: 740.0, ms: -2..=2, step: 1 };
    let mut out = HEAD.replace("{drive}", drive.name);
    for (panel, title) in
        [(&times, "response time, ms"), (&apart, "model − measured at the same rank, ms")]
    {
        axes(&mut out, panel, title);
    }
    for share in (0..=100).step_by(25) {
        let y = height(f64::from(share) / 100.0) + 4.0;
        let _ = writeln!(out, "<text x=\"44\" y=\"{y:.1}\" class=\"end\">{share} %</text>");
    }
    let ms = |ns: u64| ns as f64 / 1e6;
    curve(&mut out, "measured", &times, |rank| ms(drive.measured[rank]), drive);
    curve(&mut out, "model", &times, |rank| ms(drive.modelled[rank]), drive);
    let off = |rank: usize| ms(drive.modelled[rank]) - ms(drive.measured[rank]);
    curve(&mut out, "off", &apart, off, drive);
    out + "</svg>\n"
}

impl Panel {
    fn x(&self, ms: f64) -> f64 {
        let (first, last) = (f64::from(*self.ms.start()), f64::from(*self.ms.end()));
        let share = (ms.clamp(first, last) - first) / (last - first);
        self.left + share * (self.right - self.left)
    }
}

fn height(share: f64) -> f64 {
    BOTTOM - share * (BOTTOM - TOP)
}

/// Draws the grid of a panel, and its labels.
fn axes(out: &mut String, panel: &Panel, title: &str) {
    let Panel { left, right, .. } = *panel;
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let y = height(share);
        let _ = writeln!(out, "<path class=\"grid\" d=\"M{left} {y}H{right}\"/>");
    }
    for ms in panel.ms.clone().step_by(panel.step as usize) {
        let (x, class) = (panel.x(f64::from(ms)), if ms == 0 { "axis" } else { "grid" });
        let _ = writeln!(out, "<path class=\"{class}\" d=\"M{x:.1} {TOP}V{BOTTOM}\"/>");
        let label = ms.to_string().replace('-', "−");
        let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"312\" class=\"middle\">{label}</text>");
    }
    let middle = left.midpoint(right);
    let _ = writeln!(out, "<text x=\"{middle}\" y=\"330\" class=\"middle\">{title}</text>");
}

/// Draws the value of `ms` at each rank of the requests of `drive`, in ascending shares.
fn curve(
    out: &mut String,
    class: &str,
    panel: &Panel,
    ms: impl Fn(usize) -> f64,
    drive: &RealDrive,
) {
    let last = drive.measured.len() - 1;
    let _ = write!(out, "<path class=\"{class}\" d=\"");
    for point in 0..=POINTS {
        let rank = last * point / POINTS;
        let (x, y) = (panel.x(ms(rank)), height(rank as f64 / last as f64));
        let _ = write!(out, "{}{x:.1} {y:.1}", if point == 0 { 'M' } else { 'L' });
    }
    out.push_str("\"/>\n");
}
