//! Shell scripts, crontabs and the commands of systemd's units. Reads assignments, the variables that `docker run`
//! passes to a container, and the servers in the command lines of client programs (`mysqldump`, `psql`, `redis-cli`).
//!
//! Variables that the script assigns are replaced by their values. No other shell expansion is done. Called by `read`
//! and `inside`.

mod clients;
pub(super) mod pods;

use std::collections::BTreeMap;
use std::ops::Range;

use clients::{CLIENTS, Client, ELSEWHERE, LONG, LONG_OTHERS};

use super::lines::{Lines, depth_after, expanded};
use super::quotes::{Bare, Quotes};
use super::setting::{Joins, LineStarts, MOST_SETTINGS, MOST_VALUE_BYTES, Setting, Value, doubt_unclear, named};

/// Maximum depth of commands that are quoted inside other commands.
const MOST_DEPTH: usize = 3;

/// Maximum number of variables of a script that are replaced. Each word that is a variable is compared with all of
/// them.
const MOST_ASSIGNED: usize = 500;

/// Programs that start another program.
const WRAPPERS: [&str; 27] = [
    "sudo", "su", "runuser", "env", "nice", "ionice", "time", "timeout", "exec", "nohup", "chronic", "cronic", "then",
    "do", "else", "if", "elif", "while", "until", "!", "{", "sh", "bash", "gosu", "su-exec", "flock", "setpriv",
];

/// Programs that start another program on another machine or in a container.
const REMOTE: [&str; 8] = ["docker", "podman", "docker-compose", "kubectl", "ssh", "oc", "lxc", "nerdctl"];

/// A word of a command, with its quotes.
#[derive(Debug, Clone)]
struct Word {
    at: Range<usize>,
    /// Whether the output of another command is part of the word.
    is_open: bool,
}

/// A container that a command starts.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) lines: Range<usize>,
    pub(super) network: Option<String>,
    pub(super) mounts: Vec<String>,
}

struct Walk<'a> {
    text: &'a str,
    starts: LineStarts,
    assigned: Vec<Setting>,
    handed: Vec<Setting>,
    clients: Vec<Setting>,
    runs: Vec<Run>,
    n_calls: BTreeMap<String, usize>,
    /// For each call, the settings with their roles.
    calls: Vec<Vec<(&'static str, Value)>>,
    /// Whether the current line is in a branch or a loop.
    is_conditional: bool,
}

/// Reads the settings of a script, a crontab or a unit.
pub(super) fn read(text: &str) -> Vec<Setting> {
    let walk = walked(text);
    let mut found = walk.assigned;
    found.extend(walk.handed);
    found.extend(walk.clients);
    doubt_unclear(&mut found);
    found
}

/// Reads the variables that a unit's commands pass to containers, and the options of the programs that the unit starts.
pub(super) fn of_unit(text: &str) -> Vec<Setting> {
    let mut found = walked(text).handed;
    for setting in &mut found {
        // A single `%` begins a specifier like `%h` or `%i`.
        setting.read_doubled('%');
    }
    found
}

/// The containers that the commands of a script start.
pub(super) fn runs(text: &str) -> Vec<Run> {
    walked(text).runs
}

fn walked(text: &str) -> Walk<'_> {
    let mut walk = Walk {
        text,
        starts: LineStarts::from_text(text),
        assigned: Vec::new(),
        handed: Vec::new(),
        clients: Vec::new(),
        runs: Vec::new(),
        n_calls: BTreeMap::new(),
        calls: Vec::new(),
        is_conditional: false,
    };
    let mut start = 0;
    let mut depth = 0;
    while start < text.len() {
        let mut end = start;
        // A backslash at the end of a line continues the command on the next line.
        for line in text[start..].split_inclusive('\n') {
            end += line.len();
            let is_comment = text[start..].trim_start().starts_with('#');
            if is_comment || !line.trim_end_matches(['\n', '\r']).ends_with('\\') {
                break;
            }
        }
        let line = text[start..end].trim();
        depth = depth_after(line, depth);
        walk.is_conditional = depth > 0;
        let is_too_much = walk.clients.len() + walk.handed.len() + walk.assigned.len() > MOST_SETTINGS;
        if end - start <= 4 * MOST_VALUE_BYTES && !is_too_much {
            let command = line.split_once('=').filter(|it| it.0.starts_with("Exec")).map_or(line, |it| it.1);
            let is_unit = command.len() < line.len();
            let command = if is_unit { command.trim_start_matches(['-', '@', ':', '+', '!']) } else { command };
            let from = start + text[start..end].find(line).unwrap_or_default() + line.len() - command.len();
            if is_unit {
                walk.options(from..end);
            }
            walk.commands(from..end, None, 0);
        }
        start = end;
    }
    walk
}

