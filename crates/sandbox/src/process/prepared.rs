//! A command made ready for the system: what was only wished for is checked and filled in.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use super::{
    Captured, Command, Program, SpawnError, Streams, environment,
    output::{Capture, beside},
};

/// What the system needs to start a command.
pub(super) struct Prepared {
    pub(super) argv: Vec<OsString>,
    pub(super) cwd: PathBuf,
    pub(super) environment: BTreeMap<OsString, OsString>,
}

impl Prepared {
    /// Checks the folder and the text, and makes the scrubbed environment.
    pub(super) fn new(command: &Command) -> Result<Self, SpawnError> {
        let environment = environment::scrubbed(std::env::vars_os(), &command.env);
        let argv: Vec<OsString> = match &command.program {
            Program::Argv(argv) => argv.iter().map(OsString::from).collect(),
            // `--`: the line may start with a dash.
            Program::Shell(line) => {
                vec![environment::shell(&environment).into(), "-c".into(), "--".into(), line.into()]
            }
        };
        if argv.first().is_none_or(|program| program.is_empty()) {
            return Err(SpawnError::Invalid("it is empty"));
        }
        let texts = argv.iter().chain(environment.iter().flat_map(|(name, value)| [name, value]));
        if texts.into_iter().any(|text| text.as_encoded_bytes().contains(&0)) {
            return Err(SpawnError::Invalid("it holds a NUL byte"));
        }
        if environment.keys().any(|name| name.is_empty() || name.as_encoded_bytes().contains(&b'=')) {
            return Err(SpawnError::Invalid("a variable's name is empty or holds `=`"));
        }
        Ok(Self { argv, cwd: folder(&command.cwd)?, environment })
    }
}

fn folder(cwd: &Path) -> Result<PathBuf, SpawnError> {
    let failed = |source| SpawnError::Folder { cwd: cwd.into(), source };
    let folder = std::path::absolute(cwd).map_err(failed)?;
    match std::fs::metadata(&folder) {
        Ok(found) if found.is_dir() => Ok(folder),
        Ok(_) => Err(failed(io::ErrorKind::NotADirectory.into())),
        Err(source) => Err(failed(source)),
    }
}

/// The command as a person would name it, for messages.
pub(super) fn label(program: &Program) -> String {
    match program {
        Program::Shell(line) => line.clone(),
        Program::Argv(argv) => argv.join(" "),
    }
}

/// The ends of the output pipes for the command to write to.
pub(super) struct Writers {
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// The reading of both output streams.
pub(super) struct Captures {
    stdout: Capture,
    /// `None` where stderr goes into stdout's pipe.
    stderr: Option<Capture>,
}

impl Captures {
    /// Makes the pipes that the command asks for, and starts to read them.
    pub(super) fn start(command: &Command) -> Result<(Self, Writers), SpawnError> {
        let pipe = || io::pipe().map_err(|source| SpawnError::Output { file: None, source });
        let (reader, stdout) = pipe()?;
        let (stderr, err) = match command.streams {
            Streams::Merged => {
                (None, stdout.try_clone().map_err(|source| SpawnError::Output { file: None, source })?)
            }
            Streams::Separate => {
                let (reader, writer) = pipe()?;
                let file = command.spill.as_deref().map(beside);
                (Some(Capture::start(reader.into(), command.keep, file)?), writer)
            }
        };
        let stdout_capture = Capture::start(reader.into(), command.keep, command.spill.clone())?;
        Ok((Self { stdout: stdout_capture, stderr }, Writers { stdout: stdout.into(), stderr: err.into() }))
    }

    /// Takes what is still in the pipes, and ends the reading.
    pub(super) async fn finish(self) -> Result<(Captured, Captured), SpawnError> {
        let stdout = self.stdout.finish().await?;
        let stderr = match self.stderr {
            Some(capture) => capture.finish().await?,
            None => Captured::nothing(),
        };
        Ok((stdout, stderr))
    }
}
