//! What a command costs a device, learned from those that have completed: a base, and a part for
//! each byte.
//!
//! A device that serves several commands at once lets each of them wait for others, so that the time
//! of one says little. Therefore commands are added up: in a window of as many completions as
//! commands were in flight, or a few of them, the time in which the device was busy is
//! `base · commands + part · bytes`.
//! Windows differ in their mix, and least squares over them gives both unknowns. Where commands
//! overlap, the base that is hidden behind others is not counted: that is what a further command
//! costs.
//!
//! Integers decide. Old windows fade: every so many all sums are halved.
//!
//! Source: ordinary least squares through the origin; the windows and their fading are ours.

use penstock_core::{Span, Time};

/// Bytes are counted in these.
const UNIT: u32 = 512;

/// After so many windows all sums are halved.
const WINDOWS: u32 = 512;

/// Fewer windows say nothing.
const FEW: u32 = 16;

/// A window has so many commands at most: long ones are too alike.
const COMMANDS: u32 = 8;

/// The part of the determinant below which windows are too alike to tell base and bytes apart.
const APART: i128 = 1 << 12;

/// A window counts as no more than 8 GiB and 18 minutes, so that no product overflows.
const MOST: (i128, i128) = (1 << 24, 1 << 40);

/// Of the throughput that a request has in one piece it keeps so many tenths in several.
const KEPT: i128 = 9;

/// A command in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Estimate {
    /// The base times this is what it costs, exactly.
    scale: i128,
    base: i128,
    unit: i128,
}

/// What is known of a device.
#[derive(Debug, Default)]
pub(crate) struct Cost {
    /// Commands that the device has.
    in_flight: u32,
    /// When it was given the first of them, or when the last one completed if that is later.
    since: Time,
    window: Window,
    sums: Sums,
    estimate: Option<Estimate>,
}

/// Commands that completed one after another.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    left: u32,
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
            *window = Window { left: in_flight.clamp(1, COMMANDS), ..Window::default() };
        }
        window.left -= 1;
        window.commands += 1;
        window.units += i128::from(len.div_ceil(UNIT));
        window.ns += i128::from(busy.ns());
        if window.left == 0 {
            self.sums.add(window);
            self.estimate = self.sums.solved().or(self.estimate);
        }
    }

    /// The length of the pieces of a request of `len` bytes, no less than `least`: as short as they
    /// may be while the request costs the device at most a ninth more than whole. All of it while
    /// nothing is known.
    pub(crate) fn piece(&self, len: u32, least: u32) -> u32 {
        let Some(Estimate { scale, base, unit }) = self.estimate else { return len };
        let transfer = unit * i128::from(len.div_ceil(UNIT));
        // A base that is no more than the rounding of its estimate costs nothing.
        let base = base.max(scale);
        // `base + transfer`, over `n · base + transfer`, is to be nine tenths at least.
        let pieces = (10 * base + transfer) / (KEPT * base);
        let pieces = u32::try_from(pieces).unwrap_or(u32::MAX).max(1);
        let piece = len.div_ceil(pieces).max(least);
        // Whole blocks, whatever the device's blocks are.
        piece.checked_next_multiple_of(1 << 12).unwrap_or(piece).min(len)
    }

    /// The base of a command, and what each MiB adds to it.
    pub(crate) fn known(&self) -> Option<(Span, Span)> {
        let Estimate { scale, base, unit } = self.estimate?;
        let span = |ns: i128| Span::from_ns(u64::try_from(ns / scale).unwrap_or(0));
        Some((span(base), span(unit * i128::from((1 << 20) / UNIT))))
    }
}

impl Sums {
    fn add(&mut self, window: &Window) {
        let (c, b, t) = (window.commands, window.units.min(MOST.0), window.ns.min(MOST.1));
        if self.windows == WINDOWS {
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

    /// The two unknowns; none while there are few windows, or while all have the same mix.
    fn solved(&self) -> Option<Estimate> {
        let Self { windows, cc, cb, bb, ct, bt } = *self;
        let scale = cc * bb - cb * cb;
        if windows < FEW || scale * APART <= cc * bb {
            return None;
        }
        let base = (bb * ct - cb * bt).max(0);
        let unit = (cc * bt - cb * ct).max(0);
        Some(Estimate { scale, base, unit })
    }
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
                // Not in step with any window.
                let len = if n * 7 % 11 < 2 { 4 * KIB } else { long };
                self.cost.sent(Time::ZERO + Span::from_ns(self.now));
                self.sent.push_back(len);
                if self.sent.len() == self.depth {
                    let len = self.sent.pop_front().expect("one was sent");
                    self.now += base * 1000 + mib * 1000 * u64::from(len) / u64::from(MIB);
                    self.cost.finished(Time::ZERO + Span::from_ns(self.now), len);
                }
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
        let (base, mib) = learned(80, 2_000, 256 * KIB).known().expect("both are known");
        assert!((79_000..=81_000).contains(&base.ns()), "{base:?}");
        assert!((1_990_000..=2_010_000).contains(&mib.ns()), "{mib:?}");
    }

    #[test]
    fn what_overlaps_costs_nothing_more() {
        // Of each command nothing but its 2 us on the link adds to the time of all.
        for depth in [2, 8, 32] {
            let mut device = Device::new(depth);
            device.serve(4_000, 2, 2_000, 256 * KIB);
            let (base, mib) = device.cost.known().expect("windows differ");
            assert!((1_000..=3_000).contains(&base.ns()), "depth {depth}: {base:?}");
            assert!((1_990_000..=2_010_000).contains(&mib.ns()), "depth {depth}: {mib:?}");
        }
    }

    #[test]
    fn an_idle_device_learns_nothing() {
        let mut device = Device::new(1);
        for _ in 0..200 {
            device.serve(1, 80, 2_000, MIB);
            device.serve(11, 80, 2_000, MIB);
            device.now += 1_000_000_000;
        }
        let (base, _) = device.cost.known().expect("both are known");
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
    fn nothing_is_known_of_commands_that_are_all_alike() {
        let mut device = Device::new(4);
        device.serve(1000, 80, 2_000, 4 * KIB);
        assert_eq!(device.cost.known(), None);
        assert_eq!(device.cost.piece(MIB, 16 * KIB), MIB);
    }

    #[test]
    fn a_device_that_becomes_slower_is_learned_anew() {
        let mut device = Device::new(1);
        device.serve(200, 80, 2_000, MIB);
        device.serve(8_000, 800, 2_000, MIB);
        let (base, _) = device.cost.known().expect("both are known");
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
