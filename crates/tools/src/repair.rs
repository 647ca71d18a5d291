//! Arguments as models really send them, made to fit the schema where that can be done in only one way.
//!
//! Strict where it matters: JSON that was cut is never closed, a text stays a text where the schema wants one,
//! and what can't be repaired goes back to the model with the field's name and a right call.

use countersign_protocol::{Arguments, ArgumentsStatus};
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::{Map, Number, Value};

use crate::{
    ToolOutput, schema,
    toolset::{Entry, What},
};

/// The arguments to run a call with, or the error result that goes back.
pub(crate) fn repair_call(entry: &Entry, arguments: &Arguments) -> Result<Value, ToolOutput> {
    let name = &entry.definition.name;
    let object = match object_of(arguments) {
        Ok(object) => object,
        Err(reason) => return Err(refusal(name, &[reason], &entry.schema)),
    };
    let object = match &entry.what {
        What::Run(tool) => tool.reshape(object),
        What::Steer(_) => object,
    };
    let value = repair(&entry.schema, Value::Object(object));
    let problems: Vec<String> = entry.validator.iter_errors(&value).map(|error| problem(&error)).collect();
    if problems.is_empty() { Ok(value) } else { Err(refusal(name, &problems, &entry.schema)) }
}

/// The error result for arguments that don't fit.
pub(crate) fn refusal(name: &str, problems: &[String], schema: &Value) -> ToolOutput {
    const SHOWN: usize = 5;
    let mut text = format!("`{name}` was not run:");
    for problem in problems.iter().take(SHOWN) {
        text.push_str(&format!("\n- {problem}"));
    }
    if problems.len() > SHOWN {
        text.push_str(&format!("\n- and {} more", problems.len() - SHOWN));
    }
    text.push_str(&format!("\nA right call has arguments like {}", schema::example(schema)));
    ToolOutput::error(text)
}

/// Whether a text is JSON that ends before it closes.
pub(crate) fn ends_early(raw: &str) -> bool {
    matches!(parse(raw), Err(error) if error.is_eof())
}

/// Makes a value fit a schema where that can be done in only one way. What fits already is not changed.
#[must_use]
pub fn repair(schema: &Value, value: Value) -> Value {
    let value = match wanted(schema) {
        Some("object") => unwrap(value, &Value::is_object),
        Some("array") => list(schema, value),
        Some("integer") => number(value, true),
        Some("number") => number(value, false),
        Some("boolean") => boolean(value),
        Some("string") => scalar_text(value),
        _ => value,
    };
    match value {
        Value::Object(object) => Value::Object(repair_object(schema, object)),
        Value::Array(items) => match schema.get("items") {
            Some(item) => Value::Array(items.into_iter().map(|value| repair(item, value)).collect()),
            None => Value::Array(items),
        },
        other => other,
    }
}

/// The one type that a schema wants, besides `null`.
fn wanted(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(only) => Some(only),
        Value::Array(types) => {
            let mut others = types.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            others.next().filter(|_| others.next().is_none())
        }
        _ => None,
    }
}

/// JSON in a text, at any depth, where what is in it is of the wanted kind.
fn unwrap(value: Value, fits: &dyn Fn(&Value) -> bool) -> Value {
    let Value::String(text) = &value else { return value };
    match parse(text).map(|inner| unwrap(inner, fits)) {
        Ok(inner) if fits(&inner) => inner,
        _ => value,
    }
}

/// A list: as it is, from a text, or of the single item that came instead of it.
fn list(schema: &Value, value: Value) -> Value {
    let item = schema.get("items").and_then(wanted);
    let is_item = |value: &Value| match value {
        Value::Object(_) => item == Some("object"),
        Value::String(_) => item == Some("string"),
        Value::Number(_) => matches!(item, Some("integer" | "number")),
        _ => false,
    };
    let value = unwrap(value, &|inner: &Value| inner.is_array() || (inner.is_object() && is_item(inner)));
    if is_item(&value) { Value::Array(vec![value]) } else { value }
}

/// A number in a text; and for a whole number one that was written with a fraction of zero.
fn number(value: Value, whole: bool) -> Value {
    let parsed = match &value {
        Value::String(text) => text.trim().parse::<Number>().ok(),
        Value::Number(number) => Some(number.clone()),
        _ => None,
    };
    let Some(parsed) = parsed else { return value };
    if !whole || parsed.is_i64() || parsed.is_u64() {
        return Value::Number(parsed);
    }
    // Beyond 2^53 a float no longer says which whole number is meant.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match parsed.as_f64() {
        Some(float) if float.fract() == 0.0 && float.abs() <= EXACT => Value::from(float as i64),
        _ => value,
    }
}

fn boolean(value: Value) -> Value {
    match value.as_str().map(|text| text.trim().to_ascii_lowercase()).as_deref() {
        Some("true") => Value::Bool(true),
        Some("false") => Value::Bool(false),
        _ => value,
    }
}

