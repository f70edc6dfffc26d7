use penstock_core::{ClassId, Op, Source, Span, Time};

use super::super::{Agent, Agents, Arrivals, Weighted};
use super::*;

const REQUESTS: usize = 1_000_000;
const PLACES: u64 = 1_000;
const SIZE: u32 = 4096;

/// Returns the number of times that each place was drawn in a million requests of an agent.
fn drawn(spread: Spread, seed: u64) -> Vec<u64> {
    let region = 4096..4096 + PLACES * u64::from(SIZE);
    let arrivals = Arrivals::closed(REQUESTS as u32, Span::ZERO);
    let agent = Agent { spread, ..Agent::new(ClassId(0), Op::Read, SIZE, region, arrivals) };
    let mut agents = Agents::new(vec![agent], Seed(seed));
    let mut counts = vec![0; PLACES as usize];
    for _ in 0..REQUESTS {
        let start = agents.take(Time::ZERO).expect("a request").start - 4096;
        assert_eq!(start % u64::from(SIZE), 0);
        counts[(start / u64::from(SIZE)) as usize] += 1;
    }
    counts
}

/// Checks that the counts pass a chi-squared test at 1 % against `law`, the weights of the places.
#[track_caller]
fn follows(counts: &[u64], law: &[f64]) {
    let (all, sum) = (counts.iter().sum::<u64>() as f64, law.iter().sum::<f64>());
    let (mut chi, mut classes) = (0.0_f64, 0.0_f64);
    // Neighbours are combined until at least ten are expected.
    let (mut drawn, mut expected) = (0.0, 0.0);
    for (&count, weight) in counts.iter().zip(law) {
        drawn += count as f64;
        expected += weight / sum * all;
        if expected >= 10.0 {
            chi += (drawn - expected) * (drawn - expected) / expected;
            classes += 1.0;
            (drawn, expected) = (0.0, 0.0);
        }
    }
    assert!(drawn <= 30.0 + 3.0 * expected, "{drawn} instead of {expected} at the end");
    assert!(classes > 1.0, "nothing to compare");
    // Wilson and Hilferty's approximation of the 99th percentile.
    let (freedom, z) = (classes - 1.0, 2.326_348);
    let part = 2.0 / (9.0 * freedom);
    let limit = freedom * (1.0 - part + z * part.sqrt()).powi(3);
    assert!(chi < limit, "chi squared is {chi:.1} of {freedom} degrees; the limit is {limit:.1}");
}

/// Converts counts by place into counts by rank.
fn by_rank(places: &[u64], seed: u64) -> Vec<u64> {
    let scatter = Scatter::new(PLACES, Seed(seed));
    (0..PLACES).map(|rank| places[scatter.place(rank) as usize]).collect()
}

#[test]
fn uniform_requests_are_uniform() {
    follows(&drawn(Spread::Uniform, 1), &[1.0; PLACES as usize]);
}

#[test]
fn each_place_comes_once_before_any_comes_again() {
    for count in [1, 2, 3, 7, 1000, 4097] {
        let order = |agent, pass: u64| {
            let shuffle = Shuffle::new(count, Seed(3), agent);
            (0..count).map(|number| shuffle.place(pass * count + number)).collect::<Vec<_>>()
        };
        let orders = [order(0, 0), order(0, 1), order(1, 0)];
        for order in &orders {
            let mut places = order.clone();
            places.sort_unstable();
            assert_eq!(places, (0..count).collect::<Vec<_>>());
        }
        assert!(count < 7 || orders[0] != orders[1] && orders[0] != orders[2]);
    }
    assert_eq!(drawn(Spread::Once, 1), vec![REQUESTS as u64 / PLACES; PLACES as usize]);
}

#[test]
fn where_a_place_lies_says_nothing_of_the_next() {
    let shuffle = Shuffle::new(PLACES, Seed(1), 0);
    let tenth = |number| shuffle.place(number) * 10 / PLACES;
    let mut pairs = vec![0; 100];
    for number in 0..REQUESTS as u64 {
        pairs[(tenth(number) * 10 + tenth(number + 1)) as usize] += 1;
    }
    follows(&pairs, &[1.0; 100]);
}

#[test]
#[should_panic(expected = "chi squared")]
fn the_test_itself_finds_a_place_that_is_too_frequent() {
    let mut counts = drawn(Spread::Uniform, 1);
    counts[17] += 500;
    follows(&counts, &[1.0; PLACES as usize]);
}

/// Returns the frequency of each rank by Zipf's law.
fn zipf(theta: f64) -> Vec<f64> {
    let weight = |rank: u64| (rank as f64).powf(-theta);
    let sum: f64 = (1..=PLACES).map(weight).sum();
    (1..=PLACES).map(|rank| weight(rank) / sum).collect()
}

#[test]
fn every_rank_is_as_frequent_as_zipf_has_it() {
    for (theta, seed) in [(1.2, 11), (0.8, 12), (0.5, 13), (2.5, 14), (1.0, 15), (1.0 + 1e-7, 16)] {
        let law = zipf(theta);
        let ranks = by_rank(&drawn(Spread::Zipf { theta }, seed), seed);
        follows(&ranks, &law);
        for until in [1, 2, 10, 20, 100, 1_000] {
            let drawn = ranks[..until].iter().sum::<u64>() as f64 / REQUESTS as f64;
            let expected: f64 = law[..until].iter().sum();
            let apart = (drawn / expected - 1.0).abs();
            assert!(apart < 0.03, "theta {theta}, until rank {until}: {drawn} for {expected}");
        }
    }
}

