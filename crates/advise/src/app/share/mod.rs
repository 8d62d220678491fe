//! Files that describe containers: the lines to write so that an application and its server share a socket.
//!
//! The folder of the socket becomes a volume that both containers mount: two services of a Compose file (`compose`),
//! two containers of a Pod (`pods`), or two `.container` units of Podman (`quadlet`). If a server has no socket, its
//! command or its environment gets the settings for a socket. For PHP-FPM, the file of its pool gets these settings
//! (`web`). A person has to write the change if settings are also used elsewhere (anchors, `extends`, `include`), if
//! they are not written in plain lines, or if the server's socket is not known. The result is then an error with the
//! reason. Called when `switch --containers` checks a file.

mod by_hand;
mod compose;
mod container;
mod image;
mod line;
mod maps;
mod pods;
mod port;
mod program;
mod project;
mod quadlet;
mod read;
mod taken;
mod tree;
mod web;

use std::ops::Range;

use looptax_model::dsn::{Address, Protocol};
use looptax_model::record::Edit;

use super::found::Found;
use super::quotes::{Dialect, Quotes};
use super::read::is_manifest;
use super::rewrite::{Moves, Rewrite};
use super::setting::Joins;
use super::table::Role;
use super::whole::Whole;
use crate::Fields;
pub use by_hand::{by_hand, publish_by_hand, usual_folder};
use container::Mounted;
use image::{Serving, Socket};
use line::Inserted;
pub use maps::resources;
pub(super) use maps::takes_maps;
use project::{Named, Project};
pub use quadlet::Unit;
pub use read::{follow, read_services};
pub(super) use taken::env_files;
pub(super) use web::own_files;

/// The changes with which the two containers of a connection use one socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The server's place in the files, as seen from the application: `` `db` is a service of the same file ``.
    pub server_is: String,
    pub image: String,
    /// The kind of volume that holds the folder.
    pub volume_is: &'static str,
    /// The folder that both containers mount: the folder of the socket, or a folder above it.
    pub folder: String,
    /// The lines to write in addition to the application's own lines, as they are shown.
    pub edits: Vec<Edit>,
    /// The command that recreates the containers, and the data that is then lost.
    pub restart: String,
    /// Facts that a person must know before the lines are written.
    pub traps: Vec<String>,
    /// The lines for the server's unit; `None` if both containers are in one file.
    pub beside: Option<Beside>,
    socket: Socket,
    rewrites: Vec<Rewrite>,
    /// The places where the application's variables may be changed.
    places: Vec<Range<usize>>,
    /// The lines that add a variable to the application's container, with [`NAME`] and [`VALUE`] as placeholders.
    variable: Result<Vec<Rewrite>, String>,
}

/// The placeholders for the name and the value of a variable.
const NAME: &str = "\u{e001}";
const VALUE: &str = "\u{e002}";

/// The lines for the server's unit, if this unit and the application's unit are in different files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    pub rewrites: Vec<Rewrite>,
    pub edits: Vec<Edit>,
    /// The name and the text of a new unit.
    pub new: Option<(String, &'static str)>,
}

impl Share {
    /// The values for the application's lines; `password` is shown in place of the real password.
    pub fn fields(&self, address: &Address, password: Option<String>) -> Fields {
        Fields {
            page: None,
            user: address.user.clone(),
            password,
            database: address.database.clone(),
            socket: self.file(),
            folder: self.socket.folder.clone(),
            // The name of PostgreSQL's socket contains a port, which may differ from the port on which the server
            // listens.
            port: self.socket.name.strip_prefix(".s.PGSQL.").and_then(|it| it.parse().ok()).unwrap_or(address.port),
            // The URL in the application's lines keeps its own query.
            options: None,
        }
    }

    /// The path of the socket, which is the same in both containers.
    pub fn file(&self) -> String {
        self.socket.file()
    }

