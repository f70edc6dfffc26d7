//! Regulates the length of a cycle: as short as a target error allows.
//!
//! The reservations of commands in flight at the end of a cycle are taken from the next one. If
//! they exceed the idle time of the disk in a cycle, the shares run out before the cycle ends, and
//! requests that then fill the disk bypass the weights. The error of the lightest class is about
//! `0.75 · (1 − w/W) · (Q·s / (D·L) − (1 − u)) / u`: `Q` commands of `s` on `D` disks that are busy
//! for a part `u` of the time. Solved for the length `L` this gives a target for each cycle. A
//! class must have at least 17 commands in a cycle, and needs no more than 85. The length changes
//! towards the target by at most a tenth per cycle.
//!
//! Ratios are in millionths. Everything is rounded down.

const MILLION: u64 = 1_000_000;

/// The target error in millionths: one percentage point, divided by 0.75.
const ERROR: u64 = 13_333;

/// Least and most commands of a class in a cycle: those of a changing and of a steady class in the
/// report.
const COMMANDS: [u64; 2] = [17, 85];

/// Busy part of the time, in millionths, from which a disk has no time to spare: the upper limit
/// then yields.
const SATURATED: u64 = 980_000;

/// Time constant of the mean busy part, in nanoseconds: 2 s.
const MEMORY: u64 = 2_000_000_000;

/// Limits on the length of a cycle in nanoseconds: 1 ms and a minute.
const BOUNDS: (u64, u64) = (MILLION, 60_000 * MILLION);

/// The load of a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassLoad {
    pub(super) weight: u64,
    /// Mean cost of its commands in nanoseconds.
    pub(super) estimate: Option<u64>,
    /// Part of the window in which it was idle, in millionths.
    pub(super) idle: u64,
}

/// The state of the regulation.
#[derive(Debug, Default)]
pub(super) struct Auto {
    /// Busy part of the time of the disks in millionths, once a cycle has ended.
    busy: Option<u64>,
    /// The mean service time some cycles ago, and the time since then, in nanoseconds.
    before: Option<(u64, u64)>,
}

impl Auto {
    /// Returns the length of the next full cycle. The last one, of length `cycle`, ended after
    /// `elapsed`, and the `disks` were charged `used` in it. `commands` may be in flight beyond the
    /// shares.
    pub(super) fn next(
        &mut self,
        cycle: u64,
        [elapsed, used]: [u64; 2],
        [disks, commands]: [u32; 2],
        classes: impl Iterator<Item = ClassLoad> + Clone,
    ) -> u64 {
        let busy = ratio(used, MILLION, elapsed.saturating_mul(disks.into())).min(MILLION);
        let gain = ratio(elapsed.min(MEMORY), MILLION, MEMORY);
        let mean = |old: u64| (old * (MILLION - gain) + busy * gain) / MILLION;
        let busy = self.busy.map_or(busy, mean);
        self.busy = Some(busy);

        let weights: u64 = classes.clone().map(|class| class.weight).sum();
        let least = classes.clone().map(|class| class.weight).min().unwrap_or(0);
        let idle = classes.clone().any(|class| class.idle > MILLION / 2);
        let mut service = 0_u64;
        let mut need = 0_u64;
        for class in classes {
            let Some(estimate) = class.estimate else { return cycle };
            service = service.saturating_add(ratio(estimate, class.weight, weights));
            need = need.max(ratio(estimate, weights, class.weight));
        }
        let drift = self.drift(elapsed, service);
        // A single class has no one to share with. If a class is mostly idle, the busy part shows
        // its demand and not the capacity of the disks.
        if least == weights || idle {
            return cycle;
        }
        let slack = MILLION - busy + ratio(ERROR, weights, weights - least);
        let floor =
            ratio(service.saturating_mul(commands.into()) / u64::from(disks), MILLION, slack);
        let [low, mut high] = COMMANDS.map(|n| need.saturating_mul(n) / u64::from(disks));
        if busy >= SATURATED {
            high = high.max(floor);
        }
        let target = floor.clamp(low, high.min(drift).max(low));
        let step = target.clamp(cycle - cycle / 10, cycle + cycle / 10);
        step.clamp(BOUNDS.0, BOUNDS.1)
    }

    /// The longest cycle in which the mean `service` time changes by at most a tenth, measured over
    /// some seconds.
    fn drift(&mut self, elapsed: u64, service: u64) -> u64 {
        let (before, age) = self.before.get_or_insert((service, 0));
        *age = age.saturating_add(elapsed);
        let change = before.abs_diff(service).max(1);
        let longest = ratio(*age, (*before).max(service), change.saturating_mul(10));
        // The running means of the classes show a drift only over several seconds.
        let known = *age >= 5 * MEMORY;
        let old = *age >= 10 * MEMORY;
        if old {
            self.before = Some((service, 0));
        }
        if known { longest } else { u64::MAX }
    }
}

/// `amount · part / whole`, at most `u64::MAX`.
fn ratio(amount: u64, part: u64, whole: u64) -> u64 {
    let ratio = u128::from(amount) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(ratio).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = MILLION;

    /// The length at which it settles, in ms, on eight disks that are busy for `busy` millionths of
    /// the time.
    fn rest(start: u64, busy: u64, commands: u32) -> u64 {
        let class = |weight| ClassLoad { weight, estimate: Some(64 * MS), idle: 0 };
        let (mut auto, mut cycle) = (Auto::default(), start);
        for _ in 0..300 {
            let used = cycle * 8 / MILLION * busy;
            let classes = [class(1), class(2)].into_iter();
            cycle = auto.next(cycle, [cycle, used], [8, commands], classes);
        }
        cycle / MS
    }

    #[test]
    fn it_settles_at_the_same_length_from_any_start() {
        // 16 · 64 / (8 · (0.085 + 1.333 · 0.01 / (2/3))), as computed by hand.
        for start in [100, 1_000, 4_000] {
            assert!((1_210..=1_230).contains(&rest(start * MS, 915_000, 16)), "from {start} ms");
        }
    }

    #[test]
    fn few_commands_in_flight_need_no_more_than_the_least_of_each_class() {
        assert_eq!(rest(1_000 * MS, 915_000, 2), 17 * 3 * 64 / 8);
    }

    #[test]
    fn the_cycle_of_a_saturated_disk_may_exceed_the_upper_limit() {
        // 16 · 64 / (8 · 0.02) = 6.4 s, above 85 commands of the lightest class: 2.04 s.
        assert!((6_300..=6_500).contains(&rest(1_000 * MS, 1_000_000, 16)));
    }

    #[test]
    fn the_length_stays_while_a_class_is_mostly_idle_or_alone() {
        let mut auto = Auto::default();
        let class = |idle| ClassLoad { weight: 1, estimate: Some(MS), idle };
        let turn = [1_000 * MS, 500 * MS];
        let idle = [class(0), class(600_000)].into_iter();
        assert_eq!(auto.next(1_000 * MS, turn, [1, 2], idle), 1_000 * MS);
        assert_eq!(auto.next(1_000 * MS, turn, [1, 2], [class(0)].into_iter()), 1_000 * MS);
    }
}
