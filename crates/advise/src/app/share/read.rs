//! The connections in a file of containers, each with the container to which its variables belong.
//!
//! Takes texts, and returns connections. The module `app::read` reads whole files.

use std::collections::BTreeSet;
use std::path::Path;

use super::maps::{self, Maps};
use super::program::Program;
use super::taken::{self, Given, Taken};
use super::web;
use crate::app::bind::{bound_of, merged, titles_of};
use crate::app::containers::{SERVICES, in_containers};
use crate::app::found::{Found, Reading};
use crate::app::guess;
use crate::app::inside::{n_takers, pod_documents};
use crate::app::lines::{self, Lines};
use crate::app::placed::place_inside;
use crate::app::placeholder::doubt_placeholders;
use crate::app::read::{is_manifest, is_of_environment, is_only_one, named};
use crate::app::setting::{Problem, Setting, Value, doubt_unclear};
use crate::app::signs::Signs;
use crate::app::source::{MOST_BYTES, Source};
use crate::app::table::{App, Format, GUESSED, apps};
use crate::app::whole::Whole;
use crate::app::yaml;

/// Maximum number of containers that are read from a file.
const MOST_CONTAINERS: usize = 64;

/// Reads a Compose file, a manifest or a `.container` unit, container by container: the connections in each container's
/// own variables, and for a Compose file also the connections in the files that nginx mounts. If `application` is
/// given, reads them as connections of that application. `None` if the file has no containers.
pub fn read_services(source: &Source<'_>, application: Option<&str>) -> Option<Reading> {
    let text = String::from_utf8_lossy(&source.bytes[..source.bytes.len().min(MOST_BYTES)]);
    let unit = source.path.and_then(|it| it.rsplit('/').next()?.strip_suffix(".container"));
    let whole = Whole::new(&text, source.included);
    let (all, problems) = match unit {
        Some(name) => of_unit(name, &text),
        None if is_manifest(&text) => of_manifest(&whole),
        None => of_services(&whole, source.path.map(Path::new)),
    };
    if all.is_empty() {
        return None;
    }
    let wanted = application.map(|name| named(name, &|it| it.format == Format::Dotenv));
    let mut reading = Reading { problems, ..Reading::default() };
    for it in all.into_iter().take(MOST_CONTAINERS) {
        // The files next to this file belong to the service that is built in the same folder.
        let source = Source { neighbours: if it.is_built_here { source.neighbours } else { &[] }, ..*source };
        let mut own = if unit.is_some() { it.settings } else { in_containers(&it.settings) };
        doubt_unclear(&mut own);
        let unread = it.given.problems.iter().map(|it| Problem { line: None, what: it.clone() });
        reading.problems.extend(unread);
        let is_said = !it.given.problems.is_empty();
        let (mut own, origins) = it.given.with(own, &it.asked);
        doubt_placeholders(&mut own);
        // A server that shares its variables with the application has no connections itself.
        let mut found = if it.program.is_a_server() {
            Vec::new()
        } else {
            of_container((&it.name, it.elsewhere), (&own, &it.program), &source, wanted.as_deref())
        };
        if let (true, false, Some(elsewhere)) = (found.is_empty(), is_said, it.elsewhere) {
            let what = format!(
                "`{}` gets variables through `{elsewhere}`, which looptax does not read: --containers changes only the \
                 variables in the container's own `{}`",
                it.name, it.own
            );
            reading.problems.push(Problem { line: None, what });
        }
        for found in &mut found {
            found.service = it.is_service.then(|| it.name.clone());
            found.at_container = it.at;
            tell_origins(found, &origins);
        }
        reading.found.extend(found);
    }
    if application.is_none() {
        let (found, problems) = web::connections(&whole, source);
        reading.found.extend(found);
        reading.problems.extend(problems);
    }
    reading.found.sort_by_key(|it| it.line);
    place_inside(&mut reading.found, source, &text);
    Some(reading)
}

