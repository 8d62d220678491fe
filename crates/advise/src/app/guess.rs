//! Connections of applications that are not in the table: found by the names of their settings.

use std::collections::BTreeMap;

use looptax_model::dsn::Kind;

use super::bind::MOST_CONNECTIONS;
use super::bound::Bound;
use super::keys::{self, Key};
use super::kinds::{
    is_connection_string, is_dbi, is_hidden_url, is_keywords, is_off, is_options, is_pdo, is_redis_list, kind_beside,
    kind_of_group, kind_of_url, pdo_of, text_in,
};
use super::library::kind_of_library;
use super::lists;
use super::setting::{MOST_SETTINGS, Setting, Value};
use super::source::MOST_BYTES;
use super::table::{App, Format, GUESSED, Role, apps};
use super::url;

/// Finds connections among the settings, except those with a setting for which `is_known` is true.
pub(super) fn connections(
    settings: &[Setting],
    format: Format,
    text: &str,
    is_known: &dyn Fn(&Setting) -> bool,
) -> Vec<Bound> {
    let all = with_parts(settings);
    let sorted = sort(&all);
    let has = |words: &[&str]| words.iter().any(|it| text.contains(it));
    // An image may install drivers that no program uses.
    let is_configuration = format.language().is_none() && format != Format::Dockerfile;
    let context = Context {
        all: &all,
        is_php: format == Format::Php || is_configuration && has(&OF_PHP),
        is_perl: format == Format::Perl,
        has_c_library: has(&C_LIBRARY),
        localhost_is_tcp: has(&TCP_ALONE)
            || HEADS_OF_TCP.iter().any(|it| it.1 == format && text.lines().any(|line| line.starts_with(it.0))),
    };
    let mut found: Vec<Bound> = Vec::new();
    for (idx, parents) in sorted.lists {
        let roles = BTreeMap::from([(Role::Host, idx)]);
        let label = parents.join(".");
        found.extend(bound(Some(Kind::Redis), &roles, &context, label));
    }
    for (kind, idx) in sorted.urls {
        let mut roles = BTreeMap::from([(Role::Url, idx)]);
        add_login(&mut roles, &all[idx].path, &sorted.groups);
        found.extend(bound(kind, &roles, &context, all[idx].path.join(".")));
    }
    let mut named = named(&sorted.groups, &all);
    join_references(&mut named, &all);
    for it in named {
        let by_library = || kind_of_library(text).filter(|_| format.language().is_some());
        let kind = it.kind.or_else(by_library);
        found.extend(bound(kind, &it.roles, &context, it.label));
    }
    // Two URLs may share a login, so a connection with a URL counts as known only if its URL is known.
    found.retain(|it| match it.roles.get(&Role::Url) {
        Some(url) => !is_known(url),
        None => !it.roles.values().any(is_known),
    });
    drop_doubles(&mut found);
    let mut found: Vec<Bound> = found.into_iter().flat_map(lists::servers).collect();
    found.truncate(MOST_CONNECTIONS);
    found
}

/// Words that show MySQL drivers which use TCP for `localhost`: those of Java and Elixir.
const TCP_ALONE: [&str; 8] =
    ["jdbc", "Hikari", "hikari", "characterEncoding", "useUnicode", "useSSL", "allowPublicKeyRetrieval", "MyXQL"];

/// Words that, at the beginning of a line, show a MySQL driver which uses TCP for `localhost`: pgloader's driver, and
/// the Go driver in `OpenTelemetry`'s collector.
const HEADS_OF_TCP: [(&str, Format); 3] =
    [("load database", Format::Pairs), ("LOAD DATABASE", Format::Pairs), ("receivers:", Format::Yaml)];

/// Words that show PHP's drivers, which use the socket for `localhost`.
const OF_PHP: [&str; 3] = ["mysqli", "MySQLi", "pdo_mysql"];

