//! Reads a whole file or environment: finds the applications to which the file or environment may belong, and their
//! connections.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr;

use super::bind::{bound_of, merged, most_connections};
use super::bound::Bound;
use super::code::Included;
use super::containers::in_containers;
use super::format::format_of;
use super::found::{Found, Reading};
use super::guess;
use super::lines::Lines;
use super::pattern::fits_path;
use super::placed::place_inside;
use super::placeholder::doubt_placeholders;
use super::pool::pool_of;
use super::setting::{Problem, Read, Setting, Value, doubt_unclear};
use super::signs::Signs;
use super::source::{MOST_BYTES, Source};
use super::table::{App, Format, GUESSED, Role, Side, apps};
use super::{blocks, code, command, drivers, lines, shell, sqlite, web, xml, yaml};

/// The paths below a folder at which the table's applications keep their connections: `wp-config.php`,
/// `app/etc/env.php`. Only paths without wildcards. Files that set where a server listens are left out.
pub fn usual_files() -> Vec<&'static str> {
    let files = clients().flat_map(|app| &app.files);
    let mut found: Vec<&str> = files.filter_map(|it| it.strip_prefix("**/")).filter(|it| !it.contains('*')).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The file extensions of programs that may call drivers, and of files that are recognised only by words in them.
const ENDS: [&str; 18] = [
    "conf", "php", "inc", "phtml", "py", "rb", "go", "java", "kt", "kts", "scala", "groovy", "cs", "pl", "pm", "lua",
    "jsx", "tsx",
];

/// Whether a file of a source tree may contain connections, according to its path: the table has the path, or the path
/// has one of the extensions in `ENDS`.
pub fn is_worth_reading(path: &str) -> bool {
    let end = path.rsplit_once('.').map_or("", |it| it.1);
    ENDS.contains(&end) || clients().flat_map(|app| &app.files).any(|it| fits_path(it, path))
}

/// Whether the path already shows a configuration file. The extension of a programming language is not enough.
pub fn is_configuration(path: &str) -> bool {
    let mut named = clients().flat_map(|app| &app.files).filter(|it| !it.starts_with("**/*."));
    named.any(|it| fits_path(it, path))
}

/// Texts that occur in the address of a server.
const PLACES: [&str; 5] = ["host", "127.", "::1", "0.0.0.0", "sock"];

/// Whether a file may name a server: the path shows a configuration file, or the text contains one of `PLACES` or the
/// words of a driver's call. This check is much faster than parsing the text.
pub fn may_name_a_server(path: &str, bytes: &[u8]) -> bool {
    if is_configuration(path) {
        return true;
    }
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    PLACES.iter().any(|it| text.contains(it))
        || drivers::may_call(&text)
        || format_of(Some(path), &text).language().is_none()
}

fn clients() -> impl Iterator<Item = &'static App> {
    apps().iter().filter(|it| it.side == Side::Client)
}

/// The variables that a `.env` sets to plain texts.
pub fn variables(dotenv: &[u8]) -> BTreeMap<String, String> {
    let (settings, _) = lines::read(&String::from_utf8_lossy(dotenv), Lines::Dotenv);
    let pairs = settings.into_iter().filter_map(|it| match it.value {
        Value::Text(text) => Some((it.path.join("/"), text)),
        Value::Variable { .. } | Value::Hidden => None,
    });
    pairs.collect()
}

/// Lowest number of letters in a part of a name that selects applications.
const SHORTEST_PART: usize = 3;