/// If containers take variables from elsewhere, reads these containers again, now with the variables. Reports missing
/// sources.
pub fn follow(reading: &mut Reading, source: &Source<'_>) {
    let text = String::from_utf8_lossy(source.bytes);
    let Some(services) = Some(source).filter(|_| takes_elsewhere(&text)).and_then(|it| read_services(it, None)) else {
        return;
    };
    let taken: Vec<Found> = services.found.into_iter().filter(|it| !it.taken.is_empty()).collect();
    let lines_of = |found: &Found| {
        let settings = found.bound.iter().flat_map(|it| it.roles.values());
        settings.map(|it| it.line).collect::<BTreeSet<usize>>()
    };
    let lines: BTreeSet<usize> = taken.iter().flat_map(lines_of).collect();
    reading.found.retain(|it| lines_of(it).is_disjoint(&lines));
    reading.found.extend(taken);
    reading.problems.extend(services.problems);
    reading.problems.sort();
    reading.problems.dedup();
}

fn takes_elsewhere(text: &str) -> bool {
    let has_files = ["env_file", "nginx"].iter().any(|it| text.contains(it));
    if is_manifest(text) { maps::takes_maps(text) } else { has_files && text.contains(SERVICES) }
}

/// The part of a container's environment that its file shows.
struct Environment {
    name: String,
    settings: Vec<Setting>,
    program: Program,
    is_built_here: bool,
    /// The key by which the container takes variables from elsewhere, if looptax does not read these variables.
    elsewhere: Option<&'static str>,
    /// The key of the container's own variables.
    own: &'static str,
    /// Whether the container's name is unique in the file.
    is_service: bool,
    /// The variables that the container takes from elsewhere, if looptax reads them.
    given: Given,
    /// The container's variables without a value. Compose takes their values from its own environment.
    asked: Vec<String>,
    /// The line and the byte at which the container begins, if its name is not unique.
    at: Option<(usize, usize)>,
}

/// Records the sources from which the container takes the settings of a connection.
fn tell_origins(found: &mut Found, origins: &[Taken]) {
    let names: BTreeSet<&String> = found.bound.iter().flat_map(|it| it.roles.values()).map(|it| &it.path[0]).collect();
    let own = || origins.iter().filter(|it| names.contains(&it.setting.path[0]));
    let mut taken: Vec<String> = own().map(|it| it.from.clone()).collect();
    taken.dedup();
    let values = own().filter(|it| it.is_secret).filter_map(|it| match &it.setting.value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    });
    let mut secrets: Vec<String> = values.collect();
    if let Some(address) = found.address.as_ref().filter(|_| secrets.iter().any(|it| it.contains("://"))) {
        let parts = [&address.host, &address.user, &address.database].into_iter().flatten().cloned();
        secrets.extend(parts.collect::<Vec<_>>());
    }
    // Replaces the longest value first, because a shorter value may be a part of the longest value.
    secrets.sort_by_key(|it| std::cmp::Reverse(it.len()));
    (found.taken, found.secrets) = (taken, secrets);
}

fn of_services(whole: &Whole, path: Option<&Path>) -> (Vec<Environment>, Vec<Problem>) {
    let (settings, problems) = yaml::read(whole.own());
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
        let is_shared = |file: &str| path.is_none_or(|it| n_takers(it, whole.own(), file) > 1);
        let given = taken::of_service(name, &settings, whole, &is_shared);
        let mut program = Program::default();
        for it in &settings {
            if let [top, service, path @ ..] = &it.path[..]
                && top == SERVICES
                && service == name
            {
                program.take(path, it);
            }
        }
        Environment {
            elsewhere: (!given.problems.is_empty()).then_some("env_file"),
            asked: settings.iter().filter(is_own).filter_map(asked).collect(),
            given,
            at: None,
            own: "environment",
            name: name.to_owned(),
            program,
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
        vec![Environment {
            name,
            settings,
            program: Program::of_unit(text),
            is_built_here: false,
            elsewhere,
            own: "Environment=",
            is_service: false,
            given: Given::default(),
            asked: Vec::new(),
            at: None,
        }],
        problems,
    )
}