/// A text where a whole number or a truth value came, which have only one way to be written.
fn scalar_text(value: Value) -> Value {
    match &value {
        Value::Number(number) if number.is_i64() || number.is_u64() => Value::String(number.to_string()),
        Value::Bool(truth) => Value::String(truth.to_string()),
        _ => value,
    }
}

fn repair_object(schema: &Value, object: Map<String, Value>) -> Map<String, Value> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return object };
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let unneeded = |key: &str, value: &Value| {
        let property = properties.get(key);
        value.is_null() && !required.contains(&key) && property.is_some_and(|property| !takes_null(property))
    };
    let object = object.into_iter().filter(|(key, value)| !unneeded(key, value)).collect();
    let mut repaired = Map::new();
    for (key, value) in respelt(properties, object) {
        match properties.get(&key) {
            Some(property) => {
                repaired.insert(key, repair(property, value));
            }
            None if closed => {}
            None => {
                repaired.insert(key, value);
            }
        }
    }
    repaired
}

/// The object with keys in the schema's spelling, where that leaves no doubt.
fn respelt(properties: &Map<String, Value>, object: Map<String, Value>) -> Map<String, Value> {
    let given: Vec<String> = object.keys().cloned().collect();
    let mut respelt = Map::new();
    for (key, value) in object {
        let meant = properties.keys().find(|known| spells(&key, known));
        let key = match meant {
            Some(known) if !value.is_null() && !given.contains(known) && !respelt.contains_key(known) => {
                known.clone()
            }
            _ => key,
        };
        respelt.insert(key, value);
    }
    respelt
}

/// Whether a key is another one in another case (`oldText`), or by the name that other agents give it.
fn spells(key: &str, known: &str) -> bool {
    const HABITS: [(&str, &str); 3] =
        [("filepath", "path"), ("oldstring", "old_text"), ("newstring", "new_text")];
    let fold = |key: &str| key.replace(['_', '-'], "").to_lowercase();
    let folded = fold(key);
    folded == fold(known) || HABITS.contains(&(folded.as_str(), known))
}

/// Whether a schema admits `null`; one that names no type admits anything.
fn takes_null(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|name| name == "null"),
        Some(Value::String(only)) => only == "null",
        _ => true,
    }
}

/// The object in a call's arguments; the error says what they are instead.
fn object_of(arguments: &Arguments) -> Result<Map<String, Value>, String> {
    if let Some(object) = arguments.object() {
        return Ok(object);
    }
    let parsed = parse(&arguments.raw);
    if arguments.status == ArgumentsStatus::Invalid
        && let Err(error) = &parsed
    {
        return Err(format!("the arguments are not JSON ({error})"));
    }
    match parsed.map(|value| unwrap(value, &Value::is_object)) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err("the arguments are not a JSON object".into()),
    }
}

/// Strict JSON, except that control characters may stand raw in texts, as models write them.
fn parse(text: &str) -> Result<Value, serde_json::Error> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        Err(_) => serde_json::from_str(&escape_controls(text)),
    }
}

/// The same JSON with the control characters in its texts escaped.
fn escape_controls(text: &str) -> String {
    let (mut escaped, mut inside, mut after_backslash) = (String::with_capacity(text.len()), false, false);
    for character in text.chars() {
        if inside && character.is_ascii_control() && character != '\u{7f}' {
            // A backslash before a raw newline would escape the escape: it stands for itself.
            if after_backslash {
                escaped.push('\\');
            }
            escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
            after_backslash = false;
            continue;
        }
        match character {
            '"' if !after_backslash => inside = !inside,
            _ => {}
        }
        after_backslash = inside && character == '\\' && !after_backslash;
        escaped.push(character);
    }
    escaped
}

/// What is wrong with a field, by its name.
fn problem(error: &jsonschema::ValidationError<'_>) -> String {
    let at = field(error.instance_path().as_str());
    let shown = if at.is_empty() { "the arguments" } else { at.as_str() };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let key = property.as_str().unwrap_or_default();
            let dot = if at.is_empty() { "" } else { "." };
            format!("{at}{dot}{key} is missing")
        }
        ValidationErrorKind::Type { kind } => {
            let wanted = match kind {
                TypeKind::Single(only) => only.to_string(),
                TypeKind::Multiple(_) => "another type".into(),
            };
            format!("{shown} must be of type {wanted}, not {}", type_name(error.instance()))
        }
        _ => format!("{shown}: {}", error.masked()),
    }
}

/// A JSON pointer as people write it: `edits[0].old_text`.
fn field(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{part}]"));
        } else {
            path.push_str(if path.is_empty() { "" } else { "." });
            path.push_str(&part);
        }
    }
    path
}

const fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
