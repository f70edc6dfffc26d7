//! A device where a job names one: by its name, by a device file, or as the device's own table.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::devices::{self, DeviceSpec};
use crate::diagnose::JobError;
use crate::schema::build::{any, defined, words};
use crate::tree::{Node, Value};

/// What may stand there.
pub(crate) fn schema() -> Json {
    any([words(devices::names()), file(), defined(devices::DEVICE.name)])
}

/// The same where no table may stand.
pub(crate) fn word_schema() -> Json {
    any([words(devices::names()), file()])
}

/// The path of a file.
pub(crate) fn file() -> Json {
    // A file's name, of which the ending is not all.
    json!({"type": "string", "pattern": r"[^/]\.toml$"})
}

/// The device that `node` names. Its file lies in `folder`, or, if `--set` names it, where the
/// command runs; a table without a name is called `name`.
pub(crate) fn read(node: &Node, name: &str, folder: &Path) -> Result<DeviceSpec, JobError> {
    if let Value::Table(_) = node.value {
        return devices::read(node, name);
    }
    let word = node.text("a device: a name, a device file or a table")?;
    let folder = if node.origin.is_set() { Path::new("") } else { folder };
    devices::find_in(folder, word).map_err(|error| error.at(&node.origin))
}

/// The device that the word of `node` names, as it can be found from anywhere: by its name, or by the
/// path of its file.
pub(crate) fn found(node: &Node, folder: &Path) -> Result<String, JobError> {
    let word = node.text("a device: a name or a device file")?;
    read(node, word, folder)?;
    let built_in = node.origin.is_set() || devices::names().any(|known| known == word);
    Ok(if built_in { word.to_owned() } else { folder.join(word).display().to_string() })
}
