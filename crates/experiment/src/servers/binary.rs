//! Finding a server's program and asking it for its version.
//!
//! Looks into PATH and the usual folders; runs nothing but `--version`, and as root nothing that others than root can
//! change.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use looptax_host::program::{is_executable, trusted_program};
use looptax_host::read;
use looptax_model::dsn::Kind;

use crate::servers::ServerError;
use crate::servers::kind::programs;
use crate::servers::wordpress::php_fpm;

/// Folders that hold servers but are in few users' PATH.
const USUAL_FOLDERS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/usr/libexec", "/opt/bin"];

/// Where distributions keep PostgreSQL's programs: one folder per major version, in which `bin` lies.
/// The second member is what a version's folder is called before the number.
const POSTGRES_FOLDERS: [(&str, &str); 3] =
    [("/usr/lib/postgresql", ""), ("/usr", "pgsql-"), ("/usr/lib", "postgresql")];

/// The program of a kind of server; `None` when none is installed. The echo server's is looptax itself.
///
/// A `mysqld` that is really MariaDB's is no [`Kind::Mysql`]. Of several versions of PostgreSQL,
/// the one in PATH wins, then the highest.
pub fn find_binary(kind: Kind) -> Option<PathBuf> {
    require_binary(kind).ok()
}

/// The program, or an error that says where it was looked for, or which one could not be asked for its version.
pub(crate) fn require_binary(kind: Kind) -> Result<PathBuf, ServerError> {
    let folders = search_folders(kind);
    let paths = programs(kind).iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    // It has a version in its name.
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
            Ok(text) if (private.prints)(&text) => return Ok(path),
            Ok(_) => {}
            Err(source) => missing = ServerError::BinaryNotAsked { path, source },
        }
    }
    Err(missing)
}

/// How to get a program that is missing.
fn how_to_get(kind: Kind) -> Option<String> {
    let hint = match kind {
        Kind::Mysql if find_binary(Kind::Mariadb).is_some() => {
            "the server installed here is MariaDB: `private:mariadb`".to_owned()
        }
        Kind::Memcached => "install the package `memcached` in version 1.6.18 or newer, or put the binary's folder \
                            into PATH"
            .to_owned(),
        Kind::Ferretdb => "`scripts/ferretdb.sh` in looptax's folder builds FerretDB 1.24 with Go and says which \
                           folder to put into PATH; its second edition needs a PostgreSQL with an extension and is \
                           not started here"
            .to_owned(),
        _ => {
            let package = kind.facts().private.as_ref()?.package?;
            format!("install the package `{package}`, or put the binary's folder into PATH")
        }
    };
    Some(hint)
}

/// The version that the program prints: `10.11.19-MariaDB-0+deb12u1`; `unknown` when it prints none.
pub(crate) fn version_of(binary: &Path) -> String {
    let text = version_text(binary).unwrap_or_default();
    find_version(&text).unwrap_or("unknown").to_owned()
}

/// PATH's folders, then the usual ones, each once. Relative ones are left out: what they hold depends
/// on where we stand.
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

/// PostgreSQL's folders, the highest version first.
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

fn version_text(binary: &Path) -> io::Result<String> {
    #[allow(clippy::disallowed_methods, reason = "a program that only root can change, if looptax has its rights")]
    let output = Command::new(binary).arg("--version").stdin(Stdio::null()).output()?;
    // Pgpool-II prints it as an error.
    let text = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The first word that starts with a digit, after an optional `v=`.
fn find_version(text: &str) -> Option<&str> {
    text.split_whitespace()
        .map(|word| word.strip_prefix("v=").unwrap_or(word))
        .map(|word| word.strip_prefix('v').unwrap_or(word))
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
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
    fn finds_the_version_in_what_each_server_prints() {
        check("mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu", Some("10.11.19-MariaDB-0+deb12u1"));
        check("version: v1.24.2\ncommit: unknown", Some("1.24.2"));
        check("/usr/sbin/mysqld  Ver 9.7.4 for Linux on x86_64 (MySQL Community Server - GPL)", Some("9.7.4"));
        check("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", Some("15.18"));
        check("Redis server v=7.0.15 sha=00000000:0", Some("7.0.15"));
        check("no number here", None);
    }

    #[test]
    fn a_missing_server_says_where_it_was_looked_for() {
        if find_binary(Kind::Valkey).is_none() {
            let error = require_binary(Kind::Valkey).unwrap_err().to_string();
            assert!(error.contains("valkey-server") && error.contains("/usr/sbin"), "{error}");
        }
    }
}
