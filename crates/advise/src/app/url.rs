//! Parses URLs and connection strings in more forms than [`Address`] reads.

use std::path::PathBuf;

use looptax_model::dsn::{Address, Kind, Pair, Protocol, Query, Secret, Unspoken};

#[derive(Debug)]
pub(crate) enum Parsed {
    /// The server's protocol is one that looptax speaks.
    Spoken {
        address: Address,
        /// Parts of the query that stay when the URL is changed. They may contain secrets.
        rest: Vec<String>,
    },
    Unspoken(Unspoken),
}

impl Parsed {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Spoken { address, .. } => address.protocol.kind(),
            Self::Unspoken(it) => it.kind,
        }
    }
}

/// Prefixes of a complete URL: those of JDBC and R2DBC, Quarkus' `pool:` and `vertx-reactive:`, Celery's `db+` before
/// the `SQLAlchemy` URL of its results, and `OpenDKIM`'s `dsn:`.
const HEADS: [&str; 6] = ["jdbc:", "r2dbc:", "pool:", "vertx-reactive:", "db+", "dsn:"];

/// Names of parameters of a query that give the server's address.
const PLACE_NAMES: [&str; 12] = [
    "host",
    "port",
    "socket",
    "unix_socket",
    "unixsocket",
    "localSocket",
    "socketPath",
    "socketFactory",
    "socketFactoryArg",
    "junixsocket.file",
    "virtual_host",
    "db",
];

/// Parses a URL for a kind of server. The URL of PHP-FPM is a path, with the status page after a colon, or
/// `fcgi://host:port/page`.
pub(crate) fn parse_as(kind: Kind, text: &str) -> Option<Parsed> {
    if kind != Kind::PhpFpm {
        return parse(text);
    }
    let text = text.trim();
    if text.starts_with('/') {
        let path = text.split(':').next().unwrap_or_default();
        return parse(&format!("fcgi://{path}")).filter(|_| !path.contains('*'));
    }
    let (scheme, rest) = text.split_once("://")?;
    if scheme == "unix" {
        let path = rest.split(';').next().unwrap_or_default();
        return parse(&format!("fcgi://{path}"));
    }
    let scheme = if scheme == "tcp" { "fcgi" } else { scheme };
    let place = rest.split('/').next().filter(|it| !it.is_empty());
    place.map_or_else(|| parse(text), |place| parse(&format!("{scheme}://{place}")))
}

/// Parses a URL, or the first of several URLs; `None` if the form is not known.
pub(crate) fn parse(text: &str) -> Option<Parsed> {
    let text = text.trim();
    let local = of_local_jdbc(text).or_else(|| common(text));
    let text = local.as_deref().unwrap_or_else(|| without_heads(text));
    if is_go(text) {
        return match text.split_once("://") {
            // In PEAR's form, Go's DSN has a scheme.
            Some(("mysql" | "mysqli", body)) => go(body),
            Some(_) => None,
            None => go(text),
        };
    }
    // Only Redis clients accept a URL without a scheme.
    let with_scheme = format!("redis:{text}");
    let text = if text.starts_with("//") { &with_scheme } else { text };
    if text.starts_with('/') {
        return Some(redis_socket(text));
    }
    if text.contains("addr=") && !text.contains("://") {
        return Some(redis_list(text));
    }
    let (scheme, body) = text.split_once("://")?;
    if let Some(unspoken) = Unspoken::parse(text) {
        return unspoken.ok().map(Parsed::Unspoken);
    }
    // PHP's sessions write the address of Redis as `tcp://…`; commas or blanks separate several addresses.
    let text = if scheme == "tcp" { format!("redis://{}", body.split([',', ' ']).next()?) } else { text.to_owned() };
    let mut address = Address::parse(&text).ok()?;
    let query = Query::from_text(&text);
    find_socket(&mut address, query);
    if scheme == "tcp" || scheme == "unix" {
        find_login(&mut address, query);
    }
    if address.protocol == Protocol::Postgres {
        // `user` and `password` are libpq's names; `username` is Rails' name for the user.
        address.user = address.user.take().or_else(|| query.value(&["user", "username"]));
        address.password = address.password.take().or_else(|| query.value(&["password"]).map(Secret::new));
    }
    if names_a_stream(&address) {
        address.database = None;
    }
    if address.database.is_none() {
        address.database = query.value(&["database", "db"]);
    }
    let is_kept = |pair: &Pair<'_>| !PLACE_NAMES.contains(&&*pair.name());
    let rest = query.pairs().filter(is_kept);
    Some(Parsed::Spoken { rest: rest.map(|pair| pair.text.to_owned()).collect(), address })
}

