//! Services of a Compose file.
//!
//! # Source
//! docs.docker.com, Compose file reference: `network_mode`, `volumes`, `tmpfs`.

use std::collections::BTreeMap;

use super::super::containers::SERVICES;
use super::super::setting::{Setting, Value};
use super::super::yaml;
use super::container::{Container, Content, File, FileText, Network, content_of, mount_of};

pub(super) fn read(file: &FileText<'_>) -> Option<File> {
    let is_yaml = file.ends_with("yml") || file.ends_with("yaml");
    let is_named = ["docker-compose", "compose", "docker-stack", "podman-compose"];
    let is_named = is_named.iter().any(|it| file.name.starts_with(it));
    let has_services = file.text.lines().any(|it| it.trim_end().starts_with("services:"));
    if !is_yaml || !(has_services || is_named) {
        return None;
    }
    let (settings, _) = yaml::read(file.text);
    // In the first version of the format, the services are at the top level.
    let depth = usize::from(has_services);
    let mut services: BTreeMap<&str, Vec<&Setting>> = BTreeMap::new();
    for setting in &settings {
        let is_service = depth == 0 || setting.path[0] == SERVICES;
        if is_service && setting.path.len() > depth + 1 {
            services.entry(&setting.path[depth]).or_default().push(setting);
        }
    }
    if depth == 0 {
        services.retain(|_, own| own.iter().any(|it| matches!(&*it.path[1], "image" | "build")));
    }
    if services.is_empty() && !has_services {
        return None;
    }
    let containers = services.into_iter().map(|(name, own)| service(name, &own, depth + 1));
    let mut rest = Container::new("", "a service of this file");
    rest.may_have_more_mounts = true;
    let containers: Vec<Container> = containers.collect();
    let rest = containers.is_empty().then_some(rest);
    Some(File { containers, rest, volume: "- FOLDER:FOLDER  (below `volumes:` of the service)" })
}

fn service(name: &str, settings: &[&Setting], depth: usize) -> Container {
    let mut service = Container::new(name, format!("the service `{name}`"));
    // The parts of the mounts in the long syntax. The key is the place of the mount in the list.
    let mut long: BTreeMap<&str, [Option<&str>; 3]> = BTreeMap::new();
    for setting in settings {
        service.lines.insert(setting.line);
        let raw = || setting.item[setting.literal.clone()].trim_matches(['"', '\'']);
        let path: Vec<&str> = setting.path[depth..].iter().map(|it| &**it).collect();
        match path[..] {
            ["image"] => service.image = text(setting).map(str::to_owned),
            ["network_mode" | "net"] => service.network = network(text(setting)),
            ["volumes", _] => service.mounts.extend(mount_of(text(setting).unwrap_or_else(raw))),
            ["tmpfs"] | ["tmpfs", _] => {
                let target = text(setting).unwrap_or_else(raw).split(':').next().unwrap_or_default();
                service.mounts.push((target.to_owned(), Content::Own));
            }
            ["env_file"] | ["env_file", _] | ["env_file", _, "path"] => {
                service.environment_files.extend(text(setting).map(str::to_owned));
            }
            ["volumes", item, part @ ("type" | "source" | "target")] => {
                let idx = ["type", "source", "target"].iter().position(|it| *it == part);
                long.entry(item).or_default()[idx.unwrap_or_default()] = Some(text(setting).unwrap_or("$"));
            }
            ["volumes_from" | "extends" | "configs" | "secrets", ..] => service.may_have_more_mounts = true,
            _ => {}
        }
    }
    for [kind, source, target] in long.into_values() {
        let Some(target) = target else { continue };
        let content = match (kind, source) {
            (Some("tmpfs"), _) | (Some("volume"), None) => Content::Own,
            (_, Some(source)) => content_of(source),
            (_, None) => Content::Unknown,
        };
        service.mounts.push((target.to_owned(), content));
    }
    service
}

fn text(setting: &Setting) -> Option<&str> {
    match &setting.value {
        Value::Text(text) => Some(text),
        Value::Variable { .. } | Value::Hidden => None,
    }
}

fn network(mode: Option<&str>) -> Network {
    let Some(mode) = mode else {
        return Network::Unknown("`network_mode` is a variable".to_owned());
    };
    match mode.split_once(':') {
        Some(("service", name)) => Network::Of(name.to_owned()),
        Some(("container", name)) => Network::Other(format!("the container `{name}`")),
        Some(("ns", path)) => Network::Other(format!("the network namespace {path}")),
        _ if mode == "host" => Network::Machine,
        _ => Network::Own,
    }
}
