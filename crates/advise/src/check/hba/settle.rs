//! Replaces roles and patterns, whose meaning only the server knows, by the facts that the server reports.

use super::Hba;
use super::name::Name;

/// Facts about the user who logs in, as the server reports them.
#[derive(Debug)]
pub struct Known<'a> {
    pub user: &'a str,
    pub database: &'a str,
    /// The role itself, and the roles of which it is a direct or indirect member. A superuser is not automatically a
    /// member of a role.
    pub roles: &'a [String],
}

impl Hba {
    /// Decides which roles, patterns and keywords for roles' databases match the login. `matches` returns whether a
    /// pattern matches a name; `None` if that cannot be determined.
    pub fn settle(&mut self, known: &Known<'_>, mut matches: impl FnMut(&str, &str) -> Option<bool>) {
        let is_role = |name: &str| known.roles.iter().any(|it| it == name);
        for line in &mut self.lines {
            settle(&mut line.users, known.user, &mut matches, |keyword| keyword.strip_prefix('+').map(is_role));
            settle(&mut line.databases, known.database, &mut matches, |keyword| {
                matches!(keyword, "samerole" | "samegroup").then(|| is_role(known.database))
            });
        }
    }
}

/// Replaces each word that matches the name `wanted` by this name, and removes each word that does not match. A word
/// stays if it is not known whether the word matches.
fn settle(
    names: &mut Vec<Name>,
    wanted: &str,
    matches: &mut impl FnMut(&str, &str) -> Option<bool>,
    means: impl Fn(&str) -> Option<bool>,
) {
    let mut settled = Vec::new();
    for name in names.drain(..) {
        let by_keyword = name.keyword().and_then(&means);
        let by_pattern = || matches(name.text.strip_prefix('/')?, wanted);
        match by_keyword.or_else(by_pattern) {
            Some(true) => settled.push(Name { text: wanted.to_owned(), is_quoted: true }),
            Some(false) => {}
            None => settled.push(name),
        }
    }
    *names = settled;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<u32>) {
        let mut hba = Hba::parse(text);
        let roles = ["app".to_owned(), "staff".to_owned()];
        let known = Known { user: "app", database: "staff", roles: &roles };
        hba.settle(&known, |pattern, name| Some(name.starts_with(pattern)));
        let (line, is_unsure) = hba.decides("staff", "app", None);
        assert_eq!((line.map(|it| it.number), is_unsure), (expected, false));
    }

    #[test]
    fn roles_and_patterns_are_what_the_server_says() {
        check("local all +staff md5", Some(1));
        check("local all +other md5\nlocal all all md5", Some(2));
        check("local all \"+staff\" md5", None);
        check("local samerole app md5", Some(1));
        check("local all /ap md5", Some(1));
        check("local /x,/st all md5", Some(1));
    }
}
