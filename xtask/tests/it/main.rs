//! Tests of the set-up scripts on an invented machine: a folder as its root, and a PATH on which apt-get and similar
//! programs are scripts that write down their arguments.
//!
//! These tests install nothing, need no root, and do not look at the real machine's packages.

#![allow(clippy::disallowed_methods, reason = "files of a made-up machine")]

mod machine;
mod mysql_root;

use machine::{Machine, Ran};

/// apt's output for a package that is new, with another new package.
const FINE_PLAN: &str = "Inst libfoo (1.0 Debian [amd64])\nInst PACKAGE (2.0 Debian [amd64]) []\n\
                         Conf libfoo (1.0 Debian [amd64])\n";

#[track_caller]
fn check(ran: &Ran, status: i32, words: &[&str]) {
    assert_eq!(ran.status, status, "{ran}");
    for expected in words {
        assert!(ran.stderr.contains(expected), "no `{expected}` in:\n{ran}");
    }
}

#[test]
fn prints_and_installs_nothing_when_all_is_there() {
    let machine = Machine::complete();
    check(&machine.setup("test"), 0, &[]);
    let installed = machine.asked();
    for purpose in ["compare", "test"] {
        let ran = machine.setup(purpose);
        check(&ran, 0, &[]);
        assert_eq!(ran.stderr, "");
    }
    assert_eq!(machine.asked(), installed);
}

#[test]
fn installs_the_spelling_checker_for_the_tests_and_goes_on_without_it() {
    let machine = Machine::complete();
    check(&machine.setup("compare"), 0, &[]);
    assert_eq!(machine.asked(), "");
    check(&machine.setup("test"), 0, &[]);
    let asked = machine.asked();
    assert!(asked.starts_with("pip install ") && asked.contains(" typos==") && asked.lines().count() == 1, "{asked}");
    let machine = Machine::complete();
    machine.remove_program("python3");
    check(&machine.setup("test"), 0, &["going on without typos", "python3-venv"]);
}

#[test]
fn finds_postgres_where_debian_hides_it() {
    let machine = Machine::complete();
    machine.remove_program("postgres");
    machine.add_file("usr/lib/postgresql/15/bin/postgres", "#!/bin/sh\n");
    check(&machine.setup("test"), 0, &[]);
}

#[test]
fn explains_a_missing_or_older_rust() {
    let machine = Machine::complete();
    machine.add_program("rustc", "echo 'rustc 1.63.0 (abc 2022-08-08)'");
    check(&machine.setup("compare"), 2, &["error: Rust 1.63.0 is too old", "rustup update", "cargo-web"]);
    machine.remove_program("rustc");
    check(&machine.setup("compare"), 2, &["no Rust 1.", "error: no Rust on PATH", "rustup.rs"]);
}

/// The package names of Rust on Debian: the usual one, and the one of a newer Rust in old releases.
#[test]
fn installs_the_distributions_rust_where_it_is_new_enough() {
    for (own, package) in [("9.1.0+dfsg1-2", "cargo"), ("1.85.1+dfsg1", "cargo-web")] {
        let machine = Machine::complete();
        machine.remove_program("cargo");
        machine.add_program(
            "apt-cache",
            &format!("[ \"$2\" = cargo ] && echo '  Candidate: {own}' || echo '  Candidate: 9.2.0+dfsg1'"),
        );
        machine.plan(package, FINE_PLAN);
        let ran = machine.setup("compare");
        // The fake apt-get creates a program with the name of the package.
        let status = if package == "cargo" { 0 } else { 2 };
        check(&ran, status, &[&format!("installing: libfoo {package}")]);
    }
}

#[test]
fn installs_only_what_is_missing_and_prints_how_to_undo_it() {
    let machine = Machine::complete();
    machine.remove_program("redis-server");
    machine.plan("redis-server", FINE_PLAN);
    check(&machine.setup("test"), 0, &["to undo: sudo apt-get purge libfoo redis-server"]);
    let asked = machine.asked();
    assert!(asked.contains("--no-install-recommends"), "{asked}");
    assert!(asked.contains("systemctl --quiet disable redis-server.service"), "{asked}");
    assert!(!asked.contains("sysbench"), "{asked}");
}