/// The containers of a manifest's documents.
fn of_manifest(whole: &Whole) -> (Vec<Environment>, Vec<Problem>) {
    let mut all: Vec<Environment> = Vec::new();
    let mut problems = Vec::new();
    let documents = maps::documents(whole);
    let maps = Maps::read(&documents);
    for (first_line, at, text) in pod_documents(whole.own()) {
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
                    program: Program::default(),
                    is_built_here: false,
                    elsewhere: None,
                    own: "env",
                    is_service: false,
                    given: Given::default(),
                    asked: Vec::new(),
                    at: Some((setting.line + first_line, setting.start + at)),
                };
                containers.push((place, environment));
            }
            let Some((_, container)) = containers.last_mut() else { continue };
            container.program.take(&setting.path[list + 2..], &setting);
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
        for (_, container) in &mut containers {
            let given = container.at.and_then(|it| maps.given(&documents, &container.name, it.1));
            if let Some(given) = given {
                container.elsewhere = container.elsewhere.filter(|_| !given.problems.is_empty());
                container.given = given;
            }
        }
        all.extend(containers.into_iter().map(|it| it.1));
    }
    (all, problems)
}

/// The name of a variable without a value: `- NAME`, `NAME:`.
fn asked(setting: &Setting) -> Option<String> {
    let raw = setting.item[setting.literal.clone()].trim_matches(['"', '\'']);
    match &setting.path[3..] {
        [idx] if idx.parse::<usize>().is_ok() => (!raw.contains('=')).then(|| raw.to_owned()),
        [name] => matches!(&setting.item[setting.literal.clone()], "" | "~" | "null").then(|| name.clone()),
        _ => None,
    }
}

/// Whether a setting builds the service in the folder of the file.
fn is_build_of(service: &str, setting: &Setting) -> bool {
    let path: Vec<&str> = setting.path.iter().map(|it| &**it).collect();
    let is_context = match path[..] {
        [top, own, "build"] | [top, own, "build", "context"] => top == SERVICES && own == service,
        _ => false,
    };
    is_context && matches!(&setting.value, Value::Text(it) if it == "." || it == "./")
}

/// Whether the names of the variables, or else a sign, show the application. Neither proves that the application reads
/// the variables.
fn is_certain(app: &App, signs: &Signs) -> bool {
    app.signs.is_empty() || signs.are_of(app)
}

/// The applications that would read these variables as the same connection.
fn readers_of(found: &Found, settings: &[Setting], source: &Source<'_>) -> Vec<&'static App> {
    let lines = |found: &Found| found.bound.iter().map(|it| it.anchor).collect::<BTreeSet<usize>>();
    let own = lines(found);
    let all = apps().iter().filter(|it| it.format == Format::Dotenv && it.name != GUESSED && !it.change.is_empty());
    let reads = |app: &&'static App| {
        let bound = bound_of(app, settings, source, true);
        let as_this = merged(bound, source, true);
        as_this.iter().any(|it| (!found.has_known_kind() || it.kind == found.kind) && !lines(it).is_disjoint(&own))
    };
    all.filter(reads).collect()
}

/// Records the applications that may read a connection. An application is left out if the container's image, command or
/// dependencies show that the program is another application. If this would leave out all applications, all of them
/// stay.
fn tell_readers(found: &mut Found, (settings, program): (&[Setting], &Program), source: &Source<'_>) {
    let fitting = readers_of(found, settings, source);
    let is_left = |it: &&&'static App| !program.contradicts(it, source.neighbours);
    let left = titles_of(fitting.iter().filter(is_left).copied());
    found.sole_reader = left.first().filter(|_| left.len() == 1).cloned();
    found.may_be = if left.is_empty() { titles_of(fitting.iter().copied()) } else { left };
}

fn of_container(
    (name, elsewhere): (&str, Option<&str>),
    (settings, program): (&[Setting], &Program),
    source: &Source<'_>,
    wanted: Option<&[&'static App]>,
) -> Vec<Found> {
    // The functions that find an application by its variables expect lines.
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
    // The variable that decides between applications may be set elsewhere.
    let doubted = bound.map(|mut it| {
        let key = it.app.decide.first().filter(|_| wanted.is_none() && !it.is_kind_said);
        if let (Some(elsewhere), Some(decision), None) = (elsewhere, key, &it.doubt) {
            it.doubt = Some(format!("`{}` selects the connection, and may be set through `{elsewhere}`", decision.key));
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
            tell_readers(found, (settings, program), &source);
        }
    }
    for found in found.iter_mut().filter(|it| it.label.is_empty()) {
        name.clone_into(&mut found.label);
    }
    found
}
