//! The text of a file that a person wrote.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::diagnose::JobError;
use crate::nearest::nearest;

/// A job or a device is written by hand; a larger file is some other file.
const BYTES: u64 = 4 << 20;
/// Neighbours that are looked at for a name that may have been meant.
const NEIGHBOURS: usize = 1_000;

/// The text of the file at `path`; `what` says what it should be.
pub(crate) fn read(path: &Path, what: &str) -> Result<String, JobError> {
    read_other(path, what, &format!("a {what} is a TOML file"))
}

/// The same of a file of another kind, as `hint` says.
pub(crate) fn read_other(path: &Path, what: &str, hint: &str) -> Result<String, JobError> {
    let fail = |why: &str| {
        let error = JobError::new(format!("cannot read the {what} {}: {why}", path.display()));
        error.hint(hint)
    };
    let system = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => fail("there is no such file").hint(match neighbour(path) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "check the path".into(),
        }),
        ErrorKind::PermissionDenied => fail("no permission").hint("it must be readable for you"),
        _ => fail(&error.to_string()),
    };
    if path.is_dir() {
        return Err(fail("it is a directory"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(system)?;
    file.take(BYTES + 1).read_to_end(&mut bytes).map_err(system)?;
    if bytes.len() as u64 > BYTES {
        return Err(fail("it is larger than 4MiB"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.split(|&byte| byte == b'\n').count();
        fail(&format!("line {line} is not UTF-8"))
    })
}

/// The file in the folder of `path` whose name is nearest to its.
fn neighbour(path: &Path) -> Option<String> {
    let folder = match path.parent()? {
        here if here.as_os_str().is_empty() => Path::new("."),
        folder => folder,
    };
    let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
    let entries = fs::read_dir(folder).ok()?.take(NEIGHBOURS);
    let mut names: Vec<String> = entries.filter_map(|entry| name(entry.ok()?)).collect();
    // A folder lists its files in any order; a hint should not.
    names.sort();
    let near = nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(path.with_file_name(near).display().to_string())
}
