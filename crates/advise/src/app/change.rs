//! The lines to write: the text of each changed setting before and after the change, without the password.

use std::collections::BTreeSet;
use std::ptr;

use looptax_model::dsn::{Kind, MASK, Pair, Query, Unspoken, masked};
use looptax_model::record::{Change, Edit};

use super::bound::Bound;
use super::lists::OF_SEVERAL;
use super::quotes::{Dialect, Quotes};
use super::rewrite::{self, Moves, replaced};
use super::setting::{Joins, Setting, Value};
use super::table::{App, Evidence, HostForm, Role, Step, Words};
use super::url::{self, Parsed};
use crate::Fields;
use crate::dialect::dialects;
use crate::template::filled;

/// The advice if a value has to be changed in the environment.
pub const SET_ELSEWHERE: &str =
    "the value comes from the environment: change it where the variable is set (.env, unit, container)";

/// An edit: the form that is shown, and the form that is written.
struct Planned<'a> {
    edit: Edit,
    writing: Writing<'a>,
}

enum Writing<'a> {
    Replace(&'a Setting, String),
    Beside(&'a Setting, String),
    Remove(&'a Setting),
    /// The new value is written where this environment variable is set.
    Variable(&'a str, String),
    /// The new value is written in the container's own environment.
    Own(String, String),
    /// A person has to write the new value. For example, a program would read only the beginning of the value at this
    /// place, or the new value would remove a part of the old value.
    ByHand,
}

fn planned<'a>(bound: &'a Bound, fields: &Fields) -> Vec<Planned<'a>> {
    if let Some(setting) = bound.roles.get(&Role::Url) {
        return url_edit(bound, setting, fields).into_iter().collect();
    }
    let mut planned: Vec<Planned<'_>> =
        { bound.app.change.iter() }.filter_map(|step| edit(bound, step, fields)).collect();
    if bound.app.writes_folder() {
        for more in beside_folder(bound, fields) {
            put_beside(&mut planned, more);
        }
    }
    planned
}

/// Adds the edit `more`. If `more` adds a setting to the line of a setting that an earlier edit replaces, the two edits
/// become one.
fn put_beside<'a>(planned: &mut Vec<Planned<'a>>, more: Planned<'a>) {
    if let Writing::Beside(anchor, text) = &more.writing
        && let Joins::With(between) = anchor.joins
    {
        let is_anchors =
            |it: &&mut Planned<'_>| matches!(&it.writing, Writing::Replace(own, _) if ptr::eq(*own, *anchor));
        if let Some(own) = planned.iter_mut().find(is_anchors)
            && let Writing::Replace(_, item) = &mut own.writing
        {
            *item = format!("{item}{between}{text}");
            own.edit.after = Some(item.clone());
            return;
        }
    }
    planned.push(more);
}

/// Returns the edits that `PostgreSQL`'s folder needs. One edit sets the port, which is part of the socket's name.
/// Another edit removes `hostaddr`, which overrides the folder. If the port belongs in the host, [`with_port`] adds the
/// port.
fn beside_folder<'a>(bound: &'a Bound, fields: &Fields) -> Vec<Planned<'a>> {
    let has_own = bound.roles.contains_key(&Role::Port);
    let is_usual = fields.port == bound.app.kind.port();
    let is_in_host = bound.app.host_is.contains(&HostForm::Port);
    let port = Step { set: Some(Role::Port), to: "«port|raw»".to_owned(), ..Step::default() };
    let hostaddr = Step { drop: Some(Role::Hostaddr), ..Step::default() };
    let steps = [Some(port).filter(|_| !is_in_host && (has_own || !is_usual)), Some(hostaddr)];
    steps.iter().flatten().filter_map(|step| edit(bound, step, fields)).collect()
}

/// Returns the folder. Adds the port after the folder if the application reads the port from the host, and if the port
/// is not the default.
fn with_port(app: &App, step: &Step, value: String, fields: &Fields) -> String {
    let is_needed = step.writes_folder() && fields.port != app.kind.port();
    if is_needed && app.host_is.contains(&HostForm::Port) { format!("{value}:{}", fields.port) } else { value }
}

