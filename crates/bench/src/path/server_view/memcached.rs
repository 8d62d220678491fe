//! A memcached process's figures about itself, and which of its threads does the work.
//!
//! Reads `/proc` for the process that answers. Called by `server_view`, only for memcached.

use std::net::SocketAddr;

use looptax_host::kernel;
use looptax_model::dsn::Protocol;
use looptax_wire::WireError;
use looptax_wire::memcached::Connection;

use super::seen::{ClientSeen, SeenAs, ServerView};
use crate::path::answers::{number, unfit};
use crate::path::{Family, Link, LinkFacts};

/// Options for the address on which a process listens. Two processes that differ only in these options count as alike.
const ADDRESS_OPTIONS: [&str; 3] = ["-s", "-l", "-p"];
/// Settings for the address on which a process listens; see [`ADDRESS_OPTIONS`].
const ADDRESS_SETTINGS: [&str; 3] = ["tcpport", "inter", "domain_socket"];

const TITLE: &str = Protocol::Memcached.title();

/// memcached's name for the threads that serve connections (seen in 1.6.18).
const WORKER: &str = "mc-worker";

/// Queries the server over one connection, whose facts are `facts`.
///
/// All processes that were started alike have the same identity: version, settings and command line. More cannot be
/// proved, because a memcached that listens on a socket does not listen on TCP.
pub(super) fn server_view(
    connection: &mut Connection<Link>,
    facts: &LinkFacts,
    ids: &[u64],
) -> Result<ServerView, WireError> {
    let pid = process(&connection.stats("")?)?;
    let settings = connection.stats("settings")?;
    // Settings that every version has.
    for name in ["maxbytes", "num_threads"] {
        let setting = settings.iter().find(|it| it.0 == name);
        number::<u64>(TITLE, setting.map(|it| it.1.clone()))?;
    }
    let command = kernel::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    if command.is_empty() {
        return Err(unfit(TITLE, "a process that is visible to looptax", pid.to_string().as_bytes()));
    }
    let identity = format!(
        "version={} settings={:016x} command=`{}`",
        connection.server_version(),
        fingerprint(&settings),
        command_line(&command),
    );
    let worker = worker_of(pid);
    let seen = |connection_id, seen_as| ClientSeen { connection_id, seen_as, worker, behind: None };
    let clients = if facts.family == Family::Unix {
        // memcached lists connections over the socket without an address, so only the process that answers is known.
        ids.iter().map(|id| seen(*id, SeenAs::SocketOf(pid))).collect()
    } else {
        connection
            .stats("conns")?
            .iter()
            .filter_map(|(name, value)| client(name, value))
            .map(|address| seen(u64::from(address.port()), SeenAs::Tcp(address)))
            .filter(|client| ids.contains(&client.connection_id))
            .collect()
    };
    Ok(ServerView { identity, server_pid: Some(pid), clients })
}

fn process(stats: &[(String, String)]) -> Result<u32, WireError> {
    let pid = stats.iter().find(|(name, _)| name == "pid");
    pid.and_then(|(_, pid)| pid.parse().ok()).ok_or_else(|| WireError::Malformed {
        protocol: "memcached",
        action: "ask the server for its process",
        expected: "a statistic `pid`",
        found: format!("{} others", stats.len()),
    })
}

/// Returns the address of a client from a statistic: for `11:addr` the value is `tcp:127.0.0.1:40000` or
/// `tcp6:[::1]:40000`.
fn client(name: &str, value: &str) -> Option<SocketAddr> {
    let value = name.ends_with(":addr").then_some(value)?;
    let (family, address) = value.split_once(':')?;
    let is_tcp = ["tcp", "tcp6"].contains(&family);
    is_tcp.then(|| address.parse().ok()).flatten()
}

/// Returns the only thread with the name [`WORKER`]; `None` if no thread or several threads have this name.
fn worker_of(pid: u32) -> Option<u32> {
    let tasks = kernel::names(format!("/proc/{pid}/task")).ok()?;
    let mut workers = tasks.filter_map(|task| {
        let tid = task.to_str()?;
        let name = kernel::text(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
        (name.trim() == WORKER).then(|| tid.parse().ok())?
    });
    let worker = workers.next();
    workers.next().is_none().then_some(worker).flatten()
}

/// Returns a hash of all settings except the addresses.
///
/// # Source
/// The hash is FNV-1a of 64 bits (Fowler, Noll, Vo).
fn fingerprint(settings: &[(String, String)]) -> u64 {
    let compared = settings.iter().filter(|(name, _)| !ADDRESS_SETTINGS.contains(&name.as_str()));
    compared
        .flat_map(|(name, value)| format!("{name}={value}\n").into_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns the command line from `/proc/PID/cmdline` without the options for the address on which the process listens.
fn command_line(cmdline: &[u8]) -> String {
    let text = String::from_utf8_lossy(cmdline);
    let mut words = text.split_terminator('\0');
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if ADDRESS_OPTIONS.contains(&word) {
            words.next();
        } else {
            kept.push(word);
        }
    }
    kept.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        text.split(' ')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn only_tcp_clients_have_an_address() {
        let address = "127.0.0.1:40002".parse().ok();
        assert_eq!(client("11:addr", "tcp:127.0.0.1:40002"), address);
        assert_eq!(client("11:listen_addr", "tcp:127.0.0.1:11211"), None);
        assert_eq!(client("11:addr", "?:<AF 0>"), None);
        assert_eq!(client("11:addr", "tcp:nonsense"), None);
    }

    #[test]
    fn processes_that_differ_in_their_addresses_alone_are_alike() {
        let unix = pairs("maxbytes=9 tcpport=11211 inter=NULL domain_socket=/tmp/s num_threads=1");
        let tcp = pairs("maxbytes=9 tcpport=5 inter=127.0.0.1 domain_socket=NULL num_threads=1");
        let more = pairs("maxbytes=9 tcpport=5 inter=127.0.0.1 domain_socket=NULL num_threads=2");
        assert_eq!(fingerprint(&unix), fingerprint(&tcp));
        assert_ne!(fingerprint(&tcp), fingerprint(&more));
        let line = command_line(b"/usr/bin/memcached\0-t\x001\0-s\0/tmp/s\0-m\x00256\0");
        assert_eq!(line, "/usr/bin/memcached -t 1 -m 256");
        assert_eq!(command_line(b""), "");
    }

    #[test]
    fn the_process_is_a_number() {
        assert_eq!(process(&pairs("uptime=1 pid=42")).ok(), Some(42));
        assert!(process(&pairs("pid=-1")).is_err());
        assert!(process(&[]).is_err());
    }
}
