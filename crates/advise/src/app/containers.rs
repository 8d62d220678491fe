//! The environment of containers, in Compose files and Kubernetes manifests.

use looptax_model::dsn::Kind;

use super::keys;
use super::lines::{Lines, expanded};
use super::setting::{Joins, Setting, Value};
use super::source::MOST_BYTES;
use super::yaml;

/// The key under which a Compose file lists its services.
pub(super) const SERVICES: &str = "services";

/// The names by which the containers of a Compose file reach each other; empty for any other text.
pub fn services(bytes: &[u8]) -> Vec<String> {
    if bytes.len() > MOST_BYTES {
        return Vec::new();
    }
    let (settings, _) = yaml::read(&String::from_utf8_lossy(bytes));
    let mut names: Vec<String> = settings.iter().filter_map(name_of).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the name of the service to which a setting belongs. If the setting gives the service another name, returns
/// that name.
fn name_of(setting: &Setting) -> Option<String> {
    let [top, service, key, ..] = setting.path.as_slice() else {
        return None;
    };
    if top != SERVICES {
        return None;
    }
    match &setting.value {
        Value::Text(name) if key == "container_name" || key == "hostname" => Some(name.clone()),
        _ => Some(service.clone()),
    }
}

/// Collects the variables, under their bare names, and the images of services, under their paths. Reads Compose's
/// mappings and lists, and Kubernetes' pairs of `name` and `value`.
pub(super) fn in_containers(settings: &[Setting]) -> Vec<Setting> {
    let mut found = Vec::new();
    // The path and the text of the last `name` that was read.
    let mut name: Option<(&[String], &str)> = None;
    // In a Secret, `data` is encoded and `stringData` is not.
    let is_kind =
        |kind: &str| settings.iter().any(|it| it.path == ["kind"] && it.value == Value::Text(kind.to_owned()));
    let maps: &[&str] = match (is_kind("ConfigMap"), is_kind("Secret")) {
        (true, false) => &["data"],
        (_, true) => &["stringData"],
        _ => &[],
    };
    for setting in settings {
        if let [top, key] = setting.path.as_slice()
            && maps.contains(&top.as_str())
            && key.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        {
            found.push(called(setting.clone(), key));
            continue;
        }
        // A service's image shows which kind of server it runs.
        if matches!(setting.path.as_slice(), [top, _, key] if top == "services" && key == "image") {
            found.push(setting.clone());
            continue;
        }
        let is_environment = |it: &String| it == "environment" || it == "env";
        let Some(at) = setting.path.iter().position(is_environment) else {
            continue;
        };
        let raw = &setting.item[setting.literal.clone()];
        let value = match &setting.value {
            Value::Text(value) => value.as_str(),
            Value::Variable { .. } | Value::Hidden => raw.trim_matches(['"', '\'']),
        };
        let from = found.len();
        match &setting.path[at + 1..] {
            [_, key] if key == "name" => name = Some((&setting.path[..at + 2], value)),
            [_, key] if key == "value" => {
                let own = name.filter(|(path, _)| setting.path.starts_with(path));
                found.extend(own.map(|(_, name)| Setting { joins: Joins::Pair, ..called(setting.clone(), name) }));
            }
            // The file does not hold the value of a Secret or a ConfigMap.
            [_, from, ..] if from == "valueFrom" => {
                let own = name.filter(|(path, name)| {
                    setting.path.starts_with(path) && found.last().is_none_or(|it: &Setting| it.path != [*name])
                });
                let value = |name: &str| Value::Variable { name: name.to_owned(), fallback: None };
                found.extend(own.map(|(_, name)| Setting { value: value(name), ..called(setting.clone(), name) }));
            }
            [idx] if idx.parse::<usize>().is_ok() => found.extend(listed(setting, value)),
            [key] => found.push(called(setting.clone(), key)),
            _ => {}
        }
        if setting.path[0] == SERVICES {
            // A single `$` in a value refers to a variable of Compose.
            for variable in &mut found[from..] {
                variable.read_doubled('$');
            }
        }
    }
    found
}

/// The kind of server that a service of the same Compose file runs, according to its image.
pub(super) fn kind_of_service(host: &str, all: &[Setting]) -> Option<Kind> {
    let is_image = |it: &&Setting| it.path == ["services", host, "image"];
    match &all.iter().find(is_image)?.value {
        Value::Text(image) => keys::kind_in(image),
        _ => None,
    }
}

fn called(mut setting: Setting, name: &str) -> Setting {
    setting.path = vec![name.to_owned()];
    setting
}

/// Reads a list item of the form `- NAME=value`.
fn listed(setting: &Setting, value: &str) -> Option<Setting> {
    let (name, text) = value.split_once('=')?;
    let from = setting.literal.start + setting.item[setting.literal.clone()].find(value)?;
    let part = setting.part(name, text, from..from + value.len(), name.len(), Joins::Line);
    let part = Setting { value: expanded(text.to_owned(), Lines::Dotenv), ..part };
    Some(called(part, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(services(text.as_bytes()), expected, "{text}");
    }

    #[test]
    fn a_dollar_of_compose_is_there_twice_and_one_of_kubernetes_once() {
        let variables = |text: &str| in_containers(&crate::app::yaml::read(text).0);
        let found = variables("services:\n  a:\n    environment:\n      A: 'p$$x'\n      B: p$x\n");
        assert_eq!(found[0].value, Value::Text("p$x".to_owned()));
        assert_eq!(found[0].with(None, "y$"), "A: 'y$$'");
        assert_eq!(found[1].value, Value::Hidden);
        let found = variables("spec:\n  containers:\n  - env: [{name: A, value: p$x}]\n");
        assert_eq!(found[0].value, Value::Text("p$x".to_owned()));
    }

    #[test]
    fn services_are_those_of_a_compose_file() {
        check(
            "services:\n  db:\n    image: mysql\n    container_name: my-db\n  app: {build: .}\nvolumes:\n  run: {x: y}\n",
            &["app", "db", "my-db"],
        );
        check("spec:\n  containers:\n    - name: db\n", &[]);
        check("services: db\n", &[]);
        check("\u{0}{{{", &[]);
    }
}
