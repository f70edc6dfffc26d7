//! JSON Schemas (draft 2020-12) by kind. The schemas of results are generated from their types, the
//! others describe the files that people write.

use penstock_jobs::diagnose::quote;
use penstock_jobs::nearest::suggest;
use penstock_jobs::schema as file_schemas;
use schemars::JsonSchema;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

use crate::failure::Failure;
use crate::merge::MergesResult;
use crate::result::{Comparison, FileTestResult};

/// Kinds of the output of `--json`: of `run` and `compare`, of `merge`, and of a test of `iozone`.
const RESULT: &str = "result";
const MERGE: &str = "merge";
const FILE_TEST: &str = "file-test";

/// Returns the schema of job files, device files or results, by the name of the kind.
///
/// # Errors
/// If no kind has this name.
pub fn schema(kind: &str) -> Result<Value, Failure> {
    let schema = match kind {
        RESULT => Some(result::<Comparison>("A result of Penstock")),
        MERGE => Some(result::<MergesResult>("Merges of files by Penstock")),
        FILE_TEST => Some(result::<FileTestResult>("A test of files by Penstock")),
        _ => file_schemas::schema(kind),
    };
    schema.ok_or_else(|| {
        let kinds = file_schemas::KINDS.into_iter().chain([RESULT, MERGE, FILE_TEST]);
        Failure::wrong(format!("unknown kind of file: {}", quote(kind)), suggest(kind, kinds))
    })
}

fn result<T: JsonSchema>(title: &str) -> Value {
    let mut schema = SchemaSettings::draft2020_12()
        .for_serialize()
        .with_transform(RecursiveTransform(exact))
        .into_generator()
        .into_root_schema_for::<T>();
    schema.insert("title".into(), title.into());
    schema.into()
}

/// Allows an object only its declared members, and makes members that may be left out never null.
fn exact(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    let required = schema.get("required").cloned().unwrap_or_default();
    let is_required =
        |name: &str| required.as_array().is_some_and(|all| all.contains(&name.into()));
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (_, property) in properties.iter_mut().filter(|(name, _)| !is_required(name)) {
        without_null(property);
    }
    schema.insert("additionalProperties".into(), false.into());
}

/// Removes null from the types of `property`.
fn without_null(property: &mut Value) {
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            property["type"] = only.clone();
        }
    }
    let Some(Value::Array(any)) = property.get_mut("anyOf") else { return };
    any.retain(|schema| schema["type"] != "null");
    if let [Value::Object(only)] = any.as_mut_slice() {
        let only = std::mem::take(only);
        let property = property.as_object_mut().expect("it has members");
        property.remove("anyOf");
        property.extend(only);
    }
}