    /// All changes: the application's own lines (`moves`), and the volumes. `None` if the application's lines are not
    /// in its container, or cannot be written there.
    pub fn complete(&self, moves: Moves) -> Option<Moves> {
        let is_in = |it: &Rewrite, place: &Range<usize>| it.at.start >= place.start && it.at.end <= place.end;
        let is_inside = |it: &Rewrite| self.places.iter().any(|place| is_in(it, place));
        if !moves.variables.is_empty() || !moves.here.iter().all(is_inside) {
            return None;
        }
        let mut here = moves.here;
        for (name, value) in &moves.own {
            // A value that needs quotes is written differently in each kind of file.
            let is_plain = Quotes::AsNeeded(Dialect::Yaml).around(value) == *value;
            for line in self.variable.as_ref().ok().filter(|_| is_plain)? {
                let text = line.text.replace(NAME, name).replace(VALUE, value);
                let line = Rewrite { text, ..line.clone() };
                if !here.contains(&line) {
                    here.push(line);
                }
            }
        }
        here.extend(self.rewrites.iter().cloned());
        Some(Moves { here, ..Moves::default() })
    }
}

/// For each connection between two containers of the file, returns the changes with which the two containers share the
/// socket, or the reason why a person has to make these changes. Returns `None` for any other connection. `beside` has
/// the names of the other files in the folder.
pub fn shares(whole: &Whole, found: &[Found], beside: &[String]) -> Vec<Option<Result<Share, String>>> {
    if is_manifest(whole.own()) {
        all_of(&pods::File::read(whole), found)
    } else {
        let file = compose::File::read(whole, beside);
        let mut all = all_of(&file, found);
        if let Ok(file) = &file {
            together(whole, file, found, &mut all);
        }
        all
    }
}

/// Moves every connection that uses a port which the server gives up. If one connection cannot be moved, records the
/// reason for all of them.
fn together(whole: &Whole, file: &compose::File<'_>, found: &[Found], all: &mut [Option<Result<Share, String>>]) {
    let leads = |it: &Found| file.server(file.own(it)?, it)?.ok();
    for server in 0..file.containers().len() {
        let is_its = |it: &usize| port::is_given_up(&found[*it]) && leads(&found[*it]) == Some(server);
        let group: Vec<usize> = (0..found.len()).filter(is_its).collect();
        let own: Vec<&Found> = group.iter().map(|it| &found[*it]).collect();
        let first = group.iter().find_map(|it| all[*it].as_ref()?.as_ref().err().cloned());
        let why = first.or_else(|| port::elsewhere(whole, file, (server, &own), found));
        let written = |at: &usize| {
            let (found, share) = (&found[*at], all[*at].as_ref()?.as_ref().ok()?);
            let fields = share.fields(found.address.as_ref()?, None);
            let here = found.moves(&fields, whole.text()).into_iter().next()??.here;
            let edits = found.changes(&fields).into_iter().next()?.edits;
            Some(([here, share.rewrites.clone()].concat(), [edits, share.edits.clone()].concat()))
        };
        let written: Option<Vec<_>> = group.iter().map(written).collect();
        for (idx, at) in group.iter().enumerate() {
            match (&why, &written, &mut all[*at]) {
                (None, Some(written), Some(Ok(share))) => {
                    let others = written.iter().enumerate().filter(|it| it.0 != idx);
                    for (rewrites, edits) in others.map(|it| it.1) {
                        let new = rewrites.iter().filter(|it| !share.rewrites.contains(it)).cloned();
                        let new: Vec<Rewrite> = new.collect();
                        share.rewrites.extend(new);
                        let new: Vec<Edit> = edits.iter().filter(|it| !share.edits.contains(it)).cloned().collect();
                        share.edits.extend(new);
                    }
                }
                (why, _, it) => {
                    let own =
                        || "another line uses the same PHP-FPM server, and looptax cannot change that line".to_owned();
                    *it = Some(Err(why.clone().unwrap_or_else(own)));
                }
            }
        }
    }
}

/// The changes for the `.container` units of an application and its server.
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

