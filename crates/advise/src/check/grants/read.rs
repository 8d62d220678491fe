//! Reads a line of `SHOW GRANTS`, as in MySQL 5.7 to 9 and MariaDB 10.6 to 12.

use std::collections::BTreeSet;

use super::{ALL, GRANT_OPTION, Grant, Level};

/// A word, a quoted name or a sign.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Name(String),
    Sign(char),
}

/// Reads a line. A line that looptax does not understand counts as a right that only an identical line gives.
pub(super) fn read(line: &str) -> Grant {
    parse(line).unwrap_or_else(|| Grant {
        grantee: String::new(),
        level: Level::Other(line.to_owned()),
        rights: BTreeSet::new(),
        column_rights: BTreeSet::new(),
        is_revoke: false,
        is_of_any_host: false,
    })
}

fn parse(line: &str) -> Option<Grant> {
    let mut tokens = Tokens::new(line)?;
    let is_revoke = match tokens.word()?.as_str() {
        "GRANT" => false,
        "REVOKE" => true,
        "SET" => return default_role(tokens),
        _ => return None,
    };
    let mut grant = Grant {
        grantee: String::new(),
        level: Level::Global,
        rights: BTreeSet::new(),
        column_rights: BTreeSet::new(),
        is_revoke,
        is_of_any_host: false,
    };
    if let Some(Token::Name(_)) = tokens.peek() {
        return role(tokens, grant);
    }
    loop {
        let right = tokens.words_before_sign(&["ON"])?;
        let right = if right == "ALL PRIVILEGES" { ALL.to_owned() } else { right };
        if tokens.takes(&Token::Sign('(')) {
            loop {
                let column = tokens.name()?;
                grant.column_rights.insert((right.clone(), column));
                if tokens.takes(&Token::Sign(')')) {
                    break;
                }
                tokens.takes(&Token::Sign(',')).then_some(())?;
            }
        } else if right != "USAGE" {
            grant.rights.insert(right);
        }
        if !tokens.takes(&Token::Sign(',')) {
            break;
        }
    }
    (tokens.word()? == "ON").then_some(())?;
    if grant.rights.contains("PROXY") {
        return None;
    }
    grant.level = level(&mut tokens)?;
    matches!(tokens.word()?.as_str(), "TO" | "FROM").then_some(())?;
    grant.grantee = tokens.account()?;
    if tokens.has_words(&["GRANT", "OPTION"]) {
        grant.rights.insert(GRANT_OPTION.to_owned());
    }
    Some(grant)
}

/// Reads the rest of `` GRANT `reader`@`%`,`writer`@`%` TO … ``, which allows the account to use these roles.
fn role(mut tokens: Tokens, mut grant: Grant) -> Option<Grant> {
    let mut roles = Vec::new();
    loop {
        roles.push(tokens.account()?);
        if !tokens.takes(&Token::Sign(',')) {
            break;
        }
    }
    (tokens.word()? == "TO").then_some(())?;
    grant.grantee = tokens.account()?;
    grant.level = Level::Roles;
    grant.rights = roles.into_iter().collect();
    Some(grant)
}

/// Reads `` SET DEFAULT ROLE `reader` FOR `app`@`localhost` ``.
fn default_role(mut tokens: Tokens) -> Option<Grant> {
    let is_it = ["DEFAULT", "ROLE"].iter().all(|word| tokens.word().as_deref() == Some(word));
    let role = is_it.then(|| tokens.name())??;
    (tokens.word()? == "FOR").then_some(())?;
    Some(Grant {
        grantee: tokens.account()?,
        level: Level::DefaultRole(role),
        rights: BTreeSet::new(),
        column_rights: BTreeSet::new(),
        is_revoke: false,
        is_of_any_host: false,
    })
}

/// Reads the level of a grant: `*.*`, `` `shop`.* ``, `` [TABLE] `shop`.`orders` ``, `` PROCEDURE `shop`.`p` ``.
fn level(tokens: &mut Tokens) -> Option<Level> {
    let kind = match tokens.peek()? {
        Token::Word(_) => tokens.words_before_sign(&[])?,
        _ => String::new(),
    };
    if tokens.takes(&Token::Sign('*')) {
        let is_global = tokens.takes(&Token::Sign('.')) && tokens.takes(&Token::Sign('*'));
        return is_global.then_some(Level::Global);
    }
    let schema = tokens.name()?;
    tokens.takes(&Token::Sign('.')).then_some(())?;
    if tokens.takes(&Token::Sign('*')) {
        return Some(Level::Schema(schema));
    }
    let name = tokens.name()?;
    Some(match kind.as_str() {
        "" | "TABLE" => Level::Table(schema, name),
        _ => Level::Routine(kind, schema, name),
    })
}

struct Tokens {
    all: Vec<Token>,
    idx: usize,
}

impl Tokens {
    fn new(line: &str) -> Option<Self> {
        let mut all = Vec::new();
        let mut chars = line.chars().peekable();
        while let Some(it) = chars.next() {
            match it {
                ' ' => {}
                '`' | '"' | '\'' => {
                    let mut name = String::new();
                    loop {
                        let next = chars.next()?;
                        if next == it && chars.next_if_eq(&it).is_none() {
                            break;
                        }
                        name.push(next);
                    }
                    all.push(Token::Name(name));
                }
                ',' | '(' | ')' | '.' | '*' | '@' => all.push(Token::Sign(it)),
                it => {
                    let mut word = String::from(it);
                    let is_in_word = |it: &char| !" ,().*@`\"'".contains(*it);
                    while let Some(next) = chars.next_if(is_in_word) {
                        word.push(next);
                    }
                    all.push(Token::Word(word));
                }
            }
        }
        Some(Self { all, idx: 0 })
    }

