//! A logged-in connection of any protocol over a [`Link`], as one type.

mod protocol;
pub(crate) mod sealed;

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use looptax_model::dsn::{Kind, Protocol};
use looptax_wire::{Login, WireError, echo, fastcgi, memcached, mongodb, mysql, postgres, redis, site, upstream};

use crate::path::answers::{Row, only, table, unfit};
use crate::path::error::LOG_IN;
use crate::path::peer::{admit, admit_sealed};
use crate::path::{Admitted, Echo, Endpoint, Limits, Link, LinkFacts, PathError, TlsClient, TlsFacts};
pub(crate) use protocol::ProtocolConnection;

/// Whether a login uses TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sealing {
    /// Never, because the user rules out TLS.
    Never,
    /// If the server refuses a login without TLS.
    IfRefused,
    /// Whenever the server's protocol has TLS, because the user demands TLS. Over a socket, only MySQL and MariaDB have
    /// TLS.
    Always,
}

/// How PostgreSQL resolves the names in a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// A name means an object of the server itself, never an object that a user made.
    Servers,
    /// A name means an object in the session's search path.
    Sessions,
}

/// A connection that is logged in and not yet under load.
pub struct Conversation {
    pub(crate) connection: ProtocolConnection,
    pub(crate) facts: LinkFacts,
    endpoint: Endpoint,
    admitted: Admitted,
}

impl Conversation {
    /// Connects and logs in; connects to the echo server with [`Echo::default`].
    ///
    /// # Errors
    /// The errors of [`Link::open`]; [`PathError::Stranger`] if nothing proves that the server is at the other end;
    /// [`PathError::Protocol`] if the server refuses or does not follow its protocol.
    pub fn open(protocol: Protocol, endpoint: &Endpoint, login: &Login, limits: Limits) -> Result<Self, PathError> {
        Self::over(Link::open(endpoint, limits)?, protocol, login, limits)
    }

    /// Like [`Self::open`], over a connection that is already open.
    ///
    /// # Errors
    /// [`PathError::Stranger`]; [`PathError::Protocol`] if the server refuses or does not follow its protocol.
    pub fn over(link: Link, protocol: Protocol, login: &Login, limits: Limits) -> Result<Self, PathError> {
        let (facts, endpoint) = (link.facts().clone(), link.endpoint().clone());
        let is_logged_in = link.is_logged_in();
        let admitted = admit(protocol, &link, login)?;
        let connection = log_in(protocol, link, login, admitted, limits.io);
        is_logged_in.store(true, Ordering::Relaxed);
        Self::from_login(connection, facts, &endpoint, admitted).map_err(|error| error.named_for(protocol))
    }

    /// Like [`Self::over`], with TLS.
    ///
    /// # Errors
    /// [`PathError::Stranger`]; [`PathError::Protocol`] if the server refuses, offers no TLS, or does not follow its
    /// protocol.
    pub fn over_tls(
        link: Link,
        protocol: Protocol,
        login: &Login,
        tls: &TlsClient,
        limits: Limits,
    ) -> Result<Self, PathError> {
        let (facts, endpoint) = (link.facts().clone(), link.endpoint().clone());
        let is_logged_in = link.is_logged_in();
        let admitted = admit_sealed(protocol, &link, login)?;
        let connection = sealed::log_in(protocol, link, login, admitted, tls, limits.io, false);
        is_logged_in.store(true, Ordering::Relaxed);
        Self::from_sealed_login(connection, facts, &endpoint, admitted)
    }

