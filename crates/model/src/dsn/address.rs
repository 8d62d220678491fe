//! Reads an address of a database as users write it: a URL over TCP or over a socket, or libpq's keywords.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use url::Url;

use crate::dsn::keywords::keywords;
use crate::dsn::scheme::{instead_of, is_sealed, protocol_of};
use crate::dsn::shown::{is_path, with_host};
use crate::dsn::{Condition, Protocol, Query, Secret};

/// The address of a database, and the account that logs in.
#[derive(Debug, Clone)]
pub struct Address {
    pub protocol: Protocol,
    /// Host as it was written; `None` if the address has no host.
    pub host: Option<String>,
    pub port: u16,
    pub user: Option<String>,
    pub password: Option<Secret>,
    pub database: Option<String>,
    /// The socket, if the URL names a socket; for PostgreSQL, the folder of the socket.
    pub socket: Option<PathBuf>,
    /// The parameters that demand TLS, as they were written: `sslmode=require`, `rediss://`; several parameters are
    /// separated by a space.
    pub tls: Option<String>,
    /// The parameter that rules TLS out, as it was written: `sslmode=disable`.
    pub no_tls: Option<String>,
    /// Path and query of a page of HTTP, as they were written.
    pub page: Option<String>,
    /// `MongoDB`: the database that holds the account, if the URL names it (`authSource`).
    pub accounts: Option<String>,
    /// The options for `MongoDB`'s drivers in the URL's query, as they are written. One of the options may be secret.
    pub options: Option<Secret>,
    /// Names of the parameters that looptax ignores.
    pub unread: Vec<String>,
    /// PostgreSQL: conditions that the parameters set for libpq, and that a connection over a socket may not meet.
    pub conditions: Vec<Condition>,
}

/// The parts of a URL or a keyword string. If several parts contradict each other, it is not yet decided which part
/// applies.
struct Parts {
    protocol: Protocol,
    /// Whether the URL's path is the path of a socket.
    is_socket: bool,
    host: Option<String>,
    port: Option<u16>,
    user: String,
    password: Option<String>,
    path: String,
    pairs: Vec<(String, String)>,
    /// The URL's scheme as it was written, if it demands TLS.
    sealed: Option<String>,
    /// See [`Address::page`].
    page: Option<String>,
    /// See [`Address::options`].
    options: Option<Secret>,
}

/// Parameters that name a socket, for all drivers except libpq: libpq has the socket's folder in `host`.
const SOCKETS: [&str; 5] = ["socket", "unix_socket", "unixsocket", "localSocket", "socketPath"];
/// Parameters that are read for every protocol.
const EVERYWHERE: [&str; 6] = ["user", "password", "port", "dbname", "database", "db"];
/// `MongoDB`'s parameter for the database that holds the account.
const ACCOUNTS: &str = "authSource";
/// Parameters about TLS, in the spelling of any driver.
const TLS: [&str; 6] = ["sslmode", "ssl-mode", "ssl", "tls", "usessl", "requiressl"];
/// The parameter of libpq (17 and later) that decides how TLS begins. The value `direct` demands TLS. The command
/// `compare` always begins TLS as with the value `postgres`.
const NEGOTIATION: &str = "sslnegotiation";
/// Values of the parameters in `TLS` that rule out TLS.
const NO_TLS: [&str; 4] = ["disable", "disabled", "false", "0"];
/// Values of the parameters in `TLS` that neither demand TLS nor rule it out.
const WISHES: [&str; 5] = ["allow", "prefer", "preferred", "postgres", ""];

/// A URL that cannot be read. The error's text never contains the URL, which may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The text does not begin like a URL.
    #[error("this is not a DSN: a DSN begins with the protocol, as in mysql://, postgres:// or redis://")]
    NoScheme,
    #[error("the URL is invalid: {source}")]
    Broken { source: url::ParseError },
    #[error("`{scheme}://` is not a database that looptax knows{}", instead_of(.scheme))]
    Scheme { scheme: String },
    /// The URL's port is not a valid port number.
    #[error("the port is not a number from 1 to 65535")]
    Port,
    /// Some part of the URL is not UTF-8 when decoded.
    #[error("the URL's {part} is not UTF-8 after decoding %XX")]
    Encoding { part: &'static str },
}

