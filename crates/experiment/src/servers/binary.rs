//! Finds a server's program and runs it with `--version`.
//!
//! Searches PATH and the usual folders. Runs programs only with `--version`; as root, runs only programs that no other
//! user can change.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use looptax_host::program::{is_executable, trusted_program};
use looptax_host::read;
use looptax_model::dsn::Kind;

use crate::servers::ServerError;
use crate::servers::kind::programs;
use crate::servers::wordpress::php_fpm;

/// Folders that may contain servers; some users do not have all of them in their PATH.
const USUAL_FOLDERS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/usr/libexec", "/opt/bin"];

/// The folders in which distributions keep PostgreSQL's programs: one folder per major version, with a folder `bin` in
/// it. The second string is the part of the folder's name before the version.
const POSTGRES_FOLDERS: [(&str, &str); 3] =
    [("/usr/lib/postgresql", ""), ("/usr", "pgsql-"), ("/usr/lib", "postgresql")];

/// Returns the program of a kind of server; `None` if none is installed. The echo server's program is looptax itself.
///
/// A `mysqld` that is really MariaDB's is not a [`Kind::Mysql`]. If several versions of PostgreSQL are installed, the
/// version in PATH is used, otherwise the highest version.
pub fn find_binary(kind: Kind) -> Option<PathBuf> {
    require_binary(kind).ok()
}

/// Returns the program. An error names the folders that were searched, or the program that did not report its version.
pub(crate) fn require_binary(kind: Kind) -> Result<PathBuf, ServerError> {
    let folders = search_folders(kind);
    let paths = programs(kind).iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    // The file name of php-fpm contains a version.
    let versioned = { kind == Kind::PhpFpm }.then(php_fpm).flatten();
    let paths = versioned.into_iter().chain(paths);
    let mut missing = ServerError::BinaryMissing {
        kind,
        looked_for: programs(kind).join(" or "),
        looked_in: { folders.iter() }.map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
        hint: how_to_get(kind),
    };
    let Some(private) = &kind.facts().private else {
        return Err(missing);
    };
    if private.programs.is_empty() {
        return env::current_exe().map_err(|_| missing);
    }
    for path in paths.filter(|path| is_executable(path)) {
        if let Err(why) = trusted_program(&path) {
            missing = ServerError::PassedOver { path, why };
            continue;
        }
        match version_text(&path) {
            Ok(answer) if (private.prints)(&answer.text) => return Ok(path),
            Ok(answer) if answer.is_of_another_kind() => {}
            Ok(answer) => {
                missing = ServerError::BinaryUnfit { kind, path, what: answer.describe(), hint: how_to_get(kind) };
            }
            Err(source) => missing = ServerError::BinaryNotAsked { path, source },
        }
    }
    Err(missing)
}

/// Lists the usual kinds whose only installed program cannot be started: it is too old or broken, or other users can
/// change it.
pub(crate) fn unfit() -> Vec<(Kind, ServerError)> {
    let failure = |kind: Kind| match require_binary(kind) {
        Ok(_) | Err(ServerError::BinaryMissing { .. }) => None,
        Err(why) => Some((kind, why)),
    };
    Kind::ALL.into_iter().filter(|kind| kind.is_usual()).filter_map(failure).collect()
}

/// The output of a program for `--version`, and its exit status.
struct Answer {
    text: String,
    status: ExitStatus,
}

impl Answer {
    fn is_of_another_kind(&self) -> bool {
        let mut privates = Kind::startable().filter_map(|kind| kind.facts().private.as_ref());
        privates.any(|it| !it.programs.is_empty() && (it.prints)(&self.text))
    }

    fn describe(&self) -> String {
        let line = self.text.lines().map(str::trim).find(|line| !line.is_empty());
        let printed = line.map_or_else(|| "printed nothing".to_owned(), |line| format!("printed `{line}`"));
        if self.status.success() { printed } else { format!("{printed} and ended with {}", self.status) }
    }
}

/// Returns how to install a missing program.
fn how_to_get(kind: Kind) -> Option<String> {
    let hint = match kind {
        Kind::Mysql if find_binary(Kind::Mariadb).is_some() => {
            "use `private:mariadb`: the installed server is MariaDB".to_owned()
        }
        Kind::Memcached => "install the package `memcached` in version 1.6.18 or newer, or put the program's folder \
                            into PATH"
            .to_owned(),
        Kind::Ferretdb => "`scripts/ferretdb.sh` in the folder of looptax's source code builds FerretDB 1.24 with Go \
            and prints the folder to put into PATH; FerretDB 2 needs a PostgreSQL with an extension, and looptax does \
            not start such a server"
            .to_owned(),
        _ => {
            let package = kind.facts().private.as_ref()?.package?;
            format!("install the package `{package}`, or put the program's folder into PATH")
        }
    };
    Some(hint)
}

/// Returns the version that the program prints: `10.11.19-MariaDB-0+deb12u1`; `unknown` if it prints none.
pub(crate) fn version_of(binary: &Path) -> String {
    let text = version_text(binary).map(|it| it.text).unwrap_or_default();
    find_version(&text).unwrap_or("unknown").to_owned()
}

