//! `looptax switch APPLICATION SERVER`: a server without a socket gets one, and its application then uses it.
//!
//! Each server has the configuration file of Debian's package, and an application that queries it all the time
//! (`scene.sh`, `client.py`). The application's own output and the kernel's list of connections show what the
//! application does.

mod joins;
mod killed;
mod refused;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use looptax_testkit::patience::wait_for;
use looptax_testkit::ports::free_address;
use looptax_testkit::programs;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;
use looptax_testkit::skips::skip;

use crate::fixture::{exe, is_root, is_there_for};

/// Time limit for the start of a server and for the first answers to its application.
const SOON: Duration = Duration::from_secs(60);

struct Scene {
    scratch: Scratch,
    kind: &'static str,
    port: u16,
    /// The server's own file, then the application's file.
    own: PathBuf,
    app: PathBuf,
    before: [Vec<u8>; 2],
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ended = self.script().arg("end").status();
        let _stopped = self.script().args(["stop", "all"]).status();
    }
}

impl Scene {
    /// Makes a scene; `None` if the server is not installed, or if the tests do not run as root.
    fn new(kind: &'static str) -> Option<Self> {
        let (program, own, app) = match kind {
            "redis" => ("redis-server", "redis.conf", ".env"),
            "valkey" => ("valkey-server", "redis.conf", ".env"),
            "memcached" => ("memcached", "memcached.conf", "php.ini"),
            "mariadb" => ("mariadbd", "50-server.cnf", "my.cnf"),
            "mysql" => ("mysqld", "50-server.cnf", "my.cnf"),
            "postgres" => ("psql", "postgresql.conf", "pg_service.conf"),
            "pgbouncer" => ("pgbouncer", "pgbouncer.ini", "pg_service.conf"),
            "pgpool" => ("pgpool", "pgpool.conf", "pg_service.conf"),
            _ => panic!("{kind} is not known"),
        };
        if !is_root() || !is_there_for(kind, program) || kind == "mysql" && is_mariadb() {
            return None;
        }
        let scratch = Scratch::new();
        let folder = scratch.file("s");
        fs::create_dir(&folder).unwrap();
        for (name, text) in [("scene.sh", include_str!("scene.sh")), ("client.py", include_str!("client.py"))] {
            programs::write(folder.join(name), text);
        }
        // The next two ports are for a pooler's server and for the pooler's own commands.
        let port = free_address().port();
        let _others = [free_address(), free_address()];
        let (own, app) = (folder.join("etc").join(own), folder.join("app").join(app));
        let mut scene = Self { scratch, kind, port, own, app, before: [Vec::new(), Vec::new()] };
        for what in ["make", "begin"] {
            let ended = scene.script().arg(what).status().unwrap();
            assert!(ended.success(), "{kind} {what}: {}", fs::read_to_string(folder.join("out")).unwrap_or_default());
        }
        scene.before = scene.files();
        scene.expect_answers();
        Some(scene)
    }

    fn folder(&self) -> PathBuf {
        self.scratch.file("s")
    }

    fn script(&self) -> Command {
        let mut command = Command::new(self.folder().join("scene.sh"));
        command.arg(self.folder()).args([self.kind, &self.port.to_string()]);
        command
    }

    /// Returns the command of `script` as a line for a shell, with `what` as its last argument.
    fn line(&self, what: &str) -> String {
        let folder = self.folder();
        format!("{0}/scene.sh {0} {1} {2} {what}", folder.display(), self.kind, self.port)
    }

    fn files(&self) -> [Vec<u8>; 2] {
        [&self.own, &self.app].map(|it| fs::read(it).unwrap())
    }

    fn socket(&self) -> PathBuf {
        let run = self.folder().join("run");
        match self.kind {
            "postgres" | "pgbouncer" | "pgpool" => run.join(format!(".s.PGSQL.{}", self.port)),
            _ => run.join("server.sock"),
        }
    }

