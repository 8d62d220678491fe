//! How a program starts, ends and goes into the background, and which user, environment and files it gets.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use looptax_redirect::{Exit, Program, Programs, ProgramsConfig, RedirectError, Steering, Surroundings, User};
use looptax_testkit::patience;

use super::{Case, Dialers, begin_shell, config, own_exe};
use crate::refusals::{NOBODY, is_root};
use crate::server::Bound;

pub(super) const CASES: &[Case] = &[
    ("a_program_that_cannot_start_says_why", errors),
    ("a_program_that_ends_at_once_says_how", ends),
    ("a_program_in_the_background_is_seen_and_ended", background),
    ("a_program_that_goes_on_is_killed", stubborn),
    ("a_program_is_given_another_user_folder_and_variables", given),
    ("a_program_s_connection_is_as_its_user", as_user),
    ("starting_again_and_again_leaves_nothing", cycles),
    ("a_launcher_can_begin_only_before_there_are_threads", threads),
];

/// No correct operation takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

fn ended(programs: &Programs) -> Exit {
    patience::wait_for("the program's end", PATIENCE, || programs.has_ended())
}

fn begin(words: &[&str], surroundings: Surroundings) -> (Programs, File) {
    let mut config = config(&[], Steering::map(0).unwrap(), words);
    config.surroundings = surroundings;
    let output = tempfile::tempfile().unwrap();
    let copy = output.try_clone().unwrap().into();
    let programs = ProgramsConfig { config, output: Some(copy) };
    (Programs::begin(programs).unwrap(), output)
}

fn errors() {
    for (name, errno) in [("/no/such/program", 2), ("no-such-program", 2), ("/etc/passwd", 13)] {
        let (mut programs, _) = begin(&[name], Surroundings::default());
        for _ in 0..2 {
            match programs.start().unwrap_err() {
                RedirectError::Exec { program, source } => {
                    assert_eq!(program, name);
                    assert_eq!(source.raw_os_error(), Some(errno));
                }
                other => panic!("{other:?}"),
            }
            assert!(programs.pids_of_program().is_empty());
        }
    }
    let folder = Surroundings { folder: Some("/no/such/folder".into()), ..Surroundings::default() };
    let (mut programs, _) = begin(&["true"], folder);
    let error = programs.start().unwrap_err();
    assert_eq!(error.to_string(), "cannot enter the program's folder");
    let steering = Steering::map(0).unwrap();
    let server = Bound::at("127.0.0.1:0");
    let mut more = config(&[&server], steering, &["true"]);
    let output = None;
    let begun = Programs::begin(ProgramsConfig { config: more.clone(), output });
    assert!(matches!(begun.err(), Some(RedirectError::TooManyRoutes { n: 1, at_most: 0 })));
    more.steering = None;
    more.program = Program { args: vec![OsString::from("a\0b")] };
    let output = None;
    let mut programs = Programs::begin(ProgramsConfig { config: more, output }).unwrap();
    assert!(programs.start().is_err());
}

fn ends() {
    let mut programs = begin_shell("exit 7");
    assert_eq!(programs.has_ended(), None);
    for _ in 0..3 {
        let running = programs.start().unwrap();
        assert_ne!(running.program_pid, running.supervisor_pid);
        assert_eq!(ended(&programs), Exit::Code(7));
        assert!(!programs.is_background());
    }
    assert_eq!(programs.end(PATIENCE).unwrap(), 0);
    assert_eq!(programs.has_ended(), Some(Exit::Code(7)));
    let mut programs = begin_shell("kill -SEGV $$");
    programs.start().unwrap();
    assert_eq!(ended(&programs), Exit::Signal(libc::SIGSEGV));
}

/// The program forks twice, into a separate session; it ends when it is asked to, or ignores the request.
fn background() {
    for (prefix, n_killed) in [("", 0), ("trap \"\" TERM; ", 2)] {
        let script = format!("(setsid sh -c '{prefix}sleep 1000; :' > /dev/null 2>&1 &)");
        let mut programs = begin_shell(&script);
        programs.start().unwrap();
        assert_eq!(ended(&programs), Exit::Code(0));
        assert!(programs.is_background());
        patience::wait_for("the shell's child", PATIENCE, || (programs.pids_of_program().len() == 2).then_some(()));
        assert_eq!(programs.pids_of_helpers().len(), 4);
        let grace = if n_killed == 0 { PATIENCE } else { Duration::ZERO };
        assert_eq!(programs.end(grace).unwrap(), n_killed);
        assert!(!programs.is_background());
        assert_eq!(programs.pids_of_helpers().len(), 1);
    }
}

fn stubborn() {
    let mut programs = begin_shell("trap '' TERM; kill -STOP $$; while :; do :; done");
    let running = programs.start().unwrap();
    assert_eq!(programs.pids_of_program(), [running.program_pid]);
    assert!(programs.pids_of_helpers().contains(&running.supervisor_pid));
    // When the program stops, it already ignores the signal.
    let stat = format!("/proc/{}/stat", running.program_pid);
    let has_stopped = || std::fs::read_to_string(&stat).is_ok_and(|it| it.contains(") T "));
    patience::wait_for("the shell's stop", PATIENCE, || has_stopped().then_some(()));
    assert_eq!(programs.end(Duration::from_millis(1)).unwrap(), 1);
    assert_eq!(programs.has_ended(), Some(Exit::Signal(libc::SIGKILL)));
}

