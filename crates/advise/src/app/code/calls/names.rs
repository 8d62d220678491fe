//! Finds the library to which a name in the text belongs, and the class to which an object belongs.

use std::collections::HashMap;

use super::super::Language;
use super::super::lexer::{Kind, Token, word};

/// Maximum number of parts of a name. For example, `self.pool.connect` has three parts.
const MOST_PARTS: usize = 16;

pub(super) struct Names {
    /// Imported names, each with the library's name for it: `Client` is `pg.Client`.
    imports: HashMap<String, String>,
    pub(super) objects: Vec<Object>,
    /// For each name, the indexes of the objects that are assigned to it, in the order of the text.
    by_key: HashMap<String, Vec<usize>>,
    /// PHP's `extends`: the token, and the name of the parent class.
    parents: Vec<(usize, String)>,
}

/// The result of a call, and the name to which it is assigned.
pub(super) struct Object {
    pub(super) key: String,
    class: String,
    /// The token of the last word of the call's name.
    pub(super) made_by: usize,
}

/// Returns the parts of the name that ends at the token `last`, and the token at which the name begins. In JavaScript's
/// `require('x').y`, the first part is the library.
pub(super) fn chain(text: &str, tokens: &[Token], last: usize) -> Option<(Vec<String>, usize)> {
    let word = |at: usize| word(text, tokens, at);
    let mut parts = vec![word(last).to_owned()];
    let mut at = last;
    while at >= 1 && matches!(word(at - 1), "." | "::" | "->" | "\\") {
        if at < 2 || parts.len() > MOST_PARTS {
            break;
        }
        // In PHP, the words of `new \A` are not the parts of one name.
        let is_apart = word(at - 1) == "\\" && tokens[at - 2].at.end < tokens[at - 1].at.start;
        if tokens[at - 2].kind == Kind::Word && !is_apart {
            parts.push(word(at - 2).to_owned());
            at -= 2;
            continue;
        }
        if word(at - 1) == "\\" {
            break;
        }
        let required =
            at.checked_sub(5).filter(|it| word(*it) == "require" && word(it + 1) == "(" && word(at - 2) == ")");
        match (required, &tokens[at - 2].kind) {
            (Some(first), _) => {
                let Kind::Text(Some(library)) = &tokens[at - 3].kind else { return None };
                parts.push(library.clone());
                at = first;
            }
            // The name begins with the result of another call.
            (None, _) => parts.push(String::new()),
        }
        break;
    }
    parts.reverse();
    Some((parts, at))
}

impl Names {
    pub(super) fn new(text: &str, tokens: &[Token], language: Language) -> Self {
        let mut new =
            Self { imports: HashMap::new(), objects: Vec::new(), by_key: HashMap::new(), parents: Vec::new() };
        for at in 0..tokens.len() {
            match (language, word(text, tokens, at)) {
                (Language::Python, "import" | "from") => new.import_of_python(text, tokens, at),
                (Language::Script, "import") => new.import_of_script(text, tokens, at),
                (Language::Script, "require") => new.required(text, tokens, at),
                (Language::Php, "use") => new.used(text, tokens, at),
                (Language::Php, "extends") => {
                    new.parents.push((
                        at,
                        word(text, tokens, at + 1 + usize::from(word(text, tokens, at + 1) == "\\")).to_owned(),
                    ));
                }
                _ => {}
            }
        }
        for at in 1..tokens.len() {
            if word(text, tokens, at) == "=" {
                // JavaScript's `const { A } = b;` has several names before the `=`.
                if language == Language::Script
                    && word(text, tokens, at - 1) == "}"
                    && !matches!(word(text, tokens, at + 2), "." | "(")
                    && let Some(library) = new.imports.get(word(text, tokens, at + 1)).cloned()
                {
                    new.destructured(text, tokens, at, &library);
                }
                new.objects.extend(new.object(text, tokens, at, language));
            }
        }
        for (idx, object) in new.objects.iter().enumerate() {
            new.by_key.entry(object.key.clone()).or_default().push(idx);
        }
        new
    }

