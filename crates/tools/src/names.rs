//! The nearest names, for messages about a name that is not there.

/// At most three of `known` that look like `name`, best first.
pub(crate) fn nearest<N: AsRef<str>>(name: &str, known: &[N]) -> Vec<String> {
    const SIMILAR: f64 = 0.75;
    let folded = name.to_lowercase();
    let mut scored: Vec<(f64, &str)> = known
        .iter()
        .map(|known| (strsim::jaro_winkler(&folded, &known.as_ref().to_lowercase()), known.as_ref()))
        .filter(|(score, _)| *score >= SIMILAR)
        .collect();
    scored.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.cmp(right)));
    scored.into_iter().take(3).map(|(_, known)| known.to_owned()).collect()
}