/// Some of the names that `--as` accepts: the first words of the names in the table.
pub fn names() -> Vec<&'static str> {
    let names = apps().iter().map(|it| &*it.name);
    let names = names.filter(|it| *it != GUESSED);
    let mut found: Vec<&str> = names.filter_map(|it| it.split('_').next()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Reads a source as the file of one application. `name` is the application's name in the table, its title, or a part
/// of either. Several applications may share a part: `laravel`. `None` if no application has that name.
pub fn read_as(source: &Source<'_>, name: &str) -> Option<Reading> {
    let own = named(name, &|_| true);
    (!own.is_empty()).then(|| read_for(source, &own, false))
}

/// The places where a text contains the port, if the application is a proxy and the text has the form of its files;
/// empty for other applications.
pub fn named_ports(application: &str, text: &str, port: u16) -> Vec<web::NamedPort> {
    let all = named(application, &|_| true);
    let proxy = all.iter().find_map(|it| it.format.proxy());
    proxy.map_or_else(Vec::new, |it| web::named_ports(text, it, port))
}

/// The applications that a name selects, from those for which `may_be` is true.
pub(super) fn named(name: &str, may_be: &dyn Fn(&App) -> bool) -> Vec<&'static App> {
    let wanted = plain(name);
    let all = || apps().iter().filter(|it| it.name != GUESSED && may_be(it));
    let is_named = |it: &&App| [&it.name, &it.title].iter().any(|own| plain(own) == wanted);
    let is_family = |it: &&App| it.name.split_once('_').is_some_and(|(first, _)| plain(first) == wanted);
    let mut own: Vec<&App> = all().filter(|it| is_named(it) || is_family(it)).collect();
    if own.is_empty() {
        let has_part = |it: &&App| {
            let has_it = |own: &&String| plain(own).contains(&wanted);
            wanted.len() >= SHORTEST_PART && [&it.name, &it.title].iter().any(has_it)
        };
        own = all().filter(has_part).collect();
        // A whole word takes precedence over a part of a word: Predis over phpredis.
        let has_word = |it: &&&App| it.name.split('_').any(|word| plain(word) == wanted);
        if own.iter().any(|it| has_word(&it)) {
            own.retain(|it| has_word(&it));
        }
    }
    own
}

/// Whether no other application in `named` is for the same kind of server.
pub(super) fn is_only_one(app: &App, named: &[&'static App]) -> bool {
    named.iter().all(|it| it.kind != app.kind || it.name == app.name)
}

/// Returns only the letters and digits of a name, in lower case.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|it| it.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

pub fn read(source: &Source<'_>) -> Reading {
    if source.bytes.len() > MOST_BYTES {
        let what = format!(
            "looptax did not read the file: it has more than {MOST_BYTES} bytes, more than any configuration file needs"
        );
        let mut reading = Reading::default();
        reading.problems.push(Problem { line: None, what });
        return reading;
    }
    read_for(source, &candidates(source), true)
}

/// Reads the source as the file of each of these applications. If `guesses` is set, also searches for connections by
/// the names of settings.
fn read_for(source: &Source<'_>, candidates: &[&'static App], guesses: bool) -> Reading {
    let mut reading = Reading::default();
    let text = String::from_utf8_lossy(&source.bytes[..source.bytes.len().min(MOST_BYTES)]);
    let mut texts: BTreeMap<u8, Read> = BTreeMap::new();
    let mut bound = Vec::new();
    for app in candidates {
        let format = if source.path.is_none() { Format::Dotenv } else { app.format };
        let (settings, problems) =
            texts.entry(format as u8).or_insert_with(|| settings_of(&text, format, source.included));
        reading.problems.append(problems);
        let own = bound_of(app, settings, source, !guesses && is_only_one(app, candidates));
        let most = most_connections(app);
        if own.len() == most {
            reading.problems.push(Problem {
                line: None,
                what: format!("looptax reads at most {most} connections of {} from a file", app.title),
            });
        }
        bound.extend(own);
    }
    bound.extend(carried(candidates, &texts, source));
    if guesses && source.path.is_some() {
        let (own, lines) = drivers::connections(&text, format_of(source.path, &text), source);
        // If a connection was found by the rules of an application in the table, the connection belongs to that
        // application, unless the kind of its server is not known.
        let of_calls = places_of(&own);
        let is_open = |it: &Bound| {
            let url = it.roles.get(&Role::Url);
            !it.is_kind_said && url.is_some_and(|it| !matches!(it.value, Value::Text(_)))
        };
        bound.retain(|it| !is_open(it) || of_calls.is_disjoint(&places_of([it])));
        let places = places_of(&bound);
        bound.extend(own.into_iter().filter(|it| places.is_disjoint(&places_of([it]))));
        reading.sqlite = lines;
    }
    reading.found = merged(bound, source, !guesses);
    if guesses && source.path.is_some() {
        guess_more(&mut reading, candidates, &mut texts, &text, source);
    }
    place_inside(&mut reading.found, source, &text);
    for found in { reading.found.iter_mut() }.filter(|it| !it.is_of_the_server()) {
        found.pool =
            pool_of((&found.bound, found.kind), texts.values().flat_map(|(settings, _)| settings), source.environment);
    }
    let all = texts.values().flat_map(|(settings, _)| sqlite::lines(settings));
    reading.sqlite.extend(all);
    reading.sqlite.sort_unstable();
    reading.sqlite.dedup();
    reading.problems.sort();
    reading.problems.dedup();
    if reading.found.is_empty() {
        reading.looked_for = looked_for(candidates);
    }
    reading
}

