//! Shared by the tests: the program in a scratch folder, and running servers that belong to one test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::LazyLock;
use std::time::Duration;

use looptax_bench::path::{Conversation, Endpoint, Limits};
use looptax_experiment::servers::pooler::PoolMode;
use looptax_experiment::servers::{Config, Listening, PrivateServer, Reaper, find_binary};
use looptax_model::dsn::{Kind, Protocol};
use looptax_testkit::programs::for_everybody;
use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use looptax_testkit::skips::skip;
use looptax_wire::redis;
use serde_json::Value;

/// Six epochs of ten-millisecond slices with one connection: the shortest run with an interval.
pub(crate) const SHORT: [&str; 11] =
    ["-c", "1", "--fixed", "6", "--slice-ms", "10", "--rows", "100", "-q", "--warm-up", "0s"];

/// Limits for a test's preparations on a server, which take several times as long on a busy machine.
const PATIENT: Limits = Limits { connect: Duration::from_secs(30), io: Duration::from_secs(60) };

pub(crate) fn exe() -> &'static Path {
    static EXE: LazyLock<PathBuf> = LazyLock::new(|| for_everybody(Path::new(env!("CARGO_BIN_EXE_looptax"))));
    &EXE
}

/// Returns `looptax compare` in `scratch`, with its record in `r.json`.
pub(crate) fn compare(scratch: &Scratch) -> Looptax<'_> {
    Looptax::new(exe(), scratch).args(["compare", "-o", "r.json"])
}

/// Returns the record that a run of [`compare`] has written.
#[track_caller]
pub(crate) fn saved(scratch: &Scratch) -> Value {
    serde_json::from_slice(&fs::read(scratch.file("r.json")).unwrap()).unwrap()
}

/// Expects that these arguments are refused with one error that contains all of `words`, with a hint, and with nothing
/// left behind.
#[track_caller]
pub(crate) fn check_refused(args: &[&str], words: &[&str]) {
    let scratch = Scratch::new();
    let run = compare(&scratch).args(args).run();
    run.expect_error(2, words);
    scratch.check_nothing_left();
}

/// Whether a kind of server is installed; prints a message if not.
pub(crate) fn is_installed(kind: Kind) -> bool {
    let is_there = kind == Kind::Echo || find_binary(kind).is_some();
    if !is_there {
        skip(&format!("{kind} is not installed"));
    }
    is_there
}

/// Whether a tool is on PATH; prints a message if not.
pub(crate) fn is_there(program: &str) -> bool {
    is_there_for(program, program)
}

/// Whether a tool is on PATH; if not, prints that `what` is not installed.
pub(crate) fn is_there_for(what: &str, program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !is_there {
        skip(&format!("{what} is not installed"));
    }
    is_there
}

/// Returns the output of a tool for `--version`; `None` if the tool is missing.
pub(crate) fn version_of(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether the tests run as root; prints a message if not.
pub(crate) fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skip("needs root");
    }
    is_root
}

/// Runs a script in its own network namespace, where it sees no runs of other tests; `None` if that is not possible.
pub(crate) fn run_in_own_network(scratch: &Scratch, script: &str) -> Option<Finished> {
    if !is_root() || !is_there("unshare") || !is_there("ip") {
        return None;
    }
    let script = format!("ip link set lo up\n{script}");
    let words = ["--net", "bash", "-c", &script];
    Some(Looptax::new("unshare", scratch).args(words).run())
}

/// A child process that is killed when this value is dropped.
pub(crate) struct Alive(pub(crate) Child);

impl Alive {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A server that runs next to the program under test, as if it belonged to another user.
pub(crate) struct Server {
    // Fields are dropped in this order, which is the order in which they have to end.
    pub(crate) it: PrivateServer,
    _reaper: Reaper,
    _scratch: Scratch,
}

impl Server {
    /// Starts a server; `None` if its kind is not installed.
    pub(crate) fn start(kind: Kind) -> Option<Self> {
        Self::start_for(kind, 20)
    }

    /// Starts a server that allows few connections: this number and some spare ones.
    pub(crate) fn start_for(kind: Kind, max_connections: u32) -> Option<Self> {
        Self::start_listening(kind, max_connections, Listening::default())
    }

