//! Tests the processes of `run`: each is killed before any of its calls, or one of its calls fails. The program must
//! get all its answers, or end together with looptax, and no process may hang or remain.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result};
use libc::{EACCES, EAGAIN, ECONNREFUSED, EINTR, EIO, EMFILE, ENOENT, ENOMEM, EPERM, c_long};
use looptax_redirect::{
    Config, Exit, Features, Mapping, Program, Route, SocketName, Surroundings, Switches, probe, run,
};
use looptax_testkit::dice::Dice;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{ForkResult, Pid, fork};

use super::trace::{self, End, Fate};

/// The program's exit code after it has got all its answers.
const ANSWERED: i32 = 7;
/// looptax's exit code if it did not start the program, or cannot continue.
const FAILED: i32 = 125;

/// The calls with number, name and errors, from section 2 of the man pages.
const CALLS: [(c_long, &str, &[i32]); 24] = [
    (libc::SYS_clone, "clone", &[EAGAIN]),
    (libc::SYS_clone3, "clone3", &[EAGAIN]),
    (libc::SYS_execve, "execve", &[ENOENT, EACCES]),
    (libc::SYS_socketpair, "socketpair", &[EMFILE]),
    (libc::SYS_pipe2, "pipe2", &[EMFILE]),
    (libc::SYS_socket, "socket", &[EMFILE]),
    (libc::SYS_connect, "connect", &[ECONNREFUSED, EAGAIN]),
    (libc::SYS_signalfd4, "signalfd", &[EMFILE]),
    (libc::SYS_pidfd_open, "pidfd_open", &[EMFILE]),
    (libc::SYS_pidfd_getfd, "pidfd_getfd", &[EPERM, EMFILE]),
    (libc::SYS_pidfd_send_signal, "pidfd_send_signal", &[EPERM]),
    (libc::SYS_process_vm_readv, "process_vm_readv", &[EPERM]),
    (libc::SYS_process_vm_writev, "process_vm_writev", &[EPERM]),
    // Requests to the seccomp listener have their own list of errors. A refused answer, or a call that no longer
    // exists, cannot be simulated.
    (libc::SYS_ioctl, "ioctl", &[]),
    (libc::SYS_sendmsg, "sendmsg", &[EINTR, ENOMEM]),
    (libc::SYS_recvmsg, "recvmsg", &[EINTR, ENOMEM]),
    (libc::SYS_poll, "poll", &[EINTR, ENOMEM]),
    (libc::SYS_ppoll, "ppoll", &[EINTR, ENOMEM]),
    (libc::SYS_waitid, "waitid", &[EINTR]),
    (libc::SYS_wait4, "wait4", &[EINTR]),
    (libc::SYS_prctl, "prctl", &[EPERM]),
    (libc::SYS_openat, "openat", &[EMFILE, EACCES]),
    (libc::SYS_read, "read", &[EIO]),
    (libc::SYS_write, "write", &[EIO]),
];

/// Requests to the seccomp listener, and their errors: kernel/seccomp.c.
const REQUESTS: [(u64, &[i32]); 2] =
    [(libc::SECCOMP_IOCTL_NOTIF_RECV, &[EINTR, ENOENT]), (libc::SECCOMP_IOCTL_NOTIF_ADDFD, &[ENOMEM, EMFILE])];

/// A call's number, and the request of an `ioctl`.
type Made = (c_long, u64);

/// A server in its own process, with a TCP address and a socket.
pub(super) struct Ground {
    server: Pid,
    tcp: SocketAddr,
    socket: PathBuf,
    features: Features,
    n_calls: Vec<Vec<Made>>,
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _gone = kill(self.server, Signal::SIGKILL);
        let _gone = nix::sys::wait::waitpid(self.server, None);
    }
}

/// A fault: the process or thread, by the order of their first calls, and the number of the call in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    order: usize,
    at: usize,
    fate: Fate,
}

pub(super) struct Played {
    pub(super) n_steps: u64,
    pub(super) wrong: Option<String>,
    /// The calls of each process or thread.
    calls: Vec<Vec<Made>>,
}

impl Ground {
    /// Starts the server. Call this while this process has only one thread.
    pub(super) fn start(folder: &Path) -> Result<Self> {
        let features = probe(Switches::default()).context("`run` does not work on this machine")?;
        let socket = folder.join("server.sock");
        let (at_tcp, at_socket) = (TcpListener::bind("127.0.0.1:0")?, UnixListener::bind(&socket)?);
        let tcp = at_tcp.local_addr()?;
        // SAFETY: this process has one thread; the child does not leave this block.
        let server = match unsafe { fork() }? {
            ForkResult::Parent { child } => child,
            ForkResult::Child => {
                // SAFETY: only numbers are passed. The child ends together with the oracle.
                unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
                thread::spawn(move || at_tcp.incoming().flatten().for_each(|it| drop(thread::spawn(|| echo(it)))));
                at_socket.incoming().flatten().for_each(|it| drop(thread::spawn(|| echo(it))));
                // SAFETY: only a number is passed.
                unsafe { libc::_exit(0) }
            }
        };
        let mut ground = Self { server, tcp, socket, features, n_calls: Vec::new() };
        let played = ground.play(&[])?;
        anyhow::ensure!(played.wrong.is_none(), "without a fault: {:?}", played.wrong);
        ground.n_calls = played.calls;
        Ok(ground)
    }

