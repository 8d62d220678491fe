//! A project's application: this file writes its files, starts it, ends it, and reads its log of requests.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

use super::draw::{Draw, Reload};
use super::program::Programs;
use crate::coin::Coin;
use crate::servers::wait_until;

/// User id of `www-data` on Debian.
const UID: u32 = 33;

/// A request of the application, and its result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub(super) at_s: f64,
    /// The name that the program gives to the server.
    pub(super) name: String,
    /// The transport that the server reports, socket or TCP; or the error.
    pub(super) way: Result<Way, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Socket,
    Tcp,
}

/// The folder of a project, with a program that runs in it.
pub(super) struct Application {
    /// The project's own files.
    pub(super) project: PathBuf,
    /// The folder of the other files: log, process id, and a file that shows that the application should run.
    beside: PathBuf,
    /// The command that makes the application read its configuration again.
    pub(super) reload: String,
}

impl Application {
    /// Writes the files and starts the program.
    pub(super) fn start(draw: &Draw, programs: &Programs, scratch: &Path) -> Result<Self> {
        let project = scratch.join("projects").join(draw.folder);
        let beside = scratch.join("beside");
        fs::create_dir_all(&beside)?;
        fs::set_permissions(&beside, Permissions::from_mode(0o755))?;
        chown(&beside, Some(UID), Some(UID))?;
        let mut coin = Coin::new(Some(draw.coin_seed))?;
        let is_roots = coin.flip();
        for (name, text) in (draw.form.write)(draw, &mut coin) {
            let path = project.join(name);
            let folder = path.parent().context("a file has a folder")?;
            fs::create_dir_all(folder)?;
            fs::write(&path, text)?;
            fs::set_permissions(&path, Permissions::from_mode(if name == draw.form.file { 0o640 } else { 0o644 }))?;
            chown(&path, (!is_roots).then_some(UID), Some(UID))?;
        }
        fs::write(beside.join("alive"), "")?;
        let start = beside.join("start.sh");
        fs::write(&start, start_script(draw, programs, &project, &beside))?;
        let restart = beside.join("restart.sh");
        let pid = beside.join("pid");
        let script = format!(
            "#!/bin/sh\npid=$(cat '{0}')\nkill \"$pid\"\nwhile kill -0 \"$pid\" 2>/dev/null; do sleep 0.02; done\nsh '{1}'\n",
            pid.display(),
            start.display()
        );
        fs::write(&restart, script)?;
        let reload = match draw.reload {
            Reload::Restart => format!("sh '{}'", restart.display()),
            Reload::Signal => format!("kill -HUP $(cat '{}')", pid.display()),
        };
        let status = Command::new("sh").arg(&start).stdin(Stdio::null()).status();
        status.context("cannot start the application")?;
        Ok(Self { project, beside, reload })
    }

    pub(super) fn pid(&self) -> Option<u32> {
        fs::read_to_string(self.beside.join("pid")).ok()?.trim().parse().ok()
    }

    /// Returns the log so far, oldest request first.
    pub(super) fn log(&self) -> Vec<Asked> {
        let text = fs::read_to_string(self.beside.join("log")).unwrap_or_default();
        text.lines().filter_map(asked).collect()
    }

