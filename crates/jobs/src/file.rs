//! Reads the files that users write.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::diagnose::JobError;
use crate::nearest::nearest;

/// Largest size in bytes. Jobs and devices are written by hand; a larger file is something else.
const BYTES: u64 = 4 << 20;
/// Most neighbours that are searched for a similar name.
const NEIGHBOURS: usize = 1_000;

/// Returns the text of the file at `path`; `kind` names the kind of file in messages.
pub(crate) fn read(path: &Path, kind: &str) -> Result<String, JobError> {
    read_other(path, kind, &format!("a {kind} is a TOML file"))
}

/// Returns the text of a file that is not TOML; `hint` says what it should be.
///
/// # Errors
/// If it cannot be read, is a directory or not UTF-8, or is longer than what a person writes, or without end.
pub fn read_other(path: &Path, kind: &str, hint: &str) -> Result<String, JobError> {
    let fail = |why: &str| {
        let error = JobError::new(format!("cannot read the {kind} {}: {why}", path.display()));
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

/// Returns the file in the folder of `path` whose name is nearest to its name.
fn neighbour(path: &Path) -> Option<String> {
    let folder = match path.parent()? {
        here if here.as_os_str().is_empty() => Path::new("."),
        folder => folder,
    };
    let name = |entry: fs::DirEntry| entry.file_name().into_string().ok();
    let entries = fs::read_dir(folder).ok()?.take(NEIGHBOURS);
    let mut names: Vec<String> = entries.filter_map(|entry| name(entry.ok()?)).collect();
    // Folders list their files in any order; the hint must not depend on it.
    names.sort();
    let near = nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(path.with_file_name(near).display().to_string())
}
