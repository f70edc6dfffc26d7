//! Seek times of a drive that is described by its geometry: a table of measured times, or a curve
//! through the times of a data sheet.
//!
//! A curve is `a + b·√d + c·d` through three times, or a square root up to a knee and a straight
//! line behind it.

use penstock_core::Span;
use penstock_device::hdd::SeekLaw;
use serde_json::{Value as Json, json};

use crate::amount::{Amount, Count, TIME};
use crate::describe::{any, list as list_of, with};
use crate::diagnose::JobError;
use crate::keys::{Keys, keys, required, table, without};
use crate::kinds::{Own, list};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::tree::{Node, Value};

/// Bound of a seek.
const SEEK: Amount = TIME.at_most(Span::from_ms(500).ns());
/// Longest distance in cylinders: more than any drive has.
const DISTANCE_MOST: u64 = 1 << 24;
const EXAMPLE: &str = "{ single = \"1ms\", average = \"7ms\", full = \"13ms\" } or \
                       [{ distance = 1, takes = \"1ms\" }, …]";

keys! {
    /// Keys of a curve.
    KEYS:
    /// Seek to the next cylinder.
    SINGLE single: Span = SEEK, needs "\"1ms\"";
    /// Average seek: one over a third of the cylinders.
    AVERAGE average: Span = SEEK;
    /// Distance at which the square root ends and the straight line begins.
    KNEE knee: u32 = Count(2, DISTANCE_MOST);
    /// Time of a seek over that distance.
    AT_KNEE at_knee: Span = SEEK;
    /// Seek over all cylinders.
    FULL full: Span = SEEK, needs "\"13ms\"";
}
/// Keys of a curve through three times, and of a curve with a knee.
const THREE: Keys = &[&AVERAGE];
const BENT: Keys = &[&KNEE, &AT_KNEE];

keys! {
    /// Keys of a measured time.
    POINT_KEYS:
    /// Distance in cylinders.
    DISTANCE distance: u32 = Count(1, DISTANCE_MOST), needs "1";
    /// Time of a seek over this distance.
    MEASURED takes: Span = SEEK, needs "\"1ms\"";
}

/// A list of times, or a table of a curve.
pub(super) const KIND: Own<SeekSpec> = Own { read, text, schema };

/// Seek times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SeekSpec {
    /// Measured times by rising distance, linear between them and beyond the last.
    Table(Vec<(u32, Span)>),
    /// A curve through the times to the next cylinder, over a third of all cylinders, and over all.
    ThreePoint([Span; 3]),
    /// A square root up to the knee, and a straight line to the longest distance.
    Knee {
        /// Seek to the next cylinder.
        single: Span,
        /// Distance and time of the knee.
        knee: (u32, Span),
        /// Seek over all cylinders.
        full: Span,
    },
}

fn read(node: &Node) -> Result<SeekSpec, JobError> {
    if let Value::List(items) = &node.value {
        let point = |item: &Node| {
            let reader = Reader::new(item, "the seek time", &[POINT_KEYS])?;
            Ok((reader.get(&DISTANCE)?, reader.get(&MEASURED)?))
        };
        return items.iter().map(point).collect::<Result<_, _>>().map(SeekSpec::Table);
    }
    let Value::Table(_) = node.value else { return Err(node.expected(EXAMPLE)) };
    let reader = Reader::new(node, "the seek curve", &[KEYS])?;
    let (single, full) = (reader.get(&SINGLE)?, reader.get(&FULL)?);
    let hint = "a curve has an `average`, or a `knee` with its time `at_knee`";
    match (reader.find(&AVERAGE)?, reader.find(&KNEE)?, reader.find(&AT_KNEE)?) {
        (Some(average), None, None) => Ok(SeekSpec::ThreePoint([single, average, full])),
        (None, Some(knee), Some(at)) => Ok(SeekSpec::Knee { single, knee: (knee, at), full }),
        (Some(_), ..) => {
            reader.refuse(BENT, "does not go with `average`", hint).map(|()| unreachable!("one is"))
        }
        _ => Err(JobError::new("the seek curve has no middle").at(&node.origin).hint(hint)),
    }
}

fn text(seek: &SeekSpec) -> String {
    let rows = Rows::of(&[KEYS]);
    match seek {
        SeekSpec::Table(points) => list(points, |(distance, time)| {
            Rows::of(&[POINT_KEYS]).put(&DISTANCE, distance).put(&MEASURED, time).inline()
        }),
        SeekSpec::ThreePoint([single, average, full]) => {
            rows.put(&SINGLE, single).maybe(&AVERAGE, Some(average)).put(&FULL, full).inline()
        }
        SeekSpec::Knee { single, knee: (knee, at), full } => rows
            .put(&SINGLE, single)
            .maybe(&KNEE, Some(knee))
            .maybe(&AT_KNEE, Some(at))
            .put(&FULL, full)
            .inline(),
    }
}

fn schema() -> Json {
    let middles = any([with(required(THREE), without(BENT)), with(required(BENT), without(THREE))]);
    let curve = json!({"allOf": [table(KEYS), middles]});
    any([curve, list_of(&table(POINT_KEYS))])
}

impl SeekSpec {
    /// Checks that the times suit a drive with this number of cylinders.
    pub(super) fn check(&self, cylinders: u32) -> Result<(), JobError> {
        let (times, order) = match self {
            Self::Table(points) => {
                let rising = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
                if points.len() < 2 || !rising {
                    let message = "a table of seek times needs two or more, by rising distance";
                    return Err(JobError::new(message).hint("or write a curve through three times"));
                }
                return Ok(());
            }
            Self::ThreePoint(times) => (*times, "`single` ≤ `average` ≤ `full`"),
            Self::Knee { single, knee: (knee, at), full } => {
                if *knee + 1 >= cylinders {
                    let message =
                        format!("the knee at {knee} is beyond a seek over {cylinders} cylinders");
                    return Err(
                        JobError::new(message).hint("it lies between the first and the last")
                    );
                }
                ([*single, *at, *full], "`single` ≤ `at_knee` ≤ `full`")
            }
        };
        if times.is_sorted() {
            return Ok(());
        }
        let message = "a longer seek takes a shorter time";
        Err(JobError::new(message).hint(order))
    }

    /// Returns the seek law of a drive with this number of cylinders.
    pub(super) fn law(&self, cylinders: u32) -> SeekLaw {
        match self {
            Self::Table(points) => SeekLaw::Table(points.clone()),
            &Self::ThreePoint([single, average, full]) => {
                SeekLaw::ThreePoint { single, average, full }
            }
            Self::Knee { single, knee: (knee, at), full } => {
                let [single, at, full] = [single, at, full].map(|time| time.ns() as f64 / 1e6);
                let factor = (at - single) / (f64::from(*knee).sqrt() - 1.0);
                let slope = (full - at) / f64::from(cylinders - 1 - knee);
                SeekLaw::ListAndCurves {
                    first: Vec::new(),
                    below: *knee,
                    root: (single - factor, factor),
                    line: (at - slope * f64::from(*knee), slope),
                }
            }
        }
    }
}
