//! The nearest right spelling of a word.

/// The candidates that a misspelt word probably meant, best first, at most three.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_lowercase();
    let score = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let similar = strsim::normalized_damerau_levenshtein(&word, &candidate).max(
            // Another separator or a singular is the same word to the one who wrote it.
            if fold(&word) == fold(&candidate) { 1.0 } else { 0.0 },
        );
        let contained = word.len() >= 3 && (candidate.contains(&word) || word.contains(&candidate));
        if contained { similar.max(0.61) } else { similar }
    };
    let mut scored: Vec<_> = candidates.into_iter().map(|candidate| (score(candidate), candidate)).collect();
    scored.retain(|(score, _)| *score > 0.6);
    scored.sort_by(|(a, left), (b, right)| b.total_cmp(a).then(left.cmp(right)));
    scored.dedup_by_key(|(_, candidate)| *candidate);
    scored.into_iter().map(|(_, candidate)| candidate).take(3).collect()
}

fn fold(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).collect::<String>().trim_end_matches('s').into()
}

/// The question to ask, where a candidate is near.
pub(crate) fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let near = nearest(word, candidates);
    (!near.is_empty()).then(|| format!("did you mean {}?", list_or(&near)))
}

/// `a`, `b` or `c`, each in backticks.
pub(crate) fn list_or(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let keys = ["max_refutations", "protected", "protected_change", "scope", "check"];
        assert_eq!(nearest("max_refutation", keys), ["max_refutations"]);
        assert_eq!(nearest("max-refutations", keys), ["max_refutations"]);
        assert_eq!(nearest("checks", keys), ["check"]);
        assert_eq!(nearest("protect", keys)[0], "protected");
        assert!(nearest("colour", keys).is_empty());
    }

    #[test]
    fn candidates_are_listed_as_a_person_would() {
        assert_eq!(list_or(&["a", "b", "c"]), "`a`, `b` or `c`");
        assert_eq!(did_you_mean("worke", ["worker"]).as_deref(), Some("did you mean `worker`?"));
    }
}