    pub(crate) fn start_listening(kind: Kind, max_connections: u32, listening: Listening) -> Option<Self> {
        Self::start_changed(kind, Scratch::new(), |config| {
            config.max_connections = max_connections;
            config.listening = listening;
        })
    }

    /// Starts a server whose socket is below this folder.
    pub(crate) fn start_below(kind: Kind, folder: &str) -> Option<Self> {
        Self::start_changed(kind, Scratch::below(Path::new(folder)), |_| {})
    }

    pub(crate) fn start_pooling(mode: PoolMode) -> Option<Self> {
        Self::start_changed(Kind::Pgbouncer, Scratch::new(), |config| {
            config.pool_mode = mode;
        })
    }

    fn start_changed(kind: Kind, scratch: Scratch, change: impl FnOnce(&mut Config)) -> Option<Self> {
        if !is_installed(kind) {
            return None;
        }
        let mut config = Config {
            kind,
            self_exe: exe().to_owned(),
            scratch_root: scratch.tmp(),
            max_connections: 20,
            rows: 100,
            listening: Listening::default(),
            pool_mode: PoolMode::default(),
        };
        change(&mut config);
        let reaper = Reaper::start(&config.self_exe).unwrap();
        Some(Self { it: PrivateServer::start(&config, &reaper).unwrap(), _reaper: reaper, _scratch: scratch })
    }

    pub(crate) fn password(&self) -> &str {
        self.it.login.password.reveal()
    }

    pub(crate) fn url(&self) -> String {
        self.url_with(self.password())
    }

    pub(crate) fn url_with(&self, password: &str) -> String {
        let scheme = match self.protocol() {
            Protocol::Mysql => "mysql",
            Protocol::Postgres => "postgres",
            Protocol::Fastcgi => "fastcgi",
            Protocol::Http => "http",
            Protocol::Mongodb => "mongodb",
            Protocol::Redis | Protocol::Memcached | Protocol::Echo => "redis",
        };
        let login = &self.it.login;
        let database = login.database.clone().unwrap_or_default();
        format!("{scheme}://{}:{password}@{}/{database}", login.user, self.it.tcp)
    }

    pub(crate) fn socket(&self) -> String {
        self.it.socket.to_str().unwrap().to_owned()
    }

    fn protocol(&self) -> Protocol {
        self.it.protocol
    }

    /// Lets every account connect to the socket, as Debian's servers do. By default only the owner can connect to a
    /// private server.
    pub(crate) fn open_to_all(&self) {
        let socket = &self.it.socket;
        for (path, mode) in [(socket.as_path(), 0o777), (socket.parent().unwrap(), 0o755)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    }

    pub(crate) fn compare<'a>(&self, scratch: &'a Scratch) -> Looptax<'a> {
        compare(scratch).args([self.url(), "--yes".to_owned()]).args(SHORT)
    }

    /// Opens a separate connection for the test.
    pub(crate) fn talk(&self) -> Conversation {
        let endpoint = Endpoint::unix(&self.it.socket).unwrap();
        Conversation::open(self.protocol(), &endpoint, &self.it.login, PATIENT).unwrap()
    }

    /// Returns the first column of a query's result.
    pub(crate) fn column(&self, sql: &str) -> Vec<String> {
        let rows = self.talk().query(sql).unwrap();
        rows.into_iter().filter_map(|row| row[0].clone()).collect()
    }

    /// Returns the databases or schemas that looptax made.
    pub(crate) fn scratch_places(&self) -> Vec<String> {
        self.column(
            "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'looptax\\_scratch\\_%'",
        )
    }

    /// Returns the answer of a Redis server as text.
    pub(crate) fn redis(&self, words: &[&str]) -> String {
        let command = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        match self.talk().pipeline(&[command]).unwrap().remove(0) {
            redis::Value::Bulk(Some(bytes)) => String::from_utf8(bytes).unwrap(),
            redis::Value::Integer(number) => number.to_string(),
            redis::Value::Simple(text) => text,
            other => panic!("{words:?} gave {other:?}"),
        }
    }
}
