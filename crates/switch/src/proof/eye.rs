//! Asks the server, over logins that stay open, which sessions use the account and how many connections there were.
//!
//! looptax keeps one login over each transport, because MySQL and MariaDB show an account only its own sessions, and
//! the account over the socket may differ from the account over TCP.

use std::net::SocketAddr;
use std::path::Path;

use looptax_bench::path::{ClientSeen, Conversation, Endpoint, Limits, Sealing, SeenAs, ServerCounts};
use looptax_model::dsn::{Address, Protocol};

use crate::diagnose::check::login;

#[derive(Default)]
pub(super) struct Eye {
    over_tcp: Option<Conversation>,
    over_socket: Option<Conversation>,
    user: String,
    /// Whether clients over TCP connect to a container's proxy: the server's lists then have the proxy's addresses.
    pub(super) is_behind_proxy: bool,
}

impl Drop for Eye {
    fn drop(&mut self) {
        let both = [self.over_tcp.take(), self.over_socket.take()];
        both.into_iter().flatten().for_each(Conversation::leave);
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Session {
    pub(super) id: u64,
    /// The client's address; `None` for a session over the socket.
    pub(super) from: Option<SocketAddr>,
}

impl Eye {
    /// Returns an eye for the application's account, without a login.
    pub(super) fn of(address: &Address) -> Self {
        let mut eye = Self::default();
        eye.user = user_of(address).unwrap_or_default();
        eye
    }

    /// Logs in over TCP with the application's account.
    pub(super) fn open(address: &Address, tcp: SocketAddr, limits: Limits) -> Self {
        let mut eye = Self::of(address);
        eye.over_tcp = log_in(address, &Endpoint::Tcp(tcp), limits).ok();
        eye
    }

    /// Also logs in over the socket. Returns the reason if the login fails, or if this server lists no sessions.
    pub(super) fn open_socket(&mut self, address: &Address, socket: &Path, limits: Limits) -> Option<String> {
        match log_in(address, &Endpoint::Unix(socket.to_owned()), limits) {
            Ok(conversation) => self.over_socket = Some(conversation),
            Err(why) => return Some(why),
        }
        // If the server does not list sessions, looptax has only the kernel's facts about the application.
        (!lists_sessions(address.protocol)).then(|| "the server does not list its connections".to_owned())
    }

    /// Whether the server lists the sessions over TCP to looptax's login.
    pub(super) fn sees_tcp(&self) -> bool {
        !self.is_behind_proxy && self.over_tcp.as_ref().is_some_and(|it| lists_sessions(it.protocol()))
    }

    /// Returns the number of looptax's own logins over the socket.
    pub(super) fn n_over_socket(&self) -> usize {
        usize::from(self.over_socket.is_some())
    }

    pub(super) fn is_shut(&self) -> bool {
        self.over_tcp.is_none() && self.over_socket.is_none()
    }

    /// Returns the server's login method over the socket, if looptax logged in over the socket and the server has
    /// several methods.
    pub(super) fn method(&mut self) -> Option<&'static str> {
        let conversation = self.over_socket.as_mut()?;
        let method = conversation.method()?;
        (conversation.protocol() != Protocol::Mysql || is_only_method(conversation)).then_some(method)
    }

    /// Lists the account's sessions, except looptax's own, if the server reports the sessions' transport.
    pub(super) fn sessions(&mut self) -> Result<Vec<Session>, String> {
        let own: Vec<u64> =
            { [&self.over_tcp, &self.over_socket].into_iter().flatten() }.map(Conversation::connection_id).collect();
        let mut found: Vec<Session> = Vec::new();
        for conversation in [&mut self.over_tcp, &mut self.over_socket] {
            let Some(conversation) = conversation else {
                continue;
            };
            let listed = conversation.other_sessions(&self.user);
            let listed = listed.map_err(|error| error.to_string())?;
            for session in listed.iter().filter_map(session) {
                let is_of_proxy = self.is_behind_proxy && session.from.is_some();
                if !is_of_proxy && !own.contains(&session.id) && !found.contains(&session) {
                    found.push(session);
                }
            }
        }
        Ok(found)
    }

    /// Returns the server's counts so far; empty if the server does not report them.
    pub(super) fn counts(&mut self) -> ServerCounts {
        let both = [&mut self.over_tcp, &mut self.over_socket];
        let asked = both.into_iter().flatten().find_map(|it| it.counts().ok());
        asked.unwrap_or_default()
    }
}

fn lists_sessions(protocol: Protocol) -> bool {
    matches!(protocol, Protocol::Mysql | Protocol::Postgres | Protocol::Redis)
}

pub(super) fn log_in(address: &Address, endpoint: &Endpoint, limits: Limits) -> Result<Conversation, String> {
    user_of(address).ok_or("looptax does not know the account")?;
    let login = login(address);
    let sealing = Sealing::IfRefused;
    Conversation::open_as_wanted(address.protocol, endpoint, &login, sealing, limits).map_err(|error| error.to_string())
}

/// For MySQL and MariaDB: whether the account can log in with only one plugin, and the server never offers TLS. An
/// account may read its own definition.
fn is_only_method(conversation: &mut Conversation) -> bool {
    let offers_none = conversation.offers_tls() == Some(false);
    let shown = offers_none.then(|| conversation.query("SHOW CREATE USER CURRENT_USER()").ok()).flatten();
    // MariaDB joins plugins with OR, MySQL with AND.
    let joins_none = |text: &String| ![" OR ", " AND "].iter().any(|it| text.contains(it));
    shown.and_then(|rows| rows.first()?.first()?.as_ref().map(joins_none)).unwrap_or_default()
}

fn session(seen: &ClientSeen) -> Option<Session> {
    let from = match seen.seen_as {
        SeenAs::Socket | SeenAs::SocketOf(_) => None,
        SeenAs::Tcp(from) => Some(from),
        SeenAs::Untold | SeenAs::Other(_) => return None,
    };
    Some(Session { id: seen.connection_id, from })
}

/// Returns the account's name. Redis without access lists, and memcached, have only one user.
fn user_of(address: &Address) -> Option<String> {
    let named = address.user.clone();
    named.or_else(|| match address.protocol {
        Protocol::Redis
        | Protocol::Memcached
        | Protocol::Mongodb
        | Protocol::Fastcgi
        | Protocol::Http
        | Protocol::Echo => Some(String::new()),
        Protocol::Mysql | Protocol::Postgres => None,
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::time::Duration;

    use looptax_testkit::fake_redis::{FakeRedis, Script};
    use looptax_testkit::patience;
    use looptax_testkit::scratch::Scratch;

    use super::*;

    /// The server lists a proxy's address for each client: no client has that address.
    #[test]
    fn sessions_over_tcp_of_a_server_behind_a_proxy_belong_to_nobody() {
        let scratch = Scratch::new();
        let server = FakeRedis::start(&scratch.file("."), Script::default());
        let client = TcpStream::connect(server.tcp).unwrap();
        let own = client.local_addr().unwrap();
        let address = Address::parse(&format!("redis://{}", server.tcp)).unwrap();
        let mut eye = Eye::open(&address, server.tcp, Limits::default());
        let lists = |eye: &mut Eye| eye.sessions().unwrap().iter().any(|it| it.from == Some(own));
        patience::wait_for("the session", Duration::from_secs(20), || lists(&mut eye).then_some(()));
        assert!(eye.sees_tcp());
        eye.is_behind_proxy = true;
        assert_eq!(eye.sessions().unwrap(), []);
        assert!(!eye.sees_tcp());
    }
}
