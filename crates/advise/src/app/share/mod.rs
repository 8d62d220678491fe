//! Files of containers: what has to be written so that an application and its server share a socket.
//!
//! The socket's folder becomes a volume of both: of two services of a Compose file (`compose`), of two containers of a Pod
//! (`pods`), of two `.container` units of Podman (`quadlet`). A server without a socket gets one by its command. What
//! counts elsewhere too (anchors, `extends`, `include`), what is not plain lines, and servers whose socket is not known are
//! left to people, with the reason. Called by the check of a file for `switch --containers`.

mod by_hand;
mod compose;
mod container;
mod image;
mod line;
mod pods;
mod project;
mod quadlet;
mod read;
mod tree;

use std::ops::Range;

use looptax_model::dsn::{Address, Protocol};
use looptax_model::record::Edit;

use super::found::Found;
use super::read::is_manifest;
use super::rewrite::{Moves, Rewrite};
use crate::Fields;
pub use by_hand::{by_hand, usual_folder};
use container::Mounted;
use image::Socket;
use line::Inserted;
use project::{Named, Project};
pub use quadlet::Unit;
pub use read::read_services;

/// What has both containers of a connection use one socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// What the server is to the application: `` `db` is a service of the same file ``.
    pub server_is: String,
    pub image: String,
    /// What the folder becomes.
    pub volume_is: &'static str,
    /// The folder of the socket, in both.
    pub folder: String,
    /// The lines beside the application's own, as they are shown.
    pub edits: Vec<Edit>,
    /// What makes the containers anew, and what that loses.
    pub restart: String,
    /// What is written into the server's own unit; `None` if both are in one file.
    pub beside: Option<Beside>,
    socket: Socket,
    rewrites: Vec<Rewrite>,
    environment: Range<usize>,
}

/// What is written beside an application's unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    pub rewrites: Vec<Rewrite>,
    pub edits: Vec<Edit>,
    /// A unit that is not there yet, by its name, with its text.
    pub new: Option<(String, &'static str)>,
}

impl Share {
    /// What the application's lines are filled in with; `password` is what is shown in the password's place.
    pub fn fields(&self, address: &Address, password: Option<String>) -> Fields {
        Fields {
            page: None,
            user: address.user.clone(),
            password,
            database: address.database.clone(),
            socket: self.file(),
            folder: self.folder.clone(),
            port: address.port,
            // Its lines keep the query that they have.
            options: None,
        }
    }

    /// The socket's file, in both containers.
    pub fn file(&self) -> String {
        format!("{}/{}", self.folder, self.socket.name)
    }

    /// All that is written into the application's file: its own lines, which `moves` are, and the volumes. `None` if those
    /// lines are outside of its container's, or there are none.
    pub fn complete(&self, moves: Moves) -> Option<Moves> {
        let Range { start, end } = self.environment;
        let is_inside = |it: &Rewrite| it.at.start >= start && it.at.end <= end;
        if !moves.variables.is_empty() || !moves.here.iter().all(is_inside) {
            return None;
        }
        let here = moves.here.into_iter().chain(self.rewrites.iter().cloned());
        Some(Moves { here: here.collect(), variables: Vec::new() })
    }
}

/// For each connection that a container has to another one of the file, what has both share the socket, or why that is left
/// to people; `None` for one that goes elsewhere. `beside` are the names of files that lie there too.
pub fn shares(text: &str, found: &[Found], beside: &[String]) -> Vec<Option<Result<Share, String>>> {
    if is_manifest(text) {
        all_of(&pods::File::read(text), found)
    } else {
        all_of(&compose::File::read(text, beside), found)
    }
}

/// The same for an application's `.container` unit and that of its server.
pub fn shares_of_units(
    own: Unit<'_>,
    server: Unit<'_>,
    found: &[Found],
    beside: &[String],
) -> Vec<Option<Result<Share, String>>> {
    all_of(&quadlet::Pair::read(own, server, beside), found)
}

fn all_of(project: &Result<impl Project, String>, found: &[Found]) -> Vec<Option<Result<Share, String>>> {
    let share = |found: &Found| match project {
        Err(why) => Some(Err(why.clone())),
        Ok(project) => share(project, found),
    };
    let mut all: Vec<_> = found.iter().map(share).collect();
    let own = |at: usize| project.as_ref().ok().and_then(|it| it.own(&found[at]));
    let folders: Vec<(usize, String, String)> = { all.iter().enumerate() }
        .filter_map(|(at, it)| match it {
            Some(Ok((share, server))) => Some((at, share.folder.clone(), server.clone())),
            _ => None,
        })
        .collect();
    for (at, folder, server) in &folders {
        let is_other = |it: &&(usize, String, String)| own(it.0) == own(*at) && it.1 == *folder && it.2 != *server;
        if let Some((_, _, other)) = folders.iter().find(is_other) {
            all[*at] = Some(Err(format!("`{server}` and `{other}` would both have their sockets at {folder}")));
        }
    }
    all.into_iter().map(|it| it.map(|it| it.map(|(share, _)| share))).collect()
}

