//! Compose files: what has to be written where an application's service and its server's are to share a socket.
//!
//! The socket's folder becomes a named volume of both. What counts elsewhere too (anchors, `extends`, `include`), what is
//! not plain lines, and servers whose socket is not known are left to people, with the reason. Called by the check of a
//! file for `switch --compose`.

mod image;
mod mount;
mod tree;

use std::collections::BTreeSet;

use looptax_model::dsn::Address;
use looptax_model::record::Edit;

use super::bind::{bound_of, merged};
use super::containers::{SERVICES, in_containers};
use super::found::{Found, Reading};
use super::guess;
use super::inside::is_loopback;
use super::placed::place_inside;
use super::placeholder::doubt_placeholders;
use super::read::{is_of_environment, named};
use super::rewrite::{Moves, Rewrite};
use super::setting::{Setting, Value, doubt_repeated};
use super::signs::Signs;
use super::source::{MOST_BYTES, Source};
use super::table::{App, Format, apps};
use super::yaml;
use crate::Fields;
use image::Socket;
use mount::Mounted;
use tree::{Node, Shape};

/// Most services of a file that are read.
const MOST_SERVICES: usize = 64;

/// What has both containers of a connection use one socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    pub server: String,
    pub image: String,
    /// The folder of the socket, in both.
    pub folder: &'static str,
    /// The lines of the volumes, as they are shown.
    pub edits: Vec<Edit>,
    socket: Socket,
    rewrites: Vec<Rewrite>,
    environment: (usize, usize),
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
            folder: self.folder.to_owned(),
            port: address.port,
            // Its lines keep the query that they have.
            options: None,
        }
    }

    /// The socket's file, in both containers.
    pub fn file(&self) -> String {
        format!("{}/{}", self.folder, self.socket.name)
    }

    /// All that is written: the application's lines, which `moves` are, and the volumes. `None` where those lines
    /// stand outside of its service, or are none.
    pub fn complete(&self, moves: Moves) -> Option<Moves> {
        let (start, end) = self.environment;
        let is_inside = |it: &Rewrite| it.at.start >= start && it.at.end <= end;
        if !moves.variables.is_empty() || !moves.here.iter().all(is_inside) {
            return None;
        }
        let here = moves.here.into_iter().chain(self.rewrites.iter().cloned());
        Some(Moves { here: here.collect(), variables: Vec::new() })
    }
}

/// Reads a Compose file service by service, each with the connections that its own variables are. With a name, as those
/// of that application. `None` where it has no services.
pub fn read_services(source: &Source<'_>, application: Option<&str>) -> Option<Reading> {
    let text = String::from_utf8_lossy(&source.bytes[..source.bytes.len().min(MOST_BYTES)]);
    let (settings, problems) = yaml::read(&text);
    let mut names: Vec<&str> = Vec::new();
    for setting in &settings {
        if let [top, name, _, ..] = &setting.path[..]
            && top == SERVICES
            && !names.contains(&&**name)
        {
            names.push(name);
        }
    }
    if names.is_empty() {
        return None;
    }
    let wanted = application.map(|name| named(name, &|it| it.format == Format::Dotenv));
    let mut reading = Reading { problems, ..Reading::default() };
    for name in names.into_iter().take(MOST_SERVICES) {
        let is_own = |it: &&Setting| match &it.path[..] {
            [top, service, key, ..] => top == SERVICES && service == name && key == "environment",
            _ => false,
        };
        let own: Vec<Setting> = settings.iter().filter(is_own).cloned().collect();
        // What lies beside the file is that of a service that is built there.
        let is_built_here = { settings.iter() }.any(|it| is_build_of(name, it));
        let source = Source { neighbours: if is_built_here { source.neighbours } else { &[] }, ..*source };
        let mut own = in_containers(&own);
        doubt_repeated(&mut own);
        doubt_placeholders(&mut own);
        reading.found.extend(of_service(name, &own, &source, wanted.as_deref()));
    }
    reading.found.sort_by_key(|it| it.line);
    place_inside(&mut reading.found, source, &text);
    Some(reading)
}

/// Whether a setting says that a service is built in the file's own folder.
fn is_build_of(service: &str, setting: &Setting) -> bool {
    let path: Vec<&str> = setting.path.iter().map(|it| &**it).collect();
    let is_context = match path[..] {
        [top, own, "build"] | [top, own, "build", "context"] => top == SERVICES && own == service,
        _ => false,
    };
    is_context && matches!(&setting.value, Value::Text(it) if it == "." || it == "./")
}