    /// Logs in without TLS, or over TLS if `sealing` or the server requires it. [`LinkFacts::tls`] shows whether TLS
    /// was used.
    ///
    /// # Errors
    /// As [`Self::open`]. If the server refuses both logins, returns the error of the attempt that got further.
    pub fn open_as_wanted(
        protocol: Protocol,
        endpoint: &Endpoint,
        login: &Login,
        sealing: Sealing,
        limits: Limits,
    ) -> Result<Self, PathError> {
        let is_sealable = match protocol {
            Protocol::Mysql => true,
            Protocol::Postgres | Protocol::Redis => matches!(endpoint, Endpoint::Tcp(_)),
            Protocol::Memcached | Protocol::Mongodb | Protocol::Fastcgi | Protocol::Http | Protocol::Echo => false,
        };
        let refused = if sealing == Sealing::Always && is_sealable {
            None
        } else {
            let may_seal = sealing == Sealing::IfRefused && is_sealable;
            match Self::open(protocol, endpoint, login, limits) {
                Err(refused) if may_seal && refused.may_want_tls() => Some(refused),
                opened => return opened,
            }
        };
        let tls = TlsClient::trusting_anybody()
            .map_err(|source| PathError::Option { action: "set TLS up", source: std::io::Error::other(source) })?;
        let link = Link::open(endpoint, limits)?;
        match (Self::over_tls(link, protocol, login, &tls, limits), refused) {
            (Err(sealed), Some(refused)) if sealed.may_want_tls() || sealed.refusal().is_none() => Err(refused),
            (sealed, _) => sealed,
        }
    }

    /// Agrees with the echo server on the form of the requests, over a connection that is already open.
    ///
    /// # Errors
    /// [`PathError::Protocol`] if the server does not follow the protocol; [`PathError::Option`] if the kernel refuses.
    pub fn echo_over(mut link: Link, echo: &Echo, limits: Limits) -> Result<Self, PathError> {
        if !echo.is_nodelay {
            link.leave_nodelay()?;
        }
        let (facts, endpoint) = (link.facts().clone(), link.endpoint().clone());
        link.is_logged_in().store(true, Ordering::Relaxed);
        let admitted = admit(Protocol::Echo, &link, &Login::default())?;
        let connection = echo::Connection::login(link, echo.hello(), limits.io).map(ProtocolConnection::Echo);
        Self::from_login(connection, facts, &endpoint, admitted)
    }

    pub(crate) fn from_sealed_login(
        connection: Result<(ProtocolConnection, TlsFacts), WireError>,
        mut facts: LinkFacts,
        endpoint: &Endpoint,
        admitted: Admitted,
    ) -> Result<Self, PathError> {
        let connection = connection.map(|(connection, tls)| {
            facts.tls = Some(tls);
            connection
        });
        Self::from_login(connection, facts, endpoint, admitted)
    }

    pub(crate) fn from_login(
        connection: Result<ProtocolConnection, WireError>,
        facts: LinkFacts,
        endpoint: &Endpoint,
        admitted: Admitted,
    ) -> Result<Self, PathError> {
        let connection = connection.map_err(|source| login_failed(endpoint, source))?;
        Ok(Self { connection, facts, endpoint: endpoint.clone(), admitted })
    }

    /// Returns the proof that the peer was checked before the login. One-shot connections to the same peer need this
    /// proof.
    pub fn admitted(&self) -> Admitted {
        self.admitted
    }

    /// Returns the version that the server reports.
    pub fn server_version(&self) -> &str {
        match &self.connection {
            ProtocolConnection::Mysql(it) => it.server_version(),
            ProtocolConnection::Postgres(it) => it.server_version(),
            ProtocolConnection::Redis(it) => it.server_version(),
            ProtocolConnection::Memcached(it) => it.server_version(),
            ProtocolConnection::Mongodb(it) => it.server_version(),
            ProtocolConnection::Http(it) => it.server(),
            // The server reports no version.
            ProtocolConnection::Fastcgi(_) => "",
            ProtocolConnection::Echo(_) => env!("CARGO_PKG_VERSION"),
        }
    }

