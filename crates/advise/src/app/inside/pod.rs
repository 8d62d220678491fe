//! Pods and the objects that create Pods, in Kubernetes manifests and files of `podman kube play`; Helm charts.
//!
//! # Source
//! kubernetes.io, API reference: `PodSpec.hostNetwork`, `Container.volumeMounts`, `Volume`.

use std::collections::BTreeMap;

use super::super::setting::{Setting, Value};
use super::super::yaml;
use super::container::{Container, Content, File, FileText, Network};

/// The kinds of objects whose manifests contain a Pod.
const PODS: [&str; 7] = ["Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"];

pub(super) const VOLUME: &str = "a hostPath volume of FOLDER, or an emptyDir that the server's container has too";

pub(super) fn read(file: &FileText<'_>) -> Option<File> {
    let has_line = |head: &str| file.text.lines().any(|it| it.starts_with(head));
    let is_manifest = has_line("kind:") && has_line("apiVersion:");
    let is_chart = file.name.starts_with("values") && file.beside.iter().any(|it| it == "Chart.yaml");
    if !is_manifest && !is_chart {
        return None;
    }
    let mut containers = Vec::new();
    // The values of a chart are not in a document that describes a Pod.
    let documents = if is_manifest { documents(file.text) } else { Vec::new() };
    for (group, (first_line, _, text)) in documents.into_iter().enumerate() {
        containers.extend(of_document(text, first_line, group));
    }
    let name = if is_chart { "the Pods of this chart" } else { "the Pods that use this manifest" };
    let mut rest = Container::new("", name);
    rest.network = Network::Unknown("`hostNetwork` is only in the Pod's own manifest".to_owned());
    rest.may_have_more_mounts = true;
    Some(File { containers, rest: Some(rest), volume: VOLUME })
}

/// The documents of a text. Each has the number of lines and the number of bytes before it.
pub(in crate::app) fn documents(text: &str) -> Vec<(usize, usize, &str)> {
    let mut found = Vec::new();
    let (mut start, mut first_line, mut at) = (0, 0, 0);
    for (idx, line) in text.split_inclusive('\n').enumerate() {
        if line.starts_with("---") {
            found.push((first_line, start, &text[start..at]));
            (start, first_line) = (at + line.len(), idx + 1);
        }
        at += line.len();
    }
    found.push((first_line, start, &text[start..]));
    found.retain(|(.., it)| !it.trim().is_empty());
    found
}

/// The containers of a document. If a template breaks the YAML of the document, also one container for the lines that
/// belong to no other container.
fn of_document(text: &str, first_line: usize, group: usize) -> Vec<Container> {
    let (settings, problems) = yaml::read(text);
    let value = |path: &[&str]| settings.iter().find(|it| it.path == path).and_then(text_of);
    let kind = value(&["kind"]).unwrap_or_default();
    let name = value(&["metadata", "name"]).unwrap_or_default();
    let shown = match (kind, name) {
        ("", _) => "a Pod".to_owned(),
        (kind, "") => format!("the {kind}"),
        (kind, name) if kind != "Pod" && PODS.contains(&kind) => format!("the Pod of the {kind} `{name}`"),
        (kind, name) => format!("the {kind} `{name}`"),
    };
    // The settings of each Pod. The key is the path before the list of containers.
    let mut pods: BTreeMap<&[String], Vec<&Setting>> = BTreeMap::new();
    for setting in &settings {
        let is_list = |it: &String| matches!(&**it, "containers" | "initContainers");
        if let Some(at) = setting.path.iter().position(is_list) {
            pods.entry(&setting.path[..at]).or_default().push(setting);
        }
    }
    let mut found = Vec::new();
    for (n_pod, (spec, own)) in pods.into_iter().enumerate() {
        let below = |name: &str| {
            let settings = settings.iter();
            let name = name.to_owned();
            settings.filter(move |it| it.path.starts_with(spec) && it.path.get(spec.len()) == Some(&name))
        };
        let of_host = below("hostNetwork").next();
        let network = match of_host.map(|it| text_of(it)) {
            Some(Some("true")) => Network::Machine,
            Some(None) => Network::Unknown("`hostNetwork` is a variable".to_owned()),
            _ => Network::Own,
        };
        let volumes = volumes(below("volumes"), spec.len());
        let mut by_item: BTreeMap<&[String], Vec<&Setting>> = BTreeMap::new();
        for setting in own.into_iter().filter(|it| it.path.len() > spec.len() + 2) {
            by_item.entry(&setting.path[..spec.len() + 2]).or_default().push(setting);
        }
        for (item, own) in by_item {
            let mut container = container(&own, item.len(), &volumes);
            container.name.clone_from(&shown);
            container.lines = own.iter().map(|it| it.line + first_line).collect();
            container.network = network.clone();
            container.group = group * 1000 + n_pod;
            container.shares_group = true;
            found.push(container);
        }
    }
    if found.is_empty() || !problems.is_empty() {
        let says_host = text.lines().any(|it| it.trim().starts_with("hostNetwork:"));
        let mut whole = Container::new("", shown);
        whole.lines = (first_line + 1..=first_line + text.lines().count()).collect();
        whole.may_have_more_mounts = true;
        let is_pods = PODS.contains(&kind);
        whole.network = if is_pods && !says_host && problems.is_empty() {
            Network::Own
        } else if is_pods && !says_host {
            Network::Other("the Pod itself".to_owned())
        } else {
            Network::Unknown("`hostNetwork` is only in the Pod's own manifest".to_owned())
        };
        whole.group = group * 1000 + 999;
        if found.is_empty() {
            found.push(whole);
        } else {
            // The containers that were found keep their lines. One more container stands for the rest of the document.
            let known: Vec<usize> = found.iter().flat_map(|it| it.lines.iter().copied()).collect();
            whole.lines.retain(|it| !known.contains(it));
            found.push(whole);
        }
    }
    found
}

