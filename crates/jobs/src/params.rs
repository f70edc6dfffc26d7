//! Reads the parameters of policies as the registry declares them.

use penstock_policy::{Entry, Kind, POLICIES, Param, Params, Value};
use serde_json::Value as Json;

use crate::amount::{self, SIZE, TIME};
use crate::diagnose::{JobError, quote};
use crate::kinds::Kind as _;
use crate::nearest::suggest;
use crate::reader::Reader;
use crate::text;
use crate::tree::{self, Node};
use crate::units::{self, Quantity};

/// Resolves a node that names a device.
pub(crate) type Device<'a> = &'a dyn Fn(&Node) -> Result<String, JobError>;

/// Schedulers of the kernel whose name no policy has.
const KERNEL: [&str; 1] = ["none"];

/// Returns the policy called `name`.
///
/// # Errors
/// No policy has this name.
pub fn policy(name: &str) -> Result<&'static Entry, JobError> {
    if name.is_empty() {
        let hint = "names stand between commas, as in `noop,size-priority`";
        return Err(JobError::new("a policy without a name").hint(hint));
    }
    penstock_policy::find(name).ok_or_else(|| {
        let names = POLICIES.iter().map(|policy| policy.name);
        let hint = if KERNEL.contains(&name) {
            format!("on a real file or disk `kernel:{name}` is the kernel's scheduler")
        } else {
            suggest(name, names)
        };
        JobError::new(format!("unknown policy {}", quote(name))).hint(hint)
    })
}

/// Reads the members of a group from the table `node`; missing members have their defaults.
fn group(
    params: &'static [Param],
    node: &Node,
    title: &str,
    device: Device<'_>,
) -> Result<Params, JobError> {
    let names: Vec<&str> = params.iter().map(|param| param.name).collect();
    let reader = Reader::with(node, title, names)?;
    read(params, &reader, device)
}

/// Reads the values of `params`; missing parameters have their defaults.
pub(crate) fn read(
    params: &'static [Param],
    reader: &Reader<'_>,
    device: Device<'_>,
) -> Result<Params, JobError> {
    change(Params::defaults(params), params, reader, device)
}

/// Replaces in `values` the parameters that `reader` has.
pub(crate) fn change(
    mut values: Params,
    params: impl IntoIterator<Item = &'static Param>,
    reader: &Reader<'_>,
    device: Device<'_>,
) -> Result<Params, JobError> {
    for param in params {
        if let Some(node) = reader.named(param.name) {
            values.set(param.name, value(&param.kind, param.name, node, device)?);
        }
    }
    Ok(values)
}

