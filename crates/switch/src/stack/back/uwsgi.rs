//! uWSGI: the ini file that it was started with, and the settings that open its socket.
//!
//! Its master, told by SIGHUP, executes itself anew and listens where the file says (seen with 2.0.21); without a master
//! there is nobody to tell. Nothing tests its file.

use std::fs;
use std::path::Path;

use looptax_advise::app::{Rewrite, Section};
use looptax_discover::Process;
use looptax_record::Edit;

use super::super::program::{reload, restart_of_unit, workers};
use super::super::rights::{Access, User, number_of};
use super::known::{BackProgram, Closed, NO_SECTION, Own, Wanted};

const SECTION: &str = "uwsgi";
/// The settings that say where it listens.
const ANCHORS: [&str; 3] = ["socket", "uwsgi-socket", "http-socket"];
/// What `chmod-socket` without a number is.
const OPEN_MODE: u32 = 0o666;
/// What says no to a setting that is yes by itself.
const OFF: [&str; 4] = ["false", "off", "no", "0"];
/// What lets owner and group in.
const SHARED_MODE: u32 = 0o660;

/// uWSGI.
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
        let title = format!("uWSGI {}", own.master.pid);
        let folder = fs::read_link(own.master.file("cwd")).unwrap_or_default();
        let real = |path: &Path| fs::canonicalize(path).ok();
        let file = real(own.file);
        let words = own.master.arguments();
        let is_it = |it: &String| {
            let path = it.strip_prefix("--ini=").unwrap_or(it);
            real(&folder.join(path)) == file
        };
        (!words.iter().any(is_it)).then(|| Closed {
            what: format!("{title} was not started with {}", own.file.display()),
            next: "name the file that it was started with; an emperor's vassal is moved by hand"
                .to_owned(),
        })
    }

    fn reload(&self, master: &Process) -> Result<String, String> {
        if let Some(command) = restart_of_unit(master) {
            return Ok(command);
        }
        // Without a master the first worker has made the others.
        if has_master(master) && workers(master).iter().any(|it| self.is_it(it)) {
            return Ok(reload(master, "HUP"));
        }
        Err(format!(
            "uWSGI {} has no master process that could be told to read its file: it runs without `master = true`",
            master.pid
        ))
    }

    fn rights(&self) -> &'static str {
        "chmod-socket and chown-socket of its file, and its umask"
    }

    fn access(&self, own: &Own<'_>) -> Result<Access, String> {
        let section = Section::find(own.text, SECTION).ok_or(NO_SECTION)?;
        let mode = match section.value("chmod-socket") {
            None => 0o777 & !umask(own.master),
            Some(text) if text == "true" => OPEN_MODE,
            Some(text) => u32::from_str_radix(&text, 8)
                .map_err(|_| format!("chmod-socket = {text} is no mode"))?,
        };
        let mut access = Access {
            uid: own.master.uid,
            gid: own.master.gid,
            mode,
        };
        if let Some(names) = section.value("chown-socket") {
            let (user, group) = names.split_once(':').unwrap_or((&*names, ""));
            let unknown = || format!("chown-socket = {names} is nobody known here");
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
        let shared = Access {
            mode: SHARED_MODE,
            ..now
        };
        let mode = || ("chmod-socket", format!("{SHARED_MODE:o}"));
        if shared.lets_in(user) {
            return Ok(vec![mode()]);
        }
        // Only root gives a socket away.
        if own.master.uid == 0 {
            return Ok(vec![("chown-socket", user.name.clone()), mode()]);
        }
        Err(Closed {
            what: format!(
                "the socket has mode {:04o} and is uWSGI's own, which does not run as root, and keeps {} out",
                now.mode, user.name
            ),
            next: format!(
                "run it with a group that {} is in and chmod-socket = 660, or write chmod-socket = 666, which lets everybody in who gets to the folder",
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

/// Whether its command line, or a file that it names, has a master process.
fn has_master(process: &Process) -> bool {
    let words = process.arguments();
    let folder = fs::read_link(process.file("cwd")).unwrap_or_default();
    let says = |word: &String| {
        let path = folder.join(word.strip_prefix("--ini=").unwrap_or(word));
        let text = Some(path).filter(|it| it.extension().is_some_and(|end| end == "ini"));
        let text = text.and_then(|it| fs::read_to_string(it).ok())?;
        Section::find(&text, SECTION)?.value("master")
    };
    let is_on = |value: String| !OFF.contains(&&*value.to_lowercase());
    let is_word = |it: &String| it == "-M" || it == "--master" || it == "--master=true";
    words.iter().any(is_word) || words.iter().filter_map(says).any(is_on)
}

/// What a process takes away from the mode of what it makes.
fn umask(process: &Process) -> u32 {
    let status = fs::read_to_string(process.file("status")).unwrap_or_default();
    let text = status.lines().find_map(|it| it.strip_prefix("Umask:"));
    let umask = text.and_then(|it| u32::from_str_radix(it.trim(), 8).ok());
    umask.unwrap_or(0o022)
}
