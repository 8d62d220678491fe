//! Tests with a folder that replaces `/` and contains system files.

#![allow(clippy::disallowed_methods, reason = "files of the test's own")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use looptax_advise::app::Variable;
use looptax_host::discover::{Home, Process, process};
use tempfile::TempDir;

use super::place::Elsewhere;
use super::{Followed, Reader, drop_in_of, find, is_unit};
use crate::file::Original;

struct System(TempDir);

impl System {
    fn with(files: &[(&str, &str)]) -> Self {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root)
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.0.path()).unwrap().join(name)
    }
}

fn pairs(all: &[(&str, &str)]) -> Vec<Variable> {
    let own = |it: &(&str, &str)| (it.0.to_owned(), it.1.to_owned());
    all.iter().map(own).collect()
}

/// Finds the files for a process of this unit that has these variables.
fn of_unit(system: &System, unit: &str, environment: &[(&str, &str)]) -> Followed {
    let process = Process { home: Home::Unit(unit.to_owned()), ..process(std::process::id()).unwrap() };
    let environment = pairs(environment).into_iter().collect();
    let reader = Reader {
        path: &system.path("srv/app/settings.py"),
        process: Some((&process, &environment)),
        root: &system.path(""),
    };
    find(reader, &names())
}

fn of_file(system: &System, path: &str) -> Followed {
    let reader = Reader { path: &system.path(path), process: None, root: &system.path("") };
    find(reader, &names())
}

fn names() -> BTreeMap<String, bool> {
    let names = [("DB_HOST", true), ("DB_USER", false), ("DB_PASSWORD", false)];
    names.map(|(name, says_where)| (name.to_owned(), says_where)).into()
}

/// Returns the edits of each file, as text; `None` if the edits are left to a person.
fn written(followed: &Followed, wanted: &[(&str, &str)]) -> Option<Vec<(PathBuf, String)>> {
    let near: Vec<String> = names().into_keys().collect();
    let edits = followed.edits(&pairs(wanted), &near)?;
    let text = |it: Elsewhere| {
        let path = it.edited.original.path().to_owned();
        (path, String::from_utf8(it.edited.new).unwrap())
    };
    Some(edits.into_iter().map(text).collect())
}

const UNIT: &str =
    "[Service]\nUser=app\nEnvironment=DB_HOST=127.0.0.1 'DB_USER=o x' A=%h\nEnvironmentFile=-/etc/default/app\n";

#[test]
fn a_unit_gets_a_drop_in_and_its_file_of_variables_is_edited() {
    let system = System::with(&[
        ("usr/lib/systemd/system/app.service", UNIT),
        ("etc/systemd/system/other.service", ""),
        ("etc/default/app", "# ours\nDB_PASSWORD=\"p#w\"\n"),
    ]);
    let environment = [("DB_HOST", "127.0.0.1"), ("DB_USER", "o x"), ("DB_PASSWORD", "p#w")];
    let found = of_unit(&system, "app.service", &environment);
    let values: Vec<(&str, &str)> = found.values.iter().map(|it| (&**it.0, &**it.1)).collect();
    assert_eq!(values, [("DB_HOST", "127.0.0.1"), ("DB_PASSWORD", "p#w"), ("DB_USER", "o x")]);
    let wanted = [("DB_HOST", "/run/%x"), ("DB_PASSWORD", "new")];
    let drop_in = system.path("etc/systemd/system/app.service.d/50-looptax.conf");
    assert_eq!(
        written(&found, &wanted).unwrap(),
        [
            (drop_in, "[Service]\nEnvironment=\"DB_HOST=/run/%%x\"\n".to_owned()),
            (system.path("etc/default/app"), "# ours\nDB_PASSWORD=\"new\"\n".to_owned()),
        ]
    );
    assert!(found.reload.unwrap().contains("daemon-reload"));
    // A value that differs from the unit's value comes from elsewhere.
    let other = of_unit(&system, "app.service", &[("DB_HOST", "10.0.0.1")]);
    assert_eq!(written(&other, &wanted), None);
    assert_eq!(other.values.len(), 0);
}

#[test]
fn the_last_drop_in_that_sets_a_variable_is_edited_itself() {
    let own = "[Service]\nEnvironment=\"DB_HOST=localhost\"\n";
    let system = System::with(&[
        ("etc/systemd/system/app@.service", UNIT),
        ("run/systemd/system/app@.service.d/10-a.conf", "[Service]\nEnvironment=DB_HOST=a\n"),
        ("etc/systemd/system/app@1.service.d/override.conf", own),
    ]);
    let found = of_unit(&system, "app@1.service", &[("DB_HOST", "localhost"), ("DB_USER", "o x")]);
    let written = written(&found, &[("DB_HOST", "/run/x")]).unwrap();
    let path = system.path("etc/systemd/system/app@1.service.d/override.conf");
    assert_eq!(written, [(path, own.replace("localhost", "/run/x"))]);
}