/// Reads a value of `kind`, of the parameter called `name`.
fn value(kind: &Kind, name: &str, node: &Node, device: Device<'_>) -> Result<Value, JobError> {
    match *kind {
        Kind::Size => size(node),
        Kind::SizeOr(words) => word_or(node, words, &units::SIZE, "", size),
        Kind::SizeOrGroup(_, members) if matches!(node.value, tree::Value::Table(_)) => {
            Ok(Value::Group(group(members, node, name, device)?))
        }
        Kind::SizeOrGroup(words, members) => {
            let example = members.first().map_or("", |member| member.name);
            let table = format!(", a table `{{ {example} = … }}`");
            word_or(node, words, &units::SIZE, &table, size)
        }
        Kind::Duration => duration(node),
        Kind::DurationOr(words) => word_or(node, words, &units::DURATION, "", duration),
        Kind::PositiveDurationOr(&[]) => positive_duration(node),
        Kind::PositiveDurationOr(words) => {
            word_or(node, words, &units::DURATION, "", positive_duration)
        }
        Kind::Count(least) => Ok(Value::Count(node.count(least, u64::from(u32::MAX))?)),
        Kind::CountIn(least, most) => Ok(Value::Count(node.count(least, most)?)),
        Kind::CountOr(least, words) => match find(node, words) {
            Some(word) => Ok(Value::Word(word)),
            // An argument of `--set` has its number as a word.
            None if node.word().is_some_and(|word| word.parse::<i128>().is_err()) => {
                Err(node.expected(&count_or(least, words)))
            }
            None => Ok(Value::Count(node.count(least, u64::from(u32::MAX))?)),
        },
        // The kernel's files have 0 and 1.
        Kind::Switch => match node.count(0, 1) {
            Ok(digit) => Ok(Value::Switch(digit == 1)),
            Err(_) => Ok(Value::Switch(node.boolean()?)),
        },
        Kind::Choice(words) => Ok(Value::Word(node.choice(words)?)),
        // Any word other than `on` and `off` is a file or a device.
        Kind::GroupOrDevice(_)
            if node.word().is_some_and(|word| !["on", "off"].contains(&word)) =>
        {
            device(node).map(Value::Device)
        }
        Kind::Group(members) | Kind::GroupOrDevice(members) => {
            match (find(node, &["off"]), node.word()) {
                (Some(off), _) => Ok(Value::Word(off)),
                // Lists show the default of a group as `on`.
                (None, Some("on")) => Ok(Value::Group(Params::defaults(members))),
                (None, Some(_)) => {
                    let example = members.first().map_or("", |member| member.name);
                    let hint = format!(
                        "write `off`, or a table of its members, as in {{ {example} = … }}"
                    );
                    Err(node.expected("a table or `off`").hint(hint))
                }
                (None, None) => Ok(Value::Group(group(members, node, name, device)?)),
            }
        }
        Kind::PerClass(kind) => per_class(kind, name, node, device),
    }
}

/// Reads a value of `kind` for all classes, or a list of one each.
fn per_class(kind: &Kind, name: &str, node: &Node, device: Device<'_>) -> Result<Value, JobError> {
    if !matches!(node.value, tree::Value::List(_) | tree::Value::Word(_)) {
        return value(kind, name, node, device);
    }
    let values = node.list("a value, or a list of values")?;
    let values = values.iter().map(|node| value(kind, name, node, device));
    let mut values = values.collect::<Result<Vec<_>, _>>()?;
    match values.len() {
        0 => Err(node
            .expected("a value for each class")
            .hint("leave the key out, or write a value for all classes")),
        1 => Ok(values.remove(0)),
        _ => Ok(Value::List(values)),
    }
}

