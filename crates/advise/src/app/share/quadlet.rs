//! Podman's `.container` units of an application and its server, and the lines that looptax can write in them.
//!
//! # Source
//! podman-systemd.unit(5): `Exec=`, `Volume=`, `Pod=`, `Network=`; `.volume` units: `Type=`, `Device=`, `Options=`.

use std::ops::Range;

use looptax_model::record::Edit;

use super::container::{Container, Mount};
use super::line::{Inserted, edit, insertion};
use super::project::{Named, Project};
use crate::app::found::Found;
use crate::app::inside::is_loopback;
use crate::app::rewrite::newline;

/// The text of a unit for a new volume: a tmpfs in which every user may make sockets. Podman gives any other volume the
/// owner and the mode of the container that starts first.
pub(super) const VOLUME: &str = "[Volume]\nType=tmpfs\nDevice=tmpfs\nOptions=uid=0,gid=0,mode=1777\n";

/// A unit: its text, and its name without `.container`.
#[derive(Debug, Clone, Copy)]
pub struct Unit<'a> {
    pub name: &'a str,
    pub text: &'a str,
}

struct Line<'a> {
    key: &'a str,
    value: String,
    /// The line on which the setting begins, counted from 1.
    number: usize,
    /// The end of the setting's last line, before the line break.
    end: usize,
}

pub(super) struct Pair<'a> {
    units: [Unit<'a>; 2],
    lines: [Vec<Line<'a>>; 2],
    containers: [Container; 2],
    beside: &'a [String],
}

/// The index of the server's unit in each array of [`Pair`]; the application's unit has index 0.
const SERVER: usize = 1;

impl<'a> Pair<'a> {
    pub(super) fn read(own: Unit<'a>, server: Unit<'a>, beside: &'a [String]) -> Result<Self, String> {
        let units = [own, server];
        let lines = units.map(|it| lines_of(it.text));
        let containers = [0, 1].map(|it: usize| container_of(units[it].name, &lines[it]));
        for it in units {
            let drop_ins = format!("{}.container.d", it.name);
            if it.name.contains('@') {
                return Err(format!("`{}` is a template unit, which may start several containers", it.name));
            }
            if beside.contains(&drop_ins) {
                return Err(format!("{drop_ins} in the same folder may override the unit"));
            }
        }
        Ok(Self { units, lines, containers, beside })
    }

    fn last(&self, unit: usize, key: &str) -> Option<&Line<'a>> {
        self.lines[unit].iter().rfind(|it| it.key == key)
    }

    fn all<'b>(&'b self, unit: usize, key: &'b str) -> impl Iterator<Item = &'b str> {
        self.lines[unit].iter().filter(move |it| it.key == key).map(|it| &*it.value)
    }

    /// Whether the two containers share a network, so that they have the same loopback.
    fn has_one_loopback(&self) -> bool {
        let pods = [0, SERVER].map(|it| self.last(it, "Pod").map(|it| &it.value));
        let joins = |one: usize, other: usize| {
            let network = self.last(one, "Network").map(|it| &*it.value);
            let own = format!("{}.container", self.units[other].name);
            network.is_some_and(|it| it == own || it.strip_prefix("container:") == Some(&self.containers[other].title))
        };
        pods[0].is_some() && pods[0] == pods[1] || joins(0, SERVER) || joins(SERVER, 0)
    }

    /// Adds a line below the last line with the same key, or else below the line of the image.
    fn below(&self, unit: usize, key: &str, value: &str) -> Result<Inserted, String> {
        let anchor = self.last(unit, key).or_else(|| self.last(unit, "Image"));
        let anchor = anchor.ok_or_else(|| format!("{}.container has no `Image=`", self.units[unit].name))?;
        let new = format!("{}{key}={value}", newline(self.units[unit].text));
        let shown = format!("{key}={value}");
        Ok((vec![insertion(anchor.end, new)], edit(anchor.number, &shown)))
    }
}

