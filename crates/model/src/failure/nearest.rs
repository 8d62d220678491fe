//! Finds the known name that a misspelt name probably means.

/// Returns the candidate that is most similar to `found`; `None` if no candidate is similar enough.
pub fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Names are short: a longer text is not similar to any name, and the comparison would take long.
    const MOST_CHARS: usize = 64;
    if found.chars().count() > MOST_CHARS {
        return None;
    }
    let found = found.to_ascii_lowercase();
    // A third of the letters may be wrong: `radnom` is similar to `random`, but `foo` is not similar to `pow`.
    let most = (found.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&found, name), name))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_letters_may_be_wrong() {
        let kinds = ["mariadb", "mysql", "postgres", "redis"];
        assert_eq!(nearest("postgers", kinds), Some("postgres"));
        assert_eq!(nearest("mysq", kinds), Some("mysql"));
        assert_eq!(nearest("Redis", kinds), Some("redis"));
        assert_eq!(nearest("oracle", kinds), None);
        assert_eq!(nearest(&"mysql".repeat(100), kinds), None);
    }
}