/// Returns the edits for one application, both in its file and at the place that sets its environment; `None` if the
/// change cannot be made.
pub(super) fn moves_for(bound: &Bound, fields: &Fields, text: &str) -> Option<Moves> {
    if is_uncertain(bound) || bound.is_environment || bound.app.needs_library || has_unfit(bound.app, fields) {
        return None;
    }
    let mut moves = Moves::default();
    for planned in planned(bound, fields) {
        let here = match planned.writing {
            Writing::Replace(setting, item) => replaced(setting, item),
            Writing::Beside(anchor, item) => rewrite::added(text, anchor, &item)?,
            Writing::Remove(setting) => rewrite::removed(text, setting)?,
            Writing::Variable(name, value) => {
                moves.variables.push((name.to_owned(), value));
                continue;
            }
            Writing::Own(name, value) => {
                moves.own.push((name, value));
                continue;
            }
            Writing::ByHand => return None,
        };
        moves.here.push(here);
    }
    (moves != Moves::default()).then_some(moves)
}

/// Sockets that the C library in Debian's packages uses for `localhost`.
const USUAL: [&str; 2] = ["/run/mysqld/mysqld.sock", "/var/run/mysqld/mysqld.sock"];

/// Whether the application cannot use this path. Either the path contains a character that the setting must not
/// contain. Or, for MySQL, the path is not one of `USUAL`, and no setting of the application can name a socket.
fn has_unfit(app: &App, fields: &Fields) -> bool {
    let names_one = app.change.iter().any(|it| it.to.contains("«socket"));
    if app.kind == Kind::Mysql && !names_one && !USUAL.contains(&&*fields.socket) {
        return true;
    }
    let path = if app.writes_folder() { &fields.folder } else { &fields.socket };
    path.contains(|it| app.unfit.contains(it))
}

/// Whether another value may override the value in the file.
fn is_uncertain(bound: &Bound) -> bool {
    let roles = [Role::Url, Role::Host, Role::Port, Role::Socket, Role::Scheme];
    let in_doubt = |role: &Role| {
        let Some(setting) = bound.roles.get(role) else {
            return false;
        };
        let is_known = match &setting.value {
            Value::Text(_) => true,
            Value::Variable { .. } => bound.resolved.contains_key(role),
            Value::Hidden => false,
        };
        setting.doubt.is_some() || !is_known
    };
    bound.doubt.is_some() || roles.iter().any(in_doubt)
}

/// The change for one application. `words` selects the advice that applies to this connection.
pub(super) fn change_for(bound: &Bound, fields: &Fields, words: impl Fn(&Words) -> bool) -> Change {
    let app = bound.app;
    let edits: Vec<Edit> = planned(bound, fields).into_iter().map(|it| it.edit).collect();
    let carrier = bound.carrier;
    let mut advice: Vec<String> = Vec::new();
    if is_from_environment(bound) && !edits.is_empty() {
        advice.push(SET_ELSEWHERE.to_owned());
    }
    if has_unfit(app, fields) {
        let words = "the application's settings cannot contain this path: create the socket at the path that the \
            driver uses by default";
        advice.push(words.to_owned());
    }
    let told = carrier.map(|it| &it.advice).into_iter().chain([&app.advice]);
    // A test checks that all templates can be filled.
    let told = told.filter(|it| words(it)).map(|it| filled(&it.text, fields).unwrap_or_else(|_| it.text.clone()));
    advice.extend(told);
    advice.retain(|it| !it.is_empty());
    let restart = carrier.map_or(&app.restart, |it| &it.restart);
    let traps = app.traps.iter().chain(carrier.into_iter().flat_map(|it| &it.traps));
    let traps = traps.filter(|it| words(it)).map(|it| it.text.clone());
    Change {
        title: app.title.clone(),
        advice: advice.join("; "),
        restart: restart.clone(),
        traps: traps.collect(),
        is_read: app.evidence != Evidence::Known,
        edits,
    }
}

/// Returns the advice for a person if looptax changes nothing: the driver's text for the socket, or the command that
/// prints all texts.
pub(super) fn by_hand(app: &App, fields: &Fields) -> String {
    let dialect = dialects().iter().find(|it| it.kind == app.kind && it.name == app.dialect);
    let Some(dialect) = dialect.filter(|it| it.cannot(fields).is_empty()) else {
        return "`looptax dsn URL` prints each driver's text for the socket".to_owned();
    };
    let text = dialect.text(fields).replace("%2A%2A%2A%2A", MASK);
    format!("{} connects over the socket with {text} (in {})", dialect.name, dialect.place)
}

/// Whether the change has to be made in an environment variable, and not in the file.
fn is_from_environment(bound: &Bound) -> bool {
    let roles = [Role::Url, Role::Host, Role::Port, Role::Socket];
    let is_variable = |role: &Role| {
        let value = bound.roles.get(role).map(|it| &it.value);
        matches!(value, Some(Value::Variable { .. }))
    };
    roles.iter().any(is_variable)
}

fn value_of(template: &str, fields: &Fields) -> String {
    let value = filled(template, fields).expect("a test fills in every template");
    // The mask is not percent-encoded.
    value.replace("%2A%2A%2A%2A", MASK)
}

