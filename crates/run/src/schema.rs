//! JSON Schemas (draft 2020-12) by kind: that of results is made of their types, the others are of
//! what people write.

use penstock_jobs::diagnose::quote;
use penstock_jobs::nearest::suggest;
use penstock_jobs::schema as written;
use schemars::JsonSchema;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

use crate::failure::Failure;
use crate::merge::MergesResult;
use crate::result::Comparison;

/// The kinds of what `--json` prints: of `run` and `compare`, and of `merge`.
const RESULT: &str = "result";
const MERGE: &str = "merge";

/// The schema of this kind: of job files, of device files or of results.
///
/// # Errors
/// No kind has this name.
pub fn schema(kind: &str) -> Result<Value, Failure> {
    let found = match kind {
        RESULT => Some(result::<Comparison>("A result of Penstock")),
        MERGE => Some(result::<MergesResult>("Merges of files by Penstock")),
        _ => written::schema(kind),
    };
    found.ok_or_else(|| {
        let kinds = written::KINDS.into_iter().chain([RESULT, MERGE]);
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

/// An object has the members that are declared and no others. One that may be left out is never null.
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

/// Takes null out of what `property` may be.
fn without_null(property: &mut Value) {
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            property["type"] = only.clone();
        }
    }
    let Some(Value::Array(any)) = property.get_mut("anyOf") else { return };
    any.retain(|one| one["type"] != "null");
    if let [Value::Object(only)] = any.as_mut_slice() {
        let only = std::mem::take(only);
        let property = property.as_object_mut().expect("it has members");
        property.remove("anyOf");
        property.extend(only);
    }
}
