//! The connections of a file of containers, each of the container that its variables are for.
//!
//! Text in, connections out: beside `read`, which takes a file as a whole.

use std::collections::BTreeSet;

use crate::app::bind::{bound_of, merged};
use crate::app::containers::{SERVICES, in_containers};
use crate::app::found::{Found, Reading};
use crate::app::guess;
use crate::app::inside::pod_documents;
use crate::app::lines::{self, Lines};
use crate::app::placed::place_inside;
use crate::app::placeholder::doubt_placeholders;
use crate::app::read::{is_manifest, is_of_environment, is_only_one, named};
use crate::app::setting::{Problem, Setting, Value, doubt_unclear};
use crate::app::signs::Signs;
use crate::app::source::{MOST_BYTES, Source};
use crate::app::table::{App, Format, GUESSED, apps};
use crate::app::yaml;

/// Most containers of a file that are read.
const MOST_CONTAINERS: usize = 64;

/// Reads a Compose file, a manifest or a `.container` unit container by container, each with the connections that its own variables are. With a
/// name, as those of that application. `None` if it has no containers.
pub fn read_services(source: &Source<'_>, application: Option<&str>) -> Option<Reading> {
    let text = String::from_utf8_lossy(&source.bytes[..source.bytes.len().min(MOST_BYTES)]);
    let unit = source.path.and_then(|it| it.rsplit('/').next()?.strip_suffix(".container"));
    let (all, problems) = match unit {
        Some(name) => of_unit(name, &text),
        None if is_manifest(&text) => of_manifest(&text),
        None => of_services(&text),
    };
    if all.is_empty() {
        return None;
    }
    let wanted = application.map(|name| named(name, &|it| it.format == Format::Dotenv));
    let mut reading = Reading { problems, ..Reading::default() };
    for it in all.into_iter().take(MOST_CONTAINERS) {
        // What lies beside the file is that of a service that is built there.
        let source = Source { neighbours: if it.is_built_here { source.neighbours } else { &[] }, ..*source };
        let mut own = if unit.is_some() { it.settings } else { in_containers(&it.settings) };
        doubt_unclear(&mut own);
        doubt_placeholders(&mut own);
        let mut found = of_container((&it.name, it.elsewhere), &own, &source, wanted.as_deref());
        if let (true, Some(elsewhere)) = (found.is_empty(), it.elsewhere) {
            let what = format!(
                "`{}` gets variables by `{elsewhere}`, which are not read: --containers writes those in its own `{}`",
                it.name, it.own
            );
            reading.problems.push(Problem { line: None, what });
        }
        for found in found.iter_mut().filter(|_| it.is_service) {
            found.service = Some(it.name.clone());
        }
        reading.found.extend(found);
    }
    reading.found.sort_by_key(|it| it.line);
    place_inside(&mut reading.found, source, &text);
    Some(reading)
}

/// The environment of a container as its file has it.
struct Environment {
    name: String,
    settings: Vec<Setting>,
    is_built_here: bool,
    /// The key by which it gets variables from elsewhere, which are not read.
    elsewhere: Option<&'static str>,
    /// The key of its own variables.
    own: &'static str,
    /// Whether its name tells it from all others of the file.
    is_service: bool,
}

fn of_services(text: &str) -> (Vec<Environment>, Vec<Problem>) {
    let (settings, problems) = yaml::read(text);
    let mut names: Vec<&str> = Vec::new();
    for setting in &settings {
        if let [top, name, _, ..] = &setting.path[..]
            && top == SERVICES
            && !names.contains(&&**name)
        {
            names.push(name);
        }
    }
    let all = names.into_iter().map(|name| {
        let is_own = |it: &&Setting| match &it.path[..] {
            [top, service, key, ..] => top == SERVICES && service == name && key == "environment",
            _ => false,
        };
        let has_files = |it: &Setting| matches!(&it.path[..], [top, service, key, ..] if top == SERVICES && service == name && key == "env_file");
        Environment {
            elsewhere: settings.iter().any(has_files).then_some("env_file"),
            own: "environment",
            name: name.to_owned(),
            settings: settings.iter().filter(is_own).cloned().collect(),
            is_built_here: settings.iter().any(|it| is_build_of(name, it)),
            is_service: true,
        }
    });
    (all.collect(), problems)
}

fn of_unit(name: &str, text: &str) -> (Vec<Environment>, Vec<Problem>) {
    let (settings, problems) = lines::read(text, Lines::Unit);
    let name = name.to_owned();
    let has_files = text.lines().any(|it| it.trim_start().starts_with("EnvironmentFile="));
    let elsewhere = has_files.then_some("EnvironmentFile=");
    (
        vec![Environment { name, settings, is_built_here: false, elsewhere, own: "Environment=", is_service: false }],
        problems,
    )
}