/// Words that show programs with MySQL's C library, which also uses the socket for `localhost`: collectd, Exim, Fluentd
/// with Ruby's mysql2, `OpenDKIM`, PAM, BIND, Kea.
const C_LIBRARY: [&str; 10] = [
    "LoadPlugin mysql",
    "mysql_servers",
    "@type mysql",
    "adapter mysql2",
    "dsn:mysql://",
    "pam_mysql.so",
    "database \"mysql",
    "dlz_mysql",
    "\"lease-database\"",
    "\"hosts-database",
];

/// Facts about the whole text.
#[expect(clippy::struct_excessive_bools, reason = "each is a separate fact")]
struct Context<'a> {
    all: &'a [Setting],
    is_php: bool,
    is_perl: bool,
    has_c_library: bool,
    localhost_is_tcp: bool,
}

/// Returns all settings. If the value of a setting is a list, also returns the parts of the list. A value with a part
/// that is filled in later becomes hidden.
fn with_parts(settings: &[Setting]) -> Vec<Setting> {
    let has_parts = |it: &&Setting| {
        is_pdo(it) || is_keywords(it) || is_redis_list(it) || is_options(it) || is_connection_string(it)
    };
    let parts = settings.iter().filter(has_parts).flat_map(lists::parts);
    let mut all: Vec<Setting> = settings.iter().cloned().chain(parts).take(2 * MOST_SETTINGS).collect();
    for setting in all.iter_mut().skip(settings.len()) {
        // Translates the words of .NET's connection strings.
        let plain = setting.path.last().map(|it| it.to_lowercase());
        let plain = match plain.as_deref() {
            Some("uid" | "user id" | "userid") => "user",
            Some("data source" | "datasource") => "server",
            _ => continue,
        };
        setting.path.pop();
        setting.path.push(plain.to_owned());
    }
    for setting in &mut all {
        let role = setting.path.last().and_then(|it| keys::key_of(it));
        let is_secret = role.is_some_and(|it| it.role == Role::Password);
        let is_open = matches!(&setting.value, Value::Text(text) if keys::is_placeholder(text));
        if is_open && !is_secret {
            setting.value = Value::Hidden;
        }
    }
    all
}

/// Settings sorted by their meaning; the numbers are indexes into the list of all settings.
struct Sorted<'a> {
    urls: Vec<(Option<Kind>, usize)>,
    /// For each setting that lists Redis servers: the index of its first address, and the path of the list.
    lists: Vec<(usize, &'a [String])>,
    groups: Groups,
}

fn sort(all: &[Setting]) -> Sorted<'_> {
    let mut sorted = Sorted { urls: Vec::new(), lists: Vec::new(), groups: Groups::new() };
    for (idx, setting) in all.iter().enumerate() {
        let by_path = || setting.path.iter().rev().find_map(|it| keys::kind_in(it));
        let hidden = is_hidden_url(setting).then(by_path);
        // In redis-py, a URL of a socket has the number of the database in its query.
        let is_socket = |text: &String| text.starts_with("unix:///") && text.contains('?');
        let of_socket = matches!(&setting.value, Value::Text(text) if is_socket(text)).then(by_path);
        let of_socket = of_socket.filter(|it| *it == Some(Kind::Redis));
        if let Some(kind) = kind_of_url(setting).map(Some).or(hidden).or(of_socket) {
            sorted.urls.push((kind, idx));
            continue;
        }
        let Some((name, parents)) = setting.path.split_last() else {
            continue;
        };
        if name.is_empty() && by_path() == Some(Kind::Redis) {
            sorted.lists.push((idx, parents));
            continue;
        }
        // An item of a list gets the name of the list.
        let is_item = name.parse::<usize>().is_ok();
        let name = parents.last().filter(|_| is_item).unwrap_or(name);
        if name.contains("://") {
            continue;
        }
        let name = name.rsplit(':').next().unwrap_or_default();
        let Some(Key { role, prefix }) = keys::key_of(name).or_else(|| place_key(name, setting)) else {
            continue;
        };
        if is_item && !matches!(role, Role::Host | Role::Socket) {
            continue;
        }
        let parents = &setting.path[..parents.len() + usize::from(is_item)];
        if let Some(other) = keys::prefix_of_database(name, &prefix) {
            // `dbname` belongs to `dbhost` as well as to `host`.
            let group = sorted.groups.entry((parents.to_vec(), other)).or_default();
            group.entry(Role::Database).or_insert(idx);
        }
        if role == Role::Database && name.to_lowercase().ends_with("_db") {
            // If there is a setting like `maintenance_db`, a plain `name` is not the name of a database.
            let plain = sorted.groups.entry((parents.to_vec(), String::new()));
            plain.or_default().insert(role, idx);
        }
        let is_mere_name = name.eq_ignore_ascii_case("name");
        let group = sorted.groups.entry((parents.to_vec(), prefix)).or_default();
        if is_mere_name {
            group.entry(role).or_insert(idx);
        } else {
            group.insert(role, idx);
        }
    }
    sorted
}