/// What a connection's containers share, with the server's name.
fn share(project: &impl Project, found: &Found) -> Option<Result<(Share, String), String>> {
    let address = found.address.as_ref().filter(|it| it.socket.is_none())?;
    let own = project.own(found)?;
    let server = project.server(own, found)?;
    Some(server.and_then(|server| shared(project, (own, server), address)))
}

fn shared(project: &impl Project, (own, server): (usize, usize), address: &Address) -> Result<(Share, String), String> {
    if own == server {
        return Err("the service names itself".to_owned());
    }
    let [of_own, of_server] = [own, server].map(|it| &project.containers()[it]);
    for it in [of_own, of_server] {
        it.unclear.clone().map_or(Ok(()), Err)?;
    }
    let name = &of_server.title;
    let serving = image::socket_of(of_server, address.protocol)?;
    let socket = serving.socket;
    if address.port != socket.port {
        return Err(format!("port {} is not the one that the image's server has", address.port));
    }
    if of_server.has_own_configuration() {
        return Err(format!("`{name}` has a configuration of its own mounted, which may say where its socket is"));
    }
    let environment = project.environment(own)?;
    let mut lines = Vec::new();
    let in_server = of_server.at_folder(&socket.folder);
    let volume = match &in_server {
        Mounted::Volume(name) => (*name).to_owned(),
        Mounted::Nothing => project.volume_for(server),
        Mounted::Other => {
            return Err(format!("`{name}` has something else at {}", socket.folder));
        }
    };
    let is_new = in_server == Mounted::Nothing;
    if is_new {
        project.is_taken(server, &volume).map_or(Ok(()), Err)?;
        lines.push((server, project.mount(server, &volume, &socket.folder)?));
    } else {
        project.may_take(server, &volume)?;
    }
    match of_own.at_folder(&socket.folder) {
        Mounted::Nothing => lines.push((own, project.mount(own, &volume, &socket.folder)?)),
        Mounted::Volume(it) if it == volume => {}
        _ => return Err(format!("`{}` has something else at {}", of_own.title, socket.folder)),
    }
    if !serving.options.is_empty() {
        lines.push((server, project.command(server, serving.program, &serving.options)?));
    }
    if let Some((name, value)) = &serving.variable {
        lines.push((server, project.variable(server, name, value)?));
    }
    lines.extend(project.declare(server, &volume, is_new)?.map(|it| (own, it)));
    let (beside, here): (Vec<_>, Vec<_>) = lines.into_iter().partition(|(it, _)| project.is_beside(*it));
    let parted = |lines: Vec<(usize, Inserted)>| -> (Vec<Rewrite>, Vec<Edit>) {
        let (rewrites, edits): (Vec<_>, Vec<_>) = lines.into_iter().map(|it| it.1).unzip();
        (rewrites.concat(), edits)
    };
    let (rewrites, edits) = parted(here);
    let beside = project.is_beside(server).then(|| {
        let (rewrites, edits) = parted(beside);
        let new = is_new.then(|| (volume.clone(), quadlet::VOLUME));
        Beside { rewrites, edits, new }
    });
    let data = data_folder(address.protocol);
    let is_lost = data.filter(|it| project.loses(server, it));
    let Named { is, volume, mut restart } = project.named(own, server, is_new.then_some(&volume));
    if let Some(folder) = is_lost {
        let words = ["; nothing of the file keeps its data at ", folder, ": a new container may begin without them"];
        restart.extend(words);
    }
    let share = Share {
        server_is: is,
        image: of_server.image.clone().unwrap_or_default(),
        volume_is: volume,
        folder: socket.folder.clone(),
        edits,
        restart,
        beside,
        socket,
        rewrites,
        environment,
    };
    Ok((share, name.clone()))
}

/// Where the images of a server that is written have its data.
fn data_folder(protocol: Protocol) -> Option<&'static str> {
    match protocol {
        Protocol::Mysql => Some("/var/lib/mysql"),
        Protocol::Postgres => Some("/var/lib/postgresql"),
        Protocol::Redis => Some("/data"),
        _ => None,
    }
}
