//! The destination of reports, parsed from the text that the user typed.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use looptax_model::dsn::{Address, Protocol, Query, Secret, shown};
use url::{Host, Url};

use crate::FleetError;

/// ClickHouse's default ports.
const HTTP_PORT: u16 = 8123;
const HTTPS_PORT: u16 = 8443;
/// The parameters that a PostgreSQL address may have after its `?`.
const OF_POSTGRES: [&str; 7] = ["host", "hostaddr", "port", "user", "password", "dbname", "sslmode"];
/// Maximum number of characters in a name that is written into SQL.
const MOST_NAME_CHARS: usize = 64;

/// The address of a collector. `{}` prints it without its password.
#[derive(Debug, Clone)]
pub struct Destination {
    pub place: Place,
    shown: String,
}

#[derive(Debug, Clone)]
pub enum Place {
    ClickHouse(ClickHouseAt),
    Postgres(PostgresAt),
    /// A folder in which each report becomes a file.
    Folder(PathBuf),
    Output,
}

#[derive(Debug, Clone)]
pub struct ClickHouseAt {
    /// A host name or an IP address; an IPv6 address is in brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: Option<Secret>,
    /// An identifier: letters, digits and `_`.
    pub(crate) database: String,
    pub(crate) is_sealed: bool,
}

#[derive(Debug, Clone)]
pub struct PostgresAt {
    pub(crate) address: Address,
    pub(crate) sealing: Sealing,
}

/// How a connection to PostgreSQL is encrypted, and what is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sealing {
    /// `disable`: not encrypted.
    None,
    /// `require`: encrypted, but the server's identity is not checked.
    Unchecked,
    /// `verify-ca`: the certificate must be issued by a trusted authority.
    Authority,
    /// `verify-full`: the certificate must also be issued for the host.
    Full,
}

impl Destination {
    /// Parses `clickhouse://…`, `postgres://…`, a folder's path, or `-`.
    ///
    /// # Errors
    /// [`FleetError::Destination`], which never contains the password.
    pub fn parse(text: &str) -> Result<Self, FleetError> {
        let place = match text {
            "-" => Place::Output,
            "" => return Err(wrong("its URL is empty")),
            _ if text.starts_with("clickhouse:") => Place::ClickHouse(clickhouse(text)?),
            _ if text.contains("://") => Place::Postgres(postgres(text)?),
            // A mistyped address must not become the name of a folder, because the address could contain a password.
            _ if text.contains("//") || text.contains(['@', ':']) => {
                return Err(wrong(
                    "the address is neither a URL nor the path of a folder (a path cannot contain `//`, `@` or `:`)",
                ));
            }
            _ => Place::Folder(PathBuf::from(text)),
        };
        let shown = match place {
            Place::Output => "standard output".to_owned(),
            Place::Folder(_) => text.to_owned(),
            Place::ClickHouse(_) | Place::Postgres(_) => shown(text),
        };
        Ok(Self { place, shown })
    }

    pub fn has_password(&self) -> bool {
        match &self.place {
            Place::ClickHouse(it) => it.password.is_some(),
            Place::Postgres(it) => it.address.password.is_some(),
            Place::Folder(_) | Place::Output => false,
        }
    }

