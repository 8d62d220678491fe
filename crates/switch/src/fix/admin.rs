//! Logs in to a server, and determines whether two logins reach the same server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use looptax_bench::path::{Conversation, Endpoint, Limits};
use looptax_model::dsn::{Address, Protocol};
use looptax_model::failure::with_causes;
use looptax_wire::Login;

use super::FixError;
use crate::diagnose::check::{login, password_of, sealing};

pub(super) fn log_in(address: &Address) -> Result<Conversation, FixError> {
    let failed = |why: String| FixError::LogIn { server: shown(address), why, is_of_stranger: false };
    let endpoint = match address.socket_file() {
        Some(file) => Endpoint::unix(&file).map_err(|error| failed(with_causes(&error)))?,
        None => Endpoint::Tcp(
            tcp(address).ok_or_else(|| failed("the server's host is not an address of this machine".to_owned()))?,
        ),
    };
    let login = Login { password: address.password.clone().unwrap_or_default(), ..login(address) };
    let sealing = sealing(address, &endpoint);
    let limits = Limits::default();
    Conversation::open_as_wanted(address.protocol, &endpoint, &login, sealing, limits).map_err(|error| {
        FixError::LogIn { server: shown(address), why: with_causes(&error), is_of_stranger: error.is_of_stranger() }
    })
}

fn tcp(address: &Address) -> Option<SocketAddr> {
    let host = address.host.as_deref().unwrap_or("localhost");
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let ip = match bare {
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        bare => crate::diagnose::own_address(bare).or_else(|| bare.parse().ok())?,
    };
    Some(SocketAddr::new(ip, address.port))
}

/// Returns a server's address for a person, without a password.
pub(super) fn shown(address: &Address) -> String {
    let user = address.user.as_deref().unwrap_or_default();
    let place = match &address.socket {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", address.host.as_deref().unwrap_or("localhost"), address.port),
    };
    format!("{user}@{place}")
}

/// Asks a server for its identity. Every login on the server gives the same identity; for MySQL and MariaDB it also
/// stays the same after a restart.
pub(super) fn identity(conversation: &mut Conversation) -> Result<String, FixError> {
    let untold = |why: String| FixError::Untold { what: "which server it is", why };
    if conversation.protocol() == Protocol::Postgres {
        // The path of the data folder would identify the server, but only some roles may read it.
        let asked = "SELECT pg_postmaster_start_time()::text || ' ' || current_setting('port')";
        let told = conversation.cell(asked).and_then(|it| {
            // PostgreSQL's time begins with the year.
            let is_time = it.bytes().take(4).filter(u8::is_ascii_digit).count() == 4;
            is_time.then_some(it).ok_or_else(|| conversation.unfit("a time and a port", ""))
        });
        return told.map_err(|error| untold(with_causes(&error)));
    }
    let id = conversation.connection_id();
    let view = conversation.server_view(&[id]);
    view.map(|it| it.identity).map_err(|error| untold(with_causes(&error)))
}

/// Returns an error if the administrator's login and the client's login lead to different servers. Logs in as the
/// client over TCP, because a login over TCP works at present.
pub(super) fn refuse_another(admin: &mut Conversation, named: &Address, client: &Address) -> Result<(), FixError> {
    let other = |why: String| FixError::OtherServer { server: shown(named), why };
    let over_tcp = Address { socket: None, password: Some(password_of(client)), ..client.clone() };
    let theirs = log_in(&over_tcp).and_then(|mut it| identity(&mut it));
    let theirs = theirs.map_err(|error| other(error.to_string()))?;
    let ours = identity(admin)?;
    if ours == theirs {
        return Ok(());
    }
    Err(other("the server reports a different identity".to_owned()))
}
