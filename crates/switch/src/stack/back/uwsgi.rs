//! Controls uWSGI: the ini file with which it was started, and the settings that give users access to its socket.
//!
//! On SIGHUP uWSGI's master process changes to the folder in which it was started, executes itself again and listens on
//! the address in the file (seen with 2.0.21). Without a master there is no process to signal. No command tests the
//! file.

use std::path::{Component, Path, PathBuf};

use looptax_advise::app::{Rewrite, Section};
use looptax_host::discover::Process;
use looptax_host::{kernel, read};
use looptax_model::record::Edit;
use rustix::process::Signal;

use super::super::program::{reload, restart_of_unit};
use super::super::rights::{Access, User, number_of};
use super::known::{BackProgram, Closed, NO_SECTION, Own, Wanted};
use crate::diagnose::check::sources::environment;

const SECTION: &str = "uwsgi";
/// The settings that contain uWSGI's address.
const ANCHORS: [&str; 3] = ["socket", "uwsgi-socket", "http-socket"];
/// The mode that `chmod-socket` without a number sets.
const OPEN_MODE: u32 = 0o666;
/// The mode that gives access to the owner and the group.
const SHARED_MODE: u32 = 0o660;

#[derive(Debug)]
pub(super) struct Uwsgi;

impl BackProgram for Uwsgi {
    fn name(&self) -> &'static str {
        "uwsgi"
    }

    fn title(&self) -> &'static str {
        "uWSGI"
    }

    fn applications(&self) -> &'static [&'static str] {
        &["uwsgi", "uwsgi_http"]
    }

    fn extension(&self) -> &'static str {
        "ini"
    }

    fn is_it(&self, process: &Process) -> bool {
        process.program_name().starts_with("uwsgi")
    }

    fn objection(&self, own: &Own<'_>) -> Option<Closed> {
        let start = Start::of(own.master);
        let (title, file) = (format!("uWSGI {}", own.master.pid), own.file.display());
        let what = match start.reads(own.file) {
            Reads::It => return None,
            Reads::Another(named) => {
                format!("{title} was started with {}, not with {file}", named.display())
            }
            Reads::Unclear(named) => {
                return Some(Closed {
                    what: format!(
                        "{title} was started with the relative path {}, and looptax does not know in which folder \
                         it was started: in {title}'s current folder, this path is another file",
                        named.display()
                    ),
                    next: format!("restart uWSGI with the absolute path: --ini {file}"),
                });
            }
            Reads::Unknown => format!("{title} was not started with {file}"),
        };
        Some(Closed {
            what,
            next: "pass the file that uWSGI was started with; move an emperor's vassal by hand".to_owned(),
        })
    }

    fn reload(&self, master: &Process) -> Result<String, String> {
        if let Some(command) = restart_of_unit(master) {
            return Ok(command);
        }
        let status = kernel::text(master.file("status")).unwrap_or_default();
        if is_master(&status) {
            return Ok(reload(master, "HUP"));
        }
        Err(format!(
            "uWSGI {} runs without `master = true`, so there is no master process that can reload the file",
            master.pid
        ))
    }

    fn rights(&self) -> &'static str {
        "chmod-socket and chown-socket in uWSGI's file, and its umask"
    }

    fn access(&self, own: &Own<'_>) -> Result<Access, String> {
        let section = Section::find(own.text, SECTION).ok_or(NO_SECTION)?;
        let mode = match section.value("chmod-socket") {
            None => 0o777 & !umask(own.master),
            Some(text) if text == "true" => OPEN_MODE,
            Some(text) => u32::from_str_radix(&text, 8).map_err(|_| format!("chmod-socket = {text} is not a mode"))?,
        };
        let mut access = Access { uid: own.master.uid, gid: own.master.gid, mode };
        if let Some(names) = section.value("chown-socket") {
            let (user, group) = names.split_once(':').unwrap_or((&*names, ""));
            let unknown = || format!("chown-socket = {names} is not a user or group of this machine");
            access.uid = number_of("/etc/passwd", user).ok_or_else(unknown)?;
            if !group.is_empty() {
                access.gid = number_of("/etc/group", group).ok_or_else(unknown)?;
            }
        }
        Ok(access)
    }

    fn opening(&self, now: Access, user: &User, own: &Own<'_>) -> Result<Vec<Wanted>, Closed> {
        if now.lets_in(user) {
            return Ok(Vec::new());
        }
        let shared = Access { mode: SHARED_MODE, ..now };
        let mode = || ("chmod-socket", format!("{SHARED_MODE:o}"));
        if shared.lets_in(user) {
            return Ok(vec![mode()]);
        }
        // Only a process of root can make another user the owner of a socket.
        if own.master.uid == 0 {
            return Ok(vec![("chown-socket", user.name.clone()), mode()]);
        }
        Err(Closed {
            what: format!(
                "uWSGI does not run as root, so the socket belongs to uWSGI's user with mode {:04o}, and {} cannot \
                 use the socket",
                now.mode, user.name
            ),
            next: format!(
                "run uWSGI with a group that {} is in, and write chmod-socket = 660; or write chmod-socket = 666, so \
                 that every user that can reach the folder may use the socket",
                user.name
            ),
        })
    }

    fn written(&self, own: &Own<'_>, wanted: &[Wanted]) -> Option<(Vec<Rewrite>, Vec<Edit>)> {
        let section = Section::find(own.text, SECTION)?;
        let mut anchors = ANCHORS.iter();
        let anchor = anchors.find(|it| section.value(it).is_some())?;
        section.written(anchor, wanted)
    }
}