/// Whether a word is a variable that may hold options, according to its name: `$MYSQL_OPTS`, `${CONN_ARGS}`.
fn may_be_options(word: &str) -> bool {
    let name = word.strip_prefix('$').unwrap_or_default().to_lowercase();
    ["opt", "arg", "param", "auth", "cred", "conn", "flag"].iter().any(|it| name.contains(it))
}

/// Splits a text into commands, and each command into words.
fn commands(text: &str, at: Range<usize>) -> Vec<Vec<Word>> {
    let mut found = Vec::new();
    let mut left = vec![(at, 0)];
    while let Some((at, depth)) = left.pop() {
        let (own, inner) = outer_commands(text, at);
        found.extend(own);
        if depth < MOST_DEPTH {
            left.extend(inner.into_iter().map(|it| (it, depth + 1)));
        }
    }
    found
}

/// The commands of a text, and the places of its command substitutions. Commands inside the substitutions are left out.
fn outer_commands(text: &str, at: Range<usize>) -> (Vec<Vec<Word>>, Vec<Range<usize>>) {
    let mut found = vec![Vec::new()];
    let mut inner = Vec::new();
    let mut is_open = false;
    let mut word: Option<usize> = None;
    let mut quote = None;
    let mut chars = text[at.clone()].char_indices().map(|(it, c)| (at.start + it, c)).peekable();
    let mut is_escaped = false;
    while let Some((here, c)) = chars.next() {
        if std::mem::take(&mut is_escaped) {
            continue;
        }
        let mut close = |word: &mut Option<usize>, found: &mut Vec<Vec<Word>>| {
            let is_open = std::mem::take(&mut is_open);
            if let (Some(start), Some(last)) = (word.take(), found.last_mut()) {
                last.push(Word { at: start..here, is_open });
            }
        };
        match (quote, c) {
            (_, '\\') if quote != Some('\'') => {
                let is_end = matches!(chars.peek(), None | Some((_, '\n' | '\r')));
                if is_end && quote.is_none() {
                    close(&mut word, &mut found);
                } else {
                    word.get_or_insert(here);
                }
                is_escaped = true;
            }
            (Some(open), _) => quote = (c != open).then_some(open),
            (None, '"' | '\'') => {
                word.get_or_insert(here);
                quote = Some(c);
            }
            (None, '#') if word.is_none() => return (found, inner),
            (None, '$' | '`') if c == '`' || matches!(chars.peek(), Some((_, '('))) => {
                word.get_or_insert(here);
                is_open = true;
                let start = here + if c == '`' { 1 } else { 2 };
                let end = end_of_output(text, start..at.end, c);
                inner.push(start..end);
                while chars.next_if(|it| it.0 <= end).is_some() {}
            }
            (None, ';' | '|' | '&' | '(' | ')' | '<' | '>' | '\n') => {
                close(&mut word, &mut found);
                found.push(Vec::new());
            }
            (None, _) if c.is_whitespace() => close(&mut word, &mut found),
            (None, _) => {
                word.get_or_insert(here);
            }
        }
    }
    if let (Some(start), Some(last)) = (word, found.last_mut()) {
        last.push(Word { at: start..at.end, is_open: is_open || quote.is_some() });
    }
    (found, inner)
}

