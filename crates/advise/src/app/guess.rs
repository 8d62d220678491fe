//! Connections of applications that nobody wrote into the table: found by the names of their settings.

use std::collections::BTreeMap;

use looptax_dsn::Kind;

use super::bind::MOST_CONNECTIONS;
use super::bound::Bound;
use super::containers::kind_of_service;
use super::keys::{self, Key};
use super::lists;
use super::setting::{Setting, Value};
use super::source::MOST_BYTES;
use super::table::{App, Format, GUESSED, Role, apps};
use super::url;

/// The connections among the settings, but for those that `is_known` of the table has.
pub(super) fn connections(
    settings: &[Setting],
    format: Format,
    is_known: &dyn Fn(&Setting) -> bool,
) -> Vec<Bound> {
    let has_parts = |it: &&Setting| is_pdo(it) || is_keywords(it) || is_redis_list(it);
    let parts = settings.iter().filter(has_parts).flat_map(lists::parts);
    let mut all: Vec<Setting> = settings.iter().cloned().chain(parts).collect();
    for setting in &mut all {
        let role = setting.path.last().and_then(|it| keys::key_of(it));
        let is_secret = role.is_some_and(|it| it.role == Role::Password);
        let is_open = matches!(&setting.value, Value::Text(text) if keys::is_placeholder(text));
        if is_open && !is_secret {
            setting.value = Value::Hidden;
        }
    }
    let mut urls: Vec<(Option<Kind>, usize)> = Vec::new();
    let mut found: Vec<Bound> = Vec::new();
    let mut groups = Groups::new();
    for (idx, setting) in all.iter().enumerate() {
        let by_path = || setting.path.iter().rev().find_map(|it| keys::kind_in(it));
        let hidden = is_hidden_url(setting).then(by_path);
        if let Some(kind) = kind_of_url(setting).map(Some).or(hidden) {
            urls.push((kind, idx));
            continue;
        }
        let Some((name, parents)) = setting.path.split_last() else {
            continue;
        };
        if name.is_empty() && by_path() == Some(Kind::Redis) {
            let roles = BTreeMap::from([(Role::Host, idx)]);
            let label = parents.join(".");
            found.extend(bound(Some(Kind::Redis), &roles, &all, label, format));
            continue;
        }
        let name = name.rsplit(':').next().unwrap_or_default();
        if let Some(Key { role, prefix }) = keys::key_of(name) {
            if role == Role::Database && keys::names_a_database(name) {
                // `dbname` stands beside `dbhost` as well as beside `host`.
                let other = format!("{prefix}_db").trim_start_matches('_').to_owned();
                let group = groups.entry((parents.to_vec(), other)).or_default();
                group.entry(role).or_insert(idx);
            }
            let group = groups.entry((parents.to_vec(), prefix)).or_default();
            group.insert(role, idx);
        }
    }
    for (kind, idx) in urls {
        let mut roles = BTreeMap::from([(Role::Url, idx)]);
        add_login(&mut roles, &all[idx].path, &groups);
        found.extend(bound(kind, &roles, &all, all[idx].path.join("."), format));
    }
    for ((parents, prefix), mut roles) in groups.clone() {
        if found.len() >= MOST_CONNECTIONS {
            break;
        }
        if !is_connection(&parents, &prefix, &roles, &all) {
            continue;
        }
        if all.iter().any(|it| it.path == parents && is_pdo(it)) {
            add_login(&mut roles, &parents, &groups);
        }
        let kind = kind_of_group(&parents, &prefix, &roles, &all);
        let label = parents.iter().map(String::as_str).chain([&*prefix]);
        let label: Vec<&str> = label.filter(|it| !it.is_empty()).collect();
        found.extend(bound(kind, &roles, &all, label.join("."), format));
    }
    found.retain(|it| !it.roles.values().any(is_known));
    // A URL that is taken apart by the program is one connection, not two.
    let kinds: Vec<Kind> = { found.iter() }
        .filter(|it| it.roles.contains_key(&Role::Url))
        .map(|it| it.app.kind)
        .collect();
    let is_taken_apart = |it: &Bound| {
        let host = it.roles.get(&Role::Host);
        host.is_some_and(|it| it.value == Value::Hidden) && kinds.contains(&it.app.kind)
    };
    found.retain(|it| !is_taken_apart(it));
    found.truncate(MOST_CONNECTIONS);
    found
}

