//! `watch -w`: writes the data that chosen connections send and receive to a file for Wireshark.
//!
//! The kernel delivers the bytes (`eyes::bytes`), `wire::logins` hides the secrets of logins, and `wire::packets` makes
//! packets of the other bytes. This module decides which connections are captured, asks the user to agree, and decides
//! when the capture ends.

mod file;
mod flow;
mod flows;
mod known;
mod summary;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use looptax_host::discover::{Place, Server, process, server_with_file, survey};
use looptax_host::eyes::Refused;
use looptax_host::eyes::bytes::{Bytes, Chosen, Loaded, ServerPlace, socket_file};
use looptax_host::output::Output;
use looptax_model::failure::Failure;
use looptax_wire::logins;

use crate::args::CaptureArgs;
use crate::failure::Exit;
use crate::outputs::Outputs;
use crate::rights::keep_what_looking_needs;
use crate::signals::stop_flag;
use crate::sys;
use crate::terminal::{self, Terminal};
use file::CaptureFile;
use flows::Flows;
use summary::{ended, size};

/// Longest wait for bytes. After each wait, looptax writes the bytes that it has read, and checks whether the capture
/// should end.
const STEP: Duration = Duration::from_millis(100);
/// Time limit for reading the remaining bytes in the ring buffer at the end.
const REST: Duration = Duration::from_secs(2);

/// A hint names at most this many sockets.
const MOST_SOCKETS: usize = 4;

pub(crate) fn run(
    path: &Path,
    args: &CaptureArgs,
    time: Option<Duration>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let chosen = chosen(args)?;
    let place = place(path)?;
    sys::require_proc(sys::FOUND)?;
    let loaded = Loaded::new(&chosen).map_err(refused)?;
    keep_what_looking_needs()?;
    let servers = survey(None).servers;
    require_known_logins(args, &servers)?;
    agree(path, args, time)?;
    let stop = stop_flag()?;
    let file = CaptureFile::create(&place, args.max)?;
    let mut bytes = loaded.attach().map_err(refused)?;
    let mut flows = Flows::new(file, servers, args.with_logins);
    terminal.words(&format!("writing to {}{}\n", path.display(), if time.is_some() { "" } else { "; Ctrl-C ends it" }));
    follow(&mut bytes, &mut flows, time, &|| stop.load(std::sync::atomic::Ordering::Relaxed))?;
    let missing = bytes.missing()?;
    drop(bytes);
    terminal::data(&ended(path, &flows.finish()?, missing, args))?;
    Ok(Exit::Done)
}

/// Reads and writes bytes until the time is over, the file is full, or a signal arrives.
#[allow(clippy::disallowed_methods, reason = "a time limit, not a measurement")]
fn follow(
    bytes: &mut Bytes,
    flows: &mut Flows,
    time: Option<Duration>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<(), Failure> {
    let begun = Instant::now();
    let left = || time.map_or(STEP, |it| it.saturating_sub(begun.elapsed()));
    while !left().is_zero() && !is_stopped() && !flows.is_full() {
        let end = Instant::now() + STEP;
        let is_any = bytes.read(left().min(STEP), |event| {
            flows.take(event)?;
            Ok(Instant::now() < end && !flows.is_full())
        })?;
        if !is_any {
            flows.flush()?;
        }
    }
    // Bytes that were sent before the end of the capture are still in the ring buffer.
    let end = Instant::now() + REST;
    while !flows.is_full() && bytes.read(Duration::ZERO, |event| flows.take(event).map(|()| Instant::now() < end))? {
        if Instant::now() >= end {
            break;
        }
    }
    Ok(())
}

/// Returns the connections that the options choose.
fn chosen(args: &CaptureArgs) -> Result<Chosen, Failure> {
    if args.pid.is_empty() && args.server.is_empty() && args.socket.is_empty() {
        return Err(Failure::usage(
            "-w needs an option that chooses the connections to read",
            "choose with --pid PID, --server 127.0.0.1:3306 or --socket PATH; `looptax find` lists servers and clients",
        ));
    }
    if let Some(pid) = args.pid.iter().find(|it| process(**it).is_none()) {
        return Err(Failure::usage(
            format!("process {pid} does not exist"),
            "`looptax find` lists servers and clients",
        ));
    }
    let file = |path: &PathBuf| {
        socket_file(path).map_err(|error| not_a_socket(path, error, || sockets_of(&survey(None).servers)))
    };
    let files = args.socket.iter().map(file).collect::<Result<_, _>>()?;
    Ok(Chosen { pids: args.pid.clone(), places: args.server.clone(), files, most_bytes: args.snaplen })
}

/// Returns the failure for a path that is not a server's socket; the failure lists the sockets on which servers listen.
fn not_a_socket(path: &Path, error: io::Error, sockets: impl FnOnce() -> Vec<String>) -> Failure {
    let path = path.display();
    let what = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => format!("there is no socket at {path}"),
        io::ErrorKind::InvalidInput => format!("{path} is not a socket"),
        _ => {
            let hint = "pass the path of a server's socket to --socket, or choose a server or client with --pid";
            return Failure::from(error).context(format!("cannot inspect the socket {path}")).with_hint(hint);
        }
    };
    let sockets = sockets();
    let more = sockets.len().saturating_sub(MOST_SOCKETS);
    let first = sockets.into_iter().take(MOST_SOCKETS).collect::<Vec<_>>().join(", ");
    let hint = match (&*first, more) {
        ("", _) => {
            "looptax sees no server's socket on this machine; choose connections with --server PORT or --pid PID"
                .to_owned()
        }
        (_, 0) => format!("sockets of servers on this machine: {first}"),
        (_, more) => format!("sockets of servers on this machine: {first}, {more} more (looptax find)"),
    };
    Failure::usage(what, hint)
}