    /// Returns the server's number for this connection. For looptax's own page, returns the id of the process or thread
    /// that serves the page. If looptax gets no number (memcached, `MongoDB`'s protocol, other HTTP and FastCGI
    /// servers), returns the port at our end of the connection, or 0 over the socket.
    pub fn connection_id(&self) -> u64 {
        match &self.connection {
            ProtocolConnection::Mysql(it) => it.connection_id(),
            ProtocolConnection::Postgres(it) => it.connection_id(),
            ProtocolConnection::Redis(it) => it.connection_id(),
            ProtocolConnection::Memcached(_) | ProtocolConnection::Mongodb(_) => own_port(&self.facts),
            ProtocolConnection::Fastcgi(_) | ProtocolConnection::Http(_) => {
                self.worker().map_or_else(|| own_port(&self.facts), u64::from)
            }
            ProtocolConnection::Echo(it) => it.connection_id(),
        }
    }

    /// Returns the process or thread that serves this connection, if the server reports its id. Only looptax's own
    /// sites report this id.
    pub(crate) fn worker(&self) -> Option<u32> {
        match &self.connection {
            ProtocolConnection::Fastcgi(it) => it.worker(),
            ProtocolConnection::Http(it) => it.worker(),
            _ => None,
        }
    }

    /// Over TCP, returns the client address that the server reports for this connection.
    pub(crate) fn told_peer(&self) -> Option<SocketAddr> {
        match &self.connection {
            ProtocolConnection::Http(it) => it.peer(),
            ProtocolConnection::Mongodb(it) => it.peer(),
            _ => None,
        }
    }