fn find(node: &Node, words: &[&'static str]) -> Option<&'static str> {
    words.iter().copied().find(|&word| node.word() == Some(word))
}

/// Reads one of `words`, or a quantity. `alternatives` is what else the message offers.
fn word_or(
    node: &Node,
    words: &'static [&'static str],
    quantity: &Quantity,
    alternatives: &str,
    read: impl Fn(&Node) -> Result<Value, JobError>,
) -> Result<Value, JobError> {
    match amount::word(node, words, quantity, alternatives)? {
        Some(word) => Ok(Value::Word(word)),
        None => read(node),
    }
}

fn duration(node: &Node) -> Result<Value, JobError> {
    TIME.read(node).map(Value::Duration)
}

fn positive_duration(node: &Node) -> Result<Value, JobError> {
    TIME.above_zero().read(node).map(Value::Duration)
}

/// Describes the expected number or word.
fn count_or(least: u64, words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
    format!("a whole number of at least {least}, or {}", words.join(" or "))
}

fn size(node: &Node) -> Result<Value, JobError> {
    SIZE.above_zero().read(node).map(Value::Size)
}

/// Returns parameters as users write them: sizes and times with units, counts without.
pub fn params_json(params: &Params) -> Json {
    text::params_json(params)
}

/// Returns a value as an argument has it.
fn word(value: &Value) -> String {
    match text::param_json(value) {
        Json::String(text) => text,
        other => other.to_string(),
    }
}

/// Returns the arguments that give a policy `params`, without its name: `split=64KiB`, `guard.after=16`.
pub fn arguments(params: &Params) -> Vec<String> {
    let argument = |(name, value): &(&'static str, Value)| match value {
        Value::Group(members) => {
            arguments(members).iter().map(|member| format!("{name}.{member}")).collect()
        }
        Value::List(values) => {
            let words = values.iter().map(word).collect::<Vec<_>>();
            vec![format!("{name}={}", words.join(","))]
        }
        _ => vec![format!("{name}={}", word(value))],
    };
    params.iter().flat_map(argument).collect()
}

#[cfg(test)]
mod tests {
    use penstock_core::Span;
    use penstock_policy::{POLICIES, Value, charge, find};

    use super::arguments;
    use crate::job::Job;
    use crate::policies;

    const JOB: &str = r#"duration = "10s"
[class.all]
[[agent]]
class = "all"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 1 }
"#;

    #[test]
    fn the_arguments_of_parameters_give_them_again() {
        for entry in POLICIES {
            let job = Job::parse("job.toml", JOB, &[]).unwrap();
            let params = entry.real(job.params(entry.name).unwrap());
            let again = policies::set(entry, &arguments(&params)).unwrap();
            assert_eq!(again, params, "{}", entry.name);
        }
    }

    /// Returns the value of `class-priority.aging` after `--set`, or the message.
    fn aging(value: &str) -> Result<Option<Span>, String> {
        let job = Job::parse("job.toml", JOB, &[format!("class-priority.aging={value}")]);
        let params = job.map_err(|error| error.to_string())?.params("class-priority");
        Ok(params.expect("a policy").duration_or("aging"))
    }

    #[test]
    fn a_length_of_time_or_a_word_is_one_of_them_and_nothing_else() {
        assert_eq!(aging("300ms"), Ok(Some(Span::from_ms(300))));
        assert_eq!(aging("off"), Ok(None));
        for (value, said) in [
            ("of", ["expected a length of time or `off`, found `of`", "did you mean `off`?"]),
            ("soon", ["expected a length of time or `off`", "with its unit, as in `10ms`"]),
            ("300", ["300 has no unit; expected a length of time", "write `300s` or `300ms`"]),
        ] {
            let message = aging(value).unwrap_err();
            assert!(said.iter().all(|said| message.contains(said)), "{message}");
        }
    }

    fn fairio(sets: &[&str]) -> Result<super::Params, String> {
        let sets: Vec<String> = sets.iter().map(|set| format!("fairio.{set}")).collect();
        let job = Job::parse("job.toml", JOB, &sets).map_err(|error| error.to_string())?;
        Ok(job.params("fairio").expect("a policy"))
    }

    #[test]
    fn a_number_or_a_word_is_one_of_them_and_nothing_else() {
        assert_eq!(fairio(&["load=4"]).unwrap().count_or("load"), Some(4));
        assert_eq!(fairio(&["load=auto"]).unwrap().count_or("load"), None);
        for (set, said) in [
            ("load=many", "expected a whole number of at least 0, or `auto`, found `many`"),
            ("cap=0", "expected a whole number of at least 1"),
            ("window=1001", "1000"),
            ("cycle=0ms", "expected a length of time above zero"),
        ] {
            let message = fairio(&[set]).unwrap_err();
            assert!(message.contains(said), "{set}: {message}");
        }
    }

    /// Returns `token-bucket.iops` of a job with two classes and further `lines`.
    fn iops(lines: &str, sets: &[String]) -> Result<Value, String> {
        let text = JOB.replace("[class.all]", "[class.web]\n[class.all]") + lines;
        let job = Job::parse("job.toml", &text, sets).map_err(|error| error.to_string())?;
        let again = Job::parse("job.toml", &job.text(), &[]).expect("its own text");
        assert_eq!(again.policies, job.policies);
        Ok(job.params("token-bucket").expect("a policy").get("iops").clone())
    }

    #[test]
    fn one_value_holds_for_all_classes_or_each_has_its_own() {
        let set = |value: &str| iops("", &[format!("token-bucket.iops={value}")]);
        let list = Value::List(vec![Value::Word("off"), Value::Count(200)]);
        assert_eq!(set("200"), Ok(Value::Count(200)));
        assert_eq!(set("off, 200"), Ok(list.clone()));
        let file = "[policy.token-bucket]\niops = [\"off\", 200]\n";
        assert_eq!(iops(file, &[]), Ok(list.clone()));
        let entry = find("token-bucket").expect("a policy");
        let params = entry.defaults().with("iops", list);
        assert_eq!(policies::set(entry, &arguments(&params)).unwrap(), params);
        for (value, said) in [
            ("1,2,3", "expected a value for each class, found 3"),
            ("1,2,3", "the classes are `web`, `all`; one value holds for all"),
            ("0,1", "expected a whole number of at least 1"),
            ("1,", "expected a whole number of at least 1, or `off`, found nothing"),
            ("1,of", "expected a whole number of at least 1, or `off`, found `of`"),
            ("[1,2]", "lists of --set are values with commas, no brackets"),
        ] {
            let message = set(value).unwrap_err();
            assert!(message.contains(said), "{value}: {message}");
        }
        let message = iops("[policy.token-bucket]\niops = []\n", &[]).unwrap_err();
        assert!(message.contains("expected a value for each class, found a list"), "{message}");
    }

    #[test]
    fn parameters_that_do_not_fit_together_are_refused_where_they_stand() {
        for (sets, said) in [
            (&["load=8", "cap=4"][..], ["load 8 is above cap 4", "fairio.load=8", "leave it at"]),
            (&["cycle=20us"], ["a cycle of 0.02ms is shorter", "fairio.cycle=20us", "1ms or more"]),
        ] {
            let message = fairio(sets).unwrap_err();
            assert!(said.iter().all(|said| message.contains(said)), "{message}");
        }
        assert!(fairio(&["load=8", "cap=8"]).is_ok());
    }

    #[test]
    fn costs_by_operation_are_tables_in_a_table() {
        let text = JOB.to_owned()
            + "[policy.fairio]\ncharge = \"law\"\nlaw = { read = { per_mb = \"532us\" } }\n";
        let params = Job::parse("job.toml", &text, &[]).expect("a job").params("fairio").unwrap();
        let law = params.group("law").expect("a table");
        let read = law.group("read").expect("a table");
        assert_eq!(read.duration("per_mb"), Span::from_us(532));
        assert!(law.group("write").is_none());
        let nested = fairio(&["law.write.base=20us"]).unwrap();
        let write = nested.group("law").and_then(|law| law.group("write")).expect("tables");
        assert_eq!(write.duration("base"), Span::from_us(20));
    }

    #[test]
    fn costs_may_be_those_of_a_device() {
        let params = fairio(&["charge=law", "law=ssd-nvme"]).unwrap();
        assert_eq!(charge::law_device(&params), Some("ssd-nvme"));
        assert!(charge::lacks_costs(&params) && params.group("law").is_none());
        let message = fairio(&["law=ssd-nvm"]).unwrap_err();
        for said in ["unknown device `ssd-nvm`", "fairio.law=ssd-nvm", "did you mean `ssd-nvme`?"] {
            assert!(message.contains(said), "{message}");
        }
        assert!(fairio(&["law=/no/disk.toml"]).unwrap_err().contains("there is no such file"));
    }

    #[test]
    fn a_job_written_out_reads_back_with_either() {
        for value in ["300ms", "off"] {
            let sets = [format!("class-priority.aging={value}")];
            let job = Job::parse("job.toml", JOB, &sets).expect("a job");
            let again = Job::parse("job.toml", &job.text(), &[]).expect("its own text");
            let aging =
                |job: &Job| job.params("class-priority").map(|p| p.duration_or("aging")).ok();
            assert_eq!(aging(&again), aging(&job));
        }
    }
}
