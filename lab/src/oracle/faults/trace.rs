//! Runs a process whose system calls are stopped one by one. Each call can then be allowed, fail, or be the last one.
//!
//! The child is forked, installs a filter that reports some calls, and does its work. This process traces the child and
//! all processes that the child starts (ptrace(2)).

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use looptax_host::seccomp::bpf::{AT_NUMBER, Step, assemble};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

/// Time without any event after which the processes count as hanging.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_micros(100);

/// A stopped call that waits for a decision.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) pid: i32,
    pub(super) number: i64,
    pub(super) args: [u64; 3],
    /// The last argument: the flags of `renameat2`.
    pub(super) flags: u64,
}

/// The number that stands for an exec instead of a call: the process now runs another program.
pub(super) const EXECUTED: i64 = -1;

/// The decision about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Passes,
    /// The call is not made, and returns this error.
    Fails(i32),
    /// The call is made with half of its bytes.
    IsShort,
    /// The process is killed before the call is made.
    Kills,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Exited(i32),
    Killed,
    /// No event happened for a long time; all processes were killed.
    Hung,
}

/// Runs `work` in a child and calls `decide` for each call with one of these numbers. The child's exit code is the
/// result of `work`.
pub(super) fn run(
    numbers: impl Iterator<Item = i64>,
    work: impl FnOnce() -> i32,
    decide: &mut dyn FnMut(Call) -> Result<Fate>,
) -> Result<End> {
    // SAFETY: this process has one thread; the child does not leave the closure.
    let child = match unsafe { fork() }.context("fork")? {
        ForkResult::Parent { child } => child,
        ForkResult::Child => {
            let ready = ptrace::traceme().is_ok()
                && nix::sys::signal::raise(Signal::SIGSTOP).is_ok()
                && filter(numbers).is_ok();
            let code = if ready { work() } else { 99 };
            // SAFETY: only a number is passed; nothing that belongs to the parent is dropped or flushed.
            unsafe { libc::_exit(code) }
        }
    };
    waitpid(child, None).context("the child has not stopped")?;
    ptrace::setoptions(
        child,
        Options::PTRACE_O_TRACESECCOMP
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK
            | Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_EXITKILL,
    )?;
    ptrace::cont(child, None)?;
    follow(child, decide)
}

fn follow(child: Pid, decide: &mut dyn FnMut(Call) -> Result<Fate>) -> Result<End> {
    let (mut alive, mut end) = (BTreeSet::from([child]), None);
    let mut greeted = BTreeSet::from([child]);
    // With one process, the wait in the kernel is enough. With several processes, one may hang, so this loop counts the
    // idle time.
    let mut idle = Duration::ZERO;
    while !alive.is_empty() {
        let is_one = alive.len() == 1 && end.is_none();
        let mut flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        flags.set(WaitPidFlag::WNOHANG, !is_one);
        let status = match waitpid(None, Some(flags)) {
            Ok(WaitStatus::StillAlive) => {
                std::thread::sleep(PAUSE);
                idle += PAUSE;
                if idle >= PATIENCE {
                    end = Some(End::Hung);
                    for it in &alive {
                        let _gone = kill(*it, Signal::SIGKILL);
                    }
                    idle = Duration::ZERO;
                }
                continue;
            }
            Err(nix::errno::Errno::ECHILD) => break,
            status => status.context("wait")?,
        };
        idle = Duration::ZERO;
        let Some(pid) = status.pid() else { continue };
        match status {
            WaitStatus::Exited(_, code) => {
                alive.remove(&pid);
                if pid == child {
                    end = end.or(Some(End::Exited(code)));
                }
            }
            WaitStatus::Signaled(..) => {
                alive.remove(&pid);
                if pid == child {
                    end = end.or(Some(End::Killed));
                }
            }
            WaitStatus::PtraceEvent(_, _, event) if event == libc::PTRACE_EVENT_SECCOMP => {
                met(pid, decide)?;
            }
            WaitStatus::PtraceEvent(_, _, event) if event == libc::PTRACE_EVENT_EXEC => {
                decide(Call { pid: pid.as_raw(), number: EXECUTED, args: [0; 3], flags: 0 })?;
                let _gone = ptrace::cont(pid, None);
            }
            WaitStatus::Stopped(_, signal) => {
                let is_first = greeted.insert(pid);
                alive.insert(pid);
                let passed_on = (!(is_first && signal == Signal::SIGSTOP)).then_some(signal);
                let _gone = ptrace::cont(pid, passed_on);
            }
            _ => {
                alive.insert(pid);
                let _gone = ptrace::cont(pid, None);
            }
        }
    }
    end.context("the child has no end")
}

/// Decides about a stopped call. An error of ptrace means that the process no longer exists.
#[cfg(target_arch = "x86_64")]
fn met(pid: Pid, decide: &mut dyn FnMut(Call) -> Result<Fate>) -> Result<()> {
    let Ok(mut registers) = ptrace::getregs(pid) else { return Ok(()) };
    let call = Call {
        pid: pid.as_raw(),
        number: registers.orig_rax.cast_signed(),
        args: [registers.rdi, registers.rsi, registers.rdx],
        flags: registers.r8,
    };
    match decide(call)? {
        Fate::Passes => {}
        Fate::Fails(errno) => {
            registers.orig_rax = u64::MAX;
            registers.rax = i64::from(-errno).cast_unsigned();
            let _gone = ptrace::setregs(pid, registers);
        }
        Fate::IsShort => {
            registers.rdx = registers.rdx.div_ceil(2);
            let _gone = ptrace::setregs(pid, registers);
        }
        Fate::Kills => {
            let _gone = kill(pid, Signal::SIGKILL);
            return Ok(());
        }
    }
    let _gone = ptrace::cont(pid, None);
    Ok(())
}

#[cfg(not(target_arch = "x86_64"))]
fn met(_: Pid, _: &mut dyn FnMut(Call) -> Result<Fate>) -> Result<()> {
    bail!("looptax does not know the registers of this machine: run it on x86_64")
}

/// Installs the filter for this process.
fn filter(numbers: impl Iterator<Item = i64>) -> Result<()> {
    #[derive(Clone, Copy, PartialEq)]
    struct Met;
    let mut steps = vec![Step::Load(AT_NUMBER)];
    steps.extend(numbers.map(|number| Step::Equal(number as u32, Met)));
    steps.extend([Step::Return(libc::SECCOMP_RET_ALLOW), Step::Here(Met), Step::Return(libc::SECCOMP_RET_TRACE)]);
    let mut program = assemble(&steps);
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the structure and the filter program that it points to are valid during the call; the kernel copies both.
    let result = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const filter)
    };
    if result != 0 {
        bail!("seccomp: {}", std::io::Error::last_os_error());
    }
    Ok(())
}