    fn looptax(&self, words: &[&str]) -> Looptax<'_> {
        let data = self.scratch.file("data");
        let words: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
        Looptax::new(exe(), &self.scratch).args(["switch", "--yes"]).args(words).env("XDG_DATA_HOME", data)
    }

    /// Returns the switch of both files, in this order, without the commands that restart server and application.
    fn plain(&self, files: [&Path; 2]) -> Looptax<'_> {
        let socket = self.socket();
        let [one, other, socket] = [files[0], files[1], &socket].map(|it| it.to_str().unwrap());
        let looptax = self.looptax(&[one, other, "--socket", socket, "--no-times", "--within", "30s"]);
        looptax.args(if self.app.ends_with(".env") { &["--as", "sidekiq"][..] } else { &[] })
    }

    fn switch(&self, files: [&Path; 2]) -> Looptax<'_> {
        self.plain(files).args(self.anew())
    }

    fn undo(&self) -> Looptax<'_> {
        self.looptax(&["--undo", "last"]).args(self.anew())
    }

    /// Returns the options with the commands that restart the server and the application.
    fn anew(&self) -> [String; 3] {
        [format!("--restart={}", self.line("restart")), "--reload".to_owned(), self.line("reload")]
    }

    /// Appends lines to the server's own file, and restarts the server with it.
    #[track_caller]
    fn write_own(&mut self, lines: &str) {
        let text = fs::read_to_string(&self.own).unwrap();
        fs::write(&self.own, format!("{text}\n{lines}")).unwrap();
        assert!(self.script().arg("restart").status().unwrap().success());
        self.before = self.files();
        self.expect_answers();
    }

    fn n_answers(&self) -> usize {
        fs::read_to_string(self.folder().join("app/answers")).unwrap_or_default().lines().count()
    }

    /// Waits until the application has got further answers.
    #[track_caller]
    fn expect_answers(&self) {
        let n = self.n_answers();
        wait_for("three answers", SOON, || (self.n_answers() >= n + 3).then_some(()));
    }

    /// Returns the number of open connections to the server's port, from the kernel's list.
    fn n_over_tcp(&self) -> usize {
        let to = format!("0100007F:{:04X}", self.port);
        let table = fs::read_to_string("/proc/net/tcp").unwrap();
        let columns = table.lines().map(|line| line.split_whitespace().collect::<Vec<&str>>());
        // The columns are the remote address and the state, which is "established".
        columns.filter(|it| it.get(2) == Some(&&*to) && it.get(3) == Some(&"01")).count()
    }

    #[track_caller]
    fn expect_only_the_socket(&self) {
        let n = self.n_answers();
        wait_for("five answers", SOON, || {
            assert_eq!(self.n_over_tcp(), 0, "the application is over TCP");
            (self.n_answers() >= n + 5).then_some(())
        });
    }

    #[track_caller]
    fn expect_as_before(&self) {
        assert!(self.files() == self.before, "not the same bytes as before");
        wait_for("a connection over TCP", SOON, || (self.n_over_tcp() > 0).then_some(()));
        self.expect_answers();
    }
}

/// Whether `mysqld` on this machine is MariaDB.
fn is_mariadb() -> bool {
    let told = Command::new("mysqld").arg("--version").output().unwrap();
    let is_mariadb = String::from_utf8_lossy(&told.stdout).contains("MariaDB");
    if is_mariadb {
        skip("mysql is not installed");
    }
    is_mariadb
}

#[track_caller]
fn moved_and_back(kind: &'static str) {
    let Some(scene) = Scene::new(kind) else { return };
    let files = [&*scene.app, &scene.own];
    let moved = scene.switch(files).run();
    moved.expect_code(0);
    assert!(moved.words().contains("moved and proved"), "{}", moved.stdout);
    assert!(!moved.words().contains("beware"), "nothing of it is in these files: {}", moved.stdout);
    scene.expect_only_the_socket();

    scene.undo().run().expect_code(0);
    scene.expect_as_before();
}

#[test]
fn redis_as_debian_ships_it_gets_a_socket_and_the_application_takes_it() {
    moved_and_back("redis");
}

#[test]
fn valkey_gets_a_socket_and_the_application_takes_it() {
    moved_and_back("valkey");
}

#[test]
fn memcached_as_debian_ships_it_gets_a_socket_and_its_only_application_takes_it() {
    moved_and_back("memcached");
}

#[test]
fn mariadb_whose_socket_is_off_gets_one_and_the_application_takes_it() {
    moved_and_back("mariadb");
}

#[test]
fn mysql_whose_socket_is_off_gets_one_and_the_application_takes_it() {
    moved_and_back("mysql");
}

#[test]
fn postgres_whose_socket_is_off_gets_one_and_the_application_takes_it() {
    moved_and_back("postgres");
}

#[test]
fn pgbouncer_whose_socket_is_off_gets_one_and_the_application_takes_it() {
    moved_and_back("pgbouncer");
}

#[test]
fn the_file_of_a_server_that_has_a_socket_stays() {
    let Some(scene) = Scene::new("pgpool") else { return };
    let moved = scene.switch([&scene.own, &scene.app]).run();
    moved.expect_code(0);
    assert_eq!(scene.files()[0], scene.before[0]);
    assert_ne!(scene.files()[1], scene.before[1]);
    scene.expect_only_the_socket();
    scene.undo().run().expect_code(0);
    scene.expect_as_before();
}

/// looptax ignored the queue of a socket that did not exist yet, and the plan did not make it long enough for all
/// workers.
#[track_caller]
fn a_longer_queue(kind: &'static str, line: &str) {
    if let Some(scene) = Scene::new(kind) {
        expect_a_longer_queue(&scene, line);
    }
}

