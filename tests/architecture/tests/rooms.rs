//! Files import in one direction: no crate has a circle of files, and no file imports from the root
//! of its crate, which hides the file that a name comes from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, ItemUse, Meta, UseTree};

const CRATES: [&str; 9] =
    ["core", "policy", "device", "workload", "live", "jobs", "run", "capi", "python"];

/// Files and folders on the first floor of a crate, at most.
const MOST_ROOMS: usize = 18;

/// A module by its path in the crate; empty for the root.
type Module = Vec<String>;

/// The files of a crate without its tests.
fn files(root: &Path) -> BTreeMap<Module, PathBuf> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of source") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name != "tests" {
                let folder = path.parent().and_then(|folder| folder.strip_prefix(root).ok());
                let above = folder.into_iter().flat_map(Path::components);
                let mut module: Module =
                    above.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
                if name != "mod" && name != "lib" {
                    module.push(name);
                }
                found.insert(module, path);
            }
        }
    }
    found
}

/// The paths that a file names, from the module that it is.
struct Paths<'a> {
    files: &'a BTreeMap<Module, PathBuf>,
    module: Module,
    found: BTreeSet<Module>,
}

impl Paths<'_> {
    /// Adds the path from the crate's root, if it stays in the crate.
    fn add(&mut self, path: &[String]) {
        let mut base = match path.first().map_or("", String::as_str) {
            "crate" => vec![],
            "self" => self.module.clone(),
            "super" => self.module[..self.module.len().saturating_sub(1)].to_vec(),
            child => {
                let child = [&self.module[..], &[child.to_owned()]].concat();
                if !self.files.contains_key(&child) {
                    return;
                }
                child
            }
        };
        for part in &path[1..] {
            match part.as_str() {
                "super" => drop(base.pop()),
                part => base.push(part.to_owned()),
            }
        }
        self.found.insert(base);
    }

    fn tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree),
            UseTree::Name(name) if name.ident == "self" => self.add(before),
            UseTree::Name(name) => self.add(&with(&name.ident)),
            UseTree::Rename(name) => self.add(&with(&name.ident)),
            UseTree::Glob(_) => self.add(before),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.tree(before, item)),
        }
    }
}

fn is_test(attribute: &Attribute) -> bool {
    matches!(&attribute.meta, Meta::List(list)
        if list.path.is_ident("cfg") && list.tokens.to_string() == "test")
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !module.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if parts.len() > 1 {
            self.add(&parts);
        }
        visit::visit_path(self, path);
    }
}

/// The modules that each file imports from; `Err` is an import from the root.
fn imports(root: &Path) -> Result<BTreeMap<Module, BTreeSet<Module>>, String> {
    let files = files(root);
    let mut all = BTreeMap::new();
    for (module, path) in &files {
        let text = std::fs::read_to_string(path).expect("source is text");
        let file =
            syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut paths = Paths { files: &files, module: module.clone(), found: BTreeSet::new() };
        paths.visit_file(&file);
        let mut from = BTreeSet::new();
        for found in &paths.found {
            let lengths = (0..=found.len()).rev();
            let known = lengths.map(|len| &found[..len]).find(|name| files.contains_key(*name));
            let known = known.expect("the root is a file").to_vec();
            if known.is_empty() && !module.is_empty() {
                return Err(format!("{} imports crate::{}", path.display(), found.join("::")));
            }
            if known != *module {
                from.insert(known);
            }
        }
        all.insert(module.clone(), from);
    }
    Ok(all)
}

/// A circle of files, if there is one.
fn circle(imports: &BTreeMap<Module, BTreeSet<Module>>) -> Option<Vec<String>> {
    let mut left = imports.clone();
    // A module that imports no remaining module is in no circle.
    loop {
        let known: BTreeSet<Module> = left.keys().cloned().collect();
        let before = left.len();
        left.retain(|_, from| from.iter().any(|name| known.contains(name)));
        if left.len() == before {
            break;
        }
    }
    let mut at = left.keys().next()?.clone();
    let mut way = vec![];
    while !way.contains(&at) {
        way.push(at.clone());
        at = left[&at].iter().find(|name| left.contains_key(*name)).expect("it is left").clone();
    }
    let start = way.iter().position(|name| *name == at).expect("it was passed");
    Some(way[start..].iter().map(|name| name.join("::")).collect())
}

/// The rooms of a crate's first floor, its files and folders, each with the rooms that it imports from.
fn rooms(imports: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeMap<Module, BTreeSet<Module>> {
    let room = |module: &Module| module.iter().take(1).cloned().collect::<Module>();
    let mut rooms = BTreeMap::<Module, BTreeSet<Module>>::new();
    for (module, from) in imports.iter().filter(|(module, _)| !module.is_empty()) {
        let others = from.iter().map(room).filter(|other| *other != room(module));
        rooms.entry(room(module)).or_default().extend(others);
    }
    rooms
}

fn source(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("crates").join(name).join("src")
}

#[test]
fn no_crate_has_a_circle_of_files() {
    for name in CRATES {
        let imports = imports(&source(name)).unwrap_or_else(|found| panic!("{found}"));
        assert_eq!(circle(&imports), None, "crates/{name}");
    }
}

#[test]
fn no_crate_has_a_circle_of_rooms() {
    for name in CRATES {
        let imports = imports(&source(name)).unwrap_or_else(|found| panic!("{found}"));
        assert_eq!(circle(&rooms(&imports)), None, "crates/{name}");
    }
}

#[test]
fn no_first_floor_is_crowded() {
    for name in ["live", "run"] {
        let imports = imports(&source(name)).unwrap_or_else(|found| panic!("{found}"));
        let rooms = rooms(&imports);
        let names: Vec<_> =
            rooms.keys().map(|room| room.join("::")).filter(|name| !name.is_empty()).collect();
        assert!(names.len() <= MOST_ROOMS, "crates/{name}: {} rooms: {names:?}", names.len());
    }
}

#[test]
fn a_circle_and_an_import_from_the_root_are_found() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rooms");
    std::fs::create_dir_all(folder.join("hall")).expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file");
    write("lib.rs", "mod hall; mod stairs; pub use stairs::Step;");
    write("stairs.rs", "pub struct Step;");
    write("hall/mod.rs", "mod door; pub use door::Door; pub struct Key;");
    write("hall/door.rs", "pub struct Door;\n#[cfg(test)]\nmod tests { use crate::Step; }");
    let found = imports(&folder).map(|imports| circle(&imports));
    assert_eq!(found, Ok(None));
    write("hall/door.rs", "use super::Key; pub struct Door(Key);");
    let found = imports(&folder).map(|imports| circle(&imports));
    assert_eq!(found, Ok(Some(vec!["hall".into(), "hall::door".into()])));
    write("hall/door.rs", "pub struct Door(crate::stairs::Step);");
    write("hall/lamp.rs", "pub struct Lamp;");
    write("hall/mod.rs", "mod door; mod lamp;");
    write("stairs.rs", "pub struct Step; use crate::hall::lamp::Lamp;");
    let found = imports(&folder).unwrap();
    assert_eq!(circle(&found), None, "of files there is none");
    assert_eq!(circle(&rooms(&found)), Some(vec!["hall".into(), "stairs".into()]));
    write("hall/door.rs", "pub struct Door(crate::Step);");
    assert!(imports(&folder).unwrap_err().ends_with("hall/door.rs imports crate::Step"));
}
