//! Finds the socket of a running server: the socket that the user gave, or the first candidate that is proved to belong
//! to the server.
//!
//! Candidates are the sockets that the kernel lists for the process that listens on the port, the socket that the
//! server itself reports, and other possible paths. looptax logs in to each candidate, and accepts the candidate if it
//! leads to the same server as TCP.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use looptax_bench::path::{Conversation, Endpoint, Limits, PathError, Sealing, ServerView};
use looptax_host::discover::{FoundBy, socket_named, sockets_beside};
use looptax_model::dsn::Protocol;
use looptax_model::failure::Failure;
use looptax_wire::Login;

use super::load_limits::config;

/// Finds the socket and logs in to it.
///
/// # Errors
/// The reason why the most certain candidate was rejected, or the next step if there is no candidate.
pub(super) fn find(
    given: Option<&PathBuf>,
    tcp: SocketAddr,
    by_tcp: &mut Conversation,
    login: &Login,
    sealing: Sealing,
) -> Result<(PathBuf, Conversation), Failure> {
    let protocol = by_tcp.protocol();
    let mut first_error = None;
    for path in candidates(given, tcp, by_tcp)? {
        let endpoint = Endpoint::unix(&path)?;
        let opened = Conversation::open_as_wanted(protocol, &endpoint, login, sealing, Limits::default());
        let proved = opened.and_then(|mut by_socket| {
            refuse_if_different(by_tcp, &mut by_socket)?;
            Ok(by_socket)
        });
        match proved {
            Ok(by_socket) => return Ok((path, by_socket)),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(match first_error {
        Some(error) => not_let_in(error, protocol),
        None => Failure::usage(
            format!("found no socket of the server on {tcp}"),
            "pass the socket with --socket FILE; `ss -xl` lists sockets, and root sees which process owns each socket",
        ),
    })
}

/// Explains a login failure over the socket. The server accepted the account over TCP, so the transport is the cause.
fn not_let_in(error: PathError, protocol: Protocol) -> Failure {
    let is_refused = error.is_of_plugin() || error.refusal().is_some_and(|(code, _)| !is_full(code));
    let failure = Failure::from(error);
    let why = match protocol {
        Protocol::Mysql => {
            "the server looks for the account at 'localhost', and this account is missing or has another password or \
             plugin"
        }
        Protocol::Postgres => "a `local` line of pg_hba.conf rejects the login, or requires another user (peer)",
        Protocol::Redis
        | Protocol::Memcached
        | Protocol::Mongodb
        | Protocol::Fastcgi
        | Protocol::Http
        | Protocol::Echo => return failure,
    };
    if !is_refused {
        return failure;
    }
    failure.with_hint(format!(
        "the login works over TCP, but over the socket {why}; run `looptax check` with this address to see what to \
         change"
    ))
}

/// Whether the code means that a server refused a login because it has too many connections.
fn is_full(code: &str) -> bool {
    ["1040", "1203", "53300"].contains(&code)
}

/// Returns the candidates, the most certain first.
fn candidates(given: Option<&PathBuf>, tcp: SocketAddr, by_tcp: &mut Conversation) -> Result<Vec<PathBuf>, Failure> {
    let protocol = by_tcp.protocol();
    if let Some(given) = given {
        return named(given, protocol, tcp.port()).map(|path| vec![path]);
    }
    let seen = sockets_beside(protocol, tcp);
    let told = told(by_tcp);
    if told.as_deref() == Some("") {
        return Err(Failure::usage(
            format!("the server on {tcp} reports that it has no socket"),
            protocol.kind().facts().how_to_add_a_socket,
        ));
    }
    let told = told.map(PathBuf::from).filter(|it| it.is_absolute());
    let is_sure = |by: FoundBy| by == FoundBy::Process;
    let sure = seen.iter().filter(|it| is_sure(it.by));
    let others = seen.iter().filter(|it| !is_sure(it.by));
    let mut all: Vec<PathBuf> = sure.map(|it| it.path.clone()).collect();
    all.extend(told);
    all.extend(others.map(|it| it.path.clone()));
    Ok(all)
}

/// Returns the socket that a path names; for a folder, the socket inside it.
fn named(path: &Path, protocol: Protocol, port: u16) -> Result<PathBuf, Failure> {
    socket_named(path, protocol, port).map_err(|n| {
        Failure::usage(
            format!("there are {n} sockets in the folder {}", path.display()),
            "pass the file of one socket: --socket FILE; `ss -xl` lists sockets",
        )
    })
}

/// Returns the socket that the server reports, if the account may read this setting; empty if the server has no socket.
fn told(conversation: &mut Conversation) -> Option<String> {
    let protocol = conversation.protocol();
    match protocol {
        Protocol::Mysql => conversation.cell("SELECT @@socket").ok(),
        Protocol::Postgres => {
            // If the account may not read the setting, this view returns no row. `SHOW` would leave an error in the
            // server's log.
            let told = "SELECT setting FROM pg_catalog.pg_settings WHERE name = 'unix_socket_directories'";
            let folders = conversation.cell(told).ok()?;
            let port: u16 = conversation.number("SHOW port").ok()?;
            let mut folders = folders.split(',').map(str::trim);
            let folder = folders.find(|it| it.starts_with('/'));
            Some(folder.map_or_else(String::new, |it| format!("{it}/.s.PGSQL.{port}")))
        }
        Protocol::Redis => config(conversation, "unixsocket").ok()?,
        Protocol::Memcached | Protocol::Mongodb | Protocol::Fastcgi | Protocol::Http | Protocol::Echo => None,
    }
}

/// Checks that both connections lead to the same server, before anything is written over either of them.
fn refuse_if_different(by_tcp: &mut Conversation, by_socket: &mut Conversation) -> Result<(), PathError> {
    let identity = |conversation: &mut Conversation| {
        let id = conversation.connection_id();
        conversation.server_view(&[id]).map(|view| view.identity)
    };
    let tcp = match identity(by_tcp) {
        // If the server did not reply over one transport within a whole time limit, looptax does not wait for a reply
        // over the other transport.
        Err(error) if !error.is_untold() => return Err(error),
        tcp => tcp,
    };
    let [tcp, unix] = match (tcp, identity(by_socket)) {
        (Err(error), _) => {
            let both = [&*by_tcp, &*by_socket];
            let Some(view) = ServerView::by_kernel(both.into_iter(), None) else {
                return Err(error.also_unseen());
            };
            if both.iter().all(|it| view.lists(it.connection_id())) {
                return Ok(());
            }
            return Err(PathError::DifferentServers {
                detail: format!(
                    "the process that serves {} is not at the other end of looptax's connection over {}",
                    by_socket.endpoint(),
                    by_tcp.endpoint()
                ),
            });
        }
        (tcp, unix) => [tcp?, unix?],
    };
    if tcp == unix {
        return Ok(());
    }
    Err(PathError::DifferentServers {
        detail: format!(
            "the server at {} identifies itself as `{tcp}`, the server at {} as `{unix}`",
            by_tcp.endpoint(),
            by_socket.endpoint()
        ),
    })
}
