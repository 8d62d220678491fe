//! The variables that a Kubernetes container takes from `ConfigMap`s and Secrets in the files that were read.
//!
//! looptax does not change these objects, because containers in other files may use them too. Called by `read`; `taken`
//! does the same for Compose.
//!
//! # Source
//! kubernetes.io, API reference: `Container.env` and `envFrom` ("When a key exists in multiple sources, the value
//! associated with the last source will take precedence. Values defined by an Env with a duplicate key will take
//! precedence."), `ConfigMapEnvSource.optional`, `Secret.stringData`.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::line::line_of;
use super::taken::{Given, Taken};
use super::tree::{self, Node};
use crate::app::inside::pod_documents;
use crate::app::quotes::{Dialect, Quotes};
use crate::app::setting::{Joins, Setting, Value};
use crate::app::whole::Whole;

/// The keys of a Pod that list containers.
const LISTS: [&str; 2] = ["containers", "initContainers"];

/// An object in a document of the files.
pub(super) struct Document<'a> {
    text: &'a str,
    /// The number of lines and the number of bytes before the document.
    before: [usize; 2],
    node: Node,
}

/// A `ConfigMap` or a Secret.
struct Map {
    is_secret: bool,
    namespace: Option<String>,
    name: String,
    /// The keys of the object, each as a variable of the same name.
    entries: Vec<Setting>,
    /// The number of containers in the files that use the object.
    n_users: usize,
}

/// A reference to a `ConfigMap` or a Secret.
#[derive(PartialEq, Eq)]
struct Ref<'a> {
    is_secret: bool,
    namespace: Option<&'a str>,
    name: &'a str,
}

/// The `ConfigMap`s and Secrets in the files.
pub(super) struct Maps(Vec<Map>);

pub(super) fn documents(whole: &Whole) -> Vec<Document<'_>> {
    let read = |(first_line, start, text)| {
        let nodes = tree::documents(text).unwrap_or_default();
        let objects = nodes.into_iter().flat_map(objects);
        objects.map(move |node| Document { text, before: [first_line, start], node })
    };
    pod_documents(whole.text()).into_iter().flat_map(read).collect()
}

impl Document<'_> {
    fn setting(&self, name: &str, at: Range<usize>, value: Value) -> Setting {
        let item = self.text[at.clone()].to_owned();
        Setting {
            path: vec![name.to_owned()],
            value,
            doubt: None,
            line: line_of(self.text, at.start) + self.before[0],
            start: at.start + self.before[1],
            key: 0..0,
            literal: item.len()..item.len(),
            item,
            quotes: Quotes::AsNeeded(Dialect::Yaml),
            doubled: None,
            joins: Joins::Apart,
        }
    }
}

/// Returns the Kubernetes object of a document. If the document is a list (`kind: …List`), returns the objects in the
/// list.
pub(super) fn objects(node: Node) -> Vec<Node> {
    if !node.get("kind").and_then(Node::text).is_some_and(|it| it.ends_with("List")) {
        return vec![node];
    }
    node.into_entries().into_iter().filter(|it| it.0.text() == Some("items")).flat_map(|it| it.1.into_items()).collect()
}

