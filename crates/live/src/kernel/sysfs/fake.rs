//! Trees like `/sys`, as small as they come, for tests.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A tree that is removed when it is dropped.
pub(crate) struct Tree(PathBuf);

impl Tree {
    pub(crate) fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("penstock-sysfs-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("dev/block")).unwrap();
        fs::create_dir_all(path.join("block")).unwrap();
        Self(path)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.0
    }

    /// A device in `devices/…`, with a number and attributes.
    pub(crate) fn device(&self, at: &str, number: &str, attributes: &[(&str, &str)]) -> &Self {
        let folder = self.0.join("devices").join(at);
        fs::create_dir_all(&folder).unwrap();
        symlink(format!("../../devices/{at}"), self.0.join("dev/block").join(number)).unwrap();
        fs::write(folder.join("dev"), format!("{number}\n")).unwrap();
        if !attributes.iter().any(|(name, _)| *name == "partition") {
            let name = folder.file_name().unwrap();
            symlink(format!("../devices/{at}"), self.0.join("block").join(name)).unwrap();
        }
        for (name, text) in attributes {
            self.file(&format!("devices/{at}/{name}"), text);
        }
        self
    }

    /// A file anywhere in the tree.
    pub(crate) fn file(&self, at: &str, text: &str) -> &Self {
        let path = self.0.join(at);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Puts `upper` on `lower`.
    pub(crate) fn stands_on(&self, upper: &str, lower: &str) -> &Self {
        for (at, list, other) in [(upper, "slaves", lower), (lower, "holders", upper)] {
            let list = self.0.join("devices").join(at).join(list);
            fs::create_dir_all(&list).unwrap();
            let other = self.0.join("devices").join(other);
            symlink(&other, list.join(other.file_name().unwrap())).unwrap();
        }
        self
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}