#[test]
fn long_measurements_need_more_than_the_tests_do() {
    let machine = Machine::complete();
    check(&machine.setup("test"), 0, &[]);
    assert!(!machine.asked().contains("apt-get"), "{}", machine.asked());
    for name in ["sockperf", "wrk", "mariadb-slap", "nginx", "php-fpm", "chromium", "node", "npm"] {
        machine.add_program(name, "");
    }
    machine.plan("iperf3", FINE_PLAN);
    check(&machine.setup("peers"), 0, &["missing programs: iperf3"]);
    assert!(machine.has_program("iperf3"));
}

#[test]
fn applications_are_installed_as_far_as_there_are_packages() {
    let machine = Machine::complete();
    machine.plan("lighttpd", FINE_PLAN);
    machine.add_file("usr/lib/php/20220829/redis.so", "");
    let ran = machine.setup("applications");
    let words = ["missing programs: php php-fpm php-mysql lighttpd", "going on without: php php-fpm"];
    check(&ran, 0, &words);
    assert!(machine.has_program("lighttpd"));
    let asked = machine.asked();
    assert!(!asked.contains("php-redis") && !asked.contains("mariadb"), "{asked}");
    assert!(asked.contains("disable lighttpd.service"), "{asked}");
    machine.assert_nothing_left();
}

/// apt's output for WordPress: a web server and php-fpm would be installed with it, and would start.
const WORDPRESS_PLAN: &str = "Inst apache2 (2.4 Debian [amd64])\nInst php8.2-fpm (8.2 Debian [amd64])\n\
                              Inst PACKAGE (6.1 Debian [all])\n";

#[test]
fn published_comparisons_need_wordpress_and_php_without_their_services() {
    let machine = Machine::complete();
    machine.add_file("usr/sbin/php-fpm8.2", "#!/bin/sh\n");
    let theme = "usr/share/wordpress/wp-content/themes/twentytwentyone/style.css";
    machine.add_file(theme, "");
    machine.plan("wordpress", WORDPRESS_PLAN);
    check(&machine.setup("reproduce"), 0, &["missing programs: wordpress\n", "purge apache2 php8.2-fpm wordpress"]);
    let asked = machine.asked();
    for expected in ["policy exit 101", "disable apache2.service", "disable php8.2-fpm.service"] {
        assert!(asked.contains(expected), "{expected}: {asked}");
    }
    assert!(!asked.contains("disable wordpress"), "{asked}");
    machine.assert_nothing_left();
    // Everything is installed now.
    check(&machine.setup("reproduce"), 0, &[]);
    assert_eq!(machine.asked(), asked);
}

#[test]
fn published_comparisons_go_on_without_what_cannot_be_installed() {
    let machine = Machine::complete();
    for package in ["php-fpm", "wordpress", "wordpress-theme-twentytwentyone"] {
        machine.plan(package, "Remv something [1]\n");
    }
    let words = "going on without: php-fpm wordpress wordpress-theme-twentytwentyone";
    check(&machine.setup("reproduce"), 0, &["refused: wordpress", words]);
    for purpose in ["compare", "test"] {
        assert_eq!(machine.setup(purpose).stderr, "", "{purpose}");
    }
}

#[test]
fn keeps_a_new_memcached_from_starting_at_boot() {
    let machine = Machine::complete();
    machine.remove_program("memcached");
    machine.plan("memcached", FINE_PLAN);
    check(&machine.setup("compare"), 0, &["apt-get purge libfoo memcached"]);
    let asked = machine.asked();
    let disabled = asked.contains("systemctl --quiet disable memcached.service");
    assert!(disabled && !asked.contains("redis-server"), "{asked}");
}

