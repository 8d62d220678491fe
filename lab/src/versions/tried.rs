//! Tests each command of looptax with the server of a column: compares the command's output with the server's own
//! report.
//!
//! Called by `part`, in the column's namespaces.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use looptax_model::dsn::Kind;
use serde_json::Value;

use super::rig::{FOLDER, Rig, Running, View, number, script};

/// The result of testing a command with a server.
#[derive(Debug)]
pub(super) enum Cell {
    /// The command's output is right; contains a summary of it.
    Right(String),
    Untried(&'static str),
}

pub(super) use Cell::{Right, Untried};

/// The commands, in the order of the table.
pub(super) const COMMANDS: [&str; 10] =
    ["private", "running", "find", "check", "watch", "switch", "run", "trial", "why", "dsn"];

const ONE_WAY: &str = "a memcached serves a port or a socket, not both, so nothing is moved";
const NO_LIST: &str = "the server has no list of its connections with which the answer could be compared";
const IN_FRONT: &str = "nginx is not a private server of looptax, so this table has no measurement of nginx";

/// A column's server, and the looptax that is tested.
pub(super) struct Trial<'a> {
    pub(super) rig: &'a Rig,
    pub(super) looptax: &'a Path,
    pub(super) bin: Option<&'a Path>,
}

impl Trial<'_> {
    /// Tests a command; fails if the command gives a wrong answer, or none.
    pub(super) fn cell(&self, command: &str) -> Result<Cell> {
        let kind = self.rig.kind;
        let is_web = matches!(kind, Kind::PhpFpm | Kind::Http);
        match command {
            "private" | "why" if kind == Kind::Http => Ok(Untried(IN_FRONT)),
            "private" => self.private(),
            "running" if kind == Kind::Memcached => self.refuses_memcached(),
            "running" | "run" | "trial" if is_web => Ok(Untried(NO_LIST)),
            "switch" | "run" | "trial" if kind == Kind::Memcached => Ok(Untried(ONE_WAY)),
            "running" => self.running(),
            "find" => self.find(),
            "check" => self.check(),
            "watch" => self.watch(),
            "switch" if is_web => self.switch_web(),
            "switch" => self.switch(),
            "run" => self.run(),
            "trial" => self.trial(),
            "why" => self.why(),
            _ => self.dsn(),
        }
    }

    fn looptax(&self, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "300"]).arg(self.looptax).args(words);
        let usual = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        let path = self.bin.map_or_else(|| usual.to_owned(), |bin| format!("{}:{usual}", bin.display()));
        command.env("PATH", path).env("XDG_DATA_HOME", format!("{FOLDER}/home")).env("HOME", format!("{FOLDER}/home"));
        command.env("LOOPTAX_PASSWORD", "pw").current_dir(FOLDER).stdin(Stdio::null());
        command
    }

    fn output(&self, words: &[&str]) -> Result<Output> {
        Ok(self.looptax(words).output()?)
    }

    /// Starts an application with one connection that sends requests all the time.
    fn client(words: &[&str]) -> Result<Running> {
        let script = script()?;
        let mut command = Command::new("php");
        command.arg(script).args(words).env("HOLD", "1").env("COUNT", format!("{FOLDER}/count"));
        let _ = fs::write(format!("{FOLDER}/count"), "");
        let running = Running(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log()?).spawn()?);
        crate::servers::wait_until("the application is not answered", || Ok(counted() > 3))?;
        Ok(running)
    }

    fn over_tcp(&self) -> Result<Running> {
        Self::client(&[self.rig.dialect(), "127.0.0.1", &self.rig.port.to_string()])
    }

    /// Runs looptax, and reads the server's list of connections while it runs.
    fn watched(&self, words: &[&str]) -> Result<(Output, View)> {
        let file = format!("{FOLDER}/output");
        let output = fs::File::create(&file)?;
        let mut child = self.looptax(words).stdout(output.try_clone()?).stderr(output).spawn()?;
        let mut seen = View::default();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            let view = self.rig.view()?;
            seen = View { unix: seen.unix.max(view.unix), tcp: seen.tcp.max(view.tcp) };
            thread::sleep(Duration::from_millis(100));
        };
        Ok((Output { status, stdout: fs::read(file)?, stderr: Vec::new() }, seen))
    }

    /// Runs a measurement; checks that its record contains the version that the server's program reports, and that both
    /// arms are proved. Returns the record.
    fn record(&self, words: &[&str], kind: &str) -> Result<Value> {
        let file = format!("{FOLDER}/record.json");
        let _ = fs::remove_file(&file);
        let json = format!("--json={file}");
        let output = self.output(&[words, &["--warm-up", "500ms", &json]].concat())?;
        right(&output, 0)?;
        let record: Value = serde_json::from_slice(&fs::read(&file)?)?;
        let comparison = &record["comparisons"][0];
        let target = &comparison["target"];
        let version = target["version"].as_str().unwrap_or_default();
        ensure!(number(version) == self.rig.version, "it says version {version:?} of {}", self.rig.version);
        ensure!(target["kind"] == kind, "it says {} of {kind}", target["kind"]);
        let arms: Vec<&str> = comparison["arms"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|it| it["verified"] == true)
            .filter_map(|it| it["name"].as_str())
            .collect();
        let is_both = ["unix", "tcp"].iter().all(|way| arms.iter().any(|arm| arm.split('+').next() == Some(way)));
        ensure!(is_both, "it proved {arms:?}");
        ensure!(record["problems"].as_array().is_some_and(Vec::is_empty), "problems: {}", record["problems"]);
        Ok(record)
    }

    fn private(&self) -> Result<Cell> {
        let name = self.rig.kind.name();
        let target = format!("private:{name}");
        let words = ["compare", &target, "--rows", "1000", "-c", "1", "--placement", "same", "--fixed", "6"];
        if self.rig.kind == Kind::Memcached && self.rig.version == "1.6.9" {
            let output = self.output(&words)?;
            right(&output, 2)?;
            let text = words_of(&output);
            ensure!(text.contains("printed `memcached 1.6.9`") && text.contains("1.6.18 or newer"), "{text}");
            return Ok(Right("too old, and named".to_owned()));
        }
        let record = self.record(&words, name)?;
        let arms = record["comparisons"][0]["arms"].as_array().map_or(0, Vec::len);
        let has_tls =
            self.rig.kind == Kind::Mysql || self.rig.kind == Kind::Mariadb && has_tls_unasked(&self.rig.version);
        let expected = match self.rig.kind {
            Kind::Pgbouncer => 4,
            _ => 2 + usize::from(has_tls),
        };
        ensure!(arms == expected, "it has {arms} arms");
        Ok(Right(format!("{arms} ways")))
    }

    fn running(&self) -> Result<Cell> {
        let url = self.rig.url();
        let words = ["compare", &url, "-c", "1", "--placement", "same", "--fixed", "6", "--warm-up", "500ms", "--yes"];
        let json = format!("--json={FOLDER}/running.json");
        let (output, seen) = self.watched(&[&words[..], &[&json]].concat())?;
        right(&output, 0)?;
        let record: Value = serde_json::from_slice(&fs::read(format!("{FOLDER}/running.json"))?)?;
        let target = &record["comparisons"][0]["target"];
        let version = target["version"].as_str().unwrap_or_default();
        // The protocol reports the version of the PostgreSQL behind a pooler, not that of the pooler.
        let expected = if self.rig.kind == Kind::Pgbouncer { "" } else { &self.rig.version };
        ensure!(number(version) == expected, "it says version {version:?} of {}", self.rig.version);
        ensure!(target["kind"] == self.rig.kind.name(), "it says {} of {}", target["kind"], self.rig.kind);
        ensure!(seen.unix > 0 && seen.tcp > 0, "the server saw {seen:?}");
        Ok(Right("both seen".to_owned()))
    }

    fn refuses_memcached(&self) -> Result<Cell> {
        let url = self.rig.url();
        let output = self.output(&["compare", &url, "--yes"])?;
        right(&output, 2)?;
        Ok(Right("refused, as documented".to_owned()))
    }

    fn find(&self) -> Result<Cell> {
        let is_web = self.rig.kind == Kind::Http || self.rig.kind == Kind::PhpFpm;
        let client = if is_web { None } else { Some(self.over_tcp()?) };
        let output = self.output(&["find", "--once", "--json"])?;
        right(&output, 0)?;
        let found: Value = serde_json::from_slice(&output.stdout)?;
        let servers = found["servers"].as_array().context("no servers")?;
        let pid = if self.rig.kind == Kind::Http { None } else { Some(self.rig.pid) };
        if let Some(pid) = pid {
            let server = servers.iter().find(|it| it["pid"] == pid).context("the server is not listed")?;
            let version = server["version"].as_str().unwrap_or_default();
            ensure!(
                number(&format!("{version} ")) == self.rig.version,
                "it says version {version:?} of {}",
                self.rig.version
            );
            ensure!(server["kind"] == self.rig.kind.name(), "it says {} of {}", server["kind"], self.rig.kind);
            let text = server["endpoints"].to_string();
            ensure!(text.contains(&format!("127.0.0.1:{}", self.rig.port)), "its port is not listed: {text}");
            if self.rig.kind != Kind::Memcached {
                ensure!(text.contains(&self.rig.socket.display().to_string()), "its socket is not listed: {text}");
            }
        } else {
            let text = found.to_string();
            ensure!(
                text.contains("127.0.0.1:9000") && text.contains("/run/php/php-fpm.sock"),
                "its upstream is not listed"
            );
            return Ok(Right("its upstream".to_owned()));
        }
        let Some(client) = client else {
            return Ok(Right("version and listeners".to_owned()));
        };
        let clients = found["clients"].as_array().context("no clients")?;
        let listed = clients.iter().find(|it| it["pid"] == client.0.id()).context("the client is not listed")?;
        ensure!(listed["way"] == "loopback" && listed["server_pid"] == self.rig.pid, "it says {listed}");
        if self.rig.kind != Kind::Memcached {
            let view = self.rig.view()?;
            ensure!(
                listed["n_connections"] == view.tcp,
                "it says {} connections, the server {view:?}",
                listed["n_connections"]
            );
        }
        Ok(Right("version, listeners, client".to_owned()))
    }

    /// Expects "yes" if the user may connect, and "no" if no user may; a real connection of that user shows which is
    /// true.
    fn check(&self) -> Result<Cell> {
        let url = self.rig.url();
        let socket = self.rig.socket.display().to_string();
        let mut words = vec!["check", &url, "--user", "www-data"];
        match self.rig.kind {
            Kind::Http => return Ok(Untried("the column `switch` tests the file that names nginx's upstream")),
            Kind::PhpFpm | Kind::Memcached => words.extend(["--socket", &socket]),
            _ => {}
        }
        if self.rig.kind == Kind::Memcached {
            // The socket belongs to another memcached process, which has other keys.
            let output = self.output(&words)?;
            ensure!(output.status.code() != Some(0), "it would move to another process's keys");
            return Ok(Right("no: two processes".to_owned()));
        }
        for (mode, may) in [(0o777, true), (0o700, false)] {
            fs::set_permissions(&self.rig.socket, Permissions::from_mode(mode))?;
            let mut login = Command::new("setpriv");
            login.args(["--reuid=www-data", "--regid=www-data", "--clear-groups", "php", "-r"]);
            login.arg("exit(@stream_socket_client('unix://' . $argv[1]) ? 0 : 1);").arg(&socket);
            let is_let_in = login.stderr(Stdio::null()).status()?.success();
            // The pool's socket belongs to www-data itself.
            let may = may || self.rig.kind == Kind::PhpFpm;
            ensure!(is_let_in == may, "mode {mode:o}: www-data connects: {is_let_in}");
            let output = self.output(&words)?;
            right(&output, i32::from(!may)).with_context(|| format!("mode {mode:o}"))?;
        }
        fs::set_permissions(&self.rig.socket, Permissions::from_mode(0o777))?;
        Ok(Right(if self.rig.kind == Kind::PhpFpm { "yes" } else { "yes and no" }.to_owned()))
    }

    fn watch(&self) -> Result<Cell> {
        let words = ["watch", "--once", "--for", "2s", "--json"];
        let is_web = matches!(self.rig.kind, Kind::Http | Kind::PhpFpm);
        let client = if is_web { None } else { Some(self.over_tcp()?) };
        let is_over = AtomicBool::new(false);
        let (output, made) = thread::scope(|scope| -> Result<_> {
            // Records how many requests had been sent at which time, since the client began.
            let asked = scope.spawn(|| -> Result<Vec<(f64, u64)>> {
                let start = Instant::now();
                let mut made = Vec::new();
                while !is_over.load(Ordering::Relaxed) {
                    if is_web {
                        page()?;
                    }
                    let n_asked = if is_web { made.len() as u64 + 1 } else { counted() };
                    // The file is empty for a moment each time it is written.
                    if made.last().is_none_or(|it: &(f64, u64)| n_asked >= it.1) {
                        made.push((start.elapsed().as_secs_f64(), n_asked));
                    }
                    thread::sleep(Duration::from_millis(5));
                }
                Ok(made)
            });
            let output = self.output(&words);
            is_over.store(true, Ordering::Relaxed);
            let made = asked.join().map_err(|_| anyhow!("the asking thread panicked"))??;
            Ok((output?, made))
        })?;
        drop(client);
        self.hold_count(&output, &made)
    }

    /// Checks that the number of requests that `watch` counted over TCP is between the lowest and the highest number
    /// that the client sent in a period of this length.
    fn hold_count(&self, output: &Output, made: &[(f64, u64)]) -> Result<Cell> {
        right(output, 0)?;
        let watched: Value = serde_json::from_slice(&output.stdout)?;
        let hops = watched["hops"].as_array().context("no hops")?;
        let is_ours = |hop: &&Value| ["server", "client"].iter().any(|end| self.is_of_rig(&hop[end]["pid"]));
        // nginx is also in a hop before PHP-FPM, which does not count.
        let port = format!(":{}", self.rig.port);
        let is_asked = |hop: &&Value| hop["address"].as_str().is_some_and(|it| it.ends_with(&port));
        let ours = hops.iter().filter(is_ours).filter(is_asked).filter(|it| it["way"] == "loopback");
        let n_counted: u64 = ours.filter_map(|it| it["n_requests"].as_u64()).sum();
        let over_s = watched["over_s"].as_f64().context("no time")?;
        let end = made.last().context("nothing was asked")?.0;
        let within = |begin: &(f64, u64)| {
            let last = made.iter().rev().find(|it| it.0 <= begin.0 + over_s).map_or(begin.1, |it| it.1);
            last - begin.1
        };
        let least = made.iter().filter(|it| it.0 + over_s <= end).map(within).min().unwrap_or(0);
        let most = made.iter().map(within).max().unwrap_or(0);
        // Allows for a request at either end of the period, and for a count that the client has not written yet.
        let is_so = n_counted + 4 >= least && n_counted <= most + 4;
        ensure!(is_so && n_counted > 0, "it counted {n_counted} of {least} to {most} in {over_s:.1} s");
        Ok(Right(format!("{n_counted} of {least} to {most}")))
    }

    /// Returns whether this is the server's process, or a process that it started.
    fn is_of_rig(&self, pid: &Value) -> bool {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).map(str::trim);
        *pid == self.rig.pid || parent == Some(&self.rig.pid.to_string())
    }

    fn env_file(&self) -> String {
        let port = self.rig.port;
        match self.rig.dialect() {
            "redis" => format!(
                "APP_KEY=base64:x\nREDIS_CLIENT=phpredis\nREDIS_HOST=127.0.0.1\nREDIS_PASSWORD=pw\nREDIS_PORT={port}\n"
            ),
            dialect => format!(
                "APP_KEY=base64:x\nDB_CONNECTION={dialect}\nDB_HOST=127.0.0.1\nDB_PORT={port}\nDB_DATABASE=shop\nDB_USERNAME=app\nDB_PASSWORD=pw\n"
            ),
        }
    }

    fn switch(&self) -> Result<Cell> {
        let folder = PathBuf::from(FOLDER).join("app");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("artisan"), "")?;
        let file = folder.join(".env");
        let text = self.env_file();
        fs::write(&file, &text)?;
        let mut command = Command::new("setpriv");
        command.args(["--reuid=www-data", "--regid=www-data", "--clear-groups", "php"]).arg(script()?);
        command.args([self.rig.dialect(), "127.0.0.1", &self.rig.port.to_string()]).env("ENV_FILE", &file);
        let _application = Running(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log()?).spawn()?);
        self.wait_for("the application is not there", |view| view.tcp > 0 && view.unix == 0)?;
        let path = file.display().to_string();
        let output = self.output(&["switch", &path, "--user", "www-data", "--yes", "--no-times", "--within", "20s"])?;
        right(&output, 0)?;
        ensure!(words_of(&output).contains("moved and proved"), "{}", words_of(&output));
        self.wait_for("the server sees it over TCP", |view| view.unix > 0 && view.tcp == 0)?;
        let output = self.output(&["switch", "--undo", "last", "--yes"])?;
        right(&output, 0)?;
        ensure!(fs::read(&file)? == text.as_bytes(), "the file is another one after undo");
        self.wait_for("the server does not see it over TCP again", |view| view.tcp > 0 && view.unix == 0)?;
        Ok(Right("proved, and back byte for byte".to_owned()))
    }

    fn wait_for(&self, what: &str, is_so: impl Fn(View) -> bool) -> Result<()> {
        let mut seen = View::default();
        let waited = crate::servers::wait_until(what, || {
            seen = self.rig.view()?;
            Ok(is_so(seen))
        });
        waited.with_context(|| format!("{seen:?}"))
    }

    fn switch_web(&self) -> Result<Cell> {
        let file = Path::new("/tmp/versions/nginx/shop");
        let text = fs::read(file)?;
        ensure!(page()? == "tcp", "it is not over TCP at first");
        let pid = fs::read_to_string("/run/nginx.pid")?;
        let reload = format!("kill -HUP {}", pid.trim());
        let words = [
            "switch",
            "/tmp/versions/nginx/shop",
            "--socket",
            "/run/php/php-fpm.sock",
            "--user",
            "www-data",
            "--yes",
            "--no-times",
        ];
        let words = [&words[..], &["--within", "20s", "--url", "http://127.0.0.1:8080/", "--reload", &reload]].concat();
        let output = self.output(&words)?;
        right(&output, 0)?;
        let answer = page()?;
        ensure!(answer == "unix", "the page says {answer:?} after the switch");
        let output = self.output(&["switch", "--undo", "last", "--yes"])?;
        right(&output, 0)?;
        ensure!(fs::read(file)? == text, "the file is another one after undo");
        Ok(Right("moved, and back byte for byte".to_owned()))
    }

    /// Checks that a program under `run` uses the transport that is expected, according to the server's list.
    fn run(&self) -> Result<Cell> {
        let script = script()?.display().to_string();
        let port = self.rig.port.to_string();
        let words = ["run", "-q", "--port", &port, "--", "php", &script, self.rig.dialect(), "127.0.0.1", &port];
        let mut command = self.looptax(&words);
        command.env("HOLD", "1").env("COUNT", format!("{FOLDER}/count"));
        fs::write(format!("{FOLDER}/count"), "")?;
        let program = Running(command.stdout(log()?).stderr(log()?).spawn()?);
        crate::servers::wait_until("the program is not answered", || Ok(counted() > 3))?;
        let seen = self.rig.view()?;
        drop(program);
        // When MySQL has lost its cache of passwords, a login needs TLS or a socket. `run` could find out whether a
        // connection depends on that only if the account were named to it.
        let stays = self.rig.kind == Kind::Mysql;
        ensure!((seen.tcp > 0) == stays && (seen.unix > 0) != stays, "the server saw {seen:?}");
        Ok(Right(if stays { "left on TCP, as documented" } else { "moved" }.to_owned()))
    }

    fn trial(&self) -> Result<Cell> {
        let script = script()?.display().to_string();
        let port = self.rig.port.to_string();
        let url = self.rig.url();
        let way = format!("WAY={} 127.0.0.1 {port}", self.rig.dialect());
        let json = format!("--json={FOLDER}/trial.json");
        let words = [
            "trial",
            "--url",
            "http://127.0.0.1:8090/",
            "--port",
            &port,
            "--login",
            &url,
            "--fixed",
            "6",
            "--yes",
            &json,
        ];
        let command = ["--", "env", &way, "php", "-S", "127.0.0.1:8090", &script];
        let (output, seen) = self.watched(&[&words[..], &command].concat())?;
        if self.rig.kind == Kind::Mysql && output.status.code() != Some(0) {
            ensure!(seen.unix == 0, "the server saw {seen:?}");
            return Ok(Right("not moved, as documented".to_owned()));
        }
        right(&output, 0)?;
        let record: Value = serde_json::from_slice(&fs::read(format!("{FOLDER}/trial.json"))?)?;
        let arms = &record["comparisons"][0]["trial"]["arms"];
        let sum = |arm: usize, what: &str| -> u64 {
            arms[arm]["connections"].as_array().into_iter().flatten().filter_map(|it| it[what].as_u64()).sum()
        };
        ensure!(sum(0, "n_moved") > 0 && sum(0, "n_left") == 0 && sum(1, "n_moved") == 0, "it says {arms}");
        ensure!(seen.unix > 0 && seen.tcp > 0, "the server saw {seen:?}");
        Ok(Right("both seen".to_owned()))
    }

    /// Checks that `why` reports layers for the two arms.
    fn why(&self) -> Result<Cell> {
        if self.rig.kind == Kind::Memcached && self.rig.version == "1.6.9" {
            return Ok(Untried("this memcached is too old for a private server"));
        }
        let name = self.rig.kind.name();
        let target = format!("private:{name}");
        let words = ["why", &target, "--rows", "1000", "-c", "1", "--fixed", "6", "--arms", "unix,tcp"];
        let record = self.record(&words, name)?;
        let layers = &record["comparisons"][0]["why"][0]["layers"];
        ensure!(layers.as_array().is_some_and(|it| !it.is_empty()), "it has no layers");
        Ok(Right(format!("{} layers", layers.as_array().map_or(0, Vec::len))))
    }

    /// Checks that the text of `dsn` for PHP connects over the socket.
    fn dsn(&self) -> Result<Cell> {
        let url = self.rig.url();
        let socket = self.rig.socket.display().to_string();
        let mut words = vec!["dsn", &url, "--json", "--show-password"];
        if matches!(self.rig.kind, Kind::Memcached | Kind::PhpFpm) {
            words.extend(["--socket", &socket]);
        }
        if self.rig.kind == Kind::Http {
            return Ok(Untried("the line that names PHP-FPM in nginx's file is tested in the rows of PHP-FPM"));
        }
        let output = self.output(&words)?;
        right(&output, 0)?;
        let entries: Vec<Value> = serde_json::from_slice(&output.stdout)?;
        let text = |name: &str| {
            entries.iter().find(|it| it["name"] == name).and_then(|it| it["text"].as_str()).map(str::to_owned)
        };
        let folder = self.rig.socket.parent().context("no folder")?.display().to_string();
        let (name, wanted) = match self.rig.kind {
            Kind::Postgres | Kind::Pgbouncer => ("libpq", &folder),
            Kind::Mariadb | Kind::Mysql => ("mysqli", &socket),
            Kind::PhpFpm => ("nginx", &socket),
            Kind::Memcached => ("php-memcached", &socket),
            _ => ("phpredis", &socket),
        };
        let names: Vec<&str> = entries.iter().filter_map(|it| it["name"].as_str()).collect();
        let text = text(name).with_context(|| format!("no {name} among {names:?}"))?;
        ensure!(text.contains(wanted.as_str()), "{name}: {text}");
        if self.rig.kind == Kind::PhpFpm {
            return Ok(Right("nginx's line: see switch".to_owned()));
        }
        let port = self.rig.port.to_string();
        let host = if self.rig.dialect() == "pgsql" { &folder } else { "127.0.0.1" };
        let client =
            Self::client(&[self.rig.dialect(), host, &port, if self.rig.dialect() == "pgsql" { "" } else { &socket }])?;
        if self.rig.kind != Kind::Memcached {
            let view = self.rig.view()?;
            ensure!(view == View { unix: 1, tcp: 0 }, "the server saw {view:?}");
        }
        drop(client);
        Ok(Right("connected by it".to_owned()))
    }
}

fn has_tls_unasked(version: &str) -> bool {
    let mut numbers = version.split('.').filter_map(|it| it.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(11), Some(4))
}

fn log() -> Result<fs::File> {
    Ok(fs::File::options().create(true).append(true).open(format!("{FOLDER}/log"))?)
}

/// Returns how many requests the application has sent.
fn counted() -> u64 {
    fs::read_to_string(format!("{FOLDER}/count")).ok().and_then(|it| it.trim().parse().ok()).unwrap_or(0)
}

fn words_of(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn right(output: &Output, code: i32) -> Result<()> {
    let found = output.status.code();
    ensure!(found == Some(code), "exit code {found:?}, expected {code}: {}", words_of(output));
    Ok(())
}

/// Reads the page of PHP-FPM through nginx.
fn page() -> Result<String> {
    let mut stream = TcpStream::connect("127.0.0.1:8080")?;
    stream.write_all(b"GET /?way HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let body = answer.split("\r\n\r\n").nth(1).context("no page")?;
    Ok(body.trim().to_owned())
}
