//! The median of a list of numbers.

/// The middle value; the mean of the two middle values where their number is even; `None` where there is none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}
