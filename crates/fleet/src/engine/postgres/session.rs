//! A session with a PostgreSQL server, which may be on another machine. The server's identity is checked before the
//! password is sent.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::Ordering;

use looptax_bench::path::{Checked, Endpoint, Limits, Link, TRUST_PEER, TlsClient, admit};
use looptax_model::dsn::Protocol;
use looptax_model::failure::with_causes;
use looptax_wire::postgres::{self, Clear, Connection};
use looptax_wire::{Login, WireError};

use super::super::access::Access;
use super::super::authorities;
use super::super::destination::{PostgresAt, Sealing};
use super::ddl;
use crate::text::cleaned;
use crate::{FleetError, Refusal};

/// Maximum number of addresses of a host name that are tried.
const MOST_ADDRESSES: usize = 4;

/// Prefixes of the SQLSTATEs that mean: the server cannot execute the statement now, but may be able to later. The
/// causes are the connection, resources, operator intervention, other transactions, objects in use, or a standby.
const LATER: [&str; 6] = ["08", "40", "53", "55P", "57", "25006"];

/// A session in which looptax is logged in.
pub(super) struct Session {
    pub(super) connection: Connection<Link>,
    /// The schema of the tables, quoted. It is part of every statement. In this session, a name without a schema refers
    /// only to the server's own objects. Otherwise the owner of another object with the same name could use the rights
    /// of the account that sends reports or queries.
    pub(super) schema: String,
    /// Host and port, or the socket, for error messages.
    to: String,
}

impl Session {
    /// # Errors
    /// The same as those of `Collector::open`.
    pub(super) fn open(at: &PostgresAt, access: &Access) -> Result<Self, FleetError> {
        let to = name_of(at);
        let limits = Limits { connect: access.connect_limit, io: access.answer_limit };
        let tls = sealing(at, access)?;
        let mut link = connect(at, limits, &to)?;
        let address = &at.address;
        if let Some(tls) = &tls {
            postgres::ask_for_tls(&mut link, limits.io).map_err(|error| meaning(&to, &error))?;
            link.start_tls(tls).map_err(|error| FleetError::Away {
                to: to.clone(),
                what: cleaned(&format!("cannot start TLS: {error}")),
            })?;
        }
        let is_private = tls.is_some() || at.is_here();
        let clear = if is_private { Clear::MayGo } else { Clear::NeverGoes };
        let password = address.password.clone().or_else(|| access.password.clone());
        let login = Login {
            user: address.user.clone().unwrap_or_default(),
            password: password.unwrap_or_default(),
            database: address.database.clone(),
            ..Login::default()
        };
        // A checked certificate proves the server's identity better than `admit` does.
        if !matches!(at.sealing, Sealing::Authority | Sealing::Full) {
            admit(Protocol::Postgres, &link, &login).map_err(|error| FleetError::Refused {
                to: to.clone(),
                refusal: Refusal::Login,
                what: cleaned(&format!("{}: {TRUST_PEER}", with_causes(&error))),
            })?;
        }
        let is_logged_in = link.is_logged_in();
        let connection = Connection::login_over(link, &login, clear, limits.io);
        is_logged_in.store(true, Ordering::Relaxed);
        let connection = connection.map_err(|error| meaning(&to, &error))?;
        let mut session = Self { connection, schema: String::new(), to };
        let own = "SELECT pg_catalog.quote_ident(pg_catalog.current_schema())";
        session.schema = session.column(own)?.concat();
        if session.schema.is_empty() {
            return Err(FleetError::Refused {
                to: session.to,
                refusal: Refusal::NoTables,
                what: "the account may not use any schema of its search_path".to_owned(),
            });
        }
        session.execute(&ddl::own_names())?;
        Ok(session)
    }

    /// Runs statements, and returns the number of rows that they changed.
    pub(super) fn execute(&mut self, sql: &str) -> Result<u64, FleetError> {
        let done = self.connection.execute(sql);
        done.map_err(|error| self.failed(&error))
    }

    /// Runs a query, and returns the first column of each row.
    pub(super) fn column(&mut self, sql: &str) -> Result<Vec<String>, FleetError> {
        let rows = self.connection.query(sql);
        let rows = rows.map_err(|error| self.failed(&error))?;
        let first = rows.into_iter().filter_map(|row| row.into_iter().next());
        Ok(first.map(|cell| cleaned(&String::from_utf8_lossy(&cell.unwrap_or_default()))).collect())
    }

    pub(super) fn failed(&self, error: &WireError) -> FleetError {
        meaning(&self.to, error)
    }

