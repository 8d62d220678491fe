//! Finds and reads a PostgreSQL server's `pg_hba.conf`.
//!
//! The path of `pg_hba.conf` is a setting: it is on the command line, in the configuration file, or in a file that the
//! configuration file includes. By default `pg_hba.conf` is in the data folder with which the server was started. A
//! path that looptax cannot follow counts as a missing file.
//!
//! # Source
//! postgresql.org/docs/current/runtime-config-file-locations.html, config-setting.html, app-postgres.html.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use looptax_host::discover::{Process, Server};
use looptax_host::{View, kernel, read_whole};

/// The largest `pg_hba.conf` or configuration that is read. People write shorter files; a longer file is not read at
/// all.
const MOST_BYTES: u64 = 1 << 20;
/// The maximum depth of configuration files that include each other. Source: PostgreSQL, `CONF_FILE_MAX_DEPTH`.
const MAX_DEPTH: usize = 10;

#[derive(Debug)]
pub struct HbaFile {
    /// The file's path, as the server sees it.
    pub path: String,
    pub text: String,
    /// Whether the file was changed since the server started. The change takes effect only after a reload, and looptax
    /// cannot see from outside whether the server was reloaded.
    pub is_changed: bool,
}

/// Reads a server's file; `None` if the file was not found, or looptax may not read it.
pub fn hba_file(server: &Server) -> Option<HbaFile> {
    let process = &server.process;
    let view = process.view().ok()?;
    let path = place(process, &view)?;
    let mut file = view.open(&path).ok()?;
    let bytes = read_whole(&mut file, MOST_BYTES).ok()?;
    let changed = file.metadata().ok()?;
    let changed = since_epoch(changed.ctime(), changed.ctime_nsec());
    Some(HbaFile {
        path: path.display().to_string(),
        text: text(bytes),
        is_changed: started(&view).is_none_or(|started| changed >= started),
    })
}

/// Returns when the server started. The server creates its lock file before it reads the rules, and the file's third
/// line contains the start time in seconds.
fn started(view: &View) -> Option<SystemTime> {
    let mut lock = view.open(Path::new("postmaster.pid")).ok()?;
    let made = lock.metadata().ok()?.created();
    let mut told = || {
        let lock = text(read_whole(&mut lock, MOST_BYTES).ok()?);
        let seconds = lock.lines().nth(2)?.trim().parse().ok()?;
        Some(since_epoch(seconds, 0))
    };
    made.ok().or_else(&mut told)
}

fn since_epoch(seconds: i64, nanoseconds: i64) -> SystemTime {
    let seconds = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    UNIX_EPOCH + seconds + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0))
}

/// Returns the path of `pg_hba.conf`, as the server sees it.
fn place(process: &Process, view: &View) -> Option<PathBuf> {
    let given = Given::of_arguments(&process.arguments());
    // A server's working folder is its data folder.
    let data = kernel::link(process.file("cwd")).ok()?;
    let folder = given.folder.or_else(|| variable(process, "PGDATA"));
    let folder = folder.map(PathBuf::from).filter(|it| it.is_absolute());
    let folder = folder.unwrap_or_else(|| data.clone());
    let mut found = given.hba_file;
    if found.is_none() {
        let main = given.config_file.map(PathBuf::from);
        let main = main.unwrap_or_else(|| folder.join("postgresql.conf"));
        let mut read = Configuration { view, hba_file: None };
        read.file(&main, 0)?;
        // The file that ALTER SYSTEM writes is read last.
        let automatic = data.join("postgresql.auto.conf");
        if !matches!(view.look(&automatic), Ok(None)) {
            read.file(&automatic, 0)?;
        }
        found = read.hba_file;
    }
    match found.map(PathBuf::from) {
        None => Some(folder.join("pg_hba.conf")),
        // A relative path starts at the folder in which the server was started. looptax can no longer find out which
        // folder that was.
        Some(path) => path.is_absolute().then_some(path),
    }
}

/// The paths in a server's command line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Given {
    folder: Option<String>,
    config_file: Option<String>,
    hba_file: Option<String>,
}

impl Given {
    fn of_arguments(arguments: &[String]) -> Self {
        let mut found = Self::default();
        let mut arguments = arguments.iter().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = |short: &str| {
                let joined = argument.strip_prefix(short)?;
                match joined {
                    "" => arguments.next().cloned(),
                    joined => Some(joined.to_owned()),
                }
            };
            if let Some(folder) = value("-D") {
                found.folder = Some(folder);
                continue;
            }
            let setting = argument.strip_prefix("--").map(str::to_owned);
            let Some(setting) = setting.or_else(|| value("-c")) else {
                continue;
            };
            let Some((name, value)) = setting.split_once('=') else {
                continue;
            };
            match &*name.replace('-', "_").to_ascii_lowercase() {
                "config_file" => found.config_file = Some(value.to_owned()),
                "hba_file" => found.hba_file = Some(value.to_owned()),
                _ => {}
            }
        }
        found
    }
}