    fn peek(&self) -> Option<&Token> {
        self.all.get(self.idx)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.all.get(self.idx).cloned();
        self.idx += 1;
        token
    }

    fn takes(&mut self, token: &Token) -> bool {
        let is_there = self.peek() == Some(token);
        self.idx += usize::from(is_there);
        is_there
    }

    fn word(&mut self) -> Option<String> {
        match self.next()? {
            Token::Word(word) => Some(word.to_ascii_uppercase()),
            _ => None,
        }
    }

    /// Reads a name, with or without quotes.
    fn name(&mut self) -> Option<String> {
        match self.next()? {
            Token::Word(name) | Token::Name(name) => Some(name),
            Token::Sign(_) => None,
        }
    }

    /// Reads words up to a sign, a quoted name or one of `ends`, and joins them by spaces.
    fn words_before_sign(&mut self, ends: &[&str]) -> Option<String> {
        let mut words = Vec::new();
        while let Some(Token::Word(word)) = self.peek() {
            let word = word.to_ascii_uppercase();
            if ends.contains(&word.as_str()) {
                break;
            }
            words.push(word);
            self.idx += 1;
        }
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// Reads `user@host`, or the name of a role without a host.
    fn account(&mut self) -> Option<String> {
        let user = self.name()?;
        if !self.takes(&Token::Sign('@')) {
            return Some(user);
        }
        Some(format!("{user}@{}", self.name()?))
    }

    fn has_words(&self, words: &[&str]) -> bool {
        let left = self.all.get(self.idx..).unwrap_or_default();
        let is_word = |(token, word): (&Token, &&str)| matches!(token, Token::Word(it) if it == *word);
        left.windows(words.len()).any(|it| it.iter().zip(words).all(is_word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, level: &Level, rights: &[&str]) {
        let grant = read(line);
        assert_eq!(&grant.level, level, "{line}");
        let found: Vec<&str> = grant.rights.iter().map(String::as_str).collect();
        assert_eq!(found, rights, "{line}");
    }

    #[test]
    fn the_lines_of_both_servers_are_understood() {
        let schema = |name: &str| Level::Schema(name.to_owned());
        let table = || Level::Table("shop".to_owned(), "orders".to_owned());
        check("GRANT USAGE ON *.* TO `app`@`%`", &Level::Global, &[]);
        check(
            "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` IDENTIFIED VIA mysql_native_password USING '*1' OR unix_socket WITH GRANT OPTION",
            &Level::Global,
            &["ALL", "GRANT OPTION"],
        );
        check(
            "GRANT USAGE ON *.* TO `app`@`%` IDENTIFIED BY PASSWORD '*2470' REQUIRE SSL WITH MAX_USER_CONNECTIONS 5",
            &Level::Global,
            &[],
        );
        check(
            "GRANT SELECT, CREATE TEMPORARY TABLES ON `sh\\_op`.* TO 'app'@'%'",
            &schema("sh\\_op"),
            &["CREATE TEMPORARY TABLES", "SELECT"],
        );
        check("GRANT SELECT ON `a``b`.* TO `x`@`y`", &schema("a`b"), &["SELECT"]);
        check("GRANT SELECT ON \"shop\".* TO \"x\"@\"y\"", &schema("shop"), &["SELECT"]);
        check("GRANT SELECT ON `shop`.`orders` TO `x`@`y`", &table(), &["SELECT"]);
        check("GRANT SELECT ON TABLE `shop`.`orders` TO `x`@`y`", &table(), &["SELECT"]);
        check(
            "GRANT EXECUTE ON PROCEDURE `shop`.`p` TO `x`@`y`",
            &Level::Routine("PROCEDURE".to_owned(), "shop".to_owned(), "p".to_owned()),
            &["EXECUTE"],
        );
        check(
            "GRANT APPLICATION_PASSWORD_ADMIN,BACKUP_ADMIN ON *.* TO `x`@`y` WITH GRANT OPTION",
            &Level::Global,
            &["APPLICATION_PASSWORD_ADMIN", "BACKUP_ADMIN", "GRANT OPTION"],
        );
        check("GRANT `reader`@`%`,`writer`@`%` TO `x`@`y`", &Level::Roles, &["reader@%", "writer@%"]);
        let proxy = "GRANT PROXY ON ''@'%' TO 'root'@'localhost' WITH GRANT OPTION";
        check(proxy, &Level::Other(proxy.to_owned()), &[]);
        let strange = "GRANT SOMETHING NEW `x`";
        check(strange, &Level::Other(strange.to_owned()), &[]);
        assert!(read("REVOKE INSERT ON `mysql`.* FROM `x`@`y`").is_revoke);
    }

    #[test]
    fn columns_have_rights_of_their_own() {
        let grant = read("GRANT SELECT (`id`, `name`), INSERT, UPDATE (`name`) ON `shop`.`t` TO `x`@`y`");
        let columns: Vec<(&str, &str)> =
            { grant.column_rights.iter() }.map(|(right, column)| (right.as_str(), column.as_str())).collect();
        assert_eq!(columns, [("SELECT", "id"), ("SELECT", "name"), ("UPDATE", "name")]);
        assert!(grant.rights.contains("INSERT") && grant.rights.len() == 1);
    }

    #[test]
    fn no_line_makes_it_fail() {
        for line in ["", "GRANT", "GRANT `", "GRANT SELECT (", "GRANT SELECT ON", "GRANT x ON `a`.", "ä"] {
            read(line);
        }
    }
}