impl Address {
    /// Makes an address that holds only the protocol.
    pub const fn bare(protocol: Protocol) -> Self {
        Self {
            protocol,
            host: None,
            port: protocol.port(),
            user: None,
            password: None,
            database: None,
            socket: None,
            tls: None,
            no_tls: None,
            page: None,
            accounts: None,
            options: None,
            unread: Vec::new(),
            conditions: Vec::new(),
        }
    }

    /// Reads a URL: `mysql://user:password@host:port/database`, with `socket=`, `unix_socket=` or (for PostgreSQL)
    /// `host=` in its query, or with a percent-encoded path as its host. Also reads `unix:///path` and
    /// `redis+socket:///path` for Redis, `fastcgi:///path`, `memcached:///path`, nginx's `http://unix:/path:/page`, and
    /// libpq's `host=… user=… password=…`.
    ///
    /// # Errors
    /// See [`AddressError`].
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        match keywords(text) {
            Some(pairs) => Parts::of_keywords(&pairs),
            None => Parts::of_url(text)?,
        }
        .address()
    }

    /// Returns the address that libpq makes of these parameters.
    ///
    /// # Errors
    /// Fails if the port is not a number.
    pub fn of_libpq(parameters: &[(String, String)]) -> Result<Self, AddressError> {
        Parts::of_keywords(parameters).address()
    }

    /// Reads an address to which looptax can log in. Refuses the URL of a page in the same way as an unknown scheme.
    ///
    /// # Errors
    /// See [`AddressError`].
    pub fn parse_login(text: &str) -> Result<Self, AddressError> {
        let address = Self::parse(text)?;
        match address.protocol {
            Protocol::Fastcgi | Protocol::Http => {
                Err(AddressError::Scheme { scheme: text.split(':').next().unwrap_or_default().to_owned() })
            }
            _ => Ok(address),
        }
    }

    /// Returns the socket's file. PostgreSQL's clients get only the folder that contains this file.
    pub fn socket_file(&self) -> Option<PathBuf> {
        let path = self.socket.as_deref()?;
        Some(match self.protocol {
            Protocol::Postgres if !is_postgres_file(path) => path.join(format!(".s.PGSQL.{}", self.port)),
            _ => path.to_owned(),
        })
    }
}

/// Checks whether the path is the path of PostgreSQL's socket, not the path of the socket's folder.
fn is_postgres_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with(".s.PGSQL.")
}

impl Parts {
    fn of_keywords(all: &[(String, String)]) -> Self {
        // If a name occurs twice, libpq uses the last value.
        let is_last = |(idx, (name, _)): &(usize, &(String, String))| all[idx + 1..].iter().all(|it| it.0 != *name);
        let pairs = all.iter().enumerate().filter(is_last).map(|(_, it)| it.clone()).collect();
        Self {
            protocol: Protocol::Postgres,
            is_socket: false,
            host: None,
            port: None,
            user: String::new(),
            password: None,
            path: String::new(),
            pairs,
            sealed: None,
            page: None,
            options: None,
        }
    }

