//! Determines the kind of server from a value or from the settings around it, for an application that is not in the
//! table.

use std::collections::BTreeMap;

use looptax_model::dsn::Kind;

use super::containers::kind_of_service;
use super::keys;
use super::setting::{Setting, Value};
use super::table::Role;
use super::url;

/// Returns the kind of server by the name of the driver in a DSN: PDO's `mysql:host=…;dbname=…`, which PHP passes on
/// unchanged, or Perl's `dbi:mysql:host=…;database=…`.
pub(super) fn driver_of(text: &str) -> Option<Kind> {
    let is_dbi = text.get(..4).is_some_and(|it| it.eq_ignore_ascii_case("dbi:"));
    let text = if is_dbi { &text[4..] } else { text };
    match text.split_once(':')? {
        ("mysql", rest) if is_dbi || rest.contains('=') => Some(Kind::Mysql),
        ("pgsql", rest) if rest.contains('=') => Some(Kind::Postgres),
        ("MariaDB", _) if is_dbi => Some(Kind::Mysql),
        ("Pg", _) if is_dbi => Some(Kind::Postgres),
        _ => None,
    }
}

pub(super) fn is_dbi(setting: &Setting) -> bool {
    let is_it = |text: &str| text.get(..4).is_some_and(|it| it.eq_ignore_ascii_case("dbi:"));
    matches!(&setting.value, Value::Text(text) if is_it(text))
}

/// Whether the setting is a .NET connection string: `Server=…;Database=…;User Id=…`. Strings for SQL Server are
/// excluded.
pub(super) fn is_connection_string(setting: &Setting) -> bool {
    let Value::Text(text) = &setting.value else {
        return false;
    };
    let names: Vec<String> =
        text.split(';').filter_map(|it| Some(it.split_once('=')?.0.trim().to_lowercase())).collect();
    let has = |wanted: &[&str]| names.iter().any(|it| wanted.contains(&&**it));
    let is_other = ["integrated security", "trusted_connection", "initial catalog", "trustservercertificate"];
    has(&["server", "host", "data source", "datasource"])
        && has(&["database"])
        && has(&["uid", "user id", "userid", "user", "username"])
        && !has(&is_other)
}

/// Whether the setting consists of command-line options: `--db-host localhost --db-user u`.
pub(super) fn is_options(setting: &Setting) -> bool {
    matches!(&setting.value, Value::Text(text) if text.starts_with("--") && text.contains([' ', '=']))
}

pub(super) fn is_pdo(setting: &Setting) -> bool {
    matches!(&setting.value, Value::Text(text) if !text.contains("://") && driver_of(text).is_some())
}

/// Whether the setting is a list of libpq's keywords: `host=… user=… dbname=…`.
pub(super) fn is_keywords(setting: &Setting) -> bool {
    let Value::Text(text) = &setting.value else {
        return false;
    };
    if text.contains(';') || text.contains("://") {
        return false;
    }
    let mut words = text.split_whitespace();
    let has = |name: &str| text.contains(name);
    let names_one = has("dbname=") && has("user=") || has("host=") && (has("dbname=") || has("user="));
    names_one && words.all(|it| it.contains('='))
}

/// Whether the setting is a `StackExchange.Redis` list: `127.0.0.1:6379,password=…`.
pub(super) fn is_redis_list(setting: &Setting) -> bool {
    let Value::Text(text) = &setting.value else {
        return false;
    };
    let first = text.split(',').next().unwrap_or_default();
    let port = first.rsplit_once(':').map_or("", |(_, port)| port);
    let is_host = first.chars().all(|c| c.is_alphanumeric() || ".-:".contains(c));
    text.contains(',') && is_host && keys::kind_of_port(port) == Some(Kind::Redis)
}

/// Whether the value is an environment variable that holds a database's URL, according to the name of the setting.
pub(super) fn is_hidden_url(setting: &Setting) -> bool {
    let name = setting.path.last().map(|it| it.to_lowercase()).unwrap_or_default();
    let is_url = ["url", "uri", "dsn"].iter().any(|it| name.ends_with(it));
    let is_variable = matches!(setting.value, Value::Variable { fallback: None, .. });
    is_url && is_variable && setting.path.iter().any(|it| keys::is_about_a_database(it))
}

