//! The cost of a command on a device, learned from completed commands: a base and a cost per byte.
//!
//! On a device that serves several commands at once each waits for others, so the time of a single
//! command says little. Therefore commands are added up: over a window of completions (as many as
//! commands were in flight, at most [`WINDOW_COMMANDS_MOST`]) the busy time of the device is
//! `base · commands + per_byte · bytes`. Windows differ in their mix, and least squares over them
//! gives both unknowns. If commands overlap, a base that is hidden behind other commands is not
//! counted: the estimate is what a further command costs.
//!
//! The way to the device and back hides behind other commands if there are some. Windows of
//! [`DEEP`] commands in flight and windows of fewer therefore have a base each, and share the cost
//! per byte. The base of the deep ones counts as soon as there are enough of them, and the other one
//! tells how long the way is.
//!
//! Integers decide. Old windows fade: after [`HALVED_AFTER`] windows their sums are halved.
//!
//! Source: ordinary least squares through the origin, with an intercept for each group (analysis of
//! covariance); the windows and their fading are ours.

use penstock_core::{Span, Time};

/// Bytes are counted in units of this many bytes.
const UNIT: u32 = 512;

/// Number of windows after which all sums are halved.
const HALVED_AFTER: u32 = 512;

/// Fewest windows for an estimate.
const WINDOWS_LEAST: u32 = 16;

/// Most commands in a window: longer windows are too alike.
const WINDOW_COMMANDS_MOST: u32 = 8;

/// Fewest commands in flight that hide the way to the device and back.
pub(crate) const DEEP: u32 = 4;

/// Windows are too alike to tell base and bytes apart if the determinant is at most this fraction
/// of its first product.
const DISTINCT_FRACTION: i128 = 1 << 12;

/// Most bits of a scale.
const SCALE_BITS: u32 = 56;

/// Limits on the units and nanoseconds of a window (8 GiB, 18 minutes), so that no product
/// overflows.
const WINDOW_MOST: (i128, i128) = (1 << 24, 1 << 40);

/// A split request keeps at least this many tenths of its unsplit throughput.
const THROUGHPUT_TENTHS: i128 = 9;

/// The estimated cost of a command: `base / scale` ns and `unit / scale` ns for each [`UNIT`]
/// bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Estimate {
    scale: i128,
    base: i128,
    unit: i128,
    /// The base of a command on its own: with its way to the device and back.
    way: i128,
}

/// The cost of commands on a device, as learned so far.
#[derive(Debug, Default)]
pub(crate) struct Cost {
    /// Commands at the device.
    in_flight: u32,
    /// Time up to which busy time was counted: the last completion, or the start after an idle
    /// time.
    since: Time,
    window: Window,
    /// Windows that began with [`DEEP`] commands in flight or more, and never had one alone.
    deep: Sums,
    /// The other windows.
    shallow: Sums,
    /// Whether deep windows have given an estimate.
    is_deep: bool,
    estimate: Option<Estimate>,
}

/// A window: successive completions, added up.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    left: u32,
    /// Whether [`DEEP`] commands were in flight when it began, and several since: of a command that is
    /// alone in the end the way is not hidden.
    is_deep: bool,
    commands: i128,
    units: i128,
    ns: i128,
}

/// Sums over windows: commands by commands, commands by bytes, and so on.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    windows: u32,
    cc: i128,
    cb: i128,
    bb: i128,
    ct: i128,
    bt: i128,
}

impl Cost {
    /// A command was sent at `now`.
    pub(crate) fn sent(&mut self, now: Time) {
        if self.in_flight == 0 {
            self.since = now;
        }
        self.in_flight += 1;
    }

    /// A command of `len` bytes completed at `now`.
    pub(crate) fn finished(&mut self, now: Time, len: u32) {
        let (busy, in_flight) = (now.since(self.since), self.in_flight);
        self.in_flight -= 1;
        self.since = self.since.max(now);
        let window = &mut self.window;
        if window.left == 0 {
            let left = in_flight.clamp(1, WINDOW_COMMANDS_MOST);
            *window = Window { left, is_deep: in_flight >= DEEP, ..Window::default() };
        }
        window.left -= 1;
        window.is_deep &= in_flight > 1;
        window.commands += 1;
        window.units += i128::from(len.div_ceil(UNIT));
        window.ns += i128::from(busy.ns());
        if window.left == 0 {
            let sums = if window.is_deep { &mut self.deep } else { &mut self.shallow };
            sums.add(window);
            let deep = solve(&self.deep, None);
            let deep = deep.or_else(|| solve(&self.deep, Some(&self.shallow)));
            self.is_deep |= deep.is_some();
            let deep = deep.map(|deep| Estimate { way: self.shallow.base(&deep), ..deep });
            let estimate = deep.or_else(|| solve(&self.shallow, None));
            self.estimate = estimate.or(self.estimate);
        }
    }

