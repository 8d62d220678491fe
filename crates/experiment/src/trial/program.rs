//! Runs the application under its supervisor: starts it, waits until it is ready, steers its connections, and ends the
//! application together with all processes that the application has started.
//!
//! Reports all failures of the user's program, each with the next step.

use std::io::{self, PipeReader};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_bench::descendants_cpu_ns;
use looptax_bench::path::{Peer, peers_of};
use looptax_host::processes::is_descendant;
use looptax_model::failure::Failure;
use looptax_redirect::{
    Config, Exit, FallbackReason, Programs, ProgramsConfig, RedirectError, Running, SliceCounts, Steering,
};

use crate::trial::ask::{Ask, Server};
use crate::trial::output::Output;

/// Pause between two checks whether the application is ready.
const LOOK: Duration = Duration::from_millis(20);
/// After a page has failed: how often looptax checks whether the application has ended.
const N_LOOKS_AFTER_FAILURE: usize = 10;
/// Time limit for a connection to the application's port.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);
/// How long the application may take to end before it is killed.
const GRACE: Duration = Duration::from_secs(10);

/// The application, running or not. When this value is dropped, no process of the application is left.
pub struct Program {
    programs: Programs,
    steering: Steering,
    output: Output,
    running: Option<Running>,
    /// The number of the current slice.
    slice: u32,
}

/// A prepared program and the pipe with its output, which is not read yet.
pub struct Begun {
    programs: Programs,
    steering: Steering,
    pipe: PipeReader,
}

impl Program {
    /// Prepares the start of a program under `config`, and makes the shared memory that steers it. Nothing is started
    /// yet.
    ///
    /// Call it while the process has no other thread.
    ///
    /// # Errors
    /// The errors of [`Programs::begin`], or an error if the shared memory or a pipe cannot be made.
    pub fn begin(config: Config) -> Result<Begun, Failure> {
        let steering = Steering::map(config.mapping.routes.len())?;
        let (pipe, output) = io::pipe()?;
        let programs = Programs::begin(ProgramsConfig {
            config: Config { steering: Some(steering), ..config },
            output: Some(OwnedFd::from(output)),
        })?;
        Ok(Begun { programs, steering, pipe })
    }