/// Whether its variables are nobody else's, or something else says that it is this application: no proof follows.
fn is_certain(app: &App, signs: &Signs) -> bool {
    app.signs.is_empty() || signs.are_of(app)
}

fn of_service(name: &str, settings: &[Setting], source: &Source<'_>, wanted: Option<&[&'static App]>) -> Vec<Found> {
    // What tells an application by its variables reads lines.
    let lines = settings.iter().map(|it| match &it.value {
        Value::Text(text) => format!("{}={text}\n", it.path.join("/")),
        _ => format!("{}=\n", it.path.join("/")),
    });
    let lines: String = lines.collect();
    let source = Source { bytes: lines.as_bytes(), ..*source };
    let signs = Signs::of(&source);
    let is_own = |app: &&&'static App| match wanted {
        Some(wanted) => app.format == Format::Dotenv && wanted.iter().any(|it| it.name == app.name),
        None => is_of_environment(app, &signs),
    };
    let all: Vec<&'static App> = apps().iter().collect();
    let bound = { all.iter().filter(is_own) }.flat_map(|app| bound_of(app, settings, &source));
    let mut found = merged(bound.collect(), &source, true);
    if wanted.is_none() {
        for found in &mut found {
            found.is_guessed |= !found.bound.iter().all(|it| is_certain(it.app, &signs));
        }
        let known = found.iter().flat_map(|it| &it.bound);
        let known = known.flat_map(|it| it.roles.values().map(|it| it.path.clone()));
        let known: BTreeSet<Vec<String>> = known.collect();
        let is_known = |it: &Setting| known.contains(&it.path);
        let guessed = guess::connections(settings, Format::Containers, &lines, &is_known);
        found.extend(merged(guessed, &source, true));
    }
    for found in &mut found {
        found.service = Some(name.to_owned());
        if found.label.is_empty() {
            name.clone_into(&mut found.label);
        }
    }
    found
}

/// For each connection that a service has to another service of the file, what has both share the socket, or why that
/// is left to people; `None` for one that goes elsewhere. `beside` are the names of files that lie there too.
pub fn shares(text: &str, found: &[Found], beside: &[String]) -> Vec<Option<Result<Share, String>>> {
    let file = File::read(text, beside);
    let mut all: Vec<Option<Result<Share, String>>> = { found.iter() }
        .map(|it| file.as_ref().map_or_else(|why| Some(Err(why.clone())), |file| file.share(it)))
        .collect();
    let of = |at: usize| found[at].service.as_deref();
    let folders: Vec<(usize, &str, String)> = { all.iter().enumerate() }
        .filter_map(|(at, it)| match it {
            Some(Ok(share)) => Some((at, share.folder, share.server.clone())),
            _ => None,
        })
        .collect();
    for (at, folder, server) in &folders {
        let is_other = |it: &&(usize, &str, String)| of(it.0) == of(*at) && it.1 == *folder && it.2 != *server;
        if let Some((_, _, other)) = folders.iter().find(is_other) {
            all[*at] = Some(Err(format!("`{server}` and `{other}` would both have their sockets at {folder}")));
        }
    }
    all
}

/// A Compose file that may be written into.
struct File<'a> {
    text: &'a str,
    root: Node,
}

impl<'a> File<'a> {
    fn read(text: &'a str, beside: &[String]) -> Result<Self, String> {
        let root = tree::read(text).filter(|_| !text.contains("{%") && !text.contains("<%"));
        let root = root.ok_or("the file is not one plain document of YAML")?;
        let is_override = |it: &&String| it.contains("compose.override.y");
        if let Some(name) = beside.iter().find(is_override) {
            return Err(format!("{name} beside it may say otherwise"));
        }
        if root.get("include").is_some() || is_shared(&root) {
            return Err("the file includes others, or is merged from parts".to_owned());
        }
        let services = root.get(SERVICES).filter(|_| root.all(SERVICES).count() == 1);
        let services = services.filter(|it| !is_shared(it) && !it.entries().is_empty());
        services.ok_or("its services are not plain lines")?;
        Ok(Self { text, root })
    }

    fn services(&self) -> &[(Node, Node)] {
        self.root.get(SERVICES).map_or(&[], Node::entries)
    }

    /// The service that a name means to the others.
    fn named(&self, host: &str) -> Option<Result<&(Node, Node), String>> {
        let is_own = |(name, own): &&(Node, Node)| {
            let others = ["container_name", "hostname"].map(|key| own.get(key));
            let mut all = std::iter::once(Some(name)).chain(others).flatten();
            all.any(|it| it.text() == Some(host))
        };
        let mut all = self.services().iter().filter(is_own);
        let first = all.next()?;
        Some(match all.next() {
            Some(_) => Err(format!("several services are called `{host}`")),
            None => Ok(first),
        })
    }