/// Whether the text is a DSN of Go: `user@tcp(host:port)/database`; `tcp` may be missing.
pub(crate) fn is_go(text: &str) -> bool {
    let bare = || text.split_once("@(").and_then(|it| it.1.split_once(")/")).map(|it| it.0);
    let is_part = |c: char| c.is_alphanumeric() || ".-_:[]".contains(c);
    let is_bare = || bare().is_some_and(|place| !text.contains("://") && place.chars().all(is_part));
    text.contains("tcp(") || text.contains("unix(") || is_bare() || is_placeless(text)
}

/// Whether the text is a DSN of Go without a host: `user:password@/database`, which means 127.0.0.1.
fn is_placeless(text: &str) -> bool {
    let Some((login, rest)) = text.split_once("@/") else { return false };
    let is_word = |it: &str| !it.is_empty() && it.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    let user = login.split(':').next().unwrap_or_default();
    let database = rest.split('?').next().unwrap_or_default();
    is_word(user) && is_word(database) && !text.contains("://")
}

fn without_heads(text: &str) -> &str {
    HEADS.iter().fold(text, |rest, head| rest.strip_prefix(head).unwrap_or(rest))
}

/// Returns pgjdbc's `jdbc:postgresql:database`, which means localhost, in the common form of a URL.
fn of_local_jdbc(text: &str) -> Option<String> {
    let rest = text.strip_prefix("jdbc:postgresql:").filter(|it| !it.starts_with("//"))?;
    Some(format!("postgresql://localhost/{}", rest.trim_start_matches('/')))
}

/// Rewrites a URL in a program's own form to the common form: `OpenDKIM`'s `dsn:mysql://u@h/database/table=…`,
/// `OpenSIPS`' `redis:group://h` and `mongodb:group://h/database.collection`, pgloader's
/// `postgresql://u@unix:/folder:port/database`.
pub(crate) fn common(text: &str) -> Option<String> {
    let (scheme, body) = text.trim().split_once("://")?;
    if let Some(scheme) = scheme.strip_prefix("dsn:") {
        let mut parts = body.split('/');
        let place = parts.next()?;
        return Some(format!("{scheme}://{place}/{}", parts.next().unwrap_or_default()));
    }
    if scheme.starts_with("redis:") {
        return Some(format!("redis://{body}"));
    }
    if scheme.starts_with("mongodb:") {
        // In the path, the name of a collection follows the database.
        let (place, path) = body.split_once('/').unwrap_or((body, ""));
        return Some(format!("mongodb://{place}/{}", path.split('.').next().unwrap_or_default()));
    }
    // SQLAlchemy's URLs, with a driver after `+`, do not have this form.
    let body = (!scheme.contains('+')).then_some(body)?;
    let (login, place) = body.split_once("unix:").filter(|it| it.0.is_empty() || it.0.ends_with('@'))?;
    let (path, rest) = place.split_once(':').filter(|it| it.0.starts_with('/'))?;
    let rest = if rest.starts_with('/') { rest.to_owned() } else { format!(":{rest}") };
    match kind_of_scheme(scheme)? {
        Kind::Postgres => Some(format!("{scheme}://{login}{}{rest}", path.replace('/', "%2F"))),
        Kind::Mysql => Some(format!("{scheme}://{login}localhost{rest}?unix_socket={path}")),
        _ => None,
    }
}

/// Whether the path of a Redis URL is the name of a stream, as in Symfony's queues: a database would be a number.
fn names_a_stream(address: &Address) -> bool {
    let is_number = |it: &String| it.chars().all(|c| c.is_ascii_digit());
    let is_redis = address.protocol == Protocol::Redis && address.host.is_some();
    is_redis && address.database.as_ref().is_some_and(|it| !is_number(it))
}

/// Whether a new URL keeps every part of the old URL's login, and all its servers.
pub(crate) fn keeps_login(old: &str, new: &str) -> bool {
    let said = |text: &str| match parse(text) {
        Some(Parsed::Spoken { address: it, .. }) => {
            // Redis clients use the first database by default.
            let is_redis = it.protocol == Protocol::Redis;
            let has_database = it.database.is_some_and(|it| !is_redis || it != "0");
            [it.user.is_some(), it.password.is_some(), has_database]
        }
        _ => [false; 3],
    };
    let (was_said, mut is_said) = (said(old), said(new));
    let names_one = Query::from_text(new).value(&["db", "virtual_host"]);
    is_said[2] |= names_one.is_some();
    let mut pairs = was_said.into_iter().zip(is_said);
    if Address::parse(without_heads(old)).is_ok_and(|it| names_a_stream(&it)) {
        return false;
    }
    old.matches("://").count() < 2 && pairs.all(|(was_said, is_said)| is_said || !was_said)
}

/// Whether the driver in `SQLAlchemy`'s scheme uses a socket whatever the host is, as Python drivers do. The C library,
/// which is the default driver, uses a socket only if the host is localhost.
pub(crate) fn takes_any_socket(text: &str) -> bool {
    let driver = text.split_once("://").and_then(|(scheme, _)| scheme.split_once('+'));
    matches!(driver, Some((_, "pymysql" | "aiomysql" | "asyncmy" | "mysqlconnector")))
}

