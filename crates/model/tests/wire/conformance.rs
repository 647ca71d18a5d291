//! Every recorded exchange decodes to what was agreed about it, whole, byte by byte, and cut at random places.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use countersign_model::decode::{Decoded, StreamEnd, decode_recorded};
use countersign_protocol::Api;
use serde_json::Value;

use crate::support::{cut_at, in_pieces};

/// Expectations that are wrong, with the reason.
const WRONG: &[(&str, &str)] = &[
    ("test-anthropic-thinking-agui-0-1-10-drops-prefix-2", "overlooks output_tokens_details.thinking_tokens"),
    ("test-inline-system-prompt-cache-prefix-is-reused-1", "overlooks output_tokens_details.thinking_tokens"),
    ("test-max-completion-tokens-0", "overlooks usage.cached_tokens"),
    ("test-multimodal-tool-return-matrix-direct-url-audi-0", "overlooks usage.num_cached_tokens"),
    ("test-multimodal-tool-return-matrix-tool-return-con-053a0", "overlooks usage.num_cached_tokens"),
    ("test-tool-choice-matrix-none-with-output-mistral-0", "overlooks usage.num_cached_tokens"),
];

fn folder(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire").join(name);
    if !path.is_dir() {
        eprintln!("skipped: there are no recorded responses at {}", path.display());
        return None;
    }
    Some(path)
}

/// The folders below that hold a case.
fn cases(folder: &Path) -> Vec<PathBuf> {
    let mut cases = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        if path.join("response.body").is_file() {
            cases.push(path);
        } else {
            let entries = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
            open.extend(entries.filter(|path| path.is_dir()));
        }
    }
    cases.sort();
    cases
}

struct Case {
    name: String,
    api: Api,
    meta: Value,
    expected: Value,
    body: Vec<u8>,
}

impl Case {
    fn read(path: &Path, meta: &str) -> Self {
        let json =
            |name: &str| -> Value { serde_json::from_slice(&fs::read(path.join(name)).unwrap()).unwrap() };
        let meta = json(meta);
        Self {
            name: path.file_name().unwrap().to_string_lossy().into_owned(),
            api: meta["api"].as_str().unwrap().parse().unwrap(),
            expected: json("expected.json"),
            meta,
            body: fs::read(path.join("response.body")).unwrap(),
        }
    }

    fn status(&self) -> u16 {
        self.meta["status"].as_u64().unwrap().try_into().unwrap()
    }

    /// Decodes the case in every way; the ways that differ are problems.
    fn decode(&self, problems: &mut Vec<String>) -> Decoded {
        let content_type = self.meta["content_type"].as_str();
        let headers: Vec<(String, String)> =
            self.meta["headers"].as_object().map_or_else(Vec::new, |headers| {
                headers
                    .iter()
                    .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
                    .collect()
            });
        let recorded = || decode_recorded(self.api, self.status(), content_type, &headers, &self.body);
        if !(200..300).contains(&self.status()) {
            return recorded();
        }
        let end = || match self.meta["transport"].is_null() {
            true => StreamEnd::Clean,
            false => StreamEnd::Cut("reset".into()),
        };
        let whole = if end() == StreamEnd::Clean {
            recorded()
        } else {
            in_pieces(self.api, content_type, &[&self.body], end())
        };
        for (way, places) in self.ways() {
            let pieces = cut_at(&self.body, places);
            if in_pieces(self.api, content_type, &pieces, end()) != whole {
                problems.push(format!("{way} decodes to something else"));
            }
        }
        whole
    }

    /// Where to cut: everywhere, at places of a fixed but jumbled choice, and as the case says.
    fn ways(&self) -> Vec<(String, Vec<usize>)> {
        let length = self.body.len();
        let mut ways = Vec::new();
        if length <= 64 * 1024 {
            ways.push(("byte by byte".to_owned(), (0..length).collect()));
        }
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        for round in 0..4 {
            let mut jump = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize % length.max(1)
            };
            ways.push((format!("cut {round}"), (0..200).map(|_| jump()).collect()));
        }
        if let Some(chunks) = self.meta["chunks"].as_array() {
            let mut at = 0;
            let places = chunks.iter().map(|size| {
                at += size.as_u64().unwrap() as usize;
                at
            });
            ways.push(("in its own chunks".to_owned(), places.collect()));
        }
        ways
    }
}

/// Whether two JSON values are the same, numbers by value.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

/// Compares those keys of `expected` that `keys` names and that are there.
fn compare(problems: &mut Vec<String>, place: &str, expected: &Value, found: &Value, keys: &[&str]) {
    for key in keys {
        if let Some(expected) = expected.get(key).filter(|expected| !same(expected, &found[*key])) {
            problems.push(format!("{place}{key}: {} instead of {expected}", found[*key]));
        }
    }
}