    /// Returns how the server asked for authentication: for PostgreSQL, in the words of libpq's `require_auth`; for
    /// MySQL and MariaDB, the name of the plugin.
    pub fn method(&self) -> Option<&'static str> {
        match &self.connection {
            ProtocolConnection::Mysql(it) => Some(it.auth_plugin()),
            ProtocolConnection::Postgres(it) => Some(it.method()),
            _ => None,
        }
    }

    /// Returns whether the server offers TLS to clients that connect to this address; `None` if the server does not
    /// report this.
    pub fn offers_tls(&mut self) -> Option<bool> {
        match &mut self.connection {
            ProtocolConnection::Mysql(it) => Some(it.offers_tls()),
            ProtocolConnection::Postgres(it) => {
                let title = Protocol::Postgres.title();
                let rows = table::<1>(title, it.ask("SHOW ssl").ok()?).ok()?;
                match only(title, rows).ok()? {
                    [Some(value)] if value == "on" => Some(true),
                    [Some(value)] if value == "off" => Some(false),
                    _ => None,
                }
            }
            ProtocolConnection::Redis(_)
            | ProtocolConnection::Memcached(_)
            | ProtocolConnection::Mongodb(_)
            | ProtocolConnection::Fastcgi(_)
            | ProtocolConnection::Http(_)
            | ProtocolConnection::Echo(_) => None,
        }
    }

    pub fn protocol(&self) -> Protocol {
        match &self.connection {
            ProtocolConnection::Mysql(_) => Protocol::Mysql,
            ProtocolConnection::Postgres(_) => Protocol::Postgres,
            ProtocolConnection::Redis(_) => Protocol::Redis,
            ProtocolConnection::Memcached(_) => Protocol::Memcached,
            ProtocolConnection::Mongodb(_) => Protocol::Mongodb,
            ProtocolConnection::Fastcgi(_) => Protocol::Fastcgi,
            ProtocolConnection::Http(_) => Protocol::Http,
            ProtocolConnection::Echo(_) => Protocol::Echo,
        }
    }

    /// Runs one SQL statement, and returns the number of affected rows.
    ///
    /// # Errors
    /// The server's refusal; [`WireError::Unsupported`] if the protocol has no SQL.
    pub fn execute(&mut self, sql: &str) -> Result<u64, WireError> {
        match &mut self.connection {
            ProtocolConnection::Mysql(it) => it.execute(sql),
            ProtocolConnection::Postgres(it) => it.execute(sql),
            ProtocolConnection::Redis(_)
            | ProtocolConnection::Memcached(_)
            | ProtocolConnection::Mongodb(_)
            | ProtocolConnection::Fastcgi(_)
            | ProtocolConnection::Http(_)
            | ProtocolConnection::Echo(_) => Err(no_sql()),
        }
    }

    /// Returns the rows of a query. For PostgreSQL, `names` sets whether the names in the query are the server's own or
    /// follow the session's search path.
    pub(crate) fn raw_rows(&mut self, sql: &str, names: Names) -> Result<Vec<Row>, WireError> {
        match &mut self.connection {
            ProtocolConnection::Mysql(it) => it.query(sql),
            ProtocolConnection::Postgres(it) => match names {
                Names::Servers => it.ask(sql),
                Names::Sessions => it.query(sql),
            },
            ProtocolConnection::Redis(_)
            | ProtocolConnection::Memcached(_)
            | ProtocolConnection::Mongodb(_)
            | ProtocolConnection::Fastcgi(_)
            | ProtocolConnection::Http(_)
            | ProtocolConnection::Echo(_) => Err(no_sql()),
        }
    }

    /// Runs one SQL query in the session's own search path. Returns the rows as the server writes them. Unlike
    /// [`Self::rows`], does not check the form of the rows.
    ///
    /// # Errors
    /// The server's refusal; [`WireError::Unsupported`] if the protocol has no SQL.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, WireError> {
        let rows = self.raw_rows(sql, Names::Sessions)?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(rows.into_iter().map(|row| row.into_iter().map(|cell| cell.map(text)).collect()).collect())
    }

    /// Sends some Redis commands together and reads their replies.
    ///
    /// # Errors
    /// The first refusal; [`WireError::Unsupported`] if the server does not speak Redis's protocol.
    pub fn pipeline(&mut self, commands: &[Vec<Vec<u8>>]) -> Result<Vec<redis::Value>, WireError> {
        let ProtocolConnection::Redis(it) = &mut self.connection else {
            return Err(WireError::Unsupported { what: "a Redis command".to_owned() });
        };
        let replies = it.pipeline(commands)?;
        match replies.iter().find_map(|reply| match reply {
            redis::Value::Error { code, message } => Some((code.clone(), message.clone())),
            _ => None,
        }) {
            Some((code, message)) => Err(WireError::Server { code, message }),
            None => Ok(replies),
        }
    }

    /// Sets keys to values in memcached.
    ///
    /// # Errors
    /// The first refusal; [`WireError::Unsupported`] if the server is not memcached.
    pub fn store(&mut self, pairs: &[(String, Vec<u8>)]) -> Result<(), WireError> {
        self.memcached()?.store(pairs)
    }

    /// Returns memcached's statistics: `which` is `""` for its counters, `settings` or `conns`.
    ///
    /// # Errors
    /// The server's refusal; [`WireError::Unsupported`] if the server is not memcached.
    pub fn stats(&mut self, which: &str) -> Result<Vec<(String, String)>, WireError> {
        self.memcached()?.stats(which)
    }

    /// Returns how many requests looptax's own site has received; with PHP-FPM, how many requests were received by the
    /// pool that answers on this connection.
    ///
    /// # Errors
    /// [`WireError`] with the server's answer, if the answer is not a count; [`WireError::Unsupported`] if the protocol
    /// is neither FastCGI nor HTTP.
    pub fn count(&mut self) -> Result<u64, WireError> {
        let limit = Limits::default().io;
        match &mut self.connection {
            ProtocolConnection::Fastcgi(it) => it.count(site::STATUS, limit),
            ProtocolConnection::Http(it) => it.count(limit),
            _ => Err(WireError::Unsupported { what: "a count of pages".to_owned() }),
        }
    }

    fn memcached(&mut self) -> Result<&mut memcached::Connection<Link>, WireError> {
        match &mut self.connection {
            ProtocolConnection::Memcached(it) => Ok(it),
            _ => Err(WireError::Unsupported { what: "a memcached command".to_owned() }),
        }
    }

    /// Returns the session with a server that speaks `MongoDB`'s protocol.
    ///
    /// # Errors
    /// [`WireError::Unsupported`] if the server does not speak `MongoDB`'s protocol.
    pub fn mongodb(&mut self) -> Result<&mut mongodb::Connection<Link>, WireError> {
        match &mut self.connection {
            ProtocolConnection::Mongodb(it) => Ok(it),
            _ => Err(WireError::Unsupported { what: "a command of MongoDB".to_owned() }),
        }
    }

    /// Returns the product that the server reports; if the server reports no product, the first product of its
    /// protocol.
    pub fn kind(&self) -> Kind {
        match &self.connection {
            ProtocolConnection::Mysql(it) if it.server_version().contains("MariaDB") => Kind::Mariadb,
            ProtocolConnection::Redis(it) if it.is_valkey() => Kind::Valkey,
            ProtocolConnection::Mongodb(it) if it.is_ferretdb() => Kind::Ferretdb,
            _ => self.protocol().kind(),
        }
    }

    /// Returns the facts that the kernel reported when the connection was opened.
    pub fn facts(&self) -> &LinkFacts {
        &self.facts
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the connection below the protocol, for the load engine; the login stays valid.
    pub fn into_link(self) -> Link {
        match self.connection {
            ProtocolConnection::Mysql(it) => it.into_stream(),
            ProtocolConnection::Postgres(it) => it.into_stream(),
            ProtocolConnection::Redis(it) => it.into_stream(),
            ProtocolConnection::Memcached(it) => it.into_stream(),
            ProtocolConnection::Mongodb(it) => it.into_stream(),
            ProtocolConnection::Fastcgi(it) => it.into_stream(),
            ProtocolConnection::Http(it) => it.into_stream(),
            ProtocolConnection::Echo(it) => it.into_stream(),
        }
    }
}

