//! The URL that people have, over TCP or over a socket already.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use looptax_wire::Secret;
use percent_encoding::percent_decode_str;
use url::Url;

/// What speaks at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Product {
    /// MySQL, MariaDB, Percona.
    Mysql,
    /// PostgreSQL, `PgBouncer`.
    Postgres,
    /// Redis, Valkey, `KeyDB`, Dragonfly.
    Redis,
    /// memcached.
    Memcached,
}

impl Product {
    /// The word for it: `mysql`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Postgres => "postgres",
            Self::Redis => "redis",
            Self::Memcached => "memcached",
        }
    }

    /// The port that goes without saying.
    pub const fn port(self) -> u16 {
        match self {
            Self::Mysql => 3306,
            Self::Postgres => 5432,
            Self::Redis => 6379,
            Self::Memcached => 11_211,
        }
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a database is, and who we are there.
#[derive(Debug, Clone)]
pub struct Address {
    /// What it is.
    pub product: Product,
    /// Host as it was written; `None` where there was none.
    pub host: Option<String>,
    /// Port, written or usual.
    pub port: u16,
    /// User.
    pub user: Option<String>,
    /// Password.
    pub password: Option<Secret>,
    /// Database, or Redis' number.
    pub database: Option<String>,
    /// Socket, where the URL names one: for PostgreSQL its folder.
    pub socket: Option<PathBuf>,
    /// What demands TLS, as it was written: `sslmode=require`.
    pub tls: Option<String>,
}

/// A URL that cannot be read. The text never holds the URL: there may be a password in it.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// It has no scheme, or is broken otherwise.
    #[error("the URL is broken: {source}")]
    Broken {
        /// Why.
        source: url::ParseError,
    },
    /// Its scheme belongs to nothing that is known.
    #[error("`{scheme}://` is no database that looptax knows")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// Some part of it is not UTF-8 when decoded.
    #[error("the URL's {part} is not UTF-8 once its %XX are decoded")]
    Encoding {
        /// Which part.
        part: &'static str,
    },
    /// It wants TLS, which there is not over a socket.
    #[error("`{scheme}://` asks for TLS, which no server of that kind has on its socket")]
    Tls {
        /// The scheme.
        scheme: String,
    },
}

impl Address {
    /// Reads a URL: `mysql://user:password@host:port/database`, with `socket=`, `unix_socket=` or (for
    /// PostgreSQL) `host=` in its query, a percent-encoded path as its host, or `unix:///path` and
    /// `redis+socket:///path` for Redis.
    ///
    /// # Errors
    /// See [`AddressError`].
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let (text, is_hostless) = with_host(text);
        let url = Url::parse(&text).map_err(|source| AddressError::Broken { source })?;
        let scheme = url.scheme();
        let (product, is_socket) = product_of(scheme)?;
        let path = decoded("path", url.path())?;
        let query = |names: &[&str]| {
            let mut pairs = url.query_pairs();
            pairs.find_map(|(key, value)| names.contains(&&*key).then(|| value.into_owned()))
        };
        let written = url
            .host_str()
            .filter(|host| !host.is_empty() && !is_hostless);
        let host = match written {
            Some(host) => Some(decoded("host", host)?),
            None => None,
        };
        let named = query(match product {
            Product::Postgres => &["host"],
            _ => &[
                "socket",
                "unix_socket",
                "unixsocket",
                "localSocket",
                "socketPath",
            ],
        });
        let encoded = host.clone().filter(|host| host.starts_with('/'));
        let socket = named
            .filter(|path| path.starts_with(['/', '@']))
            .or(encoded)
            .or_else(|| is_socket.then(|| path.clone()))
            .map(PathBuf::from);
        let database = if is_socket {
            query(&["db", "database", "virtual_host"])
        } else {
            let name = path.strip_prefix('/').unwrap_or(&path);
            (!name.is_empty())
                .then(|| name.to_owned())
                .or_else(|| query(&["dbname"]))
        };
        // libpq takes host and port from the query as well, and they win.
        let named_host = (product == Product::Postgres)
            .then(|| query(&["host"]))
            .flatten()
            .filter(|host| !host.starts_with(['/', '@']) && !host.is_empty());
        let named_port = (product == Product::Postgres)
            .then(|| query(&["port"])?.parse().ok())
            .flatten();
        let user = decoded("user", url.username())?;
        let password = match url.password() {
            Some(password) => Some(Secret::new(decoded("password", password)?)),
            None => query(&["password"]).map(Secret::new),
        };
        Ok(Self {
            product,
            host: named_host.or_else(|| host.filter(|host| !host.starts_with('/'))),
            port: named_port.or(url.port()).unwrap_or(product.port()),
            user: (!user.is_empty())
                .then_some(user)
                .or_else(|| query(&["user"])),
            password,
            database,
            socket,
            tls: demanded_tls(&url),
        })
    }
}