/// The volumes of a Pod, by their names.
fn volumes<'a>(settings: impl Iterator<Item = &'a Setting>, depth: usize) -> BTreeMap<String, Content> {
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    let mut contents: BTreeMap<&str, Content> = BTreeMap::new();
    for setting in settings.filter(|it| it.path.len() > depth + 2) {
        let item = &*setting.path[depth + 1];
        let path: Vec<&str> = setting.path[depth + 2..].iter().map(|it| &**it).collect();
        match (&path[..], text_of(setting)) {
            (["name"], Some(name)) => {
                names.insert(item, name.to_owned());
            }
            (["hostPath", "path"], Some(path)) => {
                contents.insert(item, Content::Machine(path.to_owned()));
            }
            (["hostPath", "path"], None) => {
                contents.insert(item, Content::Unknown);
            }
            _ => {}
        }
    }
    let content = |item: &str, name: &String| contents.get(item).cloned().unwrap_or(Content::Volume(name.clone()));
    names.into_iter().map(|(item, name)| (name.clone(), content(item, &name))).collect()
}

fn container(settings: &[&Setting], depth: usize, volumes: &BTreeMap<String, Content>) -> Container {
    let mut container = Container::new("", "");
    let mut mounts: BTreeMap<&str, [Option<&str>; 3]> = BTreeMap::new();
    for setting in settings {
        let path: Vec<&str> = setting.path[depth..].iter().map(|it| &**it).collect();
        match path[..] {
            ["name"] => text_of(setting).unwrap_or_default().clone_into(&mut container.key),
            ["image"] => container.image = text_of(setting).map(str::to_owned),
            ["volumeMounts", item, part @ ("name" | "mountPath" | "subPath")] => {
                let idx = ["name", "mountPath", "subPath"].iter().position(|it| *it == part);
                mounts.entry(item).or_default()[idx.unwrap_or_default()] = text_of(setting);
            }
            _ => {}
        }
    }
    for [name, target, sub] in mounts.into_values() {
        let (Some(name), Some(target)) = (name, target) else {
            container.may_have_more_mounts = true;
            continue;
        };
        let content = volumes.get(name).cloned().unwrap_or(Content::Unknown);
        let content = match (content, sub) {
            (Content::Machine(path), Some(sub)) => Content::Machine(format!("{}/{sub}", path.trim_end_matches('/'))),
            (content, _) => content,
        };
        container.mounts.push((target.to_owned(), content));
    }
    container
}

fn text_of(setting: &Setting) -> Option<&str> {
    match &setting.value {
        Value::Text(text) if !text.contains("{{") => Some(text),
        _ => None,
    }
}