/// The kind of server that a scheme means: `jdbc:mysql`, `postgresql+psycopg2`.
pub(crate) fn kind_of_scheme(scheme: &str) -> Option<Kind> {
    let scheme = without_heads(scheme).split(['+', ':']).next().unwrap_or_default();
    Some(match scheme {
        "mysql" | "mysql2" | "mysqli" | "mariadb" | "trilogy" => Kind::Mysql,
        "postgres" | "postgresql" | "pgsql" | "postgis" => Kind::Postgres,
        "redis" | "rediss" | "valkey" => Kind::Redis,
        "mongodb" => Kind::Mongodb,
        _ => return None,
    })
}

/// Finds the login in the query, where PHP's sessions have it: a password, or a list of user and password.
fn find_login(address: &mut Address, query: Query<'_>) {
    let values = |names: &[&str]| {
        let pairs = query.pairs().filter(|pair| names.contains(&&*pair.name()));
        pairs.map(|pair| pair.value()).collect::<Vec<_>>()
    };
    let mut listed = values(&["auth[]", "auth[0]", "auth[1]"]);
    let password = { listed.pop() }.or_else(|| query.value(&["auth[pass]"])).or_else(|| query.value(&["auth"]));
    let user = listed.pop().or_else(|| query.value(&["auth[user]"]));
    address.user = address.user.take().or(user);
    address.password = address.password.take().or(password.map(Secret::new));
}

/// Finds sockets in places where [`Address`] does not look.
fn find_socket(address: &mut Address, query: Query<'_>) {
    if address.socket.is_some() {
        return;
    }
    // In Symfony and ioredis, the path of a URL without a host is a socket.
    if address.protocol == Protocol::Redis
        && address.host.is_none()
        && let Some(path) = address.database.take_if(|it| it.contains('/'))
    {
        address.socket = Some(PathBuf::from(format!("/{path}")));
        return;
    }
    let by_factory = query.value(&["socketFactoryArg", "junixsocket.file"]);
    address.socket = by_factory.map(PathBuf::from);
}

/// Parses a DSN of Go: `user:password@tcp(127.0.0.1:3306)/database?x=y`.
fn go(text: &str) -> Option<Parsed> {
    let with_place = text.replacen("@/", "@tcp(127.0.0.1:3306)/", 1);
    let text = if is_placeless(text) { &*with_place } else { text };
    let (before, after) = text.rsplit_once(')')?;
    let (login, place) = before.rsplit_once('(')?;
    let is_socket = login.ends_with("unix");
    let login = login.trim_end_matches("unix").trim_end_matches("tcp").trim_end_matches('@');
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()),
        None => (place, None),
    };
    let database = after.split('?').next().unwrap_or_default();
    let database = database.trim_start_matches('/');
    let rest = Query::from_text(after).pairs().map(|pair| pair.text.to_owned());
    Some(Parsed::Spoken {
        rest: rest.collect(),
        address: Address {
            host: (!is_socket).then(|| host.to_owned()),
            port: port.unwrap_or(Protocol::Mysql.port()),
            user: (!user.is_empty()).then(|| user.to_owned()),
            password: password.map(Secret::new),
            database: (!database.is_empty()).then(|| database.to_owned()),
            socket: is_socket.then(|| PathBuf::from(place)),
            ..Address::bare(Protocol::Mysql)
        },
    })
}

/// Parses the Redis form of Gitea and Macaron: `network=tcp,addr=127.0.0.1:6379,password=p,db=0,pool_size=100`.
fn redis_list(text: &str) -> Parsed {
    let mut address = Address::bare(Protocol::Redis);
    let (mut place, mut is_unix, mut rest) = (String::new(), false, Vec::new());
    for (name, value) in text.split([',', ' ']).filter_map(|it| it.trim().split_once('=')) {
        match &*name.to_lowercase() {
            "network" => is_unix = value == "unix",
            "addr" => value.clone_into(&mut place),
            "password" => address.password = Some(Secret::new(value.to_owned())),
            "username" => address.user = Some(value.to_owned()),
            "db" => address.database = Some(value.to_owned()),
            "idle_timeout" if value.parse::<u32>().is_ok() => rest.push(format!("{name}={value}s")),
            _ => rest.push(format!("{name}={value}")),
        }
    }
    if is_unix {
        address.socket = Some(PathBuf::from(place));
    } else {
        let (host, port) = place.rsplit_once(':').unwrap_or((&place, ""));
        address.host = Some(host.to_owned());
        address.port = port.parse().unwrap_or(address.port);
    }
    Parsed::Spoken { address, rest }
}

