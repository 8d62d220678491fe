//! Tests how programs of processes are run: as which user, with which arguments, and what a program of root may not do.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use looptax_host::program::{Answer, Ask, ProgramError, Subject, Variables, Why, trusted_program};
use looptax_testkit::skips::skip;
use rustix::process::{Pid, Signal, kill_process_group};

/// The number of a user without an account, and of a group without a name.
pub(crate) const MALLORY: u32 = 61_234;

/// A process that is killed when this value is dropped.
pub(crate) struct Alive(pub(crate) Child);

impl Drop for Alive {
    fn drop(&mut self) {
        // The workers are killed too: those of a killed PHP-FPM would stay.
        let group = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        group.map(|it| kill_process_group(it, Signal::KILL));
        self.0.wait().ok();
    }
}

pub(crate) fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skip("needs root");
    }
    is_root
}

/// Starts a program that waits for its input, as a server would.
pub(crate) fn waiting(program: &Path, prepare: impl FnOnce(&mut Command)) -> Alive {
    let mut command = Command::new(program);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    command.process_group(0);
    prepare(&mut command);
    let alive = Alive(command.spawn().unwrap());
    // Until the child executes the program, it still is this test's program.
    let link = format!("/proc/{}/exe", alive.0.id());
    let real = fs::canonicalize(program).unwrap();
    while fs::read_link(&link).is_ok_and(|it| it != real) {}
    alive
}

pub(crate) fn asked(alive: &Alive, words: &[&str]) -> Result<Answer, ProgramError> {
    let ask = Ask {
        name: None,
        words: words.iter().map(OsString::from).collect(),
        variables: Variables::None,
        within: Duration::from_secs(20),
        stop: None,
    };
    Subject::hold(alive.0.id())?.ask(&ask)
}

/// Has a shell run a script; returns the result.
#[track_caller]
fn said(alive: &Alive, script: &str) -> Answer {
    asked(alive, &["-c", script]).unwrap()
}

const STATUS: &str = "while read name rest; do echo $name $rest; done < /proc/self/status; set";

#[test]
fn a_program_is_asked_as_its_owner_without_rights_and_without_our_environment() {
    if !is_root() {
        return;
    }
    let shell = waiting(Path::new("/bin/sh"), |it| {
        it.uid(MALLORY).gid(MALLORY).env("LD_PRELOAD", "/nowhere.so");
    });
    let answer = said(&shell, STATUS);
    let has = |line: &str| answer.output.lines().any(|it| it == line);
    let mallory = format!("{MALLORY} {MALLORY} {MALLORY} {MALLORY}");
    assert!(has(&format!("Uid: {mallory}")), "{answer:?}");
    assert!(has(&format!("Gid: {mallory}")), "{answer:?}");
    assert!(has("Groups:"), "{answer:?}");
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert!(has(&format!("{set}: 0000000000000000")), "{set}: {answer:?}");
    }
    assert!(has("NoNewPrivs: 1"));
    assert!(has("LC_ALL='C'"), "{answer:?}");
    for variable in ["LD_PRELOAD", "CARGO", "HOME"] {
        let found = answer.output.lines().find(|it| it.starts_with(&format!("{variable}=")));
        assert_eq!(found, None);
    }
}

#[test]
fn a_program_gets_no_descriptor_no_terminal_and_no_input() {
    let file = tempfile::tempfile().unwrap();
    // A descriptor that is not closed when a program is executed.
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    let shell = waiting(Path::new("/bin/sh"), |_| {});
    let script = "for fd in 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -e /proc/self/fd/$fd ] && echo open $fd; done; read line && echo input; exec < /dev/tty && echo terminal; exit 3";
    let answer = said(&shell, script);
    let kept: Vec<&str> = { answer.output.lines() }.filter(|it| *it != "open 10").collect();
    assert_eq!(kept, [""; 0], "{answer:?}");
    assert_ne!(answer.code, Some(0));
}

#[test]
fn a_program_without_end_is_ended_with_all_that_it_started() {
    if !is_root() {
        return;
    }
    let shell = waiting(Path::new("/bin/sh"), |it| {
        it.uid(MALLORY).gid(MALLORY);
    });
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let mark = folder.path().join("child");
    let script = format!("sleep 1000 & echo $! > {}; wait", mark.display());
    let ask = Ask {
        name: None,
        words: ["-c", &script].map(OsString::from).to_vec(),
        variables: Variables::None,
        within: Duration::from_millis(700),
        stop: None,
    };
    let found = Subject::hold(shell.0.id()).unwrap().ask(&ask);
    assert!(matches!(found, Err(ProgramError::TooLong { .. })), "{found:?}");
    let child = fs::read_to_string(&mark).unwrap();
    // The process has ended, or was not reaped yet by the process that reaps orphans here. A signal takes a moment.
    let state = || fs::read_to_string(format!("/proc/{}/stat", child.trim()));
    let has_ended = || state().map_or(true, |it| it.contains(") Z "));
    assert!((0..1_000_000).any(|_| has_ended()));
}

