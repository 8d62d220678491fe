//! URLs and connection strings, in more dialects than [`Address`] reads, and their passwords' place.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use super::table::Kind;
use crate::{Address, Product};

/// What a URL says.
#[derive(Debug)]
pub(crate) struct Parsed {
    /// What it is; its product stands for nothing where the kind has none.
    pub(crate) address: Address,
    pub(crate) kind: Kind,
    /// Parts of the query that a changed URL keeps.
    pub(crate) rest: Vec<String>,
}

/// Names in a query that say where the server is.
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

/// Reads one; `None` where it is none that is known. Of several, the first.
pub(crate) fn parse(text: &str) -> Option<Parsed> {
    let text = text.trim();
    let text = text.strip_prefix("jdbc:").unwrap_or(text);
    if text.contains("tcp(") || text.contains("unix(") {
        return go(text);
    }
    if text.starts_with('/') {
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        return Some(redis_socket(path, query));
    }
    let (scheme, body) = text.split_once("://")?;
    if scheme == "mongodb" {
        return mongodb(body);
    }
    // PHP's sessions spell Redis so; several are divided by commas or blanks.
    let text = if scheme == "tcp" {
        format!("redis://{}", body.split([',', ' ']).next()?)
    } else {
        text.to_owned()
    };
    let mut address = Address::parse(&text).ok()?;
    let query = text.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    find_socket(&mut address, query);
    if address.database.is_none() {
        address.database = named(query, "database").or_else(|| named(query, "db"));
    }
    let is_kept = |pair: &&str| {
        let key = pair.split('=').next().unwrap_or_default();
        !pair.is_empty() && !PLACE_NAMES.contains(&key) && !is_secret(key)
    };
    Some(Parsed {
        rest: query
            .split('&')
            .filter(is_kept)
            .map(str::to_owned)
            .collect(),
        kind: kind_of(address.product),
        address,
    })
}

/// Sockets that [`Address`] does not look for.
fn find_socket(address: &mut Address, query: &str) {
    if address.socket.is_some() {
        return;
    }
    // Symfony and ioredis: no host and a path is a socket.
    if address.product == Product::Redis
        && address.host.is_none()
        && let Some(path) = address.database.take_if(|it| it.contains('/'))
    {
        address.socket = Some(PathBuf::from(format!("/{path}")));
        return;
    }
    let by_factory = named(query, "socketFactoryArg").or_else(|| named(query, "junixsocket.file"));
    address.socket = by_factory.map(PathBuf::from);
}

fn named(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, found) = pairs.find(|(key, _)| *key == name)?;
    Some(percent_decode_str(found).decode_utf8_lossy().into_owned())
}

/// `user:password@tcp(127.0.0.1:3306)/database?x=y`.
fn go(text: &str) -> Option<Parsed> {
    let (before, after) = text.rsplit_once(')')?;
    let (login, place) = before.rsplit_once('(')?;
    let is_socket = login.ends_with("unix");
    let login = login
        .trim_end_matches("unix")
        .trim_end_matches("tcp")
        .trim_end_matches('@');
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().ok()),
        None => (place, None),
    };
    let (path, query) = after.split_once('?').unwrap_or((after, ""));
    let database = path.trim_start_matches('/');
    Some(Parsed {
        address: Address {
            product: Product::Mysql,
            host: (!is_socket).then(|| host.to_owned()),
            port: port.unwrap_or(3306),
            user: (!user.is_empty()).then(|| user.to_owned()),
            password: password.map(looptax_wire::Secret::new),
            database: (!database.is_empty()).then(|| database.to_owned()),
            socket: is_socket.then(|| PathBuf::from(place)),
            tls: None,
        },
        kind: Kind::Mysql,
        rest: query
            .split('&')
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect(),
    })
}

fn redis_socket(path: &str, query: &str) -> Parsed {
    let database = query.split('&').find_map(|pair| pair.strip_prefix("db="));
    Parsed {
        address: Address {
            product: Product::Redis,
            host: None,
            port: Product::Redis.port(),
            user: None,
            password: None,
            database: database.map(str::to_owned),
            socket: Some(PathBuf::from(path)),
            tls: None,
        },
        kind: Kind::Redis,
        rest: Vec::new(),
    }
}

