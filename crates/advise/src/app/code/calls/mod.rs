//! Calls of database drivers in a program's text, under the names of their libraries, with those arguments that are
//! known.
//!
//! Nothing is executed. `names` finds the library to which a name belongs, and the class of an object; `scope` finds
//! the functions and branches around a place; `value` finds the value of an argument, provided that the file sets this
//! value only once. The table lists the calls of each driver. Called by `drivers`.

mod names;
mod scope;
mod value;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use self::names::Names;
use self::scope::Scope;
use super::Language;
use super::lexer::{Kind, Token, word};
use super::walk::Walk;
use crate::app::lists;
use crate::app::quotes::{Bare, Quotes};
use crate::app::setting::{Joins, LineStarts, Setting, Value, doubt_unclear};

/// The name of the setting that represents a missing argument of a call.
pub(crate) const MARK: &str = "()";
/// If a call passes on a list of arguments whose items are unknown (`**options`), this text is the last part of the
/// list's path.
pub(crate) const REST: &str = "...";
/// Maximum number of driver calls that are followed in a text.
const MOST_CALLS: usize = 64;
/// Maximum number of tokens in the arguments of a call that are searched for other connections.
const MOST_ARGUMENTS: usize = 500;
/// Maximum number of calls on one object that are read.
const MOST_FOLLOWERS: usize = 16;

pub(crate) struct Call {
    /// The library or the class, then the function: `mysql2.createPool`, `Redis.connect`.
    pub(crate) name: String,
    /// The arguments: `0`, `0/host`, `port`. Also the calls and assignments on the same object: `select/0`, `Addr`.
    pub(crate) settings: Vec<Setting>,
    /// The variable that gets the connection.
    pub(crate) label: String,
    pub(crate) line: usize,
}

/// A name with an opening bracket after it.
struct Site {
    /// The token of the last word of the name.
    token: usize,
    /// The parts of the name as written: `$redis`, `connect`.
    parts: Vec<String>,
    /// The name, with the library or class in place of its first part.
    name: String,
}

struct Program<'a> {
    text: &'a str,
    language: Language,
    walk: Walk<'a>,
    names: Names,
    scope: Scope<'a>,
    starts: LineStarts,
    by_path: HashMap<Vec<String>, Vec<usize>>,
    settings: Vec<Setting>,
    /// Names whose values change not only by `=`, but also by an operator like `+=` or in a loop.
    touched: HashSet<String>,
    /// A limit on the work: the number of names and expressions that may still be resolved.
    steps: Cell<usize>,
}

/// Lists the calls for which `is_driver` is true. For the name of a call, `parts_of` returns two kinds of names:
/// further calls on the same object, and parts of the object. The values of these calls and parts also belong to the
/// call.
pub(crate) fn calls(
    text: &str,
    language: Language,
    is_driver: &dyn Fn(&str) -> bool,
    parts_of: &dyn Fn(&str) -> Vec<&'static str>,
) -> Vec<Call> {
    let mut program = Program::new(text, language);
    let sites = program.sites();
    let drivers = sites.iter().filter(|it| is_driver(&it.name)).take(MOST_CALLS);
    let drivers: Vec<(&Site, Option<String>)> = drivers.map(|it| (it, program.object_of(it))).collect();
    let mut found = Vec::new();
    for (site, object) in &drivers {
        if drivers.iter().any(|it| program.is_handed_to(it.0, it.1.as_deref(), site)) {
            continue;
        }
        let at = program.walk.tokens[site.token].at.start;
        let parts = parts_of(&site.name);
        let is_only = drivers.iter().filter(|it| it.0.name == site.name).count() == 1;
        let is_object_only = drivers.iter().filter(|it| it.1 == *object && it.0.name == site.name).count() == 1;
        let object = object.as_deref();
        let is_branch = program.is_chosen(site) || program.scope.is_in_branch(at, object.filter(|_| is_object_only));
        let mut settings = program.arguments(site, at);
        settings.extend(typed(&settings));
        for other in program.followers(site, object, &sites, &parts, is_only) {
            settings.extend(program.followed(other, at));
        }
        if let Some(object) = object {
            settings.extend(program.assigned(object, at, &parts));
        }
        settings.push(program.mark(site));
        doubt_unclear(&mut settings);
        let line = program.starts.line(at);
        if is_branch {
            for setting in &mut settings {
                setting.doubt.get_or_insert_with(|| format!("set under a condition (line {line})"));
            }
        }
        let label = object.unwrap_or_default().rsplit('.').next().unwrap_or_default();
        let label = label.trim_start_matches('$').to_owned();
        found.push(Call { name: site.name.clone(), settings, label, line });
    }
    found
}

