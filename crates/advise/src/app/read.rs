//! A file or an environment as a whole: which applications may have written it, and what they find.

use std::collections::BTreeMap;

use looptax_dsn::Address;
use looptax_record::Change;

use super::bind::{Bound, MOST_CONNECTIONS, bound_of, has_sign, merged, names_in};
use super::change;
use super::containers::in_containers;
use super::pattern::fits_path;
use super::setting::{Problem, Read};
use super::table::{App, Format, Role, apps};
use super::{code, lines, yaml};
use crate::{Fields, Takes};

/// Largest file that is read. Configuration that people write has some kilobytes.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// A file, or an environment, to look into.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its path; `None` for a process' environment, as `NAME=value` lines.
    pub path: Option<&'a str>,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Names of files that lie beside it: they tell whose `.env` it is.
    pub beside: &'a [String],
    /// The program whose environment it is, which tells it too: `php-fpm8.2`.
    pub program: Option<&'a str>,
    /// The environment of the process that reads it, where that is known.
    pub environment: Option<&'a BTreeMap<String, String>>,
}

/// What a source holds.
#[derive(Debug, Default)]
pub struct Reading {
    /// The connections, in the order of the file.
    pub found: Vec<Found>,
    /// What was not understood.
    pub problems: Vec<Problem>,
    /// What was looked for where nothing was found: an application and its settings.
    pub looked_for: Vec<String>,
}

/// Whether user and password are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// They stand in the source, or none are needed.
    Known,
    /// They do not; why, for a person.
    Unknown(String),
}

/// A connection.
#[derive(Debug)]
pub struct Found {
    /// The applications that may be meant: `WordPress`. Several where the file does not tell.
    pub titles: Vec<String>,
    /// Which of a file's: `default`; empty where there is one.
    pub label: String,
    /// The word for what is at the other end.
    pub kind: &'static str,
    /// Where it goes, who one is there; `None` where that is not known, or nothing that looptax can talk
    /// to. Its socket is set where the connection is over it already.
    pub address: Option<Address>,
    /// The transport it takes now; `None` where it cannot be known.
    pub takes: Option<Takes>,
    /// Why, for a person.
    pub why: String,
    /// Whether one could log in.
    pub credentials: Credentials,
    /// The line where it stands; `None` in an environment.
    pub line: Option<usize>,
    pub(super) bound: Vec<Bound>,
}

impl Found {
    /// What has to be written for the socket, once per application that may be meant. `fields` is the
    /// socket; a password in it is what is shown in its place.
    pub fn changes(&self, fields: &Fields) -> Vec<Change> {
        self.bound
            .iter()
            .map(|bound| change::of(bound, fields))
            .collect()
    }
}

/// Paths below a folder where the table's applications keep their configuration, without wildcards:
/// `wp-config.php`, `app/etc/env.php`.
pub fn usual_files() -> Vec<&'static str> {
    let files = apps().iter().flat_map(|app| &app.files);
    let mut found: Vec<&str> = files
        .filter_map(|it| it.strip_prefix("**/"))
        .filter(|it| !it.contains('*'))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Reads a source.
pub fn read(source: &Source<'_>) -> Reading {
    let mut reading = Reading::default();
    if source.bytes.len() > MOST_BYTES {
        reading.problems.push(Problem {
            line: None,
            what: format!("it has more than {MOST_BYTES} bytes, which no configuration file needs"),
        });
        return reading;
    }
    let text = String::from_utf8_lossy(source.bytes);
    let candidates = candidates(source);
    let mut texts: BTreeMap<u8, Read> = BTreeMap::new();
    let mut bound = Vec::new();
    for app in &candidates {
        let format = if source.path.is_none() {
            Format::Dotenv
        } else {
            app.format
        };
        let (settings, problems) = texts
            .entry(format as u8)
            .or_insert_with(|| settings_of(&text, format));
        reading.problems.append(problems);
        let own = bound_of(app, settings, source);
        if own.len() == MOST_CONNECTIONS {
            reading.problems.push(Problem {
                line: None,
                what: format!(
                    "{MOST_CONNECTIONS} connections of {} are followed, no more",
                    app.title
                ),
            });
        }
        bound.extend(own);
    }
    bound.extend(carried(&candidates, &texts, source));
    reading.found = merged(bound, source);
    reading.problems.sort();
    reading.problems.dedup();
    if reading.found.is_empty() {
        reading.looked_for = looked_for(&candidates);
    }
    reading
}

/// What programs find in the environment that a unit or a container hands them.
fn carried(
    candidates: &[&'static App],
    texts: &BTreeMap<u8, Read>,
    source: &Source<'_>,
) -> Vec<Bound> {
    let carriers = candidates.iter().copied().filter(|it| it.is_carrier());
    let Some(carrier) = carriers.max_by_key(|it| it.files.iter().any(|it| !it.starts_with("**/*")))
    else {
        return Vec::new();
    };
    let Some((settings, _)) = texts.get(&(carrier.format as u8)) else {
        return Vec::new();
    };
    let is_other = |app: &&App| {
        is_of_environment(app, source) && !candidates.iter().any(|it| it.name == app.name)
    };
    let mut found: Vec<Bound> = apps()
        .iter()
        .filter(is_other)
        .flat_map(|app| bound_of(app, settings, source))
        .collect();
    for bound in &mut found {
        bound.carrier = Some(carrier);
    }
    found
}

/// Whose configuration it may be: by its whole path, else by its name alone, since a copy may lie
/// anywhere.
fn candidates(source: &Source<'_>) -> Vec<&'static App> {
    let Some(path) = source.path else {
        let all = apps().iter();
        return all.filter(|app| is_of_environment(app, source)).collect();
    };
    let whose = |fits: &dyn Fn(&str) -> bool| -> Vec<&'static App> {
        let all = apps().iter();
        all.filter(|app| app.files.iter().any(|it| fits(it)))
            .collect()
    };
    let by_path = whose(&|pattern| fits_path(pattern, path));
    if !by_path.is_empty() {
        return by_path;
    }
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let name = last(path);
    whose(&|pattern| {
        let pattern = last(pattern);
        // A name that fits everything says nothing.
        !pattern.starts_with('*') && fits_path(&pattern, &name)
    })
}

/// Whether it reads whatever environment it gets; some programs have names of their own that others use
/// otherwise, and need a sign.
fn is_of_environment(app: &App, source: &Source<'_>) -> bool {
    let is_general = app.files.iter().any(|it| it == "**/.env");
    app.format == Format::Dotenv && (is_general || has_sign(app, &names_in(source)))
}

fn looked_for(candidates: &[&App]) -> Vec<String> {
    let keys = |app: &App| {
        let roles = [Role::Url, Role::Host, Role::Socket];
        let keys: Vec<&str> = roles
            .iter()
            .flat_map(|it| app.patterns(*it))
            .map(|it| &**it)
            .collect();
        keys.join(", ")
    };
    let known = candidates.iter().filter(|it| !keys(it).is_empty());
    known
        .map(|app| format!("{}: {}", app.title, keys(app)))
        .collect()
}

fn settings_of(text: &str, format: Format) -> Read {
    if let Some(language) = format.language() {
        return code::read(text, language);
    }
    if let Some(kind) = format.lines() {
        return lines::read(text, kind);
    }
    let (settings, problems) = yaml::read(text);
    if format == Format::Containers {
        return (in_containers(&settings), problems);
    }
    (settings, problems)
}