/// Edits a URL, and keeps the rest of its query.
fn url_edit<'a>(bound: &Bound, setting: &'a Setting, fields: &Fields) -> Option<Planned<'a>> {
    let step = bound.app.change.iter().find(|it| it.set == Some(Role::Url))?;
    let mut value = value_of(&step.to, fields);
    let old = match &setting.value {
        Value::Text(text) => Some(text),
        Value::Variable { fallback, .. } => bound.resolved.get(&Role::Url).or(fallback.as_ref()),
        Value::Hidden => None,
    };
    let (old, others) = old.map_or((None, ""), |old| {
        let (first, others) = of_several(old);
        (Some(first), others)
    });
    if let Some(old) = old {
        value = with_scheme_of(old, value);
    }
    let mut is_one_of_several = false;
    let rest = match old.map(|old| (old, url::parse(old))) {
        Some((_, Some(Parsed::Spoken { rest, .. }))) => rest,
        Some((old, Some(Parsed::Unspoken(it)))) => {
            is_one_of_several = it.is_one_of_several;
            value = with_socket(old, fields).unwrap_or(value);
            Vec::new()
        }
        _ => Vec::new(),
    };
    let said_already = query_names(&value);
    let is_new = |part: &&String| !query_names(&format!("?{part}")).is_subset(&said_already);
    let mut shown = if rest.is_empty() { masked(&value) } else { value.clone() };
    for part in rest.iter().filter(is_new) {
        let secret = Query::new(part).pairs().find(Pair::is_secret);
        // In Go's DSN the query follows the address; a `?` before the address is part of the password.
        let has_query = |text: &str| {
            let behind = text.rsplit_once("@unix(").and_then(|(_, it)| it.split_once(")/"));
            behind.map_or(text, |(_, it)| it).contains('?')
        };
        for (text, part) in [(&mut value, part.clone()), (&mut shown, secret.map_or(part.clone(), without_value))] {
            text.push(if has_query(text) { '&' } else { '?' });
            text.push_str(&part);
        }
    }
    let keeps_login = old.is_none_or(|old| url::keeps_login(old, &value));
    value.push_str(others);
    shown.push_str(&masked(others));
    let (mut planned, writing) = match &setting.value {
        Value::Variable { name, .. } => (in_environment(name, &shown), Writing::Variable(name, value)),
        _ if setting.joins == Joins::Apart => {
            let Planned { edit, writing } = in_own_environment(&setting.path, value);
            (Planned { edit, writing: Writing::ByHand }, writing)
        }
        _ if !setting.can_hold(&value) => (replacing(bound, setting, None, &shown), Writing::ByHand),
        _ => {
            let item = setting.with(None, &value);
            let writing = Writing::Replace(setting, item);
            (replacing(bound, setting, None, &shown), writing)
        }
    };
    planned.writing = if keeps_login && !is_one_of_several { writing } else { Writing::ByHand };
    Some(planned)
}

/// Splits a list of URLs, as in PHP's session settings, after the first URL. The rest, with its separators, stays
/// unchanged.
fn of_several(text: &str) -> (&str, &str) {
    let begins_url = |rest: &str| {
        let rest = rest.trim_start_matches([',', ';', ' ']);
        rest.split_once("://")
            .is_some_and(|(scheme, _)| scheme.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'+'))
    };
    let mut places = text.match_indices([',', ';', ' ']).map(|(at, _)| text.split_at(at));
    places.find(|(_, rest)| begins_url(rest)).unwrap_or((text, ""))
}

/// Returns the new address with the old scheme, if both schemes mean the same kind of server. The old scheme stays
/// because some programs accept `postgresql` but not `postgres`, and because the part of a scheme after `+` names a
/// driver.
fn with_scheme_of(old: &str, new: String) -> String {
    let families = [["postgres", "postgresql", "pgsql"], ["mysql", "mysql2", "mariadb"]];
    let family = |scheme: &str| {
        let base = scheme.split('+').next().unwrap_or(scheme);
        families.iter().position(|it| it.contains(&base))
    };
    let parts = old.split_once("://").zip(new.split_once("://"));
    match parts {
        Some(((old, _), (scheme, rest))) if family(old).is_some() && family(old) == family(scheme) => {
            format!("{old}://{rest}")
        }
        _ => new,
    }
}

/// Returns the old URL with the socket in place of its hosts.
fn with_socket(old: &str, fields: &Fields) -> Option<String> {
    Unspoken::with_host(old, &value_of("«socket|url»", fields))
}

