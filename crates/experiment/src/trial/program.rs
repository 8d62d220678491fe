//! The application under its supervisor: started, ready, steered, and ended with all that came from it.
//!
//! Reports the failures of the user's program in one place, each with the next step.

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

/// How often it is looked whether the application is ready.
const LOOK: Duration = Duration::from_millis(20);
/// So often, after a page that failed.
const N_LOOKS_AFTER_FAILURE: usize = 10;
/// How long a connection to its port may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);
/// How long it may take to end when it is asked to, before it is killed.
const GRACE: Duration = Duration::from_secs(10);

/// The application, whether it runs or not. Dropped, it leaves no process behind.
pub struct Program {
    programs: Programs,
    steering: Steering,
    output: Output,
    running: Option<Running>,
    /// The number of the last slice.
    slice: u32,
}

/// The pipe that the application writes to, until somebody follows it.
pub struct Begun {
    programs: Programs,
    steering: Steering,
    pipe: PipeReader,
}

impl Program {
    /// Prepares the starting of a program under `config`, whose steering is made here. Nothing is started yet.
    ///
    /// Call it while the process has no other thread.
    ///
    /// # Errors
    /// Those of [`Programs::begin`], and of memory and a pipe that cannot be had.
    pub fn begin(config: Config) -> Result<Begun, Failure> {
        let steering = Steering::map(config.mapping.routes.len())?;
        let (pipe, output) = io::pipe()?;
        let programs = Programs::begin(ProgramsConfig {
            config: Config { steering: Some(steering), ..config },
            output: Some(OwnedFd::from(output)),
        })?;
        Ok(Begun { programs, steering, pipe })
    }

    /// Starts it, and waits until its port answers; `None` when told to stop.
    ///
    /// # Errors
    /// That it does not start, ends, goes into the background or does not listen, each with what it wrote last.
    pub(crate) fn start(
        &mut self,
        ready: SocketAddr,
        limit: Duration,
        stop: &AtomicBool,
    ) -> Result<Option<()>, Failure> {
        if listens(ready) {
            return Err(Failure::usage(
                format!("a process already listens at {ready}"),
                "start the trial's instance on a separate port: looptax does not touch the program that runs there",
            ));
        }
        self.running = Some(self.programs.start().map_err(not_started)?);
        // Each look takes at least as long as its pause.
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
            "if it listens at another address, pass that with --ready; if it needs more time, pass --start-limit",
        ))
    }

    /// Starts it and leaves all of its connections on TCP.
    ///
    /// # Errors
    /// The reason why it is not ready.
    pub fn hold(&mut self, ask: &Ask, stop: &AtomicBool) -> Result<(), Failure> {
        self.steer(0);
        self.start(ask.ready, ask.start_limit, stop).map(drop)
    }

    /// Whether it still runs in the foreground.
    ///
    /// # Errors
    /// How it ended, with what it wrote last.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let Some(exit) = self.programs.has_ended() else {
            return Ok(());
        };
        let said = self.output.last_lines();
        if self.programs.is_background() {
            return Err(Failure::usage(
                format!("the application went into the background{said}"),
                "start it in the foreground: nginx -g 'daemon off;', php-fpm -F, apache2 -DFOREGROUND, gunicorn \
                 without --daemon",
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

    /// The same of one whose page just failed: its end may be heard of a moment later.
    ///
    /// # Errors
    /// Those of [`Self::check`].
    pub(crate) fn check_after_failure(&self) -> Result<(), Failure> {
        for _ in 0..N_LOOKS_AFTER_FAILURE {
            self.check()?;
            thread::sleep(LOOK);
        }
        self.check()
    }

    /// The last lines that it wrote, each on a separate line.
    pub(crate) fn said(&self) -> String {
        self.output.last_lines()
    }

    /// Begins a slice in which the routes of `mask` are moved; its number.
    pub(crate) fn steer(&mut self, mask: u32) -> u32 {
        self.slice += 1;
        self.steering.steer(self.slice, mask);
        self.slice
    }

    /// The counts of a slice's connections.
    pub(crate) fn counts(&self, slice: u32) -> SliceCounts {
        self.steering.counts(slice).unwrap_or_default()
    }

    /// A failure: `n_not_moved` of the socket's `n` connections stayed on TCP, to this server or to any, and why since
    /// the last start.
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
            format!("{n_not_moved} of {n} connections{to} stayed on TCP in the socket's turns: {why}"),
            "`looptax run --stats --` with the same command shows more; `looptax check` says what the socket needs",
        )
    }

    /// CPU time of all of it so far.
    pub(crate) fn cpu_ns(&self) -> Option<u64> {
        descendants_cpu_ns(self.running?.supervisor_pid)
    }

    /// Whether a process came from it.
    pub(crate) fn has(&self, pid: u32) -> bool {
        self.running.is_some_and(|running| is_descendant(pid, running.supervisor_pid))
    }

    /// Its process, while it runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.running.map(|it| it.program_pid)
    }

    /// Where its open connections lead.
    pub(crate) fn peers(&self) -> Vec<Peer> {
        self.running.map_or_else(Vec::new, |running| peers_of(running.program_pid))
    }

    /// Ends it with all that came from it, and comes back when nothing is left.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        if self.running.take().is_some() {
            self.programs.end(GRACE)?;
        }
        Ok(())
    }
}

impl Begun {
    /// From now on there may be threads.
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
            "is it installed, and in PATH or given with its folder?"
        }
        RedirectError::Exec { .. } => "is it a program, and do you have the right to execute it?",
        _ => "try the command with `looptax run --` before it, which shows what the kernel does not allow",
    };
    Failure::from(error).with_hint(hint)
}