impl Maps {
    pub(super) fn read(documents: &[Document<'_>]) -> Self {
        let mut maps: Vec<Map> = documents.iter().filter_map(map_of).collect();
        for Document { node, .. } in documents {
            for container in containers(node) {
                let refs = refs_of(container, namespace(node));
                for map in maps.iter_mut().filter(|it| refs.contains(&it.named())) {
                    map.n_users += 1;
                }
            }
        }
        Self(maps)
    }

    /// The variables of the container that contains the byte `at` of the text; `None` if the container is not written
    /// in plain YAML.
    pub(super) fn given(&self, documents: &[Document<'_>], name: &str, at: usize) -> Option<Given> {
        documents.iter().find_map(|document| {
            let is_it = |it: &&Node| (it.at.start + document.before[1]..it.at.end + document.before[1]).contains(&at);
            let container = containers(&document.node).into_iter().find(is_it)?;
            Some(self.of_container(document, container, name))
        })
    }

    fn of_container(&self, document: &Document<'_>, node: &Node, title: &str) -> Given {
        let namespace = namespace(&document.node);
        let mut given = Given::default();
        for item in node.get("envFrom").map_or(&[][..], Node::items) {
            let prefix = text(item, "prefix").unwrap_or_default();
            for (is_secret, key) in [(false, "configMapRef"), (true, "secretRef")] {
                let Some(source) = item.get(key) else { continue };
                let wanted = Ref { is_secret, namespace, name: text(source, "name").unwrap_or_default() };
                match self.find(&wanted) {
                    Ok(Some(map)) => given.taken.extend(map.entries.iter().map(|it| {
                        let path = vec![format!("{prefix}{}", it.path[0])];
                        map.taken(&Setting { path, ..it.clone() })
                    })),
                    Ok(None) if is_optional(source) => {}
                    found => given.problems.push(missing(title, &wanted, found.is_ok())),
                }
            }
        }
        for item in node.get("env").map_or(&[][..], Node::items) {
            let (Some(name), Some((key, from))) = (text(item, "name"), item.entry("valueFrom")) else {
                continue;
            };
            for (is_secret, key_ref) in [(false, "configMapKeyRef"), (true, "secretKeyRef")] {
                let Some(source) = from.get(key_ref) else { continue };
                let wanted = Ref { is_secret, namespace, name: text(source, "name").unwrap_or_default() };
                let key_name = text(source, "key").unwrap_or_default();
                let place = key.at.start + document.before[1]..from.at.end + document.before[1];
                let found = self.find(&wanted).map(|map| {
                    let map = map?;
                    let entry = map.entries.iter().rfind(|it| it.path[0] == key_name)?;
                    let own = document.setting(name, key.at.start..from.at.end, entry.value.clone());
                    let setting =
                        Setting { literal: 0..own.item.len(), quotes: Quotes::Instead, joins: Joins::Pair, ..own };
                    Some(map.taken(&setting))
                });
                match found {
                    Ok(Some(taken)) => given.instead.push((place, Some(taken))),
                    Ok(None) if is_optional(source) => given.instead.push((place, None)),
                    found => {
                        let what = missing(title, &wanted, found.is_ok());
                        given.problems.push(format!("{what} (the key `{key_name}` for {name})"));
                    }
                }
            }
        }
        given
    }

    /// The object to which a reference points; `Err` if there are several such objects.
    fn find(&self, wanted: &Ref<'_>) -> Result<Option<&Map>, ()> {
        let mut all = self.0.iter().filter(|it| it.named() == *wanted);
        let first = all.next();
        if all.next().is_some() { Err(()) } else { Ok(first) }
    }
}

impl Map {
    fn named(&self) -> Ref<'_> {
        Ref { is_secret: self.is_secret, namespace: self.namespace.as_deref(), name: &self.name }
    }

    fn taken(&self, setting: &Setting) -> Taken {
        let others = match self.n_users {
            0 | 1 => String::new(),
            n => format!(" (which {n} containers of the files use)"),
        };
        let from = format!("the {} `{}`{others}", kind(self.is_secret), self.name);
        Taken { setting: setting.clone(), from, is_secret: self.is_secret }
    }
}

fn kind(is_secret: bool) -> &'static str {
    if is_secret { "Secret" } else { "ConfigMap" }
}

fn missing(title: &str, wanted: &Ref<'_>, is_absent: bool) -> String {
    let (kind, name) = (kind(wanted.is_secret), wanted.name);
    let why = if is_absent { "which is in none of the files" } else { "which is in the files more than once" };
    let namespace = wanted.namespace.map_or_else(String::new, |it| format!(" of the namespace `{it}`"));
    format!("`{title}` takes variables from the {kind} `{name}`{namespace}, {why}")
}

fn text<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    node.get(key).and_then(Node::text)
}

fn is_optional(source: &Node) -> bool {
    text(source, "optional") == Some("true")
}