/// The kind of server in a URL. The URL is the value itself, or the program builds it.
pub(super) fn kind_of_url(setting: &Setting) -> Option<Kind> {
    let raw = setting.item.get(setting.literal.clone())?;
    let raw = match &setting.value {
        Value::Text(text) => text,
        Value::Hidden => raw.trim_matches(['\'', '"', '`']),
        // The variable's default shows the kind of server.
        Value::Variable { fallback, .. } => fallback.as_deref()?,
    };
    if setting.value == Value::Hidden && raw.contains("host=") {
        // The program builds a PDO DSN from parts.
        return driver_of(raw).or_else(|| url::kind_of_scheme(raw.split_once(':')?.0));
    }
    // A TOML list is not a DSN.
    let is_dsn = ["@tcp(", "@unix(", "@("].iter().any(|it| raw.contains(it)) && url::is_go(raw);
    if is_dsn && !raw.contains(' ') && !raw.starts_with('[') {
        return url::parse(raw).map(|it| it.kind());
    }
    if is_list_of_redis(raw) {
        return Some(Kind::Redis);
    }
    let plain = without_templates(raw);
    let raw = &*plain;
    let (scheme, rest) = raw.split_once("://")?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | ':');
    let kind = url::kind_of_scheme(scheme).filter(|_| scheme.chars().all(is_scheme))?;
    let is_whole = !rest.is_empty() && !rest.contains(' ');
    let is_read = setting.value == Value::Hidden || setting.doubt.is_some() || url::parse(raw).is_some();
    (is_whole && is_read).then_some(kind)
}

/// Whether the text is a Redis list as in Gitea and Grafana: `addr=127.0.0.1:6379,db=0`.
fn is_list_of_redis(text: &str) -> bool {
    let mut names = text.split([',', ' ']).filter_map(|it| it.split_once('=')).map(|it| it.0);
    let has_more = names.clone().any(|it| matches!(it, "network" | "db" | "pool_size"));
    has_more && names.any(|it| it == "addr") && !text.contains("://")
}

/// Returns the text with a letter in place of each part that a template fills in; `{{ … }}` may contain blanks.
fn without_templates(text: &str) -> String {
    let mut parts = text.split("{{");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push('x');
        plain.push_str(part.split_once("}}").map_or("", |it| it.1));
    }
    plain
}

/// The PDO DSN to which a part belongs.
pub(super) fn pdo_of<'a>(part: &Setting, all: &'a [Setting]) -> Option<&'a Setting> {
    let (_, parents) = part.path.split_last()?;
    all.iter().find(|it| it.path == parents && is_pdo(it))
}

pub(super) fn text_in<'a>(roles: &BTreeMap<Role, usize>, role: Role, all: &'a [Setting]) -> Option<&'a str> {
    match &all[*roles.get(&role)?].value {
        Value::Text(text) => Some(text.as_str()),
        _ => None,
    }
}

/// Names of settings that give the kind of server, without the prefix that they share with the server's other settings.
const SAYS: [&str; 15] = [
    "driver",
    "drivername",
    "type",
    "dialect",
    "adapter",
    "client",
    "engine",
    "connection",
    "provider",
    "vendor",
    "backend",
    "dbdriver",
    "dbtype",
    "db_type",
    "kind",
];

/// Names of settings that give the kind of server from one level above the server's settings.
const OF_PARENT: [&str; 8] = [
    "client",
    "dialect",
    "driver",
    "datasourceclass",
    "datasourceclassname",
    "storage-method",
    "storage_method",
    "providername",
];

/// Values that name a storage without a server.
const NO_SERVER: [&str; 12] =
    ["h2", "sqlite", "sqlite3", "derby", "hsqldb", "flatfile", "file", "yaml", "yml", "json", "memory", "none"];

