//! Pods, and the lines that looptax can write for them: in Kubernetes manifests, and in files of `podman kube play`.
//!
//! # Source
//! kubernetes.io, "Volumes" (an emptyDir is open to every user) and "Define a Command and Arguments for a Container";
//! API reference: `PodSpec`, `Container.volumeMounts`.

use std::ops::Range;

use super::compose::environment;
use super::container::{Container, Mount};
use super::image;
use super::line::{self, Inserted, Item};
use super::maps::{self, Maps, spec_of};
use super::project::{Named, Project};
use super::tree::{self, Node, Shape};
use crate::app::found::Found;
use crate::app::inside::{Loopback, is_loopback};
use crate::app::whole::Whole;

/// The longest name of a volume, which has to be a DNS label.
const LONGEST_NAME: usize = 63;

pub(super) struct File<'a> {
    text: &'a str,
    documents: Vec<Node>,
    containers: Vec<Container>,
    /// For each container, the index of its document, the key of its list in this document, and its index in the list.
    places: Vec<(usize, &'static str, usize)>,
}

impl<'a> File<'a> {
    pub(super) fn read(whole: &'a Whole) -> Result<Self, String> {
        let text = whole.own();
        if ["{{", "{%", "<%"].iter().any(|it| text.contains(it)) {
            return Err("the file is a template: pass the rendered text (`helm template`)".to_owned());
        }
        let documents = tree::documents(text).ok_or("the file is not plain YAML")?;
        let documents = documents.into_iter().flat_map(maps::objects).collect();
        let objects = maps::documents(whole);
        let maps = Maps::read(&objects);
        let mut file = Self { text, documents, containers: Vec::new(), places: Vec::new() };
        for (n_document, document) in file.documents.iter().enumerate() {
            let Some((_, spec)) = spec_of(document) else { continue };
            let is_plain = |it: &Node| !it.is_marked && it.is_block() && it.get("<<").is_none();
            for list in ["containers", "initContainers"] {
                let own = spec.get(list).map_or(&[][..], Node::items);
                for (idx, node) in own.iter().enumerate() {
                    let mut container = container_of(node);
                    let title = &container.title;
                    let is_whole = [document, spec, node].into_iter().all(is_plain) && spec.all(list).count() == 1;
                    let is_first =
                        list == "initContainers" && node.get("restartPolicy").and_then(Node::text) != Some("Always");
                    container.unclear = if !is_whole {
                        Some(format!(
                            "`{title}` is not written in separate plain lines (it uses an anchor, `<<` or braces)"
                        ))
                    } else if is_first {
                        Some(format!("`{title}` is an init container: it runs and ends before the others start"))
                    } else {
                        None
                    };
                    if let Some(given) = maps.given(&objects, &container.title, node.at.start) {
                        container.take(given);
                    }
                    file.containers.push(container);
                    file.places.push((n_document, list, idx));
                }
            }
        }
        Ok(file)
    }

    fn node(&self, container: usize) -> &Node {
        let (document, list, idx) = self.places[container];
        let spec = self.spec(document).1;
        spec.get(list).map(|it| &it.items()[idx]).expect("a container is in its list")
    }

    fn spec(&self, document: usize) -> (&Node, &Node) {
        spec_of(&self.documents[document]).expect("a document with containers has a Pod")
    }

    /// The volume with this name in the Pod of a container.
    fn volume(&self, container: usize, name: &str) -> Option<&Node> {
        let volumes = self.spec(self.places[container].0).1.get("volumes")?;
        volumes.items().iter().find(|it| it.get("name").and_then(Node::text) == Some(name))
    }

    fn is_service(&self, host: &str) -> bool {
        let is_it = |it: &&Node| {
            let name = it.get("metadata").and_then(|it| it.get("name")).and_then(Node::text);
            it.get("kind").and_then(Node::text) == Some("Service") && host.split('.').any(|part| Some(part) == name)
        };
        self.documents.iter().any(|it| is_it(&it))
    }
}