/// Finds the host in a setting that is named like a URL: `Uri=tcp://localhost:3306`, `REDIS_URL=unix:/run/redis.sock`.
fn place_key(name: &str, setting: &Setting) -> Option<Key> {
    let is_place = |text: &String| text.starts_with("tcp://") || text.starts_with("unix:");
    let is_named = ["url", "uri", "address"].iter().any(|it| name.to_lowercase().ends_with(it));
    // The receivers of OpenTelemetry's collector.
    let is_endpoint = name == "endpoint" && setting.path.first().is_some_and(|it| it == "receivers");
    let is_address = |text: &String| text.contains(':') && !text.contains('/');
    let is_it = match &setting.value {
        Value::Text(text) => is_named && is_place(text) || is_endpoint && is_address(text),
        Value::Variable { .. } | Value::Hidden => is_endpoint,
    };
    is_it.then(|| Key { role: Role::Host, prefix: keys::prefix_of_url(name) })
}

fn named(groups: &Groups, all: &[Setting]) -> Vec<Named> {
    let own = groups.iter().filter(|((parents, prefix), roles)| {
        is_connection(parents, prefix, roles, all) && !is_off(parents, prefix, all)
    });
    let named = own.take(MOST_CONNECTIONS).map(|((parents, prefix), roles)| {
        let mut roles = roles.clone();
        if let Some(dsn) = all.iter().find(|it| it.path == *parents && is_pdo(it)) {
            add_login(&mut roles, parents, groups);
            if is_dbi(dsn) {
                add_following(&mut roles, parents, all);
            }
        }
        let label = parents.iter().map(String::as_str).chain([&**prefix]);
        let label: Vec<&str> = label.filter(|it| !it.is_empty()).collect();
        Named { kind: kind_of_group(parents, prefix, &roles, all), label: label.join("."), roles }
    });
    named.collect()
}

/// Removes duplicates. A URL and other settings are one connection if the program splits the URL into these settings,
/// or builds the URL from them.
fn drop_doubles(found: &mut Vec<Bound>) {
    let kinds: Vec<Kind> =
        { found.iter() }.filter(|it| it.roles.contains_key(&Role::Url)).map(|it| it.app.kind).collect();
    let is_taken_apart = |it: &Bound| {
        let host = it.roles.get(&Role::Host);
        host.is_some_and(|it| it.value == Value::Hidden) && kinds.contains(&it.app.kind)
    };
    found.retain(|it| !is_taken_apart(it));
    let hosts: Vec<Setting> = { found.iter() }.filter_map(|it| it.roles.get(&Role::Host).cloned()).collect();
    let is_put_together = |it: &Bound| {
        let url = it.roles.get(&Role::Url);
        let Some(url) = url.filter(|it| it.value == Value::Hidden) else {
            return false;
        };
        let own = url.path.split_last().map(|it| it.1);
        hosts.iter().any(|host| {
            let (name, parents) = host.path.split_last().unzip();
            let raw = &url.item[url.literal.clone()];
            own == parents && name.is_some_and(|it| raw.contains(it.as_str()))
        })
    };
    found.retain(|it| !is_put_together(it));
}