fn check(case: &Case) -> Vec<String> {
    let mut problems = Vec::new();
    let decoded = case.decode(&mut problems);
    let (expected, found) = (&case.expected, decoded.report());
    compare(&mut problems, "", expected, &found, &["text", "executable"]);
    compare(&mut problems, "reasoning.", &expected["reasoning"], &found["reasoning"], &["text", "opaque"]);
    if !expected["complete"].is_null() {
        compare(&mut problems, "", expected, &found, &["complete"]);
    }
    let refusal = decoded.refusal.clone().map_or(Value::Null, Value::from);
    if expected.get("refusal").is_some_and(|expected| *expected != refusal) {
        problems.push(format!("refusal: {refusal}"));
    }
    let class = &found["stop"]["class"];
    let accepted = expected["accept_stop"].as_array().is_some_and(|classes| classes.contains(class));
    if !accepted && expected["stop"]["class"] != *class {
        problems.push(format!("stop.class: {class} instead of {}", expected["stop"]["class"]));
    }
    compare(&mut problems, "stop.", &expected["stop"], &found["stop"], &["raw"]);
    check_calls(&mut problems, expected, &found);
    check_usage_and_error(&mut problems, expected, &found);
    let words = decoded.error.as_ref().map_or("", |error| error.message.as_str());
    if expected["error"]["message"].as_str().is_some_and(|message| !words.contains(message)) {
        problems.push(format!("error.message: {words:?}"));
    }
    problems
}

fn check_calls(problems: &mut Vec<String>, expected: &Value, found: &Value) {
    let (expected_calls, calls) =
        (expected["tool_calls"].as_array().unwrap(), found["tool_calls"].as_array().unwrap());
    if calls.is_empty() && expected["partial_calls_optional"] == true {
        return;
    }
    if expected_calls.len() != calls.len() {
        problems.push(format!("{} calls instead of {}", calls.len(), expected_calls.len()));
    }
    for (at, (expected, call)) in expected_calls.iter().zip(calls).enumerate() {
        compare(
            problems,
            &format!("call {at} "),
            expected,
            call,
            &["id", "name", "args", "args_status", "args_raw"],
        );
    }
}

fn check_usage_and_error(problems: &mut Vec<String>, expected: &Value, found: &Value) {
    let buckets = [
        "input_uncached",
        "cache_read",
        "cache_write",
        "cache_write_1h",
        "output",
        "reasoning",
        "prompt_total",
        "billed_elsewhere",
    ];
    for (key, keys) in
        [("usage", buckets.as_slice()), ("error", &["class", "retryable", "midstream", "retry_after_s"])]
    {
        if expected[key].is_null() != found[key].is_null() {
            problems.push(format!("{key}: {} instead of {}", found[key], expected[key]));
        }
        compare(problems, &format!("{key}."), &expected[key], &found[key], keys);
    }
}

/// The simpler form of expectation.
fn check_simple(case: &Case) -> Vec<String> {
    let mut problems = Vec::new();
    let decoded = case.decode(&mut problems);
    let (expected, found) = (&case.expected, decoded.report());
    compare(&mut problems, "", expected, &found, &["text"]);
    let calls = found["tool_calls"].as_array().unwrap().iter();
    let calls =
        calls.map(|call| serde_json::json!({ "name": call["name"], "arguments": call["args"] })).collect();
    if !same(&expected["calls"], &calls) {
        problems.push(format!("calls: {calls} instead of {}", expected["calls"]));
    }
    let stop = match found["stop"]["class"].as_str().unwrap() {
        stop @ ("end" | "tool_use" | "length" | "pause" | "error") => stop,
        "stop_sequence" => "end",
        "refusal" | "content_filter" => "refusal",
        _ => "other",
    };
    if expected["stop"] != stop {
        problems.push(format!("stop: {} instead of {}", found["stop"], expected["stop"]));
    }
    for (theirs, ours) in [
        ("input", "input_uncached"),
        ("cache_read", "cache_read"),
        ("cache_write", "cache_write"),
        ("output", "output"),
        ("reasoning", "reasoning"),
    ] {
        let (expected, found) = (&expected["usage"][theirs], &found["usage"][ours]);
        if !same(expected, found) {
            problems.push(format!("usage {ours}: {found} instead of {expected}"));
        }
    }
    problems
}

fn run(name: &str, meta: &str, check: fn(&Case) -> Vec<String>) {
    let Some(folder) = folder(name) else { return };
    let mut counts = BTreeMap::<String, (usize, usize)>::new();
    let mut failures = Vec::new();
    for path in cases(&folder) {
        let case = Case::read(&path, meta);
        if let Some((_, why)) = WRONG.iter().find(|(wrong, _)| *wrong == case.name) {
            eprintln!("{name}: left out {}: {why}", case.name);
            continue;
        }
        let problems = check(&case);
        let (right, all) = counts.entry(case.api.to_string()).or_default();
        *right += usize::from(problems.is_empty());
        *all += 1;
        failures.extend(problems.into_iter().map(|problem| format!("{} {}: {problem}", case.api, case.name)));
    }
    for (api, (right, all)) in &counts {
        eprintln!("{name}: {api}: {right} of {all}");
    }
    assert!(!counts.is_empty(), "{} holds no case", folder.display());
    assert!(failures.is_empty(), "{} problems\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn recorded_exchanges() {
    run("recorded", "response.meta.json", check);
}

#[test]
fn broken_streams() {
    run("faults", "response.meta.json", check);
}

#[test]
fn more_recorded_exchanges() {
    run("more", "meta.json", check_simple);
}