impl<'a> Program<'a> {
    fn new(text: &'a str, language: Language) -> Self {
        let mut walk = Walk::without_conditions(text, language);
        let settings = std::mem::take(&mut walk.settings);
        let mut by_path: HashMap<Vec<String>, Vec<usize>> = HashMap::new();
        for (idx, setting) in settings.iter().enumerate() {
            by_path.entry(setting.path.clone()).or_default().push(idx);
        }
        Self {
            text,
            language,
            names: Names::new(text, &walk.tokens, language),
            scope: Scope::new(text, &walk.tokens, language),
            starts: LineStarts::from_text(text),
            touched: touched(text, &walk.tokens),
            by_path,
            settings,
            walk,
            steps: Cell::new(2_000),
        }
    }

    fn word(&self, at: usize) -> &str {
        word(self.text, &self.walk.tokens, at)
    }

    /// Lists all calls, and in Go the literals of a type.
    fn sites(&self) -> Vec<Site> {
        let tokens = &self.walk.tokens;
        let is_call = |token: &usize| {
            let opens = self.word(token + 1);
            tokens[*token].kind == Kind::Word && (opens == "(" || opens == "{" && self.language == Language::Go)
        };
        let of = |token: usize| {
            let (parts, first) = names::chain(self.text, tokens, token)?;
            let before = first.checked_sub(1).map_or("", |it| self.word(it));
            if matches!(before, "function" | "def" | "class" | "func" | "fun" | "sub" | "fn") {
                return None;
            }
            let name = self.names.resolved(&parts, token, self.language);
            Some(Site { token, parts, name })
        };
        (0..tokens.len()).filter(is_call).filter_map(of).collect()
    }

    /// The name of the object that the call creates, or of the object on which the program calls the function.
    fn object_of(&self, site: &Site) -> Option<String> {
        if let Some(made) = self.names.made_by(site.token) {
            return Some(made.key.clone());
        }
        let (_, head) = site.parts.split_last()?;
        let key = head.join(".");
        self.names.class_of(&key, site.token).map(|_| key)
    }

    /// Whether the call `site` gets the result of `other` as an argument. The connection is then the result of `other`.
    fn is_handed_to(&self, other: &Site, object: Option<&str>, site: &Site) -> bool {
        if other.token == site.token {
            return false;
        }
        let first = site.token + 1;
        let range = first..self.scope.behind(first);
        let is_own = |at: usize| {
            let is_key =
                matches!(self.word(at + 1), "=" | ":" | "=>") || matches!(self.word(at - 1), "." | "->" | "::");
            Some(self.word(at)) == object && !is_key
        };
        range.contains(&other.token) || object.is_some() && range.take(MOST_ARGUMENTS).any(is_own)
    }

    /// Whether the call is one of the alternatives of a conditional expression.
    fn is_chosen(&self, site: &Site) -> bool {
        let mut at = site.token;
        for _ in 0..32 {
            let Some(before) = at.checked_sub(1) else { return false };
            at = before;
            match self.word(at) {
                "?" if !matches!(self.word(at + 1), "." | "?") => return self.word(at.saturating_sub(1)) != "?",
                "else" if self.language == Language::Python => return true,
                ";" | "{" | "}" | "(" | ")" | "," | "=" | "=>" => return false,
                _ => {}
            }
        }
        false
    }

    fn arguments(&mut self, site: &Site, at: usize) -> Vec<Setting> {
        let close = if self.word(site.token + 1) == "{" { "}" } else { ")" };
        let found = self.walk.arguments(site.token + 2, close);
        found.into_iter().flat_map(|it| self.resolved(it, at, 0)).collect()
    }