#[test]
fn dot_env_counts_as_its_framework_reads_it() {
    let system = System::with(&[
        ("srv/a/.env", "APP_ENV=prod\nDB_HOST=127.0.0.1\nDB_USER=u\n"),
        ("srv/a/.env.local", "DB_USER=local\n"),
        ("srv/a/.env.prod", "DB_USER=prod\n"),
        ("srv/a/symfony.lock", "{}"),
        ("srv/a/config/packages/doctrine.yaml", ""),
        ("srv/b/.env", "DB_HOST=127.0.0.1\n"),
        ("srv/b/.env.local", "DB_HOST=x\n"),
        ("srv/c/.env", "DB_PASSWORD=x\n"),
    ]);
    let found = of_file(&system, "srv/a/config/packages/doctrine.yaml");
    assert_eq!(found.values["DB_USER"], "prod");
    let wanted = [("DB_HOST", "localhost"), ("DB_SOCKET", "/run/s")];
    let new = "APP_ENV=prod\nDB_HOST=localhost\nDB_SOCKET=/run/s\nDB_USER=u\n";
    assert_eq!(written(&found, &wanted).unwrap(), [(system.path("srv/a/.env"), new.to_owned())]);
    // In programs other than Symfony, looptax does not know which of two `.env` files overrides the other. A file that
    // sets only a password does not show where the other variables are set.
    for path in ["srv/b/settings.py", "srv/c/settings.py", "srv/a/.env"] {
        assert_eq!(of_file(&system, path).values.len(), 0, "{path}");
    }
}

#[test]
fn a_pool_of_php_fpm_is_edited_where_it_is_the_only_one() {
    let pool = "[www]\nuser = www-data\nenv[DB_HOST] = 127.0.0.1\n";
    let system = System::with(&[
        ("etc/php/8.2/fpm/pool.d/www.conf", pool),
        ("etc/php/8.2/fpm/pool.d/other.conf", "[other]\nuser = x\n"),
        ("srv/index.php", ""),
    ]);
    let found = of_file(&system, "srv/index.php");
    let path = system.path("etc/php/8.2/fpm/pool.d/www.conf");
    let expected = pool.replace("127.0.0.1", "localhost");
    assert_eq!(written(&found, &[("DB_HOST", "localhost")]).unwrap(), [(path, expected)]);
    assert_eq!(of_file(&system, "srv/settings.py").values.len(), 0);
    let second = System::with(&[
        ("etc/php/8.2/fpm/pool.d/www.conf", pool),
        ("etc/php/8.2/fpm/pool.d/b.conf", &pool.replace("www]", "b]")),
    ]);
    assert_eq!(of_file(&second, "srv/index.php").values.len(), 0);
}

#[test]
fn a_unit_that_was_named_gets_a_drop_in_unless_something_else_sets_the_same() {
    let system = System::with(&[("etc/systemd/system/app.service", UNIT)]);
    let original = Original::read(&system.path("etc/systemd/system/app.service")).unwrap();
    assert!(is_unit(original.path()));
    assert!(!is_unit(&system.path("srv/app.service")));
    let new = UNIT.replace("DB_HOST=127.0.0.1 'DB_USER=o x'", "DB_SOCKET=/run/x");
    let edited = drop_in_of(&original, UNIT, &new).unwrap().unwrap();
    let text = String::from_utf8(edited.new).unwrap();
    assert_eq!(
        text,
        "[Service]\nEnvironment=\"DB_SOCKET=/run/x\"\nUnsetEnvironment=DB_HOST\nUnsetEnvironment=DB_USER\n"
    );
    let folder = system.path("etc/systemd/system/app.service.d");
    assert_eq!(edited.original.path(), folder.join("50-looptax.conf"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("90.conf"), "[Service]\nEnvironment=DB_SOCKET=/other\n").unwrap();
    assert!(drop_in_of(&original, UNIT, &new).unwrap().is_none());
    fs::remove_file(folder.join("90.conf")).unwrap();
    fs::write(folder.join("50-looptax.conf"), "").unwrap();
    drop_in_of(&original, UNIT, &new).unwrap_err();
}
