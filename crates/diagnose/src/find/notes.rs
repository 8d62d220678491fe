//! What stands in the way, in words, with the next step.

use std::path::Path;

use looptax_discover::{Hiding, Problem, Server, Survey};
use looptax_record::{Note, NoteCode};

/// The notes of a survey, in its order.
pub(super) fn notes(survey: &Survey) -> Vec<Note> {
    let notes = survey.problems.iter().map(|it| note(it, survey));
    notes.collect()
}

fn note(problem: &Problem, survey: &Survey) -> Note {
    let (code, what, next) = match problem {
        Problem::HiddenProcesses { n } => (
            NoteCode::ProcessesHidden,
            format!(
                "{n} processes of other users cannot be looked into, so their sockets have no owner here"
            ),
            Some("run it as root".to_owned()),
        ),
        Problem::ClosedNamespaces { n, why } => (
            NoteCode::NamespacesClosed,
            format!("{n} other network namespaces (containers) cannot be looked into ({why})"),
            Some("run it as root".to_owned()),
        ),
        Problem::UnreadSockets { n } => (
            NoteCode::SocketsUnread,
            format!(
                "{n} sockets were listed by the kernel in a form that is not understood, and are left out"
            ),
            None,
        ),
        Problem::NoSocket { server_idx } => {
            let server = &survey.servers[*server_idx];
            (
                NoteCode::SocketMissing,
                format!("{} listens on TCP alone", named(server)),
                Some(looptax_discover::how_to_add_a_socket(server.kind).to_owned()),
            )
        }
        Problem::ShortLived { server_idx, n } => {
            let server = &survey.servers[*server_idx];
            (
                NoteCode::ConnectionsShortLived,
                format!(
                    "{n} connections over TCP to {} were closed within the last minute, {:.0} per second: clients that connect anew for each page or job pay for TCP and may be too short to be in the table",
                    named(server),
                    *n as f64 / 60.0
                ),
                Some("`looptax check --app FILE` on the configuration of the web application says what to change".to_owned()),
            )
        }
        Problem::LostSocket {
            server_idx,
            path,
            is_replaced,
        } => {
            let (code, state) = if *is_replaced {
                (NoteCode::SocketReplaced, "was replaced")
            } else {
                (NoteCode::SocketLost, "is gone")
            };
            (
                code,
                format!(
                    "the socket {} of {} {state} while the server runs: nobody reaches it that way",
                    path.display(),
                    named(&survey.servers[*server_idx])
                ),
                Some(
                    "restart the server; keep cleaners of temporary files away from that folder"
                        .to_owned(),
                ),
            )
        }
        Problem::DesertedSocket { path } => (
            NoteCode::SocketDeserted,
            format!(
                "nobody listens on {}: a server that ended left it",
                path.display()
            ),
            Some("start the server, or delete the file".to_owned()),
        ),
        Problem::HiddenSocket {
            client_idx,
            path,
            why,
        } => hidden(*client_idx, path, *why, survey),
    };
    Note { code, what, next }
}

fn hidden(
    client_idx: usize,
    path: &Path,
    why: Hiding,
    survey: &Survey,
) -> (NoteCode, String, Option<String>) {
    let client = &survey.clients[client_idx];
    let server = &survey.servers[client.server_idx];
    let process = client.process.as_ref();
    let name = process.map_or_else(String::new, |process| {
        format!("{} {}", process.program_name(), process.pid)
    });
    let folder = path.parent().unwrap_or(path).display();
    let (reason, next) = match why {
        Hiding::Chroot => (
            "it runs in a folder tree of its own (chroot)",
            format!("mount {folder} into that tree"),
        ),
        Hiding::PrivateTmp => (
            "it has a /tmp of its own (PrivateTmp)",
            format!("move the socket out of {folder}, to /run"),
        ),
        Hiding::Container => (
            "one of the two is in a container that the other is not in",
            format!("share the folder {folder}, not the socket's file, between them"),
        ),
        Hiding::Mounts => (
            "its file systems are mounted otherwise",
            format!("make {folder} visible to it (BindPaths= in a unit)"),
        ),
        Hiding::Missing => ("it is not there for it", format!("look at {folder}")),
    };
    (
        NoteCode::SocketNotVisible,
        format!(
            "{name} does not see the socket {} of {}: {reason}",
            path.display(),
            named(server)
        ),
        Some(next),
    )
}

fn named(server: &Server) -> String {
    format!("{} {}", server.name(), server.process.pid)
}
