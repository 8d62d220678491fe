//! PHP-FPM reads the text that looptax writes for a variable into a pool.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use looptax_advise::app::{Provider, assign, rewritten};
use looptax_testkit::skips::skip;

const POOL: &str = "\
[global]
error_log = /dev/stderr
[www]
user = nobody
listen = /nonexistent/$pool.sock
pm = static
pm.max_children = 1
env[DSN] = mysql://r:p@127.0.0.1/rc ; where the table lies
";

/// Values of every kind that a change writes, and characters with which PHP calculates.
const VALUES: [&str; 12] = [
    "/run/mysqld/mysqld.sock",
    "localhost",
    "r:p@unix(/run/mysqld/mysqld.sock)/rc",
    "mysql://r:p@localhost/rc?unix_socket=/run/mysqld/mysqld.sock&charset=utf8mb4",
    "mysql://r:p@localhost/rc;unix_socket=/run/a.sock",
    "redis+socket://:p@/run/redis.sock?virtual_host=0",
    "postgres://r:p@%2Frun%2Fpostgresql/rc",
    "unix:///run/a b.sock#c",
    "a|b^c~d!e{f}",
    "it's",
    "user=r host=/run password='p'",
    "a #b ;c",
];

fn php_fpm() -> Option<PathBuf> {
    let entries = fs::read_dir("/usr/sbin").into_iter().flatten().flatten();
    let is_it = |path: &PathBuf| path.to_string_lossy().contains("/php-fpm");
    entries.map(|it| it.path()).filter(is_it).max()
}

#[test]
fn php_fpm_has_the_very_value_that_was_written_into_its_pool() {
    let Some(program) = php_fpm() else {
        return skip("php-fpm is not installed");
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fpm.conf");
    for value in VALUES {
        let wanted = [("DSN".to_owned(), value.to_owned())];
        let rewrites = assign(POOL, Provider::Pool, &wanted, &[]).unwrap();
        fs::write(&path, rewritten(POOL, &rewrites).unwrap()).unwrap();
        let output = Command::new(&program).args(["-n", "-tt", "-R", "-y"]).arg(&path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = said.lines().find_map(|it| it.split_once("env[DSN] = "));
        assert_eq!(line.map(|it| it.1), Some(value), "{said}");
    }
}