#[test]
fn a_program_that_prints_without_end_is_ended() {
    let shell = waiting(Path::new("/bin/sh"), |_| {});
    let found = asked(&shell, &["-c", "x=$(printf %65536s); while :; do echo \"$x$x$x$x\"; done"]);
    assert!(matches!(found, Err(ProgramError::TooMuch { .. })), "{found:?}");
}

#[test]
fn root_s_program_reads_what_only_root_can_change() {
    if !is_root() {
        return;
    }
    let shell = waiting(Path::new("/bin/sh"), |_| {});
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::copy("/etc/hostname", &file).unwrap();
    let script = format!("read line < {}; echo $line", file.display());
    let expected = fs::read_to_string("/etc/hostname").unwrap();
    assert_eq!(said(&shell, &script).output, expected);
    assert_eq!(said(&shell, "read line < /nowhere").code, Some(2));
    let answer = said(&shell, "read pid rest < /proc/self/stat; [ $pid = $$ ] && echo own");
    assert_eq!(answer.output, "own\n");
}

#[test]
fn root_s_program_reads_nothing_that_another_can_change() {
    if !is_root() {
        return;
    }
    let shell = waiting(Path::new("/bin/sh"), |_| {});
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let check = |name: &str, why: Why| {
        let script = format!("read line < {}; echo $line", path(name).display());
        match asked(&shell, &["-c", &script]) {
            Err(ProgramError::Foreign { why: found, .. }) => assert_eq!(found.why, why, "{name}"),
            other => panic!("{name}: {other:?}"),
        }
    };
    for name in ["hers", "group", "all", "list"] {
        fs::copy("/etc/hostname", path(name)).unwrap();
    }
    chown(path("hers"), Some(MALLORY), None).unwrap();
    check("hers", Why::Owner(MALLORY));
    chown(path("group"), None, Some(MALLORY)).unwrap();
    fs::set_permissions(path("group"), fs::Permissions::from_mode(0o664)).unwrap();
    check("group", Why::Group(MALLORY));
    fs::set_permissions(path("all"), fs::Permissions::from_mode(0o666)).unwrap();
    check("all", Why::Everybody);
    if give_by_list(&path("list"), MALLORY) {
        check("list", Why::Group(0));
    }
    // A folder and a link of the other user, and files of root that are reached through them.
    fs::create_dir(path("folder")).unwrap();
    fs::copy("/etc/hostname", path("folder/file")).unwrap();
    symlink("/etc/hostname", path("folder/link")).unwrap();
    symlink("folder/file", path("link")).unwrap();
    chown(path("folder"), Some(MALLORY), None).unwrap();
    check("folder/file", Why::Owner(MALLORY));
    check("folder/link", Why::Owner(MALLORY));
    check("link", Why::Owner(MALLORY));
    std::os::unix::fs::lchown(path("link"), Some(MALLORY), None).unwrap();
    check("link", Why::Owner(MALLORY));
    // Links in the folder of a process in `/proc` may lead anywhere.
    let script = format!("read line < /proc/{}/cwd/hers", shell.0.id());
    let found = asked(&shell, &["-c", &script]);
    assert!(matches!(found, Err(ProgramError::Foreign { .. })), "{found:?}");
}

/// Writes an access list that lets a user write; `false` if the file system does not support access lists.
///
/// # Source
/// `linux/posix_acl_xattr.h`: version 2, then the tag, rights and number of each entry.
fn give_by_list(path: &Path, uid: u32) -> bool {
    let mut list = 2_u32.to_le_bytes().to_vec();
    let entries = [(1_u16, 6_u16, u32::MAX), (2, 6, uid), (4, 4, u32::MAX), (16, 6, u32::MAX), (32, 4, u32::MAX)];
    for (tag, rights, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    let name = "system.posix_acl_access";
    rustix::fs::setxattr(path, name, &list, rustix::fs::XattrFlags::empty()).is_ok()
}

#[test]
fn root_s_program_changes_nothing() {
    if !is_root() {
        return;
    }
    let shell = waiting(Path::new("/bin/sh"), |_| {});
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::copy("/etc/hostname", path("file")).unwrap();
    let (file, new) = (path("file"), path("new"));
    // For the script, all these actions succeed.
    let script = format!(
        "echo changed > {file} && echo new > {new} && echo more >> {file} && kill -9 {} && umask 0 && echo fine",
        shell.0.id()
    );
    let answer = said(&shell, &script);
    assert_eq!(answer.output, "fine\n", "{answer:?}");
    let names: Vec<_> = { fs::read_dir(folder.path()).unwrap() }.map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["file"]);
    assert_eq!(fs::read(&file).unwrap(), fs::read("/etc/hostname").unwrap());
    // The shell that the script tried to kill still answers.
    assert_eq!(said(&shell, "echo here").output, "here\n");
    // Writing fails if the folder of the file does not exist.
    assert_ne!(said(&shell, &format!("echo x > {new}/file")).code, Some(0));
}