fn namespace(object: &Node) -> Option<&str> {
    object.get("metadata").and_then(|it| text(it, "namespace"))
}

fn map_of(document: &Document<'_>) -> Option<Map> {
    let object = &document.node;
    let is_secret = match text(object, "kind")? {
        "ConfigMap" => false,
        "Secret" => true,
        _ => return None,
    };
    let name = object.get("metadata").and_then(|it| text(it, "name"))?.to_owned();
    let mut entries = Vec::new();
    // A value in plain text takes precedence over an encoded one.
    for (of, is_encoded) in [("data", is_secret), ("stringData", false)] {
        for (key, value) in object.get(of).filter(|_| is_secret || of == "data").map_or(&[][..], Node::entries) {
            let Some(name) = key.text() else { continue };
            let value = value.text().unwrap_or_default();
            let value = if is_encoded { decoded(value) } else { Some(value.to_owned()) };
            // The setting shows only the name of the key, because the value may be from a Secret.
            let value = value.map_or(Value::Hidden, Value::Text);
            entries.retain(|it: &Setting| it.path[0] != name);
            entries.push(document.setting(name, key.at.clone(), value));
        }
    }
    Some(Map { is_secret, namespace: namespace(object).map(str::to_owned), name, entries, n_users: 0 })
}

fn decoded(text: &str) -> Option<String> {
    let text: String = text.split_whitespace().collect();
    String::from_utf8(STANDARD.decode(text).ok()?).ok()
}

/// The containers of an object that creates Pods.
fn containers(object: &Node) -> Vec<&Node> {
    let Some((_, spec)) = spec_of(object) else {
        return Vec::new();
    };
    LISTS.iter().filter_map(|it| spec.get(it)).flat_map(Node::items).collect()
}

/// The key and the value of the Pod's `spec` in a document; `None` if the document creates no Pods.
pub(super) fn spec_of(document: &Node) -> Option<(&Node, &Node)> {
    let path: &[&str] = match document.get("kind")?.text()? {
        "Pod" => &["spec"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet" | "Job" => &["spec", "template", "spec"],
        _ => return None,
    };
    let (last, parents) = path.split_last()?;
    let parent = parents.iter().try_fold(document, |node, key| node.get(key))?;
    parent.entry(last).map(|(key, value)| (key, value))
}

fn refs_of<'a>(container: &'a Node, namespace: Option<&'a str>) -> Vec<Ref<'a>> {
    let sources = container.get("envFrom").map_or(&[][..], Node::items).iter();
    let values = container.get("env").map_or(&[][..], Node::items).iter().filter_map(|it| it.get("valueFrom"));
    let keys = [(false, "configMapRef"), (true, "secretRef"), (false, "configMapKeyRef"), (true, "secretKeyRef")];
    let named = |node: &'a Node| {
        let own = keys.iter().filter_map(move |(is_secret, key)| Some((*is_secret, text(node.get(key)?, "name")?)));
        own.map(move |(is_secret, name)| Ref { is_secret, namespace, name })
    };
    sources.chain(values).flat_map(named).collect()
}

/// Whether a manifest takes variables from a `ConfigMap` or a Secret.
pub(crate) fn takes_maps(text: &str) -> bool {
    ["configMapRef", "secretRef", "configMapKeyRef", "secretKeyRef"].iter().any(|it| text.contains(it))
}

/// Keys of a `kustomization.yaml` that do not change the files which it lists. Any other key may change them.
const HARMLESS: [&str; 10] = [
    "apiVersion",
    "kind",
    "metadata",
    "resources",
    "namespace",
    "labels",
    "commonLabels",
    "commonAnnotations",
    "images",
    "replicas",
];

/// The files that a `kustomization.yaml` lists; `None` if it may change these files.
pub fn resources(text: &str) -> Option<Vec<String>> {
    let root = tree::read(text)?;
    let is_harmless = |(key, _): &(Node, Node)| key.text().is_some_and(|it| HARMLESS.contains(&it));
    root.entries().iter().all(is_harmless).then(|| root.get("resources").map_or_else(Vec::new, Node::words))
}
