//! From tokens to settings: assignments, `define`, `return`, nested lists, arguments with names.

use std::ops::Range;

use super::Language;
use super::expression;
use super::lexer::{Kind, Token, tokens};
use crate::app::setting::{
    Joins, LineStarts, MOST_SETTINGS, MOST_VALUE_BYTES, Problem, Quotes, Read, Setting, Value,
    named,
};

/// Deepest nesting that is followed. Real configurations have six levels.
const MOST_DEPTH: usize = 32;

/// The settings of a program's text.
pub(crate) fn read(text: &str, language: Language) -> Read {
    let mut walk = Walk {
        text,
        language,
        tokens: tokens(text, language),
        at: 0,
        starts: LineStarts::of(text),
        settings: Vec::new(),
        problems: Vec::new(),
    };
    walk.statements();
    (walk.settings, walk.problems)
}

struct Walk<'a> {
    text: &'a str,
    language: Language,
    tokens: Vec<Token>,
    at: usize,
    starts: LineStarts,
    settings: Vec<Setting>,
    problems: Vec<Problem>,
}

/// Where a value belongs.
#[derive(Clone)]
struct Slot {
    path: Vec<String>,
    /// The last part of its name, without quotes.
    key: Range<usize>,
    /// Where name and value begin together.
    start: usize,
    depth: usize,
    ends_with_line: bool,
    is_define: bool,
}

impl Slot {
    fn inner(&self, name: &str, key: Range<usize>, start: usize) -> Self {
        let mut path = self.path.clone();
        path.push(named(name));
        Self {
            path,
            key,
            start,
            depth: self.depth + 1,
            ends_with_line: false,
            is_define: false,
        }
    }
}

