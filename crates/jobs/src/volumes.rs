//! Volumes of a served disk as arguments name them: `NAME=SIZE[,prio=N][,weight=N]`.

use std::ops::Range;
use std::sync::Arc;

use crate::classes::{self, Class};
use crate::diagnose::{JobError, Origin, Source, quote};
use crate::tree::{KeyValue, Node, Table, Value};
use crate::units;

/// A volume of a served disk, the class of its requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VolumeSpec {
    /// The class, with the name of the volume.
    pub class: Class,
    /// Bytes of the volume.
    pub size: u64,
}

/// Example of a volume in hints.
const EXAMPLE: &str = "as `log=10GiB,prio=0`";

/// Reads the volumes that the arguments `texts` name, in their order.
///
/// # Errors
/// No name or size, an unknown key or a value that the class of a job could not have, or a name that is
/// given twice.
pub fn volumes(texts: &[String]) -> Result<Vec<VolumeSpec>, JobError> {
    let mut all: Vec<VolumeSpec> = Vec::new();
    for text in texts {
        let source = Source::option("--volume", text);
        let volume = volume(&source)?;
        if all.iter().any(|before| before.class.name == volume.class.name) {
            let message = format!("the volume {} is given twice", quote(&volume.class.name));
            let origin = Origin::new(&source, 0..volume.class.name.len());
            return Err(JobError::new(message).at(&origin).hint("each has a name of its own"));
        }
        all.push(volume);
    }
    Ok(all)
}

fn volume(source: &Arc<Source>) -> Result<VolumeSpec, JobError> {
    let text = source.text();
    let mut parts = parts(text).map(|span| pair(source, span));
    let first = parts.next().expect("a text has a part")?;
    let size = first.node.word().unwrap_or_default();
    let size = units::parse_size(size).map_err(|error| error.at(&first.node.origin))?;
    let mut entries: Vec<KeyValue> = Vec::new();
    for entry in parts {
        let entry = entry?;
        if entries.iter().any(|before| before.key == entry.key) {
            let message = format!("the key {} is given twice", quote(&entry.key));
            return Err(JobError::new(message).at(&entry.origin).hint("keep one of the two"));
        }
        entries.push(entry);
    }
    let value = Value::Table(Table { entries });
    let node = Node { value, origin: Origin::new(source, 0..text.len()) };
    let class = classes::class(&KeyValue { node, ..first })?;
    Ok(VolumeSpec { class, size })
}

/// The parts of `text` between its commas.
fn parts(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    text.split(',').map(move |part| {
        let span = from..from + part.len();
        from = span.end + 1;
        span
    })
}

/// The part of an argument at `span` as a key and its value.
fn pair(source: &Arc<Source>, span: Range<usize>) -> Result<KeyValue, JobError> {
    let place = |span| Origin::new(source, span);
    let part = &source.text()[span.clone()];
    let Some((key, value)) = part.split_once('=') else {
        let first = if span.start == 0 { "NAME=SIZE" } else { "KEY=VALUE" };
        let message = format!("expected {first}, found {}", quote(part));
        return Err(JobError::new(message).at(&place(span)).hint(EXAMPLE));
    };
    let middle = span.start + key.len();
    let node =
        Node { value: Value::Word(value.trim().into()), origin: place(middle + 1..span.end) };
    Ok(KeyValue { key: key.trim().into(), origin: place(span.start..middle), node })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(texts: &[&str]) -> String {
        let texts: Vec<String> = texts.iter().map(|text| (*text).into()).collect();
        let error = volumes(&texts).unwrap_err().to_string();
        error.lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_volume_is_a_class_and_a_size() {
        let texts = ["log=1GiB,prio=2,weight=300".to_owned(), "bulk=10GiB".to_owned()];
        let all = volumes(&texts).unwrap();
        let shown: Vec<_> = all
            .iter()
            .map(|VolumeSpec { class, size }| {
                (class.name.as_str(), *size, class.prio, class.weight())
            })
            .collect();
        assert_eq!(shown, [("log", 1 << 30, 2, 300), ("bulk", 10 << 30, 0, 100)]);
    }

    #[test]
    fn what_is_no_volume_is_refused_where_it_stands() {
        let cases: &[(&[&str], &str)] = &[
            (&[""], "error: expected NAME=SIZE, found ``"),
            (&["log"], "error: expected NAME=SIZE, found `log`"),
            (&["log=10"], "error: 10 has no unit; expected a size"),
            (&["9=1GiB"], "error: `9` is no name of a class"),
            (&["log=1GiB,prio"], "error: expected KEY=VALUE, found `prio`"),
            (&["log=1GiB,prio=9"], "error: expected a whole number from 0 to 7, found `9`"),
            (&["log=1GiB,size=9"], "error: unknown key `size` in class log"),
            (&["log=1GiB,prio=1,prio=2"], "error: the key `prio` is given twice"),
            (&["log=1GiB", "log=2GiB"], "error: the volume `log` is given twice"),
        ];
        for (texts, expected) in cases {
            assert_eq!(&message(texts), expected, "{texts:?}");
        }
    }
}
