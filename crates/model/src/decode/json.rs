//! JSON looked at field by field: one odd, deep or damaged field spoils itself and nothing around it.

use std::collections::HashMap;

use serde_json::value::RawValue;

/// A JSON object whose values are still text. Skipping a value needs no recursion, however deep it is.
#[derive(Debug, Default)]
pub(super) struct Object<'a>(HashMap<String, &'a RawValue>);

impl<'a> Object<'a> {
    /// Reads an object; `None` where the text is anything else.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self)
    }

    /// The object behind a value.
    pub(super) fn of(raw: &'a RawValue) -> Option<Self> {
        Self::parse(raw.get())
    }

    /// Whether the key is there, also as `null`.
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// A value, also `null`.
    pub(super) fn any(&self, key: &str) -> Option<&'a RawValue> {
        self.0.get(key).copied()
    }

    /// A value that is not `null`.
    pub(super) fn value(&self, key: &str) -> Option<&'a RawValue> {
        self.any(key).filter(|raw| raw.get() != "null")
    }

    /// An object.
    pub(super) fn object(&self, key: &str) -> Option<Self> {
        self.value(key).and_then(Self::of)
    }

    /// The items of an array; empty where there is none.
    pub(super) fn array(&self, key: &str) -> Vec<&'a RawValue> {
        self.value(key).map(items).unwrap_or_default()
    }

    /// The objects of an array; other items are left out.
    pub(super) fn objects(&self, key: &str) -> Vec<Self> {
        self.array(key).into_iter().filter_map(Self::of).collect()
    }

    /// A text.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.value(key).and_then(text)
    }

    /// A text that is not empty.
    pub(super) fn word(&self, key: &str) -> Option<String> {
        self.text(key).filter(|text| !text.is_empty())
    }

    /// A count, which some servers send as a float.
    pub(super) fn count(&self, key: &str) -> Option<u64> {
        let raw = self.value(key)?.get();
        raw.parse().ok().or_else(|| raw.parse::<f64>().ok().filter(|n| *n >= 0.0).map(|n| n as u64))
    }
}

/// The items of an array; empty where the value is none.
pub(super) fn items(raw: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// A JSON string's text. Half a surrogate pair becomes U+FFFD, as it would in a browser.
pub(super) fn text(raw: &RawValue) -> Option<String> {
    exact_text(raw).or_else(|| serde_json::from_str(&replace_lone_surrogates(raw.get())).ok())
}

/// A JSON string's text; `None` where half a surrogate pair is in it.
pub(super) fn exact_text(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// Writes `\ufffd` for each `\uD800`-`\uDFFF` that has no other half.
fn replace_lone_surrogates(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let taken = match (surrogate(escape), escape.get(6..).and_then(surrogate)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(_), _) => {
                out.push_str("\\ufffd");
                rest = &escape[6..];
                continue;
            }
            // A backslash and the character after it, which may be a backslash too.
            (None, _) => 1 + escape[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&escape[..taken]);
        rest = &escape[taken..];
    }
    out.push_str(rest);
    out
}

/// The surrogate that a text begins with as an escape.
fn surrogate(escape: &str) -> Option<u16> {
    let hex = escape.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(hex, 16).ok().filter(|unit| (0xD800..=0xDFFF).contains(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<String> {
        Object::parse(json)?.text("t")
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced_and_a_whole_one_kept() {
        assert_eq!(read(r#"{"t":"a\ud83db"}"#).unwrap(), "a\u{fffd}b");
        assert_eq!(read(r#"{"t":"\udc00\ud83d"}"#).unwrap(), "\u{fffd}\u{fffd}");
        assert_eq!(read(r#"{"t":"\ud83d\ude00\ud83d"}"#).unwrap(), "😀\u{fffd}");
        assert_eq!(read(r#"{"t":"\\ud83d \ud83d"}"#).unwrap(), "\\ud83d \u{fffd}");
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!(r#"{{"x":{}{},"t":"seen"}}"#, "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(read(&deep).unwrap(), "seen");
    }

    #[test]
    fn null_is_no_value_and_a_float_is_a_count() {
        let object = Object::parse(r#"{"a":null,"b":3.0,"c":-1,"d":7}"#).unwrap();
        assert!(object.has("a") && object.value("a").is_none());
        assert_eq!(["a", "b", "c", "d"].map(|key| object.count(key)), [None, Some(3), None, Some(7)]);
    }
}
