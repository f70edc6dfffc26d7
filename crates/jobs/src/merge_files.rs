//! Reads the file that lists which files are merged, with a `[[merge]]` for each merge.

use std::path::{Path, PathBuf};

use crate::diagnose::{JobError, Source};
use crate::file;
use crate::keys::{keys, table};
use crate::kinds::{Each, Text, section};
use crate::reader::Reader;
use crate::tree::{self, Node};

keys! {
    /// Keys of the file.
    KEYS:
    /// A merge; there may be several.
    MERGE merge: Node = section(|| table(MERGE_KEYS)), needs "a section `[[merge]]` for each merge";
}

keys! {
    /// Keys of a merge of files.
    MERGE_KEYS:
    /// The files that are merged. A relative path begins in the folder of the file that names it.
    RUNS runs: Vec<String> = Each(&Text("a path")), needs "[\"a.run\", \"b.run\"]";
    /// Name of the output in the folder that it is written to.
    OUTPUT output: String = Text("a name");
}

/// The files of one merge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MergeFiles {
    /// Paths of the runs.
    pub runs: Vec<PathBuf>,
    /// Name of the output, if given.
    pub output: Option<String>,
}

impl MergeFiles {
    /// Reads the merges that the file at `path` lists.
    ///
    /// # Errors
    /// The file cannot be read, or is wrong.
    pub fn load(path: &Path) -> Result<Vec<Self>, JobError> {
        let text = file::read(path, "file of merges")?;
        let root = tree::parse(&Source::file(&path.display().to_string(), &text))?;
        let reader = Reader::new(&root, "the file of merges", &[KEYS])?;
        let merges = reader.get(&MERGE)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let merges = merges.list("a section `[[merge]]` for each merge")?;
        merges.iter().map(|merge| Self::read(merge, folder)).collect()
    }

    fn read(node: &Node, folder: &Path) -> Result<Self, JobError> {
        let reader = Reader::new(node, "a merge of files", &[MERGE_KEYS])?;
        let runs = reader.get(&RUNS)?;
        if runs.is_empty() {
            let error = node.expected("at least one run");
            return Err(error.hint("add `runs = [\"a.run\", \"b.run\"]`"));
        }
        let output = reader.find(&OUTPUT)?;
        if output.as_ref().is_some_and(|name| name.contains('/') || name.starts_with('.')) {
            let error = JobError::new("an output has a name, and `--to` its folder");
            return Err(error.at(reader.place(&OUTPUT)).hint("write it as `output = \"all.txt\"`"));
        }
        Ok(Self { runs: runs.iter().map(|run| folder.join(run)).collect(), output })
    }
}