fn variable(process: &Process, name: &str) -> Option<String> {
    let environment = text(kernel::read_up_to(process.file("environ"), MOST_BYTES).ok()?);
    let mut pairs = environment.split('\0').filter_map(|it| it.split_once('='));
    pairs.find(|(its, _)| *its == name).map(|(_, value)| value.to_owned())
}

/// The configuration files; if they set a name several times, the last setting counts.
struct Configuration<'a> {
    view: &'a View,
    hba_file: Option<String>,
}

impl Configuration<'_> {
    /// Reads a file with its included files; `None` if one of them cannot be read, or an include cannot be followed.
    fn file(&mut self, path: &Path, depth: usize) -> Option<()> {
        let is_near = depth <= MAX_DEPTH && path.is_absolute();
        let bytes = self.view.read(path, MOST_BYTES).ok();
        let text = text(bytes.filter(|_| is_near)?);
        for line in text.lines() {
            let Some((name, rest)) = name_of(line) else {
                continue;
            };
            match &*name {
                "hba_file" => self.hba_file = Some(value_of(rest)?),
                "include" | "include_if_exists" | "include_dir" => {
                    let beside = path.parent()?.join(value_of(rest)?);
                    self.included(&name, &beside, depth + 1)?;
                }
                _ => {}
            }
        }
        Some(())
    }

    fn included(&mut self, how: &str, path: &Path, depth: usize) -> Option<()> {
        match how {
            "include_dir" => {
                let names = self.view.names(path).ok()?.into_iter();
                let names = names.filter_map(|name| name.into_string().ok());
                let is_meant = |name: &String| {
                    let kind = Path::new(name).extension();
                    kind.is_some_and(|it| it == "conf") && !name.starts_with('.')
                };
                let mut names: Vec<_> = names.filter(is_meant).collect();
                names.sort_unstable();
                names.iter().try_for_each(|name| self.file(&path.join(name), depth))
            }
            "include_if_exists" if matches!(self.view.look(path), Ok(None)) => Some(()),
            _ => self.file(path, depth),
        }
    }
}

/// Splits a line into the setting's name, in lower case, and the rest.
fn name_of(line: &str) -> Option<(String, &str)> {
    let line = line.trim_start();
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let end = line.find(|c| !is_of_name(c)).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    (!name.is_empty()).then(|| (name.to_ascii_lowercase(), rest))
}

/// Returns a setting's value, which usually is in quotes; `None` if the value contains escapes.
fn value_of(text: &str) -> Option<String> {
    let text = text.trim_start();
    let text = text.strip_prefix('=').unwrap_or(text).trim_start();
    let value = match text.strip_prefix('\'') {
        Some(quoted) => {
            let (value, behind) = quoted.split_once('\'')?;
            (!behind.starts_with('\'')).then_some(value)?
        }
        None => text.split([' ', '\t', '\r', '#']).next()?,
    };
    (!value.is_empty() && !value.contains('\\')).then(|| value.to_owned())
}

/// Decodes the bytes as UTF-8. If they are not UTF-8, decodes each byte as one character, so that different names stay
/// different.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let bytes = error.as_bytes().iter();
        bytes.map(|byte| char::from(*byte)).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write;

    use super::*;

    #[test]
    fn a_command_line_tells_of_its_files() {
        let words = ["postgres", "-D", "/data", "-cHBA-file=/a", "--config-file=/b", "-c", "port=1"];
        let found = Given::of_arguments(&words.map(str::to_owned));
        let text = |it: &str| Some(it.to_owned());
        let expected = Given { folder: text("/data"), config_file: text("/b"), hba_file: text("/a") };
        assert_eq!(found, expected);
    }

    #[test]
    fn the_last_setting_counts_included_ones_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("conf.d")).unwrap();
        let write = |name: &str, text: &str| {
            let mut file = File::create(path(name)).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        write("conf.d/1.conf", "hba_file '/one' # so\n");
        write("conf.d/2.conf", "  HBA_FILE='/two'\n#hba_file = '/no'\nhba_filex = '/no'\n");
        write("conf.d/3.txt", "hba_file = '/three'");
        let process = looptax_host::discover::process(std::process::id()).unwrap();
        let view = process.view().unwrap();
        let read = |text: &str| {
            write("main.conf", text);
            let mut read = Configuration { view: &view, hba_file: None };
            read.file(&path("main.conf"), 0)?;
            Some(read.hba_file.unwrap_or_default())
        };
        let found = |text: &str| Some(text.to_owned());
        assert_eq!(read("hba_file = '/main'\ninclude_dir = 'conf.d'\n"), found("/two"));
        assert_eq!(read("include_dir 'conf.d'\nhba_file = '/main'\n"), found("/main"));
        assert_eq!(read("include_if_exists = 'none.conf'"), found(""));
        for text in ["include = 'none.conf'", "include 'main.conf'", "hba_file = '/it''s'", "hba_file = '\\x'"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn different_bytes_are_different_names() {
        assert_ne!(text(vec![0xff]), text(vec![0xfe]));
        assert_eq!(text("ü".into()), "ü");
    }
}
