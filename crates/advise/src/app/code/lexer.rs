//! Splits a text into strings, words and signs.

use std::ops::Range;

use super::Language;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// A string; `None` if it contains a variable.
    Text(Option<String>),
    /// A name or a number, including PHP's `$`.
    Word,
    /// `=>`, `->`, `::`, or one character.
    Sign,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: Range<usize>,
}

/// Splits a text into tokens. After a string without an end there are no more tokens.
pub(super) fn tokens(text: &str, language: Language) -> Vec<Token> {
    let mut lexer = Lexer { text, at: 0, language };
    if language == Language::Php {
        lexer.at = lexer.after("<?php").or(lexer.after("<?")).unwrap_or(0);
    }
    let mut found = Vec::new();
    while let Some(token) = lexer.next() {
        found.push(token);
    }
    found
}

/// The text of the token at index `at`; empty for a string, and after the last token.
pub(super) fn word<'a>(text: &'a str, tokens: &[Token], at: usize) -> &'a str {
    let token = tokens.get(at).filter(|it| !matches!(it.kind, Kind::Text(_)));
    token.map_or("", |it| &text[it.at.clone()])
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    language: Language,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Finds the place after the next `mark`.
    fn after(&self, mark: &str) -> Option<usize> {
        Some(self.at + self.rest().find(mark)? + mark.len())
    }

    fn next(&mut self) -> Option<Token> {
        loop {
            self.skip_blank();
            let c = self.rest().chars().next()?;
            let start = self.at;
            if self.language == Language::Php && self.rest().starts_with("?>") {
                self.at = self.after("<?").unwrap_or(self.text.len());
                let mark = ["php", "="].iter().find(|it| self.rest().starts_with(**it));
                self.at += mark.map_or(0, |it| it.len());
                continue;
            }
            let kind = if self.starts_string(c) {
                self.string(c == '`' && self.language == Language::Go)
            } else if is_word(c) {
                let bytes = self.rest().find(|c| !is_word(c));
                self.at += bytes.unwrap_or(self.rest().len());
                if self.is_string_prefix(start) { self.prefixed_string(start) } else { Kind::Word }
            } else {
                let is_pair = ["=>", "->", "::", "=="].iter().any(|it| self.rest().starts_with(it));
                self.at += if is_pair { 2 } else { c.len_utf8() };
                Kind::Sign
            };
            return Some(Token { kind, at: start..self.at });
        }
    }

    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            let rest = &rest[blank..];
            let comments = self.language.line_comments();
            let skipped = if comments.iter().any(|it| rest.starts_with(it)) {
                // PHP's closing tag ends the code even inside a comment.
                let line = rest.find('\n').unwrap_or(rest.len());
                let end = rest[..line].find("?>");
                end.filter(|_| self.language == Language::Php).unwrap_or(line)
            } else if self.language.has_block_comments() && rest.starts_with("/*") {
                rest[2..].find("*/").map_or(rest.len(), |at| at + 4)
            } else {
                0
            };
            self.at += blank + skipped;
            if skipped == 0 {
                return;
            }
        }
    }

    fn starts_string(&self, c: char) -> bool {
        match c {
            '\'' | '"' => true,
            '`' => matches!(self.language, Language::Script | Language::Go),
            _ => false,
        }
    }

    /// Whether the text before the current position is the prefix of a Python string, as in `r'…'` or `f"…"`.
    fn is_string_prefix(&self, start: usize) -> bool {
        self.language == Language::Python
            && self.at - start <= 2
            && self.rest().starts_with(['\'', '"'])
            && self.text[start..self.at].chars().all(|c| "rRbBfFuU".contains(c))
    }

    fn prefixed_string(&mut self, start: usize) -> Kind {
        let prefix = &self.text[start..self.at];
        let is_formatted = prefix.contains(['f', 'F']);
        let is_raw = prefix.contains(['r', 'R']);
        match self.string(is_raw) {
            Kind::Text(Some(text)) if is_formatted && text.contains('{') => Kind::Text(None),
            kind => kind,
        }
    }

    /// Reads the string that begins at the current position. In a raw string a backslash has no special meaning, except
    /// that a quote after it does not end the string.
    fn string(&mut self, is_raw: bool) -> Kind {
        let rest = self.rest();
        let quote = rest.chars().next().unwrap_or('"');
        let tripled: String = [quote; 3].iter().collect();
        let may_be_tripled = matches!(self.language, Language::Python | Language::Java);
        let is_tripled = may_be_tripled && rest.starts_with(&tripled);
        let mark = if is_tripled { tripled } else { quote.to_string() };
        self.at += mark.len();
        let mut text = Some(String::new());
        loop {
            let rest = self.rest();
            if rest.starts_with(&mark) {
                self.at += mark.len();
                return Kind::Text(text);
            }
            let Some(c) = rest.chars().next() else {
                return Kind::Text(None);
            };
            if self.is_variable(quote, rest) {
                text = None;
            }
            self.at += c.len_utf8();
            let c = if c == '\\' && is_raw {
                let next = self.rest().chars().next().unwrap_or(quote);
                self.at += next.len_utf8().min(self.rest().len());
                if let Some(text) = &mut text {
                    text.push('\\');
                }
                Some(next)
            } else if c == '\\' {
                self.escaped(quote)
            } else {
                Some(c)
            };
            match (c, &mut text) {
                (Some(c), Some(text)) => text.push(c),
                (None, text) => *text = None,
                (Some(_), None) => {}
            }
        }
    }

    /// Whether a variable or an expression begins at the start of `rest`, which is inside a string.
    fn is_variable(&self, quote: char, rest: &str) -> bool {
        match self.language {
            Language::Php | Language::Perl => {
                let follows = |c: char| c.is_alphabetic() || c == '_' || c == '{';
                let is_list = rest.starts_with('@') && self.language == Language::Perl;
                quote == '"' && (rest.starts_with('$') || is_list) && rest[1..].starts_with(follows)
            }
            Language::Ruby => quote == '"' && rest.starts_with("#{"),
            Language::Script => quote == '`' && rest.starts_with("${"),
            Language::Java => {
                quote == '"' && rest.starts_with('$') && rest[1..].starts_with(|c: char| c.is_alphabetic() || c == '{')
            }
            Language::Python | Language::Go => false,
        }
    }

    /// Returns the character that a backslash and the next character mean. If a backslash has no meaning before the
    /// next character, returns the next character, or the backslash if the language keeps the backslash. `None` if only
    /// the language's own parser can decide.
    fn escaped(&mut self, quote: char) -> Option<char> {
        let c = self.rest().chars().next()?;
        let language = self.language;
        let has_few = quote == '\'' && matches!(language, Language::Php | Language::Perl | Language::Ruby);
        let keeps_others = matches!(language, Language::Php | Language::Python);
        let is_kept = match c {
            _ if c == quote || c == '\\' => false,
            _ if has_few => true,
            'n' | 't' | 'r' => false,
            '$' | '@' if language == Language::Perl => false,
            '$' => language != Language::Php && keeps_others,
            '\'' | '"' => language == Language::Php,
            'u' if language == Language::Php => !self.rest().starts_with("u{"),
            _ => keeps_others && !language.knows_alone().contains(c),
        };
        if is_kept {
            return Some('\\');
        }
        if let Some(sign) = self.by_number() {
            self.at += "u0026".len();
            return Some(sign);
        }
        let found = match c {
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            _ if language.knows_alone().contains(c) && c != quote => None,
            _ => Some(c),
        };
        self.at += c.len_utf8();
        found
    }

    /// The character that `u0026` means after a backslash, as in JSON and most languages.
    fn by_number(&self) -> Option<char> {
        if matches!(self.language, Language::Php | Language::Perl) {
            return None;
        }
        let digits = self.rest().strip_prefix('u')?.get(..4)?;
        let is_hex = digits.chars().all(|c| c.is_ascii_hexdigit());
        char::from_u32(u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?)
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, language: Language, expected: &[&str]) {
        let found: Vec<String> = tokens(text, language)
            .into_iter()
            .map(|token| match token.kind {
                Kind::Text(Some(text)) => format!("«{text}»"),
                Kind::Text(None) => "«?»".to_owned(),
                Kind::Word | Kind::Sign => text[token.at].to_owned(),
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn characters_by_their_number_are_read() {
        check("\"a\\u0026b\"", Language::Script, &["«a&b»"]);
        check("\"a\\u00\"", Language::Script, &["«?»"]);
    }

    #[test]
    fn comments_are_no_settings_and_quotes_may_stand_in_strings() {
        check("text <?php // define('A'\n/* 'B' */ # 'C'\n$x = 'it\\'s';", Language::Php, &["$x", "=", "«it's»", ";"]);
        check(
            "H = \"a#b\" # 'c'\nI=r'd' J='''e'f'''",
            Language::Python,
            &["H", "=", "«a#b»", "I", "=", "«d»", "J", "=", "«e'f»"],
        );
        check("{a: `b`, c: \"\\\"\"} // d", Language::Script, &["{", "a", ":", "«b»", ",", "c", ":", "«\"»", "}"]);
    }

    #[test]
    fn a_backslash_before_what_it_means_nothing_to_stays_where_the_language_keeps_it() {
        check(r#"<?php "\q\$x\"" 'a\q\''"#, Language::Php, &[r#"«\q$x"»"#, r"«a\q'»"]);
        check(r#""\q\'" r'a\'b\n'"#, Language::Python, &[r"«\q'»", r"«a\'b\n»"]);
        check(r#""\q\#{x}" '\q'"#, Language::Ruby, &["«q#{x}»", r"«\q»"]);
        check(r#""\q" `\${x}`"#, Language::Script, &["«q»", "«${x}»"]);
        for (text, language) in [
            (r#"<?php "\x41""#, Language::Php),
            (r#""\x41""#, Language::Python),
            (r#""\s""#, Language::Ruby),
            (r#""\b""#, Language::Script),
        ] {
            check(text, language, &["«?»"]);
        }
    }

    #[test]
    fn a_string_that_holds_a_variable_is_not_known() {
        check("<?php \"a$b\" 'a$b'", Language::Php, &["«?»", "«a$b»"]);
        check("f'{x}' f'y'", Language::Python, &["«?»", "«y»"]);
        check("\"#{x}\" '#{x}'", Language::Ruby, &["«?»", "«#{x}»"]);
        check("`${x}`", Language::Script, &["«?»"]);
        check("'no end", Language::Python, &["«?»"]);
    }
}
