//! What the tests of this crate share.

use std::path::Path;

use crate::world::World;

/// A world whose files are all below one folder.
pub(crate) fn world(root: &Path) -> World {
    World {
        cwd: root.into(),
        config_home: Some(root.join("config")),
        state_home: Some(root.join("state")),
        home: None,
        variables: [("ANTHROPIC_API_KEY".to_owned(), "test-key-of-no-worth".to_owned())].into(),
    }
}
