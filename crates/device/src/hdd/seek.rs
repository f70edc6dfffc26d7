//! Seek times: a law converted to nanoseconds by distance.
//!
//! Measured laws become a table. A curve through three times is evaluated at each seek, which takes
//! as long as a look-up in the table of a drive with many cylinders, and leaves nothing to build.
//! Floating point appears only here, and only in operations that IEEE 754 rounds exactly, so that
//! every machine finds the same times.

use penstock_core::{Op, Span};

use super::drive::{DriveError, SeekLaw};

/// Most cylinders: fifty times as many as drives have; the table stays below 64 MiB.
const CYLINDERS_MAX: u32 = 1 << 24;

/// Seek times of one drive, in nanoseconds.
#[derive(Debug)]
pub(super) struct SeekTimes {
    by_distance: ByDistance,
    head_switch: u64,
    write_settle: i64,
}

/// Times by distance in cylinders.
#[derive(Debug)]
enum ByDistance {
    /// `u32` suffices, since no arm takes four seconds, and half the memory keeps more of the table
    /// in the processor's cache.
    Table(Box<[u32]>),
    Curve(Curve),
}

impl ByDistance {
    fn ns(&self, distance: u32) -> u32 {
        match self {
            Self::Table(times) => times[distance as usize],
            Self::Curve(_) if distance == 0 => 0,
            Self::Curve(curve) => nearest_ns(curve.ms(distance)) as u32,
        }
    }
}

impl SeekTimes {
    /// Builds the times for distances below `cylinders`.
    pub(super) fn new(
        law: &SeekLaw,
        cylinders: u32,
        head_switch: Span,
        write_settle: i64,
    ) -> Result<Self, DriveError> {
        if cylinders > CYLINDERS_MAX {
            return Err(DriveError::Seek("the drive has more than 16,777,216 cylinders"));
        }
        let by_distance = match law {
            SeekLaw::Table(points) => from_points(points, cylinders)?.map(ByDistance::Table),
            SeekLaw::ListAndCurves { first, below, root, line } => (0..cylinders)
                .map(|d| match (d as usize).checked_sub(1) {
                    None => Some(0),
                    Some(at) if at < first.len() => u32::try_from(first[at].ns()).ok(),
                    Some(_) if d < *below => from_ms(root.0 + root.1 * f64::from(d).sqrt()),
                    Some(_) => from_ms(line.0 + line.1 * f64::from(d)),
                })
                .collect::<Option<_>>()
                .map(ByDistance::Table),
            SeekLaw::ThreePoint { single, average, full } => {
                let curve = Curve::through(*single, *average, *full, cylinders)?;
                curve.is_possible(cylinders).then_some(ByDistance::Curve(curve))
            }
        }
        .ok_or(DriveError::Seek("some distance takes a negative time or more than four seconds"))?;
        Ok(Self { by_distance, head_switch: head_switch.ns(), write_settle })
    }

    /// Returns the nanoseconds to move `distance` cylinders, and to another head if `other_head`.
    /// The longer of the two counts; a write waits for the arm to settle if anything moved.
    pub(super) fn ns(&self, op: Op, distance: u32, other_head: bool) -> u64 {
        let switch = if other_head { self.head_switch } else { 0 };
        let moved = u64::from(self.by_distance.ns(distance)).max(switch);
        if op == Op::Write && moved != 0 {
            moved.saturating_add_signed(self.write_settle)
        } else {
            moved
        }
    }
}

/// Converts milliseconds to nanoseconds.
fn nearest_ns(ms: f64) -> f64 {
    (ms * 1e6).round()
}

/// Converts milliseconds to nanoseconds, if an arm may take as long.
fn from_ms(ms: f64) -> Option<u32> {
    let ns = nearest_ns(ms);
    (0.0..=f64::from(u32::MAX)).contains(&ns).then_some(ns as u32)
}

/// Interpolates between measured points and beyond the last one; `None` if a time is impossible.
fn from_points(points: &[(u32, Span)], cylinders: u32) -> Result<Option<Box<[u32]>>, DriveError> {
    let rising = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
    if points.len() < 2 || points[0].0 == 0 || !rising {
        return Err(DriveError::Seek("a table needs two points or more, by rising distance"));
    }
    // The products below must not overflow.
    if points.iter().any(|&(_, time)| time.ns() > u64::from(u32::MAX)) {
        return Ok(None);
    }
    // Not moving takes no time; this is the point before the first.
    let mut before = (0, 0);
    let mut rest = points.iter().map(|&(distance, time)| (distance, time.ns().cast_signed()));
    let mut after = rest.next().expect("two points");
    let between = |d: u32| {
        while d > after.0 {
            let Some(next) = rest.next() else { break };
            (before, after) = (after, next);
        }
        let (run, rise) = (i64::from(after.0 - before.0), after.1 - before.1);
        // Rounded to the nearest nanosecond.
        let ns = before.1 + (2 * rise * i64::from(d - before.0) + run).div_euclid(2 * run);
        u32::try_from(ns).ok()
    };
    Ok((0..cylinders).map(between).collect())
}