    /// Whether the base of commands that overlap is known.
    pub(crate) fn is_deep(&self) -> bool {
        self.is_deep
    }

    /// The number of commands, up to [`DEEP`], in which `bytes` in flight keep the device busiest:
    /// several hide the way of each, and each has a base of its own.
    pub(crate) fn commands(&self, bytes: u64) -> u32 {
        let Some(Estimate { base, unit, way, .. }) = self.estimate else { return 1 };
        let transfer = unit * (i128::from(bytes) / i128::from(UNIT)).min(WINDOW_MOST.0);
        // The time in which the bytes pass once, times the number of commands: the device needs
        // all bases, and each command its way.
        let time = |n: i128| (n * (n * base + transfer)).max(n * way + transfer);
        let mut best = 1;
        for n in 2..=DEEP {
            if time(n.into()) * i128::from(best) < time(best.into()) * i128::from(n) {
                best = n;
            }
        }
        best
    }

    /// The length of the pieces of a request of `len` bytes: as short as possible, but not below
    /// `least`, and such that the request costs the device at most a ninth more than unsplit.
    /// Returns `len` while there is no estimate.
    pub(crate) fn piece(&self, len: u32, least: u32) -> u32 {
        let Some(Estimate { scale, base, unit, .. }) = self.estimate else { return len };
        let transfer = unit * i128::from(len.div_ceil(UNIT));
        // A base below 1 ns is within the rounding of its estimate.
        let base = base.max(scale);
        // `(base + transfer) / (n · base + transfer)` must be at least nine tenths.
        let pieces = (10 * base + transfer) / (THROUGHPUT_TENTHS * base);
        let pieces = u32::try_from(pieces).unwrap_or(u32::MAX).max(1);
        let piece = len.div_ceil(pieces).max(least);
        // Whole blocks, whatever the device's blocks are.
        piece.checked_next_multiple_of(1 << 12).unwrap_or(piece).min(len)
    }

    /// The device time of a command of `len` bytes; zero without an estimate.
    pub(crate) fn time(&self, len: u32) -> Span {
        let Some(Estimate { scale, base, unit, .. }) = self.estimate else { return Span::ZERO };
        let ns = (base + unit * i128::from(len.div_ceil(UNIT))) / scale;
        Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// The estimated base of a command and the cost of each MiB; `None` without an estimate.
    pub(crate) fn base_and_mib(&self) -> Option<(Span, Span)> {
        let Estimate { scale, base, unit, .. } = self.estimate?;
        let span = |ns: i128| Span::from_ns(u64::try_from(ns / scale).unwrap_or(0));
        Some((span(base), span(unit * i128::from((1 << 20) / UNIT))))
    }
}

impl Sums {
    fn add(&mut self, window: &Window) {
        let (units_most, ns_most) = WINDOW_MOST;
        let (c, b, t) = (window.commands, window.units.min(units_most), window.ns.min(ns_most));
        if self.windows == HALVED_AFTER {
            for sum in [&mut self.cc, &mut self.cb, &mut self.bb, &mut self.ct, &mut self.bt] {
                *sum /= 2;
            }
            self.windows /= 2;
        }
        self.windows += 1;
        self.cc += c * c;
        self.cb += c * b;
        self.bb += b * b;
        self.ct += c * t;
        self.bt += b * t;
    }

    /// The base of this group's commands, in the units of an estimate whose cost per byte they
    /// share; the estimate's own while there are few windows.
    fn base(&self, &Estimate { scale, base, unit, .. }: &Estimate) -> i128 {
        if self.windows < WINDOWS_LEAST {
            return base;
        }
        // The cost per byte may be that of another group, on a device that has become faster.
        ((self.ct * scale).saturating_sub(unit.saturating_mul(self.cb)) / self.cc).max(0)
    }