    fn work(&self) -> i32 {
        let port = self.tcp.port();
        let script = format!(
            "exec 2>/dev/null; for i in 1 2 3; do exec 3<>/dev/tcp/127.0.0.1/$0 || exit 8; echo $i >&3; read -r x <&3; \
             [ \"$x\" = $i ] || exit 9; exec 3>&-; done; exit {ANSWERED}"
        );
        let route =
            Route { from: self.tcp, to: SocketName::Path(self.socket.clone()), owner: None, demands: Vec::new() };
        let config = Config {
            program: Program { args: ["bash", "-c", &script, &port.to_string()].map(Into::into).into() },
            mapping: Mapping { routes: vec![route] },
            features: self.features,
            switches: Switches::default(),
            wants_events: false,
            keeps_running: false,
            ends_all: false,
            steering: None,
            surroundings: Surroundings::default(),
        };
        match run(&config, &mut |_| {}).map(|it| it.exit) {
            Ok(Exit::Code(code)) => code,
            Ok(Exit::Signal(signal)) => 128 + signal,
            Err(_) => FAILED,
        }
    }

    pub(super) fn play(&self, faults: &[Fault]) -> Result<Played> {
        let mut order: BTreeMap<i32, usize> = BTreeMap::new();
        let (mut calls, mut programs) = (Vec::<Vec<Made>>::new(), BTreeSet::new());
        let (mut n_kills, mut n_steps) = (0, 0);
        let (mut group, mut is_first_killed) = (None, false);
        let end = trace::run(CALLS.iter().map(|it| it.0), || self.work(), &mut |call| {
            if call.number == trace::EXECUTED {
                programs.insert(call.pid);
            }
            if programs.contains(&call.pid) {
                return Ok(Fate::Passes);
            }
            let order = *order.entry(call.pid).or_insert_with(|| {
                calls.push(Vec::new());
                calls.len() - 1
            });
            let at = calls[order].len();
            let made = (call.number, call.args[1]);
            calls[order].push(made);
            n_steps += 1;
            let fault = faults.iter().find(|it| (it.order, it.at) == (order, at));
            // In another run, the processes may make their calls in a different order; then the call cannot return this
            // error, and nothing is changed.
            let can = |fate: &Fate| *fate == Fate::Kills || fates(made).contains(fate);
            let fate = fault.map(|it| it.fate).filter(can).unwrap_or(Fate::Passes);
            // The order in which threads make their first call differs between runs.
            let first = *group.get_or_insert_with(|| group_of(call.pid));
            if fate == Fate::Kills {
                n_kills += 1;
                is_first_killed |= order == 0 || first.is_some() && group_of(call.pid) == first;
            }
            Ok(fate)
        })?;
        let is_fine = match end {
            End::Hung => false,
            // The program got all its answers, or never ran. If a process is killed, the program may be killed with it.
            End::Exited(ANSWERED | FAILED) => true,
            // looptax is also killed if the fault kills a thread of the watchdog, which answers after the supervisor.
            End::Killed => is_first_killed || n_kills > 1,
            End::Exited(_) => faults.len() > 1 || n_kills > 0 && programs.is_empty(),
        };
        let wrong = (!is_fine).then(|| format!("it ended with {end:?}"));
        Ok(Played { n_steps, wrong, calls })
    }

    pub(super) fn draw(&self, dice: &mut Dice) -> Vec<Fault> {
        let one = |dice: &mut Dice| {
            let order = dice.below(self.n_calls.len());
            let at = dice.below(self.n_calls[order].len());
            let fates = fates(self.n_calls[order][at]);
            let dies = fates.is_empty() || dice.below(2) == 0;
            let fate = if dies { Fate::Kills } else { dice.one(&fates) };
            Fault { order, at, fate }
        };
        (0..=dice.below(2)).map(|_| one(dice)).collect()
    }

    /// Returns every fault of every call, one at a time.
    pub(super) fn every(&self) -> impl Iterator<Item = Fault> {
        let at = self
            .n_calls
            .iter()
            .enumerate()
            .flat_map(|(order, calls)| calls.iter().enumerate().map(move |(at, made)| (order, at, *made)));
        at.flat_map(|(order, at, made)| {
            let fates = fates(made).into_iter().chain([Fate::Kills]);
            fates.map(move |fate| Fault { order, at, fate })
        })
    }
}

impl Played {
    pub(super) fn words(&self, fault: Fault) -> String {
        let made = self.calls.get(fault.order).and_then(|it| it.get(fault.at));
        let name = made.and_then(|it| CALLS.iter().find(|(number, ..)| *number == it.0)).map_or("?", |it| it.1);
        format!("process {} at call {} ({name}): {:?}", fault.order, fault.at, fault.fate)
    }
}

fn fates((number, request): Made) -> Vec<Fate> {
    let errors = match REQUESTS.iter().find(|it| number == libc::SYS_ioctl && it.0 == request) {
        Some((_, errors)) => errors,
        None => CALLS.iter().find(|it| it.0 == number).map_or(&[][..], |it| it.2),
    };
    errors.iter().map(|errno| Fate::Fails(*errno)).collect()
}

/// Returns the process to which a thread belongs.
fn group_of(thread: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|it| it.strip_prefix("Tgid:"))?.trim().parse().ok()
}

fn echo(mut stream: impl Read + Write) {
    let mut bytes = [0; 64];
    while let Ok(n) = stream.read(&mut bytes) {
        if n == 0 || stream.write_all(&bytes[..n]).is_err() {
            return;
        }
    }
}
