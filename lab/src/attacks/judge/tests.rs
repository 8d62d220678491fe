//! Tests that the judge finds each kind of violation that is planted, and nothing if no violation is planted.

use std::fs;
use std::os::unix::process::CommandExt;

use super::super::made;
use super::marks::{Rights, parse};
use super::*;

const MARK: &str = "\
Mark: redis-server --version
Name:\tmarker
Uid:\tREAL\tEFFECTIVE\t50001\t50001
Gid:\t50001\t50001\t50001\t50001
Groups:\tGROUPS
CapInh:\t0000000000000000
CapPrm:\tPERMITTED
CapEff:\t0000000000000000
NoNewPrivs:\t0
Namespace: user:[NUMBER]
Descriptor: /dev/null
Variable: PATH=/bin
Done:
";

/// Makes a mark with one value that the attacker does not have.
fn mark(name: &str, value: &str) -> String {
    let usual = [
        ("REAL", "50001"),
        ("EFFECTIVE", "50001"),
        ("GROUPS", ""),
        ("PERMITTED", "0000000000000000"),
        ("NUMBER", "4026531837"),
    ];
    usual.iter().fold(MARK.to_owned(), |text, (it, usual)| text.replace(it, if *it == name { value } else { usual }))
}

fn exceeded(text: &str) -> Option<String> {
    let rights = Rights { uid: 50_001, namespace: "user:[4026531837]".to_owned() };
    let marks = parse(text);
    assert_eq!(marks.len(), 1);
    rights.exceeded(&marks[0])
}

#[test]
fn an_instruction_with_a_right_that_she_lacks_is_a_hit() {
    assert_eq!(exceeded(&mark("", "")), None);
    for (name, value) in [
        ("REAL", "0"),
        ("EFFECTIVE", "0"),
        ("EFFECTIVE", "33"),
        ("GROUPS", "50001 0"),
        ("PERMITTED", "0000000000000004"),
    ] {
        let words = exceeded(&mark(name, value));
        assert!(words.as_ref().is_some_and(|it| it.contains("redis-server")), "{name} {value}: {words:?}");
    }
    // The mark ends before its user id, so it may belong to any user.
    assert!(exceeded("Mark: x\nUid:\t").is_some());
}

#[test]
fn root_of_a_namespace_of_her_own_is_she() {
    let inside = mark("NUMBER", "4026532000").replace("50001", "0");
    assert_eq!(exceeded(&inside), None);
}

#[test]
fn several_marks_are_told_apart() {
    let text = format!("{}{}", mark("", ""), mark("REAL", "0"));
    assert_eq!(parse(&text).len(), 2);
}

#[test]
fn what_only_root_may_have_is_a_leak() {
    let leak = |text: &str| parse(text)[0].leak("S3cret", &[PathBuf::from("/s/victims")]);
    assert_eq!(leak(&mark("", "")), None);
    let variable = mark("", "").replace("PATH=/bin", "PASSWORD=S3cret");
    assert!(leak(&variable).is_some_and(|it| it.contains("PASSWORD")));
    let open = mark("", "").replace("/dev/null", "/s/victims/shadow");
    assert!(leak(&open).is_some_and(|it| it.contains("shadow")));
}

/// Returns the ground and its judge; returns `None` and prints a message if the test does not run as root.
fn judged() -> Option<(Ground, Judge)> {
    if !rustix::process::geteuid().is_root() {
        looptax_testkit::skips::skip("attacks take root");
        return None;
    }
    let mut coin = crate::coin::Coin::new(Some(1)).unwrap();
    let ground = Ground::make(std::path::Path::new("/bin/true"), &mut coin).unwrap();
    made::build(&ground).unwrap();
    let judge = Judge::new(&ground).unwrap();
    Some((ground, judge))
}

/// Causes one violation at a time; the judge must find this violation and no other.
#[test]
fn every_planted_hit_is_found_once_and_put_right() {
    let Some((ground, mut judge)) = judged() else {
        return;
    };
    assert_eq!(judge.look().unwrap(), []);

    // The attacker's program, run as the attacker and as root.
    let marker = ground.program("marker");
    let mut hers = std::process::Command::new(&marker);
    let done = hers.uid(ground.uid).gid(ground.uid).output().unwrap();
    assert!(done.status.success());
    assert_eq!(judge.look().unwrap(), []);
    assert_eq!(judge.n_as_herself, 1);
    let done = std::process::Command::new(&marker).output().unwrap();
    assert!(done.status.success());
    check_one(&mut judge, |it| matches!(it, Hit::Executed(_)));

    // Each way in which one of root's files can change.
    let victim = ground.victim("motd");
    let change: [&dyn Fn(); 6] = [
        &|| fs::write(&victim, "welcome!\n").unwrap(),
        &|| fs::write(&victim, "welcome\n").unwrap(),
        &|| set_mode(&victim, 0o666),
        &|| std::os::unix::fs::chown(&victim, Some(ground.uid), None).unwrap(),
        &|| fs::remove_file(&victim).unwrap(),
        &|| fs::write(ground.victim("cron.d/evil"), "").unwrap(),
    ];
    for change in change {
        change();
        check_one(&mut judge, |it| matches!(it, Hit::Changed(_)));
    }

    // The secret in a file that the attacker may read, then in a file that the attacker may not read.
    let copy = ground.hers().join("copy");
    fs::copy(ground.victim("shadow"), &copy).unwrap();
    set_mode(&copy, 0o600);
    assert_eq!(judge.look().unwrap(), []);
    set_mode(&copy, 0o644);
    fs::write(&copy, fs::read(ground.victim("shadow")).unwrap()).unwrap();
    check_one(&mut judge, |it| matches!(it, Hit::Disclosed(_)));
    let link = ground.hers().join("link");
    ground.link_of_hers(&link, &ground.victim("shadow")).unwrap();
    assert_eq!(judge.look().unwrap(), [], "a link is no copy");
}

#[track_caller]
fn check_one(judge: &mut Judge, is_it: impl Fn(&Hit) -> bool) {
    let hits = judge.look().unwrap();
    assert!(hits.len() == 1 && is_it(&hits[0]), "{hits:?}");
    assert_eq!(judge.look().unwrap(), [], "it is told once");
}

fn set_mode(path: &std::path::Path, mode: u32) {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}
