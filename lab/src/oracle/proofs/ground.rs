//! A private server, and the programs of a machine that use it.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use looptax_model::dsn::{Kind, Protocol};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use tempfile::TempDir;

use super::draw::{AFTER, APPLICATION, Actor, Machine, Named, Reads};
use super::judge::{self, Attempt, Ended, attempts};
use crate::servers::{Private, wait_until};
use crate::workspace::{root, run_to_success};

const PROGRAM: &str = include_str!("actor.py");
const PASSWORD: &str = "secret";
/// How long an application has, after the old file is back, to connect over TCP again.
const RETURNS_WITHIN: Duration = Duration::from_secs(20);

pub(super) struct Ground {
    looptax: PathBuf,
    python: PathBuf,
    server: Private,
    without_eyes: bool,
}

/// Ends a program with its workers when dropped, and also a program that was started in its place.
struct Playing {
    pid_file: PathBuf,
}

impl Drop for Playing {
    fn drop(&mut self) {
        let text = fs::read_to_string(&self.pid_file).unwrap_or_default();
        if let Some(pid) = text.parse().ok().and_then(Pid::from_raw) {
            // The program may have ended already.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

impl Ground {
    pub(super) fn start(looptax: &Path, kind: Kind, without_eyes: bool) -> Result<Self> {
        let python = root()?.join("target/clients/python/bin/python");
        ensure!(python.is_file(), "`clients/setup.sh python` installs the drivers");
        let server = Private::start(looptax, kind, 100, 1)?;
        // Programs of other users must be able to enter the folder.
        let folder = server.socket.parent().context("a socket lies in a folder")?;
        fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        fs::set_permissions(&server.socket, Permissions::from_mode(0o777))?;
        let ground = Self { looptax: looptax.to_owned(), python, server, without_eyes };
        ground.accounts()?;
        Ok(ground)
    }

    /// Returns the protocol that the programs use. `accounts` refuses kinds of servers whose protocol the programs do
    /// not support.
    fn protocol(&self) -> Protocol {
        self.server.kind.protocol().unwrap_or(Protocol::Echo)
    }

    /// Makes the accounts: `shop` for the application, `other` for other programs.
    fn accounts(&self) -> Result<()> {
        let (kind, protocol) = (self.server.kind, self.protocol());
        if protocol == Protocol::Redis {
            for name in ["shop", "other"] {
                let mut cli = Command::new("redis-cli");
                cli.arg("-s").arg(&self.server.socket).args(["ACL", "SETUSER", name, "on", ">secret", "~*", "+@all"]);
                cli.env("REDISCLI_AUTH", self.server.login.password.reveal());
                run_to_success(cli.stdout(Stdio::null()))?;
            }
            return Ok(());
        }
        let mut talk = self.server.talk()?;
        for name in ["shop", "other"] {
            let all = match protocol {
                Protocol::Mysql => ["localhost", "127.0.0.1"]
                    .map(|host| format!("CREATE USER {name}@'{host}' IDENTIFIED BY '{PASSWORD}'"))
                    .to_vec(),
                Protocol::Postgres => vec![format!("CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'")],
                _ => bail!("{kind} is not supported"),
            };
            for sql in all {
                talk.execute(&sql).with_context(|| sql.clone())?;
            }
        }
        if kind == Kind::Pgbouncer {
            let users = ["shop", "other"].map(|it| format!("\"{it}\" \"{PASSWORD}\"\n")).concat();
            let file = self.server.socket.with_file_name("pgbouncer.users");
            let mut file = fs::OpenOptions::new().append(true).open(file)?;
            file.write_all(users.as_bytes())?;
            for pid in &self.server.pooler_pids {
                let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw).context("a pooler has a number")?;
                kill_process(pid, Signal::HUP)?;
            }
        }
        Ok(())
    }

    /// Runs a machine. Returns how looptax ended, and the attempts of its application.
    pub(super) fn play(&self, machine: &Machine) -> Result<(Ended, Vec<Attempt>)> {
        let folder = TempDir::new()?;
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        let file = self.lay_down(folder.path(), "app", &machine.application)?;
        let before = fs::read(&file)?;
        let mut playing = vec![Playing { pid_file: folder.path().join("app/pid") }];
        for (idx, other) in machine.others.iter().enumerate() {
            let name = format!("other{idx}");
            self.lay_down(folder.path(), &name, other)?;
            playing.push(Playing { pid_file: folder.path().join(&name).join("pid") });
        }
        let begin = |name: &str| Command::new(folder.path().join(name).join("start.sh")).status();
        if machine.application.after.is_none() {
            begin("app")?;
        }
        for (idx, other) in machine.others.iter().enumerate() {
            if other.after.is_none() {
                begin(&format!("other{idx}"))?;
            }
        }
        let log = folder.path().join("app/log");
        if machine.application.after.is_none() {
            let answered = || Ok(attempts(&log)?.iter().any(|it| it.is_ok));
            wait_until("the application gets no answer", answered)
                .with_context(|| format!("{:?}", attempts(&log).ok().and_then(|it| it.last().cloned())))?;
        }
        let began = now();
        let is_over = AtomicBool::new(false);
        let ended = thread::scope(|scope| -> Result<Ended> {
            for (idx, other) in machine.others.iter().enumerate() {
                if let Some(after) = other.after {
                    let begin = &begin;
                    scope.spawn(move || {
                        thread::sleep(after);
                        begin(&format!("other{idx}"))
                    });
                }
            }
            if machine.is_asked_by_looptax {
                scope.spawn(|| self.ask_on(folder.path(), &is_over));
            }
            let said = self.switch(folder.path(), machine, &file);
            is_over.store(true, Ordering::Relaxed);
            let (code, said) = said?;
            let is_as_before = fs::read(&file)? == before;
            Ok(Ended { code, said, began, at: now(), is_as_before })
        })?;
        thread::sleep(AFTER);
        // On a busy machine, an application that was restarted needs longer.
        let latest = Instant::now() + RETURNS_WITHIN;
        let mut all = attempts(&log)?;
        let returns = ended.is_as_before && judge::has_to_return(machine);
        while returns && !judge::is_back(&ended, &all) && Instant::now() < latest {
            thread::sleep(Duration::from_millis(100));
            all = attempts(&log)?;
        }
        drop(playing);
        // This also ends programs that were started again before the previous program had written its process id.
        let own = folder.path().display().to_string();
        let _none_left = Command::new("pkill").args(["-KILL", "-f", &own]).status()?;
        Ok((ended, all))
    }

    /// Writes the files that a program needs; returns the file that the program reads as its configuration.
    fn lay_down(&self, folder: &Path, name: &str, actor: &Actor) -> Result<PathBuf> {
        let own = folder.join(name);
        fs::create_dir(&own)?;
        // Programs with the same interpreter need different file names to be distinguished.
        fs::write(own.join(format!("{name}.py")), PROGRAM)?;
        let user = if actor.has_account { "shop" } else { "other" };
        let (protocol, port, socket) = (self.protocol(), self.server.tcp.port(), &self.server.socket);
        let socket = socket.display();
        let database = self.server.login.database.clone().unwrap_or_default();
        let (file, text) = match (protocol, actor.is_over_tcp) {
            (Protocol::Redis, true) => {
                (".env", format!("SECRET=1\nREDIS_URL=redis://{user}:{PASSWORD}@127.0.0.1:{port}\n"))
            }
            (Protocol::Redis, false) => (".env", format!("REDIS_URL=unix://{user}:{PASSWORD}@{socket}\n")),
            (Protocol::Mysql, true) => {
                ("my.cnf", format!("[client]\nhost = 127.0.0.1\nport = {port}\nuser = {user}\npassword = {PASSWORD}\n"))
            }
            (Protocol::Mysql, false) => ("my.cnf", format!("[client]\nsocket = {socket}\nuser = {user}\n")),
            (_, is_over_tcp) => {
                let at = self.server.socket.parent().unwrap_or(Path::new("/")).display().to_string();
                let host = if is_over_tcp { "127.0.0.1" } else { &at };
                let text =
                    format!("[shop]\nhost={host}\nport={port}\nuser={user}\npassword={PASSWORD}\ndbname={database}\n");
                ("pg_service.conf", text)
            }
        };
        let file = own.join(file);
        fs::write(&file, text)?;
        // The file contains a password.
        fs::set_permissions(&file, Permissions::from_mode(0o640))?;
        let spec = json!({
            "protocol": protocol.name(), "file": file, "log": own.join("log"), "pid_file": own.join("pid"),
            "user": user, "password": PASSWORD, "database": database, "style": actor.style, "reads": actor.reads,
            "late": actor.late.as_secs_f64(), "every": actor.every.as_secs_f64(), "workers": actor.n_workers,
            "staying": actor.n_staying, "spread": actor.spread.as_secs_f64(), "over_socket": actor.over_socket,
            "oracle": format!("/proc/{}", std::process::id()),
        });
        fs::write(own.join("spec.json"), spec.to_string())?;
        let (here, of) = (folder.display(), actor.user);
        let start = format!(
            "#!/bin/sh\nsetsid setpriv --reuid {of} --regid {of} --clear-groups {} {here}/{name}/{name}.py {here}/{name}/spec.json \
             > {here}/{name}/out 2>&1 < /dev/null &\n",
            self.python.display()
        );
        let scripts = [
            ("start.sh", start),
            ("restart.sh", format!("#!/bin/sh\nkill $(cat {here}/{name}/pid) 2> /dev/null\n{here}/{name}/start.sh\n")),
            ("hup.sh", format!("#!/bin/sh\nkill -HUP $(cat {here}/{name}/pid)\n")),
        ];
        for (script, text) in scripts {
            fs::write(own.join(script), text)?;
            fs::set_permissions(own.join(script), Permissions::from_mode(0o755))?;
        }
        let [uid, gid] = ids(of)?;
        chown(&own, Some(uid), Some(gid))?;
        chown(&file, Some(uid), Some(gid))?;
        Ok(file)
    }

    fn switch(&self, folder: &Path, machine: &Machine, file: &Path) -> Result<(Option<i32>, String)> {
        let mut command = if self.without_eyes {
            let mut command = Command::new("setpriv");
            command.args(["--bounding-set=-bpf,-perfmon,-sys_admin", "--inh-caps=-bpf,-perfmon,-sys_admin"]);
            command.arg("--").arg(&self.looptax);
            command
        } else {
            Command::new(&self.looptax)
        };
        let within = format!("{}s", machine.within.as_secs());
        command.args(["switch", "--yes", "--no-times", "--within", &within]).arg(file);
        command.arg("--socket").arg(&self.server.socket);
        if self.protocol() == Protocol::Redis {
            command.args(["--as", "sidekiq"]);
        }
        let own = folder.join("app");
        match machine.application.reads {
            Reads::Hup => command.arg("--reload").arg(own.join("hup.sh")),
            Reads::Start => command.arg("--reload").arg(own.join("restart.sh")),
            Reads::Each | Reads::Late | Reads::Never => &mut command,
        };
        match machine.named {
            Named::No => {}
            Named::User => {
                command.args(["--user", APPLICATION]);
            }
            Named::Pid => {
                command.args(["--pid", fs::read_to_string(own.join("pid"))?.trim()]);
            }
        }
        if machine.keeps {
            command.arg("--keep-unproved");
        }
        let output = command.env("XDG_DATA_HOME", folder.join("data")).stdin(Stdio::null()).output()?;
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        Ok((output.status.code(), said))
    }

    /// Runs another user's looptax, which logs in with the same account again and again.
    fn ask_on(&self, folder: &Path, is_over: &AtomicBool) {
        let address = format!("{}://shop@{}", self.protocol().name(), self.server.tcp);
        while !is_over.load(Ordering::Relaxed) {
            let mut command = Command::new(&self.looptax);
            command.args(["check", &address, "--socket"]).arg(&self.server.socket).env("LOOPTAX_PASSWORD", PASSWORD);
            command.env("XDG_DATA_HOME", folder.join("data-of-another"));
            let _asked = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
    }
}

/// Returns the time on the clock that the programs use, in seconds.
fn now() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Returns the user id and the group id of a user.
fn ids(name: &str) -> Result<[u32; 2]> {
    let all = fs::read_to_string("/etc/passwd")?;
    let line = all.lines().find(|it| it.split(':').next() == Some(name));
    let fields: Vec<&str> = line.with_context(|| format!("there is no user {name}"))?.split(':').collect();
    Ok([fields[2].parse()?, fields[3].parse()?])
}
