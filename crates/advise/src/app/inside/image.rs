//! Containers that a command starts, and containers of an image that a Dockerfile builds.

use super::super::shell::runs;
use super::container::{Container, File, FileText, Network, mount_of};

pub(super) fn read(file: &FileText<'_>) -> Option<File> {
    let name = file.name.to_lowercase();
    let is_image =
        ["dockerfile", "containerfile"].iter().any(|it| name.starts_with(it)) || file.ends_with("dockerfile");
    if is_image {
        let mut own = Container::new("", "the containers of this image");
        own.may_have_more_mounts = true;
        return Some(File { containers: vec![own], rest: None, volume: "" });
    }
    if !file.text.contains(" run ") {
        return None;
    }
    let containers: Vec<Container> = runs(file.text)
        .into_iter()
        .enumerate()
        .map(|(idx, run)| {
            let mut own = Container::new(idx.to_string(), format!("the container of line {}", run.lines.start));
            own.network = match run.network.as_deref() {
                Some("host") => Network::Machine,
                Some(other) if other.starts_with("container:") => Network::Other("another container".to_owned()),
                Some(other) if other.contains('$') => Network::Unknown("`--network` is a variable".to_owned()),
                _ => Network::Own,
            };
            own.mounts = run.mounts.iter().filter_map(|it| mount_of(it)).collect();
            own.may_have_more_mounts = true;
            own.group = idx;
            own.lines = run.lines.collect();
            own
        })
        .collect();
    // All other lines concern the machine itself.
    let mut rest = Container::new("", "this machine");
    rest.network = Network::Machine;
    rest.has_machines_files = true;
    (!containers.is_empty()).then_some(File { containers, rest: Some(rest), volume: "-v FOLDER:FOLDER" })
}
