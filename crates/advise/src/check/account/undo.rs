//! Makes the statements that undo a statement about an account. A check prints such statements for an administrator.
//!
//! Takes facts, and returns statements. The caller reads the state of the account from the server before it runs any
//! statement.

use crate::check::grants::{default_role, revokes};

/// The state of an account, as the server reports it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AccountState {
    /// The result of `SHOW CREATE USER`, which may contain a hash of the password; `None` if the account does not
    /// exist.
    pub made: Option<String>,
    /// The result of `SHOW GRANTS FOR` the account.
    pub grants: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountStatement {
    /// The statement, without the semicolon.
    text: String,
    kind: Kind,
    /// The user as written in the statement, with quotes.
    user: String,
    host: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// `CREATE USER`. `or_stay` is whether the statement leaves an existing account unchanged.
    Create {
        or_stay: bool,
    },
    Alter,
    /// `GRANT`, with the text between `ON` and `TO`, or for roles the text between `GRANT` and `TO`.
    Grant(String),
    DefaultRole,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undo {
    /// Run these statements in this order. The list is empty if the undo of an earlier statement also undoes this
    /// statement.
    Statements(Vec<String>),
    /// The statement would change nothing, so it need not be run.
    Needless,
    /// No known statements would undo the statement exactly.
    Unknown,
}

impl AccountStatement {
    /// Parses a step of a check; `None` if the step is not a statement about an account.
    pub fn parse(step: &str) -> Option<Self> {
        let text = step.trim_end().trim_end_matches(';');
        let (kind, rest) = if let Some(rest) = text.strip_prefix("CREATE USER ") {
            let (or_stay, rest) = match rest.strip_prefix("IF NOT EXISTS ") {
                Some(rest) => (true, rest),
                None => (false, rest),
            };
            (Kind::Create { or_stay }, rest)
        } else if let Some(rest) = text.strip_prefix("ALTER USER ") {
            (Kind::Alter, rest)
        } else if let Some(rest) = text.strip_prefix("GRANT ") {
            let to = outside_quotes(rest, " TO ")?;
            let on = outside_quotes(&rest[..to], " ON ").map(|at| at + " ON ".len());
            let on = &rest[on.unwrap_or(0)..to];
            (Kind::Grant(on.to_owned()), &rest[to + " TO ".len()..])
        } else {
            let rest = text.strip_prefix("SET DEFAULT ROLE ")?;
            let at = outside_quotes(rest, " FOR ")?;
            (Kind::DefaultRole, &rest[at + " FOR ".len()..])
        };
        let user = literal_at(rest)?;
        let host = literal_at(rest[user.len()..].strip_prefix('@')?)?;
        Some(Self { user: user.to_owned(), host: host.to_owned(), text: text.to_owned(), kind })
    }

    /// The statement without the semicolon, with `…` in place of the client's password.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The account as written in the statement: `'app'@'localhost'`.
    pub fn account(&self) -> String {
        format!("{}@{}", self.user, self.host)
    }

    /// The query that counts the accounts with this name: the result is 0 or 1.
    pub fn is_there(&self) -> String {
        let (user, host) = (&self.user, &self.host);
        format!("SELECT COUNT(*) FROM mysql.user WHERE user = {user} AND host = {host}")
    }

    /// Returns the statements that undo this statement. `before` is the account's state before the first statement
    /// about the account.
    pub fn undo(&self, before: &AccountState) -> Undo {
        let account = self.account();
        let Some(made) = &before.made else {
            return match self.kind {
                // Dropping the account also removes all its rights.
                Kind::Create { .. } => Undo::Statements(vec![format!("DROP USER {account}")]),
                // An earlier statement already makes the account as it should be.
                Kind::Alter => Undo::Needless,
                _ => Undo::Statements(Vec::new()),
            };
        };
        match &self.kind {
            Kind::Create { or_stay: true } => Undo::Needless,
            Kind::Create { or_stay: false } => Undo::Unknown,
            Kind::Alter => as_it_was(made, &account).map_or(Undo::Unknown, |text| Undo::Statements(vec![text])),
            Kind::DefaultRole => {
                let role = default_role(&before.grants);
                let role = role.map_or_else(|| "NONE".to_owned(), |role| format!("`{}`", role.replace('`', "``")));
                Undo::Statements(vec![format!("SET DEFAULT ROLE {role} FOR {account}")])
            }
            Kind::Grant(on) => match revokes(&self.text, on, &account, &before.grants) {
                None => Undo::Unknown,
                Some(lines) if lines.is_empty() => Undo::Needless,
                Some(lines) => Undo::Statements(lines),
            },
        }
    }
}

/// Turns the output of `SHOW CREATE USER` into the statement that restores the account.
fn as_it_was(made: &str, account: &str) -> Option<String> {
    let rest = made.strip_prefix("CREATE USER ")?;
    // The server and looptax quote the name differently.
    let user = quoted_at(rest)?;
    let host = quoted_at(rest[user.len()..].strip_prefix('@')?)?;
    let rest = rest[user.len() + 1 + host.len()..].trim_start();
    let (role, require) = (outside_quotes(rest, "DEFAULT ROLE "), outside_quotes(rest, " REQUIRE "));
    let rest = match (role, require) {
        // MySQL's output contains the default role, but MySQL accepts the default role only in a separate statement.
        // looptax's statements never change the default role.
        (Some(from), Some(to)) if from < to => format!("{}{}", &rest[..from], &rest[to + 1..]),
        (Some(_), _) => return None,
        (None, _) => rest.to_owned(),
    };
    if rest.contains("<secret>") {
        return None;
    }
    // MariaDB's output contains nothing about the password of an account without a password, and nothing about TLS if
    // the account does not require TLS.
    let identified = if rest.starts_with("IDENTIFIED ") { "" } else { "IDENTIFIED BY '' " };
    let required = match outside_quotes(&format!(" {rest} "), " REQUIRE ") {
        Some(_) => "",
        None => " REQUIRE NONE",
    };
    let (how, limits) = match first_of(&rest, &[" WITH ", " PASSWORD EXPIRE", " ACCOUNT LOCK"]) {
        Some(at) if !required.is_empty() => rest.split_at(at),
        _ => (&*rest, ""),
    };
    let text = format!("ALTER USER {account} {identified}{how}{required}{limits}");
    Some(text.replace("  ", " ").trim_end().to_owned())
}

fn first_of(text: &str, words: &[&str]) -> Option<usize> {
    let found = words.iter().filter_map(|word| outside_quotes(text, word));
    found.min()
}

/// The position of a word in a statement, outside of names and passwords.
fn outside_quotes(text: &str, word: &str) -> Option<usize> {
    let mut quote = None;
    let mut is_escaped = false;
    for (at, sign) in text.char_indices() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(quote) if sign == '\\' && quote != '`' => is_escaped = true,
            // A doubled quote means the quote itself. The code treats it as an end and a new beginning of the text.
            Some(it) if it == sign => quote = None,
            None if text[at..].starts_with(word) => return Some(at),
            None if matches!(sign, '\'' | '"' | '`') => quote = Some(sign),
            Some(_) | None => {}
        }
    }
    None
}

