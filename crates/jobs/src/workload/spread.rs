//! Reads the distribution of an agent's random requests over its region.

use penstock_workload::{Spread, WHOLE_REGION, Weighted};
use serde_json::{Value as Json, json};

use crate::amount::SHARE;
use crate::describe::{self, one_of};
use crate::diagnose::{JobError, Origin};
use crate::keys::{Keys, keys, names, table};
use crate::kinds::{Own, words};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::quoted;
use crate::tree::{Node, Value};
use crate::units::{Share, share_text, size_text};
use crate::workload::region::Edge;
use crate::workload::sizes::{weighted, weighted_schema, weighted_text, weightless};

/// Largest theta: with a larger one all requests go to one place.
const THETA_MOST: f64 = 10.0;
const UNIFORM: &str = "uniform";
const ONCE: &str = "once";

const EDGE: Own<Edge> = Own { read: Edge::read, text: Edge::quoted, schema: Edge::schema };

keys! {
    /// Laws other than the uniform one.
    KEYS:
    /// By rank: the frequency of rank `i` is in proportion to `1/i^theta`. Ranks are scattered over
    /// the region.
    ZIPF zipf: f64 = Own {
        read: |node| Reader::new(node, "the law of Zipf", &[ZIPF_KEYS])?.get(&THETA),
        text: |theta| Rows::of(&[ZIPF_KEYS]).put(&THETA, theta).inline(),
        schema: || table(ZIPF_KEYS),
    };
    /// By rank: the first part `h` of the ranks gets the part `1 - h` of the requests, and so on
    /// within each. Ranks are scattered over the region.
    PARETO pareto: f64 = Own {
        read: |node| Reader::new(node, "the law of Pareto", &[PARETO_KEYS])?.get(&H),
        text: |h| Rows::of(&[PARETO_KEYS]).put(&H, h).inline(),
        schema: || table(PARETO_KEYS),
    };
    /// A normal distribution around a place; values outside the region are drawn again.
    NORMAL normal: (Edge, Edge) = Own {
        read: |node| {
            let reader = Reader::new(node, "the normal law", &[NORMAL_KEYS])?;
            Ok((reader.get(&MEAN)?, reader.get(&DEV)?))
        },
        text: |(mean, dev)| Rows::of(&[NORMAL_KEYS]).put(&MEAN, mean).put(&DEV, dev).inline(),
        schema: || table(NORMAL_KEYS),
    };
    /// The number of the place, counted in requests, is a Poisson variate: its deviation is the
    /// square root of the mean.
    POISSON poisson: Edge = Own {
        read: |node| Reader::new(node, "the law of Poisson", &[POISSON_KEYS])?.get(&MEAN),
        text: |mean| Rows::of(&[POISSON_KEYS]).put(&MEAN, mean).inline(),
        schema: || table(POISSON_KEYS),
    };
    /// Zones, one behind the other: the share of the region of each, and the percentage of the
    /// requests in it, as in `[["10%", 60], ["90%", 40]]`.
    ZONED zoned: Vec<(Share, u32)> = Own {
        read: zones,
        text: |zones| weighted_text(zones.iter().map(|&(share, weight)| (share, weight.into())), &SHARE),
        schema: || weighted_schema(&SHARE.reference()),
    };
}

keys! {
    /// Keys of the law of Zipf.
    ZIPF_KEYS:
    /// The exponent: above 0, at most 10, and not 1.
    THETA theta: f64 = Own { read: theta, text: f64::to_string, schema: theta_schema },
        needs "1.2";
}

keys! {
    /// Keys of the law of Pareto.
    PARETO_KEYS:
    /// Between 0 and 1; 0.2 gives a fifth of the places four fifths of the requests.
    H h: f64 = Own { read: part, text: f64::to_string, schema: part_schema }, needs "0.2";
}

keys! {
    /// Keys of the normal law.
    NORMAL_KEYS:
    /// The middle: a share of the region, or bytes from its beginning.
    MEAN mean: Edge = EDGE, needs "\"50%\"";
    /// The standard deviation: a share of the region, or bytes.
    DEV dev: Edge = EDGE, needs "\"5%\"";
}

/// Keys of the law of Poisson.
const POISSON_KEYS: Keys = &[&MEAN];

/// Kind of a distribution.
pub(crate) const KIND: Own<SpreadSpec> = Own { read, text, schema };

/// Distribution of random requests over a region of any size.
#[derive(Clone, PartialEq, Debug)]
pub enum SpreadSpec {
    /// Every place is equally likely.
    Uniform,
    /// Every place is used once before any is used again.
    Once,
    /// Zipf's law with this theta.
    Zipf(f64),
    /// Pareto's law with this h.
    Pareto(f64),
    /// A normal distribution: mean and deviation.
    Normal(Edge, Edge),
    /// A Poisson distribution of the place's number with this mean.
    Poisson(Edge),
    /// Zones with their shares of the region and their weights.
    Zoned(Vec<(Share, u32)>),
}

