//! How long a provider asks to wait, in any of the forms that providers use.

use std::time::{Duration, SystemTime};

use serde_json::value::RawValue;

use super::json::Object;

/// A header's value; names compare without case.
pub(super) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// Reads `retry-after-ms`, then `retry-after` as seconds or as a date. What is neither says nothing.
pub(super) fn from_headers(headers: &[(String, String)]) -> Option<Duration> {
    if let Some(wait) = header(headers, "retry-after-ms").and_then(|ms| seconds(ms, 1000.0)) {
        return Some(wait);
    }
    let value = header(headers, "retry-after")?;
    seconds(value, 1.0).or_else(|| until(value, header(headers, "date")))
}

/// Reads Google's `{"@type":"…RetryInfo","retryDelay":"34.5s"}`.
pub(super) fn from_detail(raw: &RawValue) -> Option<Duration> {
    let delay = Object::of(raw)?.text("retryDelay")?;
    seconds(delay.strip_suffix('s')?, 1.0)
}

fn seconds(text: &str, divisor: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(number / divisor).ok()
}

/// The time from the server's own clock to a date; without a `Date` header, from the host's.
fn until(date: &str, now: Option<&str>) -> Option<Duration> {
    let date = httpdate::parse_http_date(date).ok()?;
    let now = now.and_then(|now| httpdate::parse_http_date(now).ok()).unwrap_or_else(SystemTime::now);
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(headers: &[(&str, &str)]) -> Option<Duration> {
        let headers: Vec<_> = headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        from_headers(&headers)
    }

    #[test]
    fn every_form_is_read_and_nonsense_is_not() {
        let date = "Wed, 02 Dec 2026 00:00:00 GMT";
        for (headers, expected) in [
            (&[("Retry-After", "7")][..], Some(7_000)),
            (&[("retry-after", "1.5")], Some(1_500)),
            (&[("retry-after-ms", "250"), ("retry-after", "9")], Some(250)),
            (&[("retry-after", "Wed, 02 Dec 2026 00:00:30 GMT"), ("date", date)], Some(30_000)),
            (&[("retry-after", date), ("date", "Wed, 02 Dec 2026 00:00:30 GMT")], Some(0)),
            (&[("retry-after", "abc")], None),
            (&[("retry-after", "-3")], None),
            (&[("retry-after", "1e400")], None),
            (&[("retry-after", "NaN")], None),
            (&[], None),
        ] {
            assert_eq!(wait(headers), expected.map(Duration::from_millis), "{headers:?}");
        }
    }

    #[test]
    fn a_delay_in_the_body_is_read() {
        let detail: Box<RawValue> =
            serde_json::from_str(r#"{"@type":"RetryInfo","retryDelay":"2.5s"}"#).unwrap();
        assert_eq!(from_detail(&detail), Some(Duration::from_millis(2_500)));
    }
}
