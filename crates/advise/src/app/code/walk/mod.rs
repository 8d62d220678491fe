//! Turns tokens into settings. This file holds the current position, and the access to the tokens there.
//!
//! Three other files read the tokens: `statement` finds where a value begins, `list` follows nested values, and
//! `literal` makes a setting of any other value.

mod list;
mod literal;
mod statement;

use std::collections::BTreeMap;
use std::ops::Range;

use super::Language;
use super::condition::{Condition, conditions};
use super::lexer::{Kind, Token, tokens};
use crate::app::setting::{LineStarts, Problem, Setting, named};

/// Maximum depth of nesting that is followed. Real configurations have at most six levels.
const MOST_DEPTH: usize = 32;

pub(super) fn walked(text: &str, language: Language) -> Walk<'_> {
    let mut walk = Walk::new(text, language);
    walk.conditions = conditions(text, &walk.tokens, language);
    walk.statements();
    walk.forget_own_files();
    walk
}

/// The settings that an included file sets.
pub(super) struct Sets {
    /// The paths of those settings that could be read.
    pub(super) paths: Vec<Vec<String>>,
    /// The whole text of the file, for the names of settings that are not in `paths`: settings without a value, and
    /// settings that a call sets.
    pub(super) text: String,
}

pub(super) struct Walk<'a> {
    text: &'a str,
    language: Language,
    pub(super) tokens: Vec<Token>,
    at: usize,
    /// Whether the walk reads the arguments of a call. A single word in them may be both a name and a value.
    is_in_call: bool,
    starts: LineStarts,
    /// The parts of the text that do not always run.
    conditions: Vec<Condition>,
    /// The included files: for each file, the byte of the statement that includes it, and its name.
    pub(super) includes: Vec<(usize, String)>,
    /// Counters like PHP's `$i`, each with its current number.
    counters: BTreeMap<String, usize>,
    pub(super) settings: Vec<Setting>,
    pub(super) problems: Vec<Problem>,
}

/// Where a value belongs among the settings.
#[derive(Clone)]
struct Slot {
    path: Vec<String>,
    /// The last part of the setting's name, without quotes.
    key: Range<usize>,
    /// The byte at which the setting begins.
    start: usize,
    depth: usize,
    ends_with_line: bool,
    is_define: bool,
    /// Why the setting may not take effect.
    doubt: Option<String>,
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
            doubt: self.doubt.clone(),
        }
    }
}

impl<'a> Walk<'a> {
    fn new(text: &'a str, language: Language) -> Self {
        Self {
            text,
            language,
            conditions: Vec::new(),
            includes: Vec::new(),
            counters: BTreeMap::new(),
            tokens: tokens(text, language),
            at: 0,
            is_in_call: false,
            starts: LineStarts::from_text(text),
            settings: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Reads all settings, also those in parts that do not always run.
    pub(super) fn without_conditions(text: &'a str, language: Language) -> Self {
        let mut walk = Self::new(text, language);
        walk.statements();
        walk.forget_own_files();
        walk
    }
}

impl Walk<'_> {
    /// The text of the token `ahead` tokens after the current one; empty for a string, and after the last token.
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

    /// A string or word as a name, and its place. The place does not include quotes.
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
        self.tokens.get(self.at).map_or(self.text.len(), |it| it.at.start)
    }