/// `a + b·√d + c·d` in milliseconds.
#[derive(Debug)]
struct Curve {
    a: f64,
    b: f64,
    c: f64,
}

impl Curve {
    /// Returns the curve through the three times, by Cramer's rule after `a` is eliminated.
    fn through(
        single: Span,
        average: Span,
        full: Span,
        cylinders: u32,
    ) -> Result<Self, DriveError> {
        if cylinders < 12 {
            return Err(DriveError::Seek("a curve through three times needs 12 cylinders"));
        }
        let (middle, last) = (f64::from(cylinders / 3), f64::from(cylinders - 1));
        let single = single.ns() as f64 / 1e6;
        let (to_middle, to_last) =
            (average.ns() as f64 / 1e6 - single, full.ns() as f64 / 1e6 - single);
        let (root_middle, root_last) = (middle.sqrt() - 1.0, last.sqrt() - 1.0);
        let determinant = root_middle * (last - 1.0) - root_last * (middle - 1.0);
        let b = (to_middle * (last - 1.0) - to_last * (middle - 1.0)) / determinant;
        let c = (root_middle * to_last - root_last * to_middle) / determinant;
        Ok(Self { a: single - b - c, b, c })
    }

    /// Returns whether an arm can take the times of all distances below `cylinders`: the least and
    /// the greatest lie at the ends, or where the curve turns.
    fn is_possible(&self, cylinders: u32) -> bool {
        let root = self.b / (-2.0 * self.c);
        let turn = (root * root) as u32;
        [1, turn, turn.saturating_add(1), cylinders - 1]
            .iter()
            .all(|distance| from_ms(self.ms((*distance).clamp(1, cylinders - 1))).is_some())
    }

    fn ms(&self, distance: u32) -> f64 {
        self.a + self.b * f64::from(distance).sqrt() + self.c * f64::from(distance)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reads(law: &SeekLaw, cylinders: u32) -> impl Fn(u32) -> u64 + use<> {
        let times = SeekTimes::new(law, cylinders, Span::ZERO, 0).expect("a good law");
        move |distance| times.ns(Op::Read, distance, false)
    }

    #[test]
    fn a_table_is_linear_between_and_beyond_its_points() {
        let points = vec![(1, Span::from_us(10)), (3, Span::from_us(30)), (5, Span::from_us(31))];
        let ns = reads(&SeekLaw::Table(points), 10);
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 7].map(ns),
            [0, 10_000, 20_000, 30_000, 30_500, 31_000, 32_000]
        );
    }

    #[test]
    fn a_curve_meets_its_three_points() {
        let law = SeekLaw::ThreePoint {
            single: Span::from_us(800),
            average: Span::from_us(8_500),
            full: Span::from_ms(16),
        };
        let ns = reads(&law, 250_000);
        assert_eq!([0, 1, 83_333, 249_999].map(ns), [0, 800_000, 8_500_000, 16_000_000]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_curve_is_possible_if_each_of_its_times_is(
            [single, average, full] in prop::array::uniform3(0_u64..5_000),
            cylinders in 12_u32..2_000,
        ) {
            let [single, average, full] = [single, average, full].map(Span::from_ms);
            let curve = Curve::through(single, average, full, cylinders).expect("enough cylinders");
            let each = (1..cylinders).all(|distance| from_ms(curve.ms(distance)).is_some());
            prop_assert_eq!(curve.is_possible(cylinders), each);
        }
    }

    #[test]
    fn a_list_goes_before_the_curves() {
        let law = SeekLaw::ListAndCurves {
            first: vec![Span::from_us(2_890), Span::from_us(3_680)],
            below: 300,
            root: (3.81, 0.33),
            line: (7.75, 0.0059),
        };
        let ns = reads(&law, 2_051);
        assert_eq!([1, 2, 4, 300].map(ns), [2_890_000, 3_680_000, 4_470_000, 9_520_000]);
    }

    #[test]
    fn settling_never_makes_a_seek_negative() {
        let law = SeekLaw::Table(vec![(1, Span::from_us(1)), (2, Span::from_us(5))]);
        let times = SeekTimes::new(&law, 3, Span::from_us(2), -3_000).expect("a good law");
        let write = |distance, other_head| times.ns(Op::Write, distance, other_head);
        assert_eq!(write(0, false), 0, "nothing moved, nothing settles");
        assert_eq!(write(1, false), 0);
        assert_eq!(write(0, true), 0);
        assert_eq!(write(2, true), 2_000);
        assert_eq!(times.ns(Op::Read, 1, true), 2_000, "the head switch is the longer");
    }

    #[test]
    fn an_impossible_law_is_refused() {
        let falling = SeekLaw::Table(vec![(1, Span::from_ms(2)), (2, Span::from_ms(1))]);
        assert!(SeekTimes::new(&falling, 10, Span::ZERO, 0).is_err(), "it falls below zero");
        let one = SeekLaw::Table(vec![(1, Span::from_ms(2))]);
        assert!(SeekTimes::new(&one, 10, Span::ZERO, 0).is_err());
    }
}