/// The bytes at which the values of the connections' settings begin.
fn places_of<'a>(bound: impl IntoIterator<Item = &'a Bound>) -> BTreeSet<usize> {
    let settings = bound.into_iter().flat_map(|it| it.roles.values());
    settings.map(|it| it.start + it.literal.start).collect()
}

/// Adds connections with a URL that the rules of the table's applications did not find. Also adds connections without a
/// URL in two cases: these rules found nothing, or the text is an environment, which other programs may also read.
fn guess_more(
    reading: &mut Reading,
    candidates: &[&'static App],
    texts: &mut BTreeMap<u8, Read>,
    text: &str,
    source: &Source<'_>,
) {
    // In the file of a container or unit, the variables have their own names. The other settings of the file are not
    // variables.
    let has_variables = |it: &&&App| texts.get(&(it.format as u8)).is_some_and(|(settings, _)| !settings.is_empty());
    let carriers = candidates.iter().filter(|it| it.is_carrier()).filter(has_variables);
    let format = carriers.map(|it| it.format).next().unwrap_or_else(|| format_of(source.path, text));
    // In the file of a proxy, only the parser of its format finds connections, because the words in the file have other
    // meanings.
    if format.proxy().is_some() {
        return;
    }
    let is_whole = |it: &Found| it.bound.iter().all(|it| !it.app.shares);
    let has_others = reading.found.iter().any(is_whole) && !format.is_environment();
    let (settings, _) = texts.entry(format as u8).or_insert_with(|| settings_of(text, format, source.included));
    let known = reading.found.iter().flat_map(|it| &it.bound);
    let known = known.flat_map(|it| it.roles.values().map(|it| it.path.clone()));
    let known: BTreeSet<Vec<String>> = known.collect();
    // A container's variable has one name as a variable, and another name as a setting of the file.
    let places = places_of(reading.found.iter().flat_map(|it| &it.bound));
    let is_known = |it: &Setting| known.contains(&it.path) || places.contains(&(it.start + it.literal.start));
    let mut guessed = guess::connections(settings, format, text, &is_known);
    // If some connections are known, only a URL can be another connection. This URL is left out if the application has
    // settings at the same level, or if the value of the URL's setting is a variable.
    let places: BTreeSet<&[String]> = { known.iter() }.filter_map(|path| Some(path.split_last()?.1)).collect();
    let is_apart = |url: &Setting| {
        let is_text = match url.value {
            Value::Text(_) => true,
            Value::Hidden => format.language().is_none(),
            Value::Variable { .. } => false,
        };
        let place = url.path.split_last().map(|(_, parents)| parents);
        is_text && place.is_some_and(|it| it.is_empty() || !places.contains(it))
    };
    guessed.retain(|it| !has_others || it.roles.get(&Role::Url).is_some_and(is_apart));
    let guessed = merged(guessed, source, true);
    // If looptax does not know a value that a driver receives, it treats the driver's connection and the connection in
    // the file's settings as the same connection.
    let is_meant = |it: &Found| {
        let is_open = it.takes.is_none() && it.bound.iter().any(|it| !it.app.calls.is_empty());
        is_open && guessed.iter().any(|other| !it.has_known_kind() || other.kind == it.kind)
    };
    reading.found.retain(|it| !is_meant(it));
    reading.found.extend(guessed);
}

/// The connections of programs whose environment comes from a unit or a container.
fn carried(candidates: &[&'static App], texts: &BTreeMap<u8, Read>, source: &Source<'_>) -> Vec<Bound> {
    let carriers = candidates.iter().copied().filter(|it| it.is_carrier());
    let Some(carrier) = carriers.max_by_key(|it| it.files.iter().any(|it| !it.starts_with("**/*"))) else {
        return Vec::new();
    };
    let Some((settings, _)) = texts.get(&(carrier.format as u8)) else {
        return Vec::new();
    };
    let signs = Signs::of(source);
    let is_other = |app: &&App| is_of_environment(app, &signs) && !candidates.iter().any(|it| it.name == app.name);
    let mut found: Vec<Bound> =
        apps().iter().filter(is_other).flat_map(|app| bound_of(app, settings, source, false)).collect();
    for bound in &mut found {
        bound.carrier = Some(carrier);
    }
    found
}

/// The applications to which the file may belong: by its whole path, or else by its name, since a copy of the file may
/// be anywhere. If only the extension matches, the content is considered, too.
fn candidates(source: &Source<'_>) -> Vec<&'static App> {
    let Some(path) = source.path else {
        let signs = Signs::of(source);
        return apps().iter().filter(|app| is_of_environment(app, &signs)).collect();
    };
    let whose = |fits: &dyn Fn(&str) -> bool| -> Vec<&'static App> {
        let all = apps().iter().filter(|app| app.side != Side::NamedServer);
        all.filter(|app| app.files.iter().any(|it| fits(it))).collect()
    };
    let mut by_path = whose(&|pattern| fits_path(pattern, path));
    let is_by_ending = |pattern: &str| pattern.starts_with("**/*.") && fits_path(pattern, path);
    if !whose(&is_by_ending).is_empty() {
        // Many programs have files with this extension, so the content shows more than the name does.
        let named = by_path.clone();
        let is_new = |app: &&App| !named.iter().any(|it| ptr::eq(*it, *app));
        by_path.extend(by_content(source).into_iter().filter(is_new));
    }
    if !by_path.is_empty() {
        return by_path;
    }
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let name = last(path);
    let by_name = whose(&|pattern| {
        let pattern = last(pattern);
        // A pattern that matches every name does not show the application.
        !pattern.starts_with('*') && fits_path(&pattern, &name)
    });
    if by_name.is_empty() {
        return by_content(source);
    }
    by_name
}

/// The applications to which the file may belong according to its content, whatever its name.
fn by_content(source: &Source<'_>) -> Vec<&'static App> {
    let text = String::from_utf8_lossy(source.bytes);
    let format = format_of(source.path, &text);
    let signs = Signs::of(source);
    let is_own = |app: &&App| {
        let is_there = |it: &String| text.contains(it.as_str());
        app.format == format
            && (!app.content.is_empty() && app.content.iter().all(is_there)
                || format == Format::Dotenv && is_of_environment(app, &signs))
            || app.format == Format::Shell && format == Format::Yaml && is_manifest(&text)
    };
    apps().iter().filter(is_own).collect()
}

/// Whether the application reads any environment, or reads this environment because a sign is present. A sign is
/// required if the application's variable names have another meaning in other programs.
pub(super) fn is_of_environment(app: &App, signs: &Signs) -> bool {
    let is_general = app.files.iter().any(|it| it == "**/.env");
    let is_own = is_general || signs.are_of(app);
    app.format == Format::Dotenv && is_own && app.side != Side::NamedServer
}

fn looked_for(candidates: &[&App]) -> Vec<String> {
    let keys = |app: &App| {
        let roles = [Role::Url, Role::Host, Role::Socket];
        let keys: Vec<&str> =
            roles.iter().flat_map(|it| app.patterns(*it)).map(|it| it.trim_start_matches("**/")).collect();
        keys.join(", ")
    };
    let known = candidates.iter().filter(|it| !keys(it).is_empty());
    known.map(|app| format!("{}: {}", app.title, keys(app))).collect()
}

/// Hides the encoded values of a Kubernetes Secret.
fn hide_secrets(settings: &mut [Setting]) {
    let is_kind = |it: &Setting| it.path == ["kind"] && it.value == Value::Text("Secret".to_owned());
    if !settings.iter().any(is_kind) {
        return;
    }
    let is_encoded = |text: &str| {
        text.len().is_multiple_of(4) && text.bytes().all(|it| it.is_ascii_alphanumeric() || b"+/=".contains(&it))
    };
    for setting in settings {
        if let ([top, name], Value::Text(text)) = (&*setting.path, &setting.value)
            && top == "data"
            && is_encoded(text)
        {
            setting.value = Value::Variable { name: name.clone(), fallback: None };
        }
    }
}

fn settings_of(text: &str, format: Format, included: &[Included]) -> Read {
    let (mut settings, problems) = settings_by_format(text, format, included);
    // In a web server's file, names of variables have a meaning only for the web server.
    if format.proxy().is_none() {
        doubt_placeholders(&mut settings);
    }
    (settings, problems)
}

/// Whether the text is a Kubernetes manifest.
pub fn is_manifest(text: &str) -> bool {
    let has = |head: &str| text.lines().any(|it| it.starts_with(head));
    has("apiVersion:") && has("kind:")
}

fn settings_by_format(text: &str, format: Format, included: &[Included]) -> Read {
    if let Some(language) = format.language() {
        let (mut settings, problems) = code::read(text, language, included);
        doubt_unclear(&mut settings);
        return (settings, problems);
    }
    if let Some(proxy) = format.proxy() {
        return web::read(text, proxy);
    }
    if format == Format::Shell {
        let found = if is_manifest(text) { shell::pods::of_pods(&yaml::read(text).0) } else { shell::read(text) };
        return (found, Vec::new());
    }
    if format == Format::Procfile {
        return (command::read(text), Vec::new());
    }
    if let Some(kind) = format.lines() {
        let (mut settings, problems) = lines::read(text, kind);
        if matches!(kind, Lines::Unit | Lines::Ini) {
            settings.extend(command::read(text));
        }
        if kind == Lines::Unit {
            settings.extend(shell::of_unit(text));
        }
        // A file of arguments may give several addresses of the same server, and these do not contradict each other.
        if kind != Lines::Arguments {
            doubt_unclear(&mut settings);
        }
        return (settings, problems);
    }
    if matches!(format, Format::Blocks | Format::Lua) {
        let (mut settings, problems) = blocks::read(text, format == Format::Lua);
        doubt_unclear(&mut settings);
        return (settings, problems);
    }
    if format == Format::Xml {
        let (mut settings, problems) = xml::read(text);
        doubt_unclear(&mut settings);
        return (settings, problems);
    }
    let (mut settings, problems) = yaml::read(text);
    hide_secrets(&mut settings);
    let documents = text.lines().skip(1).filter(|it| it.starts_with("---"));
    if documents.count() > 0 {
        doubt_unclear(&mut settings);
    }
    if format == Format::Containers {
        let mut settings = in_containers(&settings);
        doubt_unclear(&mut settings);
        return (settings, problems);
    }
    (settings, problems)
}
