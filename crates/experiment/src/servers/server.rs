//! The stages of a private server: it is prepared, launched, checked until it is ready, and stopped.
//!
//! The functions are in the order of these stages; the differences between kinds of server are in `engine`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use looptax_host::waiting;
use looptax_model::dsn::{Kind, Protocol};
use looptax_wire::Login;

use crate::servers::child::{ChildGuard, DROP_GRACE, Waited, end_child};
use crate::servers::engine::{self, Behind, Engine, Launch, Ports, Site};
use crate::servers::pooler::PoolMode;
use crate::servers::process::Process;
use crate::servers::publish::{self, By, Published};
use crate::servers::scratch::Scratch;
use crate::servers::spawn::Program;
use crate::servers::{Reaper, ServerError, account, binary, certificate, kind, ready};

/// Connections with which looptax inspects the server, in addition to the measured connections.
const N_CONTROL_CONNECTIONS: u32 = 16;

/// Maximum number of launches if the port is already in use; each launch has a new port. The kernel assigns ports in
/// random order, so a second collision is rare, and a third collision has another cause than chance.
const LAUNCH_TRIES: usize = 3;

/// Time limit for preparing the data folder: MySQL takes 5 to 20 s on a slow disk, other servers one to two seconds.
const PREPARE_LIMIT: Duration = Duration::from_secs(2 * 60);

/// How long a server may take to end after looptax has asked it to end.
const STOP_GRACE: Duration = Duration::from_secs(10);

/// The server to start, and the load for which the server is prepared.
#[derive(Debug, Clone)]
pub struct Config {
    pub kind: Kind,
    /// The path of the looptax program, which is also the program of the echo server.
    pub self_exe: PathBuf,
    /// The folder in which the scratch folder is made: `/tmp`.
    pub scratch_root: PathBuf,
    /// Maximum number of simultaneous measured connections, of all arms together.
    pub max_connections: u32,
    /// Number of rows that the server will hold; the size of its cache depends on it.
    pub rows: u32,
    /// Addresses on which the server listens in addition to its socket and 127.0.0.1.
    pub listening: Listening,
    pub pool_mode: PoolMode,
}

impl Config {
    /// Returns the number of connections that the server must accept, including looptax's control connections.
    fn n_connections(&self) -> u32 {
        self.max_connections.saturating_add(N_CONTROL_CONNECTIONS)
    }
}

/// Ways to reach a private server in addition to its socket and 127.0.0.1.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listening {
    /// Further addresses, with the same port as on 127.0.0.1.
    pub addresses: Vec<IpAddr>,
    /// Whether the server has TLS, with a certificate made for this server; not possible for memcached and echo.
    pub has_tls: bool,
    /// Whether the server has an abstract socket besides its socket file; possible only for PostgreSQL and echo.
    pub has_abstract: bool,
}

/// One process of a private server, and the addresses on which it listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    pub pid: u32,
    pub socket: Option<PathBuf>,
    /// The address on 127.0.0.1, if the process has one.
    pub tcp: Option<SocketAddr>,
    /// The address for TLS, if the process has TLS: either the same address as without TLS, or an address with a
    /// separate port.
    pub tls: Option<SocketAddr>,
    /// The abstract socket's name without the zero byte before it, if the process has one.
    pub abstract_name: Option<Vec<u8>>,
}

