//! A span of time as users write it: `"45m"`, `"1h 30m"`, `"20s"`.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

/// A positive span of time. As text: `"45m"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span(Duration);

/// A text that is not a span of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a span of time: write a positive number with a unit, as \"90s\", \"45m\" or \"1h 30m\""
)]
pub struct InvalidSpan(pub String);

impl Span {
    /// A span of whole seconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// The span for the standard library.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self(duration)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signed = jiff::SignedDuration::try_from(self.0).unwrap_or(jiff::SignedDuration::MAX);
        write!(f, "{signed:#}")
    }
}

impl FromStr for Span {
    type Err = InvalidSpan;

    fn from_str(text: &str) -> Result<Self, InvalidSpan> {
        let invalid = || InvalidSpan(text.into());
        let signed: jiff::SignedDuration = text.parse().map_err(|_| invalid())?;
        match Duration::try_from(signed) {
            Ok(duration) if !duration.is_zero() => Ok(Self(duration)),
            _ => Err(invalid()),
        }
    }
}

impl TryFrom<String> for Span {
    type Error = InvalidSpan;

    fn try_from(text: String) -> Result<Self, InvalidSpan> {
        text.parse()
    }
}

impl From<Span> for String {
    fn from(span: Span) -> String {
        span.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_write_spans_with_units() {
        for (text, seconds) in
            [("45m", 2700), ("20s", 20), ("1h 30m", 5400), ("1h30m", 5400), ("10 minutes", 600)]
        {
            assert_eq!(text.parse(), Ok(Span::from_secs(seconds)), "{text}");
        }
        for text in ["", "10", "-5s", "0s", "soon"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        let odd = Span::from_secs(5_425);
        assert_eq!(odd.to_string().parse(), Ok(odd));
    }
}
