//! The services of a Compose file, and the lines that looptax can write for them.
//!
//! # Source
//! docs.docker.com, Compose file reference: `volumes`, `driver_opts`, `command`, `deploy`.

use std::ops::Range;

use super::container::{Container, Mount};
use super::image::Socket;
use super::line::{self, Inserted, Item};
use super::project::{Named, Project};
use super::taken;
use super::tree::{self, Node, Shape};
use super::web;
use crate::app::containers::SERVICES;
use crate::app::found::Found;
use crate::app::inside::is_loopback;
use crate::app::whole::Whole;
use crate::app::yaml;

/// Keys of Compose's `deploy` that neither start several containers of a service nor run containers on other machines.
const HARMLESS: [&str; 3] = ["resources", "restart_policy", "labels"];

/// Options for a new volume: a tmpfs in which every user may make sockets. Docker gives an empty volume the owner and
/// the mode of the image's folder, if the image has the folder. Podman gives an empty volume the owner and the mode of
/// the container that starts first. If the volume itself sets no owner, the server may then lack the right to write in
/// its own folder (seen with podman 4.3.1, 2026-11-28; parse.go and `fixVolumePermissions` in 5.4).
pub(super) const OPTIONS: &str = "driver_opts: {type: tmpfs, device: tmpfs, o: 'uid=0,gid=0,mode=1777'}";

pub(super) struct File<'a> {
    whole: &'a Whole,
    text: &'a str,
    root: Node,
    containers: Vec<Container>,
    /// The other files that were read, as ranges of bytes of the joined text. A variable in these files has
    /// `Joins::Apart` if it must not be changed.
    files: Vec<Range<usize>>,
}

impl<'a> File<'a> {
    pub(super) fn read(whole: &'a Whole, beside: &[String]) -> Result<Self, String> {
        let text = whole.own();
        let root = tree::read(text).filter(|_| !text.contains("{%") && !text.contains("<%"));
        let root = root.ok_or("the file is not a single plain YAML document")?;
        let is_override = |it: &&String| it.contains("compose.override.y");
        if let Some(name) = beside.iter().find(is_override) {
            return Err(format!("{name} in the same folder may override the file"));
        }
        if root.get("include").is_some() || is_shared(&root) {
            return Err("the file includes other files, or is merged from parts".to_owned());
        }
        let services = root.get(SERVICES).filter(|_| root.all(SERVICES).count() == 1);
        let services = services.filter(|it| !is_shared(it) && !it.entries().is_empty());
        let services = services.ok_or("the file's services are not written in plain lines")?;
        let (settings, _) = yaml::read(text);
        let containers = services.entries().iter();
        let containers = containers.map(|(key, own)| {
            let mut container = container_of(key.text().unwrap_or_default(), own);
            container.unclear = unclear(key, own);
            container.take(taken::of_service(&container.title, &settings, whole, &|_| true));
            container
        });
        let containers = containers.collect();
        Ok(Self { whole, text, root, containers, files: whole.others().map(|it| it.0.at.clone()).collect() })
    }

    fn service(&self, idx: usize) -> (Option<&Node>, &Node) {
        let services = self.root.get(SERVICES).expect("Compose rejects a file without services");
        let (key, own) = &services.entries()[idx];
        (Some(key), own)
    }

    /// The names by which other services reach a service.
    pub(super) fn names(&self, idx: usize) -> Vec<&str> {
        let (key, own) = self.service(idx);
        let others = ["container_name", "hostname"].map(|key| own.get(key));
        key.into_iter().chain(others.into_iter().flatten()).filter_map(Node::text).collect()
    }

    /// The key with which a service uses a port: the service publishes the port, or its health check connects to the
    /// port.
    pub(super) fn says_port(&self, idx: usize, port: u16) -> Option<&'static str> {
        let port = port.to_string();
        let has_port = |it: &Node| it.text().is_some_and(|it| it.contains(&port));
        let own = self.service(idx).1;
        ["ports", "healthcheck"].into_iter().find(|key| own.get(key).is_some_and(|it| it.any(&has_port)))
    }
}