impl Project for Pair<'_> {
    fn containers(&self) -> &[Container] {
        &self.containers
    }

    fn own(&self, _: &Found) -> Option<usize> {
        Some(0)
    }

    fn server(&self, _: usize, found: &Found) -> Option<Result<usize, String>> {
        let host = found.address.as_ref()?.host.as_deref().unwrap_or("localhost");
        let name = self.units[SERVER].name;
        if is_loopback(host) {
            let is_apart = || format!("the units do not show whether `{host}` is {name}.container");
            return Some(if self.has_one_loopback() { Ok(SERVER) } else { Err(is_apart()) });
        }
        let mut names = self.all(SERVER, "NetworkAlias").chain([&*self.containers[SERVER].title]);
        let is_named = names.any(|it| it == host);
        Some(if is_named {
            Ok(SERVER)
        } else {
            Err(format!("`{host}` is not a name of the container of {name}.container"))
        })
    }

    fn is_taken(&self, _: usize, volume: &str) -> Option<String> {
        self.beside.iter().any(|it| it == volume).then(|| format!("{volume} exists already"))
    }

    fn may_take(&self, _: usize, volume: &str) -> Result<(), String> {
        // A relative path starts in the folder of its unit, and the two units may be in different folders.
        if volume.starts_with('.') { Err(format!("`{volume}` is the relative path of a folder")) } else { Ok(()) }
    }

    fn volume_for(&self, server: usize) -> String {
        format!("sockets-{}.volume", self.units[server].name)
    }

    fn mount(&self, container: usize, volume: &str, folder: &str) -> Result<Inserted, String> {
        self.below(container, "Volume", &format!("{volume}:{folder}"))
    }

    fn declare(&self, _: usize, _: &str, _: bool) -> Result<Option<Inserted>, String> {
        Ok(None)
    }

    fn command(&self, server: usize, program: &str, options: &[String]) -> Result<Inserted, String> {
        let options = options.join(" ");
        let mut all = self.lines[server].iter().filter(|it| it.key == "Exec");
        let Some(own) = all.next() else {
            return self.below(server, "Exec", &format!("{program} {options}"));
        };
        let is_open = ['"', '\''].iter().any(|it| own.value.matches(*it).count() % 2 == 1);
        if all.next().is_some() || is_open || own.value.is_empty() {
            return Err("`Exec=` is not one plain line".to_owned());
        }
        let new = insertion(own.end, format!(" {options}"));
        let shown = format!("{options}  # at the end of Exec=");
        Ok((vec![new], Edit { line: Some(own.number), before: None, after: Some(shown) }))
    }

    fn variable(&self, server: usize, name: &str, value: &str) -> Result<Inserted, String> {
        self.below(server, "Environment", &format!("{name}={value}"))
    }

    fn environment(&self, container: usize) -> Result<Vec<Range<usize>>, String> {
        Ok(std::iter::once(0..self.units[container].text.len()).collect())
    }

    fn is_beside(&self, container: usize) -> bool {
        container == SERVER
    }

    fn within(&self, container: usize) -> String {
        format!("podman exec {}", self.containers[container].title)
    }

    fn named(&self, own: usize, server: usize, _: Option<&str>) -> Named {
        let [own, server] = [own, server].map(|it| self.units[it].name);
        Named {
            is: format!("`{}` is the container of {server}.container", self.containers[SERVER].title),
            volume: "a volume that both containers mount",
            restart: format!(
                "systemctl daemon-reload && systemctl restart {server}.service {own}.service (with --user for \
                 units of a user): `{server}` is down during that time"
            ),
        }
    }
}

/// The settings of `[Container]`, each with its continuation lines.
fn lines_of(text: &str) -> Vec<Line<'_>> {
    let mut found: Vec<Line<'_>> = Vec::new();
    let (mut at, mut is_own, mut goes_on, mut is_known) = (0, false, false, false);
    for (idx, line) in text.split_inclusive('\n').enumerate() {
        let start = at;
        at += line.len();
        let body = line.trim_end_matches(['\n', '\r']);
        let trimmed = body.trim();
        let is_comment = trimmed.starts_with(['#', ';']);
        if goes_on && is_comment {
            continue;
        }
        let part = trimmed.trim_end_matches('\\');
        if goes_on {
            if let Some(last) = found.last_mut().filter(|_| is_known) {
                last.value = format!("{} {}", last.value.trim_end(), part.trim());
                last.end = start + body.len();
            }
        } else if let Some(name) = trimmed.strip_prefix('[').and_then(|it| it.split(']').next()) {
            is_own = name == "Container";
        } else if let Some((key, value)) = part.split_once('=').filter(|_| !is_comment && is_own) {
            let (key, value, end) = (key.trim(), value.trim().to_owned(), start + body.len());
            found.push(Line { key, value, number: idx + 1, end });
        }
        if !goes_on {
            is_known = is_own && part.contains('=') && !is_comment;
        }
        goes_on = !is_comment && trimmed.ends_with('\\');
    }
    found
}

fn container_of(name: &str, lines: &[Line<'_>]) -> Container {
    let all = |key: &'static str| lines.iter().filter(move |it| it.key == key).map(|it| &*it.value);
    let mut mounts: Vec<Mount> = all("Volume").map(mount).collect();
    let tmpfs = all("Tmpfs").map(|it| it.split(':').next().unwrap_or_default().to_owned());
    mounts.extend(tmpfs.map(|it| Mount { target: Some(it), ..Mount::default() }));
    if all("Mount").chain(all("PodmanArgs")).chain(all("Rootfs")).next().is_some() {
        mounts.push(Mount::default());
    }
    let unquoted = |it: &str| it.trim_matches(['"', '\'']).to_owned();
    let title = all("ContainerName").next_back().map_or_else(|| format!("systemd-{name}"), str::to_owned);
    Container {
        title,
        image: all("Image").next_back().map(str::to_owned),
        replaced_by: all("Entrypoint").next().map(|_| "Entrypoint="),
        words: all("Exec").flat_map(str::split_whitespace).map(str::to_owned).collect(),
        variables: all("Environment").flat_map(str::split_whitespace).map(unquoted).collect(),
        mounts,
        has_configs: false,
        unclear: None,
        unread: None,
    }
}

/// Reads the mount in a line like `data.volume:/var/lib/mysql:Z`.
fn mount(text: &str) -> Mount {
    let parts: Vec<&str> = text.split(':').collect();
    let has_variable = text.contains(['%', '$']);
    let (source, target, options) = match parts[..] {
        [target] => (None, target, ""),
        [source, target] => (Some(source), target, ""),
        [source, target, options, ..] => (Some(source), target, options),
        [] => (None, "", ""),
    };
    let is_name = |it: &&str| !it.starts_with(['/', '.', '~']) && !it.is_empty() && !has_variable;
    // With `Z`, only this container may use the volume.
    let is_its_own = options.split(',').any(|it| it == "ro" || it == "Z");
    let volume = source.filter(is_name).filter(|_| !is_its_own);
    let target = Some(target).filter(|it| it.starts_with('/')).map(str::to_owned);
    Mount { volume: volume.map(str::to_owned), target, ..Mount::default() }
}