#[test]
fn holds_services_back_during_the_installation_only() {
    let machine = Machine::complete();
    machine.remove_program("postgres");
    machine.plan("postgresql", FINE_PLAN);
    check(&machine.setup("test"), 0, &[]);
    let asked = machine.asked();
    assert!(asked.contains("policy exit 101"), "{asked}");
    assert!(asked.contains("create_main_cluster = false"), "{asked}");
    machine.assert_nothing_left();
}

#[test]
fn leaves_nothing_behind_when_apt_fails() {
    let machine = Machine::complete();
    machine.remove_program("postgres");
    machine.plan("postgresql", FINE_PLAN);
    machine.let_installing_fail();
    check(&machine.setup("test"), 2, &["the tests need programs that are not here: postgres"]);
    machine.assert_nothing_left();
}

#[test]
fn keeps_the_service_policy_of_somebody_else() {
    let machine = Machine::complete();
    machine.remove_program("redis-server");
    machine.plan("redis-server", FINE_PLAN);
    machine.add_file("usr/sbin/policy-rc.d", "#!/bin/sh\nexit 104\n");
    check(&machine.setup("test"), 0, &["stays as it is"]);
    assert!(machine.asked().contains("policy exit 104"));
    assert!(machine.has_file("usr/sbin/policy-rc.d"));
}

#[test]
fn refuses_what_would_remove_or_upgrade() {
    for line in ["Remv mysql-server [8.0]\n", "Inst libc6 [2.36-1] (2.36-9 Debian [amd64])\n"] {
        let machine = Machine::complete();
        machine.remove_program("sysbench");
        machine.plan("sysbench", &format!("{line}{FINE_PLAN}"));
        check(&machine.setup("test"), 2, &["refused: sysbench", line.trim_end()]);
        check(&machine.setup("compare"), 0, &["going on without: sysbench"]);
        assert!(!machine.asked().contains("install -y"), "{}", machine.asked());
        machine.assert_nothing_left();
    }
}

#[test]
fn installs_the_rest_when_one_package_is_refused() {
    let machine = Machine::complete();
    machine.remove_program("redis-server");
    machine.remove_program("sysbench");
    machine.plan("redis-server", FINE_PLAN);
    machine.plan("sysbench", "Remv something [1]\n");
    check(&machine.setup("compare"), 0, &["refused: sysbench", "to undo", "without: sysbench"]);
    assert!(machine.has_program("redis-server"));
}

#[test]
fn prints_the_command_when_there_is_no_root() {
    let machine = Machine::complete();
    machine.remove_program("redis-server");
    machine.remove_program("cc");
    machine.add_program("id", "echo 1000");
    let command = "scripts/apt-install.sh redis-server gcc libc6-dev";
    check(&machine.setup("test"), 2, &["hint: installing needs root; run: sudo ", command]);
    assert_eq!(machine.asked(), "");
}

#[test]
fn takes_sudo_where_it_asks_for_no_password() {
    let machine = Machine::complete();
    machine.remove_program("redis-server");
    machine.plan("redis-server", FINE_PLAN);
    // The first call of `id` comes before sudo; all later calls are made as root.
    machine.add_program("id", "if [ -n \"${AS_ROOT:-}\" ]; then echo 0; else echo 1000; fi");
    machine.add_program("sudo", "[ \"$1\" = -n ] || exit 1\nshift\nAS_ROOT=1 \"$@\"");
    check(&machine.setup("test"), 0, &["to undo"]);
}

#[test]
fn names_the_packages_of_other_systems() {
    let machine = Machine::complete();
    machine.remove_program("apt-get");
    machine.remove_program("redis-server");
    machine.add_program("dnf", "");
    check(&machine.setup("test"), 2, &["there is no apt-get here", "dnf install"]);
    check(&machine.setup("compare"), 0, &["going on without: redis-server"]);
    machine.remove_program("cc");
    check(&machine.setup("compare"), 2, &["no C compiler"]);
}