    fn problem(&mut self, line: usize, what: String) {
        if self.problems.len() < 16 {
            self.problems.push(Problem { line: Some(line), what });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::setting::Read;

    fn read(text: &str, language: Language) -> Read {
        let walk = walked(text, language);
        (walk.settings, walk.problems)
    }
    use crate::app::setting::Value;

    /// `expected` has `path=value` for each setting, with `$NAME` for a variable, and `?` for a hidden value.
    #[track_caller]
    fn check(text: &str, language: Language, expected: &[&str]) {
        let (settings, _) = read(text, language);
        let found: Vec<String> = settings
            .iter()
            .map(|setting| {
                let value = match &setting.value {
                    Value::Text(text) => text.clone(),
                    Value::Variable { name, fallback } => {
                        format!("${name} {}", fallback.as_deref().unwrap_or("-"))
                    }
                    Value::Hidden => "?".to_owned(),
                };
                format!("{}={value}", setting.path.join("/"))
            })
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn php_is_read_in_each_of_its_forms() {
        let php = |text: &str, expected: &[&str]| {
            check(&format!("<?php\n{text}"), Language::Php, expected);
        };
        php("define( 'DB_HOST', 'a' ); if (1) { define(\"B\", 2); }", &["DB_HOST=a", "B=2"]);
        php(
            "$databases['default']['default'] = array('host' => 'h', 'x' => ['y' => null, 'z' => true]);",
            &["databases/default/default/host=h", "databases/default/default/x/z=true"],
        );
        php("return ['a' => ['b' => '1', 'c']];", &["a/b=1", "a/0=c"]);
        php("class J { public $host = 'h'; }", &["host=h"]);
        php("$CFG->dboptions = array ('dbsocket' => '/s');", &["CFG/dboptions/dbsocket=/s"]);
        php("$a = getenv('X') ?: 'd'; $b = env('Y'); $c = $d . 'e';", &["a=$X d", "b=$Y -", "c=?"]);
        php("$c['S'][$i]['socket'] = '/s';", &["c/S/i/socket=/s"]);
    }

    #[test]
    fn python_ruby_and_javascript_are_read() {
        check(
            "DATABASES = {\n 'default': {'HOST': '127.0.0.1', 'PORT': 3306},\n}\nX = 'y'\n",
            Language::Python,
            &["DATABASES/default/HOST=127.0.0.1", "DATABASES/default/PORT=3306", "X=y"],
        );
        check(
            "A = os.environ.get('B', 'c')\nD = dict(e='f')\nG = env.db()\n",
            Language::Python,
            &["A=$B c", "D/e=f", "G=$DATABASE_URL -"],
        );
        check(
            "gitlab_rails['db_host'] = '127.0.0.1'\nRedis.new(path: '/s', db: 1)\nh = {:a => 'b'}\n",
            Language::Ruby,
            &["gitlab_rails/db_host=127.0.0.1", "new/path=/s", "new/db=1", "h/a=b"],
        );
        check(
            "const c = mysql.createConnection({host: 'h', user: process.env.U || 'u'})",
            Language::Script,
            &["c/host=h", "c/user=$U u"],
        );
        check(r#"{"a": {"b": "c", "d": [1]}}"#, Language::Script, &["a/b=c", "a/d/0=1"]);
    }

    #[test]
    fn perl_is_read() {
        check(
            "our $host = 'h'; # x\n$Self->{DatabaseHost} = \"m\";\nSet($Name , 'n');\nA->config(dsn => 'd', c => ['e', $ENV{X}]);\n$y = \"a@b\";\n",
            Language::Perl,
            &["host=h", "Self/DatabaseHost=m", "Name=n", "config/dsn=d", "config/c/0=e", "config/c/1=?", "y=?"],
        );
    }

    #[test]
    fn types_are_no_values() {
        check(
            "type A = { host: string };\nconst b: { [k: string]: C } = { host: 'h' };\nexport default { c: 1 };\nexports.k = require('k')({ d: 2 });\n",
            Language::Script,
            &["b/host=h", "c=1", "exports/k/d=2"],
        );
        check(
            "module.exports = ({ env }) => ({ a: env('B', 'c') });\nx = (y) => { return { d: 1 } }\nexport default ({ env }) => ({ e: 2 });\n",
            Language::Script,
            &["module/exports/a=$B c", "d=1", "e=2"],
        );
        check(
            "A: str = 'b'\nif x: c = 'd'\nclass S(BaseSettings):\n    E: str = 'f'\ng = f(n, h='i')\n",
            Language::Python,
            &["A=b", "c=d", "E=f", "g/h=i"],
        );
        let (settings, _) = read("class S:\n    E: str = 'f'\nG: str = 'h'\n", Language::Python);
        let doubted: Vec<bool> = settings.iter().map(|it| it.doubt.is_some()).collect();
        assert_eq!(doubted, [true, false]);
    }

    #[test]
    fn a_setting_is_shown_without_its_neighbours_and_changed_in_place() {
        let text = "<?php define('A', 'x'); define( 'DB_HOST' , '127.0.0.1' ) ; // secret";
        let (settings, _) = read(text, Language::Php);
        assert_eq!(settings[1].item, "define( 'DB_HOST' , '127.0.0.1' ) ;");
        assert_eq!(settings[1].with(Some("DB_X"), "it's"), "define( 'DB_X' , 'it\\'s' ) ;");
        let (settings, _) = read("class J { public $host = 'h'; }", Language::Php);
        assert_eq!(settings[0].with(None, "b"), "public $host = 'b';");
    }

    #[test]
    fn what_is_nested_without_end_is_told_and_ends() {
        for open in ["[", "{", "a(", "array(", "['a' => ", "{a: "] {
            let text = format!("x = {}", open.repeat(50_000));
            for language in [Language::Php, Language::Python, Language::Ruby, Language::Script] {
                let (settings, problems) = read(&text, language);
                assert!(settings.len() < 50_001 && problems.len() < 17);
            }
        }
    }
}
