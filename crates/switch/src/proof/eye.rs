//! The server's own view, over one login that stays open: who is logged in as the account, and how many came.

use std::net::SocketAddr;
use std::path::Path;

use looptax_dsn::{Address, Protocol, Secret};
use looptax_path::{Activity, Conversation, Endpoint, Limits, Sealing, SeenAs};
use looptax_wire::Login;

/// A login that asks.
pub(super) struct Eye {
    /// `None` once it is left.
    conversation: Option<Conversation>,
    user: String,
}

impl Drop for Eye {
    fn drop(&mut self) {
        if let Some(conversation) = self.conversation.take() {
            conversation.leave();
        }
    }
}

/// A session of the account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Session {
    /// The server's number for it.
    pub(super) id: u64,
    /// Where it comes from; `None` for the socket.
    pub(super) from: Option<SocketAddr>,
}

impl Eye {
    /// Logs in as the account, over TCP or else over the socket; the reason where neither lets us in.
    pub(super) fn open(address: &Address, tcp: SocketAddr, socket: &Path) -> Result<Self, String> {
        let password = match &address.password {
            Some(password) => password.clone(),
            None => Secret::new(std::env::var("LOOPTAX_PASSWORD").unwrap_or_default()),
        };
        let Some(user) = address
            .user
            .clone()
            .or_else(|| usual_user(address.protocol))
        else {
            return Err("the account is not known".to_owned());
        };
        let login = Login {
            user: user.clone(),
            password,
            database: address.database.clone(),
        };
        let open = |endpoint: &Endpoint| {
            let limits = Limits::default();
            let sealing = Sealing::IfRefused;
            Conversation::open_as_wanted(address.protocol, endpoint, &login, sealing, limits)
        };
        let opened = open(&Endpoint::Tcp(tcp));
        let opened = opened.or_else(|over_tcp| {
            open(&Endpoint::Unix(socket.to_owned())).map_err(|_| over_tcp.to_string())
        });
        Ok(Self {
            conversation: Some(opened?),
            user,
        })
    }

    /// Asks.
    pub(super) fn activity(&mut self) -> Result<Activity, String> {
        let Some(conversation) = &mut self.conversation else {
            return Err("the login was left".to_owned());
        };
        let asked = conversation.activity(&self.user);
        asked.map_err(|error| error.to_string())
    }
}

/// Sessions of the account whose transport the server tells.
pub(super) fn sessions(activity: &Activity) -> Vec<Session> {
    let told = activity.sessions.iter().filter_map(|it| {
        let from = match it.seen_as {
            SeenAs::Socket | SeenAs::SocketOf(_) => None,
            SeenAs::Tcp(from) => Some(from),
            SeenAs::Untold | SeenAs::Other(_) => return None,
        };
        Some(Session {
            id: it.connection_id,
            from,
        })
    });
    told.collect()
}

/// Redis without access lists, and memcached, know one user.
fn usual_user(protocol: Protocol) -> Option<String> {
    match protocol {
        Protocol::Redis | Protocol::Memcached | Protocol::Echo => Some(String::new()),
        Protocol::Mysql | Protocol::Postgres => None,
    }
}
