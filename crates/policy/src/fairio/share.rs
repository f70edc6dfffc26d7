//! The division of the coming cycle into shares.

/// The input of the division for a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// Its weight; 0 if it takes no part.
    pub(super) weight: u64,
    /// Its use in the window.
    pub(super) used: u64,
}

/// Divides `service` among `claims`. The share of a class brings its use to its part of the window
/// and the coming cycle together, but is not below zero; then all shares are scaled, so that the
/// sum is `service` to the nanosecond. The nanoseconds lost by rounding go one by one to the
/// classes in `first` in its order, then to the others, so the shares do not depend on the order in
/// which a job lists its classes. `raw` is working memory, one entry for each claim.
pub(super) fn divide(
    service: u64,
    claims: &[Claim],
    first: &[u32],
    raw: &mut [u128],
    shares: &mut [u64],
) {
    let weights: u128 = claims.iter().map(|claim| u128::from(claim.weight)).sum();
    let active = || claims.iter().filter(|claim| claim.weight > 0);
    let used: u128 = active().map(|claim| u128::from(claim.used)).sum();
    // `raw` is in nanoseconds times weights. The weights of 65,536 classes, each below 2^32, sum to
    // less than 2^48. Use fits a u64 per class, so its sum plus `service` is below 2^81, and below
    // 2^113 when multiplied by a weight.
    let total = used + u128::from(service);
    for (raw, claim) in raw.iter_mut().zip(claims) {
        let due = u128::from(claim.weight) * total;
        let had = weights * u128::from(claim.used);
        *raw = if claim.weight == 0 { 0 } else { due.saturating_sub(had) };
    }
    // If the greatest has more than 64 bits, all are shifted so that the product with `service`
    // fits.
    let greatest = raw.iter().copied().max().unwrap_or(0);
    let shift = (u128::BITS - greatest.leading_zeros()).saturating_sub(u64::BITS);
    for raw in raw.iter_mut() {
        *raw >>= shift;
    }
    // The sum is above zero if any class is active: before the shift it is at least
    // `weights · service`.
    let sum: u128 = raw.iter().sum();
    let mut left = service;
    for (share, raw) in shares.iter_mut().zip(raw.iter()) {
        *share = (u128::from(service) * *raw).checked_div(sum).unwrap_or(0) as u64;
        left -= *share;
    }
    // Each class with a share above zero lost less than 1 ns, so there are enough of them.
    for class in first.iter().map(|&class| class as usize).chain(0..claims.len()) {
        if left > 0 && core::mem::take(&mut raw[class]) > 0 {
            shares[class] += 1;
            left -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn shares(service: u64, claims: &[Claim], first: &[u32]) -> Vec<u64> {
        let mut shares = vec![0; claims.len()];
        divide(service, claims, first, &mut vec![0; claims.len()], &mut shares);
        shares
    }

    fn claim(weight: u64, used: u64) -> Claim {
        Claim { weight, used }
    }

    #[test]
    fn without_a_deviation_shares_are_those_of_the_weights() {
        assert_eq!(shares(600, &[claim(1, 0), claim(2, 0), claim(3, 0)], &[]), [100, 200, 300]);
        assert_eq!(shares(600, &[claim(1, 50), claim(2, 100)], &[]), [200, 400]);
        assert_eq!(shares(9, &[claim(0, 7), claim(5, 2)], &[]), [0, 9], "one is not active");
    }

    #[test]
    fn a_class_above_its_part_gets_less_and_the_rest_is_scaled() {
        // Equal weights, 400 and 100 used: 1,000 for both would be 750 and 750.
        assert_eq!(shares(1_000, &[claim(1, 400), claim(1, 100)], &[]), [350, 650]);
        // The first is 1,250 above its part of everything: it gets nothing, the others all.
        assert_eq!(shares(900, &[claim(1, 2_000), claim(1, 0), claim(1, 100)], &[]), [0, 474, 426]);
    }

    #[test]
    fn rounding_losses_go_out_in_the_order_of_first_arrivals() {
        let claims = [claim(1, 0); 3];
        assert_eq!(shares(100, &claims, &[2, 0]), [33, 33, 34]);
        assert_eq!(shares(101, &claims, &[2, 0]), [34, 33, 34]);
        assert_eq!(shares(100, &claims, &[]), [34, 33, 33]);
    }

    prop_compose! {
        fn any_claim()(weight in prop_oneof![0_u64..5, 1_u64..u32::MAX.into()],
                       used in prop_oneof![0_u64..1_000_000_000_000, any::<u64>()]) -> Claim {
            Claim { weight, used }
        }
    }

    proptest! {
        #[test]
        fn shares_add_up_to_the_nanosecond(
            service in 1_u64..1 << 62,
            claims in prop::collection::vec(any_claim(), 1..60),
        ) {
            let shares = shares(service, &claims, &[]);
            let active = claims.iter().any(|claim| claim.weight > 0);
            prop_assert_eq!(shares.iter().sum::<u64>(), if active { service } else { 0 });
            for (share, claim) in shares.iter().zip(&claims) {
                prop_assert!(claim.weight > 0 || *share == 0);
            }
        }

        /// Shares depend on the order of arrival, not on the order in which classes are listed.
        #[test]
        fn classes_listed_otherwise_get_the_same(
            service in 1_u64..1 << 50,
            claims in prop::collection::vec(any_claim(), 2..20),
            turn in 1_usize..20,
        ) {
            let n = claims.len();
            let first: Vec<u32> = (0..n as u32).rev().collect();
            let expected = shares(service, &claims, &first);
            let turned = |class: usize| (class + turn) % n;
            let mut others = claims.clone();
            (0..n).for_each(|class| others[turned(class)] = claims[class]);
            let order: Vec<u32> = first.iter().map(|&c| turned(c as usize) as u32).collect();
            let again = shares(service, &others, &order);
            (0..n).for_each(|class| assert_eq!(expected[class], again[turned(class)]));
        }

        #[test]
        fn more_weight_is_no_smaller_share(
            weights in prop::collection::vec(1_u64..1_000, 2..10),
            more in 1_u64..1_000,
        ) {
            let claims: Vec<_> = weights.iter().map(|&weight| claim(weight, 5_000)).collect();
            let mut heavier = claims.clone();
            heavier[0].weight += more;
            prop_assert!(shares(1_000_000, &heavier, &[])[0] >= shares(1_000_000, &claims, &[])[0]);
        }
    }
}
