//! A login of any protocol over a [`Link`], behind one type.

mod sealed;

use std::time::Duration;

use looptax_dsn::Protocol;
use looptax_wire::{Channel, Login, WireError, echo, memcached, mysql, postgres, redis};

use crate::{Echo, Endpoint, Limits, Link, LinkFacts, OneShot, PathError, TlsClient, TlsFacts};

/// A connection that is logged in and not yet under load.
pub struct Conversation {
    pub(crate) talk: Talk,
    pub(crate) facts: LinkFacts,
    endpoint: Endpoint,
}

/// The protocol's half of a [`Conversation`].
pub(crate) enum Talk {
    Mysql(mysql::Connection<Link>),
    Postgres(postgres::Connection<Link>),
    Redis(redis::Connection<Link>),
    Memcached(memcached::Connection<Link>),
    Echo(echo::Connection<Link>),
}

impl Conversation {
    /// Connects and logs in; with the echo server as [`Echo::default`] says.
    ///
    /// # Errors
    /// Those of [`Link::open`]; [`PathError::Talk`] when the server refuses or speaks otherwise.
    pub fn open(
        protocol: Protocol,
        endpoint: &Endpoint,
        login: &Login,
        limits: Limits,
    ) -> Result<Self, PathError> {
        Self::over(Link::open(endpoint, limits)?, protocol, login, limits)
    }

    /// The same over a connection that is open already.
    ///
    /// # Errors
    /// [`PathError::Talk`] when the server refuses or speaks otherwise.
    pub fn over(
        link: Link,
        protocol: Protocol,
        login: &Login,
        limits: Limits,
    ) -> Result<Self, PathError> {
        let (facts, endpoint) = (link.facts().clone(), link.endpoint().clone());
        let talk = log_in(protocol, link, login, limits.io);
        Self::of(talk, facts, &endpoint)
    }

    /// The same over TLS.
    ///
    /// # Errors
    /// [`PathError::Talk`] when the server refuses, offers no TLS, or speaks otherwise.
    pub fn over_tls(
        link: Link,
        protocol: Protocol,
        login: &Login,
        tls: &TlsClient,
        limits: Limits,
    ) -> Result<Self, PathError> {
        let (facts, endpoint) = (link.facts().clone(), link.endpoint().clone());
        let talk = sealed::log_in(protocol, link, login, tls, limits.io, false);
        Self::of_sealed(talk, facts, &endpoint)
    }

    /// The same with nothing that an application would not do: no question about the server, and of
    /// the kernel's facts the family alone.
    ///
    /// # Errors
    /// As [`Conversation::open`].
    pub(crate) fn open_briefly(one_shot: &OneShot) -> Result<Self, PathError> {
        let OneShot {
            arm,
            protocol,
            endpoint,
            login,
            limits,
            tls,
            ..
        } = one_shot;
        let link = Link::open_briefly(*arm, endpoint, *limits)?;
        let facts = link.facts().clone();
        if let Some(tls) = tls {
            let talk = sealed::log_in(*protocol, link, login, tls, limits.io, true);
            return Self::of_sealed(talk, facts, endpoint);
        }
        let talk = match protocol {
            Protocol::Redis => {
                redis::Connection::login_briefly(link, login, limits.io).map(Talk::Redis)
            }
            _ => log_in(*protocol, link, login, limits.io),
        };
        Self::of(talk, facts, endpoint)
    }

    /// Agrees with the echo server on what requests are, over a connection that is open already.
    ///
    /// # Errors
    /// [`PathError::Talk`] when it speaks otherwise; [`PathError::Option`] when the kernel refuses.
    pub fn echo_over(mut link: Link, echo: &Echo, limits: Limits) -> Result<Self, PathError> {
        if !echo.is_nodelay {
            link.leave_nodelay()?;
        }
        let (facts, endpoint) = (link.facts().clone(), link.endpoint().clone());
        let talk = echo::Connection::login(link, echo.hello(), limits.io).map(Talk::Echo);
        Self::of(talk, facts, &endpoint)
    }

    fn of_sealed(
        talk: Result<(Talk, TlsFacts), WireError>,
        mut facts: LinkFacts,
        endpoint: &Endpoint,
    ) -> Result<Self, PathError> {
        let talk = talk.map(|(talk, tls)| {
            facts.tls = Some(tls);
            talk
        });
        Self::of(talk, facts, endpoint)
    }

    fn of(
        talk: Result<Talk, WireError>,
        facts: LinkFacts,
        endpoint: &Endpoint,
    ) -> Result<Self, PathError> {
        let talk = talk.map_err(|source| login_failed(endpoint, source))?;
        Ok(Self {
            talk,
            facts,
            endpoint: endpoint.clone(),
        })
    }

    /// The server's version as it states it.
    pub fn server_version(&self) -> &str {
        match &self.talk {
            Talk::Mysql(it) => it.server_version(),
            Talk::Postgres(it) => it.server_version(),
            Talk::Redis(it) => it.server_version(),
            Talk::Memcached(it) => it.server_version(),
            Talk::Echo(_) => env!("CARGO_PKG_VERSION"),
        }
    }

    /// The server's number for this connection. memcached tells none: our own port over TCP, and 0
    /// over the socket.
    pub fn connection_id(&self) -> u64 {
        match &self.talk {
            Talk::Mysql(it) => it.connection_id(),
            Talk::Postgres(it) => it.connection_id(),
            Talk::Redis(it) => it.connection_id(),
            Talk::Memcached(_) => own_port(&self.facts),
            Talk::Echo(it) => it.connection_id(),
        }
    }

