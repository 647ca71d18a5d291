//! Sets of tools: the built-in ones by name, those of each kind of role, and an embedder's own.

use std::{collections::BTreeMap, sync::Arc};

use countersign_protocol::{RoleKind, ToolDefinition};
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::{Tool, builtin, control::ControlKind, names::nearest};

/// The tools of an actor, by name.
#[derive(Clone)]
pub struct Toolset {
    tools: BTreeMap<String, Arc<Entry>>,
}

/// A tool with its schema, read once.
pub(crate) struct Entry {
    pub(crate) what: What,
    pub(crate) definition: ToolDefinition,
    pub(crate) schema: Value,
    pub(crate) validator: Validator,
}

/// What happens to a call.
pub(crate) enum What {
    /// It is run.
    Run(Arc<dyn Tool>),
    /// It steers the loop.
    Steer(ControlKind),
}

/// Why tools can't be put together, or given to a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolsetError {
    /// There is no built-in tool of this name.
    #[error("there is no tool `{name}`{}", did_you_mean(nearest))]
    Unknown {
        /// The name as given.
        name: String,
        /// The nearest names, best first.
        nearest: Vec<String>,
    },
    /// The tool is there, but not for this kind of role.
    #[error("a {kind} may not have the tool `{name}`: {why}")]
    NotFor {
        /// The tool.
        name: String,
        /// The kind of role.
        kind: RoleKind,
        /// Why.
        why: &'static str,
    },
    /// Two tools have the same name.
    #[error("the tool `{name}` is there twice: give each tool a name of its own")]
    Twice {
        /// The name.
        name: String,
    },
    /// A tool's schema can't be used.
    #[error("the schema of the tool `{name}` can't be used: {reason}")]
    Schema {
        /// The tool.
        name: String,
        /// Why.
        reason: String,
    },
}

fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() {
        format!(": the built-in ones are {}", Toolset::builtin_names().join(", "))
    } else {
        format!(": did you mean {}?", nearest.join(", "))
    }
}

impl Toolset {
    /// The built-in tools of these names, in any order; a name given twice counts once.
    ///
    /// # Errors
    /// Where a name is not that of a built-in tool.
    pub fn builtin<N: AsRef<str>>(names: &[N]) -> Result<Self, ToolsetError> {
        let mut set = Self { tools: BTreeMap::new() };
        for name in names {
            let name = name.as_ref();
            if set.tools.contains_key(name) {
                continue;
            }
            let what = builtin_tool(name).ok_or_else(|| ToolsetError::Unknown {
                name: name.into(),
                nearest: nearest(name, Self::builtin_names()),
            })?;
            set.insert(what)?;
        }
        Ok(set)
    }

    /// The same set with more tools, such as an embedder's own.
    ///
    /// # Errors
    /// Where a name is there already, or a schema can't be used.
    pub fn with(mut self, tools: Vec<Arc<dyn Tool>>) -> Result<Self, ToolsetError> {
        for tool in tools {
            self.insert(What::Run(tool))?;
        }
        Ok(self)
    }

    fn insert(&mut self, what: What) -> Result<(), ToolsetError> {
        let definition = match &what {
            What::Run(tool) => tool.definition().clone(),
            What::Steer(control) => control.definition(),
        };
        let name = definition.name.clone();
        let bad = |reason: String| ToolsetError::Schema { name: name.clone(), reason };
        let schema: Value =
            serde_json::from_str(&definition.schema).map_err(|error| bad(error.to_string()))?;
        // The `regex` engine runs in linear time, whatever pattern a third party's schema holds.
        let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
        let validator = options.build(&schema).map_err(|error| bad(error.to_string()))?;
        if self.tools.contains_key(&name) {
            return Err(ToolsetError::Twice { name });
        }
        self.tools.insert(name, Arc::new(Entry { what, definition, schema, validator }));
        Ok(())
    }

    /// The names of all built-in tools.
    #[must_use]
    pub const fn builtin_names() -> &'static [&'static str] {
        &["bash", "blocked", "done", "edit", "find", "grep", "ls", "read", "verdict", "write"]
    }

    /// The tools that a role of this kind has where it names none.
    #[must_use]
    pub const fn default_names(kind: RoleKind) -> &'static [&'static str] {
        match kind {
            RoleKind::Worker => &["bash", "blocked", "done", "edit", "read", "write"],
            RoleKind::Verifier => &["bash", "find", "grep", "ls", "read", "verdict"],
            RoleKind::Supervisor => &[],
        }
    }

    /// The built-in tools that a role has: those it names, or those of its kind, and always the calls with which
    /// its kind ends its work (`done` and `blocked`, or `verdict`). Sorted.
    ///
    /// # Errors
    /// Where a name is unknown, or the tool is not for this kind of role.
    pub fn role_names(kind: RoleKind, named: Option<&[String]>) -> Result<Vec<String>, ToolsetError> {
        let mut names: Vec<String> = match named {
            Some(named) => named.to_vec(),
            None => Self::default_names(kind).iter().map(|&name| name.to_owned()).collect(),
        };
        for name in &names {
            if !Self::builtin_names().contains(&name.as_str()) {
                let nearest = nearest(name, Self::builtin_names());
                return Err(ToolsetError::Unknown { name: name.clone(), nearest });
            }
            if let Some(why) = unfit(kind, name) {
                return Err(ToolsetError::NotFor { name: name.clone(), kind, why });
            }
        }
        let own = ControlKind::ALL.into_iter().filter(|control| control.role() == kind);
        names.extend(own.map(|control| control.name().to_owned()));
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// What the model is told of the tools, in the order of their names: however the set was put together, the
    /// bytes are the same.
    #[must_use]
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.tools.values().map(|entry| entry.definition.clone()).collect()
    }

    /// Each tool's line for the system prompt, in the order of their names.
    #[must_use]
    pub fn guidelines(&self) -> Vec<(&str, &str)> {
        let lines = self.tools.iter().filter_map(|(name, entry)| {
            let line = match &entry.what {
                What::Run(tool) => tool.guideline(),
                What::Steer(control) => Some(control.guideline()),
            };
            line.map(|line| (name.as_str(), line))
        });
        lines.collect()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        self.tools.get(name)
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.tools.keys().map(String::as_str).collect()
    }
}

impl std::fmt::Debug for Toolset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Toolset").field(&self.names()).finish()
    }
}

fn builtin_tool(name: &str) -> Option<What> {
    let control = ControlKind::ALL.into_iter().find(|control| control.name() == name);
    control.map(What::Steer).or_else(|| builtin::tool(name).map(What::Run))
}

/// Why a role of this kind may not have a tool; `None` where it may.
fn unfit(kind: RoleKind, name: &str) -> Option<&'static str> {
    match (kind, name) {
        (RoleKind::Supervisor, _) => Some("it watches the run and does not act in the workspace"),
        (RoleKind::Worker, "verdict") => Some("the judgement is the verifier's alone"),
        (RoleKind::Verifier, "edit" | "write") => Some("what it judges must stay as it was claimed"),
        (RoleKind::Verifier, "done" | "blocked") => Some("it ends its work with `verdict`"),
        _ => None,
    }
}