/// A connection that was found by the names of its settings.
struct Named {
    kind: Option<Kind>,
    label: String,
    roles: BTreeMap<Role, usize>,
}

/// Joins `'host': HOST` and `HOST = '…'` into one connection, at the place where `HOST` gets its value.
fn join_references(named: &mut Vec<Named>, all: &[Setting]) {
    let host_of = |it: &Named| it.roles.get(&Role::Host).map(|idx| &all[*idx]);
    let mut idx = 0;
    while idx < named.len() {
        let refers = host_of(&named[idx]).filter(|it| it.value == Value::Hidden);
        let name = refers.map(|it| it.item[it.literal.clone()].trim_start_matches('$').to_owned());
        let own = named.iter().position(|other| {
            let host = host_of(other).map(|it| it.path.as_slice());
            matches!((host, &name), (Some([own]), Some(name)) if own == name)
        });
        match own.filter(|it| *it != idx) {
            Some(own) => {
                let kind = named[idx].kind;
                named[own].kind = named[own].kind.or(kind);
                named.remove(idx);
            }
            None => idx += 1,
        }
    }
}

type Groups = BTreeMap<(Vec<String>, String), BTreeMap<Role, usize>>;

/// Adds the user and the password from settings next to a URL or a DSN.
fn add_login(roles: &mut BTreeMap<Role, usize>, path: &[String], groups: &Groups) {
    let Some((name, parents)) = path.split_last() else {
        return;
    };
    let prefix = keys::prefix_of_url(name);
    let outer = ["_jdbc", "_reactive"].iter().find_map(|it| prefix.strip_suffix(it));
    let prefix = outer.unwrap_or(&prefix).to_owned();
    let beside = groups.get(&(parents.to_vec(), prefix.clone()));
    // In SpamAssassin, `user_awl_sql_username` belongs to `user_awl_dsn`.
    let beside = beside.or_else(|| groups.get(&(parents.to_vec(), format!("{prefix}_sql"))));
    for role in [Role::User, Role::Password] {
        if let Some(idx) = beside.and_then(|it| it.get(&role)) {
            roles.entry(role).or_insert(*idx);
        }
    }
}

/// Adds the user and the password that follow a DSN in a list, as in Perl's `connect`.
fn add_following(roles: &mut BTreeMap<Role, usize>, path: &[String], all: &[Setting]) {
    let Some((Ok(own), parents)) = path.split_last().map(|it| (it.0.parse::<usize>(), it.1)) else {
        return;
    };
    for (number, role) in [(own + 1, Role::User), (own + 2, Role::Password)] {
        let is_it = |it: &Setting| it.path.split_last() == Some((&number.to_string(), parents));
        if let Some(idx) = all.iter().position(is_it) {
            roles.entry(role).or_insert(idx);
        }
    }
}

