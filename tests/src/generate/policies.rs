//! Policies and their parameters: any that the registry declares.

use penstock_jobs::Job;
use penstock_policy::{Kind, MAX_SECTORS, POLICIES, Param};

use super::Draw;

/// A job to which a section with parameters can be added.
const JOB: &str = r#"duration = "1s"
[class.all]
[[agent]]
class = "all"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 1 }
"#;

/// Draws some policies of the registry, each once.
pub(super) fn some(draw: &mut Draw<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for _ in 0..draw.between(1, 3) {
        let name = POLICIES[draw.between(0, POLICIES.len() as u64 - 1) as usize].name;
        if !names.iter().any(|known| known == name) {
            names.push(name.into());
        }
    }
    names
}

/// Draws sections with parameters of some policies.
pub(super) fn sections(draw: &mut Draw<'_>) -> String {
    let mut text = String::new();
    // Requests that no policy merges can be compared among policies.
    let merges = !draw.one_in(3);
    for policy in POLICIES.iter().filter(|policy| !policy.params.is_empty()) {
        let others = || policy.params.iter().filter(|param| param.name != MAX_SECTORS.name);
        let merged = merges || others().count() == policy.params.len();
        if !merged || draw.one_in(3) {
            text += &format!("[policy.{}]\n", policy.name);
            let drawn = if merged { params(draw, policy.params) } else { params(draw, others()) };
            // Values that are valid one by one may not fit together.
            let lines = drawn.iter().map(|(name, value)| format!("{name} = {value}\n"));
            let lines: String = lines.collect();
            let job = format!("{JOB}[policy.{}]\n{lines}", policy.name);
            if Job::parse("drawn.toml", &job, &[]).is_ok() {
                text += &lines;
            }
        }
        if !merged {
            text += &format!("{} = \"off\"\n", MAX_SECTORS.name);
        }
    }
    text
}

/// Draws a disk's own queue.
pub(super) fn queue(draw: &mut Draw<'_>) -> String {
    let policy = &POLICIES[draw.between(0, POLICIES.len() as u64 - 1) as usize];
    let depth = draw.pick(&[2, 1, 4, 32]);
    let mut text = format!("{{ policy = \"{}\", depth = {depth}", policy.name);
    if draw.one_in(3) {
        text += &format!(", overhead = \"{}\"", draw.pick(&["hidden", "in-service"]));
    }
    // A policy with a parameter `depth` takes the depth of the queue.
    let everywhere = policy.params.iter();
    let everywhere = everywhere.filter(|param| ![MAX_SECTORS.name, "depth"].contains(&param.name));
    for (name, value) in params(draw, everywhere.chain(policy.facts.in_drive)) {
        text += &format!(", {name} = {value}");
    }
    text + " }"
}

/// Draws values for some of the parameters.
pub(super) fn params(
    draw: &mut Draw<'_>,
    declared: impl IntoIterator<Item = &'static Param>,
) -> Vec<(&'static str, String)> {
    let mut pairs = Vec::new();
    for param in declared {
        if draw.one_in(2) {
            pairs.push((param.name, value(draw, &param.kind)));
        }
    }
    pairs
}

fn value(draw: &mut Draw<'_>, kind: &Kind) -> String {
    let word = |draw: &mut Draw<'_>, words: &[&str]| format!("\"{}\"", draw.pick(words));
    match kind {
        Kind::SizeOr(words)
        | Kind::DurationOr(words)
        | Kind::PositiveDurationOr(words)
        | Kind::CountOr(_, words)
            if draw.one_in(3) && !words.is_empty() =>
        {
            word(draw, words)
        }
        Kind::Size | Kind::SizeOr(_) => size(draw),
        Kind::Duration | Kind::DurationOr(_) => time(draw),
        Kind::SizeOrGroup(words, members) => match draw.between(0, 2) {
            0 => word(draw, words),
            1 => size(draw),
            _ => group(draw, members),
        },
        Kind::PositiveDurationOr(_) => {
            format!("\"{}ns\"", draw.pick(&[20_000_000, 2_000_000, 500_000_000, 3_000_000_000_u64]))
        }
        Kind::Count(least) | Kind::CountOr(least, _) => {
            (least + draw.pick(&[0, 1, 4, 16, 1_000])).to_string()
        }
        Kind::CountIn(least, most) => (least + draw.pick(&[0, 1, 4, 16])).min(*most).to_string(),
        Kind::Switch => draw.pick(&["false", "true"]).into(),
        Kind::Choice(words) => word(draw, words),
        Kind::Group(_) | Kind::GroupOrDevice(_) if draw.one_in(3) => "\"off\"".into(),
        // A drive's own queue takes no device, and probing one takes longer than a job.
        Kind::Group(members) | Kind::GroupOrDevice(members) => group(draw, members),
        // A list would need the number of classes.
        Kind::PerClass(kind) => value(draw, kind),
    }
}

fn group(draw: &mut Draw<'_>, members: &'static [Param]) -> String {
    let pairs = params(draw, members);
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// Draws a size, not so short that requests become thousands of pieces.
fn size(draw: &mut Draw<'_>) -> String {
    format!("\"{}B\"", draw.pick(&[65_536, 4_096, 10_000, 1 << 20, 1_u64 << 40]))
}

fn time(draw: &mut Draw<'_>) -> String {
    format!("\"{}ns\"", draw.pick(&[1_000_000, 0, 1, 50_000, 20_000_000, 500_000_000]))
}