fn query_names(url: &str) -> BTreeSet<String> {
    Query::from_text(url).pairs().map(|it| it.name()).collect()
}

/// Hides the value of a query parameter that is a secret.
fn without_value(pair: Pair<'_>) -> String {
    let name = pair.text.split_once('=').map_or(pair.text, |(name, _)| name);
    format!("{name}={MASK}")
}

/// An edit for a value that the file reads from the environment; the file stays unchanged.
fn in_environment<'a>(name: &'a str, value: &str) -> Planned<'a> {
    Planned {
        edit: Edit {
            line: None,
            before: None,
            after: Some(format!("{name}={}", Quotes::AsNeeded(Dialect::Shell).around(value))),
        },
        writing: Writing::Variable(name, value.to_owned()),
    }
}

/// Edits the container's own environment. A person has to write two kinds of values: values with a password, because
/// others can read this environment, and values that are only a part of a variable.
fn in_own_environment<'a>(path: &[String], value: String) -> Planned<'a> {
    let shown = masked(&value);
    let edit = Edit { line: None, before: None, after: Some(format!("{}={shown}", path.join("/"))) };
    match path {
        [name] if shown == value => Planned { edit, writing: Writing::Own(name.clone(), value) },
        _ => Planned { edit, writing: Writing::ByHand },
    }
}

fn replacing<'a>(bound: &Bound, setting: &'a Setting, key: Option<&str>, value: &str) -> Planned<'a> {
    let item = setting.with(key, value);
    Planned {
        edit: Edit { line: line(bound, setting), before: Some(shown(setting)), after: Some(item.clone()) },
        writing: if setting.can_hold(value) { Writing::Replace(setting, item) } else { Writing::ByHand },
    }
}

fn line(bound: &Bound, setting: &Setting) -> Option<usize> {
    (!bound.is_environment).then_some(setting.line)
}

/// Returns the setting as written in the file, with its password hidden. An expression that only the program can
/// evaluate is not shown.
fn shown(setting: &Setting) -> String {
    match &setting.value {
        Value::Text(text) => {
            let hidden = masked(text);
            let item = if hidden == *text { setting.item.clone() } else { setting.with(None, &hidden) };
            // The value spans several lines.
            if item.contains('\n') { item.split_whitespace().collect::<Vec<_>>().join(" ") } else { item }
        }
        Value::Variable { name, .. } => setting.with(None, &format!("(the variable {name})")),
        Value::Hidden => setting.with(None, "(an expression)"),
    }
}

fn is_missing(bound: &Bound, role: Option<Role>) -> bool {
    role.is_some_and(|role| !bound.roles.contains_key(&role))
}

fn edit<'a>(bound: &'a Bound, step: &Step, fields: &Fields) -> Option<Planned<'a>> {
    if let Some(role) = step.drop {
        // Another setting is written in place of the dropped setting.
        let takes_it = |it: &Step| it.instead_of == Some(role) && is_missing(bound, it.set);
        if bound.app.change.iter().any(takes_it) {
            return None;
        }
        let setting = bound.roles.get(&role)?;
        return Some(Planned {
            edit: Edit { line: line(bound, setting), before: Some(shown(setting)), after: None },
            writing: if setting.joins == Joins::Apart { Writing::ByHand } else { Writing::Remove(setting) },
        });
    }
    let role = step.set?;
    let mut value = with_port(bound.app, step, value_of(&step.to, fields), fields);
    if let Some(setting) = bound.roles.get(&role) {
        if let Value::Text(old) = &setting.value
            && step.behind
        {
            value = format!("{old}{value}");
        }
        if let Value::Variable { name, .. } = &setting.value {
            return Some(in_environment(name, &value));
        }
        if setting.value == Value::Text(value.clone()) {
            return None;
        }
        if setting.joins == Joins::Apart {
            return Some(in_own_environment(&setting.path, value));
        }
        let mut planned = replacing(bound, setting, None, &value);
        let is_of_several = setting.joins == OF_SEVERAL || names_several(setting);
        let is_place = role == Role::Host || role == Role::Url && setting.joins == OF_SEVERAL;
        if is_place && bound.app.kind != Kind::Mysql && is_of_several {
            planned.writing = Writing::ByHand;
        }
        return Some(planned);
    }
    added(bound, step, role, &value)
}