    /// The class of the object to which a name refers at the token with this index.
    pub(super) fn class_of(&self, key: &str, token: usize) -> Option<&str> {
        let own = self.by_key.get(key)?;
        // A method may be earlier in the text than the method that creates the object.
        let n_before = own.partition_point(|it| self.objects[*it].made_by < token);
        let idx = own.get(n_before.saturating_sub(1))?;
        Some(&self.objects[*idx].class)
    }

    /// The object that is the result of the call whose name ends at this token.
    pub(super) fn made_by(&self, token: usize) -> Option<&Object> {
        let idx = self.objects.partition_point(|it| it.made_by < token);
        self.objects.get(idx).filter(|it| it.made_by == token)
    }

    /// Returns a name with the library or class in place of its first part.
    pub(super) fn resolved(&self, parts: &[String], token: usize, language: Language) -> String {
        let joined = |head: &str, rest: &[String]| [&[head.to_owned()], rest].concat().join(".");
        for n in (1..parts.len()).rev() {
            if let Some(class) = self.class_of(&parts[..n].join("."), token) {
                return joined(class, &parts[n..]);
            }
        }
        if let [own] = parts
            && language == Language::Script
            && let Some(class) = self.class_of(own, token)
        {
            return joined(class, &["()".to_owned()]);
        }
        if parts == ["parent", "__construct"] {
            let n_before = self.parents.partition_point(|it| it.0 < token);
            let class = n_before.checked_sub(1).map(|it| &self.parents[it]);
            return class.map(|it| self.imported(&it.1)).unwrap_or_default();
        }
        match parts.split_first() {
            Some((head, [])) => self.imported(head),
            Some((head, rest)) => joined(&self.imported(head), rest),
            None => String::new(),
        }
    }

