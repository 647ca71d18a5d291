//! Holds a TOML table against its schema and finds every key that is unknown, missing or of the wrong type.

use std::{borrow::Cow, ops::Range, sync::Arc};

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use crate::{
    diagnose::{Diagnostic, Findings, Source},
    nearest::{did_you_mean, list_or, nearest},
    schema::{Key, Kind, Table, Without},
};

/// Whether required keys must be in this very file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Required {
    /// The file is whole.
    Here,
    /// The file is a layer: but for the key by which it is merged, any key may stand in another one.
    InAnyLayer,
}

struct Walk<'a> {
    source: &'a Arc<Source>,
    required: Required,
    findings: &'a mut Findings,
}

/// Finds all that is wrong with a file.
pub(crate) fn walk(
    root: &Spanned<DeTable<'_>>,
    schema: &Table,
    required: Required,
    source: &Arc<Source>,
    findings: &mut Findings,
) {
    let start = 0..source.text.find('\n').unwrap_or(source.text.len());
    Walk { source, required, findings }.table(root.get_ref(), start, schema);
}

impl Walk<'_> {
    fn error(&mut self, span: Range<usize>, message: impl Into<String>, label: String, help: Option<String>) {
        let diagnostic = Diagnostic::error(message).at(self.source, span).label(label).maybe_help(help);
        self.findings.add(diagnostic);
    }

    fn table(&mut self, table: &DeTable<'_>, header: Range<usize>, schema: &Table) {
        for (name, value) in table {
            match schema.key(name.get_ref()) {
                Some(key) => self.value(key.name, name.span(), value, &key.kind),
                None => self.unknown(name, value, schema),
            }
        }
        // A misspelt required key is reported once, as misspelt.
        let meant = |key: &Key| {
            let unknown = table.keys().filter(|name| schema.key(name.get_ref()).is_none());
            unknown.into_iter().any(|name| nearest(name.get_ref(), schema.names()).first() == Some(&key.name))
        };
        let missing: Vec<_> = schema
            .keys
            .iter()
            .filter(|key| matches!(key.without, Without::Refused) && !table.contains_key(key.name))
            .filter(|key| self.required == Required::Here || key.name == "id")
            .filter(|key| !meant(key))
            .collect();
        for key in missing {
            let message = format!("{} needs the key `{}`", schema.title, key.name);
            let help = format!("add `{} = {}`: {}", key.name, example(&key.kind), lower_first(key.meaning));
            self.error(header.clone(), message, format!("no `{}` here", key.name), Some(help));
        }
    }

    fn unknown(&mut self, name: &Spanned<Cow<'_, str>>, value: &Spanned<DeValue<'_>>, schema: &Table) {
        let key = name.get_ref().as_ref();
        let slip = schema.slips.iter().find(|(slip, _)| *slip == key).map(|(_, help)| (*help).to_owned());
        let inner = schema.keys.iter().find(|outer| outer.kind.table().is_some_and(|t| t.key(key).is_some()));
        let help = slip
            .or_else(|| inner.map(|outer| format!("`{key}` belongs in `[{}]`", outer.name)))
            .or_else(|| did_you_mean(key, schema.names()))
            .unwrap_or_else(|| format!("the keys are {}", list_or(&schema.names().collect::<Vec<_>>())));
        // A key that is out of place may stand beside a secret: whoever pastes the message must not paste that too.
        let secret =
            ["key", "token", "secret", "password"].iter().any(|word| key.to_lowercase().contains(word));
        let error =
            Diagnostic::error(format!("{} has no key `{key}`", schema.title)).at(self.source, name.span());
        let hidden = secret.then(|| value.span()).filter(|_| value.get_ref().is_str());
        self.findings.add(error.label("unknown key").hidden(hidden).help(help));
    }

    fn value(&mut self, key: &str, key_span: Range<usize>, value: &Spanned<DeValue<'_>>, kind: &Kind) {
        match (kind, value.get_ref()) {
            (Kind::Text, DeValue::String(_)) | (Kind::Boolean, DeValue::Boolean(_)) => {}
            (Kind::Formed(form), DeValue::String(text)) => {
                if let Err(wrong) = (form.check)(text) {
                    let label = format!("not {}", form.what);
                    self.error(
                        value.span(),
                        wrong,
                        label,
                        Some(format!("for example `{key} = {}`", form.example)),
                    );
                }
            }
            (Kind::Choice(words), DeValue::String(text)) => {
                if !words.contains(&text.as_ref()) {
                    let near = did_you_mean(text, words.iter().copied());
                    let message = format!("`{key}` can't be \"{text}\"");
                    self.error(value.span(), message, format!("expected {}", kind.expected()), near);
                }
            }
            (Kind::Integer(least), DeValue::Integer(number)) => {
                let parsed = i64::from_str_radix(number.as_str(), number.radix()).ok();
                if parsed.and_then(|number| u64::try_from(number).ok()).is_none_or(|number| number < *least) {
                    let message = format!("`{key}` can't be {number}");
                    self.error(value.span(), message, format!("expected {}", kind.expected()), None);
                }
            }
            (Kind::Share, DeValue::Float(_) | DeValue::Integer(_)) => self.share(key, value),
            (Kind::List(kind), DeValue::Array(entries)) => {
                for entry in entries {
                    self.value(key, key_span.clone(), entry, kind);
                }
            }
            (Kind::Table(schema), DeValue::Table(table)) => self.table(table, key_span, schema),
            (Kind::Tables(schema), DeValue::Array(entries)) => {
                for entry in entries {
                    match entry.get_ref() {
                        DeValue::Table(table) => self.table(table, entry.span(), schema),
                        _ => self.wrong_type(key, entry, &Kind::Table(schema)),
                    }
                }
            }
            (Kind::Named(schema), DeValue::Table(names)) => {
                for (name, entry) in names {
                    match entry.get_ref() {
                        DeValue::Table(table) => self.table(table, name.span(), schema),
                        _ => self.wrong_type(name.get_ref(), entry, &Kind::Table(schema)),
                    }
                }
            }
            (Kind::Values(kind), DeValue::Table(names)) => {
                for (name, entry) in names {
                    self.value(name.get_ref(), name.span(), entry, kind);
                }
            }
            _ => self.wrong_type(key, value, kind),
        }
    }

    fn share(&mut self, key: &str, value: &Spanned<DeValue<'_>>) {
        let number = match value.get_ref() {
            DeValue::Float(number) => number.as_str().parse().unwrap_or(f64::NAN),
            DeValue::Integer(number) => number.as_str().parse().unwrap_or(f64::NAN),
            _ => f64::NAN,
        };
        if !(0.0..=1.0).contains(&number) {
            let message = format!("`{key}` can't be {}", &self.source.text[value.span()]);
            self.error(value.span(), message, "expected a number from 0 to 1".into(), None);
        }
    }

    fn wrong_type(&mut self, key: &str, value: &Spanned<DeValue<'_>>, kind: &Kind) {
        let found = found(value.get_ref());
        let written = self.source.text.get(value.span()).unwrap_or_default();
        let help = match (kind, value.get_ref()) {
            (Kind::Text | Kind::Formed(_) | Kind::Choice(_), DeValue::Integer(_) | DeValue::Float(_)) => {
                Some(format!("write it in quotes: `{key} = \"{written}\"`"))
            }
            (Kind::Integer(_) | Kind::Share | Kind::Boolean, DeValue::String(text)) => {
                Some(format!("write it without quotes: `{key} = {text}`"))
            }
            (Kind::List(_), DeValue::String(_)) => Some(format!("write `{key} = [{written}]`")),
            (Kind::Tables(_), DeValue::Table(_)) => Some(format!("write `[[{key}]]` instead of `[{key}]`")),
            (Kind::Table(_), DeValue::Array(_)) => Some(format!("write `[{key}]` instead of `[[{key}]]`")),
            (Kind::Formed(form), _) => Some(format!("for example `{key} = {}`", form.example)),
            _ => None,
        };
        let message = format!("`{key}` is {found}, and must be {}", kind.expected());
        self.error(value.span(), message, format!("this is {found}"), help);
    }
}

fn found(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a truth value",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

fn example(kind: &Kind) -> &'static str {
    match kind {
        Kind::Formed(form) => form.example,
        Kind::Integer(_) => "1",
        Kind::Share => "0.2",
        Kind::Boolean => "true",
        Kind::Text | Kind::Choice(_) => "\"…\"",
        Kind::List(_) | Kind::Tables(_) => "[…]",
        Kind::Table(_) | Kind::Named(_) | Kind::Values(_) => "{ … }",
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.trim_end_matches('.').chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