/// The part of the query that demands TLS, in the words of any driver.
fn demanded_tls(url: &Url) -> Option<String> {
    const KEYS: [&str; 6] = ["sslmode", "ssl-mode", "ssl", "tls", "usessl", "requiressl"];
    const WISHES: [&str; 8] = [
        "disable",
        "disabled",
        "allow",
        "prefer",
        "preferred",
        "false",
        "0",
        "",
    ];
    let mut pairs = url.query_pairs();
    let (key, value) = pairs.find(|(key, value)| {
        KEYS.contains(&&*key.to_ascii_lowercase())
            && !WISHES.contains(&&*value.to_ascii_lowercase())
    })?;
    Some(format!("{key}={value}"))
}

/// `unix://user:password@/path` has a user and no host, which the parser refuses: it gets one, and the
/// flag says so.
fn with_host(text: &str) -> (Cow<'_, str>, bool) {
    let Some((scheme, rest)) = text.split_once("://") else {
        return (text.into(), false);
    };
    let authority_bytes = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(authority_bytes);
    if !authority.ends_with('@') {
        return (text.into(), false);
    }
    (format!("{scheme}://{authority}none{path}").into(), true)
}

/// What a scheme stands for, and whether it is that of a socket.
fn product_of(scheme: &str) -> Result<(Product, bool), AddressError> {
    // SQLAlchemy names the driver behind a plus.
    let base = match scheme {
        "redis+socket" | "redis+unix" | "valkey+unix" | "redis-socket" | "unix" => {
            return Ok((Product::Redis, true));
        }
        "rediss" | "valkeys" => {
            return Err(AddressError::Tls {
                scheme: scheme.to_owned(),
            });
        }
        _ => scheme.split('+').next().unwrap_or(scheme),
    };
    match base {
        "mysql" | "mysql2" | "mariadb" | "trilogy" => Ok((Product::Mysql, false)),
        "postgres" | "postgresql" | "pgsql" => Ok((Product::Postgres, false)),
        "redis" | "valkey" => Ok((Product::Redis, false)),
        "memcached" | "memcache" => Ok((Product::Memcached, false)),
        _ => Err(AddressError::Scheme {
            scheme: scheme.to_owned(),
        }),
    }
}

fn decoded(part: &'static str, text: &str) -> Result<String, AddressError> {
    let text = percent_decode_str(text).decode_utf8();
    text.map(Cow::into_owned)
        .map_err(|_| AddressError::Encoding { part })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `product host port user password database socket`, `-` for none.
    #[track_caller]
    fn check(url: &str, expected: &str) {
        let found = Address::parse(url).unwrap();
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let shown = [
            found.product.to_string(),
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
        check(
            "mysql://u:p@127.0.0.1:3307/db",
            "mysql 127.0.0.1 3307 u p db -",
        );
        check("mysql://u@localhost/db", "mysql localhost 3306 u - db -");
        check(
            "mysql://u:p%40%2F%3A%25%3F%23@localhost",
            "mysql localhost 3306 u p@/:%?# - -",
        );
        check("postgres://u:p@[::1]/d", "postgres [::1] 5432 u p d -");
        check(
            "postgresql+psycopg2://ü:%C3%A4@h/d%20b",
            "postgres h 5432 ü ä d b -",
        );
        check(
            "redis://:pw@127.0.0.1:6380/2",
            "redis 127.0.0.1 6380 - pw 2 -",
        );
        check("memcached://127.0.0.1", "memcached 127.0.0.1 11211 - - - -");
    }

    #[test]
    fn addresses_over_a_socket_are_read_in_every_dialect_of_urls() {
        check(
            "mysql://u@localhost/d?unix_socket=/run/my%20sql.sock",
            "mysql localhost 3306 u - d /run/my sql.sock",
        );
        check(
            "mysql://u:p@%2Frun%2Fmysqld%2Fmysqld.sock/d",
            "mysql - 3306 u p d /run/mysqld/mysqld.sock",
        );
        check(
            "postgresql:///d?host=/run/postgresql&user=u",
            "postgres - 5432 u - d /run/postgresql",
        );
        check(
            "postgres://u@%2Frun%2Fpostgresql:5433/d",
            "postgres - 5433 u - d /run/postgresql",
        );
        check("postgres://u@h/d?host=other", "postgres other 5432 u - d -");
        check(
            "postgres:///d?host=/run/pg&port=5433",
            "postgres - 5433 - - d /run/pg",
        );
        check(
            "unix://u:p@/run/redis.sock?db=3",
            "redis - 6379 u p 3 /run/redis.sock",
        );
        check(
            "redis+socket:///run/redis.sock?virtual_host=1",
            "redis - 6379 - - 1 /run/redis.sock",
        );
    }

    #[test]
    fn a_url_that_cannot_be_read_is_told_without_its_password() {
        for url in [
            "mysql://u:secret@h:port/d",
            "secret",
            "oracle://u:secret@h/d",
            "rediss://:secret@h",
        ] {
            let error = Address::parse(url).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
