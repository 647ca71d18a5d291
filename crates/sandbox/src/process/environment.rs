//! The scrubbed environment: a list of what passes, and what is set so that nothing waits for a person.

use std::{collections::BTreeMap, ffi::OsString, path::Path};

/// The variables that pass from the host. Everything else stays behind: keys and tokens above all, but also what
/// makes other programs run code (`LD_*`, `BASH_ENV`, `NODE_OPTIONS`, `PYTHONPATH`, `RUSTC_WRAPPER`), what reaches
/// agents (`SSH_AUTH_SOCK`, `DOCKER_HOST`), and what would share a build cache between worker and verifier
/// (`CARGO_TARGET_DIR`).
const PASSED: &[&str] = &[
    "CARGO_HOME",
    "CARGO_NET_OFFLINE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "HOME",
    "JAVA_HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "NVM_DIR",
    "PATH",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "TZ",
    "USER",
];

/// What is set: no editor, pager, prompt or colour, and no git configuration but the repository's.
const SET: &[(&str, &str)] = &[
    ("CI", "1"),
    ("EDITOR", "true"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("MANPAGER", "cat"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("TERM", "dumb"),
    ("VISUAL", "true"),
];

/// Where programs are looked for when the host has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The environment of a command: what passes of `host`, what is set, and `added` on top.
pub(super) fn scrubbed(
    host: impl IntoIterator<Item = (OsString, OsString)>,
    added: &[(String, String)],
) -> BTreeMap<OsString, OsString> {
    let mut environment: BTreeMap<OsString, OsString> =
        host.into_iter().filter(|(name, _)| PASSED.iter().any(|passed| name == passed)).collect();
    environment.insert("PATH".into(), absolute_only(environment.get(&OsString::from("PATH"))));
    environment.extend(SET.iter().map(|(name, value)| (name.into(), value.into())));
    environment.extend(added.iter().map(|(name, value)| (name.into(), value.into())));
    environment
}

/// The search path without its relative parts: they would find programs in the workspace.
fn absolute_only(path: Option<&OsString>) -> OsString {
    let path = path.map_or_else(|| DEFAULT_PATH.into(), Clone::clone);
    let parts: Vec<_> = std::env::split_paths(&path).filter(|part| part.is_absolute()).collect();
    std::env::join_paths(parts).unwrap_or_else(|_| DEFAULT_PATH.into())
}

/// The shell for a line: bash if it is on this path, else `sh`.
pub(super) fn shell(environment: &BTreeMap<OsString, OsString>) -> &'static str {
    let path = environment.get(&OsString::from("PATH")).cloned().unwrap_or_default();
    let bash =
        std::env::split_paths(&path).any(|folder: std::path::PathBuf| is_program(&folder.join("bash")));
    if bash { "bash" } else { "sh" }
}

fn is_program(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn no_key_token_or_injected_code_passes() {
        let secrets = [
            "ANTHROPIC_API_KEY",
            "GITHUB_TOKEN",
            "CARGO_REGISTRY_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "SSH_AUTH_SOCK",
            "DOCKER_HOST",
            "LD_PRELOAD",
            "RUSTC_WRAPPER",
            "NODE_OPTIONS",
            "PYTHONPATH",
            "BASH_ENV",
            "CARGO_TARGET_DIR",
            "GIT_DIR",
            "https_proxy",
        ];
        let pairs: Vec<_> = secrets.iter().map(|name| (*name, "secret")).collect();
        let environment = scrubbed(host(&pairs), &[]);
        for name in secrets {
            assert!(!environment.contains_key(&OsString::from(name)), "{name} passed");
        }
    }

    #[test]
    fn what_is_set_wins_over_the_host_and_what_is_added_over_both() {
        let environment = scrubbed(host(&[("TERM", "xterm")]), &[("CI".into(), "2".into())]);
        assert_eq!(environment[&OsString::from("TERM")], "dumb");
        assert_eq!(environment[&OsString::from("CI")], "2");
    }

    #[test]
    fn the_search_path_has_no_relative_part() {
        let environment = scrubbed(host(&[("PATH", "/usr/bin:.::bin:/bin")]), &[]);
        assert_eq!(environment[&OsString::from("PATH")], "/usr/bin:/bin");
        assert_eq!(scrubbed(host(&[]), &[])[&OsString::from("PATH")], DEFAULT_PATH);
    }
}