    /// Sums of squares and products of the bytes within the group, each times `cc`.
    fn within(&self) -> (i128, i128) {
        let Self { cc, cb, bb, ct, bt, .. } = *self;
        (cc * bb - cb * cb, cc * bt - cb * ct)
    }
}

/// Solves for the base of the windows of `group`, and for the cost per byte, which they share with those of
/// `other`; `None` while there are few windows or all have the same mix.
fn solve(group: &Sums, other: Option<&Sums>) -> Option<Estimate> {
    if group.windows < WINDOWS_LEAST {
        return None;
    }
    let (bytes, time) = group.within();
    let (mut scale, mut unit) = (bytes, time);
    let mut most = group.cc * group.bb;
    if let Some(other) = other.filter(|other| other.windows >= WINDOWS_LEAST) {
        let (bytes, time) = other.within();
        scale = scale * other.cc + bytes * group.cc;
        unit = unit * other.cc + time * group.cc;
        most = most * other.cc + other.cc * other.bb * group.cc;
    }
    if scale * DISTINCT_FRACTION <= most {
        return None;
    }
    // Nothing below overflows with as many bits.
    let spare = (i128::BITS - scale.leading_zeros()).saturating_sub(SCALE_BITS);
    let (scale, unit) = ((scale >> spare).max(1), (unit >> spare).max(0));
    let base = group.base(&Estimate { scale, base: 0, unit, way: 0 });
    Some(Estimate { scale, base, unit, way: base })
}

#[cfg(test)]
mod tests {
    use alloc::collections::VecDeque;

    use super::*;

    const KIB: u32 = 1 << 10;
    const MIB: u32 = 1 << 20;

    /// A device that has `depth` commands and completes one after another.
    struct Device {
        cost: Cost,
        depth: usize,
        now: u64,
        sent: VecDeque<u32>,
    }

    impl Device {
        fn new(depth: usize) -> Self {
            Self { cost: Cost::default(), depth, now: 0, sent: VecDeque::new() }
        }

        /// Serves `commands`, every fifth of 4 KiB and the rest of `long` bytes.
        fn serve(&mut self, commands: u32, base: u64, mib: u64, long: u32) {
            for n in 0..commands {
                // The mix has another period than the windows.
                let len = if n * 7 % 11 < 2 { 4 * KIB } else { long };
                self.send(len, base, mib);
            }
        }

        /// Sends a command of `len` bytes, and completes the oldest if the device has `depth` then.
        fn send(&mut self, len: u32, base: u64, mib: u64) {
            self.cost.sent(Time::ZERO + Span::from_ns(self.now));
            self.sent.push_back(len);
            if self.sent.len() == self.depth {
                self.complete(1, base, mib);
            }
        }

        /// Completes the oldest `commands`.
        fn complete(&mut self, commands: usize, base: u64, mib: u64) {
            for len in self.sent.drain(..commands) {
                self.now += base * 1000 + mib * 1000 * u64::from(len) / u64::from(MIB);
                self.cost.finished(Time::ZERO + Span::from_ns(self.now), len);
            }
        }
    }

    fn learned(base: u64, mib: u64, long: u32) -> Cost {
        let mut device = Device::new(1);
        device.serve(200, base, mib, long);
        device.cost
    }

    #[test]
    fn the_base_and_the_rate_come_out() {
        let (base, mib) = learned(80, 2_000, 256 * KIB).base_and_mib().expect("both are known");
        assert!((79_000..=81_000).contains(&base.ns()), "{base:?}");
        assert!((1_990_000..=2_010_000).contains(&mib.ns()), "{mib:?}");
    }

    #[test]
    fn a_base_that_overlaps_is_not_counted() {
        // Only the 2 us on the link of each command add to the busy time.
        for depth in [2, 8, 32] {
            let mut device = Device::new(depth);
            device.serve(4_000, 2, 2_000, 256 * KIB);
            let (base, mib) = device.cost.base_and_mib().expect("windows differ");
            assert!((1_000..=3_000).contains(&base.ns()), "depth {depth}: {base:?}");
            assert!((1_990_000..=2_010_000).contains(&mib.ns()), "depth {depth}: {mib:?}");
        }
    }

    #[test]
    fn the_way_to_a_device_is_no_cost_of_a_command() {
        // Two at a time do not hide the 300 us that each is on its way; eight hide all but 5.
        let mut device = Device::new(2);
        device.serve(400, 300, 2_000, 64 * KIB);
        assert!(!device.cost.is_deep());
        device.depth = 8;
        device.serve(400, 5, 2_000, 64 * KIB);
        device.complete(7, 5, 2_000);
        device.depth = 2;
        device.serve(400, 300, 2_000, 64 * KIB);
        let (base, mib) = device.cost.base_and_mib().expect("windows differ");
        assert!(device.cost.is_deep());
        assert!((4_000..=20_000).contains(&base.ns()), "{base:?}");
        assert!((1_900_000..=2_100_000).contains(&mib.ns()), "{mib:?}");
    }