type Groups = BTreeMap<(Vec<String>, String), BTreeMap<Role, usize>>;

/// User and password that stand beside a URL or a DSN.
fn add_login(roles: &mut BTreeMap<Role, usize>, path: &[String], groups: &Groups) {
    let Some((name, parents)) = path.split_last() else {
        return;
    };
    let beside = groups.get(&(parents.to_vec(), keys::prefix_of_url(name)));
    for role in [Role::User, Role::Password] {
        if let Some(idx) = beside.and_then(|it| it.get(&role)) {
            roles.entry(role).or_insert(*idx);
        }
    }
}

/// The driver of PDO's `mysql:host=…;dbname=…`, which PHP hands on as it is, and of Perl's `dbi:mysql:host=…;database=…`.
fn driver_of(text: &str) -> Option<Kind> {
    let is_dbi = text
        .get(..4)
        .is_some_and(|it| it.eq_ignore_ascii_case("dbi:"));
    let text = if is_dbi { &text[4..] } else { text };
    match text.split_once(':')? {
        ("mysql", rest) if rest.contains('=') => Some(Kind::Mysql),
        ("pgsql", rest) if rest.contains('=') => Some(Kind::Postgres),
        ("MariaDB", rest) if is_dbi && rest.contains('=') => Some(Kind::Mysql),
        ("Pg", rest) if is_dbi && rest.contains('=') => Some(Kind::Postgres),
        _ => None,
    }
}

fn is_pdo(setting: &Setting) -> bool {
    matches!(&setting.value, Value::Text(text) if driver_of(text).is_some())
}

/// libpq's `host=… user=… dbname=…`.
fn is_keywords(setting: &Setting) -> bool {
    let Value::Text(text) = &setting.value else {
        return false;
    };
    if text.contains(';') {
        return false;
    }
    let mut words = text.split_whitespace();
    text.contains("host=") && text.contains("dbname=") && words.all(|it| it.contains('='))
}

/// `StackExchange.Redis`: `127.0.0.1:6379,password=…`.
fn is_redis_list(setting: &Setting) -> bool {
    let Value::Text(text) = &setting.value else {
        return false;
    };
    let first = text.split(',').next().unwrap_or_default();
    let port = first.rsplit_once(':').map_or("", |(_, port)| port);
    let is_host = first
        .chars()
        .all(|c| c.is_alphanumeric() || ".-:".contains(c));
    text.contains(',') && is_host && keys::kind_of_port(port) == Some(Kind::Redis)
}

/// Whether a variable of the environment is a database's URL, by the name of the setting.
fn is_hidden_url(setting: &Setting) -> bool {
    let name = setting
        .path
        .last()
        .map(|it| it.to_lowercase())
        .unwrap_or_default();
    let is_url = ["url", "uri", "dsn"].iter().any(|it| name.ends_with(it));
    let is_variable = matches!(setting.value, Value::Variable { fallback: None, .. });
    is_url && is_variable && setting.path.iter().any(|it| keys::is_about_a_database(it))
}

/// The kind of the URL that a value is, or that it is put together to.
fn kind_of_url(setting: &Setting) -> Option<Kind> {
    let raw = setting.item.get(setting.literal.clone())?;
    let raw = match &setting.value {
        Value::Text(text) => text,
        Value::Hidden => raw.trim_matches(['\'', '"', '`']),
        // The file's own default says the kind.
        Value::Variable { fallback, .. } => fallback.as_deref()?,
    };
    if setting.value == Value::Hidden && raw.contains("host=") {
        // PDO's DSN, put together.
        return url::kind_of_scheme(raw.split_once(':')?.0);
    }
    if ["@tcp(", "@unix("].iter().any(|it| raw.contains(it)) && !raw.contains(' ') {
        return url::parse(raw).map(|it| it.kind());
    }
    let (scheme, rest) = raw.split_once("://")?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | ':');
    let kind = url::kind_of_scheme(scheme).filter(|_| scheme.chars().all(is_scheme))?;
    let is_whole = !rest.is_empty() && !rest.contains(' ');
    let is_read = setting.value == Value::Hidden || url::parse(raw).is_some();
    (is_whole && is_read).then_some(kind)
}

