//! What every command starts from: the flags, the process's surroundings, and what both lead to.

use countersign::{Globals, Settings, World};

use crate::{cli, state::Runs};

/// The flags and the surroundings.
pub(crate) struct Context {
    /// The flags of every command.
    pub(crate) flags: cli::Globals,
    /// The flags that the library reads.
    pub(crate) globals: Globals,
    /// The surroundings.
    pub(crate) world: World,
}

impl Context {
    pub(crate) fn new(flags: cli::Globals) -> anyhow::Result<Self> {
        let globals =
            Globals { config: flags.config.clone(), state_dir: flags.state_dir.clone(), trust: flags.trust };
        Ok(Self { flags, globals, world: World::of_process()? })
    }

    /// The runs in the state directory.
    pub(crate) fn runs(&self) -> anyhow::Result<Runs> {
        Runs::of(&self.world, &self.globals)
    }

    /// What a run in the current folder could use.
    pub(crate) fn settings(&self) -> anyhow::Result<Settings> {
        Ok(Settings::load(&self.world, &self.globals, &self.world.cwd)?)
    }
}