/// A running server that looptax started. When dropped, the server is stopped and leaves nothing behind.
#[derive(Debug)]
pub struct PrivateServer {
    pub kind: Kind,
    pub protocol: Protocol,
    /// The version that the server reports: `10.11.19-MariaDB-0+deb12u1`.
    pub version: String,
    /// The server's process id. PostgreSQL: the id of the postmaster. memcached: the id of the first process.
    pub pid: u32,
    /// The socket on which the server listens. memcached: the socket of the first process that has a socket.
    pub socket: PathBuf,
    /// The TCP address on 127.0.0.1 on which the server listens. memcached: the address of the first process that has
    /// such an address.
    pub tcp: SocketAddr,
    /// The server's processes: a single process that listens on both transports; for memcached four processes that
    /// listen on one transport each.
    pub instances: Vec<Instance>,
    /// The login for both transports. The echo server and memcached have no login.
    pub login: Login,
    /// If the server offers TLS: the certificate of the authority that signed the server's certificate, in DER.
    pub authority: Option<Vec<u8>>,
    /// The server's settings that differ from the defaults, for the record.
    pub settings: Vec<(String, String)>,
    /// The processes to end; companions come first, so that they end first.
    running: Vec<(Child, Process)>,
    /// The processes of a pooler. If there are any, `socket` and `tcp` belong to the first of these processes, and
    /// `pid` is the process of the server behind the pooler.
    pub pooler_pids: Vec<u32>,
    /// The role of each companion, such as `port proxy`.
    companions: Vec<&'static str>,
    is_stopped: bool,
    // The last field, because fields are dropped in order: the folder is removed after the processes have ended.
    scratch: Scratch,
}

impl PrivateServer {
    /// Starts the server, and waits until it is ready on both transports.
    ///
    /// Call this function from a thread that lives as long as the server, such as the main thread: the kernel sends the
    /// server's death signal when the calling thread ends.
    ///
    /// # Errors
    /// [`ServerError::BinaryMissing`] if no program of this kind is installed; [`ServerError::Initialise`],
    /// [`ServerError::Exited`] and [`ServerError::NotReady`], each with the end of the server's log;
    /// [`ServerError::PathTooLong`] and [`ServerError::Scratch`] for the folder; [`ServerError::Stopped`] after a
    /// signal. Nothing is left behind in any case.
    pub fn start(config: &Config, reaper: &Reaper) -> Result<Self, ServerError> {
        let kind = config.kind;
        let protocol = kind::protocol_of(kind)?;
        // A pooler is started together with the server behind it; for clients the two are one server.
        let behind = kind.facts().pools.unwrap_or(kind);
        let engine = engine_of(behind);
        let (binary, version) = program_of(config, behind)?;
        let scratch = Scratch::create(&config.scratch_root, account::account_for(kind)?, reaper)?;
        let login = Login { database: (engine.place)(&scratch), ..new_login(engine)? };
        let site = Site {
            kind: behind,
            engine,
            protocol,
            binary,
            scratch: &scratch,
            login: login.clone(),
            // A pooler has a separate pool for each of its two transports to the server.
            n_connections: config.n_connections() * (1 + u32::from(kind.is_pooler())),
            n_rows: config.rows,
            listening: config.listening.clone(),
            behind: None,
        };
        let authority = { site.listening.has_tls }.then(|| certificate::write(&scratch)).transpose()?;
        let launched = launch_all(&site)?;
        for name in engine.spent_files {
            scratch.remove_file(name)?;
        }
        let instances: Vec<Instance> = launched.iter().map(Running::instance).collect();
        let settings = launched[0].launch.settings.clone();
        let running = launched.into_iter().map(|it| it.guard.keep()).collect();
        let server = Self {
            kind: behind,
            protocol,
            version,
            pid: instances[0].pid,
            socket: first(&instances, |it| it.socket.clone()),
            tcp: first(&instances, |it| it.tcp),
            instances,
            login,
            authority,
            settings,
            running,
            companions: Vec::new(),
            pooler_pids: Vec::new(),
            is_stopped: false,
            scratch,
        };
        if kind.is_pooler() {
            return server.pooled(config);
        }
        Ok(server)
    }

    /// Adds a pooler in front of the server; clients then connect to the pooler.
    fn pooled(mut self, config: &Config) -> Result<Self, ServerError> {
        let (binary, version) = program_of(config, config.kind)?;
        let site = Site {
            kind: config.kind,
            engine: engine_of(config.kind),
            protocol: self.protocol,
            binary,
            scratch: &self.scratch,
            login: self.login.clone(),
            n_connections: config.n_connections(),
            n_rows: config.rows,
            listening: Listening::default(),
            behind: Some(Behind { mode: config.pool_mode, socket: self.socket.clone(), tcp: self.tcp }),
        };
        let launched = launch_all(&site)?;
        let instances = launched.iter().map(|it| Instance { pid: self.pid, ..it.instance() });
        self.instances = instances.collect();
        self.pooler_pids = launched.iter().map(|it| it.guard.pid()).collect();
        self.settings.extend(launched[0].launch.settings.clone());
        let children: Vec<_> = launched.into_iter().map(|it| it.guard.keep()).collect();
        let behind = std::mem::replace(&mut self.version, version);
        self.settings.push((self.kind.to_string(), behind));
        self.kind = config.kind;
        self.socket = first(&self.instances, |it| it.socket.clone());
        self.tcp = first(&self.instances, |it| it.tcp);
        for child in children {
            self.accompany("pooler", child);
        }
        Ok(self)
    }