impl Project for File<'_> {
    fn containers(&self) -> &[Container] {
        &self.containers
    }

    fn own(&self, found: &Found) -> Option<usize> {
        let name = found.service.as_deref()?;
        self.containers.iter().rposition(|it| it.title == name)
    }

    fn server(&self, _: usize, found: &Found) -> Option<Result<usize, String>> {
        let address = found.address.as_ref()?;
        let host = address.host.as_deref()?;
        // If the address is a loopback address, the server is the container that shares the application's network.
        let beside = found.inside.as_ref().and_then(|it| it.server_beside(address.protocol));
        let host = beside.filter(|_| is_loopback(host)).unwrap_or(host);
        let mut all = (0..self.containers.len()).filter(|it| self.names(*it).contains(&host));
        let first = all.next()?;
        Some(match all.next() {
            Some(_) => Err(format!("several services are called `{host}`")),
            None => Ok(first),
        })
    }

    fn is_taken(&self, _: usize, volume: &str) -> Option<String> {
        let declared = self.root.get("volumes").and_then(|it| it.get(volume));
        declared.map(|_| format!("the file already has a volume `{volume}`"))
    }

    fn may_take(&self, _: usize, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn mount(&self, container: usize, volume: &str, folder: &str) -> Result<Inserted, String> {
        let lines = [format!("{volume}:{folder}")];
        let title = &self.containers[container].title;
        line::item(self.text, self.service(container), &Item { title, key: "volumes", lines: &lines, below: "" })
    }

    fn declare(&self, _: usize, volume: &str, is_new: bool) -> Result<Option<Inserted>, String> {
        line::declare(self.text, &self.root, volume, is_new.then_some(OPTIONS))
    }

    fn command(&self, server: usize, program: &str, options: &[String]) -> Result<Inserted, String> {
        let title = &self.containers[server].title;
        let whole = format!("{program} {}", options.join(" "));
        line::words(self.text, self.service(server), (title, "command"), (options, &whole))
    }

    fn variable(&self, container: usize, name: &str, value: &str) -> Result<Inserted, String> {
        let title = &self.containers[container].title;
        let own = self.service(container);
        // `environment` is either a mapping, or a list of `NAME=value`.
        let is_map = own.1.get("environment").is_some_and(|it| matches!(it.kind, Shape::Map { .. }));
        if is_map {
            environment(self.text, own.1, "environment", title)?;
            return line::entry(self.text, own.1, (title, "environment"), &format!("{name}: {value}"));
        }
        let lines = [format!("{name}={value}")];
        line::item(self.text, own, &Item { title, key: "environment", lines: &lines, below: "env_file" })
    }

    fn listening(&self, own: usize, server: usize, socket: &Socket) -> Result<Vec<Inserted>, String> {
        let both = [own, server].map(|it| &self.containers[it]);
        let files =
            both.iter().flat_map(|it| it.mounts.iter().filter_map(move |mount| Some((it, mount.from.as_ref()?))));
        for (container, file) in files.filter(|it| self.whole.others().any(|part| part.0.words == *it.1)) {
            let has_it = |it: &&Container| {
                it.title != container.title && it.mounts.iter().any(|it| it.from.as_ref() == Some(file))
            };
            if let Some(other) = self.containers.iter().find(has_it) {
                return Err(format!("`{}` and `{}` mount the same file: {file}", container.title, other.title));
            }
        }
        web::listening((both[0], both[1]), self.whole, (&socket.file(), socket.port))
    }

    fn environment(&self, container: usize) -> Result<Vec<Range<usize>>, String> {
        let own = self.service(container).1;
        let mut places = environment(self.text, own, "environment", &self.containers[container].title)?;
        places.extend(self.files.clone());
        Ok(places)
    }

    fn within(&self, container: usize) -> String {
        format!("docker compose exec {}", self.containers[container].title)
    }

    fn named(&self, _: usize, server: usize, _: Option<&str>) -> Named {
        let title = &self.containers[server].title;
        Named {
            is: format!("`{title}` is a service of the same file"),
            volume: "a volume that both containers mount",
            restart: format!(
                "docker compose up -d, which creates the containers again: `{title}` is down during that time"
            ),
        }
    }
}

/// Reads a service, from its own settings only.
pub(super) fn container_of(title: &str, service: &Node) -> Container {
    let has = |key: &&str| service.get(key).is_some();
    let environment = service.get("environment");
    let mut variables: Vec<String> = environment.map_or_else(Vec::new, |it| {
        let pairs = it.entries().iter();
        let pairs =
            pairs.filter_map(|(key, value)| Some(format!("{}={}", key.text()?, value.text().unwrap_or_default())));
        pairs.collect()
    });
    let listed = environment.map_or(&[][..], Node::items).iter();
    variables.extend(listed.filter_map(|it| it.text().map(str::to_owned)));
    let mut mounts = Vec::new();
    for key in ["volumes", "tmpfs"] {
        let Some(node) = service.get(key) else {
            continue;
        };
        let items = match &node.kind {
            Shape::List { items, .. } => &items[..],
            Shape::Nothing => &[],
            _ => std::slice::from_ref(node),
        };
        mounts.extend(items.iter().map(|it| mount(it, key == "tmpfs")));
    }
    if has(&"volumes_from") {
        mounts.push(Mount::default());
    }
    Container {
        title: title.to_owned(),
        image: service.get("image").and_then(Node::text).map(str::to_owned),
        replaced_by: ["build", "entrypoint"].into_iter().find(has),
        words: service.get("command").map_or_else(Vec::new, Node::words),
        variables,
        mounts,
        has_configs: has(&"configs"),
        unclear: None,
        unread: None,
    }
}