/// Whether the group is a connection. A connection has a host or a socket. It also has either a word that shows a
/// database, or both a login and a database.
fn is_connection(parents: &[String], prefix: &str, roles: &BTreeMap<Role, usize>, all: &[Setting]) -> bool {
    // In a section with one of these names, the address is that at which the MySQL server itself listens.
    if parents.iter().any(|it| matches!(&**it, "mysqld" | "mysqld_safe" | "mariadbd" | "mariadb")) {
        return false;
    }
    let place = roles.get(&Role::Host).or_else(|| roles.get(&Role::Socket));
    let Some(place) = place.map(|idx| &all[*idx]) else {
        // A DSN without a host is a connection, too.
        let is_list = |it: &Setting| it.path == parents && (is_pdo(it) || is_keywords(it));
        let is_dsn = roles.contains_key(&Role::Database) && all.iter().any(is_list);
        let is_place = |it: &Setting| {
            let own = it.path.split_last().filter(|it| it.1 == parents);
            let name = own.and_then(|it| it.0.rsplit(':').next());
            let role = name.and_then(keys::key_of).map(|it| it.role);
            matches!(role, Some(Role::Host | Role::Socket))
        };
        return is_dsn && !all.iter().any(is_place);
    };
    let has = |role: Role| roles.contains_key(&role);
    let port = text_in(roles, Role::Port, all).unwrap_or_default();
    let has_own_port = |text: &str| {
        let own = text.rsplit_once(':').and_then(|it| keys::kind_of_port(it.1));
        let has_user = has(Role::User) || has(Role::Password);
        own.or(keys::kind_of_port(port).filter(|_| has_user)).is_some()
    };
    let (is_host, is_of_port) = match &place.value {
        Value::Text(text) => {
            let is_list = keys::kind_in(prefix) == Some(Kind::Memcached);
            let is_part = |c: char| c.is_alphanumeric() || "._-:/[]@".contains(c) || is_list && ",; ".contains(c);
            let text = ["tcp://", "unix://"].iter().find_map(|it| text.strip_prefix(it)).unwrap_or(text);
            let is_named = !text.is_empty() || !port.is_empty();
            let is_host = is_named
                && text.chars().all(is_part)
                && (!text.contains('/') || text.starts_with('/') || text.contains(":/"))
                && !text.contains("://")
                && !matches!(text, "*" | "true" | "false")
                && !["0.0.0.0", "::", "[::]"].iter().any(|it| listens_at(text, it));
            (is_host, has_own_port(text))
        }
        Value::Variable { .. } | Value::Hidden => (true, false),
    };
    let words = keys::is_about_a_database(prefix)
        || parents.iter().any(|it| keys::is_about_a_database(it))
        || pdo_of(place, all).is_some()
        || kind_beside(parents, prefix, all).is_some()
        || all.iter().any(|it| it.path == parents && is_keywords(it));
    let is_other = ["smtp", "mail", "imap", "ldap", "ftp", "proxy", "amqp", "http", "cookie", "ssh", "sentinel"];
    let is_other = is_other.iter().any(|it| prefix.contains(it));
    let has_login = has(Role::User) && has(Role::Password) && has(Role::Database);
    is_host && !is_other && (words || has_login || is_of_port)
}

/// Returns a DSN of Perl that the program builds from parts, in a setting next to this one:
/// `"DBI:mysql:database=$Self->{Database};host=$Self->{DatabaseHost}"`.
fn hidden_dsn<'a>(setting: &Setting, all: &'a [Setting]) -> Option<&'a str> {
    let parents = setting.path.split_last()?.1;
    let beside =
        all.iter().filter(|it| it.value == Value::Hidden && it.path.split_last().map(|it| it.1) == Some(parents));
    let mut texts = beside.filter_map(|it| it.item.get(it.literal.clone())).map(|it| it.trim_matches(['"', '\'']));
    texts.find(|it| it.get(..4).is_some_and(|it| it.eq_ignore_ascii_case("dbi:")))
}

/// Whether a host is an address at which a program listens, not one to which it connects.
fn listens_at(text: &str, everywhere: &str) -> bool {
    let rest = text.strip_prefix(everywhere);
    rest.is_some_and(|it| it.is_empty() || it.starts_with(':'))
}

/// The title of the table's row for programs that have libpq's keywords in a single setting.
const OF_KEYWORDS: &str = "a program with a connection string of libpq";

/// The setting with a list of libpq's keywords to which `part` belongs.
fn keywords_of<'a>(part: &Setting, all: &'a [Setting]) -> Option<&'a Setting> {
    let (_, parents) = part.path.split_last()?;
    all.iter().find(|it| it.path == parents && is_keywords(it))
}

fn app_of(kind: Kind, title: &str) -> Option<&'static App> {
    let mut own = apps().iter().filter(|it| it.name == GUESSED && it.kind == kind);
    own.find(|it| it.title == title)
}

