//! A part of the projects, which runs in separate namespaces (processes, network, mounts) with its own `/run` and
//! `/etc/hosts`.
//!
//! The whole part ends with its first process, whatever happens to the process that started it. Its results are lines
//! of JSON on stdout.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use looptax_model::record::Switched;
use serde::{Deserialize, Serialize};

use super::application::{Application, Asked, files_below, now_s};
use super::draw::{Draw, Form};
use super::forms::{FORMS, named};
use super::ground::{self, Ground};
use super::judge::{Ending, FEWEST_ASKED, Judged, Run, judge};
use super::kernel::n_over_tcp;
use super::options::Options;
use super::program::Programs;

/// Time within which a started application works. Django with a cold cache took 3 s on a busy core.
const STARTS_WITHIN: Duration = Duration::from_secs(15);
/// Lowest time for which the application's requests are observed after a switch: long enough for six requests or more.
const LOOKED_AT: Duration = Duration::from_millis(1200);
const HOSTS: &str = "127.0.0.1 localhost db.internal\n::1 localhost ip6-localhost\n";

/// The result of a project.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Played {
    pub(super) seed: u64,
    pub(super) form: String,
    pub(super) settings: String,
    pub(super) has_obstacle: bool,
    pub(super) ending: Ending,
    pub(super) violations: Vec<String>,
    pub(super) reason: String,
    /// The file before and after the switch, looptax's output, and the application's log.
    pub(super) report: String,
}

/// A line of a part's output.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Line {
    Missing { form: String, why: String },
    Played(Box<Played>),
    Failed { seed: u64, why: String },
}