impl Project for File<'_> {
    fn containers(&self) -> &[Container] {
        &self.containers
    }

    fn own(&self, found: &Found) -> Option<usize> {
        let at = found.place()?;
        (0..self.containers.len()).find(|it| self.node(*it).at.contains(&at))
    }

    fn server(&self, own: usize, found: &Found) -> Option<Result<usize, String>> {
        let address = found.address.as_ref()?;
        let host = address.host.as_deref().unwrap_or("localhost");
        if self.is_service(host) {
            return Some(Err(format!(
                "`{host}` is a Service of another Pod, which may run on another machine: a socket stays within one Pod"
            )));
        }
        let inside = found.inside.as_ref().filter(|_| is_loopback(host))?;
        let is_near = |it: &usize| self.places[*it].0 == self.places[own].0;
        let mut near = (0..self.containers.len()).filter(is_near);
        let Some(name) = inside.server_beside(address.protocol) else {
            let is_in_front = |it: &usize| image::is_in_front(&self.containers[*it], address.protocol);
            let is_own = matches!(inside.loopback, Loopback::Own(_));
            return near.filter(|_| is_own).find(is_in_front).map(Ok);
        };
        near.find(|it| self.containers[*it].title == name).map(Ok)
    }

    fn is_taken(&self, server: usize, volume: &str) -> Option<String> {
        if volume.len() > LONGEST_NAME {
            return Some(format!("the name `{volume}` is too long for a volume"));
        }
        self.volume(server, volume).map(|_| format!("the Pod already has a volume `{volume}`"))
    }

    fn may_take(&self, server: usize, volume: &str) -> Result<(), String> {
        let is_empty = self.volume(server, volume).is_some_and(|it| it.get("emptyDir").is_some());
        let why = || format!("the volume `{volume}` is not an emptyDir of the Pod");
        if is_empty { Ok(()) } else { Err(why()) }
    }

    fn mount(&self, container: usize, volume: &str, folder: &str) -> Result<Inserted, String> {
        let lines = [format!("name: {volume}"), format!("mountPath: {folder}")];
        let title = &self.containers[container].title;
        line::item(
            self.text,
            (None, self.node(container)),
            &Item { title, key: "volumeMounts", lines: &lines, below: "" },
        )
    }

    fn declare(&self, server: usize, volume: &str, is_new: bool) -> Result<Option<Inserted>, String> {
        if !is_new {
            return Ok(None);
        }
        let (key, spec) = self.spec(self.places[server].0);
        let lines = [format!("name: {volume}"), "emptyDir: {}".to_owned()];
        line::item(self.text, (Some(key), spec), &Item { title: "the Pod", key: "volumes", lines: &lines, below: "" })
            .map(Some)
    }

    fn command(&self, server: usize, program: &str, options: &[String]) -> Result<Inserted, String> {
        let node = self.node(server);
        // If the container has a command and no arguments, the words are added to the command.
        let has_own = node.get("args").is_none() && node.get("command").is_some();
        let key = if has_own { "command" } else { "args" };
        let words = std::iter::once(program).chain(options.iter().map(|it| &**it));
        let whole = format!("[{}]", words.map(|it| format!("\"{it}\"")).collect::<Vec<_>>().join(", "));
        line::words(self.text, (None, node), (&self.containers[server].title, key), (options, &whole))
    }

    fn variable(&self, container: usize, name: &str, value: &str) -> Result<Inserted, String> {
        // A value has to be a string, and a number without quotes is not a string.
        let lines = [format!("name: {name}"), format!("value: \"{value}\"")];
        let title = &self.containers[container].title;
        line::item(
            self.text,
            (None, self.node(container)),
            &Item { title, key: "env", lines: &lines, below: "envFrom" },
        )
    }

    fn environment(&self, container: usize) -> Result<Vec<Range<usize>>, String> {
        environment(self.text, self.node(container), "env", &self.containers[container].title)
    }

    fn loses(&self, server: usize, folder: &str) -> bool {
        let container = &self.containers[server];
        !container.mounts_at(folder).any(|it| {
            let name = it.volume.as_deref().unwrap_or_default();
            self.volume(server, name).is_none_or(|it| it.get("emptyDir").is_none())
        })
    }

    fn within(&self, container: usize) -> String {
        format!("kubectl exec POD -c {} --", self.containers[container].title)
    }

    fn named(&self, _: usize, server: usize, volume: Option<&str>) -> Named {
        let title = &self.containers[server].title;
        let document = &self.documents[self.places[server].0];
        let is_pod = document.get("kind").and_then(Node::text) == Some("Pod");
        let how = if is_pod { "kubectl replace --force -f FILE" } else { "kubectl apply -f FILE" };
        // For an emptyDir, Podman uses a volume of the same name. A new volume would belong to the container that
        // starts first, as described in `compose` (podman 4.3.1, 2026-11-28; kube.go in 5.4).
        let volume = volume.map_or_else(String::new, |it| {
            format!(
                "`podman volume create --opt type=tmpfs --opt device=tmpfs --opt o=uid=0,gid=0,mode=1777 {it}` and "
            )
        });
        let podman = format!(", or with Podman {volume}podman kube play --replace FILE");
        Named {
            is: format!("`{title}` is a container of the same Pod"),
            volume: "an emptyDir volume that both containers mount",
            restart: format!("{how}{podman}; this creates the Pod again: `{title}` is down during that time"),
        }
    }
}

fn container_of(node: &Node) -> Container {
    let text = |key: &str| node.get(key).and_then(Node::text).map(str::to_owned);
    let words = |key: &str| node.get(key).map_or_else(Vec::new, Node::words);
    let own = node.get("env").map_or(&[][..], Node::items).iter().filter(|it| it.get("valueFrom").is_none());
    let variables = own.filter_map(|it| {
        let value = it.get("value").and_then(Node::text).unwrap_or_default();
        Some(format!("{}={value}", it.get("name")?.text()?))
    });
    let mounts = node.get("volumeMounts").map(|it| &it.kind);
    let mounts = match mounts {
        None | Some(Shape::Nothing) => Vec::new(),
        Some(Shape::List { items, .. }) => items.iter().map(mount).collect(),
        Some(_) => vec![Mount::default()],
    };
    Container {
        title: text("name").unwrap_or_default(),
        image: text("image"),
        replaced_by: node.get("command").map(|_| "command"),
        words: [words("command"), words("args")].concat(),
        variables: variables.collect(),
        mounts,
        has_configs: false,
        unclear: None,
        unread: None,
    }
}

fn mount(item: &Node) -> Mount {
    let text = |key: &str| item.get(key).and_then(Node::text).map(str::to_owned);
    let is_part = ["subPath", "subPathExpr"].iter().any(|it| item.get(it).is_some());
    let is_read_only = item.get("readOnly").is_some_and(|it| it.text() != Some("false"));
    let volume = text("name").filter(|_| !is_part && !is_read_only);
    Mount { volume, target: text("mountPath"), ..Mount::default() }
}
