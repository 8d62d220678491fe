//! The variables that a service of a Compose file takes from its `env_file`s.
//!
//! A value counts as known only if all programs that read such files interpret it in the same way. A value that Compose
//! inserts or that contains an unusual escape counts as unknown. A file with a line that is not a plain `NAME=value` is
//! reported and not used. Called by `read`; `maps` does the same for Kubernetes.
//!
//! # Source
//! docs.docker.com, Compose file reference: `env_file`; "Environment variables precedence in Docker Compose".

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Component, Path};

use crate::app::containers::SERVICES;
use crate::app::lines::{self, Lines};
use crate::app::setting::{Joins, Setting, Value};
use crate::app::whole::Whole;

/// A variable that a container takes from elsewhere.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    /// The variable. It has [`Joins::Apart`] if it must not be changed at its place.
    pub(super) setting: Setting,
    /// The source of the variable, in words: the `env_file` app.env.
    pub(super) from: String,
    pub(super) is_secret: bool,
}

/// The variables that a container takes from elsewhere.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// The variables; if several have the same name, the last one takes effect.
    pub(super) taken: Vec<Taken>,
    /// Has an entry for each of the container's own variables that refers to another variable. An entry has the place
    /// of the container's own variable, and the other variable. The other variable is `None` if it is missing, which
    /// means an empty value.
    pub(super) instead: Vec<(Range<usize>, Option<Taken>)>,
    /// The sources that are missing or that looptax did not read, each with a reason.
    pub(super) problems: Vec<String>,
}

/// A file of variables, as a service names it.
#[derive(Debug, Default)]
struct Entry<'a> {
    path: &'a str,
    is_optional: bool,
    /// Whether the path contains a variable, or a key of the entry may change how the file is read, such as `format`.
    is_open: bool,
}

/// The files from which the services of a Compose file take variables, if these files are in the same folder or below.
pub(crate) fn env_files(settings: &[Setting]) -> Vec<String> {
    let is_own = |it: &&Setting| matches!(&it.path[..], [top, _, key, ..] if top == SERVICES && key == "env_file");
    let own: Vec<&Setting> = settings.iter().filter(is_own).collect();
    let mut names: Vec<&str> = own.iter().map(|it| &*it.path[1]).collect();
    names.dedup();
    let all = names.into_iter().flat_map(|name| entries(name, &own));
    let mut files: Vec<String> =
        all.filter(|it| !it.is_open && is_below(it.path)).map(|it| it.path.to_owned()).collect();
    files.sort_unstable();
    files.dedup();
    files
}

pub(super) fn is_below(path: &str) -> bool {
    let is_inner = |it| matches!(it, Component::Normal(_) | Component::CurDir);
    !path.is_empty() && Path::new(path).components().all(is_inner)
}

fn entries<'a>(service: &str, settings: &[&'a Setting]) -> Vec<Entry<'a>> {
    let mut all: BTreeMap<usize, Entry<'a>> = BTreeMap::new();
    for setting in settings.iter().filter(|it| it.path[1] == *service) {
        let parts: Vec<&str> = setting.path[3..].iter().map(|it| &**it).collect();
        let idx = parts.first().map_or(Some(0), |it| it.parse().ok());
        let entry = all.entry(idx.unwrap_or_default()).or_default();
        match (&parts[..], &setting.value) {
            _ if idx.is_none() => entry.is_open = true,
            ([] | [_] | [_, "path"], Value::Text(path)) => entry.path = path,
            ([_, "required"], Value::Text(it)) if it == "true" || it == "false" => entry.is_optional = it == "false",
            _ => entry.is_open = true,
        }
    }
    all.into_values().collect()
}

/// The variables that a service takes from elsewhere. `is_shared` returns whether other services read the same file.
pub(super) fn of_service(
    service: &str,
    settings: &[Setting],
    whole: &Whole,
    is_shared: &dyn Fn(&str) -> bool,
) -> Given {
    let is_own = |it: &&Setting| matches!(&it.path[..], [top, name, key, ..] if top == SERVICES && name == service && key == "env_file");
    let own: Vec<&Setting> = settings.iter().filter(is_own).collect();
    let mut given = Given::default();
    for Entry { path, is_optional, is_open } in entries(service, &own) {
        let part = whole.others().find(|it| it.0.words == path);
        let why = match part {
            _ if is_open => "which is not a plain path to a file of `NAME=value`",
            _ if !is_below(path) => "which is not below the Compose file's folder",
            None if is_optional => continue,
            None => "which does not exist or cannot be read",
            Some((part, text)) => {
                let from = format!("the `env_file` {path}");
                // Compose replaces variables in the Compose file by values from the project's `.env`.
                let is_asked = |name: &str| {
                    let is_projects = Path::new(path)
                        .components()
                        .filter(|it| *it != Component::CurDir)
                        .eq([Component::Normal(".env".as_ref())]);
                    is_projects && [format!("${name}"), format!("${{{name}")].iter().any(|it| whole.own().contains(it))
                };
                let is_shared = is_shared(path);
                match variables(text) {
                    Ok(all) => {
                        given.taken.extend(all.into_iter().map(|it| {
                            let is_apart = is_shared || is_asked(&it.path[0]);
                            let setting = Setting {
                                line: it.line + part.first_line,
                                start: it.start + part.at.start,
                                joins: if is_apart { Joins::Apart } else { it.joins },
                                ..it
                            };
                            Taken { setting, from: from.clone(), is_secret: false }
                        }));
                        continue;
                    }
                    Err(line) => {
                        let what = format!(
                            "`{service}` takes variables from {from}, whose line {line} is not a plain `NAME=value` \
                             that all programs read alike"
                        );
                        given.problems.push(what);
                        continue;
                    }
                }
            }
        };
        given.problems.push(format!("`{service}` takes variables from the `env_file` {path}, {why}"));
    }
    given
}

