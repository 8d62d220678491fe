//! The environment of containers, as Compose files and Kubernetes' manifests spell it.

use super::setting::{Joins, Setting, Value};

/// The variables, by their names alone: Compose's mappings and lists, Kubernetes' pairs of `name` and
/// `value`.
pub(super) fn in_containers(settings: &[Setting]) -> Vec<Setting> {
    let mut found = Vec::new();
    // Where the last name stood, and what it was.
    let mut name: Option<(&[String], &str)> = None;
    for setting in settings {
        let is_environment = |it: &String| it == "environment" || it == "env";
        let Some(at) = setting.path.iter().position(is_environment) else {
            continue;
        };
        let Value::Text(value) = &setting.value else {
            continue;
        };
        match &setting.path[at + 1..] {
            [_, key] if key == "name" => name = Some((&setting.path[..at + 2], value)),
            [_, key] if key == "value" => {
                let own = name.filter(|(path, _)| setting.path.starts_with(path));
                found.extend(own.map(|(_, name)| called(setting.clone(), name)));
            }
            [idx] if idx.parse::<usize>().is_ok() => found.extend(listed(setting, value)),
            [key] => found.push(called(setting.clone(), key)),
            _ => {}
        }
    }
    found
}

fn called(mut setting: Setting, name: &str) -> Setting {
    setting.path = vec![name.to_owned()];
    setting
}

/// `- NAME=value`.
fn listed(setting: &Setting, value: &str) -> Option<Setting> {
    let (name, text) = value.split_once('=')?;
    let from = setting.literal.start + setting.item[setting.literal.clone()].find(value)?;
    let part = setting.part(
        name,
        text,
        from..from + value.len(),
        name.len(),
        Joins::Line,
    );
    Some(called(part, name))
}
