//! A type that is private to its crate has a name of its own there, which none of Rust's prelude has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Ident, Meta, Visibility};

const CRATES: [&str; 11] = [
    "crates/core",
    "crates/policy",
    "crates/device",
    "crates/workload",
    "crates/live",
    "crates/jobs",
    "crates/run",
    "crates/capi",
    "crates/python",
    "validation",
    "tests",
];

/// Types and traits that every file of the edition has without an import.
const PRELUDE: &[&str] = &[
    "AsMut",
    "AsRef",
    "Box",
    "Clone",
    "Copy",
    "Default",
    "DoubleEndedIterator",
    "Drop",
    "Eq",
    "ExactSizeIterator",
    "Extend",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromIterator",
    "Future",
    "Into",
    "IntoFuture",
    "IntoIterator",
    "Iterator",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Result",
    "Send",
    "Sized",
    "String",
    "Sync",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "Unpin",
    "Vec",
];

/// The declarations of one name.
#[derive(Default)]
struct Declared {
    files: Vec<PathBuf>,
    /// Whether one of them is not `pub`.
    private: bool,
}

/// The types that the files of a crate declare.
#[derive(Default)]
struct Types {
    file: PathBuf,
    names: BTreeMap<String, Declared>,
}

impl Types {
    fn add(&mut self, name: &Ident, visibility: &Visibility) {
        let declared = self.names.entry(name.to_string()).or_default();
        declared.files.push(self.file.clone());
        declared.private |= !matches!(visibility, Visibility::Public(_));
    }

    /// Names of private types that stand for another type, too.
    fn ambiguous(&self) -> BTreeMap<&str, &[PathBuf]> {
        let taken =
            |name: &str, declared: &Declared| declared.files.len() > 1 || PRELUDE.contains(&name);
        let found = self.names.iter().filter(|(name, it)| it.private && taken(name, it));
        found.map(|(name, declared)| (name.as_str(), &declared.files[..])).collect()
    }
}

fn is_test(attribute: &Attribute) -> bool {
    matches!(&attribute.meta, Meta::List(list)
        if list.path.is_ident("cfg") && list.tokens.to_string() == "test")
}

impl<'ast> Visit<'ast> for Types {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !module.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add(&item.ident, &item.vis);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add(&item.ident, &item.vis);
    }

    fn visit_item_union(&mut self, item: &'ast syn::ItemUnion) {
        self.add(&item.ident, &item.vis);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.add(&item.ident, &item.vis);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.add(&item.ident, &item.vis);
    }
}

/// Adds the types of the files below `folder`, without those of its tests.
fn read(folder: &Path, types: &mut Types) {
    for entry in std::fs::read_dir(folder).expect("a folder of source") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            read(&path, types);
        } else if path.extension().is_some_and(|kind| kind == "rs") && !path.ends_with("tests.rs") {
            let text = std::fs::read_to_string(&path).expect("source is text");
            let file = syn::parse_file(&text);
            let file = file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            types.file = path;
            types.visit_file(&file);
        }
    }
}

#[test]
fn a_private_type_has_a_name_of_its_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in CRATES {
        let mut types = Types::default();
        read(&root.join(name).join("src"), &mut types);
        let found = types.ambiguous();
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
}

#[test]
fn a_second_declaration_and_a_name_of_the_prelude_are_found() {
    let ambiguous = |text: &str| {
        let mut types = Types::default();
        types.visit_file(&syn::parse_file(text).expect("source"));
        types.ambiguous().into_keys().map(str::to_owned).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(
        ambiguous("struct One; pub struct Two; #[cfg(test)] mod tests { struct One; }"),
        none
    );
    assert_eq!(ambiguous("pub struct Two; mod a { pub struct Two; }"), none);
    assert_eq!(ambiguous("pub struct Two; mod a { pub(crate) enum Two {} }"), ["Two"]);
    assert_eq!(ambiguous("type One = u8; fn f() { trait One {} }"), ["One"]);
    assert_eq!(ambiguous("pub type Result = u8; struct Option;"), ["Option"]);
}