impl Walk<'_> {
    /// The text of the token that is `ahead` of this one; empty behind the last.
    fn word(&self, ahead: usize) -> &str {
        let token = self.tokens.get(self.at + ahead);
        token.map_or("", |token| match token.kind {
            Kind::Text(_) => "",
            Kind::Word | Kind::Sign => &self.text[token.at.clone()],
        })
    }

    fn is_word(&self, ahead: usize) -> bool {
        let token = self.tokens.get(self.at + ahead);
        token.is_some_and(|token| token.kind == Kind::Word)
    }

    /// A string or word as a name, and where it stands without quotes.
    fn name(&self, ahead: usize) -> Option<(String, Range<usize>)> {
        let token = self.tokens.get(self.at + ahead)?;
        match &token.kind {
            Kind::Text(Some(text)) => Some((text.clone(), token.at.start + 1..token.at.end - 1)),
            Kind::Word => {
                let word = &self.text[token.at.clone()];
                let bare = word.trim_start_matches('$');
                Some((bare.to_owned(), token.at.end - bare.len()..token.at.end))
            }
            Kind::Text(None) | Kind::Sign => None,
        }
    }

    fn start(&self) -> usize {
        self.tokens
            .get(self.at)
            .map_or(self.text.len(), |it| it.at.start)
    }

    fn statements(&mut self) {
        let is_whole = self.language == Language::Script && matches!(self.word(0), "{" | "[");
        if is_whole {
            self.value(&self.slot(Vec::new(), 0..0));
        }
        while self.at < self.tokens.len() {
            let before = self.at;
            self.statement();
            // Whatever it was, it must not be met again.
            self.at = self.at.max(before + 1);
        }
    }

    fn slot(&self, path: Vec<String>, key: Range<usize>) -> Slot {
        Slot {
            path,
            key,
            start: self.statement_start(),
            depth: 0,
            ends_with_line: self.language.ends_with_line(),
            is_define: false,
        }
    }

    /// With the words before a name: `public`, `const`.
    fn statement_start(&self) -> usize {
        let is_modifier = |at: &usize| {
            let token = &self.tokens[*at];
            let word = &self.text[token.at.clone()];
            matches!(
                word,
                "public" | "protected" | "private" | "var" | "const" | "let" | "export" | "static"
            )
        };
        let first = (0..self.at).rev().take(4).take_while(is_modifier).last();
        first.map_or_else(|| self.start(), |at| self.tokens[at].at.start)
    }

    fn statement(&mut self) {
        if self.word(0) == "define"
            && self.word(1) == "("
            && self.word(3) == ","
            && let Some((name, key)) = self.name(2)
        {
            let mut slot = self.slot(vec![named(&name)], key);
            slot.ends_with_line = false;
            slot.is_define = true;
            self.at += 4;
            self.value(&slot);
            return;
        }
        if self.word(0) == "return" {
            let slot = self.slot(Vec::new(), 0..0);
            self.at += 1;
            if self.opening(0).is_some() {
                self.value(&slot);
            }
            return;
        }
        let Some((path, key, n_tokens)) = self.target() else {
            return;
        };
        let mut slot = self.slot(path, key);
        if self.word(n_tokens) == "=" {
            self.at += n_tokens + 1;
            self.value(&slot);
        } else if self.calls_with_names(0).is_some() {
            // A call whose arguments have names is a list of settings; the object it is called on is not.
            slot.path = slot.path.pop().into_iter().collect();
            self.value(&slot);
        }
    }

    /// `$a['b']->c`, `a.b`: the parts, where the last one stands, and how many tokens they are.
    fn target(&self) -> Option<(Vec<String>, Range<usize>, usize)> {
        if !self.is_word(0) {
            return None;
        }
        let (name, mut key) = self.name(0)?;
        let mut path = vec![named(&name)];
        let mut n = 1;
        loop {
            let (found, n_more) = match self.word(n) {
                "->" | "." | "::" if self.is_word(n + 1) => (self.name(n + 1)?, 2),
                "[" if self.word(n + 2) == "]" => (self.name(n + 1)?, 3),
                "[" if self.word(n + 1) == "]" => (("0".to_owned(), key.clone()), 2),
                _ => return Some((path, key, n)),
            };
            path.push(named(&found.0));
            key = found.1;
            n += n_more;
            if path.len() > MOST_DEPTH {
                return None;
            }
        }
    }

    /// What closes a list that is opened here, and how many tokens open it.
    fn opening(&self, ahead: usize) -> Option<(&'static str, usize)> {
        match self.word(ahead) {
            "[" => Some(("]", 1)),
            "{" => Some(("}", 1)),
            "(" if self.word(ahead + 1) == "{" => Some((")", 1)),
            "array" | "dict" if self.word(ahead + 1) == "(" => Some((")", 2)),
            _ => None,
        }
    }

    /// `new A::B(`, `a.b(` before a list or an argument with a name: how many tokens.
    fn calls_with_names(&self, ahead: usize) -> Option<usize> {
        let mut n = ahead;
        while matches!(self.word(n), "new" | "await" | "\\") && n < ahead + 4 {
            n += 1;
        }
        let asks_environment = matches!(self.word(n), "dj_database_url" | "env" | "os" | "config");
        if !self.is_word(n) || asks_environment {
            return None;
        }
        n += 1;
        while matches!(self.word(n), "." | "::" | "->" | "\\")
            && self.is_word(n + 1)
            && n < ahead + 16
        {
            n += 2;
        }
        if self.word(n) != "(" {
            return None;
        }
        let is_named = self.is_word(n + 1)
            && (self.word(n + 2) == ":" || self.word(n + 2) == "=")
            && self.language != Language::Php;
        (self.opening(n + 1).is_some() || is_named).then_some(n + 1)
    }

    /// The value that begins here: a list is followed, anything else is a setting.
    fn value(&mut self, slot: &Slot) {
        let opened = self.opening(0).map(|(close, n)| (close, n, false));
        let called = || self.calls_with_names(0).map(|n| (")", n, true));
        let Some((close, n_tokens, is_call)) = opened.or_else(called) else {
            return self.literal(slot);
        };
        if slot.depth >= MOST_DEPTH {
            let line = self.starts.line(self.start());
            self.skip_expression(false);
            self.problem(
                line,
                format!("lists nested deeper than {MOST_DEPTH} are not looked into"),
            );
            return;
        }
        self.at += n_tokens;
        self.entries(slot, close, is_call);
    }

    fn entries(&mut self, slot: &Slot, close: &str, is_call: bool) {
        let mut idx = 0;
        while self.at < self.tokens.len() {
            let before = self.at;
            match self.word(0) {
                it if it == close => {
                    self.at += 1;
                    return;
                }
                "," | ";" => self.at += 1,
                _ => {
                    if let Some((name, key, n_tokens)) = self.key() {
                        let inner = slot.inner(&name, key, self.start());
                        self.at += n_tokens;
                        self.value(&inner);
                    } else {
                        let here = self.start();
                        let mut inner = slot.inner(&idx.to_string(), here..here, here);
                        if is_call {
                            inner.path.pop();
                        }
                        idx += 1;
                        self.value(&inner);
                    }
                }
            }
            self.at = self.at.max(before + 1);
        }
    }

    /// `'name' =>`, `name:`, `:name =>`, `name=`.
    fn key(&self) -> Option<(String, Range<usize>, usize)> {
        let is_symbol = self.language == Language::Ruby && self.word(0) == ":";
        let ahead = usize::from(is_symbol);
        let (name, key) = self.name(ahead)?;
        let is_key = match self.word(ahead + 1) {
            "=>" => true,
            ":" | "=" => self.language != Language::Php,
            _ => false,
        };
        is_key.then_some((name, key, ahead + 2))
    }

    fn literal(&mut self, slot: &Slot) {
        let first = self.at;
        self.skip_expression(slot.ends_with_line);
        let used = &self.tokens[first..self.at];
        let (Some(head), Some(tail)) = (used.first(), used.last()) else {
            return;
        };
        let Some(value) = expression::value(self.text, used) else {
            return;
        };
        let at = head.at.start..tail.at.end;
        let raw = &self.text[at.clone()];
        let quotes = match (&value, raw.chars().next()) {
            (Value::Text(_), Some(quote @ ('\'' | '"' | '`'))) if used.len() == 1 => {
                Quotes::Around(quote)
            }
            (Value::Text(_), Some(_)) if self.language == Language::Script => Quotes::Around('"'),
            _ => Quotes::Around('\''),
        };
        let end = self.item_end(at.end, slot.is_define);
        if self.settings.len() >= MOST_SETTINGS || end - slot.start > MOST_VALUE_BYTES {
            return;
        }
        let item = self.text[slot.start..end].to_owned();
        let joins = self.joins(slot.start..end, &item);
        self.settings.push(Setting {
            joins,
            path: slot.path.clone(),
            value,
            line: self.starts.line(slot.start),
            item,
            key: slot.key.start.saturating_sub(slot.start)..slot.key.end.saturating_sub(slot.start),
            literal: at.start - slot.start..at.end - slot.start,
            quotes,
        });
    }

    /// A line of its own needs what ends this one, and nothing beside it.
    fn joins(&self, at: Range<usize>, item: &str) -> Joins {
        let before = self.text[..at.start]
            .rsplit('\n')
            .next()
            .unwrap_or_default();
        let after = self.text[at.end..]
            .split('\n')
            .next()
            .unwrap_or_default()
            .trim();
        let is_alone =
            before.trim().is_empty() && (after.is_empty() || after.starts_with(['#', '/']));
        let is_ended = item.ends_with([',', ';']) || item.ends_with(')');
        let is_statement = self.language.ends_with_line() && !before.starts_with([' ', '\t']);
        if is_alone && (is_ended || is_statement) {
            Joins::Line
        } else if is_ended {
            Joins::With(" ")
        } else {
            Joins::With(", ")
        }
    }

    /// With the signs that end the setting.
    fn item_end(&self, end: usize, is_define: bool) -> usize {
        let mut end = end;
        let n_signs = match self.word(0) {
            ")" if is_define => 1 + usize::from(self.word(1) == ";"),
            ";" | "," => 1,
            _ => 0,
        };
        for token in self.tokens.iter().skip(self.at).take(n_signs) {
            end = token.at.end;
        }
        end
    }

    /// Up to what ends an expression.
    fn skip_expression(&mut self, ends_with_line: bool) {
        let mut depth = 0_usize;
        let mut line = self.starts.line(self.start());
        while self.at < self.tokens.len() {
            let here = self.starts.line(self.start());
            let is_new_line = here != line && depth == 0 && ends_with_line;
            if is_new_line && !self.goes_on() {
                return;
            }
            match self.word(0) {
                "," | ";" | ")" | "]" | "}" if depth == 0 => return,
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            line = self.starts.line(self.tokens[self.at].at.end);
            self.at += 1;
        }
    }

    /// Whether the line before this token wants another one.
    fn goes_on(&self) -> bool {
        let Some(before) = self.at.checked_sub(1) else {
            return false;
        };
        let word = &self.text[self.tokens[before].at.clone()];
        matches!(word, "=" | "+" | "." | "|" | "(" | "or" | "||" | "?" | ":")
    }

    fn problem(&mut self, line: usize, what: String) {
        if self.problems.len() < 16 {
            self.problems.push(Problem {
                line: Some(line),
                what,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `path=value` of each setting, `$NAME` for a variable, `?` for what is hidden.
    #[track_caller]
    fn check(text: &str, language: Language, expected: &[&str]) {
        let (settings, _) = read(text, language);
        let found: Vec<String> = settings
            .iter()
            .map(|it| {
                let value = match &it.value {
                    Value::Text(text) => text.clone(),
                    Value::Variable { name, fallback } => {
                        format!("${name} {}", fallback.as_deref().unwrap_or("-"))
                    }
                    Value::Hidden => "?".to_owned(),
                };
                format!("{}={value}", it.path.join("/"))
            })
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn php_is_read_in_each_of_its_forms() {
        let php = |text: &str, expected: &[&str]| {
            check(&format!("<?php\n{text}"), Language::Php, expected);
        };
        php(
            "define( 'DB_HOST', 'a' ); if (1) { define(\"B\", 2); }",
            &["DB_HOST=a", "B=2"],
        );
        php(
            "$databases['default']['default'] = array('host' => 'h', 'x' => ['y' => null, 'z' => true]);",
            &[
                "databases/default/default/host=h",
                "databases/default/default/x/z=true",
            ],
        );
        php("return ['a' => ['b' => '1', 'c']];", &["a/b=1", "a/0=c"]);
        php("class J { public $host = 'h'; }", &["host=h"]);
        php(
            "$CFG->dboptions = array ('dbsocket' => '/s');",
            &["CFG/dboptions/dbsocket=/s"],
        );
        php(
            "$a = getenv('X') ?: 'd'; $b = env('Y'); $c = $d . 'e';",
            &["a=$X d", "b=$Y -", "c=?"],
        );
        php("$c['S'][$i]['socket'] = '/s';", &["c/S/i/socket=/s"]);
    }

    #[test]
    fn python_ruby_and_javascript_are_read() {
        check(
            "DATABASES = {\n 'default': {'HOST': '127.0.0.1', 'PORT': 3306},\n}\nX = 'y'\n",
            Language::Python,
            &[
                "DATABASES/default/HOST=127.0.0.1",
                "DATABASES/default/PORT=3306",
                "X=y",
            ],
        );
        check(
            "A = os.environ.get('B', 'c')\nD = dict(e='f')\nG = env.db()\n",
            Language::Python,
            &["A=$B c", "D/e=f", "G=$DATABASE_URL -"],
        );
        check(
            "gitlab_rails['db_host'] = '127.0.0.1'\nRedis.new(path: '/s', db: 1)\nh = {:a => 'b'}\n",
            Language::Ruby,
            &[
                "gitlab_rails/db_host=127.0.0.1",
                "new/path=/s",
                "new/db=1",
                "h/a=b",
            ],
        );
        check(
            "const c = mysql.createConnection({host: 'h', user: process.env.U || 'u'})",
            Language::Script,
            &["c/host=h", "c/user=$U u"],
        );
        check(
            r#"{"a": {"b": "c", "d": [1]}}"#,
            Language::Script,
            &["a/b=c", "a/d/0=1"],
        );
    }

    #[test]
    fn a_setting_is_shown_without_its_neighbours_and_changed_in_place() {
        let text = "<?php define('A', 'x'); define( 'DB_HOST' , '127.0.0.1' ) ; // secret";
        let (settings, _) = read(text, Language::Php);
        assert_eq!(settings[1].item, "define( 'DB_HOST' , '127.0.0.1' ) ;");
        assert_eq!(
            settings[1].with(Some("DB_X"), "it's"),
            "define( 'DB_X' , 'it\\'s' ) ;"
        );
        let (settings, _) = read("class J { public $host = 'h'; }", Language::Php);
        assert_eq!(settings[0].with(None, "b"), "public $host = 'b';");
    }

    #[test]
    fn what_is_nested_without_end_is_told_and_ends() {
        for open in ["[", "{", "a(", "array(", "['a' => ", "{a: "] {
            let text = format!("x = {}", open.repeat(50_000));
            for language in [
                Language::Php,
                Language::Python,
                Language::Ruby,
                Language::Script,
            ] {
                let (settings, problems) = read(&text, language);
                assert!(settings.len() < 50_001 && problems.len() < 17);
            }
        }
    }
}