    fn of_url(text: &str) -> Result<Self, AddressError> {
        if !text.contains("://") {
            return Err(AddressError::NoScheme);
        }
        let (text, is_hostless) = with_host(text);
        let url = Url::parse(&text).map_err(|source| AddressError::Broken { source })?;
        let unknown = || AddressError::Scheme { scheme: url.scheme().to_owned() };
        let (protocol, is_socket) = protocol_of(url.scheme()).ok_or_else(unknown)?;
        let written = url.host_str().filter(|host| !host.is_empty() && !is_hostless);
        let names_path = matches!(protocol, Protocol::Fastcgi | Protocol::Memcached);
        let is_socket = is_socket || written.is_none() && names_path && url.path().len() > 1;
        // The part after the host is the path and query of the page.
        let page = (protocol == Protocol::Http).then(|| page_of(&url));
        let query = Query::new(url.query().filter(|_| page.is_none()).unwrap_or_default());
        Ok(Self {
            protocol,
            is_socket,
            host: written.map(|host| decoded("host", host)).transpose()?,
            port: url.port(),
            user: decoded("user", url.username())?,
            password: url.password().map(|it| decoded("password", it)).transpose()?,
            path: match page {
                Some(_) => String::new(),
                None => decoded("path", url.path())?,
            },
            pairs: query.pairs().map(|pair| (pair.name(), pair.value())).collect(),
            sealed: is_sealed(url.scheme()).then(|| format!("{}://", url.scheme())),
            page,
            options: options_of(query).filter(|_| protocol == Protocol::Mongodb),
        })
    }

    /// Returns the values for libpq, by the names of its parameters.
    fn of_libpq(self) -> Vec<(String, String)> {
        let database = self.path.trim_start_matches('/').to_owned();
        let own = [
            ("host", self.host),
            ("port", self.port.map(|it| it.to_string())),
            ("user", Some(self.user).filter(|it| !it.is_empty())),
            ("password", self.password),
            ("dbname", Some(database).filter(|it| !it.is_empty())),
        ];
        let own = own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        own.chain(self.pairs).collect()
    }

    /// Returns the value of the first parameter that has one of these names.
    fn named(&self, names: &[&str]) -> Option<&str> {
        let mut pairs = self.pairs.iter();
        let (_, value) = pairs.find(|(name, _)| names.contains(&&**name))?;
        Some(value)
    }

    /// Decides which of several parts applies. libpq also reads host and port from the parameters, and these
    /// parameters take precedence.
    fn address(self) -> Result<Address, AddressError> {
        let own = |names: &[&str]| self.named(names).map(str::to_owned);
        let is_postgres = self.protocol == Protocol::Postgres;
        let is_mongodb = self.protocol == Protocol::Mongodb;
        // If the text lists several hosts, libpq uses the first host that answers; looptax uses the first host in the
        // list. `hostaddr` takes precedence over `host`. An empty `host` replaces the URL's host.
        let first =
            |text| self.named(&[text]).filter(|_| is_postgres).map(|it| it.split(',').next().unwrap_or_default());
        let ip = first("hostaddr").filter(|it| !it.is_empty());
        let named_host = ip.or_else(|| first("host").filter(|host| !is_path(host) && !host.is_empty()));
        let is_emptied = first("host") == Some("");
        let own_host = self
            .host
            .as_deref()
            .map(|host| if is_postgres { host.split(',').next().unwrap_or_default() } else { host });
        // If the host is a path, a Redis client still treats the path as a host name.
        let takes_path = self.protocol != Protocol::Redis;
        let is_encoded =
            takes_path && own_host.is_some_and(|host| host.starts_with('/') || is_postgres && host.starts_with('@'));
        let named_socket = if is_postgres { first("host") } else { self.named(&SOCKETS) };
        let socket = match named_socket.filter(|path| is_path(path)) {
            _ if ip.is_some() || is_emptied => None,
            Some(path) => Some(path),
            None if is_encoded => own_host,
            None => self.is_socket.then_some(&*self.path),
        };
        let in_path = self.path.strip_prefix('/').unwrap_or(&self.path);
        let database = match (self.is_socket, in_path) {
            (true, _) => own(&["db", "database", "virtual_host"]),
            (false, "") => own(&["dbname"]).or_else(|| own(&["database"])).or_else(|| own(&["db"])),
            (false, name) => Some(name.to_owned()),
        };
        let port = match self.named(&["port"]).filter(|port| !port.is_empty()) {
            Some(port) => Some(port.parse().map_err(|_| AddressError::Port)?),
            None => self.port,
        };
        let user = match &*self.user {
            "" => own(&["user"]),
            user => Some(user.to_owned()),
        };
        let password = self.password.clone().or_else(|| own(&["password"]));
        if port == Some(0) {
            return Err(AddressError::Port);
        }
        Ok(Address {
            protocol: self.protocol,
            host: match named_host {
                Some(host) => Some(host.to_owned()),
                None => own_host.filter(|_| !is_encoded && !is_emptied).map(str::to_owned),
            },
            port: port.unwrap_or(self.protocol.port()),
            user,
            password: password.map(Secret::new),
            database,
            socket: socket.map(PathBuf::from),
            tls: self.tls(|value| !NO_TLS.contains(&value) && !WISHES.contains(&value)).or(self.sealed.clone()),
            no_tls: self.tls(|value| NO_TLS.contains(&value)),
            page: self.page.clone(),
            accounts: own(&[ACCOUNTS]).filter(|_| is_mongodb),
            options: self.options.clone(),
            unread: self.unread(),
            conditions: if is_postgres { self.conditions() } else { Vec::new() },
        })
    }