/// The end of a command substitution: the second backtick, or the closing parenthesis.
fn end_of_output(text: &str, at: Range<usize>, sign: char) -> usize {
    let mut depth = 1_usize;
    let end = text[at.clone()].char_indices().find(|(_, c)| {
        match c {
            '`' if sign == '`' => depth = 0,
            '(' if sign == '$' => depth += 1,
            ')' if sign == '$' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    end.map_or(at.end, |it| at.start + it.0)
}

impl<'a> Walk<'a> {
    fn commands(&mut self, at: Range<usize>, elsewhere: Option<&'a str>, depth: usize) {
        for words in commands(self.text, at) {
            if !words.is_empty() {
                self.command(&words, elsewhere, depth);
            }
        }
    }

    fn raw(&self, word: &Word) -> &'a str {
        &self.text[word.at.clone()]
    }

    /// The text of a word, without the quotes around it.
    fn plain(&self, word: &Word) -> &'a str {
        self.raw(word).trim_matches(['"', '\''])
    }

    fn base(&self, word: &Word) -> &'a str {
        let plain = self.plain(word);
        plain.rsplit('/').next().unwrap_or(plain).trim_start_matches(['-', '@', ':', '+'])
    }

    fn command(&mut self, words: &[Word], elsewhere: Option<&'a str>, depth: usize) {
        let words = &words[self.n_of_cron(words)..];
        let called = self.called(words);
        let words = called.as_deref().unwrap_or(words);
        let n_ahead =
            usize::from(words.first().is_some_and(|it| matches!(self.raw(it), "export" | "local" | "declare")));
        let assigned: Vec<Setting> =
            words[n_ahead.min(words.len())..].iter().map_while(|it| self.assignment(it)).collect();
        if assigned.len() + n_ahead == words.len() && elsewhere.is_none() {
            self.assigned.extend(assigned);
            return;
        }
        let mut remote = elsewhere;
        let mut is_wrapped = false;
        let mut is_behind_option = false;
        for (idx, word) in words.iter().enumerate() {
            let (plain, base) = (self.plain(word), self.base(word));
            let next = words.get(idx + 1).map_or("", |it| self.plain(it));
            let client = CLIENTS.iter().find(|it| it.names.contains(&base) && !plain.starts_with('-'));
            if let Some(client) = client.filter(|_| remote.is_none() || next.starts_with('-') || idx == 0) {
                self.client(client, word, &words[idx + 1..], &assigned, remote);
                return;
            }
            let is_quoted = plain.len() < self.raw(word).len() && plain.contains(' ');
            if is_quoted && (is_wrapped || remote.is_some()) && depth < MOST_DEPTH {
                self.commands(self.inner(word), remote, depth + 1);
                continue;
            }
            let is_option = plain.starts_with('-');
            if REMOTE.contains(&base) && !is_behind_option {
                let has = |wanted: &[&str]| words[idx..].iter().any(|it| wanted.contains(&self.plain(it)));
                if has(&["run", "create"]) {
                    self.run(&words[idx..]);
                    return;
                }
                remote = remote.or((base == "ssh" || has(&["exec"])).then_some(base));
            }
            let is_wrapper = WRAPPERS.contains(&base);
            is_wrapped |= is_wrapper;
            let is_number = plain.starts_with(|c: char| c.is_ascii_digit());
            let is_passed = is_option || is_wrapper || is_behind_option || is_number || self.assignment(word).is_some();
            if !is_passed && remote.is_none() {
                return;
            }
            is_behind_option = is_option;
        }
    }

    /// Replaces the variables in a command like `$MYSQL $OPTIONS -e …` by the words that the script assigned to them:
    /// the name of a client program, and options.
    fn called(&self, words: &[Word]) -> Option<Vec<Word>> {
        let is_variable = |it: &Word| self.raw(it).starts_with('$');
        words.iter().find(|it| is_variable(it) && self.assigned.len() <= MOST_ASSIGNED)?;
        let is_client = |it: &Word| CLIENTS.iter().any(|client| client.names.contains(&self.base(it)));
        let of_word = |(idx, word): (usize, &Word)| {
            let own = self.assigned_words(word).filter(|_| is_variable(word));
            let is_meant = |it: &Word| if idx == 0 { is_client(it) } else { self.raw(it).starts_with('-') };
            let own = own.filter(|it| it.first().is_some_and(is_meant));
            own.unwrap_or_else(|| vec![word.clone()])
        };
        Some(words.iter().enumerate().flat_map(of_word).collect())
    }

    /// The words of the value of a variable; `None` if the value is not certain.
    fn assigned_words(&self, word: &Word) -> Option<Vec<Word>> {
        let name = self.raw(word).strip_prefix('$')?.trim_start_matches('{').trim_end_matches('}');
        let mut assigned = self.assigned.iter().filter(|it| it.path == [name]);
        let own = assigned.next().filter(|it| it.doubt.is_none())?;
        if assigned.any(|it| it.value != own.value) {
            return None;
        }
        let at = own.start..own.start + own.item.len();
        commands(self.text, self.inner(&Word { at, is_open: false })).into_iter().next()
    }

    /// Reads the options of the program that a unit starts.
    fn options(&mut self, at: Range<usize>) {
        let words: Vec<Word> = commands(self.text, at).into_iter().flatten().collect();
        for (idx, word) in words.iter().enumerate() {
            if !self.raw(word).starts_with('-') {
                continue;
            }
            let (name, value) = match self.raw(word).split_once('=') {
                Some((name, value)) => (name, Some(word.at.end - value.len()..word.at.end)),
                None => (self.raw(word), words.get(idx + 1).map(|it| self.inner(it))),
            };
            let path = vec!["ExecStart".to_owned(), named(name.trim_start_matches('-'))];
            self.handed.extend(value.map(|at| self.setting(path, at, word.is_open)));
        }
    }

    /// The number of words in a line of a crontab that give the time and the user.
    fn n_of_cron(&self, words: &[Word]) -> usize {
        let is_time = |it: &Word| {
            let text = self.raw(it);
            text.starts_with(|c: char| c.is_ascii_digit() || c == '*' || c.is_ascii_alphabetic())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "*/,-".contains(c))
        };
        let first = words.first().map_or("", |it| self.raw(it));
        let n_times = match first.chars().next() {
            Some('@') => 1,
            Some(c) if (c == '*' || c.is_ascii_digit()) && words.len() > 5 && words[..5].iter().all(is_time) => 5,
            _ => return 0,
        };
        let user = words.get(n_times).map_or("", |it| self.raw(it));
        let is_program = WRAPPERS.contains(&user) || CLIENTS.iter().any(|it| it.names.contains(&user));
        let is_user = !is_program && user.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
        n_times + usize::from(is_user && words.len() > n_times + 1)
    }

    fn assignment(&self, word: &Word) -> Option<Setting> {
        let (name, value) = self.raw(word).split_once('=')?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_it = !name.is_empty() && name.chars().all(is_name) && !name.starts_with(|c: char| c.is_ascii_digit());
        let at = word.at.end - value.len()..word.at.end;
        let doubt = self.is_conditional.then(|| "set under a condition".to_owned());
        let setting = is_it.then(|| self.setting(vec![named(name)], at, word.is_open))?;
        Some(Setting { doubt: setting.doubt.clone().or(doubt), ..setting })
    }

    /// Makes a setting. Replaces the variables in its value, if the script assigns these variables.
    fn setting(&self, path: Vec<String>, at: Range<usize>, is_open: bool) -> Setting {
        let raw = &self.text[at.clone()];
        let plain: String = raw.chars().filter(|it| !matches!(it, '"' | '\'')).collect();
        let is_single = raw.starts_with('\'') && raw.ends_with('\'') && raw.len() > 1;
        let mut doubt = None;
        let name = plain.strip_prefix('$').map(|it| it.trim_start_matches('{').trim_end_matches('}'));
        let is_name = |it: &&str| !it.is_empty() && it.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let read = match name.filter(is_name) {
            Some(name) => Value::Variable { name: name.to_owned(), fallback: None },
            None => expanded(plain.clone(), Lines::Dotenv),
        };
        let value = match read {
            _ if is_single => Value::Text(plain),
            _ if is_open || plain.contains('`') => Value::Hidden,
            Value::Variable { name, fallback } => {
                match self.assigned.iter().rev().find(|it| it.path == [name.as_str()]) {
                    Some(own) => {
                        let is_other = |it: &Setting| it.path == own.path && it.value != own.value;
                        let is_set_again = self.assigned.iter().any(is_other);
                        doubt = own.doubt.clone().or_else(|| is_set_again.then(|| "set more than once".to_owned()));
                        own.value.clone()
                    }
                    None => Value::Variable { name, fallback },
                }
            }
            Value::Text(text) if text.contains('$') => Value::Hidden,
            value => value,
        };
        Setting {
            path,
            value,
            doubt,
            line: self.starts.line(at.start),
            start: at.start,
            item: raw.to_owned(),
            key: 0..0,
            literal: 0..raw.len(),
            quotes: Quotes::Bare(Bare::Part),
            doubled: None,
            joins: Joins::With(" "),
        }
    }

    /// Reads the options of `docker run`, such as `-e NAME=value`.
    fn run(&mut self, words: &[Word]) {
        let (mut network, mut mounts) = (None, Vec::new());
        let mut words_left = words.iter().peekable();
        while let Some(word) = words_left.next() {
            let (name, value) = match self.raw(word).split_once('=').filter(|it| it.0.starts_with("--")) {
                Some((name, value)) => {
                    (name, Some(Word { at: word.at.end - value.len()..word.at.end, ..word.clone() }))
                }
                None => (self.raw(word), words_left.peek().map(|it| (*it).clone())),
            };
            let Some(value) = value else { continue };
            match name {
                "-e" | "--env" => {
                    let inner = Word { at: self.inner(&value), ..value };
                    self.handed.extend(self.assignment(&inner));
                }
                "--network" | "--net" => network = Some(self.plain(&value).to_owned()),
                "-v" | "--volume" => mounts.push(self.plain(&value).to_owned()),
                _ => {}
            }
        }
        let ends = words.first().zip(words.last());
        if let Some((first, last)) = ends {
            let lines = self.starts.line(first.at.start)..self.starts.line(last.at.end) + 1;
            self.runs.push(Run { lines, network, mounts });
        }
    }

    /// The range of a word without its quotes.
    fn inner(&self, word: &Word) -> Range<usize> {
        let raw = self.raw(word);
        let is_quoted = raw.len() > 1 && raw.starts_with(['"', '\'']) && raw.ends_with(['"', '\'']);
        word.at.start + usize::from(is_quoted)..word.at.end - usize::from(is_quoted)
    }

    fn client(
        &mut self,
        client: &'static Client,
        program: &Word,
        words: &[Word],
        before: &[Setting],
        remote: Option<&str>,
    ) {
        let mut roles: BTreeMap<&'static str, Setting> = BTreeMap::new();
        let mut doubt =
            remote.map(|it| format!("valid only for a program in a container or on another machine ({it})"));
        let mut words_left = words.iter();
        let mut is_first = true;
        let mut options = None;
        while let Some(word) = words_left.next() {
            let text = self.raw(word);
            // The value of an option is the rest of its word, or the next word.
            let mut take = |from: usize| {
                let (at, is_open) = if from < word.at.end {
                    (from..word.at.end, word.is_open)
                } else {
                    words_left.next().map(|it| (self.inner(it), it.is_open))?
                };
                Some(self.setting(Vec::new(), at, is_open))
            };
            if let Some(long) = text.strip_prefix("--") {
                let (name, has_value) = long.split_once('=').map_or((long, false), |it| (it.0, true));
                if ELSEWHERE.contains(&name) {
                    doubt = Some(format!("set in another file (--{name})"));
                }
                let role = LONG.iter().find(|it| it.0 == name).map(|it| it.1);
                let from = if has_value { word.at.start + "--=".len() + name.len() } else { word.at.end };
                // If the option has no value, the program asks the user for the password.
                if role == Some("password") && !has_value && client.family != "redis" {
                    continue;
                }
                if role.is_some() || LONG_OTHERS.contains(&name) && !has_value {
                    roles.extend(take(from).and_then(|it| Some((role?, it))));
                }
                continue;
            }
            let Some(letters) = text.strip_prefix('-').filter(|it| !it.is_empty()) else {
                options = options.or(may_be_options(text).then_some(text));
                if std::mem::take(&mut is_first) && !client.first.is_empty() && !roles.contains_key(client.first) {
                    roles.insert(client.first, self.setting(Vec::new(), self.inner(word), word.is_open));
                }
                continue;
            };
            let head = word.at.start + 1;
            for (at, letter) in letters.char_indices() {
                let behind = head + at + letter.len_utf8();
                let role = client.short.iter().find(|it| it.0 == letter).map(|it| it.1);
                if let Some(role) = role {
                    roles.extend(take(behind).map(|it| (role, it)));
                    break;
                }
                if letter == 'p' && client.family == "mysql" {
                    if behind < word.at.end {
                        roles.insert("password", self.setting(Vec::new(), behind..word.at.end, word.is_open));
                    }
                    break;
                }
                if client.others.contains(letter) {
                    take(behind);
                    break;
                }
            }
        }
        let has_place = ["host", "socket", "url"].iter().any(|it| roles.contains_key(it));
        let doubt = doubt.or_else(|| options.filter(|_| !has_place).map(|it| format!("perhaps set in {it}")));
        self.put_in(client, program, roles, before, doubt.as_deref());
    }

    fn put_in(
        &mut self,
        client: &'static Client,
        program: &Word,
        mut roles: BTreeMap<&'static str, Setting>,
        before: &[Setting],
        doubt: Option<&str>,
    ) {
        let is_uri = |it: &Setting| matches!(&it.value, Value::Text(text) if text.contains("://"));
        let is_list = |it: &Setting| matches!(&it.value, Value::Text(text) if text.contains('='));
        if let Some(database) = roles.get("database").filter(|it| is_uri(it) || is_list(it)) {
            let role = if is_uri(database) { "url" } else { "list" };
            let database = roles.remove("database");
            roles.extend(database.map(|it| (role, it)));
        }
        roles.retain(|role, it| *role != "url" || !matches!(it.value, Value::Text(_)) || is_uri(it));
        for (role, name) in client.variables {
            // A crontab passes its variables to its commands; a script has to export them.
            let is_exported =
                |it: &&Setting| !self.text.starts_with("#!") || self.text.contains(&format!("export {}", it.path[0]));
            let is_it = |it: &&Setting| it.path == [*name];
            let of_script = || self.assigned.iter().find(|it| is_it(it) && is_exported(it));
            let own = before.iter().find(is_it).or_else(of_script);
            if let Some(own) = own.filter(|_| !roles.contains_key(role)) {
                roles.insert(role, own.clone());
            }
        }
        if !["host", "socket", "url", "list"].iter().any(|it| roles.contains_key(it)) {
            let mut host = self.setting(Vec::new(), program.at.clone(), false);
            host.value = Value::Text(client.host.to_owned());
            roles.insert("host", host);
        }
        for role in ["host", "url", "list", "socket"] {
            if let Some(place) = roles.get_mut(role) {
                place.doubt = doubt.map(str::to_owned).or(place.doubt.take());
            }
        }
        let said: Vec<(&'static str, Value)> = std::iter::once((client.family, Value::Hidden))
            .chain(roles.iter().map(|it| (*it.0, it.1.value.clone())))
            .collect();
        if self.calls.contains(&said) {
            return;
        }
        self.calls.push(said);
        let base = self.base(program);
        let n_calls = self.n_calls.entry(base.to_owned()).or_default();
        *n_calls += 1;
        let name = if *n_calls > 1 { format!("{base} {n_calls}") } else { base.to_owned() };
        let called = roles.into_iter().map(|(role, setting)| {
            let path = vec![client.family.to_owned(), name.clone(), role.to_owned()];
            Setting { path, ..setting }
        });
        self.clients.extend(called);
    }
}

#[cfg(test)]
mod tests;
