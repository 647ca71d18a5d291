//! What a person sees of a run: lines for what happened, rows for what happens now, and the end in plain words.

pub(crate) mod end;
pub(crate) mod line;
pub(crate) mod painter;
pub(crate) mod status;
#[cfg(test)]
pub(crate) mod story;
