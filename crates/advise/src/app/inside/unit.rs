//! Units: Podman's `.container` files, and systemd services that have their own network.
//!
//! # Source
//! podman-systemd.unit(5): `Network=`, `Pod=`, `Volume=`, `PodmanArgs=`; systemd.exec(5): `PrivateNetwork=`,
//! `NetworkNamespacePath=`.

use super::container::{Container, Content, File, FileText, Network, mount_of};

const VOLUME: &str = "Volume=FOLDER:FOLDER  (below [Container])";

pub(super) fn read(file: &FileText<'_>) -> Option<File> {
    let settings = settings(file.text);
    let has_section = |name: &str| settings.iter().any(|it| it.section == name);
    let is_container = file.ends_with("container") || settings.iter().any(|it| it.key == "Image");
    let name = file.name.rsplit_once('.').map_or(file.name, |it| it.0);
    let (mut unit, volume) = if is_container && has_section("Container") {
        (container(name, &settings), VOLUME)
    } else if has_section("Service") {
        (service(name, &settings)?, "")
    } else {
        return None;
    };
    unit.lines = (1..=file.text.lines().count()).collect();
    Some(File { containers: vec![unit], rest: None, volume })
}

/// Whether a `.container` unit mounts the volume with this name.
pub fn has_volume(text: &str, volume: &str) -> bool {
    let is_it = |it: &(String, Content)| matches!(&it.1, Content::Volume(name) if name == volume);
    container("", &settings(text)).mounts.iter().any(is_it)
}

struct UnitSetting<'a> {
    section: &'a str,
    key: &'a str,
    value: &'a str,
}

fn settings(text: &str) -> Vec<UnitSetting<'_>> {
    let mut section = "";
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|it| it.split(']').next()) {
            section = name;
        } else if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with(['#', ';'])) {
            found.push(UnitSetting { section, key: key.trim(), value: value.trim() });
        }
    }
    found
}

fn container(name: &str, settings: &[UnitSetting<'_>]) -> Container {
    let own = || settings.iter().filter(|it| it.section == "Container");
    let named = own().find(|it| it.key == "ContainerName").map_or(name, |it| it.value);
    let mut container = Container::new(named, format!("the container `{named}`"));
    for UnitSetting { key, value, .. } in own() {
        match *key {
            "Image" => container.image = Some((*value).to_owned()),
            "Network" => container.network = network(value),
            "Pod" => {
                let pod = value.trim_end_matches(".pod");
                container.network = Network::Other(format!("the Pod `{pod}`"));
            }
            "Volume" => container.mounts.extend(mount_of(value)),
            "Tmpfs" => {
                let target = value.split(':').next().unwrap_or_default();
                container.mounts.push((target.to_owned(), Content::Own));
            }
            "Mount" | "PodmanArgs" => container.may_have_more_mounts = true,
            _ => {}
        }
    }
    let by_arguments = own().filter(|it| it.key == "PodmanArgs").find_map(|it| {
        let mut words = it.value.split([' ', '=', '\t']);
        words.find(|it| matches!(*it, "--network" | "--net"))?;
        words.next()
    });
    if let Some(mode) = by_arguments {
        container.network = network(mode);
    }
    container
}

fn network(mode: &str) -> Network {
    match mode.split_once(':') {
        Some(("container", name)) => Network::Other(format!("the container `{name}`")),
        Some(("ns", path)) => Network::Other(format!("the network namespace {path}")),
        _ if mode == "host" => Network::Machine,
        _ if mode.contains(['%', '$']) => Network::Unknown("`Network=` is a variable".to_owned()),
        _ => match mode.strip_suffix(".container") {
            Some(name) => Network::Other(format!("the container `{name}`")),
            None => Network::Own,
        },
    }
}

/// A service that uses the machine's files, but not the machine's network.
fn service(name: &str, settings: &[UnitSetting<'_>]) -> Option<Container> {
    let last = |key: &str| {
        let mut own = settings.iter().filter(|it| it.section == "Service" && it.key == key);
        own.next_back().map(|it| it.value).filter(|it| !it.is_empty())
    };
    let is_on = |it: &str| matches!(it, "yes" | "true" | "on" | "1");
    let network = match (last("NetworkNamespacePath"), last("PrivateNetwork")) {
        (Some(path), _) => Network::Other(format!("the network namespace {path}")),
        (None, Some(value)) if is_on(value) => Network::Own,
        _ => return None,
    };
    let mut service = Container::new(name, format!("the unit `{name}`"));
    service.network = network;
    service.has_machines_files = true;
    Some(service)
}