/// Reads the variables of an `env_file`. `Err` has the number of a line that is not a variable.
pub(super) fn variables(text: &str) -> Result<Vec<Setting>, usize> {
    if let Some(at) = text.lines().position(|it| !is_plain(it)) {
        return Err(at + 1);
    }
    let (mut settings, _) = lines::read(text, Lines::Dotenv);
    for setting in &mut settings {
        let raw = &setting.item[setting.literal.clone()];
        let is_known = match raw.chars().next() {
            Some('\'') => !raw.contains('\\'),
            Some('"') => is_escaped_plainly(raw),
            _ => !raw.contains(['$', '\\']),
        };
        if !is_known && matches!(setting.value, Value::Text(_)) {
            setting.value = Value::Hidden;
        }
    }
    Ok(settings)
}

/// Whether a text in double quotes contains no unescaped dollar sign, and no backslash except before a backslash, a
/// quote or a dollar sign.
fn is_escaped_plainly(raw: &str) -> bool {
    let mut chars = raw.chars();
    while let Some(sign) = chars.next() {
        let is_plain = match sign {
            '\\' => chars.next().is_some_and(|it| "\\\"$".contains(it)),
            sign => sign != '$',
        };
        if !is_plain {
            return false;
        }
    }
    true
}

/// Whether a line is empty, a comment, or `NAME=value`.
fn is_plain(line: &str) -> bool {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return true;
    }
    let body = line.strip_prefix("export ").unwrap_or(line);
    let Some((name, value)) = body.split_once('=') else {
        return false;
    };
    let is_name = name.chars().all(|it| it.is_ascii_alphanumeric() || "_.-".contains(it)) && !name.is_empty();
    let is_whole = match value.chars().next().filter(|it| matches!(it, '"' | '\'')) {
        Some(quote) => {
            let mut rest = value[1..].char_indices();
            let mut end = None;
            while let Some((at, sign)) = rest.next() {
                match sign {
                    '\\' => drop(rest.next()),
                    sign if sign == quote => {
                        end = Some(at + 2);
                        break;
                    }
                    _ => {}
                }
            }
            end.is_some_and(|at| {
                value[at..].is_empty() || value[at..].trim_start().starts_with('#') && value[at..].starts_with(' ')
            })
        }
        None => !value.starts_with([' ', '\t']) && !value.contains("\t#"),
    };
    is_name && is_whole
}

impl Taken {
    /// The variable as `NAME=value`. The value is left out if it is not known or is a secret.
    pub(super) fn pair(&self) -> String {
        let name = &self.setting.path[0];
        match &self.setting.value {
            Value::Text(text) if !self.is_secret => format!("{name}={text}"),
            _ => format!("{name}="),
        }
    }
}

impl Given {
    /// All variables of a container, and the source of each variable that comes from elsewhere. `own` has the
    /// container's own variables, and `asked` has the names of the variables whose values Compose takes from its own
    /// environment.
    pub(super) fn with(self, mut own: Vec<Setting>, asked: &[String]) -> (Vec<Setting>, Vec<Taken>) {
        let mut origins = Vec::new();
        for (at, taken) in self.instead {
            let is_it = |it: &Setting| at.contains(&it.start);
            own.retain(|it| !is_it(it));
            if let Some(taken) = taken {
                own.push(taken.setting.clone());
                origins.push(taken);
            }
        }
        own.retain(|it| !asked.contains(&it.path[0]) || self.taken.iter().all(|other| other.setting.path != it.path));
        let mut all: Vec<Setting> = Vec::new();
        for mut taken in self.taken {
            let setting = &mut taken.setting;
            if own.iter().any(|it| it.path == setting.path) {
                continue;
            }
            if asked.contains(&setting.path[0]) {
                setting.doubt = Some("the value that Compose sets at run time, if any".to_owned());
            }
            all.retain(|it| it.path != setting.path);
            origins.retain(|it: &Taken| it.setting.path != setting.path);
            all.push(setting.clone());
            origins.push(taken);
        }
        all.extend(own);
        (all, origins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&[(&str, Option<&str>)], usize>) {
        let found = variables(text).map(|all| {
            let value = |it: &Setting| match &it.value {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            };
            all.iter().map(|it| (it.path[0].clone(), value(it))).collect::<Vec<_>>()
        });
        let expected = expected.map(|all| {
            let pair = |it: &(&str, Option<&str>)| (it.0.to_owned(), it.1.map(str::to_owned));
            all.iter().map(pair).collect::<Vec<_>>()
        });
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_line_counts_only_if_every_reader_takes_it_alike() {
        check("# a\n\nexport A=b # c\nC='d $e'\n", Ok(&[("A", Some("b")), ("C", Some("d $e"))]));
        check("A=\"b\\$c\\\"\"\nD=e#f\n", Ok(&[("A", Some("b$c\"")), ("D", Some("e#f"))]));
        for value in ["a$b", "\"a$b\"", "$B", "${B:-c}", "a\\b", "\"a\\nb\"", "'a\\b'"] {
            check(&format!("A={value}\n"), Ok(&[("A", None)]));
        }
        for line in ["A", "A = b", "A: b", "A= b", "A=\"b", "A='b'c", "=b", "A b=c", "A=b\t#c"] {
            check(&format!("B=c\n{line}\n"), Err(2));
        }
    }

    #[test]
    fn a_file_is_followed_below_the_projects_folder() {
        for (path, expected) in
            [("a.env", true), ("./a/b", true), ("../a", false), ("/a", false), ("a/../../b", false), ("", false)]
        {
            assert_eq!(is_below(path), expected, "{path}");
        }
    }
}