/// A host or a socket, and a word that it is one of a database, or a login and a database beside it.
fn is_connection(
    parents: &[String],
    prefix: &str,
    roles: &BTreeMap<Role, usize>,
    all: &[Setting],
) -> bool {
    let place = roles.get(&Role::Host).or_else(|| roles.get(&Role::Socket));
    let Some(place) = place.map(|idx| &all[*idx]) else {
        return false;
    };
    let has = |role: Role| roles.contains_key(&role);
    let port = text_in(roles, Role::Port, all).unwrap_or_default();
    let has_own_port = |text: &str| {
        let own = text
            .rsplit_once(':')
            .and_then(|it| keys::kind_of_port(it.1));
        let has_user = has(Role::User) || has(Role::Password);
        own.or(keys::kind_of_port(port).filter(|_| has_user))
            .is_some()
    };
    let (is_host, is_of_port) = match &place.value {
        Value::Text(text) => {
            let is_part = |c: char| c.is_alphanumeric() || "._-:/[]@".contains(c);
            let is_named = !text.is_empty() || !port.is_empty();
            let is_host = is_named
                && text.chars().all(is_part)
                && !text.contains("://")
                && !matches!(&**text, "*" | "true" | "false")
                && !["0.0.0.0", "::", "[::]"]
                    .iter()
                    .any(|it| listens_at(text, it));
            (is_host, has_own_port(text))
        }
        Value::Variable { .. } | Value::Hidden => (true, false),
    };
    let words = keys::is_about_a_database(prefix)
        || parents.iter().any(|it| keys::is_about_a_database(it))
        || pdo_of(place, all).is_some();
    let is_other = [
        "smtp", "mail", "imap", "ldap", "ftp", "proxy", "amqp", "http", "cookie", "ssh",
    ];
    let is_other = is_other.iter().any(|it| prefix.contains(it));
    let has_login = has(Role::User) && has(Role::Password) && has(Role::Database);
    is_host && !is_other && (words || has_login || is_of_port)
}

/// Whether a host is where a server listens, not where one connects to.
fn listens_at(text: &str, everywhere: &str) -> bool {
    let rest = text.strip_prefix(everywhere);
    rest.is_some_and(|it| it.is_empty() || it.starts_with(':'))
}

fn text_in<'a>(roles: &BTreeMap<Role, usize>, role: Role, all: &'a [Setting]) -> Option<&'a str> {
    match &all[*roles.get(&role)?].value {
        Value::Text(text) => Some(text.as_str()),
        _ => None,
    }
}

/// The DSN of PDO that a part was taken from.
fn pdo_of<'a>(part: &Setting, all: &'a [Setting]) -> Option<&'a Setting> {
    let (_, parents) = part.path.split_last()?;
    all.iter().find(|it| it.path == parents && is_pdo(it))
}