    /// Returns the parameters about TLS whose value `is_wanted` accepts; `is_wanted` gets the value in lower case.
    fn tls(&self, is_wanted: impl Fn(&str) -> bool) -> Option<String> {
        let is_about_tls = |name: &str| TLS.contains(&name) || name == NEGOTIATION;
        let wanted = self
            .pairs
            .iter()
            .filter(|(name, value)| is_about_tls(&name.to_ascii_lowercase()) && is_wanted(&value.to_ascii_lowercase()));
        let texts: Vec<String> = wanted.map(|(name, value)| format!("{name}={value}")).collect();
        (!texts.is_empty()).then(|| texts.join(" "))
    }

    fn conditions(&self) -> Vec<Condition> {
        self.pairs.iter().filter_map(|(name, value)| Condition::of(name, value)).collect()
    }

    /// Returns the names of the parameters that [`Self::address`] does not use.
    fn unread(&self) -> Vec<String> {
        let is_read = |(name, value): &(String, String)| match &**name {
            "host" | "hostaddr" => self.protocol == Protocol::Postgres,
            "virtual_host" => self.is_socket,
            ACCOUNTS | "directConnection" if self.protocol == Protocol::Mongodb => true,
            "authMechanism" if self.protocol == Protocol::Mongodb => value == "SCRAM-SHA-256",
            name if SOCKETS.contains(&name) => self.protocol != Protocol::Postgres && is_path(value),
            name => EVERYWHERE.contains(&name) || TLS.contains(&&*name.to_ascii_lowercase()),
        };
        let unread = self.pairs.iter().filter(|pair| !is_read(pair));
        unread.map(|(name, _)| name.clone()).collect()
    }
}

/// Returns the parameters that libpq reads from the text; `None` if the text is neither a keyword string nor a
/// PostgreSQL URL.
pub fn libpq_parameters(text: &str) -> Option<Vec<(String, String)>> {
    if let Some(pairs) = keywords(text) {
        return Some(pairs);
    }
    let parts = Parts::of_url(text).ok()?;
    (parts.protocol == Protocol::Postgres).then(|| parts.of_libpq())
}

/// Checks whether the text is meant as an address that [`Address`] reads.
pub fn is_address(text: &str) -> bool {
    text.contains("://") || keywords(text).is_some()
}

/// Returns the query without the parameters that looptax reads for the socket and the login; `MongoDB`'s drivers do not
/// read these parameters from a query.
fn options_of(query: Query<'_>) -> Option<Secret> {
    let is_option = |name: &str| !EVERYWHERE.contains(&name) && !SOCKETS.contains(&name);
    let pairs = query.pairs().filter(|pair| is_option(&pair.name()));
    let texts: Vec<&str> = pairs.map(|pair| pair.text).collect();
    (!texts.is_empty()).then(|| Secret::new(texts.join("&")))
}