/// Whether a process that was not started by another uWSGI is a master. A master is recognised by the signals that
/// `/proc/PID/status` lists as caught.
///
/// Without a master, the first worker starts the other workers, and so it has children like a master. A master catches
/// SIGTSTP, with which it pauses its workers; the first worker does not (2.0.21), whatever its files and its command
/// line contain.
fn is_master(status: &str) -> bool {
    let text = status.lines().find_map(|it| it.strip_prefix("SigCgt:"));
    let caught = text.and_then(|it| u64::from_str_radix(it.trim(), 16).ok());
    let bit = 1_u64 << (Signal::TSTP.as_raw() - 1);
    caught.is_some_and(|it| it & bit != 0)
}

struct Start {
    words: Vec<String>,
    /// The folders at which a relative path may start: the present working folder, which the ini file may have changed
    /// (`chdir`), and the folder in the shell's variable `PWD`.
    folders: Vec<PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
enum Reads {
    It,
    /// uWSGI reads this other file, which is in its command line.
    Another(PathBuf),
    /// uWSGI may read the file: its path ends with the relative path in uWSGI's command line. But from the folders that
    /// looptax knows, the relative path leads to another file.
    Unclear(PathBuf),
    /// Its command line contains no ini file.
    Unknown,
}

impl Start {
    fn of(master: &Process) -> Self {
        let now = kernel::link(master.file("cwd")).ok();
        let variables = environment(master.pid).unwrap_or_default();
        let shells = variables.get("PWD").map(PathBuf::from);
        Self { words: master.arguments(), folders: now.into_iter().chain(shells).collect() }
    }

    /// Determines whether uWSGI reads this file, according to its command line.
    fn reads(&self, file: &Path) -> Reads {
        let real = |path: &Path| read::real_path(path).ok();
        let wanted = real(file);
        let mut another = None;
        for word in &self.words {
            let named = Path::new(word.strip_prefix("--ini=").unwrap_or(word));
            let from: Vec<PathBuf> = if named.is_absolute() {
                vec![named.to_owned()]
            } else {
                self.folders.iter().map(|it| it.join(named)).collect()
            };
            let found: Vec<PathBuf> = from.iter().filter_map(|it| real(it)).collect();
            let is_it = found.iter().any(|it| Some(it) == wanted.as_ref());
            // looptax does not know for certain in which folder uWSGI was started, so it also compares the end of the
            // path.
            let may_be_it = named.is_relative() && wanted.as_ref().is_some_and(|it| ends_as(it, named));
            if is_it || may_be_it && found.is_empty() {
                return Reads::It;
            }
            if may_be_it {
                return Reads::Unclear(named.to_owned());
            }
            if named.extension().is_some_and(|it| it == "ini") {
                another = Some(named.to_owned());
            }
        }
        another.map_or(Reads::Unknown, Reads::Another)
    }
}

/// Whether a path ends with the same names as a relative path.
fn ends_as(path: &Path, relative: &Path) -> bool {
    let is_name = |it: &Component<'_>| matches!(it, Component::Normal(_));
    // Only the names after the last `..` count.
    let names: Vec<Component<'_>> = relative.components().collect();
    let from = names.iter().rposition(|it| !is_name(it));
    let end: PathBuf = names[from.map_or(0, |it| it + 1)..].iter().collect();
    !end.as_os_str().is_empty() && path.ends_with(end)
}

/// Returns the bits that a process removes from the mode of new files.
fn umask(process: &Process) -> u32 {
    let status = kernel::text(process.file("status")).unwrap_or_default();
    let text = status.lines().find_map(|it| it.strip_prefix("Umask:"));
    let umask = text.and_then(|it| u32::from_str_radix(it.trim(), 8).ok());
    umask.unwrap_or(0o022)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "files of the test's own")]
mod tests {
    use std::fs;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    use looptax_testkit::patience;
    use looptax_testkit::scratch::Scratch;
    use looptax_testkit::skips::skip;
    use rustix::process::{Pid, kill_process_group};

    use super::super::super::program::workers;
    use super::*;

    const PROGRAM: &str = "/usr/bin/uwsgi";
    const PATIENCE: Duration = Duration::from_secs(300);

    /// A running uWSGI with its workers; dropping this value ends it.
    struct Running(Child);