fn bound(kind: Option<Kind>, roles: &BTreeMap<Role, usize>, context: &Context<'_>, label: String) -> Option<Bound> {
    let Context { all, is_php, is_perl, has_c_library, localhost_is_tcp } = *context;
    let by_rank = [Role::Url, Role::Host, Role::Socket, Role::Database];
    let anchor = by_rank.iter().find_map(|it| roles.get(it)).copied()?;
    let pdo = pdo_of(&all[anchor], all);
    let is_pdo = pdo.is_some();
    // PHP's two drivers and PDO treat `localhost` as the C library does.
    let is_php = is_php && kind == Some(Kind::Mysql);
    let dsn = hidden_dsn(&all[anchor], all).filter(|_| is_perl);
    let has_c_library = (has_c_library || dsn.is_some()) && kind == Some(Kind::Mysql);
    let title = match is_pdo {
        true if is_perl || pdo.is_some_and(is_dbi) => "a Perl program with DBI",
        true => "a PHP program with PDO",
        false if is_php => "a PHP program",
        false if has_c_library => "a program with MySQL's C library",
        false => "an unknown application",
    };
    let app = app_of(kind.unwrap_or(Kind::Mysql), title)?;
    let app = keywords_of(&all[anchor], all).and_then(|_| app_of(app.kind, OF_KEYWORDS)).unwrap_or(app);
    let value = |role: Role| text_in(roles, role, all);
    let host = match value(Role::Url).and_then(url::parse) {
        Some(url::Parsed::Spoken { address, .. }) if address.socket.is_none() => address.host,
        _ => value(Role::Host).map(str::to_owned),
    };
    // Java has no Unix sockets, some Python libraries use them only if configured, and Go's DSN names the transport.
    let tcp_alone = ["jdbc:", "mysql+pymysql:", "mysql+aiomysql:", "mysql+mysqlconnector:"];
    let says_tcp =
        value(Role::Url).is_some_and(|url| url::is_go(url) || tcp_alone.iter().any(|it| url.starts_with(it)));
    // Most .NET drivers do not use the C library either.
    let parents = all[anchor].path.split_last().map(|it| it.1);
    let is_dotnet = all.iter().any(|it| Some(&*it.path) == parents && is_connection_string(it));
    let says_tcp = says_tcp || is_dotnet || localhost_is_tcp && !is_php;
    let is_local = host.is_some_and(|it| {
        it == "localhost" && !is_php && !has_c_library && !says_tcp
            || it.starts_with("localhost:") && (!says_tcp || it.contains('/'))
    });
    let has_socket = roles.contains_key(&Role::Socket) && value(Role::Socket) != Some("");
    let is_nowhere = match value(Role::Url).and_then(url::parse) {
        Some(url::Parsed::Spoken { address, .. }) => {
            address.host.is_none() && address.socket.is_none() && kind == Some(Kind::Postgres)
        }
        _ => false,
    };
    // The port or the socket in the DSN takes precedence. A DSN without `host=` does not use the host setting at all.
    let says_more = |dsn: &str| !dsn.contains("host=") || ["port=", "_socket="].iter().any(|it| dsn.contains(it));
    let reads_more = |it: &Setting| matches!(&it.value, Value::Text(text) if text.contains("mysql_read_default"));
    let doubt = match kind {
        _ if pdo.is_some_and(reads_more) => Some("the DSN names an option file"),
        _ if dsn.is_some_and(says_more) => Some("the program builds its DSN from parts"),
        _ if is_nowhere => Some("without a host some drivers use the usual socket, others TCP"),
        None => Some("the settings do not show the kind of server"),
        Some(Kind::Mysql) if is_local && !is_pdo => Some("for localhost some drivers use the socket, others TCP"),
        Some(_) if has_socket && roles.contains_key(&Role::Host) && !is_pdo => {
            Some("the program decides whether it uses the host or the socket")
        }
        Some(_) => None,
    };
    Some(Bound {
        app,
        roles: roles.iter().map(|(role, idx)| (*role, all[*idx].clone())).collect(),
        resolved: BTreeMap::new(),
        is_environment: false,
        carrier: None,
        conditions: Vec::new(),
        doubt: doubt.map(str::to_owned),
        is_kind_said: false,
        is_kind_known: kind.is_some(),
        anchor: all[anchor].line * MOST_BYTES + anchor.min(MOST_BYTES - 1),
        label,
    })
}
