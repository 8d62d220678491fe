//! The commands of the containers in Kubernetes manifests: the client programs that they start, with the environment of
//! the container.
//!
//! Called by `read` for the settings of a manifest. `yaml` calls `is_of_pod` to recognise the words of a container's
//! command.

use std::collections::BTreeMap;

use super::walked;
use crate::app::setting::{Setting, Value};

/// The clients that the containers of Pods start. The place of a client is the place of the last word of its command.
pub(in crate::app) fn of_pods(settings: &[Setting]) -> Vec<Setting> {
    let mut scripts: BTreeMap<&[String], Vec<(&Setting, &str)>> = BTreeMap::new();
    for setting in settings.iter().filter(|it| is_of_pod(&it.path)) {
        if let (Some(container), Value::Text(text)) = (setting.path.len().checked_sub(2), &setting.value) {
            scripts.entry(&setting.path[..container]).or_default().push((setting, text));
        }
    }
    let mut found = Vec::new();
    for (n_scripts, (container, words)) in scripts.into_iter().enumerate() {
        let is_flag = |it: &str| it.starts_with('-') && !it.starts_with("--") && it.ends_with('c');
        let is_shell = words[0].1.ends_with("sh") && words.iter().any(|it| is_flag(it.1));
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-_./=:@,".contains(c);
        let is_plain = |it: &str| !it.is_empty() && it.chars().all(is_part);
        let quoted = |it: &str| if is_plain(it) { it.to_owned() } else { format!("\"{}\"", it.replace('"', "")) };
        let joined = || words.iter().map(|it| quoted(it.1)).collect::<Vec<_>>().join(" ");
        let Some((place, last)) = words.last() else { continue };
        let script = if is_shell { (*last).to_owned() } else { joined() };
        let script = environment_of(container, settings) + &with_variables(&script);
        found.extend(walked(&script).clients.into_iter().map(|it| {
            let mut path = it.path;
            path[1] = format!("{} of {n_scripts}", path[1]);
            Setting { path, value: it.value, doubt: it.doubt, ..(*place).clone() }
        }));
    }
    found
}

/// Replaces Kubernetes' `$(NAME)` by the shell's form of a variable.
fn with_variables(script: &str) -> String {
    let mut parts = script.split("$(");
    let first = parts.next().unwrap_or_default().to_owned();
    let of_part = |part: &str| {
        let name = part.split_once(')').filter(|it| it.0.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
        name.map_or_else(|| format!("$({part}"), |(name, rest)| format!("${{{name}}}{rest}"))
    };
    parts.map(of_part).fold(first, |whole, part| whole + &part)
}

/// The environment of a container as shell assignments. If the value of a variable is in another object, looptax does
/// not know the value. The variable is then set to a command substitution, because looptax does not know the output of
/// command substitutions either.
fn environment_of(container: &[String], settings: &[Setting]) -> String {
    let mut lines = String::new();
    let mut name = None;
    let mut assign = |name: &str, value: Option<&str>| {
        let value = value.filter(|it| !it.contains(['\'', '\n']));
        let line = value.map_or_else(|| format!("{name}=\"$(?)\"\n"), |it| format!("{name}='{it}'\n"));
        lines.push_str(&line);
    };
    let own = settings.iter().filter_map(|it| Some((it, it.path.strip_prefix(container)?)));
    for (setting, path) in own {
        match (path, &setting.value) {
            ([top, _, key], Value::Text(text)) if top == "env" && key == "name" => name = Some(text),
            ([top, _, key], value) if top == "env" && key == "value" => {
                let text = if let Value::Text(text) = value { Some(text.as_str()) } else { None };
                name.take().into_iter().for_each(|it| assign(it, text));
            }
            ([top, ..], _) if top == "env" => name.take().into_iter().for_each(|it| assign(it, None)),
            ([top, ..], _) if top == "envFrom" => ["PGHOST", "MYSQL_HOST"].iter().for_each(|it| assign(it, None)),
            _ => {}
        }
    }
    lines
}

/// Whether the path leads to a word of the command that a Kubernetes container starts.
pub(in crate::app) fn is_of_pod(path: &[String]) -> bool {
    let [.., containers, _, command, _] = path else {
        return false;
    };
    matches!(containers.as_str(), "containers" | "initContainers") && matches!(command.as_str(), "command" | "args")
}
