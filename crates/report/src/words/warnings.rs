//! The warnings about a whole record, with each kind of warning only once.

use looptax_model::record::Record;

use super::sentence::place;
use crate::format::{Text, counted};

/// Returns the warnings in the order in which they first occur. If several comparisons have the same warning, the
/// warning has the figures of the first of these comparisons.
pub(crate) fn warnings_once(record: &Record, text: Text) -> Vec<String> {
    let mut kinds: Vec<(String, String, u64)> = Vec::new();
    for comparison in &record.comparisons {
        for warning in &comparison.warnings {
            let kind = without_figures(warning);
            if let Some((_, _, n)) = kinds.iter_mut().find(|(it, _, _)| *it == kind) {
                *n += 1;
                continue;
            }
            let place = place(comparison, text);
            kinds.push((kind, format!("{place}: {}", text.clean(warning)), 0));
        }
    }
    let said = kinds.into_iter().map(|(_, words, n_more)| match n_more {
        0 => format!("warning: {words}"),
        n => format!("warning: {words} (and at {} more)", counted(n, "comparison")),
    });
    said.collect()
}

/// Returns a warning without its figures and its arm, to recognize warnings of the same kind.
fn without_figures(warning: &str) -> String {
    let is_plain = |word: &&str| !word.contains(|c: char| c.is_ascii_digit());
    let words: Vec<&str> = warning.split(' ').filter(is_plain).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_do_not_make_another_warning() {
        let [one, two] = ["waited only 95.9 % of the time", "waited only 7 % of the time"];
        assert_eq!(without_figures(one), without_figures(two));
        assert_ne!(without_figures(one), without_figures("waited all of the time"));
    }
}