/// Adds a new setting, in place of another setting or next to it.
fn added<'a>(bound: &'a Bound, step: &Step, role: Role, value: &str) -> Option<Planned<'a>> {
    let pattern = bound.app.patterns(role).first()?;
    let key = pattern.rsplit('/').next();
    let by_rank = [Role::Host, Role::Port, Role::Socket, Role::Database];
    let replaced = step.instead_of.and_then(|it| bound.roles.get(&it));
    if let Some(setting) = replaced {
        let planned = replacing(bound, setting, key, value);
        // If the old setting is in another file, it stays there.
        let stays = setting.joins == Joins::Apart || setting.quotes == Quotes::Instead;
        return Some(if stays { Planned { writing: Writing::ByHand, ..planned } } else { planned });
    }
    if role == Role::Url {
        return None;
    }
    let anchor = by_rank.iter().find_map(|it| bound.roles.get(it))?;
    if !is_beside(pattern, anchor) {
        let after = format!("{}: {value}", pattern.replace('/', ", "));
        let edit = Edit { line: line(bound, anchor), before: None, after: Some(after) };
        return Some(Planned { edit, writing: Writing::ByHand });
    }
    if anchor.joins == Joins::Apart {
        return Some(in_own_environment(&[key?.to_owned()], value.to_owned()));
    }
    let text = if anchor.quotes == Quotes::Instead {
        format!("{}: {}", key?, Quotes::AsNeeded(Dialect::Yaml).around(value))
    } else {
        anchor.with(key, value)
    };
    let (before, after) = match anchor.joins {
        Joins::Line | Joins::Pair | Joins::Apart => (None, text.clone()),
        Joins::With(between) => {
            let before = shown(anchor);
            (Some(before.clone()), format!("{before}{between}{text}"))
        }
    };
    Some(Planned {
        edit: Edit { line: line(bound, anchor), before, after: Some(after) },
        writing: if anchor.can_hold(value) { Writing::Beside(anchor, text) } else { Writing::ByHand },
    })
}

/// Whether the host is a list of servers. An edit would remove all servers but one from such a list.
fn names_several(setting: &Setting) -> bool {
    matches!(&setting.value, Value::Text(text) if !text.contains('/') && text.trim().contains([',', ' ']))
}

/// Whether a setting of this name belongs at the same level as the setting `anchor`.
fn is_beside(pattern: &str, anchor: &Setting) -> bool {
    let parts: Vec<&str> = pattern.split('/').collect();
    let (Some((_, parents)), Some((_, own))) = (parts.split_last(), anchor.path.split_last()) else {
        return false;
    };
    let is_open = parents.iter().any(|it| it.contains('*'));
    is_open && (parents.first() == Some(&"**") || parents.len() == own.len()) || parents == own
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::table::apps;

    #[test]
    fn the_words_beside_lines_name_the_socket() {
        let fields = Fields { socket: "/s/s".to_owned(), folder: "/s".to_owned(), ..Fields::default() };
        for app in apps() {
            let words = filled(&app.advice.text, &fields).unwrap();
            assert!(!words.contains(['«', '»']) && !words.contains("(the socket"), "{}: {words}", app.title);
        }
        let of_url = |it: &&App| it.name == "laravel_redis_phpredis" && !it.advice.text.is_empty();
        let words = filled(&apps().iter().find(of_url).unwrap().advice.text, &fields).unwrap();
        assert!(words.contains("REDIS_HOST=/s/s"), "{words}");
    }

    #[test]
    fn a_call_that_looptax_does_not_change_has_its_drivers_text() {
        let fields = Fields { socket: "/s/s".to_owned(), folder: "/s".to_owned(), port: 5432, ..Fields::default() };
        for app in apps().iter().filter(|it| !it.dialect.is_empty()) {
            let words = by_hand(app, &fields);
            assert!(!words.contains("looptax dsn"), "{}, {}: {words}", app.title, app.dialect);
        }
        let of = |title: &str| by_hand(apps().iter().find(|it| it.title == title).unwrap(), &fields);
        assert!(of("a Python program with psycopg").contains("psycopg.connect(host='/s'"));
        assert!(of("a Node program with Bull").contains("looptax dsn"));
    }

    #[test]
    fn a_scheme_stays_where_it_means_the_same_server() {
        let check = |old: &str, new: &str, expected: &str| {
            assert_eq!(with_scheme_of(old, new.to_owned()), expected, "{old}");
        };
        check("postgresql://h/d", "postgres:///d?host=/s", "postgresql:///d?host=/s");
        check("mysql+pymysql://h/d", "mysql+mysqldb:///d?unix_socket=/s", "mysql+pymysql:///d?unix_socket=/s");
        check("redis://h/1", "unix:///s?db=1", "unix:///s?db=1");
        check("jdbc:mysql://h/d", "jdbc:mariadb://h/d?localSocket=/s", "jdbc:mariadb://h/d?localSocket=/s");
        check("h", "postgres:///d", "postgres:///d");
    }
}
