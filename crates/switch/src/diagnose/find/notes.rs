//! Describes the obstacles that a survey found, each with the next step.

use std::path::{Path, PathBuf};

use looptax_advise::check::{ends_tls, measures};
use looptax_host::discover::{
    Endpoint, Hiding, Listener, Place, Problem, Process, SealedFlow, Server, Survey, known_as, process,
};
use looptax_model::record::{Note, NoteCode, Way};

use super::spelled;
use crate::diagnose::path_here::path_here;
use crate::diagnose::ports;

const SHORT_LIVED_NEXT: &str = "`looptax check FILE` on the client's configuration shows what to change";

/// Returns the notes of a survey, in the survey's order.
pub(super) fn notes(survey: &Survey, is_counted: bool) -> Vec<Note> {
    let notes = survey.problems.iter().flat_map(|it| [Some(note(it, survey, is_counted)), ports_note(it, survey)]);
    notes.flatten().collect()
}

fn note(problem: &Problem, survey: &Survey, is_counted: bool) -> Note {
    let (code, what, next) = match problem {
        Problem::HiddenProcesses { n } => (
            NoteCode::ProcessesHidden,
            format!(
                "looptax cannot inspect {n} processes of other users: for each of their sockets, looptax infers the \
                 process and marks it as inferred, or leaves the socket out"
            ),
            Some(more_rights()),
        ),
        Problem::ContainedProcesses => (
            NoteCode::ProcessesHidden,
            "looptax sees only the processes of this container (or process namespace), not those of the machine"
                .to_owned(),
            Some(
                "start the container with `--pid=host --net=host`, or run looptax outside of the container".to_owned(),
            ),
        ),
        Problem::UnlistedProcesses => (
            NoteCode::ProcessesHidden,
            "/proc hides the processes of other users: looptax sees their sockets with port, path and user, but not \
             their programs"
                .to_owned(),
            Some("run looptax as root".to_owned()),
        ),
        Problem::ClosedNamespaces { n, why } => (
            NoteCode::NamespacesClosed,
            format!("looptax cannot inspect {n} other network namespaces (containers) ({why})"),
            Some("run looptax as root".to_owned()),
        ),
        Problem::UnreadSockets { n } => (
            NoteCode::SocketsUnread,
            format!("the kernel listed {n} sockets in a form that looptax does not understand; they are left out"),
            None,
        ),
        Problem::NoSocket { server_idx } => {
            let server = &survey.servers[*server_idx];
            (
                NoteCode::SocketMissing,
                format!("{} can be reached only over TCP", named(server)),
                Some(spelled::how(*server_idx, survey)),
            )
        }
        Problem::ShortLived { server_idx, n } => {
            let server = &survey.servers[*server_idx];
            short_lived(*n, &named(server), is_counted)
        }
        Problem::ShortLivedUnseen { listener_idx, n } => {
            let listener = &survey.listeners[*listener_idx];
            short_lived(*n, &unseen(listener, survey), is_counted)
        }
        Problem::LostSocket { server_idx, path, is_replaced } => lost(&survey.servers[*server_idx], path, *is_replaced),
        Problem::DesertedSocket { path, is_certain } => deserted(path, *is_certain),
        Problem::HiddenSocket { client_idx, path, why } => hidden(*client_idx, path, *why, survey),
    };
    Note { code, what, next }
}

/// Returns notes on encrypted connections within this machine, as the kernel showed them.
pub(super) fn sealed_notes(flows: &[SealedFlow], survey: &Survey) -> Vec<Note> {
    let note = |flow: &SealedFlow| {
        let server = &survey.servers[flow.server_idx];
        let client = flow.client.as_deref().unwrap_or("a client that looptax did not see");
        let is_on_socket = flow.way == Way::Unix;
        let (code, way) = match flow.way {
            Way::Unix => (NoteCode::SealedOnSocket, "on the socket"),
            _ => (NoteCode::SealedOverTcp, "over TCP"),
        };
        let n = flow.n_connections;
        let connections = if n == 1 { "a connection".to_owned() } else { format!("{n} connections") };
        let what = format!(
            "{client} encrypts {connections} to {} {way}, although the data does not leave this machine",
            named(server)
        );
        let target = server.kind.protocol().map_or_else(String::new, |it| {
            let port = server.endpoints.iter().find_map(Endpoint::port);
            let port = port.unwrap_or_else(|| it.port());
            format!("{it}://USER@127.0.0.1:{port}/")
        });
        let kind = server.kind.name();
        let next = format!("{}; {}", ends_tls(kind, is_on_socket), measures(kind, &target, is_on_socket));
        Note { code, what, next: Some(next) }
    };
    flows.iter().map(note).collect()
}

/// Explains which rights are needed to inspect other users' processes; root in a container may lack some of them.
fn more_rights() -> String {
    if rustix::process::geteuid().is_root() {
        "start this container as root of the machine, with `--cap-add=SYS_PTRACE --cap-add=DAC_READ_SEARCH`".to_owned()
    } else {
        "run looptax as root".to_owned()
    }
}

/// Describes the ports of looptax's network namespace that are held by closed connections to these endpoints.
fn held(endpoints: &[Endpoint], survey: &Survey) -> Option<String> {
    let own: Vec<&Place> =
        { endpoints.iter() }.filter(|it| Some(it.network) == survey.own_network).map(|it| &it.place).collect();
    ports::held(|address| own.iter().any(|it| it.takes(address)))
}