fn said(programs: &mut Programs, output: &mut File) -> String {
    programs.start().unwrap();
    assert_eq!(ended(programs), Exit::Code(0));
    let mut text = String::new();
    output.rewind().unwrap();
    output.read_to_string(&mut text).unwrap();
    text
}

fn given() {
    let folder = tempfile::tempdir().unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), mode).unwrap();
    let user = is_root().then(|| User { uid: NOBODY, gid: 12, groups: vec![34, 56] });
    let surroundings = Surroundings {
        as_user: user.clone(),
        env: vec![("SHOWN".into(), "a=b c".into()), ("HOME".into(), "".into())],
        folder: Some(folder.path().into()),
    };
    let script = "pwd; echo \"$SHOWN.$HOME.$(id -u),$(id -g),$(id -G)\"; cat; ls -l /proc/self/fd/0 >&2";
    let (mut programs, mut output) = begin(&["sh", "-c", script], surroundings);
    let text = said(&mut programs, &mut output);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], folder.path().to_str().unwrap());
    assert!(lines[1].starts_with("a=b c.."), "{text}");
    if user.is_some() {
        assert!(lines[1].ends_with(".65534,12,12 34 56"), "{text}");
    }
    assert!(lines[2].ends_with("/dev/null"), "{text}");
    // A folder that the program's user may not enter.
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(folder.path(), mode).unwrap();
    let surroundings =
        Surroundings { as_user: user.clone(), folder: Some(folder.path().into()), ..Surroundings::default() };
    if user.is_some() {
        let (mut programs, _) = begin(&["true"], surroundings);
        let error = programs.start().unwrap_err();
        assert_eq!(error.to_string(), "cannot enter the program's folder");
    }
}

fn as_user() {
    let user = User { uid: NOBODY, gid: NOBODY, groups: vec![7] };
    let surroundings = Surroundings { as_user: Some(user), ..Surroundings::default() };
    if !is_root() {
        let (mut programs, _) = begin(&["true"], surroundings);
        let error = programs.start().unwrap_err();
        assert_eq!(error.to_string(), "cannot run the program as another user");
        return;
    }
    let server = Bound::at("127.0.0.1:0");
    let steering = Steering::map(1).unwrap();
    steering.steer(1, 1);
    let address = server.tcp.to_string();
    let words = [&own_exe(), "client", "blocking", &address];
    let mut config = config(&[&server], steering, &words);
    config.surroundings = surroundings;
    let mut output = tempfile::tempfile().unwrap();
    let copy = Some(output.try_clone().unwrap().into());
    let mut programs = Programs::begin(ProgramsConfig { config, output: copy }).unwrap();
    let _server = server.serve();
    let text = said(&mut programs, &mut output);
    assert!(text.contains("way unix uid=65534 gid=65534 groups=[7]"), "{text}");
    assert_eq!(steering.counts(1).unwrap().routes[0].n_moved, 1);
}

fn n_descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

fn cycles() {
    let server = Bound::at("127.0.0.1:0");
    let steering = Steering::map(1).unwrap();
    let control = Dialers::listen(&server);
    let config = config(&[&server], steering, &["sh", "-c", &control.script(2, 2)]);
    let output = Some(tempfile::tempfile().unwrap().into());
    let mut programs = Programs::begin(ProgramsConfig { config, output }).unwrap();
    let server = server.serve();
    let launcher = programs.pids_of_helpers()[0];
    let own = std::process::id();
    // By now the launcher has closed the descriptors that it does not need.
    assert_eq!(programs.end(Duration::ZERO).unwrap(), 0);
    let before = [own, launcher].map(n_descriptors);
    for slice in 1..=20 {
        steering.steer(slice, slice & 1);
        programs.start().unwrap();
        let mut dialers = control.accept(4);
        for dialer in &mut dialers {
            dialer.ask(&format!("dial {} 2", server.tcp));
        }
        let counts = steering.counts(slice).unwrap().routes[0];
        assert_eq!((counts.n_moved, counts.n_left), if slice & 1 == 1 { (8, 0) } else { (0, 8) });
        assert_eq!(programs.stats().n_moved(), counts.n_moved);
        assert!(!programs.has_lost_supervisor());
        assert_eq!(programs.end(PATIENCE).unwrap(), 0);
        drop(dialers);
        assert!(programs.pids_of_program().is_empty());
        assert_eq!(programs.pids_of_helpers(), [launcher]);
    }
    // The server's threads end when they have noticed that their clients are gone.
    patience::wait_for("as many descriptors as before", PATIENCE, || {
        ([own, launcher].map(n_descriptors) == before).then_some(())
    });
    drop(programs);
    assert!(!std::fs::exists(format!("/proc/{launcher}")).unwrap());
}

fn threads() {
    let _server = Bound::at("127.0.0.1:0").serve();
    let config = config(&[], Steering::map(0).unwrap(), &["true"]);
    let begun = Programs::begin(ProgramsConfig { config, output: None });
    assert!(matches!(begun.err(), Some(RedirectError::Threads { .. })));
}