fn kind_of_group(
    parents: &[String],
    prefix: &str,
    roles: &BTreeMap<Role, usize>,
    all: &[Setting],
) -> Option<Kind> {
    let text = |role: Role| text_in(roles, role, all);
    let by_name = || {
        let own = roles
            .values()
            .find_map(|idx| keys::kind_in(all[*idx].path.last()?));
        own.or_else(|| parents.iter().rev().find_map(|it| keys::kind_in(it)))
    };
    // What stands beside it and says of which kind it is: `driver`, `DB_TYPE`.
    let by_driver = || {
        all.iter().find_map(|it| {
            let (name, own_parents) = it.path.split_last()?;
            let name = name.to_lowercase();
            let rest = name
                .strip_prefix(prefix)
                .unwrap_or_default()
                .trim_start_matches(['_', '-', '.']);
            let of_parent = parents
                .split_last()
                .is_some_and(|(_, it)| it == own_parents)
                && matches!(
                    &*name,
                    "client" | "dialect" | "driver" | "datasourceclass" | "datasourceclassname"
                );
            let says = matches!(
                rest,
                "driver"
                    | "type"
                    | "dialect"
                    | "adapter"
                    | "client"
                    | "engine"
                    | "connection"
                    | "provider"
                    | "vendor"
                    | "backend"
                    | "dbdriver"
                    | "dbtype"
                    | "db_type"
                    | "kind"
            );
            let Value::Text(value) = &it.value else {
                return None;
            };
            let says = says && own_parents == parents || of_parent;
            keys::kind_in(value).filter(|_| says && it.doubt.is_none())
        })
    };
    let by_port = || keys::kind_of_port(text(Role::Port)?);
    let by_host_port = || keys::kind_of_port(text(Role::Host)?.rsplit_once(':')?.1);
    let list = all
        .iter()
        .find(|it| it.path == parents && (is_pdo(it) || is_keywords(it)));
    if let Some(Value::Text(text)) = list.map(|it| &it.value)
        && let Some(kind) = driver_of(text)
    {
        return Some(kind);
    }
    if list.is_some() {
        return Some(Kind::Postgres);
    }
    let by_image = || kind_of_service(text(Role::Host)?, all);
    by_driver()
        .or_else(by_name)
        .or_else(by_image)
        .or_else(by_port)
        .or_else(by_host_port)
}

fn app_of(kind: Kind, title: &str) -> Option<&'static App> {
    let mut own = apps()
        .iter()
        .filter(|it| it.name == GUESSED && it.kind == kind);
    own.find(|it| it.title == title)
}

fn bound(
    kind: Option<Kind>,
    roles: &BTreeMap<Role, usize>,
    all: &[Setting],
    label: String,
    format: Format,
) -> Option<Bound> {
    let by_rank = [Role::Url, Role::Host, Role::Socket];
    let anchor = by_rank.iter().find_map(|it| roles.get(it)).copied()?;
    let is_pdo = pdo_of(&all[anchor], all).is_some();
    // Both of PHP's drivers, and PDO, have the same C library's meaning of it.
    let is_php = format == Format::Php && kind == Some(Kind::Mysql);
    let title = match format {
        Format::Perl if is_pdo => "a Perl program with DBI",
        _ if is_pdo => "a PHP program with PDO",
        _ if is_php => "a PHP program",
        _ => "an application that is not known",
    };
    let app = app_of(kind.unwrap_or(Kind::Mysql), title)?;
    let value = |role: Role| text_in(roles, role, all);
    let host = match value(Role::Url).and_then(url::parse) {
        Some(url::Parsed::Spoken { address, .. }) if address.socket.is_none() => address.host,
        _ => value(Role::Host).map(str::to_owned),
    };
    let is_go = value(Role::Url).is_some_and(|it| it.contains("tcp("));
    let is_local = host
        .is_some_and(|it| it == "localhost" && !is_php && !is_go || it.starts_with("localhost:"));
    let has_socket = roles.contains_key(&Role::Socket);
    let doubt = match kind {
        None => Some("which kind of server is meant is not said"),
        Some(Kind::Mysql) if is_local && !is_pdo => {
            Some("localhost is the socket to some drivers, and TCP to others")
        }
        Some(_) if has_socket && roles.contains_key(&Role::Host) && !is_pdo => {
            Some("which of host and socket counts is the program's business")
        }
        Some(_) => None,
    };
    Some(Bound {
        app,
        roles: roles
            .iter()
            .map(|(role, idx)| (*role, all[*idx].clone()))
            .collect(),
        resolved: BTreeMap::new(),
        is_environment: false,
        carrier: None,
        doubt: doubt.map(str::to_owned),
        is_kind_said: false,
        is_kind_known: kind.is_some(),
        anchor: all[anchor].line * MOST_BYTES + anchor.min(MOST_BYTES - 1),
        label,
    })
}