/// The text in single quotes at the start of the string, with its quotes.
fn literal_at(text: &str) -> Option<&str> {
    text.starts_with('\'').then(|| quoted_at(text))?
}

/// The text or name in any quotes at the start of the string, with its quotes.
fn quoted_at(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|it| "'`\"".contains(*it))?;
    let mut signs = text.char_indices().skip(1).peekable();
    while let Some((at, sign)) = signs.next() {
        if sign == '\\' && quote != '`' {
            signs.next();
        } else if sign == quote && signs.next_if(|(_, next)| *next == quote).is_none() {
            return Some(&text[..=at]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(made: &str, grants: &[&str]) -> AccountState {
        AccountState { made: Some(made.to_owned()), grants: grants.iter().map(|it| (*it).to_owned()).collect() }
    }

    #[track_caller]
    fn check(step: &str, before: &AccountState, undo: &[&str]) {
        let parsed = AccountStatement::parse(step).expect(step);
        let undo = undo.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(parsed.undo(before), Undo::Statements(undo), "{step}");
    }

    #[test]
    fn an_account_that_was_not_there_goes_with_all_it_has() {
        let nobody = AccountState::default();
        let step = r"CREATE USER 'o''n\\e'@'localhost' IDENTIFIED BY '…';";
        check(step, &nobody, &[r"DROP USER 'o''n\\e'@'localhost'"]);
        let step = "CREATE USER IF NOT EXISTS 'a'@'localhost' IDENTIFIED BY '…';";
        check(step, &nobody, &["DROP USER 'a'@'localhost'"]);
        check("GRANT SELECT ON `a TO b`.* TO 'a'@'localhost';", &nobody, &[]);
        let parsed = AccountStatement::parse("ALTER USER 'a'@'localhost' REQUIRE NONE;").unwrap();
        assert_eq!(parsed.undo(&nobody), Undo::Needless);
        let there = state("CREATE USER `a`@`localhost`", &[]);
        let parsed = AccountStatement::parse(step).unwrap();
        assert_eq!(parsed.undo(&there), Undo::Needless);
        let parsed = AccountStatement::parse("CREATE USER 'a'@'localhost' IDENTIFIED BY 'x'");
        assert_eq!(parsed.unwrap().undo(&there), Undo::Unknown);
    }

    #[test]
    fn an_account_that_is_changed_becomes_as_it_was() {
        let step = "ALTER USER 'a'@'localhost' IDENTIFIED BY '…' REQUIRE NONE;";
        for (made, undo) in [
            ("CREATE USER `a`@`localhost` IDENTIFIED BY PASSWORD '*1'", "IDENTIFIED BY PASSWORD '*1' REQUIRE NONE"),
            ("CREATE USER `a`@`localhost` REQUIRE SSL", "IDENTIFIED BY '' REQUIRE SSL"),
            ("CREATE USER `a`@`localhost`", "IDENTIFIED BY '' REQUIRE NONE"),
            (
                "CREATE USER `a`@`localhost` IDENTIFIED BY PASSWORD '*1' WITH MAX_USER_CONNECTIONS 5 ACCOUNT LOCK PASSWORD EXPIRE",
                "IDENTIFIED BY PASSWORD '*1' REQUIRE NONE WITH MAX_USER_CONNECTIONS 5 ACCOUNT LOCK PASSWORD EXPIRE",
            ),
            (
                "CREATE USER `a`@`localhost` IDENTIFIED WITH 'caching_sha2_password' AS 0x24 DEFAULT ROLE `r`@`%` REQUIRE X509 PASSWORD EXPIRE DEFAULT ACCOUNT UNLOCK",
                "IDENTIFIED WITH 'caching_sha2_password' AS 0x24 REQUIRE X509 PASSWORD EXPIRE DEFAULT ACCOUNT UNLOCK",
            ),
        ] {
            let undo = format!("ALTER USER 'a'@'localhost' {undo}");
            check(step, &state(made, &[]), &[&undo]);
        }
        let hidden = state("CREATE USER `a`@`localhost` IDENTIFIED BY PASSWORD <secret>", &[]);
        let parsed = AccountStatement::parse(step).unwrap();
        assert_eq!(parsed.undo(&hidden), Undo::Unknown);
    }

    #[test]
    fn rights_and_roles_that_were_there_stay() {
        let before = state(
            "CREATE USER `a`@`localhost`",
            &[
                "GRANT USAGE ON *.* TO `a`@`localhost`",
                "GRANT SELECT ON `shop`.* TO `a`@`localhost`",
                "GRANT `reader` TO `a`@`localhost`",
            ],
        );
        let to = "TO 'a'@'localhost'";
        check(
            &format!("GRANT SELECT, DELETE ON `shop`.* {to};"),
            &before,
            &["REVOKE DELETE ON `shop`.* FROM 'a'@'localhost'"],
        );
        check(&format!("GRANT `writer` {to};"), &before, &["REVOKE `writer` FROM 'a'@'localhost'"]);
        check(
            "SET DEFAULT ROLE `reader` FOR 'a'@'localhost';",
            &before,
            &["SET DEFAULT ROLE NONE FOR 'a'@'localhost'"],
        );
        let parsed = AccountStatement::parse(&format!("GRANT `reader` {to};")).unwrap();
        assert_eq!(parsed.undo(&before), Undo::Needless);
    }

    #[test]
    fn what_is_about_no_account_is_nobodys_to_run() {
        for step in [
            "SELECT pg_reload_conf();",
            "SELECT * FROM mysql.db WHERE 'a' LIKE db;",
            "GRANT PROXY ON ''@'%' TO root",
            "CREATE USER `a`@`b`",
            "CREATE USER 'a",
            "GRANT `TO `",
            "",
        ] {
            assert_eq!(AccountStatement::parse(step), None, "{step}");
        }
    }
}
