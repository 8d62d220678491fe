//! Evaluates expressions (names, joined strings, format strings) if the file sets each of their parts only once.

use std::ops::Range;

use super::super::Language;
use super::super::lexer::{Kind, Token, tokens, word};
use super::{Program, REST};
use crate::app::setting::{MOST_VALUE_BYTES, Setting, UNKNOWN, Value};

/// Maximum number of steps from one name to the next when looptax follows names to a value.
const MOST_DEPTH: usize = 6;
/// The maximum number of settings that are read from a name that is a list or a dictionary; the rest is left out.
const MOST_PARTS: usize = 64;

/// An expression: its text and tokens, and the byte of the program at which it begins.
#[derive(Clone, Copy)]
struct Expression<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    depth: usize,
}

impl<'a> Expression<'a> {
    fn word(&self, at: usize) -> &'a str {
        word(self.text, self.tokens, at)
    }

    fn part(&self, range: Range<usize>) -> Self {
        Self { tokens: &self.tokens[range], ..*self }
    }

    /// Splits the expression at a sign that is outside brackets.
    fn split(&self, sign: &str) -> Vec<Self> {
        let (mut depth, mut from, mut found) = (0_usize, 0, Vec::new());
        for at in 0..self.tokens.len() {
            match self.word(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                it if it == sign && depth == 0 => {
                    found.push(self.part(from..at));
                    from = at + 1;
                }
                _ => {}
            }
        }
        found.push(self.part(from..self.tokens.len()));
        found
    }
}

/// A name: its first word as written, and all its parts without `$`.
struct Name {
    root: String,
    parts: Vec<String>,
}

/// Reads a name like `$a['b']`, `self.a` or `A::B`; `None` if the expression is more than a name.
fn name_of(it: &Expression<'_>) -> Option<Name> {
    let plain = |at: usize| it.word(at).trim_start_matches('$').to_owned();
    let is_word = |at: usize| it.tokens.get(at).is_some_and(|it| it.kind == Kind::Word);
    let mut at = usize::from(matches!(it.word(0), "@" | "\\"));
    if !is_word(at) || it.word(at).starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let root = if it.word(0) == "@" { "@".to_owned() } else { it.word(at).to_owned() };
    let mut parts = vec![plain(at)];
    at += 1;
    while at < it.tokens.len() {
        let n_tokens = match it.word(at) {
            "." | "->" | "::" if is_word(at + 1) => {
                parts.push(plain(at + 1));
                2
            }
            "[" | "{" => {
                let symbol = usize::from(it.word(at + 1) == ":");
                parts.push(match &it.tokens.get(at + 1 + symbol)?.kind {
                    Kind::Text(text) => text.clone()?,
                    Kind::Word => plain(at + 1 + symbol),
                    Kind::Sign => return None,
                });
                if !matches!(it.word(at + 2 + symbol), "]" | "}") {
                    return None;
                }
                3 + symbol
            }
            _ => return None,
        };
        at += n_tokens;
    }
    Some(Name { root, parts })
}