    #[test]
    fn a_window_whose_last_command_is_alone_does_not_hide_its_way() {
        let mut device = Device::new(usize::MAX);
        for group in 0..200 {
            let len = if group % 3 == 0 { 4 * KIB } else { 64 * KIB };
            (0..DEEP).for_each(|_| device.send(len, 300, 2_000));
            device.complete(DEEP as usize, 300, 2_000);
        }
        assert!(device.cost.base_and_mib().is_some());
        assert!(!device.cost.is_deep());
    }

    #[test]
    fn bytes_in_flight_are_as_many_commands_as_hide_their_way() {
        let cost = |way: i128, base: i128| Cost {
            estimate: Some(Estimate { scale: 1, base, unit: 1_000, way }),
            ..Cost::default()
        };
        // 64 KiB take 128 us.
        let commands = |way, base| cost(way, base).commands(u64::from(64 * KIB));
        assert_eq!(commands(10_000_000, 10_000_000), 1, "an arm has no way to hide");
        assert_eq!(commands(150_000, 100_000), 1, "a second base costs more than the way");
        assert_eq!(commands(150_000, 40_000), 2);
        assert_eq!(commands(300_000, 5_000), DEEP);
        assert_eq!(cost(150_000, 5_000).commands(1 << 20), 2, "more bytes hide more");
        assert_eq!(cost(i128::MAX >> 64, 1).commands(u64::MAX), DEEP);
        assert_eq!(Cost::default().commands(1 << 20), 1);
    }

    #[test]
    fn deep_windows_that_are_all_alike_have_the_rate_of_the_others() {
        let mut device = Device::new(2);
        device.serve(400, 300, 2_000, 64 * KIB);
        device.depth = 8;
        for _ in 0..400 {
            device.send(16 * KIB, 5, 2_000);
        }
        let (base, mib) = device.cost.base_and_mib().expect("both are known");
        assert!((4_000..=8_000).contains(&base.ns()), "{base:?}");
        assert!((1_900_000..=2_100_000).contains(&mib.ns()), "{mib:?}");
    }

    #[test]
    fn an_idle_device_learns_nothing() {
        let mut device = Device::new(1);
        for _ in 0..200 {
            device.serve(1, 80, 2_000, MIB);
            device.serve(11, 80, 2_000, MIB);
            device.now += 1_000_000_000;
        }
        let (base, _) = device.cost.base_and_mib().expect("both are known");
        assert!((79_000..=81_000).contains(&base.ns()), "{base:?}");
    }

    #[test]
    fn pieces_cost_a_ninth_at_most() {
        for (base, mib, expected) in [
            // Four pieces cost 2.42 ms, one 2.18.
            (80, 2_100, 256 * KIB),
            // An arm: even two pieces are too many.
            (11_000, 5_000, MIB),
            // A base that hardly counts: the least.
            (1, 2_000, 16 * KIB),
            (0, 2_000, 16 * KIB),
        ] {
            let piece = learned(base, mib, MIB).piece(MIB, 16 * KIB);
            assert_eq!(piece, expected, "base {base} us, {mib} us a MiB");
        }
        let long = learned(80, 2_000, MIB).piece(8 * MIB, 16 * KIB);
        assert!((300 * KIB..400 * KIB).contains(&long), "{long}");
    }

    #[test]
    fn there_is_no_estimate_from_commands_that_are_all_alike() {
        let mut device = Device::new(4);
        device.serve(1000, 80, 2_000, 4 * KIB);
        assert_eq!(device.cost.base_and_mib(), None);
        assert_eq!(device.cost.piece(MIB, 16 * KIB), MIB);
    }

    #[test]
    fn a_device_that_becomes_slower_is_learned_anew() {
        let mut device = Device::new(1);
        device.serve(200, 80, 2_000, MIB);
        device.serve(8_000, 800, 2_000, MIB);
        let (base, _) = device.cost.base_and_mib().expect("both are known");
        assert!((780_000..=810_000).contains(&base.ns()), "{base:?}");
    }

    #[test]
    fn the_greatest_commands_do_not_overflow() {
        let mut cost = Cost::default();
        let mut now = Time::ZERO;
        for n in 0..100_000_u32 {
            cost.sent(now);
            now += Span::from_secs(1000);
            cost.finished(now, if n % 2 == 0 { u32::MAX } else { 1 });
        }
        assert!(cost.piece(u32::MAX, 16 * KIB) >= 16 * KIB);
    }
}