/// Reads a mount: `data:/var/lib/mysql:ro`, or a mapping with keys.
fn mount(item: &Node, is_tmpfs: bool) -> Mount {
    let is_name = |it: &&str| {
        let is_sign = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        it.starts_with(|c: char| c.is_ascii_alphanumeric()) && it.chars().all(is_sign)
    };
    let is_path = |it: &&str| it.starts_with(['.', '/']) && !it.contains('$');
    let Some(text) = item.text() else {
        let kind = item.get("type").and_then(Node::text);
        let source = |of: &str| item.get("source").and_then(Node::text).filter(|_| kind == Some(of));
        let is_whole = item.get("read_only").is_none() && item.get("volume").is_none();
        let volume = source("volume").filter(is_name).filter(|_| is_whole);
        let target = item.get("target").and_then(Node::text);
        return Mount {
            volume: volume.map(str::to_owned),
            from: source("bind").filter(is_path).map(str::to_owned),
            target: target.map(str::to_owned),
        };
    };
    // The value of a variable may contain anything, including colons.
    if text.contains('$') {
        let target = text.rsplit('}').next().and_then(|it| it.split(':').rfind(|it| it.starts_with('/')));
        return Mount { target: target.map(str::to_owned), ..Mount::default() };
    }
    let parts: Vec<&str> = text.split(':').collect();
    let (source, target, options) = match parts[..] {
        [source, target, ref rest @ ..] if !is_tmpfs => (Some(source), target, rest.concat()),
        [target, ..] => (None, target, String::new()),
        [] => (None, "", String::new()),
    };
    // With `Z` and SELinux, only this container may use the volume.
    let is_shared = |_: &&str| !options.split(',').any(|it| it == "ro" || it == "Z");
    Mount {
        volume: source.filter(is_name).filter(is_shared).map(str::to_owned),
        from: source.filter(is_path).map(str::to_owned),
        target: Some(target.to_owned()),
    }
}

/// Returns the places of a container's variables.
///
/// Returns an error if other containers use the same variables, or if the variables are not on separate plain lines.
pub(super) fn environment(text: &str, own: &Node, key: &str, title: &str) -> Result<Vec<Range<usize>>, String> {
    if own.get(key).is_none() {
        return Ok(Vec::new());
    }
    let node = own.get(key).filter(|_| own.all(key).count() == 1);
    let is_foreign = |it: &Node| it.is_marked || matches!(it.kind, Shape::Alias) || it.text() == Some("<<");
    let node = node.filter(|it| {
        let is_flow = matches!(it.kind, Shape::Map { is_flow: true, .. } | Shape::List { is_flow: true, .. });
        !is_flow && !it.any(&is_foreign)
    });
    let node = node.ok_or_else(|| format!("the variables of `{title}` are not on separate plain lines"))?;
    Ok(std::iter::once(node.at.start..line::line_end(text, node.at.end)).collect())
}

/// If a service's own lines do not describe it completely, returns the reason in words.
fn unclear(key: &Node, service: &Node) -> Option<String> {
    let title = key.text().unwrap_or_default();
    if key.is_marked || is_shared(service) || service.get("extends").is_some() {
        return Some(format!("`{title}` shares parts with other services (an anchor, `<<` or `extends`)"));
    }
    is_spread(service).then(|| format!("`{title}` may have several containers, or run on several machines"))
}

/// Whether the service may have several containers, or run on other machines.
fn is_spread(service: &Node) -> bool {
    let deploy = service.get("deploy").map_or(&[][..], Node::entries);
    let is_harmless = |key: &Node| key.text().is_some_and(|it| HARMLESS.contains(&it));
    service.get("scale").is_some() || deploy.iter().any(|(key, _)| !is_harmless(key))
}

/// Whether another place also uses a mapping, or the mapping includes parts from elsewhere.
pub(super) fn is_shared(node: &Node) -> bool {
    let is_plain = matches!(node.kind, Shape::Map { is_flow: false, .. });
    !is_plain || node.is_marked || node.get("<<").is_some()
}
