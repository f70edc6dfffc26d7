//! Reads a device that is given by its name, by a device file, or as a table.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::describe::{any, defined, words};
use crate::devices::{self, DeviceSpec};
use crate::diagnose::JobError;
use crate::path_text;
use crate::tree::{Node, Value};

/// Describes a device that is named or is a table.
pub(crate) fn schema() -> Json {
    any([words(devices::names()), file(), defined(devices::DEVICE.name)])
}

/// Describes a device where no table is allowed.
pub(crate) fn word_schema() -> Json {
    any([words(devices::names()), file()])
}

/// Describes the path of a device file.
pub(crate) fn file() -> Json {
    // A file name is more than its ending.
    json!({"type": "string", "pattern": r"[^/]\.toml$"})
}

/// Returns the device that `node` names. A device file is relative to `folder`, or to the working
/// directory if `--set` names it. `name` is the default name of a table.
pub(crate) fn read(node: &Node, name: &str, folder: &Path) -> Result<DeviceSpec, JobError> {
    if let Value::Table(_) = node.value {
        return devices::read(node, name);
    }
    let word = node.text("a device: a name, a device file or a table")?;
    let folder = if node.origin.is_set() { Path::new("") } else { folder };
    devices::find_in(folder, word).map_err(|error| error.at(&node.origin))
}

/// Returns a device's name, or the path of its file so that it can be found from the working
/// directory.
pub(crate) fn path_or_name(node: &Node, folder: &Path) -> Result<String, JobError> {
    let word = node.text("a device: a name or a device file")?;
    read(node, word, folder)?;
    let built_in = node.origin.is_set() || devices::names().any(|known| known == word);
    Ok(if built_in {
        word.to_owned()
    } else {
        path_text::text(&folder.join(path_text::path(word)))
    })
}
