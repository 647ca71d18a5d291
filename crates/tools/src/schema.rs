//! Schemas from argument types: small, and the same bytes every time.

use countersign_protocol::ToolDefinition;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

/// The definition of a tool whose arguments are an `A`.
pub(crate) fn definition<A: JsonSchema>(name: &str, description: String) -> ToolDefinition {
    ToolDefinition { name: name.into(), description, schema: schema_of::<A>().to_string() }
}

/// The schema of an argument type, without the keys that tell a model nothing.
fn schema_of<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    slim(&mut schema);
    schema
}

/// Takes away titles, formats and defaults, and the `null` of optional values: `null` is dropped by the repair.
fn slim(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    for key in ["title", "format", "default"] {
        schema.shift_remove(key);
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(slim);
    }
    if let Some(items) = schema.get_mut("items") {
        slim(items);
    }
}

/// A call that fits the schema, to be shown where another did not: required keys only.
pub(crate) fn example(schema: &Value) -> Value {
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            let keys = required.filter_map(Value::as_str);
            let filled: Map<String, Value> =
                keys.map(|key| (key.to_owned(), example(&schema["properties"][key]))).collect();
            Value::Object(filled)
        }
        Some("array") => Value::Array(vec![example(&schema["items"])]),
        Some("integer" | "number") => Value::from(1),
        Some("boolean") => Value::Bool(true),
        _ => match schema.get("enum").and_then(Value::as_array).and_then(|values| values.first()) {
            Some(first) => first.clone(),
            None => Value::from("…"),
        },
    }
}