    /// Lists the calls on the same object. Stops at the place at which the program assigns another object to the same
    /// name. If `is_only` is true, also lists calls of functions without an object; such a function must be called only
    /// once in the text.
    fn followers<'s>(
        &self,
        site: &Site,
        object: Option<&str>,
        sites: &'s [Site],
        parts: &[&str],
        is_only: bool,
    ) -> Vec<&'s Site> {
        let objects = self.names.objects.iter().filter(|it| Some(&*it.key) == object && it.made_by > site.token);
        let end = objects.map(|it| it.made_by).min().unwrap_or(usize::MAX);
        let may_be = |it: &&Site| it.parts.last().is_some_and(|it| parts.contains(&&**it));
        let all: Vec<&Site> = sites.iter().filter(may_be).collect();
        let is_own = |it: &&Site| {
            let head = it.parts.split_last().map(|it| it.1.join(".")).unwrap_or_default();
            let is_function = || is_only && all.iter().filter(|other| other.name == it.name).take(2).count() == 1;
            let is_behind = it.token > site.token && it.token < end;
            is_behind && if head.is_empty() { is_function() } else { Some(&*head) == object }
        };
        all.iter().copied().filter(is_own).take(MOST_FOLLOWERS).collect()
    }

    fn followed(&mut self, site: &Site, of: usize) -> Vec<Setting> {
        let at = self.walk.tokens[site.token].at.start;
        let is_apart = self.scope.is_in_branch_apart(at, of);
        let mut found = self.arguments(site, at);
        for setting in &mut found {
            setting.path.insert(0, site.parts.last().cloned().unwrap_or_default());
            if is_apart {
                setting.doubt.get_or_insert_with(|| "set under a condition".to_owned());
            }
        }
        found
    }

    /// The values that the program assigns to parts of the object: `config.Addr = "…"`.
    fn assigned(&self, object: &str, at: usize, parts: &[&str]) -> Vec<Setting> {
        let head: Vec<&str> = object.split('.').map(|it| it.trim_start_matches('$')).collect();
        let is_own = |it: &&Setting| {
            it.start > at
                && it.path.len() > head.len()
                && it.path.iter().zip(&head).all(|(own, part)| own == part)
                && parts.contains(&&*it.path[head.len()])
        };
        let own = self.settings.iter().filter(is_own).take(MOST_FOLLOWERS);
        own.flat_map(|it| {
            let mut it = it.clone();
            it.path.drain(..head.len());
            let start = it.start;
            self.resolved(it, start, 0)
        })
        .collect()
    }

    /// Makes the setting that stands for a missing argument of the call.
    fn mark(&self, site: &Site) -> Setting {
        let at = self.walk.tokens[site.token].at.clone();
        let mut found = self.text_setting(String::new(), at.start);
        found.path = vec![MARK.to_owned()];
        found.value = Value::Hidden;
        found
    }

    /// Makes a setting for a value that is built from several parts. Its place is the place of the first part.
    fn text_setting(&self, text: String, start: usize) -> Setting {
        Setting {
            path: Vec::new(),
            doubt: None,
            line: self.starts.line(start),
            start,
            key: 0..0,
            literal: 0..text.len(),
            item: text.clone(),
            value: Value::Text(text),
            quotes: Quotes::Bare(Bare::Part),
            doubled: None,
            joins: Joins::With(", "),
        }
    }
}

/// Repeats each argument under a name that shows the form of its value: `0:url`, `0:path`, `0:port`, `0:list`,
/// `0:name`, `0:open`.
fn typed(settings: &[Setting]) -> Vec<Setting> {
    let like = |it: &Value| match it {
        Value::Text(text) if text.contains("://") || text.contains("@tcp(") || text.contains("@unix(") => "url",
        Value::Text(text) if text.starts_with('/') => "path",
        Value::Text(text) if !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit()) => "port",
        Value::Text(text) if text.contains('=') || is_dbi(text) => "list",
        Value::Text(_) => "name",
        Value::Variable { .. } | Value::Hidden => "open",
    };
    let mut found = Vec::new();
    for setting in settings.iter().filter(|it| it.path.len() == 1) {
        let own = Setting { path: vec![format!("{}:{}", setting.path[0], like(&setting.value))], ..setting.clone() };
        if own.path[0].ends_with(":list") {
            found.extend(lists::parts(&own).into_iter().map(without_scheme));
            found.extend(parts_of_dbi(&own));
        }
        found.push(own);
    }
    found
}

fn is_dbi(text: &str) -> bool {
    text.get(..4).is_some_and(|it| it.eq_ignore_ascii_case("dbi:"))
}

/// Splits Perl's `dbi:mysql:database:host:port`.
fn parts_of_dbi(list: &Setting) -> Vec<Setting> {
    let Value::Text(text) = &list.value else { return Vec::new() };
    let parts = text.split(':').skip(2).filter(|_| is_dbi(text) && !text.contains('='));
    let named = ["database", "host", "port"].into_iter().zip(parts);
    let of = |(name, part): (&str, &str)| Setting {
        path: vec![list.path[0].clone(), name.to_owned()],
        value: Value::Text(part.to_owned()),
        ..list.clone()
    };
    named.map(of).collect()
}

/// Removes the scheme from the name of the first part in lists of PDO and DBI: `mysql:host` becomes `host`.
fn without_scheme(mut part: Setting) -> Setting {
    if let Some(name) = part.path.last_mut()
        && let Some((_, own)) = name.rsplit_once(':')
    {
        *name = own.to_owned();
    }
    part
}

/// Names that `+=` and similar operators change, or that a loop sets.
fn touched(text: &str, tokens: &[Token]) -> HashSet<String> {
    let word = |at: usize| word(text, tokens, at);
    let is_touched = |at: &usize| {
        let n_signs = (at + 1..at + 4).take_while(|it| matches!(word(*it), "." | "+" | "|" | "?" | "-")).count();
        let end = at + 1 + n_signs;
        let is_joined =
            (at + 1..=end).skip(1).all(|it| tokens.get(it).is_some_and(|own| own.at.start == tokens[it - 1].at.end));
        let before = at.checked_sub(1).map_or("", word);
        let is_changed = n_signs > 0 && word(end) == "=" && is_joined;
        is_changed || matches!(before, "for" | "as" | "foreach") || matches!(word(at + 1), "of" | "in")
    };
    let words = (0..tokens.len()).filter(|it| tokens[*it].kind == Kind::Word);
    words.filter(is_touched).map(|it| word(it).trim_start_matches('$').to_owned()).collect()
}
