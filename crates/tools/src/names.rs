//! The nearest names, for messages about a name that is not there.

/// At most three of `known` that look like `name`, best first.
pub(crate) fn nearest<N: AsRef<str>>(name: &str, known: &[N]) -> Vec<String> {
    let folded = name.to_lowercase();
    let mut scored: Vec<(f64, &str)> = known
        .iter()
        .filter_map(|known| Some((score(&folded, &known.as_ref().to_lowercase())?, known.as_ref())))
        .collect();
    scored.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.cmp(right)));
    scored.into_iter().take(3).map(|(_, known)| known.to_owned()).collect()
}

/// How much two names look alike; nothing where they don't.
fn score(name: &str, known: &str) -> Option<f64> {
    // The first measure finds common starts, the second finds letters swapped in short names.
    const SIMILAR: f64 = 0.75;
    const FEW_SLIPS: f64 = 0.66;
    let similar = strsim::jaro_winkler(name, known);
    let slips = strsim::normalized_damerau_levenshtein(name, known);
    (similar >= SIMILAR || slips >= FEW_SLIPS).then_some(similar.max(slips))
}