/// The changes with which the two containers of a connection share a socket, and the name of the server.
fn share(project: &impl Project, found: &Found) -> Option<Result<(Share, String), String>> {
    let address = found.address.as_ref().filter(|it| it.socket.is_none())?;
    let own = project.own(found)?;
    let server = project.server(own, found)?;
    Some(server.and_then(|server| {
        if address.protocol == Protocol::Fastcgi && !found.is_of_a_proxy() {
            return Err("the setting is not an nginx setting, and looptax does not know its effect".to_owned());
        }
        let shared = shared(project, (own, server), address)?;
        may_be_written(found, &shared.0).map(|()| shared)
    }))
}

/// Checks that those settings which the container takes from elsewhere can be changed in its own environment.
fn may_be_written(found: &Found, share: &Share) -> Result<(), String> {
    for (role, setting) in found.apart() {
        let name = setting.path.join("/");
        let whose = found.taken.join(" and ");
        if role == Role::Url && (found.has_secrets() || found.address.as_ref().is_some_and(|it| it.password.is_some()))
        {
            return Err(format!(
                "`{name}` contains the whole address and comes from {whose}: looptax can change `{name}` only by \
                 copying the address's secrets into the container's own environment"
            ));
        }
        if setting.joins == Joins::Apart {
            share.variable.as_ref().map_err(|why| format!("`{name}` comes from {whose}, and {why}"))?;
        }
    }
    Ok(())
}

fn shared(project: &impl Project, (own, server): (usize, usize), address: &Address) -> Result<(Share, String), String> {
    if own == server {
        return Err("the address is the service's own address".to_owned());
    }
    let [of_own, of_server] = [own, server].map(|it| &project.containers()[it]);
    for it in [of_own, of_server] {
        it.unclear.clone().map_or(Ok(()), Err)?;
    }
    of_server.unread.clone().map_or(Ok(()), Err)?;
    let name = &of_server.title;
    let serving = image::socket_of(of_server, address.protocol)?;
    let socket = serving.socket.clone();
    if address.port != socket.port {
        return Err(format!("the image's server does not listen on port {}", address.port));
    }
    if of_server.has_own_configuration() {
        return Err(format!("`{name}` mounts its own configuration, which may set the place of its socket"));
    }
    let places = project.environment(own)?;
    let variable = project.variable(own, NAME, VALUE).map(|it| it.0);
    let mut lines = Vec::new();
    let in_server = of_server.at_folder(&socket.mount);
    let occupied = |title: &str| format!("`{title}` mounts something else at {}", socket.mount);
    let volume = match &in_server {
        Mounted::Volume(name) => (*name).to_owned(),
        Mounted::Nothing => project.volume_for(server),
        Mounted::Other => return Err(occupied(name)),
    };
    let is_new = in_server == Mounted::Nothing;
    if is_new {
        project.is_taken(server, &volume).map_or(Ok(()), Err)?;
        lines.push((server, project.mount(server, &volume, &socket.mount)?));
    } else {
        project.may_take(server, &volume)?;
    }
    match of_own.at_folder(&socket.mount) {
        Mounted::Nothing => lines.push((own, project.mount(own, &volume, &socket.mount)?)),
        Mounted::Volume(it) if it == volume => {}
        _ => return Err(occupied(&of_own.title)),
    }
    let declared = project.declare(server, &volume, is_new)?;
    let stays_as_it_is = lines.is_empty() && declared.is_none();
    let gives_up_port = address.protocol == Protocol::Fastcgi;
    lines.extend(turned_on(project, server, &serving)?.into_iter().map(|it| (server, it)));
    if gives_up_port {
        lines.extend(project.listening(own, server, &socket)?.into_iter().map(|it| (server, it)));
    }
    lines.extend(declared.map(|it| (own, it)));
    let (beside, here): (Vec<_>, Vec<_>) = lines.into_iter().partition(|(it, _)| project.is_beside(*it));
    let (rewrites, edits) = parted(here);
    let beside = project.is_beside(server).then(|| {
        let (rewrites, edits) = parted(beside);
        let new = is_new.then(|| (volume.clone(), quadlet::VOLUME));
        Beside { rewrites, edits, new }
    });
    let data = data_folder(address.protocol);
    let is_lost = data.filter(|it| !image::is_in_front(of_server, address.protocol) && project.loses(server, it));
    let Named { is, volume, mut restart } = project.named(own, server, is_new.then_some(&volume));
    if gives_up_port && stays_as_it_is {
        restart = restart.replacen("up -d", "up -d --force-recreate", 1);
    }
    restart.push_str(&losses(gives_up_port, is_lost));
    let traps = data.and_then(|it| old_rules(project, server, address.protocol, it)).into_iter().collect();
    let share = Share {
        server_is: is,
        image: of_server.image.clone().unwrap_or_default(),
        volume_is: volume,
        folder: socket.mount.clone(),
        edits,
        restart,
        traps,
        beside,
        socket,
        rewrites,
        places,
        variable,
    };
    Ok((share, name.clone()))
}

