//! Matches path patterns, as in the `include` of nginx and PHP-FPM (glob(7)).

use std::path::Path;

/// Whether a word is a pattern and not a plain path.
pub(super) fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?', '['])
}

/// Whether a path matches a pattern, component by component; a wildcard does not match a dot at the start of a name.
pub(super) fn fits(pattern: &str, path: &Path) -> bool {
    let (patterns, path) = (pattern.split('/').collect::<Vec<_>>(), path.to_string_lossy());
    let parts: Vec<&str> = path.split('/').collect();
    let is_fit = |(pattern, part): (&&str, &&str)| {
        let is_hidden = part.starts_with('.') && !pattern.starts_with('.');
        !is_hidden && part_fits(pattern.as_bytes(), part.as_bytes())
    };
    patterns.len() == parts.len() && patterns.iter().zip(&parts).all(is_fit)
}

fn part_fits(pattern: &[u8], part: &[u8]) -> bool {
    let Some((first, rest)) = pattern.split_first() else {
        return part.is_empty();
    };
    match first {
        b'*' => (0..=part.len()).any(|n| part_fits(rest, &part[n..])),
        b'?' => !part.is_empty() && part_fits(rest, &part[1..]),
        b'[' => {
            let (Some(end), Some((byte, behind))) =
                (rest.iter().skip(1).position(|it| *it == b']'), part.split_first())
            else {
                return false;
            };
            let (set, after) = (&rest[..=end], &rest[end + 2..]);
            is_in(set, *byte) && part_fits(after, behind)
        }
        byte => part.first() == Some(byte) && part_fits(rest, &part[1..]),
    }
}

fn is_in(set: &[u8], byte: u8) -> bool {
    let (is_turned, set) = match set.split_first() {
        Some((b'!' | b'^', rest)) => (true, rest),
        _ => (false, set),
    };
    let mut found = false;
    let mut at = 0;
    while at < set.len() {
        if let [low, b'-', high, ..] = set[at..] {
            found |= (low..=high).contains(&byte);
            at += 3;
        } else {
            found |= set[at] == byte;
            at += 1;
        }
    }
    found != is_turned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_whole_components() {
        let check = |pattern, path: &str, expected| assert_eq!(fits(pattern, Path::new(path)), expected, "{pattern}");
        check("/etc/nginx/sites-enabled/*", "/etc/nginx/sites-enabled/shop", true);
        check("/etc/nginx/sites-enabled/*", "/etc/nginx/sites-enabled/.shop", false);
        check("/etc/nginx/*", "/etc/nginx/sites-enabled/shop", false);
        check("/etc/*/*.conf", "/etc/php/a.conf", true);
        check("/etc/*/*.conf", "/etc/php/a.confx", false);
        check("/a/[a-c]?[!x]", "/a/byz", true);
        check("/a/[a-c]?[!x]", "/a/byx", false);
        check("/a/[]", "/a/b", false);
    }
}
