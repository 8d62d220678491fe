//! Controls Gunicorn: the file that it reads, its test `--check-config`, and the umask with which it creates its
//! socket.
//!
//! On SIGHUP Gunicorn closes its listeners and listens on the address in its file (seen with 20.1). Its command line
//! and `GUNICORN_CMD_ARGS` override the file.

use std::path::Path;

use looptax_host::discover::Process;
use looptax_host::program::Variables;
use looptax_host::{kernel, read};

use super::super::program::reload;
use super::super::rights::{Access, User, number_of};
use super::known::{BackProgram, Closed, Own, Wanted};
use crate::diagnose::check::sources::environment;
use crate::diagnose::gunicorn::{GUNICORN, OWN_FILE, option, script, setting};
use crate::line::{Line, Question};

/// A socket's mode before the umask is applied; Gunicorn's default umask is 0.
const OPEN_MODE: u32 = 0o777;

#[derive(Debug)]
pub(super) struct Gunicorn;

impl BackProgram for Gunicorn {
    fn name(&self) -> &'static str {
        "gunicorn"
    }

    fn title(&self) -> &'static str {
        "Gunicorn"
    }

    fn applications(&self) -> &'static [&'static str] {
        &["gunicorn"]
    }

    fn extension(&self) -> &'static str {
        "py"
    }

    fn is_it(&self, process: &Process) -> bool {
        process.name.starts_with("gunicorn") || script(&process.arguments()).is_some()
    }

    fn objection(&self, own: &Own<'_>) -> Option<Closed> {
        let title = format!("Gunicorn {}", own.master.pid);
        let arguments = own.master.arguments();
        let Some(at) = script(&arguments) else {
            // With the module setproctitle, Gunicorn replaces its command line with a title such as `gunicorn: master
            // [shop.wsgi]`.
            return Some(Closed {
                what: format!(
                    "{title} has replaced its command line with a title, so looptax cannot see whether the command \
                     line overrides the configuration file"
                ),
                next: format!("by hand: looptax check {} prints the lines of both files", own.file.display()),
            });
        };
        let words = &arguments[at + 1..];
        let variables = environment(own.master.pid).unwrap_or_default();
        if variables.contains_key(GUNICORN) || option(words, "bind").is_some() {
            return Some(Closed {
                what: format!(
                    "{title} got its address when it was started, and this address overrides the address in the \
                     configuration file"
                ),
                next: "remove --bind from Gunicorn's command line and from GUNICORN_CMD_ARGS, and restart Gunicorn"
                    .to_owned(),
            });
        }
        let folder = kernel::link(own.master.file("cwd")).unwrap_or_default();
        let named = option(words, "config").unwrap_or_else(|| OWN_FILE.to_owned());
        let path = folder.join(named.trim_start_matches("file:"));
        let real = |path: &Path| read::real_path(path).ok();
        (real(&path) != real(own.file)).then(|| Closed {
            what: format!("{title} reads {}, not {}", path.display(), own.file.display()),
            next: "pass the file that Gunicorn reads".to_owned(),
        })
    }

    fn test(&self, master: &Process) -> Option<Line> {
        let mut words = master.arguments();
        let at = script(&words)?;
        words.insert(at + 1, "--check-config".to_owned());
        let question = Question {
            process: master.clone(),
            // Python finds the folder of its modules by `argv[0]`.
            name: Some(words.remove(0)),
            words,
            // The test loads the application, which needs the variables with which Gunicorn was started.
            variables: Variables::Own(&[]),
        };
        Some(question.into())
    }

    fn reload(&self, master: &Process) -> Result<String, String> {
        Ok(reload(master, "HUP"))
    }

    fn rights(&self) -> &'static str {
        "umask, user and group in Gunicorn's file"
    }

    fn access(&self, own: &Own<'_>) -> Result<Access, String> {
        let arguments = own.master.arguments();
        let words = script(&arguments).map_or(&[][..], |at| &arguments[at + 1..]);
        let value = |name: &str| option(words, name).or_else(|| setting(own.text, name));
        let number = |name: &str, path: &str, usual: u32| match value(name) {
            None => Ok(usual),
            Some(text) => {
                number_of(path, &text).ok_or_else(|| format!("{name} = {text} is not a user or group of this machine"))
            }
        };
        let umask = match value("umask") {
            None => 0,
            Some(text) => python_number(&text).ok_or_else(|| format!("umask = {text} is not a number"))?,
        };
        Ok(Access {
            uid: number("user", "/etc/passwd", own.master.uid)?,
            gid: number("group", "/etc/group", own.master.gid)?,
            mode: OPEN_MODE & !umask,
        })
    }

    fn opening(&self, now: Access, user: &User, _: &Own<'_>) -> Result<Vec<Wanted>, Closed> {
        if now.lets_in(user) {
            return Ok(Vec::new());
        }
        Err(Closed {
            what: format!(
                "with Gunicorn's umask the socket has mode {:04o}, so {} cannot use the socket",
                now.mode, user.name
            ),
            next: format!(
                "write umask = 0o007 and a group that {} is in; or write umask = 0, so that every user that can reach \
                 the folder may use the socket",
                user.name
            ),
        })
    }
}

/// Parses a number such as `0o22`, `0x12` or `18`. Also parses `022`, which Gunicorn's command line reads as octal.
fn python_number(text: &str) -> Option<u32> {
    let of = |head: &str, radix| Some(u32::from_str_radix(text.strip_prefix(head)?, radix));
    let is_old_octal = |it: &&str| it.starts_with(|c: char| c.is_ascii_digit());
    let old_octal = || { text.strip_prefix('0').filter(is_old_octal) }.and_then(|_| of("0", 8));
    let found = of("0o", 8).or_else(|| of("0x", 16)).or_else(old_octal);
    found.unwrap_or_else(|| text.parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_python_has_them() {
        assert_eq!(python_number("0o007"), Some(7));
        assert_eq!(python_number("18"), Some(0o22));
        assert_eq!(python_number("077"), Some(0o77));
        assert_eq!(python_number("0"), Some(0));
        assert_eq!(python_number("int('7')"), None);
    }

    #[test]
    fn a_title_in_the_place_of_its_command_line_is_no_word_of_its_file() {
        use std::os::unix::process::CommandExt;

        let mut titled = std::process::Command::new("/bin/sleep");
        let mut running = { titled.arg0("gunicorn: master [shop.wsgi]").arg("600") }.spawn().unwrap();
        let has_begun = || {
            let found = looptax_host::discover::process(running.id())?;
            found.arguments().first()?.starts_with("gunicorn:").then_some(found)
        };
        let master = std::iter::repeat_with(has_begun).flatten().next().unwrap();
        let own = Own {
            text: "bind = '127.0.0.1:8000'\n",
            label: "",
            file: Path::new("/srv/gunicorn.conf.py"),
            master: &master,
        };
        let found = Gunicorn.objection(&own);
        running.kill().unwrap();
        running.wait().unwrap();
        let what = found.unwrap().what;
        assert!(what.contains("has replaced its command line with a title"), "{what}");
    }
}
