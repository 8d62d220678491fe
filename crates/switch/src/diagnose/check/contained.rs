//! Points about a connection whose file describes a container. Inside the container, 127.0.0.1 and the folders differ
//! from this machine's.
//!
//! looptax tries the file's password only if the address leads to this machine. With `--pid`, looptax inspects the
//! process's own namespaces instead. Called by `answer`.

use std::path::{Path, PathBuf};

use looptax_advise::app::{self, Brought, Found, Inside, Loopback, is_loopback};
use looptax_advise::check::verdict;
use looptax_model::dsn::Address;
use looptax_model::record::{CheckedConnection, Outcome, Point, PointCode, Topic};

use super::container;
use super::sources::Looked;
use crate::diagnose::socket_of::SocketOf;

/// The host names by which a container reaches the machine that runs it.
const MACHINE_NAMES: [&str; 4] =
    ["host.docker.internal", "gateway.docker.internal", "host.containers.internal", "host.lima.internal"];

/// Returns the container that the connection's settings are for; `None` if the client's process is known.
pub(super) fn inside(found: &Found, pid: Option<u32>) -> Option<&Inside> {
    found.inside.as_ref().filter(|_| pid.is_none())
}

/// Returns the point about an address that is valid only inside a container and does not lead to this machine; `None`
/// if the address leads to the same server from any program.
pub(super) fn elsewhere(looked: &Looked, found: &Found, pid: Option<u32>) -> Option<Point> {
    let inside = inside(found, pid)?;
    let address = found.address.as_ref()?;
    let host = address.host.as_deref().unwrap_or("localhost");
    if MACHINE_NAMES.contains(&host) {
        let what = format!("`{host}` in {} is the machine that runs the container", inside.name);
        return Some(unknown(what, "read the file").with_next(format!(
            "find out whether that is this machine; if so, check the server with looptax check {}://127.0.0.1:{}, \
             and mount the folder of the server's socket into the container: {}",
            address.protocol,
            address.port,
            inside.volume.replace("FOLDER", app::usual_folder(address.protocol))
        )));
    }
    let whose = inside.whose(host).filter(|_| is_loopback(host))?;
    if let Some(name) = inside.server_beside(address.protocol) {
        let there = Address { host: Some(name.to_owned()), ..address.clone() };
        if let Some(mut point) = container::point(&there, &looked.services) {
            point.what = format!("{whose}; {}", point.what);
            return Some(point);
        }
        if inside.is_in_pod() {
            return Some(unasked(whose, inside).with_next(app::by_hand(name, address.protocol, true)));
        }
    }
    Some(unasked(whose, inside))
}

/// Returns the point for a server whose protocol looptax does not speak, or whose kind looptax does not know.
pub(super) fn closed(host: Option<&str>, inside: &Inside) -> Option<Point> {
    let host = host.unwrap_or("localhost");
    let whose = inside.whose(host).filter(|_| is_loopback(host))?;
    Some(unasked(whose, inside))
}

fn unasked(whose: String, inside: &Inside) -> Point {
    let next = match &inside.loopback {
        Loopback::Other(whose) => format!("run looptax where the server runs: in {whose}"),
        _ => "once the application runs on this machine, check its process: `looptax find` lists the process, and \
              `looptax check FILE --pid PID` uses the network and folders of the process"
            .to_owned(),
    };
    unknown(whose, "only the file was read: looptax connected to no server of this machine").with_next(next)
}

fn unknown(what: impl Into<String>, how: &str) -> Point {
    Point::new(Topic::Server, PointCode::LoopbackOfContainer, Outcome::Unknown, what, how)
}

/// Returns the socket if its path is the same inside the container. Otherwise returns `None` and adds a point: no
/// volume mounts the socket's folder, or a volume mounts the folder at another path, and a person has to write the
/// lines.
pub(super) fn as_seen(answer: &mut CheckedConnection, socket: SocketOf, inside: Option<&Inside>) -> Option<SocketOf> {
    let Some(inside) = inside else {
        return Some(socket);
    };
    let within = inside.path_within(&socket.file);
    if within.as_ref() == Some(&socket.file) {
        return Some(socket);
    }
    let folder = &socket.folder;
    let point = if let Some(within) = within {
        let what = format!("the server's socket {} is {within} inside {}", socket.file, inside.name);
        let point = Point::new(Topic::Path, PointCode::SocketInContainer, Outcome::Unknown, what, READ);
        point.with_next(format!("write {within} into the container's settings, by hand"))
    } else {
        let what = format!("{} has no volume that contains {folder}, the folder of the server's socket", inside.name);
        let point = Point::new(Topic::Path, PointCode::FolderNotInContainer, Outcome::Fail, what, READ);
        let volume = inside.volume.replace("FOLDER", folder);
        point.with_next(format!("mount the folder, never only the socket's file: {volume}"))
    };
    // The points so far are about looptax's own path to the socket, which differs from the container's.
    answer.points.retain(|it| it.topic != Topic::Path);
    answer.points.push(point);
    answer.verdict = verdict(&answer.points);
    None
}

const READ: &str = "read the volumes of the file";

/// The destination of a file's socket path, as seen from looptax's process.
#[derive(Debug)]
pub(super) enum SocketIs {
    /// The path leads to this path of the machine.
    At(PathBuf),
    /// The path leads to something that looptax cannot inspect; the point explains it.
    Known(Point),
}

/// Determines where a socket path of the file leads for looptax.
pub(super) fn socket_is(path: &Path, found: &Found, inside: &Inside, looked: &Looked) -> SocketIs {
    let shown = path.display();
    let point = |code, outcome, what: String| Point::new(Topic::Path, code, outcome, what, READ);
    let is_usual = found.address.as_ref().is_some_and(|it| it.socket.is_none());
    let what = if is_usual { "the driver's usual socket".to_owned() } else { format!("{shown}") };
    match inside.at(&path.to_string_lossy()) {
        Brought::FromMachine(path) if path.is_absolute() => SocketIs::At(path),
        Brought::FromMachine(path) => {
            let folder = Path::new(&looked.name).parent().unwrap_or(Path::new("."));
            let joined = folder.join(path);
            SocketIs::At(std::path::absolute(&joined).unwrap_or(joined))
        }
        Brought::Volume { name, mut others } if !others.is_empty() || looked.has_it_beside(&name) => {
            others.extend(looked.units.iter().filter(|it| app::has_volume(&it.1, &name)).map(|it| it.0.clone()));
            let others: Vec<String> = others.iter().map(|it| format!("`{it}`")).collect();
            let what = format!("{what} is in the volume `{name}`, which {} mounts too", others.join(", "));
            SocketIs::Known(point(PointCode::SocketInVolume, Outcome::Note, what))
        }
        Brought::Volume { name, .. } => {
            let what = format!("{what} is in the volume `{name}`, and no other container in the file mounts it");
            SocketIs::Known(point(PointCode::SocketInVolume, Outcome::Unknown, what).with_next(ASK))
        }
        Brought::Nothing => {
            let what = format!(
                "{what} is a path inside {}, and no volume in the file contains the path's folder: a server \
                 would have to run in the same container",
                inside.name
            );
            SocketIs::Known(point(PointCode::SocketInContainer, Outcome::Unknown, what).with_next(ASK))
        }
        Brought::Unknown => {
            let what = format!(
                "{what} is a path inside {}, and looptax does not know what the file mounts there",
                inside.name
            );
            SocketIs::Known(point(PointCode::SocketInContainer, Outcome::Unknown, what).with_next(ASK))
        }
    }
}

const ASK: &str = "once the application runs on this machine, check its process: `looptax check FILE --pid PID`";