/// Whether the installed server of this kind has TLS by default, so that its own client programs use TLS.
///
/// # Source
/// MariaDB 11.4's release notes: the server makes a certificate at start if the user gives it no certificate; observed
/// with 11.8.9.
pub fn offers_tls_unasked(kind: Kind) -> bool {
    match kind {
        Kind::Mysql => true,
        Kind::Mariadb => find_binary(kind).is_some_and(|binary| is_since_11_4(&version_of(&binary))),
        _ => false,
    }
}

fn is_since_11_4(version: &str) -> bool {
    let mut numbers = version.split('.').map_while(|it| it.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(11), Some(4))
}

/// Returns the folders of PATH, then the usual folders, without duplicates. Relative folders are left out, because
/// their content depends on the current folder.
fn search_folders(kind: Kind) -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = Vec::new();
    let usual = USUAL_FOLDERS.iter().map(PathBuf::from);
    let versioned = if kind == Kind::Postgres { versioned_folders() } else { Vec::new() };
    for folder in env::split_paths(&path).filter(|folder| folder.is_absolute()).chain(usual).chain(versioned) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// Returns PostgreSQL's folders, sorted by version, the highest first.
fn versioned_folders() -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for (root, prefix) in POSTGRES_FOLDERS {
        for path in read::list(Path::new(root)).unwrap_or_default() {
            let name = path.file_name().and_then(|it| it.to_str());
            let version = name.and_then(|name| name.strip_prefix(prefix)).and_then(|rest| rest.parse().ok());
            found.extend(version.map(|version| (version, path.join("bin"))));
        }
    }
    found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    found.into_iter().map(|(_, folder)| folder).collect()
}

fn version_text(binary: &Path) -> io::Result<Answer> {
    #[allow(clippy::disallowed_methods, reason = "if looptax has root's rights, only root can change this program")]
    let output = Command::new(binary).arg("--version").stdin(Stdio::null()).output()?;
    // Pgpool-II prints its version to stderr.
    let text = [output.stdout, output.stderr].concat();
    Ok(Answer { text: String::from_utf8_lossy(&text).into_owned(), status: output.status })
}

/// Returns the first word that starts with a digit, after an optional `v=`.
fn find_version(text: &str) -> Option<&str> {
    text.split_whitespace()
        .map(|word| word.strip_prefix("v=").unwrap_or(word))
        .map(|word| word.strip_prefix('v').unwrap_or(word))
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(find_version(text), expected, "{text}");
    }

    #[test]
    fn a_missing_binary_names_its_package() {
        let hint = how_to_get(Kind::Valkey).unwrap();
        assert!(hint.contains("`valkey-server`"), "{hint}");
    }

    #[test]
    fn r50_a_program_that_is_too_old_or_broken_is_told_from_one_of_another_kind() {
        let answer = |text: &str, code: i32| Answer { text: text.to_owned(), status: ExitStatus::from_raw(code << 8) };
        let old = answer("memcached 1.6.9\n", 0);
        assert!(!old.is_of_another_kind());
        assert_eq!(old.describe(), "printed `memcached 1.6.9`");
        let broken = answer("\nmysqld: error while loading shared libraries: libx.so.1\n", 127);
        assert!(!broken.is_of_another_kind());
        let words = "printed `mysqld: error while loading shared libraries: libx.so.1` and ended with exit status: 127";
        assert_eq!(broken.describe(), words);
        assert_eq!(answer("", 1).describe(), "printed nothing and ended with exit status: 1");
        let other = answer("mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64", 0);
        assert!(other.is_of_another_kind());
    }

    #[test]
    fn finds_the_version_in_what_each_server_prints() {
        check("mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu", Some("10.11.19-MariaDB-0+deb12u1"));
        check("version: v1.24.2\ncommit: unknown", Some("1.24.2"));
        check("/usr/sbin/mysqld  Ver 9.7.4 for Linux on x86_64 (MySQL Community Server - GPL)", Some("9.7.4"));
        check("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", Some("15.18"));
        check("Redis server v=7.0.15 sha=00000000:0", Some("7.0.15"));
        check("no number here", None);
    }

    #[test]
    fn r50_mariadb_has_tls_by_itself_from_11_4_on() {
        for (version, expected) in [
            ("10.11.19-MariaDB-0+deb12u1", false),
            ("11.3.2-MariaDB", false),
            ("11.4.5-MariaDB", true),
            ("11.8.9-MariaDB-0+deb13u1", true),
            ("12.0.2-MariaDB", true),
            ("unknown", false),
        ] {
            assert_eq!(is_since_11_4(version), expected, "{version}");
        }
    }

    #[test]
    fn a_missing_server_says_where_it_was_looked_for() {
        if find_binary(Kind::Valkey).is_none() {
            let error = require_binary(Kind::Valkey).unwrap_err().to_string();
            assert!(error.contains("valkey-server") && error.contains("/usr/sbin"), "{error}");
        }
    }
}
