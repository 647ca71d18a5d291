//! The roles and policies that are a part of countersign.

/// A file that is a part of countersign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// The name by which tasks ask for it.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! shipped {
    ($folder:literal, $($name:literal),*) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../../../", $folder, "/", $name, ".toml")) }),*]
    };
}

/// The roles.
pub const ROLES: &[Shipped] =
    shipped!("agents", "worker", "docs-writer", "tester", "verifier", "reviewer", "supervisor");

/// The policies.
pub const POLICIES: &[Shipped] = shipped!("policies", "default", "strict", "rust", "python", "node", "docs");
