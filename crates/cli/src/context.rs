//! What every command starts from: the flags, the process's surroundings, and what both lead to.

use countersign::{Diagnostic, Globals, Settings, World, diagnose};

use crate::{cli, output, state::Runs};

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
        let settings = Settings::load(&self.world, &self.globals, &self.world.cwd)?;
        self.tell(settings.notes());
        Ok(settings)
    }

    /// Says on stderr what is worth knowing.
    pub(crate) fn tell(&self, notes: &[Diagnostic]) {
        if !notes.is_empty() && !self.flags.quiet {
            output::note(&diagnose::render(notes, true));
        }
    }
}
