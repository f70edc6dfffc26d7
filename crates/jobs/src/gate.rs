//! Options of a gate as a program writes them: a small text in TOML.

use std::path::Path;

use penstock_policy::size_priority;
use serde_json::json;

use crate::amount::SIZE;
use crate::classes::{self, CLASS, Class};
use crate::diagnose::{JobError, Source};
use crate::keys::{Key, Maybe, keys};
use crate::kinds::{Each, SWITCH, Text, section};
use crate::live::{COMMANDS, Live, TIMEOUT};
use crate::reader::Reader;
use crate::tree::{self, Node};
use crate::{params, policies};

keys! {
    /// Keys of the options of a gate.
    KEYS:
    /// Path of the file or block device, or a list of paths; none for a model without one.
    PATH path: Vec<String> = Each(&Text("the path of a file")), or Vec::new();
    /// Size of a file that is made if it is missing.
    CREATE create: u64 = SIZE.above_zero();
    /// Whether the files are the program's own, whatever they hold: they go through the page cache
    /// and may grow.
    ADOPT adopt: bool = SWITCH, or false;
    /// Serial number or path of the block device, named a second time: data on it may be lost.
    I_WILL_LOSE_DATA i_will_lose_data: String = Text("a serial number or a path");
    /// Whether the block device may hold data that no format announces.
    EVEN_IF_NOT_EMPTY even_if_not_empty: bool = SWITCH, or false;
    /// Model that answers in real time, over the file or alone.
    EMULATE emulate: String = Text("a device, as `hdd-7200@10`");
    /// Engine that drives the files; the first one that works if not given.
    ENGINE engine: String = Text("the name of an engine");
    /// Commands in flight over all files.
    DEPTH depth: u32 = COMMANDS, or Live::USUAL_DEPTH;
    /// Name of the policy.
    POLICY policy: String = Text("the name of a policy"), or size_priority::ENTRY.name.into();
    /// Parameters of the policy, such as `{ split = "64KiB" }`.
    PARAMETERS parameters: Node = section(|| json!({"type": "object"}));
}

/// Options of a gate, checked as far as that needs no file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GateSpec {
    /// Paths of the files, in their order.
    pub paths: Vec<String>,
    /// Size of a file that is made if it is missing.
    pub create: Option<String>,
    /// Whether the files are the program's own.
    pub adopt: bool,
    /// Name of the block device, given a second time.
    pub i_will_lose_data: Option<String>,
    /// Whether the block device may hold data that no format announces.
    pub even_if_not_empty: bool,
    /// Model that answers in real time.
    pub emulate: Option<String>,
    /// Engine that drives the files.
    pub engine: Option<String>,
    /// Commands in flight over all files.
    pub depth: u32,
    /// Time that a command may take, as `30s` or `off`.
    pub timeout: Option<String>,
    /// Name of the policy.
    pub policy: String,
    /// Parameters of the policy, as `split=64KiB`.
    pub sets: Vec<String>,
    /// Classes of work that the program tells apart; may be none.
    pub classes: Vec<Class>,
}

impl GateSpec {
    /// Reads the options from `text`.
    ///
    /// # Errors
    /// It is not TOML, has an unknown key, or has a value that is wrong by itself.
    pub fn parse(text: &str) -> Result<Self, JobError> {
        let root = tree::parse(&Source::file("options", text))?;
        let reader = Reader::new(&root, "the options of the gate", &[KEYS, &[&TIMEOUT, &CLASS]])?;
        let policy = reader.get(&POLICY)?;
        let entry = params::policy(&policy).map_err(|error| error.at(reader.place(&POLICY)))?;
        let classes = reader.node(&CLASS).map(classes::classes).transpose()?;
        let own = |node| policies::own(entry, &node, Path::new(""), classes.as_deref());
        let params = reader.find(&PARAMETERS)?.map(own).transpose()?;
        reader.get(&TIMEOUT)?;
        let word = |node: &Node| node.word().map(str::to_owned);
        let sized =
            |key: &Key<u64, Maybe>| reader.find(key).map(|_| reader.node(key).and_then(word));
        Ok(Self {
            paths: reader.get(&PATH)?,
            create: sized(&CREATE)?,
            adopt: reader.get(&ADOPT)?,
            i_will_lose_data: reader.find(&I_WILL_LOSE_DATA)?,
            even_if_not_empty: reader.get(&EVEN_IF_NOT_EMPTY)?,
            emulate: reader.find(&EMULATE)?,
            engine: reader.find(&ENGINE)?,
            depth: reader.get(&DEPTH)?,
            timeout: reader.node(&TIMEOUT).and_then(word),
            policy,
            sets: params.map_or_else(Vec::new, |params| params::arguments(&params)),
            classes: classes.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_with_their_defaults() {
        let spec = GateSpec::parse("path = \"a\"").unwrap();
        assert_eq!((&spec.paths[..], spec.depth), (&["a".to_owned()][..], 32));
        assert_eq!((&*spec.policy, spec.timeout), ("size-priority", None));
        let text = "path = [\"a\", \"b\"]\ntimeout = \"5s\"\ncreate = \"1MiB\"\npolicy = \"sfq\"\n\
                    parameters = { depth = 3 }\n[class.tellers]\nweight = 300\n[class.batch]";
        let spec = GateSpec::parse(text).unwrap();
        assert_eq!((spec.paths.len(), spec.timeout.as_deref()), (2, Some("5s")));
        assert_eq!(spec.create.as_deref(), Some("1MiB"));
        assert!(spec.sets.contains(&"depth=3".into()), "{:?}", spec.sets);
        let classes: Vec<_> =
            spec.classes.iter().map(|class| (&*class.name, class.weight())).collect();
        assert_eq!(classes, [("tellers", 300), ("batch", 100)]);
    }

    #[test]
    fn wrong_options_are_refused_where_they_stand() {
        for (text, said, place) in [
            ("pth = \"a\"", "unknown key `pth` in the options of the gate", "options:1:1"),
            ("\npolicy = \"fcfz\"", "unknown policy `fcfz`", "options:2:10"),
            ("parameters = { splt = \"4KiB\" }", "unknown key `splt`", "options:1:16"),
            ("create = \"0B\"", "expected a size above zero", "options:1:10"),
            ("timeout = \"of\"", "expected a length of time or `off`", "options:1:11"),
            ("depth = 0", "expected a whole number from 1 to 4096", "options:1:9"),
            ("[class.a]\nwait = 3", "unknown key `wait` in class a", "options:2:1"),
            ("path = ", "a value is missing", "options:1:8"),
        ] {
            let message = GateSpec::parse(text).unwrap_err().to_string();
            assert!(message.contains(said) && message.contains(place), "{text}: {message}");
        }
    }
}
