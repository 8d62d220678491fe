//! What is left when a process that splices is killed: nothing but an empty folder, which the next one
//! removes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use libtest_mimic::Trial;
use looptax_path::{OwnCgroup, Sockmap};
use looptax_testkit::patience::wait_for;

use crate::moved::{Deed, Moved, say, wait_for_the_test};
use crate::traffic::{connect, ping_pong, spliced_server};
use crate::trial;

const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const DEEDS: &[Deed] = &[
    ("hold", hold),
    ("look", look),
    ("with-child", with_child),
    ("leave-early", leave_early),
];

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "killed_it_leaves_no_program_and_a_folder_for_the_next",
            killed,
        ),
        trial(
            "a_folder_with_a_living_server_stays_until_that_has_ended",
            killed_before_its_server,
        ),
        trial(
            "ended_it_leaves_nothing_even_with_a_server_running",
            ended_before_its_server,
        ),
    ]
}

/// Splices a connection, says its folder, and waits.
fn hold(_: &[String]) {
    let cgroup = OwnCgroup::create().unwrap();
    let sockmap = Sockmap::start(&cgroup).unwrap();
    let server = spliced_server();
    sockmap.splice(server).unwrap();
    let mut stream = connect(server);
    ping_pong(&mut stream, 100, &[64]);
    say(cgroup.folder().to_str().unwrap());
    wait_for_the_test();
}

/// Makes a cgroup, which removes what was left.
fn look(_: &[String]) {
    let cgroup = OwnCgroup::create().unwrap();
    say(cgroup.folder().to_str().unwrap());
}

/// A process that waits for its input to end, as a server that outlives us would.
fn waiting_child() -> Child {
    Command::new("cat").stdin(Stdio::piped()).spawn().unwrap()
}

fn with_child(_: &[String]) {
    let cgroup = OwnCgroup::create().unwrap();
    let mut child = waiting_child();
    say(cgroup.folder().to_str().unwrap());
    say(&child.id().to_string());
    wait_for_the_test();
    drop((child.stdin.take(), child.wait()));
}

fn leave_early(_: &[String]) {
    let cgroup = OwnCgroup::create().unwrap();
    let folder = cgroup.folder().to_owned();
    let mut child = waiting_child();
    drop(cgroup);
    assert!(!folder.exists());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

/// Another start, which removes what it may; this one's own folder is gone at its end.
fn next_start() {
    let mut next = Moved::start(&[], &["look"]);
    let folder = PathBuf::from(next.line());
    next.finish();
    assert!(!folder.exists());
}

fn is_removed_by_the_next(folder: &Path) {
    // The kernel may count a killed process a moment longer.
    wait_for("the folder's end", PATIENCE, || {
        next_start();
        (!folder.exists()).then_some(())
    });
}

fn killed() {
    let mut held = Moved::start(&[], &["hold"]);
    let folder = PathBuf::from(held.line());
    let objects = crate::bpf::objects_of(held.child.id());
    let n_programs = objects.iter().filter(|it| it.is_program()).count();
    // The other program has no descriptor; no map is gone before it is, since it names them all.
    assert_eq!((n_programs, objects.len()), (1, 5), "{objects:?}");
    assert!(objects.iter().all(crate::bpf::Object::exists));
    held.child.kill().unwrap();
    held.child.wait().unwrap();
    assert!(folder.exists());
    wait_for("the end of programs and maps", PATIENCE, || {
        (!objects.iter().any(crate::bpf::Object::exists)).then_some(())
    });
    is_removed_by_the_next(&folder);
}

fn killed_before_its_server() {
    let mut held = Moved::start(&[], &["with-child"]);
    let folder = PathBuf::from(held.line());
    let server = rustix::process::Pid::from_raw(held.line().parse().unwrap()).unwrap();
    // Stopped, it does not see that its input ends with its parent.
    rustix::process::kill_process(server, rustix::process::Signal::STOP).unwrap();
    held.child.kill().unwrap();
    held.child.wait().unwrap();
    next_start();
    assert!(folder.exists());
    rustix::process::kill_process(server, rustix::process::Signal::KILL).unwrap();
    is_removed_by_the_next(&folder);
}

fn ended_before_its_server() {
    Moved::start(&[], &["leave-early"]).finish();
}