    /// Starts a port proxy in the calling thread's network namespace. The proxy ends together with the server. Returns
    /// the process id of the proxy.
    ///
    /// Call it from the thread that started the server.
    ///
    /// # Errors
    /// [`ServerError::Spawn`], or [`ServerError::Proxy`] if it does not start to listen.
    pub fn publish(&mut self, port: Published, by: By, self_exe: &Path) -> Result<u32, ServerError> {
        let proxy = publish::start(port, by, self_exe, &self.scratch)?.keep();
        Ok(self.accompany("port proxy", proxy))
    }

    /// Takes over a child process that works for the server. The child then ends together with the server. Returns the
    /// child's process id.
    pub(crate) fn accompany(&mut self, role: &'static str, child: (Child, Process)) -> u32 {
        let pid = child.1.pid;
        self.running.insert(0, child);
        self.companions.insert(0, role);
        pid
    }

    /// Returns the server's folder, which also holds the files of its companions.
    pub(crate) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// Asks the server to end, kills it if it does not end, and removes its folder.
    ///
    /// # Errors
    /// [`ServerError::Immortal`] if the server did not end even after it was killed; [`ServerError::Scratch`] if the
    /// folder cannot be removed. In both cases the reaper tries again when looptax ends.
    pub fn stop(mut self) -> Result<(), ServerError> {
        let is_hurried = waiting::has_stopped();
        self.end(if is_hurried { DROP_GRACE } else { STOP_GRACE })?;
        // When the destructor runs after this call, the server has already been stopped and the folder removed.
        self.scratch.remove()
    }

    /// Returns how the server ended, with the end of its log; `None` while the server runs.
    pub fn has_exited(&mut self) -> Option<String> {
        let mut running = self.running.iter_mut().enumerate();
        let (idx, status) = running.find_map(|(idx, (child, _))| Some((idx, child.try_wait().ok().flatten()?)))?;
        let who = match self.companions.get(idx) {
            Some(role) => format!("the server's {role}"),
            None => format!("the server {}", self.kind),
        };
        Some(format!("{who} ended ({status}); the end of its log:\n{}", self.log_tail()))
    }

    pub fn log_tail(&self) -> String {
        self.scratch.log_tail()
    }

    /// Returns the server's scratch folder, which contains its socket and data.
    pub fn folder(&self) -> &Path {
        self.scratch.folder()
    }

    fn end(&mut self, grace: Duration) -> Result<(), ServerError> {
        if self.is_stopped {
            return Ok(());
        }
        // All processes are asked to end, even if one of them survives.
        let mut immortal = None;
        for (child, process) in &mut self.running {
            if !end_child(child, *process, &self.scratch, grace) {
                immortal = Some(process.pid);
            }
        }
        self.is_stopped = immortal.is_none();
        match immortal {
            None => Ok(()),
            Some(pid) => Err(ServerError::Immortal { kind: self.kind, pid }),
        }
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // If the processes cannot be ended, the reaper tries again.
        self.end(DROP_GRACE).ok();
    }
}

struct Running<'a> {
    guard: ChildGuard<'a>,
    launch: Launch,
}

impl Running<'_> {
    fn instance(&self) -> Instance {
        Instance {
            pid: self.guard.pid(),
            socket: self.launch.socket.clone(),
            tcp: self.launch.tcp,
            tls: self.launch.tls,
            abstract_name: self.launch.abstract_name.clone(),
        }
    }
}