#[test]
fn root_s_program_executes_no_other() {
    if !is_root() {
        return;
    }
    let shell = waiting(Path::new("/bin/sh"), |_| {});
    let answer = said(&shell, "/bin/echo executed; exec /bin/echo executed");
    assert_eq!(answer.output, "");
    assert_ne!(answer.code, Some(0));
    let status = said(&shell, STATUS).output;
    let has = |line: &str| status.lines().any(|it| it == line);
    assert!(has("CapEff: 0000000000000000") && has("CapBnd: 0000000000000000"), "{status}");
    assert!(has("Uid: 0 0 0 0") && has("Seccomp: 2"), "{status}");
}

#[test]
fn a_program_of_root_s_that_another_can_change_is_not_asked() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("sh");
    looptax_testkit::programs::copy("/bin/sh", &program);
    let shell = waiting(&program, |_| {});
    chown(folder.path(), Some(MALLORY), None).unwrap();
    let found = asked(&shell, &["-c", ":"]);
    assert!(matches!(found, Err(ProgramError::Untrusted { why: Some(_), .. })), "{found:?}");
    // A process of the other user may run the program, with her rights.
    let hers = waiting(&program, |it| {
        it.uid(MALLORY).gid(MALLORY);
    });
    let uid = "while read name id rest; do [ $name = Uid: ] && echo $id; done < /proc/self/status";
    assert_eq!(said(&hers, uid).output, format!("{MALLORY}\n"));
}

#[test]
fn a_process_with_the_rights_of_several_users_is_not_asked() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // A copy of `cat` that belongs to a third user, who is neither root nor the caller.
    let program = folder.path().join("cat");
    looptax_testkit::programs::copy("/bin/cat", &program);
    chown(&program, Some(MALLORY + 1), None).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let cat = waiting(&program, |it| {
        it.uid(MALLORY).gid(MALLORY);
    });
    let found = asked(&cat, &["/etc/hostname"]);
    assert!(matches!(found, Err(ProgramError::SeveralUsers { .. })), "{found:?}");
}

#[test]
fn a_program_that_was_replaced_is_not_asked_unless_root_replaced_it() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir_in("/var").unwrap();
    let program = folder.path().join("sh");
    looptax_testkit::programs::copy("/bin/sh", &program);
    let shell = waiting(&program, |_| {});
    fs::remove_file(&program).unwrap();
    let found = asked(&shell, &["-c", ":"]);
    assert!(matches!(found, Err(ProgramError::Replaced { why: None, .. })), "{found:?}");
    looptax_testkit::programs::copy("/bin/sh", &program);
    assert_eq!(said(&shell, "echo new").output, "new\n");
    chown(folder.path(), Some(MALLORY), None).unwrap();
    let found = asked(&shell, &["-c", ":"]);
    assert!(matches!(found, Err(ProgramError::Replaced { why: Some(_), .. })), "{found:?}");
}

#[test]
fn a_program_is_root_s_only_if_every_folder_on_the_way_is() {
    if !is_root() {
        return;
    }
    assert_eq!(trusted_program(Path::new("/bin/sh")), Ok(()));
    let folder = tempfile::tempdir_in("/var").unwrap();
    let path = |name: &str| folder.path().join(name);
    // Root owns the program's own folder. All users may write in the folder above it, but may not delete each other's
    // files.
    let shared = path("shared");
    fs::create_dir_all(shared.join("own")).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    let program = shared.join("own/sh");
    looptax_testkit::programs::copy("/bin/sh", &program);
    let found = trusted_program(&program).unwrap_err();
    assert_eq!((&*found.path, found.why), (&*shared, Why::Everybody));
    looptax_testkit::programs::copy("/bin/sh", path("sh"));
    assert_eq!(trusted_program(&path("sh")), Ok(()));
    symlink("sh", path("link")).unwrap();
    assert_eq!(trusted_program(&path("link")), Ok(()));
    std::os::unix::fs::lchown(path("link"), Some(MALLORY), None).unwrap();
    assert_eq!(trusted_program(&path("link")).unwrap_err().why, Why::Owner(MALLORY));
    chown(path("sh"), Some(MALLORY), None).unwrap();
    assert_eq!(trusted_program(&path("sh")).unwrap_err().why, Why::Owner(MALLORY));
}