    fn imported(&self, name: &str) -> String {
        self.imports.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    /// Reads the object that `x = new A::B(` or `x := a.b(` creates: its name and its class.
    fn object(&self, text: &str, tokens: &[Token], equals: usize, language: Language) -> Option<Object> {
        let word = |at: usize| word(text, tokens, at);
        let is_word = |at: usize| tokens.get(at).is_some_and(|it| it.kind == Kind::Word);
        let mut last = equals - 1;
        if word(last) == ":" {
            last = last.checked_sub(1)?;
        }
        if !is_word(last) {
            return None;
        }
        let (target, first) = chain(text, tokens, last)?;
        // In TypeScript and Kotlin, the type is between the name and the `=`.
        let typed = first.checked_sub(2).filter(|it| word(it + 1) == ":" && is_word(*it));
        let target = typed.map_or(target, |it| vec![word(it).to_owned()]);
        let mut at = equals + 1;
        let mut is_new = false;
        for _ in 0..4 {
            if !matches!(word(at), "new" | "await" | "&" | "\\") {
                break;
            }
            is_new |= word(at) == "new";
            at += 1;
        }
        if !is_word(at) {
            return None;
        }
        for _ in 0..MOST_PARTS {
            if !(matches!(word(at + 1), "." | "::" | "->" | "\\") && is_word(at + 2)) {
                break;
            }
            at += 2;
        }
        let is_made =
            word(at + 1) == "(" || is_new && word(at + 1) == ";" || language == Language::Go && word(at + 1) == "{";
        if !is_made || word(at) == "require" {
            return None;
        }
        let (mut parts, _) = chain(text, tokens, at)?;
        if parts.last().is_some_and(|it| it == "new") {
            parts.pop();
        }
        let (head, rest) = parts.split_first()?;
        let class = [&[self.imported(head)], rest].concat().join(".");
        Some(Object { key: target.join("."), class, made_by: at })
    }

    /// Reads Python's `import a.b as c, d` and `from a import b as c, d`.
    fn import_of_python(&mut self, text: &str, tokens: &[Token], at: usize) {
        let word = |at: usize| word(text, tokens, at);
        let is_first = text[..tokens[at].at.start].rsplit('\n').next().is_some_and(|it| it.trim().is_empty());
        if !is_first {
            return;
        }
        let mut next = at + 1;
        let mut module = Vec::new();
        if word(at) == "from" {
            while word(next) != "import" && next < at + 2 * MOST_PARTS && next < tokens.len() {
                module.push(word(next));
                next += 1;
            }
            next += 1;
        }
        let module = module.concat();
        next += usize::from(word(next) == "(");
        // Reads the names one by one, up to a limit.
        for _ in 0..64 {
            let mut name = String::new();
            while tokens.get(next).is_some_and(|it| it.kind == Kind::Word) || word(next) == "." {
                name += word(next);
                next += 1;
                if word(next) != "." && word(next - 1) != "." || name.len() > 128 {
                    break;
                }
            }
            if name.is_empty() {
                return;
            }
            let full = if module.is_empty() { name.clone() } else { format!("{module}.{name}") };
            if word(next) == "as" {
                self.imports.insert(word(next + 1).to_owned(), full);
                next += 2;
            } else if !module.is_empty() {
                self.imports.insert(name, full);
            }
            if word(next) != "," {
                return;
            }
            next += 1;
        }
    }

    /// Reads JavaScript's `import A, { B as C } from 'd'` and `import * as A from 'd'`.
    fn import_of_script(&mut self, text: &str, tokens: &[Token], at: usize) {
        let word = |at: usize| word(text, tokens, at);
        let Some(from) = (at + 1..at + 64).find(|it| word(*it) == "from") else { return };
        let Some(Token { kind: Kind::Text(Some(library)), .. }) = tokens.get(from + 1) else { return };
        self.take_names(text, tokens, at + 1..from, library);
    }

    /// Reads `A = require('b')`, `{ A, B: C } = require('d')` and `A = require('b').C`.
    fn required(&mut self, text: &str, tokens: &[Token], at: usize) {
        let word = |at: usize| word(text, tokens, at);
        let Some(Token { kind: Kind::Text(Some(library)), .. }) = tokens.get(at + 2) else { return };
        let is_one = word(at + 1) == "(" && word(at + 3) == ")";
        let Some(equals) = at.checked_sub(1).filter(|it| word(*it) == "=" && is_one) else { return };
        let whole = match word(at + 4) {
            "." if word(at + 6) != "(" => format!("{library}.{}", word(at + 5)),
            "." => return,
            _ => library.clone(),
        };
        let whole = whole.strip_suffix(".default").unwrap_or(&whole).to_owned();
        self.destructured(text, tokens, equals, &whole);
    }

    /// Reads the name, or the names in braces, before the `=`.
    fn destructured(&mut self, text: &str, tokens: &[Token], equals: usize, library: &str) {
        let word = |at: usize| word(text, tokens, at);
        let Some(last) = equals.checked_sub(1) else { return };
        let first = match word(last) {
            "}" => (equals.saturating_sub(64)..last).rev().find(|it| word(*it) == "{"),
            _ => Some(last),
        };
        if let Some(first) = first {
            self.take_names(text, tokens, first..equals, library);
        }
    }

    fn take_names(&mut self, text: &str, tokens: &[Token], range: std::ops::Range<usize>, library: &str) {
        let word = |at: usize| word(text, tokens, at);
        let mut is_part = false;
        let mut at = range.start;
        while at < range.end {
            match word(at) {
                "{" => is_part = true,
                "}" => is_part = false,
                "*" if word(at + 1) == "as" => {
                    self.imports.insert(word(at + 2).to_owned(), library.to_owned());
                    at += 2;
                }
                name if tokens[at].kind == Kind::Word && name != "type" => {
                    let full =
                        if is_part && name != "default" { format!("{library}.{name}") } else { library.to_owned() };
                    let renamed = matches!(word(at + 1), "as" | ":");
                    let own = if renamed { word(at + 2) } else { name };
                    self.imports.insert(own.to_owned(), full);
                    at += if renamed { 2 } else { 0 };
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Reads PHP's `use A\B as C;`.
    fn used(&mut self, text: &str, tokens: &[Token], at: usize) {
        let word = |at: usize| word(text, tokens, at);
        let end = (at + 1..at + 2 * MOST_PARTS).find(|it| matches!(word(*it), ";" | "," | "(" | "{" | "as" | ""));
        let Some(end) = end.filter(|it| matches!(word(*it), ";" | "as")) else { return };
        let parts: Vec<&str> = (at + 1..end).map(word).filter(|it| *it != "\\").collect();
        let Some(last) = parts.last() else { return };
        let own = if word(end) == "as" { word(end + 1) } else { last };
        self.imports.insert(own.to_owned(), parts.join("."));
    }
}