fn sockets_of(servers: &[Server]) -> Vec<String> {
    let endpoints = servers.iter().flat_map(|it| &it.endpoints);
    let paths = endpoints.filter_map(|it| match &it.place {
        Place::Path { path, .. } => Some(path.display().to_string()),
        Place::Tcp(_) | Place::Abstract(_) => None,
    });
    paths.collect()
}

/// Returns the place for the new file; fails if the file exists.
fn place(path: &Path) -> Result<Output, Failure> {
    Outputs::default().writes("-w", Some(path))?;
    let output = (path.as_os_str() != "-").then(|| Output::find(path)).transpose()?;
    match output {
        Some(output) if output.is_there() => {
            Err(Failure::usage(format!("{} exists already", path.display()), "choose a new file, or remove this one"))
        }
        Some(output) if !output.is_stream() => Ok(output),
        _ => Err(Failure::usage("-w writes only to an ordinary file", "choose a new file, such as looptax.pcapng")),
    }
}

/// Fails if the user named a server whose logins looptax cannot follow, unless the user allows logins in the file.
fn require_known_logins(args: &CaptureArgs, servers: &[Server]) -> Result<(), Failure> {
    if args.with_logins {
        return Ok(());
    }
    let places = args.server.iter().map(|it| (place_name(*it), server_of_place(*it, servers)));
    let of_socket = |path: &PathBuf| server_with_file(socket_file(path).ok()?, servers);
    let sockets = args.socket.iter().map(|it| (it.display().to_string(), of_socket(it)));
    for (name, server) in places.chain(sockets) {
        let protocol = server.and_then(|it| it.kind.protocol());
        if protocol.is_some_and(logins::are_followed) {
            continue;
        }
        let what = match (server, protocol) {
            (Some(_), Some(protocol)) => format!("cannot separate the logins of {}", protocol.title()),
            (Some(server), None) => format!("cannot separate the logins of {}", server.name()),
            (None, _) => {
                return Err(Failure::usage(
                    format!("no server of a kind that looptax knows listens at {name}"),
                    "`looptax find` lists servers; with --with-logins looptax writes all bytes, passwords included",
                ));
            }
        };
        return Err(Failure::usage(
            format!("looptax {what} at {name} from the other bytes"),
            "--with-logins writes all bytes, passwords included",
        ));
    }
    Ok(())
}

fn place_name(place: ServerPlace) -> String {
    match place {
        ServerPlace::Port(port) => format!("port {port}"),
        ServerPlace::Address(address) => address.to_string(),
    }
}

fn server_of_place(place: ServerPlace, servers: &[Server]) -> Option<&Server> {
    let is_it = |it: &Place| match (place, it) {
        (ServerPlace::Port(port), Place::Tcp(own)) => own.port() == port,
        (ServerPlace::Address(address), own) => own.takes(address),
        _ => false,
    };
    servers.iter().find(|it| it.endpoints.iter().any(|endpoint| is_it(&endpoint.place)))
}

/// Prints what the file will contain, and asks the user to agree.
fn agree(path: &Path, args: &CaptureArgs, time: Option<Duration>) -> Result<(), Failure> {
    if args.yes {
        return Ok(());
    }
    let logins = if args.with_logins {
        "The data includes the passwords of logins."
    } else {
        "looptax leaves out the passwords of logins, but not passwords within statements."
    };
    let end = if time.is_some() { "after the time of --for" } else { "at Ctrl-C" };
    let question = format!(
        "looptax reads all data that the chosen connections send and receive, including statements and results in \
         clear text, and writes the data to {}, which only you can read. {logins} looptax stops {end}, or when the \
         file has {}. Go ahead?",
        path.display(),
        size(args.max),
    );
    if !terminal::can_ask() {
        return Err(Failure::usage(
            "-w writes the contents of connections, and without a terminal looptax cannot ask you for agreement",
            "add --yes to agree",
        ));
    }
    if terminal::agrees(&question) {
        return Ok(());
    }
    Err(Failure::usage(
        "looptax read nothing, because you did not agree",
        "`looptax watch` counts requests without reading them",
    ))
}

fn refused(error: Refused) -> Failure {
    let hint = match error {
        Refused::Rights => "run looptax as root",
        Refused::Processor => "tcpdump reads connections over TCP",
        _ => "`looptax find` shows servers and clients without this right; tcpdump reads connections over TCP",
    };
    Failure::new(error).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_without_a_socket_is_told_with_the_sockets_that_there_are() {
        for (kind, n_sockets, words, hint) in [
            (io::ErrorKind::NotFound, 0, "there is no socket at /nope", "looptax sees no server's socket"),
            (io::ErrorKind::NotFound, 2, "there is no socket at /nope", "sockets of servers on this machine: /s0, /s1"),
            (io::ErrorKind::NotADirectory, 0, "there is no socket at /nope", "looptax sees no server's socket"),
            (io::ErrorKind::InvalidInput, 6, "/nope is not a socket", "/s2, /s3, 2 more (looptax find)"),
            (io::ErrorKind::PermissionDenied, 1, "cannot inspect the socket /nope", "path of a server's socket"),
        ] {
            let sockets = || (0..n_sockets).map(|it| format!("/s{it}")).collect();
            let failure = not_a_socket(Path::new("/nope"), kind.into(), sockets);
            assert!(failure.to_string().contains(words), "{failure}");
            assert!(failure.hint().unwrap_or_default().contains(hint), "{:?}", failure.hint());
        }
    }
}