    pub(super) fn strange(&self, what: String) -> FleetError {
        FleetError::Answer { to: self.to.clone(), what }
    }
}

/// Runs `work` in a transaction, so that either all of its changes are made or none.
pub(super) fn in_transaction<T>(
    session: &mut Session,
    work: impl FnOnce(&mut Session) -> Result<T, FleetError>,
) -> Result<T, FleetError> {
    session.execute("BEGIN")?;
    let worked = work(session).and_then(|done| session.execute("COMMIT").map(|_| done));
    if worked.is_err() {
        // If ROLLBACK fails too, the session has ended, and its transaction has ended with it.
        let _ = session.execute("ROLLBACK");
    }
    worked
}

/// Converts an error of the connection to an error about the report.
fn meaning(to: &str, error: &WireError) -> FleetError {
    let to = to.to_owned();
    let what = cleaned(&looptax_model::failure::with_causes(error));
    match error {
        WireError::Server { code, .. } if LATER.iter().any(|it| code.starts_with(it)) => FleetError::Away { to, what },
        WireError::Server { code, .. } => FleetError::Refused { to, refusal: refusal(code), what },
        WireError::Io { .. } | WireError::Timeout { .. } | WireError::Closed { .. } => FleetError::Away { to, what },
        WireError::NoTls | WireError::Unsupported { .. } => FleetError::Refused { to, what, refusal: Refusal::Other },
        _ => FleetError::Answer { to, what },
    }
}

/// Returns the reason for a refusal from an error's SQLSTATE.
///
/// # Source
/// PostgreSQL's manual, appendix A: `undefined_table`, `invalid_schema_name`, `invalid_catalog_name`,
/// `insufficient_privilege`; class 22 means invalid data, 23 a violated constraint, 28 a failed login.
fn refusal(code: &str) -> Refusal {
    match code {
        "42P01" | "3F000" => Refusal::NoTables,
        "3D000" => Refusal::NoDatabase,
        "42501" => Refusal::Rights,
        _ => match code.get(..2) {
            Some("22" | "23") => Refusal::Row,
            Some("28") => Refusal::Login,
            _ => Refusal::Other,
        },
    }
}

/// Returns the session's TLS client, which checks the certificate as the destination requires.
fn sealing(at: &PostgresAt, access: &Access) -> Result<Option<TlsClient>, FleetError> {
    let checked = match at.sealing {
        Sealing::None => return Ok(None),
        // libpq has the same rule: if an authority is given, the certificate is always checked against it.
        Sealing::Unchecked if access.ca_file.is_some() => Checked::Authority,
        Sealing::Unchecked => {
            let client = TlsClient::trusting_anybody();
            return client.map(Some).map_err(|error| broken(&error));
        }
        Sealing::Authority => Checked::Authority,
        Sealing::Full => Checked::AuthorityAndName,
    };
    let authorities = authorities::read(access.ca_file.as_deref())?;
    let host = at.address.host.as_deref().unwrap_or("localhost");
    let client = TlsClient::for_host(host.trim_matches(['[', ']']), &authorities, checked);
    client.map(Some).map_err(|error| broken(&error))
}

fn broken(error: &rustls::Error) -> FleetError {
    FleetError::Destination { what: error.to_string() }
}

fn connect(at: &PostgresAt, limits: Limits, to: &str) -> Result<Link, FleetError> {
    let away = |what: String| FleetError::Away { to: to.to_owned(), what: cleaned(&what) };
    let mut last = away("the collector's host name has no address".to_owned());
    for endpoint in endpoints(at).map_err(|error| away(error.to_string()))? {
        match Link::open(&endpoint, limits) {
            Ok(link) => return Ok(link),
            Err(error) => last = away(looptax_model::failure::with_causes(&error)),
        }
    }
    Err(last)
}

fn endpoints(at: &PostgresAt) -> std::io::Result<Vec<Endpoint>> {
    if let Some(file) = at.address.socket_file() {
        return Ok(vec![Endpoint::Unix(file)]);
    }
    let host = at.address.host.as_deref().unwrap_or("localhost");
    let addresses = (host.trim_matches(['[', ']']), at.address.port).to_socket_addrs()?;
    let addresses: Vec<SocketAddr> = addresses.take(MOST_ADDRESSES).collect();
    Ok(addresses.into_iter().map(Endpoint::Tcp).collect())
}

fn name_of(at: &PostgresAt) -> String {
    match (at.address.socket_file(), at.address.host.as_deref()) {
        (Some(file), _) => file.display().to_string(),
        (None, host) => format!("{}:{}", host.unwrap_or("localhost"), at.address.port),
    }
}