/// Returns the command that runs the part with the index `idx`.
pub(super) fn command(options: &Options, seed: u64, idx: usize, looptax: &Path, scratch: &Path) -> Result<Command> {
    let mut command = Command::new("setpriv");
    // The shell is the first process of the namespace, so it waits for processes that have lost their parent.
    let script = "mount -t tmpfs tmpfs /run && ip link set lo up && \"$@\"; exit $?";
    command.args([
        "--pdeathsig=KILL",
        "--",
        "unshare",
        "--net",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "--",
    ]);
    command.args(["sh", "-c", script, "sh"]).arg(std::env::current_exe()?);
    command.args(["oracle", "projects", "--draws", &options.draws.to_string(), "--seed", &seed.to_string()]);
    command.args(["--parts", &options.parts.to_string(), "--part", &idx.to_string()]).arg("--looptax").arg(looptax);
    command.arg("--scratch").arg(scratch);
    for form in &options.form {
        command.args(["--form", form]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    Ok(command)
}

/// Runs the part in this process.
pub(super) fn run(options: &Options, idx: u64, looptax: &Path, scratch: &Path) -> Result<()> {
    let seed = options.seed.context("a part is told its seed")?;
    let at = |name: &str| scratch.join(name);
    fs::set_permissions(scratch, Permissions::from_mode(0o755))?;
    for name in ["programs", "projects"] {
        fs::create_dir(at(name))?;
        fs::set_permissions(at(name), Permissions::from_mode(0o755))?;
    }
    fs::write(at("hosts"), HOSTS)?;
    Command::new("mount").arg("--bind").arg(at("hosts")).arg("/etc/hosts").status()?;
    let programs = Programs::lay_down(at("programs"))?;
    let playable = playable(&programs, &named(&options.form)?, idx == 0)?;
    let ground = Ground::start(scratch)?;
    let stage = Stage { scratch: scratch.to_owned(), looptax: looptax.to_owned(), programs, ground };
    for number in (idx..options.draws).step_by(options.parts as usize) {
        let seed = seed + number;
        let draw = Draw::of(seed, &playable, ground::port)?;
        tell(&match stage.play(&draw) {
            Ok(played) => Line::Played(Box::new(played)),
            Err(error) => Line::Failed { seed, why: format!("{}: {error:#}", draw.words()) },
        })?;
        stage.clear(&draw);
    }
    Ok(())
}

fn tell(line: &Line) -> Result<()> {
    println!("{}", serde_json::to_string(line)?);
    Ok(())
}

/// Returns the forms that can run on this machine. The first part also prints the forms that cannot.
fn playable(programs: &Programs, wanted: &[&'static Form], says: bool) -> Result<Vec<&'static Form>> {
    let mut playable = Vec::new();
    for form in FORMS.iter().filter(|it| wanted.iter().any(|wanted| wanted.name == it.name)) {
        match programs.missing(form) {
            None => playable.push(form),
            Some(why) if says => tell(&Line::Missing { form: form.name.to_owned(), why })?,
            Some(_) => {}
        }
    }
    anyhow::ensure!(!playable.is_empty(), "no form can run on this machine");
    Ok(playable)
}

/// The servers and folders in which projects run, one after the other.
struct Stage {
    scratch: PathBuf,
    looptax: PathBuf,
    programs: Programs,
    ground: Ground,
}

impl Stage {
    fn play(&self, draw: &Draw) -> Result<Played> {
        self.ground.set_up(draw)?;
        let application = Application::start(draw, &self.programs, &self.scratch)?;
        let n_asked = 3 * draw.ends.len();
        let asked_before = application.wait_for(0.0, n_asked, Duration::ZERO, STARTS_WITHIN);
        let works = asked_before.len() >= n_asked && asked_before.iter().all(|it| it.way.is_ok());
        let played = if works {
            self.switch(draw, &application, &asked_before)?
        } else {
            let file = fs::read_to_string(application.project.join(draw.form.file)).unwrap_or_default();
            let report = format!("{file}\n{}", application.last_words());
            played(draw, &Judged { ending: Ending::Unplayed, violations: Vec::new(), reason: String::new() }, report)
        };
        application.end(&self.scratch)?;
        Ok(played)
    }

    fn switch(&self, draw: &Draw, application: &Application, asked_before: &[Asked]) -> Result<Played> {
        let before = files_below(&application.project)?;
        let json = self.scratch.join("said.json");
        let pid = application.pid().map_or_else(String::new, |it| it.to_string());
        let mut command = self.looptax();
        command.arg("switch").arg(application.project.join(draw.form.file));
        command.args(["--yes", "--within", "5s", "--reload", &application.reload]);
        command.args(draw.options.iter().map(|it| it.replace("«pid»", &pid)));
        command.arg(format!("--json={}", json.display()));
        let output = command.output().context("cannot start looptax")?;
        let ended_s = now_s();
        let said: Option<Switched> = fs::read(&json).ok().and_then(|it| serde_json::from_slice(&it).ok());
        fs::remove_file(&json).ok();
        let n_asked = FEWEST_ASKED * draw.ends.len() + 1;
        let asked = application.wait_for(ended_s, n_asked, LOOKED_AT, STARTS_WITHIN);
        let n_over_tcp = draw.ends.iter().map(|it| application.pid().map_or(0, |pid| n_over_tcp(pid, it.port)));
        let after = files_below(&application.project)?;
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        let id = said.as_ref().and_then(|it| it.id.clone());
        let mut judged = judge(&Run {
            draw,
            code: output.status.code(),
            said,
            stderr: &stderr,
            before: &before,
            after: &after,
            asked_before,
            asked: &asked,
            n_over_tcp: n_over_tcp.collect(),
        });
        if let Some(id) = id.filter(|_| matches!(judged.ending, Ending::Moved | Ending::Unproved)) {
            let undone = self.looptax().args(["switch", "--yes", "--undo", &id]).output()?;
            if files_below(&application.project)? != before {
                judged.violations.push(format!(
                    "--undo left other contents: {}{}",
                    text(&undone.stdout),
                    text(&undone.stderr)
                ));
            }
        }
        let mut report = String::new();
        for old in &before {
            let new = after.iter().find(|it| it.path == old.path);
            let is_named = old.path.ends_with(draw.form.file);
            if is_named || new.is_none_or(|new| new.bytes != old.bytes) {
                let _ = writeln!(report, "--- {}\n{}", old.path.display(), text(&old.bytes));
            }
            if let Some(new) = new.filter(|new| new.bytes != old.bytes) {
                let _ = writeln!(report, "+++ afterwards\n{}", text(&new.bytes));
            }
        }
        let _ = writeln!(report, "{stdout}{stderr}exit {:?}\n{}", output.status.code(), application.last_words());
        Ok(played(draw, &judged, report))
    }

    /// Returns a command that runs looptax with a clean environment, and ends it if it hangs.
    fn looptax(&self) -> Command {
        let mut command = Command::new("timeout");
        command.arg("90").arg(&self.looptax).env_clear().stdin(Stdio::null());
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("XDG_DATA_HOME", self.scratch.join("data")).env("HOME", "/root");
        command
    }

    /// Removes everything that is left of a project.
    fn clear(&self, draw: &Draw) {
        if let Err(error) = self.ground.take_down(draw) {
            eprintln!("warning: seed {}: {error:#}", draw.seed);
        }
        for name in ["projects", "beside"] {
            fs::remove_dir_all(self.scratch.join(name)).ok();
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn played(draw: &Draw, judged: &Judged, report: String) -> Played {
    Played {
        seed: draw.seed,
        form: draw.form.name.to_owned(),
        settings: draw.words(),
        has_obstacle: !draw.obstacles().is_empty(),
        ending: judged.ending,
        violations: judged.violations.clone(),
        reason: judged.reason.clone(),
        report,
    }
}