/// As far as the host, which may be a percent-encoded socket.
fn mongodb(body: &str) -> Option<Parsed> {
    let authority = body.split(['/', '?']).next()?;
    let place = authority.rsplit('@').next()?.split(',').next()?;
    let decoded = percent_decode_str(place).decode_utf8().ok()?;
    let is_socket = decoded.starts_with('/');
    let (host, port) = decoded.split_once(':').unwrap_or((&*decoded, ""));
    Some(Parsed {
        address: Address {
            product: Product::Redis,
            host: (!is_socket).then(|| host.to_owned()),
            port: port.parse().unwrap_or(Kind::Mongodb.port()),
            user: None,
            password: None,
            database: None,
            socket: is_socket.then(|| PathBuf::from(&*decoded)),
            tls: None,
        },
        kind: Kind::Mongodb,
        rest: Vec::new(),
    })
}

pub(crate) const fn kind_of(product: Product) -> Kind {
    match product {
        Product::Mysql => Kind::Mysql,
        Product::Postgres => Kind::Postgres,
        Product::Redis => Kind::Redis,
        Product::Memcached => Kind::Memcached,
    }
}

fn is_secret(key: &str) -> bool {
    let key = key.to_lowercase();
    ["pass", "pwd", "auth", "secret", "token", "key"]
        .iter()
        .any(|it| key.contains(it))
}

/// The text with what may be a password hidden: between the first `:` behind the scheme and the last
/// `@`, and in whatever is called a password.
pub(crate) fn masked(text: &str) -> String {
    let start = text.find("://").map_or(0, |at| at + 3);
    let mut shown = match text.rfind('@').filter(|at| *at > start) {
        Some(end) => match text[start..end].find(':') {
            Some(colon) => format!("{}****{}", &text[..=start + colon], &text[end..]),
            // Redis' and Symfony's form: the secret alone.
            None if text.starts_with("redis") => format!("{}****{}", &text[..start], &text[end..]),
            None => text.to_owned(),
        },
        None => text.to_owned(),
    };
    let mut from = 0;
    while let Some(at) = shown[from..].find('=') {
        let at = from + at;
        let name_at = shown[..at]
            .rfind(['?', '&', ',', ';', ' ', '"', '\''])
            .map_or(0, |it| it + 1);
        let value = &shown[at + 1..];
        let bytes = value
            .find(['&', ',', ';', ' ', '"', '\''])
            .unwrap_or(value.len());
        if is_secret(&shown[name_at..at]) {
            shown.replace_range(at + 1..at + 1 + bytes, "****");
        }
        from = at + 1;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `kind host port user database socket rest`.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = parse(text).unwrap();
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let it = found.address;
        let shown = [
            found.kind.name().to_owned(),
            or_dash(it.host),
            it.port.to_string(),
            or_dash(it.user),
            or_dash(it.database),
            or_dash(it.socket.map(|it| it.display().to_string())),
            found.rest.join("&"),
        ];
        assert_eq!(shown.join(" "), expected, "{text}");
    }

    #[test]
    fn every_dialect_of_the_table_is_read() {
        check(
            "u:p@tcp(127.0.0.1:3307)/db?x=y",
            "mysql 127.0.0.1 3307 u db - x=y",
        );
        check("u:p@unix(/run/s)/db", "mysql - 3306 u db /run/s ");
        check("redis:///run/r.sock", "redis - 6379 - - /run/r.sock ");
        check("/run/r.sock?db=2", "redis - 6379 - 2 /run/r.sock ");
        check(
            "tcp://127.0.0.1:6379?database=0",
            "redis 127.0.0.1 6379 - 0 - database=0",
        );
        check(
            "mongodb://u:p@%2Ftmp%2Fm.sock/a",
            "mongodb - 27017 - - /tmp/m.sock ",
        );
        check(
            "mongodb://u:p@127.0.0.1:27018/a",
            "mongodb 127.0.0.1 27018 - - - ",
        );
        check(
            "jdbc:mariadb://localhost/k?localSocket=/s&a=b",
            "mysql localhost 3306 - k /s a=b",
        );
        check(
            "mysql://u:p@localhost/d?unix_socket=/s&serverVersion=8",
            "mysql localhost 3306 u d /s serverVersion=8",
        );
    }

    #[test]
    fn no_password_is_left_in_what_is_shown() {
        for text in [
            "mysql://u:se@c/ret@h/d",
            "redis://secret@/run/r.sock",
            "u:secret@tcp(h)/d",
            "tcp://h?auth=secret&x=1",
            "h:6379,password=secret,ssl=False",
            "postgres://u@h/d?password=secret",
            "unix://:secret@/s",
        ] {
            let shown = masked(text);
            assert!(!shown.contains("ret") && shown.contains("****"), "{shown}");
        }
        assert_eq!(masked("mysql://u@h/d?a=b"), "mysql://u@h/d?a=b");
    }
}
