//! The division of a device among classes: by weight, and less for a class that donates.
//!
//! A class that does not use its part of the device needs only some of it. Classes that donate have
//! what they need, and the others divide the rest in proportion to their weights.

use alloc::vec::Vec;
use core::num::NonZeroU32;

/// The whole device.
pub(super) const WHOLE: u128 = 1 << 32;

/// A weight of 1, so that the weight of a class that donates can be small.
const WEIGHT: u128 = 1 << 16;

/// The parts of the classes.
#[derive(Debug, Default)]
pub(super) struct Shares(Vec<ClassShare>);

/// The part of a class.
#[derive(Debug)]
struct ClassShare {
    weight: u128,
    /// The weight by which the device is divided: less if the class donates, 0 if it is not active.
    in_use: u128,
    /// The part of the [`WHOLE`] device that it needs, if it may donate the rest of its own.
    needed: Option<u128>,
    /// Its part of the [`WHOLE`] device.
    part: u128,
}

impl Shares {
    /// Adds a class that is not active.
    pub(super) fn add(&mut self, weight: NonZeroU32) {
        let weight = u128::from(weight.get()) * WEIGHT;
        self.0.push(ClassShare { weight, in_use: 0, needed: None, part: WHOLE });
    }

    /// Lets `class` take part. Returns whether it did not before.
    pub(super) fn activate(&mut self, class: u32) -> bool {
        let share = &mut self.0[class as usize];
        let idle = share.in_use == 0;
        if idle {
            share.in_use = share.weight;
            self.divide();
        }
        idle
    }

    /// Ends the donation of `class`. Returns whether it donated.
    pub(super) fn take_back(&mut self, class: u32) -> bool {
        let share = &mut self.0[class as usize];
        let donated = (1..share.weight).contains(&share.in_use);
        if donated {
            share.in_use = share.weight;
            self.divide();
        }
        donated
    }

    /// Begins a period for `class`, which takes part or not, and may donate all but `needed`.
    /// [`Shares::donate`] follows when this was called for every class.
    pub(super) fn begin(&mut self, class: u32, active: bool, needed: Option<u128>) {
        let share = &mut self.0[class as usize];
        share.in_use = if active { share.weight } else { 0 };
        share.needed = needed;
    }

    /// Lets the classes that need less than their part by weight donate the rest, unless all do.
    pub(super) fn donate(&mut self) {
        let total: u128 = self.0.iter().map(|share| share.in_use).sum();
        let donors = self.0.iter().filter_map(|share| share.donation(total));
        let needed: u128 = donors.sum();
        let takers = self.0.iter().filter(|share| share.donation(total).is_none());
        let takers: u128 = takers.map(|share| share.in_use).sum();
        if takers > 0 {
            // Together with the donors' weights this makes the takers' part what is left.
            let divided = takers * WHOLE / (WHOLE - needed);
            for share in &mut self.0 {
                if let Some(needed) = share.donation(total) {
                    let in_use = needed.saturating_mul(divided) / WHOLE;
                    share.in_use = in_use.clamp(1, share.weight);
                }
            }
        }
        self.divide();
    }

    fn divide(&mut self) {
        let total: u128 = self.0.iter().map(|share| share.in_use).sum();
        for share in self.0.iter_mut().filter(|share| share.in_use > 0) {
            share.part = (share.in_use * WHOLE / total).max(1);
        }
    }

    /// The virtual time of `class` that `cost` takes.
    pub(super) fn length(&self, class: u32, cost: u64) -> u128 {
        u128::from(cost) * WHOLE / self.0[class as usize].part
    }

    /// The part of `class` in percent, 0 if it is not active.
    pub(super) fn percent(&self, class: usize) -> u64 {
        let share = &self.0[class];
        if share.in_use == 0 { 0 } else { (share.part * 100 / WHOLE) as u64 }
    }
}

impl ClassShare {
    /// The part that it needs, if this is less than its part of `total` by weight.
    fn donation(&self, total: u128) -> Option<u128> {
        self.needed.filter(|needed| needed * total < self.weight * WHOLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares<const N: usize>(weights: [u32; N]) -> Shares {
        let mut shares = Shares::default();
        for (class, weight) in (0..).zip(weights) {
            shares.add(NonZeroU32::new(weight).expect("above zero"));
            shares.activate(class);
        }
        shares
    }

    fn percents<const N: usize>(shares: &Shares) -> [u64; N] {
        // To the nearest.
        core::array::from_fn(|class| ((shares.0[class].part * 1000 / WHOLE) as u64 + 5) / 10)
    }

    #[test]
    fn a_donor_has_what_it_needs_and_the_others_the_rest_by_weight() {
        let mut shares = shares([100, 100, 200]);
        assert_eq!(percents(&shares), [25, 25, 50]);
        shares.begin(0, true, None);
        shares.begin(1, true, None);
        shares.begin(2, true, Some(WHOLE / 10));
        shares.donate();
        assert_eq!(percents(&shares), [45, 45, 10]);
        assert!(shares.take_back(2) && !shares.take_back(2) && !shares.take_back(0));
        assert_eq!(percents(&shares), [25, 25, 50]);
    }

    #[test]
    fn nothing_is_donated_if_all_have_enough_or_the_part_does_not_suffice() {
        let mut shares = shares([1, 3]);
        for needed in [[WHOLE / 10, WHOLE / 10], [WHOLE / 3, WHOLE]] {
            for (class, needed) in (0..).zip(needed) {
                shares.begin(class, true, Some(needed));
            }
            shares.donate();
            assert_eq!(percents(&shares), [25, 75]);
        }
    }

    #[test]
    fn a_class_that_is_gone_has_no_part() {
        let mut shares = shares([1, u32::MAX, 1]);
        shares.begin(1, false, None);
        shares.donate();
        assert_eq!([0, 1, 2].map(|class| shares.percent(class)), [50, 0, 50]);
        assert!(shares.activate(1));
        assert_eq!(shares.percent(1), 99);
        assert!(shares.length(0, 1) >= u128::from(u32::MAX), "a small part, but one");
    }
}
