//! Tests of scripts/mysql-root.sh on the invented machine: packages are empty files, and unpacking a package creates
//! programs that only print their version.

use std::fs;

use crate::check;
use crate::machine::Machine;

/// A fake apt-get that answers like apt, with its own lists; if the file `mirror` is missing, nothing can be
/// downloaded.
const APT_GET: &str = r#"
echo "apt-get $*" >>"$LOOPTAX_SETUP_ROOT/asked"
work=${APT_CONFIG%/*}
case " $* " in
  *' indextargets '*)
    [ ! -e "$LOOPTAX_SETUP_ROOT/no-sources" ] || exit 0
    echo "http://mirror.test/debian" ;;
  *' update '*)
    cat "$work/sources.list" >>"$LOOPTAX_SETUP_ROOT/asked"
    [ -e "$LOOPTAX_SETUP_ROOT/mirror" ] || { echo 'E: Could not connect'; exit 100; }
    grep -q '^Dir::State::Status "'"$work/" "$APT_CONFIG" || exit 99
    echo 'Date: Fri, 30 Oct 2026 08:08:01 UTC' >"$work/lists/sid_InRelease" ;;
  *' --print-uris '*)
    echo "'http://mirror/a.deb' a.deb 1 SHA256:0"
    echo 'Need to get 58.0 MB of archives.'
    echo 'After this operation, 373 MB of additional disk space will be used.' ;;
  *' --download-only '*) : >"$work/archives/a.deb" ;;
esac
"#;

/// A fake of `dpkg-deb -x PACKAGE FOLDER`.
const DPKG_DEB: &str = r#"
mkdir -p "$3/usr/lib/here" "$3/usr/bin" "$3/usr/sbin" "$3/usr/share/man"
: >"$3/usr/lib/here/ld-linux-here.so.2"
for program in sbin/mysqld bin/mysql bin/mysqlslap bin/valkey-check-rdb bin/valkey-cli bin/valkey-benchmark; do
  printf '#!/bin/sh\necho "Ver 9.7.4-2 v=9.1.2 of $0"\n' >"$3/usr/$program"
  chmod 755 "$3/usr/$program"
done
ln -s valkey-check-rdb "$3/usr/bin/valkey-server"
"#;

/// Makes a machine that can download Debian's packages.
fn machine() -> Machine {
    let machine = Machine::complete();
    machine.add_program("apt-get", APT_GET);
    machine.add_program("apt-config", "");
    machine.add_program("dpkg", "echo amd64");
    machine.add_program("dpkg-deb", DPKG_DEB);
    machine.add_program("patchelf", "echo \"patchelf $*\" >>\"$LOOPTAX_SETUP_ROOT/asked\"");
    // Programs of other users can reach the target folder, as on a machine on which it is not secret.
    machine.add_program("stat", "echo drwxr-xr-x");
    machine.add_file("usr/share/keyrings/debian-archive-keyring.gpg", "");
    machine.add_file("mirror", "");
    machine
}

#[track_caller]
fn assert_nothing_left(machine: &Machine) {
    assert!(!machine.has_file("servers"));
    assert!(!machine.has_file("servers.part"));
}

#[test]
fn puts_programs_with_their_own_libraries_into_one_folder() {
    let machine = machine();
    check(
        &machine.run("mysql-root.sh", &[]),
        0,
        &[
            "of Fri, 30 Oct 2026",
            "fetching 58.0 MB, unpacking 373 MB",
            "mysqld: Ver 9.7.4-2 ",
            "valkey-cli: Ver 9.7.4-2 v=9.1.2 ",
            "to undo: rm -r ",
        ],
    );
    for program in ["mysqld", "mysql", "valkey-server", "valkey-cli", "valkey-benchmark"] {
        assert!(machine.has_file(&format!("servers/bin/{program}")), "{program}");
    }
    assert!(!machine.has_file("servers/usr/bin/mysqlslap"), "what is not asked for goes");
    assert!(!machine.has_file("servers/work") && !machine.has_file("servers.part"));
    let servers = machine.path("servers");
    let libraries = servers.join("usr/lib/here");
    let asked = machine.asked();
    for expected in [
        format!("--set-interpreter {}/ld-linux-here.so.2", libraries.display()),
        format!("--force-rpath --set-rpath {} ", libraries.display()),
        "usr/bin/valkey-check-rdb".to_owned(),
        "keyring.gpg] http://mirror.test/debian sid main".to_owned(),
    ] {
        assert!(asked.contains(&expected), "{expected}: {asked}");
    }
    assert!(!asked.contains("unauthenticated"), "{asked}");
}

#[test]
fn does_nothing_when_all_is_there_and_mends_what_is_not() {
    let machine = machine();
    check(&machine.run("mysql-root.sh", &[]), 0, &["to undo"]);
    let asked = machine.asked();
    check(&machine.run("mysql-root.sh", &[]), 0, &["mysqld mysql valkey-server valkey-cli valkey-benchmark are in "]);
    assert_eq!(machine.asked(), asked);
    fs::remove_file(machine.path("servers/usr/sbin/mysqld")).expect("the program was there");
    check(&machine.run("mysql-root.sh", &[]), 0, &["to undo"]);
    assert!(machine.has_file("servers/bin/mysqld"));
}

#[test]
fn a_mirror_that_cannot_be_had_is_one_line_and_leaves_nothing() {
    let machine = machine();
    fs::remove_file(machine.path("mirror")).expect("the file was there");
    let words = ["error: no package lists of Debian sid from http://mirror.test/debian: ", ": Could not connect"];
    check(&machine.run("mysql-root.sh", &[]), 2, &words);
    assert_nothing_left(&machine);
}

#[test]
fn other_releases_and_programs_can_be_named() {
    let machine = machine();
    check(&machine.run("mysql-root.sh", &["sid+experimental", "valkey-cli", "valkey-tools"]), 0, &["valkey-cli: Ver "]);
    let asked = machine.asked();
    for suite in ["sid", "experimental"] {
        assert!(asked.contains(&format!("keyring.gpg] http://mirror.test/debian {suite} main")), "{asked}");
    }
    assert!(asked.contains("--download-only valkey-tools"), "{asked}");
    assert!(machine.has_file("servers/bin/valkey-cli") && !machine.has_file("servers/bin/mysqld"));
}

#[test]
fn r50_no_mirror_is_named_but_that_of_apts_own_sources() {
    let machine = machine();
    machine.add_file("no-sources", "");
    let words = ["error: apt's sources on this machine have no mirror of Debian", "`apt-get update`"];
    check(&machine.run("mysql-root.sh", &[]), 2, &words);
    assert_nothing_left(&machine);
    let script = include_str!("../../../scripts/mysql-root.sh");
    assert!(!script.contains("://"), "an address is written down");
}

#[test]
fn a_folder_of_somebody_else_stays() {
    let machine = machine();
    machine.add_file("servers/letter", "dear all");
    let words = ["looptax's set-up did not make it", "LOOPTAX_SERVERS"];
    check(&machine.run("mysql-root.sh", &[]), 2, &words);
    assert!(machine.has_file("servers/letter"));
}

#[test]
fn a_folder_that_only_root_gets_into_is_refused() {
    let machine = machine();
    machine.add_program("stat", "echo drwx------");
    check(&machine.run("mysql-root.sh", &[]), 2, &["only root gets into "]);
    assert_nothing_left(&machine);
}

#[test]
fn what_unpacking_needs_is_installed_or_named() {
    let machine = machine();
    machine.remove_program("patchelf");
    let words = ["missing programs: patchelf", "unpacking servers needs what is not here"];
    check(&machine.run("mysql-root.sh", &[]), 2, &words);
    assert!(machine.asked().contains("install --simulate --no-install-recommends patchelf"));
    machine.remove_program("apt-get");
    check(&machine.run("mysql-root.sh", &[]), 2, &["taken from Debian's packages"]);
    assert_nothing_left(&machine);
}
