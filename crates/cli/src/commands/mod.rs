//! The commands, one module each.

pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod decode;
pub(crate) mod doctor;
pub(crate) mod fork;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod show;
pub(crate) mod verify;
