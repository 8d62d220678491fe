//! The patterns of the table: for paths of files, names of settings, and values.

/// Whether a path matches: `*` stands for any text without a slash, `**/` for any number of folders, including none.
pub(crate) fn fits_path(pattern: &str, path: &str) -> bool {
    match pattern.strip_prefix("**/") {
        Some(rest) => {
            // Keeps only the last parts of the path, as many as the pattern has.
            let slash = path.rmatch_indices('/').nth(rest.matches('/').count());
            fits_parts(rest, &path[slash.map_or(0, |(at, _)| at + 1)..])
        }
        None => fits_parts(pattern, path),
    }
}

fn fits_parts(pattern: &str, path: &str) -> bool {
    pattern.split('/').count() == path.split('/').count()
        && pattern.split('/').zip(path.split('/')).all(|(pattern, part)| fits(pattern, part))
}

/// Whether a text matches, regardless of case: `*` stands for any text.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    if pattern.is_ascii()
        && text.is_ascii()
        && let Some(fits) = fits_ascii(pattern, text)
    {
        return fits;
    }
    let text = text.to_lowercase();
    let pattern = pattern.to_lowercase();
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else {
        return rest.is_empty();
    };
    for piece in middle {
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// Does the same as `fits` without copying the text, because there are thousands of names and hundreds of patterns.
/// `None` if the pattern has several `*`.
fn fits_ascii(pattern: &str, text: &str) -> Option<bool> {
    let Some((first, last)) = pattern.split_once('*') else {
        return Some(pattern.eq_ignore_ascii_case(text));
    };
    if last.contains('*') {
        return None;
    }
    let is_long = text.len() >= first.len() + last.len();
    let fits = |part: &str, own: &str| part.eq_ignore_ascii_case(own);
    Some(is_long && fits(&text[..first.len()], first) && fits(&text[text.len() - last.len()..], last))
}

/// The texts that the wildcards match in a setting's name; `None` if the name does not match. `/` separates the parts
/// of a name. `*` matches one part, `{*}` a text inside one part, and a leading `**` any number of parts.
pub(crate) fn captured(pattern: &str, path: &[String]) -> Option<Vec<String>> {
    let (pattern, free) = match pattern.strip_prefix("**/") {
        Some(rest) => {
            let n_fixed = rest.split('/').count();
            (rest, Some(path.len().checked_sub(n_fixed)?))
        }
        None => (pattern, None),
    };
    let n_free = free.unwrap_or(0);
    let fixed = &path[n_free..];
    if pattern.split('/').count() != fixed.len() {
        return None;
    }
    let mut found: Vec<String> = free.map(|n| path[..n].join("/")).into_iter().collect();
    for (pattern, part) in pattern.split('/').zip(fixed) {
        if pattern.contains("{*}") {
            found.extend(within(pattern, part)?);
            continue;
        }
        if !fits(pattern, part) {
            return None;
        }
        if pattern == "*" {
            found.push(part.clone());
        }
    }
    Some(found)
}

/// The texts that the `{*}` of a part match. A `{*}` at the end of the part may match an empty text.
fn within(pattern: &str, part: &str) -> Option<Vec<String>> {
    let mut pieces = pattern.split("{*}");
    let mut rest = part.strip_prefix(pieces.next()?)?;
    let mut pieces = pieces.peekable();
    let mut found = Vec::new();
    while let Some(piece) = pieces.next() {
        let is_last = pieces.peek().is_none();
        let at = if is_last { rest.strip_suffix(piece)?.len() } else { rest.find(piece)? };
        if at == 0 && !(is_last && piece.is_empty()) {
            return None;
        }
        found.push(rest[..at].to_owned());
        rest = &rest[at + piece.len()..];
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_fit_by_folder_and_name() {
        assert!(fits_path("**/wp-config.php", "/var/www/wp-config.php"));
        assert!(fits_path("**/wp-config.php", "wp-config.php"));
        assert!(fits_path("**/app/etc/env.php", "/srv/m/app/etc/env.php"));
        assert!(!fits_path("**/app/etc/env.php", "/srv/env.php"));
        assert!(fits_path("/etc/php/*/fpm/php.ini", "/etc/php/8.2/fpm/php.ini"));
        assert!(!fits_path("/etc/*.cf", "/etc/postfix/a.cf"));
    }

    #[track_caller]
    fn check(pattern: &str, path: &str, expected: Option<&[&str]>) {
        let path: Vec<String> = path.split('/').map(str::to_owned).collect();
        let expected = expected.map(|it| it.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(captured(pattern, &path), expected, "{pattern}");
    }

    #[test]
    fn names_of_settings_fit_part_by_part() {
        check("DB_HOST", "db_host", Some(&[]));
        check("db/*/host", "db/default/host", Some(&["default"]));
        check("db/*/host", "db/host", None);
        check("**/host", "a/b/host", Some(&["a/b"]));
        check("**/host", "host", Some(&[""]));
        check("g-{*}-host", "g-second-host", Some(&["second"]));
        check("g-{*}-host", "g-host", None);
        check("p.{*}.s.{*}/h/*", "p.a.s.0/h/1", Some(&["a", "0", "1"]));
        check("redis{*}/h", "redis/h", Some(&[""]));
        check("env/*_url", "env/cache_url", Some(&[]));
    }
}