    /// Returns a warning that is shown before anything is sent, if other people could read the data on the way.
    pub fn caution(&self) -> Option<&'static str> {
        match &self.place {
            Place::ClickHouse(it) if !it.is_sealed && !is_here(&it.host) => Some(
                "the collector is another machine, and the connection has no TLS: others on the network can read \
                 reports and password (?secure=true encrypts them)",
            ),
            Place::Postgres(it) if it.sealing == Sealing::Unchecked => Some(
                "sslmode=require encrypts the connection but does not check the server's certificate; \
                 sslmode=verify-full checks the certificate too",
            ),
            Place::Postgres(it) if it.sealing == Sealing::None && !it.is_here() => Some(
                "sslmode=disable: others on the network can read reports; looptax uses the password only if the server \
                 asks for SCRAM",
            ),
            _ => None,
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl PostgresAt {
    pub(crate) fn is_here(&self) -> bool {
        self.address.socket.is_some() || is_here(self.address.host.as_deref().unwrap_or_default())
    }
}

fn clickhouse(text: &str) -> Result<ClickHouseAt, FleetError> {
    let url = Url::parse(text).map_err(|error| wrong(&format!("the URL is invalid: {error}")))?;
    let host = match url.host() {
        Some(Host::Ipv6(address)) => format!("[{address}]"),
        Some(host) if !host.to_string().is_empty() => host.to_string(),
        _ => return Err(wrong("the URL has no host")),
    };
    let query = Query::new(url.query().unwrap_or_default());
    let is_sealed = match query.value(&["secure"]).as_deref() {
        None | Some("false" | "0") => false,
        Some("true" | "1") => true,
        Some(_) => return Err(wrong("`secure=` has to be true or false")),
    };
    refuse_others(query, &["secure"])?;
    let database = url.path().trim_matches('/');
    if !is_identifier(database) {
        return Err(wrong(
            "write the database after the host: letters, digits and `_`, as in clickhouse://user@host/looptax",
        ));
    }
    let user = decoded(url.username())?;
    let password = url.password().map(decoded).transpose()?;
    Ok(ClickHouseAt {
        host,
        port: url.port().unwrap_or(if is_sealed { HTTPS_PORT } else { HTTP_PORT }),
        user: if user.is_empty() { "default".to_owned() } else { user },
        password: password.map(Secret::new),
        database: database.to_owned(),
        is_sealed,
    })
}

fn postgres(text: &str) -> Result<PostgresAt, FleetError> {
    let address = Address::parse(text).map_err(|error| wrong(&error.to_string()))?;
    if address.protocol != Protocol::Postgres {
        return Err(wrong("a collector is clickhouse://…, postgres://…, a folder, or -"));
    }
    if address.user.is_none() {
        return Err(wrong("the URL has no user; write a user, as in postgres://user@host/looptax"));
    }
    let query = Query::from_text(text);
    refuse_others(query, &OF_POSTGRES)?;
    let mode = query.value(&["sslmode"]);
    let mut found = PostgresAt { address, sealing: Sealing::None };
    found.sealing = match mode.as_deref() {
        None if found.is_here() => Sealing::None,
        None | Some("verify-full") => Sealing::Full,
        Some("disable") => Sealing::None,
        Some("require") => Sealing::Unchecked,
        Some("verify-ca") => Sealing::Authority,
        Some(_) => {
            return Err(wrong(
                "`sslmode=` has to be verify-full, verify-ca, require or disable: with other modes a connection may \
                 silently be unencrypted",
            ));
        }
    };
    Ok(found)
}

/// Returns an error for an unknown parameter: the user may have mistyped a parameter that turns encryption on.
fn refuse_others(query: Query<'_>, known: &[&str]) -> Result<(), FleetError> {
    let mut names = query.pairs().map(|pair| pair.name());
    match names.find(|name| !known.contains(&&**name)) {
        Some(name) => {
            let name = crate::text::cleaned(&name);
            Err(wrong(&format!("the URL has an unknown parameter `{name}=`")))
        }
        None => Ok(()),
    }
}

fn decoded(text: &str) -> Result<String, FleetError> {
    // In an address `+` means a plus sign; only in form data would it mean a space.
    let pair = format!("x={}", text.replace('+', "%2B"));
    let value = Query::new(&pair).value(&["x"]).unwrap_or_default();
    if value.contains('\u{fffd}') {
        return Err(wrong("user or password is not UTF-8 after decoding %XX"));
    }
    Ok(value)
}

/// Whether a host is this machine, according to its name only.
fn is_here(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = bare.parse::<IpAddr>().is_ok_and(|it| it.is_loopback());
    is_loopback || bare.eq_ignore_ascii_case("localhost") || bare.is_empty()
}

/// Whether a name can be written into SQL without quotes.
pub(crate) fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    let begins = chars.next().is_some_and(|it| it.is_ascii_alphabetic() || it == '_');
    begins && name.len() <= MOST_NAME_CHARS && chars.all(|it| it.is_ascii_alphanumeric() || it == '_')
}

fn wrong(what: &str) -> FleetError {
    FleetError::Destination { what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, words: &str) {
        let said = Destination::parse(text).unwrap_err().to_string();
        assert!(said.contains(words), "{text}: {said}");
        assert!(!said.contains("s3cret"), "{said}");
    }

    #[test]
    fn addresses_are_read_and_shown_without_their_password() {
        let there = Destination::parse("clickhouse://u:s3cret%40+@db.example/looptax?secure=true");
        let there = there.unwrap();
        let Place::ClickHouse(at) = &there.place else {
            panic!("{there:?}");
        };
        assert_eq!((&*at.host, at.port, &*at.user), ("db.example", 8443, "u"));
        assert_eq!(at.password.as_ref().unwrap().reveal(), "s3cret@+");
        assert!(!format!("{there} {there:?}").contains("s3cret"));
        assert!(there.caution().is_none());
        assert!(matches!(Destination::parse("-").unwrap().place, Place::Output));
        assert!(matches!(Destination::parse("/var/x").unwrap().place, Place::Folder(_)));
        let there = Destination::parse("clickhouse://[::1]/looptax").unwrap();
        assert!(there.caution().is_none(), "{there:?}");
    }

    #[test]
    fn a_server_elsewhere_is_checked_unless_somebody_says_otherwise() {
        let sealing = |text: &str| match Destination::parse(text).unwrap().place {
            Place::Postgres(at) => at.sealing,
            other => panic!("{other:?}"),
        };
        assert_eq!(sealing("postgres://u@db.example/x"), Sealing::Full);
        assert_eq!(sealing("postgres://u@127.0.0.1/x"), Sealing::None);
        assert_eq!(sealing("postgres://u@/x?host=/run/postgresql"), Sealing::None);
        assert_eq!(sealing("postgres://u@127.0.0.1/x?sslmode=verify-ca"), Sealing::Authority);
        assert_eq!(sealing("postgres://u@db.example/x?sslmode=require"), Sealing::Unchecked);
        let clear = Destination::parse("postgres://u@db.example/x?sslmode=disable").unwrap();
        assert!(clear.caution().unwrap().contains("SCRAM"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        refused("", "empty");
        refused("clickhouse://u:s3cret@h/a'b", "database");
        refused("clickhouse://u:s3cret@h/", "database");
        refused("clickhouse://u:s3cret@/x", "host");
        refused("clickhouse://u:s3cret@h/x?secure=maybe", "secure");
        refused("clickhouse://u@h/x?password=s3cret", "unknown parameter");
        refused("postgres://u:s3cret@h/x?sslmod=verify-full", "unknown parameter");
        refused("mysql://u:s3cret@h/x", "a collector is");
        refused("ftp://u:s3cret@h/x", "ftp");
        refused("postgres://h/x", "no user");
        refused("postgres://u:s3cret@h/x?sslmode=prefer", "sslmode");
    }
}