impl Program<'_> {
    /// Replaces the name or expression in an argument by its value. The result is one setting, or several if the name
    /// is a list.
    pub(super) fn resolved(&self, setting: Setting, at: usize, depth: usize) -> Vec<Setting> {
        if setting.value != Value::Hidden {
            return vec![setting];
        }
        let place = setting.start + setting.literal.start..setting.start + setting.literal.end;
        let all = &self.walk.tokens;
        let first = all.partition_point(|it| it.at.start < place.start);
        let end = all.partition_point(|it| it.at.start < place.end);
        let whole = Expression { text: self.text, tokens: &all[first..end.max(first)], at, depth };
        let n_signs = (0..3).take_while(|it| matches!(whole.word(*it), "*" | ".")).count();
        let is_spread = n_signs > 1;
        let expression = whole.part(n_signs.min(whole.tokens.len())..whole.tokens.len());
        if let Some(name) = name_of(&expression) {
            let found = self.named(&name, at);
            let mut path = setting.path.clone();
            if is_spread {
                path.pop();
            }
            if depth < MOST_DEPTH && found.iter().all(|it| !(is_spread && it.0.is_empty())) && !found.is_empty() {
                let own = found.into_iter().flat_map(|(rest, own)| {
                    let at = own.start;
                    let of = Setting { path: [&*path, &*rest].concat(), ..own };
                    self.resolved(of, at, depth + 1)
                });
                return own.take(MOST_PARTS).collect();
            }
        }
        let text = self.text_of(expression).filter(|_| !is_spread);
        let Some(text) = text.filter(|it| it.chars().any(|c| c != UNKNOWN)) else {
            let mut setting = setting;
            if is_spread {
                setting.path.pop();
                setting.path.push(REST.to_owned());
            }
            return vec![setting];
        };
        // An unknown password does not affect the rest of a URL.
        let text = text.replace(&format!(":{UNKNOWN}@"), "@");
        let is_open = text.contains(UNKNOWN) && (text.contains("://") || !text.contains('='));
        let doubt = is_open.then(|| "built from values that looptax does not know".to_owned());
        let found = self.text_setting(text, place.start);
        vec![Setting { path: setting.path, doubt: setting.doubt.or(doubt), ..found }]
    }

    /// The settings to which a name refers at a byte of the text, with their paths below the name.
    fn named(&self, name: &Name, at: usize) -> Vec<(Vec<String>, Setting)> {
        let steps = self.steps.get();
        if steps == 0 {
            return Vec::new();
        }
        self.steps.set(steps - 1);
        let is_object = matches!(&*name.root, "$this" | "this" | "self" | "static" | "cls" | "@");
        let is_class = name.root.starts_with(|c: char| c.is_ascii_uppercase());
        let is_local = match self.language {
            Language::Php | Language::Perl => name.root.starts_with('$') && !is_object,
            Language::Ruby => name.root.starts_with(|c: char| c.is_lowercase()) && !is_object,
            _ => false,
        };
        let mut heads = vec![&*name.parts];
        if (is_object || is_class) && name.parts.len() > 1 {
            heads.push(&name.parts[1..]);
        }
        let is_meant = |it: &&Setting| {
            let is_visible = is_object || self.scope.is_visible(&name.root, it.start, at, is_local);
            let is_later = it.start > at && !is_object && self.scope.is_same_function(it.start, at);
            is_visible && !is_later
        };
        let exact: Vec<&Setting> = { heads.iter() }
            .filter_map(|it| self.by_path.get(*it))
            .flatten()
            .map(|idx| &self.settings[*idx])
            .filter(is_meant)
            .collect();
        let last = name.parts.last().map_or("", |it| it);
        if let Some(first) = exact.first() {
            let raw = |it: &Setting| it.item[it.literal.clone()].to_owned();
            let is_one = exact.iter().all(|it| it.value == first.value && raw(it) == raw(first));
            let is_changed = self.touched.contains(last);
            // `$o = ['host' => '…']; $o = merge($o, f());`: the list of which the value is a part is set again.
            let wholes = heads.iter().flat_map(|head| (1..head.len()).filter_map(|n| self.by_path.get(&head[..n])));
            let mut again = wholes.flatten().map(|idx| &self.settings[*idx]).filter(is_meant);
            if !is_one || is_changed || again.any(|it| it.start > first.start) {
                return Vec::new();
            }
            return vec![(Vec::new(), self.with_doubt(first, name, at))];
        }
        let below = |it: &&Setting| heads.iter().any(|head| it.path.len() > head.len() && it.path.starts_with(head));
        let own = self.settings.iter().filter(below).filter(is_meant).take(MOST_PARTS);
        own.map(|it| {
            let head = heads.iter().find(|head| it.path.starts_with(head)).map_or(0, |it| it.len());
            (it.path[head..].to_vec(), self.with_doubt(it, name, at))
        })
        .collect()
    }

    /// Adds a doubt if the setting may change between this place and its use.
    fn with_doubt(&self, setting: &Setting, name: &Name, at: usize) -> Setting {
        let mut setting = setting.clone();
        let mut others = self.walk.includes.iter().map(|it| it.0);
        let is_included = if setting.item.starts_with("define") {
            others.any(|it| it < setting.start)
        } else {
            name.root.starts_with('$') && others.any(|it| it > setting.start && it < at)
        };
        if is_included {
            setting.doubt.get_or_insert_with(|| "perhaps set by another file that the program also reads".to_owned());
        }
        if self.scope.is_in_branch_apart(setting.start, at) {
            let line = setting.line;
            setting.doubt.get_or_insert_with(|| format!("set under a condition (line {line})"));
        }
        setting
    }

    /// Evaluates an expression to a text, with [`UNKNOWN`] for the parts that are not known.
    fn text_of(&self, it: Expression<'_>) -> Option<String> {
        let steps = self.steps.get();
        if steps == 0 || it.depth > MOST_DEPTH || it.tokens.is_empty() {
            return None;
        }
        self.steps.set(steps - 1);
        if it.word(0) == "(" && it.word(it.tokens.len() - 1) == ")" && it.split(")").len() == 1 {
            return self.text_of(Expression { depth: it.depth + 1, ..it.part(1..it.tokens.len() - 1) });
        }
        if self.language == Language::Python
            && let [format, values] = &*it.split("%")
        {
            let n = values.tokens.len();
            let is_list = values.word(0) == "(" && values.word(n - 1) == ")";
            let values = if is_list { values.part(1..n - 1).split(",") } else { vec![*values] };
            return self.formatted(&self.text_of(*format)?, &values);
        }
        let sign = if matches!(self.language, Language::Php | Language::Perl) { "." } else { "+" };
        let parts = it.split(sign);
        if parts.len() > 1 && parts.iter().all(|it| !it.tokens.is_empty()) {
            let mut whole = String::new();
            for part in parts {
                whole.push_str(&self.part_of(part).unwrap_or_else(|| UNKNOWN.to_string()));
                if whole.len() > MOST_VALUE_BYTES {
                    return None;
                }
            }
            return Some(whole);
        }
        self.part_of(it)
    }

    fn part_of(&self, it: Expression<'_>) -> Option<String> {
        match it.tokens {
            // In C#, `@"…"` is a string.
            [_, Token { kind: Kind::Text(_), .. }] if it.word(0) == "@" => self.part_of(it.part(1..2)),
            [Token { kind: Kind::Text(Some(text)), .. }] => Some(text.clone()).filter(|it| !it.contains("{{")),
            [Token { kind: Kind::Text(None), at }] => self.interpolated(&it.text[at.clone()], &it),
            [token] if it.text[token.at.clone()].starts_with(|c: char| c.is_ascii_digit()) => {
                Some(it.text[token.at.clone()].to_owned())
            }
            [Token { kind: Kind::Text(_), .. }, ..] if self.language == Language::Python && is_all_text(it.tokens) => {
                (0..it.tokens.len()).map(|at| self.part_of(it.part(at..at + 1))).collect()
            }
            _ => match name_of(&it) {
                Some(name) => self.text_of_name(&name, &it),
                None => self.called(&it),
            },
        }
    }

    fn text_of_name(&self, name: &Name, it: &Expression<'_>) -> Option<String> {
        let found = self.named(name, it.at);
        let [(rest, own)] = &*found else { return None };
        if !rest.is_empty() || own.doubt.is_some() {
            return None;
        }
        match &own.value {
            Value::Text(text) => Some(text.clone()),
            Value::Variable { .. } => None,
            Value::Hidden if it.depth >= MOST_DEPTH => None,
            Value::Hidden => match &*self.resolved(own.clone(), own.start, it.depth + 1) {
                [Setting { value: Value::Text(text), doubt: None, .. }] => Some(text.clone()),
                _ => None,
            },
        }
    }

    /// Evaluates a call that returns a text: `fmt.Sprintf("…", a)`, `'…'.format(a)`, `str(a)`.
    fn called(&self, it: &Expression<'_>) -> Option<String> {
        let open = (0..it.tokens.len()).find(|at| it.word(*at) == "(")?;
        let is_whole = it.word(it.tokens.len() - 1) == ")" && it.part(open + 1..it.tokens.len()).split(")").len() == 1;
        let last = open.checked_sub(1).filter(|_| is_whole)?;
        let values = it.part(open + 1..it.tokens.len() - 1).split(",");
        let text = |it: &Expression<'_>| self.text_of(Expression { depth: it.depth + 1, ..*it });
        match it.word(last) {
            "Sprintf" | "sprintf" => self.formatted(&text(values.first()?)?, &values[1..]),
            "format" if it.word(0) == "String" => self.formatted(&text(values.first()?)?, &values[1..]),
            "format" if last == 2 => self.filled(&text(&it.part(0..1))?, &values),
            "str" | "String" | "strval" | "quote" | "quote_plus" | "urlencode" | "rawurlencode"
            | "encodeURIComponent" | "trim" => {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
                text(values.first()?).filter(|it| it.chars().all(is_plain))
            }
            _ => None,
        }
    }

    /// Replaces each `%s` and `%d` in a format string by a value.
    fn formatted(&self, format: &str, values: &[Expression<'_>]) -> Option<String> {
        let mut values = values.iter();
        let mut pieces = format.split('%');
        let mut whole = pieces.next()?.to_owned();
        while let Some(piece) = pieces.next() {
            let Some(kind) = piece.chars().next() else {
                whole.push('%');
                whole.push_str(pieces.next()?);
                continue;
            };
            if !"sdvi".contains(kind) {
                return None;
            }
            let value = values.next().and_then(|it| self.text_of(Expression { depth: it.depth + 1, ..*it }));
            whole.push_str(&value.unwrap_or_else(|| UNKNOWN.to_string()));
            whole.push_str(&piece[kind.len_utf8()..]);
            if whole.len() > MOST_VALUE_BYTES {
                return None;
            }
        }
        Some(whole)
    }

    /// Replaces `{}`, `{0}` and `{name}` in a format string by values.
    fn filled(&self, format: &str, values: &[Expression<'_>]) -> Option<String> {
        let mut whole = String::new();
        let mut pieces = format.split('{');
        whole.push_str(pieces.next()?);
        for (idx, piece) in pieces.enumerate() {
            let (name, rest) = piece.split_once('}')?;
            let own = match name.parse::<usize>() {
                _ if name.is_empty() => values.get(idx),
                Ok(number) => values.get(number),
                Err(_) => values.iter().find(|it| it.word(0) == name && it.word(1) == "="),
            }?;
            let from = if own.word(1) == "=" { 2 } else { 0 };
            let value = own.part(from.min(own.tokens.len())..own.tokens.len());
            let value = self.text_of(Expression { depth: own.depth + 1, ..value });
            whole.push_str(&value.unwrap_or_else(|| UNKNOWN.to_string()));
            whole.push_str(rest);
            if whole.len() > MOST_VALUE_BYTES {
                return None;
            }
        }
        Some(whole)
    }

    /// Evaluates a string that contains variables.
    fn interpolated(&self, raw: &str, around: &Expression<'_>) -> Option<String> {
        let open = raw.find(['"', '\'', '`'])?;
        let quote = &raw[open..=open];
        let n_quotes = if raw[open..].starts_with(&quote.repeat(3)) { 3 } else { 1 };
        let inner = raw.get(open + n_quotes..raw.len().checked_sub(n_quotes)?)?;
        let mut whole = String::new();
        let mut at = 0;
        while let Some(c) = inner[at..].chars().next() {
            let rest = &inner[at..];
            if let Some((expression, n_bytes)) = variable(rest, self.language) {
                let own = tokens(expression, self.language);
                let own = Expression { text: expression, tokens: &own, at: around.at, depth: around.depth + 1 };
                whole.push_str(&self.text_of(own).unwrap_or_else(|| UNKNOWN.to_string()));
                at += n_bytes;
            } else if c == '\\' {
                let next = rest[1..].chars().next()?;
                whole.push(if next.is_alphanumeric() { UNKNOWN } else { next });
                at += 1 + next.len_utf8();
            } else if self.language == Language::Python && matches!(c, '{' | '}') {
                whole.push(if rest[1..].starts_with(c) { c } else { UNKNOWN });
                at += 2.min(rest.len());
            } else {
                whole.push(c);
                at += c.len_utf8();
            }
            if whole.len() > MOST_VALUE_BYTES || !inner.is_char_boundary(at) {
                return None;
            }
        }
        Some(whole)
    }
}

fn is_all_text(tokens: &[Token]) -> bool {
    tokens.iter().all(|it| matches!(it.kind, Kind::Text(_)))
}

/// The variable or expression at the start of `rest`, which is inside a string, and its number of bytes.
fn variable(rest: &str, language: Language) -> Option<(&str, usize)> {
    let between = |open: &str| {
        let inside = rest.strip_prefix(open)?;
        let end = inside.find('}')?;
        Some((&inside[..end], open.len() + end + 1))
    };
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let name = |from: usize| rest.get(from..).map_or(0, |it| it.find(|c| !is_part(c)).unwrap_or(it.len()));
    let simple = || {
        let n = name(1);
        rest.starts_with('$').then_some(1 + n).filter(|_| n > 0)
    };
    match language {
        Language::Script => between("${"),
        Language::Ruby => between("#{"),
        Language::Python => {
            let is_doubled = rest.starts_with("{{");
            between("{").filter(|(inside, _)| !is_doubled && !inside.contains(['!', ':', '{']))
        }
        Language::Java => between("${").or_else(|| simple().map(|n| (&rest[..n], n))),
        Language::Php | Language::Perl => {
            if rest.starts_with("{$") {
                return between("{");
            }
            if let Some(braced) = between("${") {
                return Some(braced);
            }
            let mut n = simple()?;
            if rest[n..].starts_with("->") {
                let more = name(n + 2);
                n += if more > 0 { 2 + more } else { 0 };
            }
            if rest[n..].starts_with(['[', '{']) {
                n += rest[n..].find([']', '}'])? + 1;
            }
            Some((&rest[..n], n))
        }
        Language::Go => None,
    }
}