fn own_port(facts: &LinkFacts) -> u64 {
    facts.local.map_or(0, |address| u64::from(address.port()))
}

fn no_sql() -> WireError {
    WireError::Unsupported { what: "SQL".to_owned() }
}

fn login_failed(endpoint: &Endpoint, source: WireError) -> PathError {
    PathError::Protocol { action: LOG_IN, endpoint: endpoint.to_string(), source }
}

pub(crate) fn log_in(
    protocol: Protocol,
    link: Link,
    login: &Login,
    admitted: Admitted,
    limit: Duration,
) -> Result<ProtocolConnection, WireError> {
    Ok(match protocol {
        Protocol::Mysql => {
            let (login, channel) = (admitted.with(login), admitted.channel);
            ProtocolConnection::Mysql(mysql::Connection::login(link, &login, channel, limit)?)
        }
        Protocol::Postgres => {
            ProtocolConnection::Postgres(postgres::Connection::login_over(link, login, admitted.clear(), limit)?)
        }
        Protocol::Redis => ProtocolConnection::Redis(redis::Connection::login(link, login, limit)?),
        Protocol::Memcached => ProtocolConnection::Memcached(memcached::Connection::hello(link, limit)?),
        Protocol::Mongodb => {
            let is_tcp = link.facts().local.is_some();
            let connection = mongodb::Connection::login(link, login, limit)?;
            if is_tcp && connection.peer().is_none() {
                return Err(unfit(protocol.title(), "the client address that the server sees", &[]));
            }
            ProtocolConnection::Mongodb(connection)
        }
        // FastCGI uses the folder of the scripts instead of a database.
        Protocol::Fastcgi => ProtocolConnection::Fastcgi(fastcgi::Connection::hello(link, login.place(), limit)?),
        // HTTP uses the page that the URL names.
        Protocol::Http => ProtocolConnection::Http(upstream::Connection::hello(link, login.place(), limit)?),
        Protocol::Echo => {
            let hello = Echo::default().hello();
            ProtocolConnection::Echo(echo::Connection::login(link, hello, limit)?)
        }
    })
}
