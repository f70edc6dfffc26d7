//! Parameters of policies: the registry's declarations, applied to what a person wrote.

use penstock_policy::{Entry, Kind, POLICIES, Param, Params, Value};

use crate::diagnose::{JobError, quote};
use crate::nearest::{nearest, suggest};
use crate::tree::{Node, Reader};
use crate::units;

/// The policy called `name`.
pub(crate) fn policy(name: &str) -> Result<&'static Entry, JobError> {
    penstock_policy::find(name).ok_or_else(|| {
        let names = POLICIES.iter().map(|policy| policy.name);
        JobError::new(format!("unknown policy {}", quote(name))).hint(suggest(name, names))
    })
}

/// The parameters of every registered policy: defaults, and what the sections of `node` say.
pub(crate) fn all(node: Option<&Node>) -> Result<Vec<(&'static str, Params)>, JobError> {
    let names: Vec<&str> = POLICIES.iter().map(|policy| policy.name).collect();
    let reader = node.map(|node| Reader::sections(node, "policy", &names)).transpose()?;
    let params = |policy: &'static Entry| {
        let section = reader.as_ref().and_then(|reader| reader.node(policy.name));
        let params = match section {
            Some(section) => group(policy.params, section, &format!("policy {}", policy.name))?,
            None => policy.defaults(),
        };
        Ok((policy.name, params))
    };
    POLICIES.iter().map(params).collect()
}

/// The members of a group: defaults, and what the table `node` says.
fn group(params: &'static [Param], node: &Node, what: &str) -> Result<Params, JobError> {
    let names: Vec<&str> = params.iter().map(|param| param.name).collect();
    let reader = Reader::new(node, what, &names)?;
    read(params, &reader)
}

/// The values of `params` that `reader` has, and the defaults of the others.
pub(crate) fn read(params: &'static [Param], reader: &Reader<'_>) -> Result<Params, JobError> {
    let mut values = Params::defaults(params);
    for param in params {
        if let Some(node) = reader.node(param.name) {
            values.set(param.name, value(param, node)?);
        }
    }
    Ok(values)
}

fn value(param: &Param, node: &Node) -> Result<Value, JobError> {
    match param.kind {
        Kind::Size => Ok(Value::Size(size(node)?)),
        Kind::SizeOr(words) => size_or(node, words),
        Kind::Duration => Ok(Value::Duration(units::duration(node)?)),
        Kind::Count(least) => Ok(Value::Count(node.count(least, u64::from(u32::MAX))?)),
        Kind::Switch => Ok(Value::Switch(node.boolean()?)),
        Kind::Choice(words) => Ok(Value::Word(node.choice(words)?)),
        Kind::Group(members) => match (find(node, &["off"]), node.word()) {
            (Some(off), _) => Ok(Value::Word(off)),
            (None, Some(_)) => {
                let example = members.first().map_or("", |member| member.name);
                let hint =
                    format!("write `off`, or a table of its members, as in {{ {example} = … }}");
                Err(node.expected("a table or `off`").hint(hint))
            }
            (None, None) => Ok(Value::Group(group(members, node, param.name)?)),
        },
    }
}

fn find(node: &Node, words: &[&'static str]) -> Option<&'static str> {
    words.iter().copied().find(|&word| node.word() == Some(word))
}

fn size_or(node: &Node, words: &'static [&'static str]) -> Result<Value, JobError> {
    if let Some(word) = find(node, words) {
        return Ok(Value::Word(word));
    }
    let begins_with_digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    match node.word().filter(|text| !begins_with_digit(text)) {
        None => Ok(Value::Size(size(node)?)),
        Some(text) => {
            let expected = node.expected(&format!("a size or `{}`", words.join("` or `")));
            Err(expected.hint(match nearest(text, words.iter().copied()) {
                Some(word) => format!("did you mean `{word}`?"),
                None => "write a size with its unit, as in `64KiB`".into(),
            }))
        }
    }
}

fn size(node: &Node) -> Result<u64, JobError> {
    match units::size(node)? {
        0 => Err(node.expected("a size of at least `1B`")),
        bytes => Ok(bytes),
    }
}