    /// Returns the application's output and the end of its log, for error messages.
    pub(super) fn last_words(&self) -> String {
        let end_of = |name: &str, n_lines: usize| {
            let text = fs::read(self.beside.join(name)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            let lines: Vec<&str> = text.lines().collect();
            lines[lines.len().saturating_sub(n_lines)..].join("\n")
        };
        format!("{}\n{}", end_of("output", 10), end_of("log", 12))
    }

    /// Waits until the application has made `n_asked` requests since `since_s` and `at_least` has passed, or until
    /// `at_most` has passed. Returns the requests since `since_s`.
    pub(super) fn wait_for(&self, since_s: f64, n_asked: usize, at_least: Duration, at_most: Duration) -> Vec<Asked> {
        let begun = now_s();
        loop {
            let all: Vec<Asked> = self.log().into_iter().filter(|it| it.at_s >= since_s).collect();
            let waited = Duration::from_secs_f64((now_s() - begun).max(0.0));
            if waited >= at_most || waited >= at_least && all.len() >= n_asked {
                return all;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends the application, and removes its folders.
    pub(super) fn end(self, scratch: &Path) -> Result<()> {
        fs::remove_file(self.beside.join("alive")).ok();
        if let Some(pid) = self.pid().and_then(|it| Pid::from_raw(it.cast_signed())) {
            // The application may have ended already.
            kill_process(pid, Signal::KILL).ok();
            wait_until("the application does not end", || {
                Ok(!Path::new(&format!("/proc/{}", pid.as_raw_nonzero())).exists())
            })?;
        }
        fs::remove_dir_all(scratch.join("projects"))?;
        fs::remove_dir_all(&self.beside)?;
        Ok(())
    }
}

/// Returns the script that starts the program as its user, in its folder. The script ends when the program has read its
/// configuration.
fn start_script(draw: &Draw, programs: &Programs, project: &Path, beside: &Path) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let mut environment = programs.environment();
    environment.extend([
        ("PROJECT_LOG", beside.join("log").display().to_string()),
        ("PROJECT_PID", beside.join("pid").display().to_string()),
        ("PROJECT_ALIVE", beside.join("alive").display().to_string()),
        ("PROJECT_MARK", draw.mark.clone()),
        ("PROJECT_MODE", format!("{:?}", draw.mode).to_lowercase()),
    ]);
    let environment: Vec<String> = environment.iter().map(|(name, value)| quoted(&format!("{name}={value}"))).collect();
    let words: Vec<String> = programs.words(draw.form).iter().map(|it| quoted(it)).collect();
    let pid = quoted(&beside.join("pid").display().to_string());
    format!(
        "#!/bin/sh\nrm -f {pid}\ncd {}\n\
         setsid setpriv --reuid={UID} --regid={UID} --clear-groups env -i {} {} </dev/null >>{} 2>&1 &\n\
         n=0\nwhile ! test -s {pid} && test $n -lt 500; do sleep 0.02; n=$((n + 1)); done\n",
        quoted(&project.display().to_string()),
        environment.join(" "),
        words.join(" "),
        quoted(&beside.join("output").display().to_string())
    )
}

/// Parses a line of the log: `SECONDS ok NAME socket`, `SECONDS fail NAME WHY`.
fn asked(line: &str) -> Option<Asked> {
    let mut words = line.splitn(4, ' ');
    let at_s = words.next()?.parse().ok()?;
    let (result, name, rest) = (words.next()?, words.next()?.to_owned(), words.next()?);
    let way = match (result, rest) {
        ("ok", "socket") => Ok(Way::Socket),
        ("ok", _) => Ok(Way::Tcp),
        ("fail", why) => Err(why.to_owned()),
        _ => return None,
    };
    Some(Asked { at_s, name, way })
}

/// Returns the time on the clock that the programs write to their logs, in seconds.
pub(super) fn now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |it| it.as_secs_f64())
}

/// The state of a file: bytes, mode and owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
    /// Mode, user and group.
    pub(super) rights: (u32, u32, u32),
}

/// Returns all files below a folder, sorted by path.
pub(super) fn files_below(folder: &Path) -> Result<Vec<Kept>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let metadata = fs::symlink_metadata(&path)?;
        if metadata.is_dir() {
            found.extend(files_below(&path)?);
        } else {
            let bytes = fs::read(&path)?;
            found.push(Kept { path, bytes, rights: (metadata.mode(), metadata.uid(), metadata.gid()) });
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_says_how_it_was_asked() {
        let it = asked("1.500 ok mysql socket").unwrap();
        assert_eq!((it.at_s, &*it.name, it.way), (1.5, "mysql", Ok(Way::Socket)));
        assert_eq!(asked("2 fail redis no such file").unwrap().way, Err("no such file".to_owned()));
        assert_eq!(asked("2 start"), None);
    }
}