    fn share(&self, found: &Found) -> Option<Result<Share, String>> {
        let address = found.address.as_ref()?;
        let host = address.host.as_deref().filter(|_| address.socket.is_none())?;
        // The loopback of a network that both have.
        let beside = found.inside.as_ref().and_then(|it| it.server_beside(address.protocol));
        let host = beside.filter(|_| is_loopback(host)).unwrap_or(host);
        let server = self.named(host)?;
        let name = found.service.as_deref()?;
        let own = self.services().iter().rfind(|it| it.0.text() == Some(name))?;
        Some(server.and_then(|server| self.shared(own, server, address)))
    }

    fn shared(&self, own: &(Node, Node), server: &(Node, Node), address: &Address) -> Result<Share, String> {
        let name = server.0.text().unwrap_or_default();
        if std::ptr::eq(own, server) {
            return Err("the service names itself".to_owned());
        }
        refuse_unclear(own)?;
        refuse_unclear(server)?;
        let (image, socket) = image::socket_of(&server.1, address.protocol)?;
        if address.port != socket.port {
            return Err(format!("port {} is not the one that the image's server has", address.port));
        }
        if mount::has_own_configuration(&server.1) {
            return Err(format!("`{name}` has a configuration of its own mounted, which may say where its socket is"));
        }
        let environment = self.environment(own)?;
        let mut lines = Vec::new();
        let in_server = mount::at_folder(&server.1, socket.folder);
        let volume = match &in_server {
            Mounted::Volume(name) => (*name).to_owned(),
            Mounted::Nothing => format!("sockets-{name}"),
            Mounted::Other => {
                return Err(format!("`{name}` has something else at {}", socket.folder));
            }
        };
        let is_new = in_server == Mounted::Nothing;
        let declared = self.root.get("volumes").and_then(|it| it.get(&volume));
        if is_new && declared.is_some() {
            return Err(format!("the file has a volume `{volume}` already"));
        }
        if is_new {
            lines.push(mount::mount(self.text, (&server.0, &server.1), &volume, socket.folder)?);
        }
        match mount::at_folder(&own.1, socket.folder) {
            Mounted::Nothing => {
                lines.push(mount::mount(self.text, (&own.0, &own.1), &volume, socket.folder)?);
            }
            Mounted::Volume(it) if it == volume => {}
            _ => {
                let title = own.0.text().unwrap_or_default();
                return Err(format!("`{title}` has something else at {}", socket.folder));
            }
        }
        lines.extend(mount::declare(self.text, &self.root, &volume)?);
        let (rewrites, edits): (Vec<Vec<Rewrite>>, Vec<Edit>) = lines.into_iter().unzip();
        Ok(Share {
            server: name.to_owned(),
            image: image.to_owned(),
            folder: socket.folder,
            edits,
            socket,
            rewrites: rewrites.into_iter().flatten().collect(),
            environment,
        })
    }

    /// Where a service's variables stand, which no other service has.
    fn environment(&self, own: &(Node, Node)) -> Result<(usize, usize), String> {
        let title = own.0.text().unwrap_or_default();
        let node = own.1.get("environment").filter(|_| own.1.all("environment").count() == 1);
        let is_foreign = |it: &Node| it.is_marked || matches!(it.kind, Shape::Alias) || it.text() == Some("<<");
        let node = node.filter(|it| {
            let is_flow = matches!(it.kind, Shape::Map { is_flow: true, .. } | Shape::List { is_flow: true, .. });
            !is_flow && !it.any(&is_foreign)
        });
        let node = node.ok_or_else(|| format!("the variables of `{title}` are not plain lines of its own"))?;
        Ok((node.at.start, mount::line_end(self.text, node.at.end)))
    }
}

/// What cannot be told of a service from its own lines alone.
fn refuse_unclear((key, service): &(Node, Node)) -> Result<(), String> {
    let title = key.text().unwrap_or_default();
    if key.is_marked || is_shared(service) || service.get("extends").is_some() {
        return Err(format!("`{title}` has parts that it shares with others (an anchor, `<<` or `extends`)"));
    }
    if image::is_spread(service) {
        return Err(format!("the containers of `{title}` may be several, or on several machines"));
    }
    Ok(())
}

/// Whether a mapping counts elsewhere too, or has parts from there.
fn is_shared(node: &Node) -> bool {
    let is_plain = matches!(node.kind, Shape::Map { is_flow: false, .. });
    !is_plain || node.is_marked || node.get("<<").is_some()
}