#[test]
fn pareto_gives_the_first_part_of_the_ranks_the_rest_of_the_requests() {
    for (h, seed) in [(0.2, 1), (0.1, 2), (0.5, 3)] {
        let ranks = by_rank(&drawn(Spread::Pareto { h }, seed), seed);
        let power = (1.0_f64 - h).ln() / h.ln();
        let until = |k: u64| (k as f64 / PLACES as f64).powf(power);
        let law: Vec<f64> = (0..PLACES).map(|k| until(k + 1) - until(k)).collect();
        follows(&ranks, &law);
        let first: u64 = ranks[..(h * PLACES as f64) as usize].iter().sum();
        let part = first as f64 / REQUESTS as f64;
        assert!((part - (1.0 - h)).abs() < 0.002, "{h}: {part}");
    }
}

#[test]
fn normal_places_are_the_part_of_the_density_within_the_region() {
    let size = f64::from(SIZE);
    for (mean, dev) in [(500.0, 100.0), (0.0, 300.0), (900.5, 1_000.0)] {
        let spread = Spread::Normal { mean: mean * size, dev: dev * size };
        let density = |x: f64| (-(x - mean) * (x - mean) / (2.0 * dev * dev)).exp();
        // Simpson's rule over each place.
        let law = (0..PLACES).map(|place| {
            let x = place as f64;
            (density(x) + 4.0 * density(x + 0.5) + density(x + 1.0)) / 6.0
        });
        follows(&drawn(spread, 1), &law.collect::<Vec<_>>());
    }
}

#[test]
fn poisson_numbers_have_the_law_of_poisson() {
    for mean in [400.0, 7.5, 990.0] {
        let spread = Spread::Poisson { mean: mean * f64::from(SIZE) };
        let mut log = -mean;
        let law = (0..PLACES).map(|place| {
            if place > 0 {
                log += f64::ln(mean) - (place as f64).ln();
            }
            log.exp()
        });
        follows(&drawn(spread, 1), &law.collect::<Vec<_>>());
    }
}

#[test]
fn zones_get_their_shares() {
    let share = |percent: u32| percent * (WHOLE_REGION / 100);
    let zones = [
        ((0, share(10)), 60),
        ((share(10), share(40)), 30),
        ((share(40), share(60)), 0),
        ((share(60), share(100)), 10),
    ];
    let law = (0..PLACES).map(|place| match place {
        0..100 => 60.0 / 100.0,
        100..400 => 30.0 / 300.0,
        400..600 => 0.0,
        _ => 10.0 / 400.0,
    });
    let spread = Spread::Zoned(Weighted::new(zones).expect("a weight above zero"));
    let counts = drawn(spread, 1);
    follows(&counts, &law.collect::<Vec<_>>());
    assert_eq!(counts[400..600].iter().sum::<u64>(), 0);
}

#[test]
fn sizes_have_their_weights_and_every_place_holds_the_longest() {
    let sizes =
        Weighted::new([(4096, 60), (65_536, 40), (1 << 20, 0)]).expect("a weight above zero");
    let arrivals = Arrivals::closed(REQUESTS as u32, Span::ZERO);
    let agent = Agent { sizes, ..Agent::new(ClassId(0), Op::Read, 4096, 0..1 << 20, arrivals) };
    let mut agents = Agents::new(vec![agent], Seed(1));
    let (mut found, mut places) = ([0; 2], vec![0; 241]);
    for io in std::iter::from_fn(|| agents.take(Time::ZERO)).take(REQUESTS) {
        found[usize::from(io.len == 65_536)] += 1;
        assert!(io.len == 4096 || io.len == 65_536);
        places[(io.start / 4096) as usize] += 1;
    }
    follows(&found, &[60.0, 40.0]);
    follows(&places, &[1.0; 241]);
}

#[test]
fn each_rank_has_a_place_of_its_own() {
    for count in [1, 2, 3, 10, 999, 1_000, 4_096, 65_537] {
        let scatter = Scatter::new(count, Seed(7));
        let mut places: Vec<u64> = (0..count).map(|rank| scatter.place(rank)).collect();
        places.sort_unstable();
        assert!(places.into_iter().eq(0..count), "{count}");
    }
}

#[test]
fn regions_of_few_places_have_each_law() {
    for count in 1..4 {
        let mean = f64::from(SIZE);
        let laws = [
            Spread::Zipf { theta: 0.9 },
            Spread::Zipf { theta: 10.0 },
            Spread::Pareto { h: 0.01 },
            Spread::Normal { mean: 0.0, dev: mean },
            Spread::Poisson { mean },
        ];
        for law in laws {
            let places = SpreadPlaces::new(&law, count, SIZE.into(), Seed(1), 0);
            let mut rng = Seed(1).stream("test", 0);
            assert!((0..1_000).all(|n| places.draw(&mut rng, n) < count), "{law:?} of {count}");
        }
    }
}