    /// Whether the server offers TLS to whoever connects to this address; `None` where it does not tell.
    pub fn offers_tls(&mut self) -> Option<bool> {
        match &mut self.talk {
            Talk::Mysql(it) => Some(it.offers_tls()),
            Talk::Postgres(it) => {
                let rows = it.query("SHOW ssl").ok()?;
                Some(rows.first()?.first()?.as_deref() == Some(b"on"))
            }
            Talk::Redis(_) | Talk::Memcached(_) | Talk::Echo(_) => None,
        }
    }

    /// The protocol spoken here.
    pub fn protocol(&self) -> Protocol {
        match &self.talk {
            Talk::Mysql(_) => Protocol::Mysql,
            Talk::Postgres(_) => Protocol::Postgres,
            Talk::Redis(_) => Protocol::Redis,
            Talk::Memcached(_) => Protocol::Memcached,
            Talk::Echo(_) => Protocol::Echo,
        }
    }

    /// Runs one SQL statement; gives the affected rows.
    ///
    /// # Errors
    /// The server's refusal; [`WireError::Unsupported`] where there is no SQL.
    pub fn execute(&mut self, sql: &str) -> Result<u64, WireError> {
        match &mut self.talk {
            Talk::Mysql(it) => it.execute(sql),
            Talk::Postgres(it) => it.execute(sql),
            Talk::Redis(_) | Talk::Memcached(_) | Talk::Echo(_) => Err(no_sql()),
        }
    }

    /// Runs one SQL query; gives its rows as the server writes them.
    ///
    /// # Errors
    /// The server's refusal; [`WireError::Unsupported`] where there is no SQL.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, WireError> {
        let rows = match &mut self.talk {
            Talk::Mysql(it) => it.query(sql)?,
            Talk::Postgres(it) => it.query(sql)?,
            Talk::Redis(_) | Talk::Memcached(_) | Talk::Echo(_) => return Err(no_sql()),
        };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(rows
            .into_iter()
            .map(|row| row.into_iter().map(|cell| cell.map(text)).collect())
            .collect())
    }

    /// Sends some Redis commands at once and reads their replies.
    ///
    /// # Errors
    /// The first refusal; [`WireError::Unsupported`] where there is no Redis.
    pub fn pipeline(&mut self, commands: &[Vec<Vec<u8>>]) -> Result<Vec<redis::Value>, WireError> {
        let Talk::Redis(it) = &mut self.talk else {
            return Err(WireError::Unsupported {
                what: "a Redis command".to_owned(),
            });
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
    /// The first refusal; [`WireError::Unsupported`] where there is no memcached.
    pub fn store(&mut self, pairs: &[(String, Vec<u8>)]) -> Result<(), WireError> {
        self.memcached()?.store(pairs)
    }

    /// memcached's statistics: `""` for its counters, `settings`, `conns`.
    ///
    /// # Errors
    /// The server's refusal; [`WireError::Unsupported`] where there is no memcached.
    pub fn stats(&mut self, which: &str) -> Result<Vec<(String, String)>, WireError> {
        self.memcached()?.stats(which)
    }

    fn memcached(&mut self) -> Result<&mut memcached::Connection<Link>, WireError> {
        match &mut self.talk {
            Talk::Memcached(it) => Ok(it),
            _ => Err(WireError::Unsupported {
                what: "a memcached command".to_owned(),
            }),
        }
    }

    /// What the kernel said when the connection was opened.
    pub fn facts(&self) -> &LinkFacts {
        &self.facts
    }

    /// Where it leads.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The connection underneath, for the load engine; the login stays valid.
    pub fn into_link(self) -> Link {
        match self.talk {
            Talk::Mysql(it) => it.into_stream(),
            Talk::Postgres(it) => it.into_stream(),
            Talk::Redis(it) => it.into_stream(),
            Talk::Memcached(it) => it.into_stream(),
            Talk::Echo(it) => it.into_stream(),
        }
    }
}

fn own_port(facts: &LinkFacts) -> u64 {
    facts.local.map_or(0, |address| u64::from(address.port()))
}

fn no_sql() -> WireError {
    WireError::Unsupported {
        what: "SQL".to_owned(),
    }
}

fn login_failed(endpoint: &Endpoint, source: WireError) -> PathError {
    PathError::Talk {
        action: "log in",
        endpoint: endpoint.to_string(),
        source,
    }
}

fn log_in(
    protocol: Protocol,
    link: Link,
    login: &Login,
    limit: Duration,
) -> Result<Talk, WireError> {
    let channel = match link.endpoint() {
        Endpoint::Unix(_) | Endpoint::Abstract(_) => Channel::Local,
        Endpoint::Tcp(_) => Channel::PlainTcp,
    };
    Ok(match protocol {
        Protocol::Mysql => Talk::Mysql(mysql::Connection::login(link, login, channel, limit)?),
        Protocol::Postgres => Talk::Postgres(postgres::Connection::login(link, login, limit)?),
        Protocol::Redis => Talk::Redis(redis::Connection::login(link, login, limit)?),
        Protocol::Memcached => Talk::Memcached(memcached::Connection::hello(link, limit)?),
        Protocol::Echo => {
            let hello = Echo::default().hello();
            Talk::Echo(echo::Connection::login(link, hello, limit)?)
        }
    })
}