/// Parses the Redis form of Predis and others: a path, and the number of the database in the query.
fn redis_socket(text: &str) -> Parsed {
    let path = text.split('?').next().unwrap_or_default();
    Parsed::Spoken {
        address: Address {
            database: Query::from_text(text).value(&["db"]),
            socket: Some(PathBuf::from(path)),
            ..Address::bare(Protocol::Redis)
        },
        rest: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_says_less_of_the_login_takes_no_place() {
        let keeps = |old, new, expected| assert_eq!(keeps_login(old, new), expected, "{old} {new}");
        keeps("mysql://u:p@h/d", "mysql://u:p@localhost/d?socket=/s", true);
        keeps("mysql://u:p@h/d", "mysql://u@localhost/d?socket=/s", false);
        keeps("mysql://u:p@h/d", "mysql://u:p@localhost/?socket=/s", false);
        keeps("redis://:p@h:6379/0", "unix://:p@/s", true);
        keeps("redis://:p@h:6379/0", "/s?db=0", false);
        keeps("redis://h:6379/3", "unix:///s", false);
        keeps("redis://h:6379/3", "unix:///s?db=3", true);
        keeps("tcp://h:1?auth=p&weight=1", "unix:///s?auth=p&weight=1", true);
        keeps("redis://h/queue", "unix:///s", false);
        keeps("tcp://h:1?weight=1, tcp://i:1?weight=2", "unix:///s?weight=1", false);
    }

    #[test]
    fn a_socket_in_the_place_of_a_host_is_pgloader_s_and_not_sqlalchemy_s() {
        let expected = "mysql://a@localhost:3306/d?unix_socket=/s";
        assert_eq!(common("mysql://a@unix:/s:3306/d").as_deref(), Some(expected));
        assert_eq!(common("mysql+mysqldb://a@unix:/s:3306/d"), None);
    }

    /// `expected` is `kind host port user database socket rest`.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = parse(text).unwrap();
        let kind = found.kind().name().to_owned();
        let (it, rest) = match found {
            Parsed::Spoken { address, rest } => (address, rest),
            Parsed::Unspoken(it) => {
                let bare = Address::bare(Protocol::Echo);
                (
                    Address {
                        host: it.host,
                        port: it.port,
                        user: it.user,
                        database: it.database,
                        socket: it.socket,
                        ..bare
                    },
                    Vec::new(),
                )
            }
        };
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let shown = [
            kind,
            or_dash(it.host),
            it.port.to_string(),
            or_dash(it.user),
            or_dash(it.database),
            or_dash(it.socket.map(|it| it.display().to_string())),
            rest.join("&"),
        ];
        assert_eq!(shown.join(" "), expected, "{text}");
    }

    #[test]
    fn every_dialect_of_the_table_is_read() {
        check("u:p@tcp(127.0.0.1:3307)/db?x=y", "mysql 127.0.0.1 3307 u db - x=y");
        check("u:p@unix(/run/s)/db", "mysql - 3306 u db /run/s ");
        check(
            "network=tcp,addr=127.0.0.1:6380,password=p,db=1,pool_size=9,idle_timeout=180",
            "redis 127.0.0.1 6380 - 1 - pool_size=9&idle_timeout=180s",
        );
        check("u:p@(h:3307)/", "mysql h 3307 u - - ");
        check("u:p@/d?a=b", "mysql 127.0.0.1 3306 u d - a=b");
        check("jdbc:postgresql:d", "postgres localhost 5432 - d - ");
        check("r2dbc:pool:postgresql://h/d", "postgres h 5432 - d - ");
        check("redis://h/queue", "redis h 6379 - - - ");
        check("network=unix addr=/run/r.sock db=2", "redis - 6379 - 2 /run/r.sock ");
        check("redis:///run/r.sock", "redis - 6379 - - /run/r.sock ");
        check("/run/r.sock?db=2", "redis - 6379 - 2 /run/r.sock ");
        check("//cache:6380", "redis cache 6380 - - - ");
        check("tcp://127.0.0.1:6379?database=0", "redis 127.0.0.1 6379 - 0 - database=0");
        check(
            "tcp://127.0.0.1:6379?auth[]=shop&auth[]=secret&timeout=2",
            "redis 127.0.0.1 6379 shop - - auth[]=shop&auth[]=secret&timeout=2",
        );
        check("mongodb://u:p@%2Ftmp%2Fm.sock/a", "mongodb - 27017 u a /tmp/m.sock ");
        check("mongodb://u:p@127.0.0.1:27018/a", "mongodb 127.0.0.1 27018 u a - ");
        check("jdbc:mariadb://localhost/k?localSocket=/s&a=b", "mysql localhost 3306 - k /s a=b");
        check("mysql://u:p@localhost/d?unix_socket=/s&serverVersion=8", "mysql localhost 3306 u d /s serverVersion=8");
    }
}