    impl Running {
        /// Starts uWSGI with a relative path; its file changes to another folder.
        fn start(scratch: &Scratch, settings: &str) -> Self {
            let here = scratch.work();
            for folder in ["uw", "site"] {
                fs::create_dir_all(here.join(folder)).unwrap();
            }
            let text =
                format!("[uwsgi]\nsocket = {0}/own.sock\nchdir = {0}/site\nprocesses = 2\n{settings}", here.display());
            fs::write(here.join("uw/app.ini"), text).unwrap();
            let mut command = Command::new(PROGRAM);
            let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
            let command = quiet.args(["--ini", "uw/app.ini"]).current_dir(&here);
            Self(command.process_group(0).spawn().unwrap())
        }

        /// Waits until the process has this many children, and returns it.
        fn with_children(&self, n: usize) -> Process {
            patience::wait_for("uWSGI's workers", PATIENCE, || {
                let master = looptax_host::discover::process(self.0.id())?;
                (workers(&master).len() == n).then_some(master)
            })
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            kill_process_group(Pid::from_child(&self.0), Signal::KILL).ok();
            self.0.wait().ok();
        }
    }

    #[test]
    fn a_master_that_has_changed_its_folder_is_told_by_signal_and_its_file_is_known() {
        if !Path::new(PROGRAM).is_file() {
            return skip("uWSGI is not installed");
        }
        let scratch = Scratch::new();
        let running = Running::start(&scratch, "master = true\n");
        let master = running.with_children(2);
        let told = patience::wait_for("the master's signals", PATIENCE, || Uwsgi.reload(&master).ok());
        assert_eq!(told, format!("kill -HUP {}", master.pid));
        let objection = |name: &str| {
            let file = scratch.work().join(name);
            Uwsgi.objection(&Own { text: "", label: "", file: &file, master: &master })
        };
        assert!(objection("uw/app.ini").is_none());
        fs::write(scratch.work().join("uw/b.ini"), "").unwrap();
        let what = objection("uw/b.ini").unwrap().what;
        assert!(what.contains("was started with uw/app.ini, not"), "{what}");
    }

    #[test]
    fn a_first_worker_that_has_made_another_is_no_master() {
        if !Path::new(PROGRAM).is_file() {
            return skip("uWSGI is not installed");
        }
        let scratch = Scratch::new();
        let running = Running::start(&scratch, "");
        let first = running.with_children(1);
        // The file has changed since uWSGI started, so it does not show how uWSGI runs.
        let file = scratch.work().join("uw/app.ini");
        let text = fs::read_to_string(&file).unwrap() + "master = true\n";
        fs::write(&file, text).unwrap();
        let why = Uwsgi.reload(&first).unwrap_err();
        assert!(why.contains("runs without `master = true`"), "{why}");
    }

    #[test]
    fn a_master_is_told_from_a_first_worker_by_the_signals_that_it_catches() {
        let check = |caught: &str, expected: bool| {
            let status = format!("Name:\tuwsgi\nSigIgn:\t0000000001001000\nSigCgt:\t{caught}\n");
            assert_eq!(is_master(&status), expected, "{caught}");
        };
        // From uWSGI 2.0.21: a master; a first worker that has started another worker; such a first worker with
        // threads.
        check("0000000000084687", true);
        check("0000000000005e83", false);
        check("0000000100005e83", false);
        assert!(!is_master("Name:\tuwsgi\n"));
    }

    #[test]
    fn the_file_of_a_relative_path_is_known_after_uwsgi_has_changed_its_folder() {
        let scratch = Scratch::new();
        let here = scratch.work();
        for name in ["uw/app.ini", "other/app.ini", "site/own.ini"] {
            fs::create_dir_all(here.join(name).parent().unwrap()).unwrap();
            fs::write(here.join(name), "[uwsgi]\n").unwrap();
        }
        let check = |words: &[&str], folders: &[&str], expected: Reads| {
            let start = Start {
                words: words.iter().map(|it| (*it).to_owned()).collect(),
                folders: folders.iter().map(|it| here.join(it)).collect(),
            };
            let found = start.reads(&here.join("uw/app.ini"));
            assert_eq!(found, expected, "{words:?} {folders:?}");
        };
        let words = ["uwsgi", "--ini", "uw/app.ini"];
        check(&words, &[""], Reads::It);
        check(&["uwsgi", "--ini=uw/app.ini"], &["site", ""], Reads::It);
        // The folder in which uWSGI was started is not known.
        check(&words, &["site"], Reads::It);
        check(&words, &[], Reads::It);
        check(&["uwsgi", "../uw/app.ini"], &["site/none"], Reads::It);
        let another = |path: &str| Reads::Another(PathBuf::from(path));
        let other = ["uwsgi", "--ini", "other/app.ini"];
        check(&other, &["site"], another("other/app.ini"));
        // The relative path leads to another file, and may still mean this file.
        let unclear = Reads::Unclear(PathBuf::from("app.ini"));
        check(&["uwsgi", "app.ini"], &["other"], unclear);
        check(&["uwsgi", "own.ini"], &["uw"], another("own.ini"));
        let whole = here.join("other/app.ini").display().to_string();
        check(&["uwsgi", &whole], &["uw"], another(&whole));
        check(&["uwsgi", "--emperor", "vassals"], &["uw"], Reads::Unknown);
    }
}