/// Returns the value of the first process that has this value.
fn first<T>(instances: &[Instance], pick: impl Fn(&Instance) -> Option<T>) -> T {
    let found = instances.iter().find_map(pick);
    found.expect("every kind listens on a socket and on TCP, with one process or with several")
}

fn program_of(config: &Config, kind: Kind) -> Result<(PathBuf, String), ServerError> {
    if kind::programs(kind).is_empty() {
        return Ok((config.self_exe.clone(), env!("CARGO_PKG_VERSION").to_owned()));
    }
    let binary = binary::require_binary(kind)?;
    let version = binary::version_of(&binary);
    Ok((binary, version))
}

fn new_login(engine: &Engine) -> Result<Login, ServerError> {
    let mut login = Login { user: engine.user.to_owned(), is_for_own_server: true, ..Login::default() };
    if engine.has_password {
        login.password = account::random_secret()?;
    }
    Ok(login)
}

fn engine_of(kind: Kind) -> &'static Engine {
    engine::of(kind).expect("a kind that can be started has a recipe")
}

/// Prepares the server and launches all its processes.
fn launch_all<'a>(site: &Site<'a>) -> Result<Vec<Running<'a>>, ServerError> {
    for program in (site.engine.prepare)(site)? {
        run_to_end(site, &program)?;
    }
    let processes = 0..site.engine.n_instances;
    processes.map(|idx| launch_on_a_free_port(site, idx)).collect()
}

/// Runs one program of the preparation.
fn run_to_end(site: &Site<'_>, program: &Program) -> Result<(), ServerError> {
    let failed =
        |status: String| ServerError::Initialise { kind: site.kind, status, log_tail: site.scratch.log_tail() };
    let mut guard = ChildGuard::spawn(program, site.engine.stop_signal, site.scratch)?;
    match guard.wait(PREPARE_LIMIT, |_| false) {
        Ok(Waited::Ended(status)) if status.success() => Ok(()),
        Ok(Waited::Ended(status)) => Err(failed(status.to_string())),
        Ok(Waited::Ready | Waited::TooLong) => Err(failed(format!("still running after {PREPARE_LIMIT:?}"))),
        Err(stopped) => {
            // On SIGTERM, `initdb` and `mariadb-install-db` end only after the step that they are waiting for, so the
            // whole process group is killed.
            guard.kill_group();
            Err(stopped)
        }
    }
}

/// Launches the process. If another process has already taken the port, launches it again with another port.
fn launch_on_a_free_port<'a>(site: &Site<'a>, idx: usize) -> Result<Running<'a>, ServerError> {
    let mut n_tries = 1;
    loop {
        let ports = Ports { plain: free_address()?, tls: free_address()? };
        match launch_once(site, idx, ports) {
            Err(ServerError::Exited { log_tail, .. })
                if n_tries < LAUNCH_TRIES && log_tail.contains("ddress already in use") =>
            {
                n_tries += 1;
            }
            outcome => return outcome,
        }
    }
}

/// Launches one process. Then checks it until it is ready, until it has ended, or until the time limit has passed.
fn launch_once<'a>(site: &Site<'a>, idx: usize, ports: Ports) -> Result<Running<'a>, ServerError> {
    let kind = site.kind;
    let launch = (site.engine.launch)(site, idx, ports)?;
    let mut guard = ChildGuard::spawn(&launch.program, site.engine.stop_signal, site.scratch)?;
    let limit = site.engine.ready_limit;
    let waited = guard.wait(limit, |pid| {
        let (socket, tcp) = (launch.socket.as_deref(), launch.tcp);
        ready::is_ready(site.protocol, &site.login, socket, tcp, pid)
    })?;
    match waited {
        Waited::Ready => Ok(Running { guard, launch }),
        Waited::Ended(status) => {
            Err(ServerError::Exited { kind, status: status.to_string(), log_tail: site.scratch.log_tail() })
        }
        Waited::TooLong => Err(ServerError::NotReady { kind, after: limit, log_tail: site.scratch.log_tail() }),
    }
}

/// Returns an address of 127.0.0.1 whose port is free at this moment.
fn free_address() -> Result<SocketAddr, ServerError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map_err(|source| ServerError::Port { source })
}