fn page_of(url: &Url) -> String {
    let path = Some(url.path()).filter(|it| !it.is_empty()).unwrap_or("/");
    match url.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    }
}

fn decoded(part: &'static str, text: &str) -> Result<String, AddressError> {
    let text = percent_decode_str(text).decode_utf8();
    text.map(Cow::into_owned).map_err(|_| AddressError::Encoding { part })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected` is `protocol host port user password database socket`, with `-` for a missing part.
    #[track_caller]
    fn check(url: &str, expected: &str) {
        let found = Address::parse(url).unwrap();
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let shown = [
            found.protocol.to_string(),
            or_dash(found.host),
            found.port.to_string(),
            or_dash(found.user),
            or_dash(found.password.map(|it| it.reveal().to_owned())),
            or_dash(found.database),
            or_dash(found.socket.map(|it| it.display().to_string())),
        ];
        assert_eq!(shown.join(" "), expected, "{url}");
    }

    #[test]
    fn addresses_over_tcp_are_read_with_their_awkward_passwords() {
        check("mysql://u:p@127.0.0.1:3307/db", "mysql 127.0.0.1 3307 u p db -");
        check("mysql://u@localhost/db", "mysql localhost 3306 u - db -");
        check("mysql://u:p%40%2F%3A%25%3F%23@localhost", "mysql localhost 3306 u p@/:%?# - -");
        check("postgres://u:p@[::1]/d", "postgres [::1] 5432 u p d -");
        check("postgresql+psycopg2://ü:%C3%A4@h/d%20b", "postgres h 5432 ü ä d b -");
        check("redis://:pw@127.0.0.1:6380/2", "redis 127.0.0.1 6380 - pw 2 -");
        check("memcached://127.0.0.1", "memcached 127.0.0.1 11211 - - - -");
        check("mongodb://u:p%40@127.0.0.1/app?authSource=admin", "mongodb 127.0.0.1 27017 u p@ app -");
    }

    #[test]
    fn addresses_over_a_socket_are_read_in_every_dialect_of_urls() {
        check("mysql://u@localhost/d?unix_socket=/run/my%20sql.sock", "mysql localhost 3306 u - d /run/my sql.sock");
        check("mysql://u:p@%2Frun%2Fmysqld%2Fmysqld.sock/d", "mysql - 3306 u p d /run/mysqld/mysqld.sock");
        check("postgresql:///d?host=/run/postgresql&user=u", "postgres - 5432 u - d /run/postgresql");
        check("postgres://u@%2Frun%2Fpostgresql:5433/d", "postgres - 5433 u - d /run/postgresql");
        check("postgres://u@h/d?host=other", "postgres other 5432 u - d -");
        check("postgres:///d?host=/run/pg&port=5433", "postgres - 5433 - - d /run/pg");
        check("mongodb://u:p@%2Ftmp%2Fmongodb-27017.sock/app", "mongodb - 27017 u p app /tmp/mongodb-27017.sock");
        check("unix://u:p@/run/redis.sock?db=3", "redis - 6379 u p 3 /run/redis.sock");
        check("redis+socket:///run/redis.sock?virtual_host=1", "redis - 6379 - - 1 /run/redis.sock");
        check("fastcgi:///run/php/a%20b.sock", "php-fpm - 9000 - - - /run/php/a b.sock");
        check("fastcgi://localhost", "php-fpm localhost 9000 - - - -");
        check("memcached:///m.sock", "memcached - 11211 - - - /m.sock");
        check("http://unix:/a-b.sock:", "http - 80 - - - /a-b.sock");
    }

    #[test]
    fn keywords_are_read_as_libpq_reads_them() {
        check(
            r"host=127.0.0.1 port = 5433 user=u password='a b\'c' dbname=d\ e",
            "postgres 127.0.0.1 5433 u a b'c d e -",
        );
        check("host=/run/pg user=u", "postgres - 5432 u - - /run/pg");
        check("dbname=d hostaddr=::1 host=h sslmode=require", "postgres ::1 5432 - - d -");
        check("host=/run/pg port=1 host=h port=2", "postgres h 2 - - - -");
        for text in ["password='open", "colour=red", "host", "Host=h", "host=h x"] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parameters_stand_in_for_parts_and_what_means_nothing_is_named() {
        check("mysql://localhost?user=u&password=p&port=3307&dbname=d&socket=/s", "mysql localhost 3307 u p d /s");
        check("redis://h?db=2", "redis h 6379 - - 2 -");
        let found = Address::parse("mysql://h/d?charset=utf8&host=x&socket=s&ssl=0").unwrap();
        assert_eq!(found.unread, ["charset", "host", "socket"]);
        assert_eq!(found.no_tls.as_deref(), Some("ssl=0"));
        for (text, expected) in [
            ("postgres://h/d?sslnegotiation=direct&sslmode=require", Some("sslnegotiation=direct sslmode=require")),
            ("host=h sslnegotiation=direct", Some("sslnegotiation=direct")),
            ("sslnegotiation=postgres host=h", None),
        ] {
            let found = Address::parse(text).unwrap();
            assert_eq!(
                (found.tls.as_deref(), &*found.unread),
                (expected, &["sslnegotiation".to_owned()][..]),
                "{text}"
            );
        }
        let sealed = Address::parse("rediss://h:6390").unwrap();
        assert_eq!(sealed.tls.as_deref(), Some("rediss://"));
        let port = Address::parse("mysql://h?port=secret").unwrap_err();
        assert_eq!(port.to_string(), "the port is not a number from 1 to 65535");
    }

    #[test]
    fn options_of_mongodb_s_drivers_are_kept_as_they_are_written() {
        for (text, expected) in [
            ("mongodb://u@h/d?w=1&authSource=%24external", Some("w=1&authSource=%24external")),
            ("mongodb://h/d?socket=/s.sock&user=u&password=p", None),
            ("mongodb://h/d", None),
            ("mysql://h/d?w=1", None),
        ] {
            let found = Address::parse(text).unwrap().options;
            assert_eq!(found.as_ref().map(Secret::reveal), expected, "{text}");
        }
    }

    #[test]
    fn a_page_is_an_address_and_nobody_s_login() {
        let page = Address::parse("http://127.0.0.1:8000/shop?id=1").unwrap();
        assert_eq!((page.port, page.page.as_deref()), (8000, Some("/shop?id=1")));
        assert!(page.unread.is_empty() && page.database.is_none());
        let over_socket = Address::parse("http://unix:/run/s.sock:/shop").unwrap();
        assert_eq!(over_socket.page.as_deref(), Some("/shop"));
        for url in ["http://x", "fastcgi://127.0.0.1"] {
            let error = Address::parse_login(url).unwrap_err().to_string();
            assert!(error.contains("is not a database"), "{error}");
        }
        assert!(Address::parse_login("mysql://h").is_ok());
    }

    #[test]
    fn a_pooler_s_clients_are_told_what_they_speak() {
        let error = Address::parse("pgbouncer://h/d").unwrap_err().to_string();
        assert!(error.contains("write postgres://"), "{error}");
    }

    #[test]
    fn the_socket_of_postgres_is_a_file_in_its_folder() {
        for (text, expected) in [
            ("postgres:///d?host=/run/pg&port=7", "/run/pg/.s.PGSQL.7"),
            ("postgres:///d?host=/r/.s.PGSQL.9", "/r/.s.PGSQL.9"),
            ("mysql://h?socket=/run/s", "/run/s"),
        ] {
            let file = Address::parse(text).unwrap().socket_file().unwrap();
            assert_eq!(file, Path::new(expected), "{text}");
        }
    }

    #[test]
    fn a_url_that_cannot_be_read_is_told_without_its_password() {
        for url in ["mysql://u:secret@h:port/d", "secret", "oracle://u:secret@h/d"] {
            let error = Address::parse(url).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
