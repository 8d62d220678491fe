//! Connections in a program's text: calls of database drivers, by the rows of `data/calls.toml`.
//!
//! Takes texts and rows of the table, and returns connections. looptax never writes these connections. Called by
//! `read`.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::bind::bound_of;
use super::bound::Bound;
use super::code::{Call, MARK, REST, calls};
use super::keys;
use super::pattern::{captured, fits};
use super::placeholder::doubt_placeholders;
use super::setting::{Setting, Value};
use super::source::Source;
use super::sqlite;
use super::table::{App, Format, HostForm, Role, apps};
use crate::Takes;

/// Calls that open an `SQLite` file.
const SQLITE: [&str; 6] =
    ["sqlite3.connect", "aiosqlite.connect", "sqlite3.Database", "better-sqlite3", "SQLite3", "SQLite3.Database.new"];

/// A number larger than the number of arguments of any call.
const APART: usize = 8_192;

/// The words of each call's name, in lower case, each with a flag. From a part of the name with a `*`, only the longest
/// word is used, and the word's flag is true: in the program, the word may be inside a longer word.
static CALLS: LazyLock<HashSet<Vec<(String, bool)>>> = LazyLock::new(|| {
    let word = |part: &str| {
        let longest = words(part).max_by_key(|it| it.len()).unwrap_or_default();
        (longest.to_lowercase(), part.contains('*'))
    };
    let names = apps().iter().flat_map(|it| &it.calls);
    names.map(|it| it.split('.').map(word).filter(|(word, _)| !word.is_empty()).collect()).collect()
});

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|it: char| !it.is_alphanumeric() && it != '_').filter(|it| !it.is_empty())
}

/// Whether a program may call a driver: the program's text, given in lower case, contains all words of the name of a
/// call. This check is much faster than parsing the text.
pub(super) fn may_call(text: &str) -> bool {
    let there: HashSet<&str> = words(text).collect();
    let has = |(word, is_part): &(String, bool)| {
        there.contains(&**word) || *is_part && there.iter().any(|it| it.contains(&**word))
    };
    CALLS.iter().any(|it| it.iter().all(has))
}

/// The connections of a text, and the numbers of the lines that name `SQLite`.
pub(super) fn connections(text: &str, format: Format, source: &Source<'_>) -> (Vec<Bound>, Vec<usize>) {
    let Some(language) = format.language() else {
        return (Vec::new(), Vec::new());
    };
    let rows: Vec<&'static App> = apps().iter().filter(|it| it.format == format && !it.calls.is_empty()).collect();
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_lowercase();
    let names = rows.iter().flat_map(|it| &it.calls).map(String::as_str).chain(SQLITE);
    let (open, ends): (HashSet<String>, HashSet<String>) = names.map(last).partition(|it| it.starts_with('*'));
    let has = |app: &App, name: &str| app.calls.iter().any(|it| fits(it, name));
    let is_driver = |name: &str| {
        let end = last(name);
        let may_be = ends.contains(&end) || open.iter().any(|it| fits(it, &end));
        may_be && (SQLITE.contains(&name) || rows.iter().any(|it| has(it, name)))
    };
    let parts_of = |name: &str| {
        let own = rows.iter().filter(|it| has(it, name));
        own.flat_map(|app| Role::ALL.iter().flat_map(|it| app.patterns(*it)))
            .filter_map(|it| it.split('/').next())
            .collect()
    };
    let (mut found, mut lines) = (Vec::new(), Vec::new());
    for (idx, call) in calls(text, language, &is_driver, &parts_of).iter().enumerate() {
        if SQLITE.contains(&&*call.name) {
            lines.push(call.line);
        }
        lines.extend(sqlite::lines(&call.settings));
        for app in rows.iter().filter(|it| has(it, &call.name)) {
            for mut bound in bound(app, call, source) {
                bound.anchor += idx * APART;
                found.push(bound);
            }
        }
    }
    (found, lines)
}

fn bound(app: &'static App, call: &Call, source: &Source<'_>) -> Vec<Bound> {
    let mut settings = call.settings.clone();
    doubt_placeholders(&mut settings);
    for setting in &mut settings {
        let is_open = matches!(&setting.value, Value::Text(text) if keys::is_placeholder(text));
        if is_open && !is_of(app, &[Role::Password], setting) {
            setting.value = Value::Hidden;
        }
    }
    let is_whole = settings.iter().all(|it| is_harmless(app, it));
    if let Some(mark) = settings.last_mut().filter(|_| is_whole)
        && let Some(usual) = &app.usual
    {
        mark.value = Value::Text(usual.clone());
    }
    if settings.iter().any(|it| is_of(app, &[Role::Url, Role::Socket], it)) {
        settings.pop();
    }
    // A list that the call passes on may contain further settings. In Python, this list cannot repeat an argument of
    // the call, because Python refuses a call that has the same argument twice.
    let is_handed_on = settings.iter().any(|it| it.path.last().is_some_and(|it| it == REST));
    let is_open = is_handed_on && app.format != Format::Python;
    let mut found = bound_of(app, &settings, source, false);
    for bound in &mut found {
        if bound.label.is_empty() {
            bound.label.clone_from(&call.label);
        }
        if is_open {
            bound.doubt.get_or_insert_with(|| "the call has further settings, which looptax does not know".to_owned());
        }
        if let Some(doubt) = doubt_of_host(bound) {
            bound.doubt.get_or_insert_with(|| doubt.to_owned());
        }
    }
    found
}

fn is_of(app: &App, roles: &[Role], setting: &Setting) -> bool {
    roles.iter().flat_map(|it| app.patterns(*it)).any(|it| captured(it, &setting.path).is_some())
}

/// Whether a call with this argument reaches the same server as a call without a host.
fn is_harmless(app: &App, setting: &Setting) -> bool {
    let last = setting.path.last().map_or("", |it| it);
    let is_numbered = last.starts_with(|c: char| c.is_ascii_digit());
    let is_place = is_of(app, &[Role::Url, Role::Host, Role::Socket], setting);
    last == MARK || !is_place && (is_of(app, &Role::ALL, setting) || !is_numbered && setting.value != Value::Hidden)
}

/// Returns a reason if the host does not determine the server.
fn doubt_of_host(bound: &Bound) -> Option<&'static str> {
    let host = bound.roles.get(&Role::Host).map(|it| &it.value);
    let is_local = match host {
        Some(Value::Text(text)) => text == "localhost",
        _ => true,
    };
    if bound.app.localhost == Some(Takes::Probe) && is_local && !bound.roles.contains_key(&Role::Socket) {
        return Some("for localhost some drivers use the socket, others TCP");
    }
    let Some(Value::Text(host)) = host else { return None };
    let is_read = [HostForm::Port, HostForm::Colon].iter().any(|it| bound.app.host_is.contains(it));
    let (name, port) = host.rsplit_once(':').unwrap_or_default();
    let has_port = !name.is_empty() && !name.contains([':', '/']) && port.parse::<u16>().is_ok();
    let has_scheme = host.split_once("://").is_some_and(|it| !matches!(it.0, "tcp" | "unix"));
    let is_number = host.bytes().all(|it| it.is_ascii_digit()) && !host.is_empty();
    if has_port && !is_read || has_scheme || is_number {
        return Some(
            "the host is not a plain name (it has a port or a scheme, or is a number), and the driver may read such a \
             host differently",
        );
    }
    None
}