fn short_lived(n: usize, server: &str, is_counted: bool) -> (NoteCode, String, Option<String>) {
    let (missing, rate) = if is_counted {
        ("", String::new())
    } else {
        (", and may be missing in the table", format!(" ({:.0} per second)", n as f64 / 60.0))
    };
    let what = format!(
        "within the last minute {n} connections over TCP to {server} were closed{rate}; short connections also pay \
         the cost of TCP{missing}"
    );
    (NoteCode::ConnectionsShortLived, what, Some(SHORT_LIVED_NEXT.to_owned()))
}

/// Returns a note on the ports that are held by a server's closed connections, if there are many such ports.
fn ports_note(problem: &Problem, survey: &Survey) -> Option<Note> {
    let what = match problem {
        Problem::ShortLived { server_idx, .. } => held(&survey.servers[*server_idx].endpoints, survey),
        Problem::ShortLivedUnseen { listener_idx, .. } => {
            held(std::slice::from_ref(&survey.listeners[*listener_idx].endpoint), survey)
        }
        _ => None,
    }?;
    Some(Note { code: NoteCode::ConnectionsShortLived, what, next: Some(SHORT_LIVED_NEXT.to_owned()) })
}

fn lost(server: &Server, path: &Path, is_replaced: bool) -> (NoteCode, String, Option<String>) {
    let (code, state) =
        if is_replaced { (NoteCode::SocketReplaced, "replaced") } else { (NoteCode::SocketLost, "deleted") };
    let what = format!(
        "no client reaches the socket {} of {}: its file was {state} while the server was running",
        path.display(),
        named(server)
    );
    let next = "restart the server, and exclude that folder from the cleaning of temporary files";
    (code, what, Some(next.to_owned()))
}

fn deserted(path: &Path, is_certain: bool) -> (NoteCode, String, Option<String>) {
    let path = path.display();
    let (what, next) = if is_certain {
        (
            format!("no process listens on {path}: a server that has ended left the file behind"),
            "start the server, or delete the file",
        )
    } else {
        (
            format!(
                "no visible process listens on {path}: either a server that has ended left the file behind, or a \
                 server in a container listens there"
            ),
            "run looptax as root",
        )
    };
    (NoteCode::SocketDeserted, what, Some(next.to_owned()))
}

fn hidden(client_idx: usize, path: &Path, why: Hiding, survey: &Survey) -> (NoteCode, String, Option<String>) {
    let client = &survey.clients[client_idx];
    let server = &survey.servers[client.server_idx];
    let process = client.peer.process.as_ref();
    let name = process.map_or_else(String::new, |process| format!("{} {}", known_as(process), process.pid));
    if let Some(here) = process.and_then(|it| shared_path(it, &server.process, path)) {
        let what = format!("{name} sees the socket {} of {} as {}", path.display(), named(server), here.display());
        let next = format!("looptax check {} shows whether the switch would work", process.map_or(0, |it| it.pid));
        return (NoteCode::SocketAtOtherPath, what, Some(next));
    }
    let folder = path.parent().unwrap_or(path).display();
    let (reason, next) = match why {
        Hiding::Chroot => {
            ("the program runs in a separate folder tree (chroot)", format!("mount {folder} into that tree"))
        }
        Hiding::PrivateTmp => {
            ("the program has its own /tmp (PrivateTmp)", format!("move the socket out of {folder}, to /run"))
        }
        Hiding::Container => (
            "program and server are not in the same container",
            format!("share the folder {folder}, not the socket's file, between program and server"),
        ),
        Hiding::Mounts => {
            ("the program has different mounts", format!("make {folder} visible to the program (BindPaths= in a unit)"))
        }
        Hiding::Missing => ("the program does not see this path", format!("check {folder}")),
    };
    (
        NoteCode::SocketNotVisible,
        format!("{name} cannot see the socket {} of {}: {reason}", path.display(), named(server)),
        Some(next),
    )
}

/// Returns the path of a server's file in looptax's mounts, if one of these mounts contains the file. `None` if the
/// client's mounts are not the same as looptax's.
fn shared_path(client: &Process, server: &Process, path: &Path) -> Option<PathBuf> {
    let own = process(std::process::id())?;
    path_here(server, path).filter(|_| client.mounts.is_some() && client.mounts == own.mounts)
}

fn named(server: &Server) -> String {
    format!("{} {}", server.name(), server.process.pid)
}

/// Returns a text such as `127.0.0.1:17306 (may be mariadbd 27901)`.
fn unseen(listener: &Listener, survey: &Survey) -> String {
    let place = match &listener.endpoint.place {
        Place::Tcp(address) => address.to_string(),
        Place::Path { path, .. } | Place::Abstract(path) => path.display().to_string(),
    };
    format!("{place} (may be {})", may_be(listener, survey))
}

/// Returns a text such as `mariadbd 27901 or mariadbd 27902`; if no server fits, the kind that usually listens there.
pub(crate) fn may_be(listener: &Listener, survey: &Survey) -> String {
    let servers = listener.servers.iter();
    let servers = servers.map(|idx| named(&survey.servers[*idx]));
    let web = listener.web_servers.iter();
    let web = web.map(|it| format!("{} {}", it.program_name(), it.pid));
    let servers: Vec<String> = servers.chain(web).collect();
    match listener.likely {
        Some(likely) if servers.is_empty() => likely.to_owned(),
        _ => servers.join(" or "),
    }
}
