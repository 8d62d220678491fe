//! Names of schemas in grants: `%` and `_` are wildcards, and a `\` before one of them makes it an ordinary character.

use super::Server;

pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    fits(&pattern, &name)
}

fn fits(pattern: &[char], name: &[char]) -> bool {
    match (pattern, name) {
        ([], rest) => rest.is_empty(),
        (['%', pattern @ ..], _) => (0..=name.len()).any(|n| fits(pattern, &name[n..])),
        (['_', pattern @ ..], [_, name @ ..]) => fits(pattern, name),
        (['\\', escaped, pattern @ ..], [first, name @ ..]) => escaped == first && fits(pattern, name),
        ([literal, pattern @ ..], [first, name @ ..]) => literal == first && fits(pattern, name),
        (_, []) => false,
    }
}

/// How specific a pattern is. If several rows match, a server uses only the most specific row. The order of equally
/// specific rows is not defined.
///
/// # Source
/// MySQL counts the characters before the first wildcard (`get_sort` in `sql/auth/sql_auth_cache.cc`). MariaDB prefers
/// patterns without `%`, then the pattern for longer names, then the pattern with more ordinary characters (seen with
/// 10.11).
pub(super) fn exactness(pattern: &str, server: Server) -> [usize; 3] {
    let (mut n_plain, mut n_one, mut n_many, mut before) = (0, 0, 0, None);
    let mut chars = pattern.chars();
    while let Some(it) = chars.next() {
        match it {
            '%' => n_many += 1,
            '_' => n_one += 1,
            it => {
                n_plain += 1;
                if it == '\\' {
                    chars.next();
                }
                continue;
            }
        }
        before.get_or_insert(n_plain);
    }
    match (before, server) {
        (None, _) => [usize::MAX; 3],
        (Some(before), Server::Mysql) => [before, 0, 0],
        (Some(_), Server::Mariadb) => [usize::from(n_many == 0), n_plain + n_one, n_plain],
    }
}

/// Whether the pattern contains no wildcard and therefore matches only itself.
pub(super) fn is_name(pattern: &str) -> bool {
    !pattern.contains(['%', '_', '\\'])
}

/// A name that the pattern matches, and that probably no grant uses.
pub(super) fn example(pattern: &str) -> String {
    let mut name = String::new();
    let mut chars = pattern.chars();
    while let Some(it) = chars.next() {
        match it {
            '%' => name.push_str("any"),
            '_' => name.push('x'),
            '\\' => name.extend(chars.next()),
            it => name.push(it),
        }
    }
    name
}

/// The pattern that matches only this name.
pub(super) fn escaped(name: &str) -> String {
    let mut pattern = String::new();
    for it in name.chars() {
        if matches!(it, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(it);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, fitting: &[&str], others: &[&str]) {
        for name in fitting {
            assert!(matches(pattern, name), "{pattern} for {name}");
        }
        for name in others {
            assert!(!matches(pattern, name), "{pattern} for {name}");
        }
        assert!(matches(pattern, &example(pattern)), "{pattern}");
    }

    #[test]
    fn wildcards_stand_for_others_unless_they_are_escaped() {
        check("shop", &["shop"], &["shops", "sho"]);
        check("shop%", &["shop", "shop_eu"], &["sho"]);
        check("sh_p", &["shop", "sh_p"], &["shp"]);
        check("sh\\_p", &["sh_p"], &["shop"]);
        check("%", &["", "anything"], &[]);
        check("a%b%c", &["abc", "axbxc"], &["ab", "acb"]);
    }

    #[test]
    fn a_plain_name_is_more_exact_than_any_pattern() {
        for server in [Server::Mysql, Server::Mariadb] {
            assert!(exactness("shop", server) > exactness("shop%", server));
            assert!(exactness("shop%", server) > exactness("sh%", server));
            assert_eq!(exactness("sh\\_p", server), exactness("shop", server));
        }
        assert!(exactness("shop%", Server::Mysql) > exactness("sh_p", Server::Mysql));
        assert!(exactness("shop%", Server::Mariadb) < exactness("sh_p", Server::Mariadb));
    }

    #[test]
    fn a_name_is_a_pattern_of_itself() {
        assert!(matches(&escaped("a_b%c\\"), "a_b%c\\"));
        assert!(!matches(&escaped("a_b"), "axb"));
    }
}