/// The containers of a manifest's documents.
fn of_manifest(text: &str) -> (Vec<Environment>, Vec<Problem>) {
    let mut all: Vec<Environment> = Vec::new();
    let mut problems = Vec::new();
    for (first_line, at, text) in pod_documents(text) {
        let (settings, own) = yaml::read(text);
        problems.extend(own.into_iter().map(|it| Problem { line: it.line.map(|it| it + first_line), ..it }));
        let mut containers: Vec<(Vec<String>, Environment)> = Vec::new();
        for mut setting in settings {
            let is_list = |it: &String| matches!(&**it, "containers" | "initContainers");
            let Some(list) = setting.path.iter().position(is_list).filter(|it| setting.path.len() > it + 2) else {
                continue;
            };
            let place = setting.path[..list + 2].to_vec();
            if containers.last().is_none_or(|(it, _)| *it != place) {
                let environment = Environment {
                    name: String::new(),
                    settings: Vec::new(),
                    is_built_here: false,
                    elsewhere: None,
                    own: "env",
                    is_service: false,
                };
                containers.push((place, environment));
            }
            let Some((_, container)) = containers.last_mut() else { continue };
            match (&setting.path[list + 2..], &setting.value) {
                ([key], Value::Text(name)) if key == "name" => container.name.clone_from(name),
                ([key, ..], _) if key == "envFrom" => container.elsewhere = Some("envFrom"),
                ([key, ..], _) if key == "env" => {
                    (setting.line, setting.start) = (setting.line + first_line, setting.start + at);
                    container.settings.push(setting);
                }
                _ => {}
            }
        }
        all.extend(containers.into_iter().map(|it| it.1));
    }
    (all, problems)
}

/// Whether a setting says that a service is built in the file's own folder.
fn is_build_of(service: &str, setting: &Setting) -> bool {
    let path: Vec<&str> = setting.path.iter().map(|it| &**it).collect();
    let is_context = match path[..] {
        [top, own, "build"] | [top, own, "build", "context"] => top == SERVICES && own == service,
        _ => false,
    };
    is_context && matches!(&setting.value, Value::Text(it) if it == "." || it == "./")
}

/// Whether its variables are nobody else's, or something else says that it is this application: no proof follows.
fn is_certain(app: &App, signs: &Signs) -> bool {
    app.signs.is_empty() || signs.are_of(app)
}

/// The titles of the applications that would read a connection's variables as the same one, if it is them.
fn readers_of(found: &Found, settings: &[Setting], source: &Source<'_>) -> Vec<String> {
    let lines = |found: &Found| found.bound.iter().map(|it| it.anchor).collect::<BTreeSet<usize>>();
    let own = lines(found);
    let all = apps().iter().filter(|it| it.format == Format::Dotenv && it.name != GUESSED && !it.change.is_empty());
    let reads = |app: &&'static App| {
        let bound = bound_of(app, settings, source, true);
        let as_this = merged(bound, source, true);
        as_this.iter().any(|it| (!found.has_known_kind() || it.kind == found.kind) && !lines(it).is_disjoint(&own))
    };
    let mut titles: Vec<String> = all.filter(reads).map(|it| it.title.clone()).collect();
    titles.dedup();
    titles
}

fn of_container(
    (name, elsewhere): (&str, Option<&str>),
    settings: &[Setting],
    source: &Source<'_>,
    wanted: Option<&[&'static App]>,
) -> Vec<Found> {
    // What tells an application by its variables reads lines.
    let lines = settings.iter().map(|it| match &it.value {
        Value::Text(text) => format!("{}={text}\n", it.path.join("/")),
        _ => format!("{}=\n", it.path.join("/")),
    });
    let lines: String = lines.collect();
    let source = Source { bytes: lines.as_bytes(), ..*source };
    let signs = Signs::of(&source);
    let is_own = |app: &&&'static App| match wanted {
        Some(wanted) => app.format == Format::Dotenv && wanted.iter().any(|it| it.name == app.name),
        None => is_of_environment(app, &signs),
    };
    let all: Vec<&'static App> = apps().iter().collect();
    let is_meant = |app| wanted.is_some_and(|it| is_only_one(app, it));
    let bound = { all.iter().filter(is_own) }.flat_map(|app| bound_of(app, settings, &source, is_meant(app)));
    // What decides whether it is this application may be there.
    let doubted = bound.map(|mut it| {
        let key = it.app.decide.first().filter(|_| wanted.is_none() && !it.is_kind_said);
        if let (Some(elsewhere), Some(decision), None) = (elsewhere, key, &it.doubt) {
            it.doubt = Some(format!("`{}` decides, and its `{elsewhere}` may have it", decision.key));
        }
        it
    });
    let mut found = merged(doubted.collect(), &source, true);
    if wanted.is_none() {
        for found in &mut found {
            found.is_guessed |= !found.bound.iter().all(|it| is_certain(it.app, &signs));
        }
        let known = found.iter().flat_map(|it| &it.bound);
        let known = known.flat_map(|it| it.roles.values().map(|it| it.path.clone()));
        let known: BTreeSet<Vec<String>> = known.collect();
        let is_known = |it: &Setting| known.contains(&it.path);
        let guessed = guess::connections(settings, Format::Containers, &lines, &is_known);
        found.extend(merged(guessed, &source, true));
        for found in found.iter_mut().filter(|it| it.is_guessed) {
            found.may_be = readers_of(found, settings, &source);
        }
    }
    for found in found.iter_mut().filter(|it| it.label.is_empty()) {
        name.clone_into(&mut found.label);
    }
    found
}