    /// Starts the application and waits until it listens on its port; `None` if the user stopped the trial.
    ///
    /// # Errors
    /// The application does not start, does not listen, has ended, or has gone into the background; each error contains
    /// the application's last output.
    pub(crate) fn start(
        &mut self,
        ready: SocketAddr,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<Option<()>, Failure> {
        if listens(ready) {
            return Err(Failure::usage(
                format!("a process already listens at {ready}"),
                "let the trial's instance listen on another port: looptax does not touch the program that uses this port",
            ));
        }
        self.running = Some(self.programs.start().map_err(not_started)?);
        // Each check, together with the pause after it, takes at least `LOOK`.
        let n_looks = limit.as_millis() / LOOK.as_millis();
        for _ in 0..n_looks {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            self.check()?;
            if listens(ready) {
                return Ok(Some(()));
            }
            thread::sleep(LOOK);
        }
        let said = self.output.last_lines();
        Err(Failure::usage(
            format!("the application does not listen at {ready} after {limit:?}{said}"),
            "if the application listens at another address, pass the address with --ready; if it needs more time, \
            pass --start-limit",
        ))
    }

    /// Starts the application with all its connections over TCP.
    ///
    /// # Errors
    /// The reason why the application is not ready.
    pub fn hold(&mut self, ask: &Ask, stop: &AtomicBool) -> Result<(), Failure> {
        self.steer(0);
        self.start(ask.ready, ask.start_limit, stop).map(drop)
    }

    /// Checks that the application is still running in the foreground.
    ///
    /// # Errors
    /// How the application ended, with its last output.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let Some(exit) = self.programs.has_ended() else {
            return Ok(());
        };
        let said = self.output.last_lines();
        if self.programs.is_background() {
            return Err(Failure::usage(
                format!("the application went into the background{said}"),
                "start the application in the foreground: nginx -g 'daemon off;', php-fpm -F, apache2 -DFOREGROUND, \
                 gunicorn without --daemon",
            ));
        }
        let how = match exit {
            Exit::Code(code) => format!("exit code {code}"),
            Exit::Signal(signal) => format!("signal {signal}"),
        };
        Err(Failure::usage(
            format!("the application ended ({how}){said}"),
            "try the command without `looptax trial`; its last output is above",
        ))
    }

    /// Does the same as [`Self::check`] after a page has failed; waits a moment, because the application's end may be
    /// reported late.
    ///
    /// # Errors
    /// The same as those of [`Self::check`].
    pub(crate) fn check_after_failure(&self) -> Result<(), Failure> {
        for _ in 0..N_LOOKS_AFTER_FAILURE {
            self.check()?;
            thread::sleep(LOOK);
        }
        self.check()
    }

    /// Returns the last lines that the application has written.
    pub(crate) fn said(&self) -> String {
        self.output.last_lines()
    }

    /// Begins a slice in which the routes of `mask` are moved to the socket; returns the slice's number.
    pub(crate) fn steer(&mut self, mask: u32) -> u32 {
        self.slice += 1;
        self.steering.steer(self.slice, mask);
        self.slice
    }

    pub(crate) fn counts(&self, slice: u32) -> SliceCounts {
        self.steering.counts(slice).unwrap_or_default()
    }

    /// Returns the failure to report if connections to the server `to` stayed on TCP although they should have been
    /// moved: `n_not_moved` of `n` connections. The failure contains the reasons that were counted since the last
    /// start. If `to` is `None`, the connections may be to any server.
    pub(crate) fn not_moved(&self, n_not_moved: u64, n: u64, to: Option<&Server>) -> Failure {
        let stats = self.programs.stats();
        let mut reasons: Vec<FallbackReason> = Vec::new();
        for (reason, _) in stats.left.iter().flatten() {
            if !reasons.contains(reason) {
                reasons.push(*reason);
            }
        }
        let words: Vec<&str> = reasons.into_iter().map(FallbackReason::words).collect();
        let why = words.join("; ");
        let to = to.map_or_else(String::new, |it| format!(" to {}", it.kind));
        Failure::usage(
            format!(
                "{n_not_moved} of {n} connections{to} stayed on TCP although looptax should have moved them to the \
                 socket: {why}"
            ),
            "run `looptax run --stats --` with the same command to see more, and `looptax check` to see what the \
            socket needs",
        )
    }

    /// Returns the CPU time of all the application's processes so far.
    pub(crate) fn cpu_ns(&self) -> Option<u64> {
        descendants_cpu_ns(self.running?.supervisor_pid)
    }

    /// Whether a process belongs to the application.
    pub(crate) fn has(&self, pid: u32) -> bool {
        self.running.is_some_and(|running| is_descendant(pid, running.supervisor_pid))
    }

    /// Returns the application's process, while it is running.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.running.map(|it| it.program_pid)
    }

    /// Returns the addresses to which the application has open connections.
    pub(crate) fn peers(&self) -> Vec<Peer> {
        self.running.map_or_else(Vec::new, |running| peers_of(running.program_pid))
    }

    /// Ends the application and all processes that it has started; returns when all have ended.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        if self.running.take().is_some() {
            self.programs.end(GRACE)?;
        }
        Ok(())
    }
}

impl Begun {
    /// Starts to read the output. From this call on, this process may have several threads.
    pub fn follow(self) -> Program {
        Program {
            programs: self.programs,
            steering: self.steering,
            output: Output::follow(self.pipe.into()),
            running: None,
            slice: 0,
        }
    }
}

fn listens(at: SocketAddr) -> bool {
    TcpStream::connect_timeout(&at, CONNECT_LIMIT).is_ok()
}

fn not_started(error: RedirectError) -> Failure {
    let hint = match &error {
        RedirectError::Exec { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            "install the program and put it in PATH, or pass its full path"
        }
        RedirectError::Exec { .. } => "check that the file is a program and that you may execute it",
        _ => "run `looptax run --` with the same command: `looptax run` shows what the kernel does not allow",
    };
    Failure::from(error).with_hint(hint)
}