/// Whether the connection's section is switched off by a setting at the same level or one level above: `enabled:
/// false`, `REDIS_ENABLED=false`, `storage-method: h2`.
pub(super) fn is_off(parents: &[String], prefix: &str, all: &[Setting]) -> bool {
    all.iter().any(|it| {
        let (Some((name, own_parents)), Value::Text(value)) = (it.path.split_last(), &it.value) else {
            return false;
        };
        let (name, value) = (name.to_lowercase(), value.to_lowercase());
        let is_beside = own_parents == parents;
        let is_above = parents.split_last().is_some_and(|(_, it)| it == own_parents);
        let word = name.strip_prefix(prefix).unwrap_or_default().trim_start_matches(['_', '-', '.']);
        // DokuWiki uses only the plugin that this setting names.
        if name == "authtype" && value.starts_with("auth") {
            let below = parents.strip_prefix(own_parents).unwrap_or_default();
            return matches!(below, [top, own, ..] if top == "plugin" && own.starts_with("auth") && *own != value);
        }
        // phpBB uses only the cache driver that this setting names: `$acm_type = 'phpbb\\cache\\driver\\file'`.
        if name == "acm_type" {
            return prefix.strip_prefix("phpbb_acm_").is_some_and(|it| !value.ends_with(it));
        }
        let says_no = matches!(&*value, "false" | "no" | "off" | "0");
        match word {
            "enabled" | "enable" | "active" | "use" => is_beside && says_no && it.path.len() + prefix.len() > 1,
            "disabled" => is_beside && value == "true",
            // If `transport` is `unix`, OpenTelemetry's collector reads the endpoint as a path.
            "transport" => is_beside && value == "unix" && it.path[0] == "receivers",
            // SQL Server, recognised by the name of its client for .NET.
            "providername" => is_above && value.ends_with(".sqlclient"),
            _ => {
                let is_storage = ["storage", "database", "db"].iter().any(|it| word.starts_with(it));
                let is_method = ["method", "type", "engine", "backend"].iter().any(|it| word.ends_with(it));
                let says_what = SAYS.contains(&word) || is_storage && is_method;
                says_what && (is_beside || is_above) && NO_SERVER.contains(&&*value)
            }
        }
    })
}

/// The kind of server according to a setting next to the connection's settings: `driver`, `DB_TYPE`.
pub(super) fn kind_beside(parents: &[String], prefix: &str, all: &[Setting]) -> Option<Kind> {
    all.iter().find_map(|it| {
        let (name, own_parents) = it.path.split_last()?;
        // In Fluentd, the name of a setting that gives the kind of server begins with `@`.
        let name = name.to_lowercase();
        let name = name.trim_start_matches('@');
        let rest = name.strip_prefix(prefix).unwrap_or_default().trim_start_matches(['_', '-', '.']);
        let of_parent = parents.split_last().is_some_and(|(_, it)| it == own_parents) && OF_PARENT.contains(&name);
        let Value::Text(value) = &it.value else {
            // The program builds a DSN from parts.
            let raw = it.item[it.literal.clone()].trim_matches(['\'', '"']);
            return driver_of(raw).filter(|_| own_parents == parents && it.doubt.is_none());
        };
        // In Sphinx, `type` belongs to `sql_host`.
        let is_bare = matches!(name, "type" | "driver" | "dialect" | "adapter" | "engine");
        let says = SAYS.contains(&rest) || is_bare;
        let says = says && own_parents == parents || of_parent;
        keys::kind_in(value).filter(|_| says && it.doubt.is_none())
    })
}

pub(super) fn kind_of_group(
    parents: &[String],
    prefix: &str,
    roles: &BTreeMap<Role, usize>,
    all: &[Setting],
) -> Option<Kind> {
    let text = |role: Role| text_in(roles, role, all);
    let by_name = || {
        let own = roles.values().find_map(|idx| keys::kind_in(all[*idx].path.last()?));
        let own = own.or_else(|| keys::kind_in(prefix));
        own.or_else(|| parents.iter().rev().find_map(|it| keys::kind_in(it)))
    };
    let by_driver = || kind_beside(parents, prefix, all);
    // If neither the port nor the host is known, uses the default value that the file has for the port.
    let by_default = || match (text(Role::Host), &all[*roles.get(&Role::Port)?].value) {
        (None, Value::Variable { fallback, .. }) => fallback.as_deref(),
        _ => None,
    };
    let by_port = || keys::kind_of_port(text(Role::Port).or_else(by_default)?);
    let by_host_port = || keys::kind_of_port(text(Role::Host)?.rsplit_once(':')?.1);
    let list = all.iter().find(|it| it.path == parents && (is_pdo(it) || is_keywords(it)));
    if let Some(Value::Text(text)) = list.map(|it| &it.value)
        && let Some(kind) = driver_of(text)
    {
        return Some(kind);
    }
    if list.is_some() {
        return Some(Kind::Postgres);
    }
    let by_image = || kind_of_service(text(Role::Host)?, all);
    by_driver().or_else(by_name).or_else(by_image).or_else(by_port).or_else(by_host_port)
}