fn read(node: &Node) -> Result<SpreadSpec, JobError> {
    let laws = names(&[KEYS]);
    let Value::Table(table) = &node.value else {
        let expected = format!("`{UNIFORM}`, `{ONCE}`, or a table with {}", laws.join(", "));
        return match node.word() {
            Some(word) if word == UNIFORM => Ok(SpreadSpec::Uniform),
            Some(word) if word == ONCE => Ok(SpreadSpec::Once),
            _ => {
                let law = ZIPF.kind.text(&1.2);
                Err(node
                    .expected(&expected)
                    .hint(format!("for example `{{ {} = {law} }}`", ZIPF.name)))
            }
        };
    };
    let reader = Reader::new(node, "the spread", &[KEYS])?;
    if table.entries.len() != 1 {
        let message = format!("expected one law, found {}", table.entries.len());
        return Err(JobError::new(message)
            .at(&node.origin)
            .hint(format!("a spread is one of {}", laws.join(", "))));
    }
    let zipf = reader.find(&ZIPF)?.map(SpreadSpec::Zipf);
    let pareto = reader.find(&PARETO)?.map(SpreadSpec::Pareto);
    let normal = reader.find(&NORMAL)?.map(|(mean, dev)| SpreadSpec::Normal(mean, dev));
    let poisson = reader.find(&POISSON)?.map(SpreadSpec::Poisson);
    let zoned = reader.find(&ZONED)?.map(SpreadSpec::Zoned);
    Ok(zipf.or(pareto).or(normal).or(poisson).or(zoned).expect("one of the laws is given"))
}

fn text(spread: &SpreadSpec) -> String {
    let rows = Rows::of(&[KEYS]);
    match spread {
        SpreadSpec::Uniform => return quoted(UNIFORM),
        SpreadSpec::Once => return quoted(ONCE),
        SpreadSpec::Zipf(theta) => rows.put(&ZIPF, theta),
        SpreadSpec::Pareto(h) => rows.put(&PARETO, h),
        SpreadSpec::Normal(mean, dev) => rows.put(&NORMAL, &(*mean, *dev)),
        SpreadSpec::Poisson(mean) => rows.put(&POISSON, mean),
        SpreadSpec::Zoned(zones) => rows.put(&ZONED, zones),
    }
    .inline()
}

fn schema() -> Json {
    describe::any([words(&[(UNIFORM, ()), (ONCE, ())]), one_of(table(KEYS))])
}

fn theta(node: &Node) -> Result<f64, JobError> {
    node.number(&format!("a number above 0, at most {THETA_MOST}"), |theta| {
        theta > 0.0 && theta <= THETA_MOST
    })
}

fn theta_schema() -> Json {
    json!({"type": "number", "exclusiveMinimum": 0, "maximum": THETA_MOST})
}

fn part(node: &Node) -> Result<f64, JobError> {
    node.number("a number between 0 and 1", |h| h > 0.0 && h < 1.0)
}

fn part_schema() -> Json {
    json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})
}

fn zones(node: &Node) -> Result<Vec<(Share, u32)>, JobError> {
    let expected = "the share of a zone and the percentage of requests, as in [\"10%\", 60]";
    let zones: Vec<(Share, u32)> = weighted(node, expected, &SHARE)?;
    let all: u64 = zones.iter().map(|(share, _)| share.of(WHOLE_REGION.into())).sum();
    if all != u64::from(WHOLE_REGION) {
        let covered = share_text(Share::billionths(u32::try_from(all).unwrap_or(u32::MAX)));
        let message = format!("the zones cover {covered} of the region");
        return Err(JobError::new(message).at(&node.origin).hint("their shares add up to 100%"));
    }
    if zones.iter().all(|(_, weight)| *weight == 0) {
        return Err(weightless(node, "zone"));
    }
    Ok(zones)
}

impl SpreadSpec {
    /// Returns the distribution over a region of `bytes` with `places` places; it was written at
    /// `origin`.
    pub(crate) fn on(&self, bytes: u64, places: u64, origin: &Origin) -> Result<Spread, JobError> {
        let within = |edge: Edge, noun: &str| {
            let at = match edge {
                Edge::Share(share) => share.of(bytes),
                Edge::At(at) => at,
            };
            if at <= bytes {
                return Ok(at);
            }
            let [at, holds] = [at, bytes].map(size_text);
            let message = format!("{noun} of {at} is more than the region, which has {holds}");
            let hint = "write a share of the region, as in `\"50%\"`, or take a larger one";
            Err(JobError::new(message).at(origin).hint(hint))
        };
        let above_zero = |edge: Edge, noun: &str| match within(edge, noun)? {
            0 => {
                let message = format!("{noun} of no byte: every request would go to one place");
                Err(JobError::new(message).at(origin).hint("take a larger one"))
            }
            bytes => Ok(bytes as f64),
        };
        Ok(match self {
            Self::Uniform => Spread::Uniform,
            Self::Once => Spread::Once,
            Self::Zipf(theta) => Spread::Zipf { theta: *theta },
            Self::Pareto(h) => Spread::Pareto { h: *h },
            Self::Normal(mean, dev) => Spread::Normal {
                mean: within(*mean, "a mean")? as f64,
                dev: above_zero(*dev, "a deviation")?,
            },
            Self::Poisson(mean) => Spread::Poisson { mean: above_zero(*mean, "a mean")? },
            Self::Zoned(zones) => Spread::Zoned(zoned(zones, places, origin)?),
        })
    }
}

/// Returns the zones. A zone that gets requests must contain a place.
fn zoned(
    zones: &[(Share, u32)],
    places: u64,
    origin: &Origin,
) -> Result<Weighted<(u32, u32)>, JobError> {
    let (mut until, mut parts) = (0_u32, Vec::with_capacity(zones.len()));
    let place = |part: u32| Share::billionths(part).of(places);
    for &(share, weight) in zones {
        let from = until;
        until += share.of(WHOLE_REGION.into()) as u32;
        if weight > 0 && place(from) == place(until) {
            let share = share_text(share);
            let message =
                format!("a zone of {share} holds no request: the region has {places} places");
            return Err(JobError::new(message)
                .at(origin)
                .hint("take a larger zone, or a larger region"));
        }
        parts.push(((from, until), weight));
    }
    Ok(Weighted::new(parts).expect("checked when it was read"))
}