#[track_caller]
fn expect_a_longer_queue(scene: &Scene, line: &str) {
    let files = [&*scene.app, &scene.own];
    let enough = scene.switch(files).args(["--dry-run", "-c", "5"]).run();
    assert!(!enough.stdout.contains("backlog") && !enough.stdout.contains("+ -b"), "{}", enough.stdout);
    let moved = scene.switch(files).args(["-c", "1300"]).run();
    moved.expect_code(0);
    assert!(moved.stdout.contains(line), "{}", moved.stdout);
    let app = scene.app.to_str().unwrap();
    let check = Looptax::new(exe(), &scene.scratch).args(["check", app, "-c", "1300", "--verbose"]);
    let check = check.args(if scene.app.ends_with(".env") { &["--as", "sidekiq"][..] } else { &[] }).run();
    assert!(check.words().contains("1301 connections may wait, and 1300 arrive together"), "{}", check.stdout);
    scene.undo().run().expect_code(0);
    scene.expect_as_before();
}

#[test]
fn r49_redis_gets_a_queue_that_takes_all_workers() {
    a_longer_queue("redis", "+ tcp-backlog 1300");
}

#[test]
fn r49_valkey_gets_a_queue_that_takes_all_workers() {
    a_longer_queue("valkey", "+ tcp-backlog 1300");
}

#[test]
fn r49_memcached_gets_a_queue_that_takes_all_workers() {
    a_longer_queue("memcached", "+ -b 1300");
}

#[test]
fn r49_mariadb_gets_a_queue_that_takes_all_workers() {
    a_longer_queue("mariadb", "+ back_log = 1300");
}

#[test]
fn r49_mysql_gets_a_queue_that_takes_all_workers() {
    let Some(mut scene) = Scene::new("mysql") else { return };
    // Without this line MySQL 9.7 uses a queue of 10,000, which only the kernel limits.
    scene.write_own("[mysqld]\nback_log = 80\n");
    expect_a_longer_queue(&scene, "+ back_log = 1300");
}

#[test]
fn r49_pgbouncer_gets_a_queue_that_takes_all_workers() {
    a_longer_queue("pgbouncer", "+ listen_backlog = 1300");
}

/// The file of a server that had a socket was not changed, so the application stayed on TCP because of the short queue.
#[test]
fn r49_a_server_that_has_a_socket_gets_a_longer_queue_only_if_that_is_too_short() {
    let Some(mut scene) = Scene::new("mariadb") else { return };
    scene.write_own(&format!("[mysqld]\nsocket = {}\n", scene.socket().display()));
    let files = [&*scene.app, &scene.own];
    let moved = scene.switch(files).args(["-c", "1300"]).run();
    moved.expect_code(0);
    let lines: Vec<&str> = moved.stdout.lines().map(str::trim).filter(|it| it.starts_with("+ ")).collect();
    assert!(lines[0] == "+ back_log = 1300" && lines.len() == 3, "{}", moved.stdout);
    scene.expect_only_the_socket();
    let again = scene.switch(files).args(["-c", "1300"]).run();
    again.expect_code(0);
    assert!(again.words().contains("on the socket already"), "{}", again.stdout);
    scene.undo().run().expect_code(0);
    scene.expect_as_before();
}

/// Pgpool-II asks for a queue of 10,000 on its socket, which the kernel limits; no setting changes that.
#[test]
fn r49_pgpool_s_queue_is_said_as_the_kernel_has_it() {
    let Some(scene) = Scene::new("pgpool") else { return };
    let kernel: u32 = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap().trim().parse().unwrap();
    let app = scene.app.to_str().unwrap();
    let check = |n: u32| {
        let looptax = Looptax::new(exe(), &scene.scratch);
        looptax.args(["check", app, "--verbose", "-c", &n.to_string()]).run().words()
    };
    let (most, n) = (kernel.min(10_000), kernel + 2);
    let enough = check(most + 1);
    assert!(enough.contains(&format!("{0} connections may wait, and {0} arrive together", most + 1)), "{enough}");
    let stays = scene.switch([&scene.app, &scene.own]).args(["-c", &n.to_string()]).run();
    stays.expect_code(1);
    let words = stays.words();
    assert!(words.contains(&format!("too small for {n} connections")), "{words}");
    assert!(words.contains("raise `net.core.somaxconn` (Pgpool-II's socket uses at most 10,000)"), "{words}");
    scene.expect_as_before();
}

#[test]
fn r49_what_no_file_of_the_server_sets_is_only_said() {
    if let Some(scene) = Scene::new("postgres") {
        let stays = scene.switch([&scene.app, &scene.own]).args(["-c", "1300"]).run();
        stays.expect_code(1);
        let words = stays.words();
        assert!(words.contains("too small for 1300 connections") && words.contains("`max_connections`"), "{words}");
        scene.expect_as_before();
    }
    let Some(scene) = Scene::new("redis") else { return };
    let kernel: u32 = fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap().trim().parse().unwrap();
    let n = kernel + 2;
    let stays = scene.switch([&scene.app, &scene.own]).args(["-c", &n.to_string()]).run();
    stays.expect_code(1);
    assert!(stays.words().contains(&format!("sysctl net.core.somaxconn={n} (now {kernel})")), "{}", stays.stdout);
    scene.expect_as_before();
}