/// Separates the changes from the lines to show, and drops the numbers of the containers.
fn parted(lines: Vec<(usize, Inserted)>) -> (Vec<Rewrite>, Vec<Edit>) {
    let (rewrites, edits): (Vec<_>, Vec<_>) = lines.into_iter().map(|it| it.1).unzip();
    (rewrites.concat(), edits)
}

/// The lines with which a server creates its socket.
fn turned_on(project: &impl Project, server: usize, serving: &Serving) -> Result<Vec<Inserted>, String> {
    let options = Some(&serving.options).filter(|it| !it.is_empty());
    let options = options.map(|it| project.command(server, serving.program, it));
    let variable = serving.variable.as_ref().map(|(name, value)| project.variable(server, name, value));
    options.into_iter().chain(variable).collect()
}

/// Describes the data and the clients that are lost when the containers are recreated.
fn losses(gives_up_port: bool, folder: Option<&str>) -> String {
    let port = "; PHP-FPM then listens only on the socket, and the files do not show which other clients use its port";
    let data = folder.map(|it| {
        format!(
            "; no line of the file mounts {it}, where the server keeps its data: a new container may \
            start without the data"
        )
    });
    format!("{}{}", if gives_up_port { port } else { "" }, data.unwrap_or_default())
}

/// A warning that a `pg_hba.conf` in existing data decides who may log in over `PostgreSQL`'s socket. `None` if the
/// server is not `PostgreSQL`, or if its folder cannot contain earlier data.
///
/// # Source
/// docker-library/postgres, docker-entrypoint.sh: `POSTGRES_INITDB_ARGS` is for `initdb`, which runs only before any
/// data exists.
fn old_rules(project: &impl Project, server: usize, protocol: Protocol, folder: &str) -> Option<String> {
    let container = &project.containers()[server];
    if protocol != Protocol::Postgres || image::is_in_front(container, protocol) {
        return None;
    }
    let mount = container.mounts_at(folder).next()?;
    let place = [&mount.volume, &mount.from, &mount.target].into_iter().flatten().next();
    let place = place.map_or(folder, String::as_str);
    let within = project.within(server);
    Some(format!(
        "the data in `{place}` already has a pg_hba.conf. That file, not POSTGRES_INITDB_ARGS, decides which users may \
         log in over the socket; to see its rules, run `{within} sh -c 'grep ^local \"$PGDATA\"/pg_hba.conf'`; a rule \
         with `trust` lets every program that can reach the socket log in as every role"
    ))
}

/// The data folder in a server's image, for servers whose command or environment looptax changes.
fn data_folder(protocol: Protocol) -> Option<&'static str> {
    match protocol {
        Protocol::Mysql => Some("/var/lib/mysql"),
        Protocol::Postgres => Some("/var/lib/postgresql"),
        Protocol::Redis => Some("/data"),
        _ => None,
    }
}
