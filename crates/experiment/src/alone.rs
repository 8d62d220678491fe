//! Finds out whether another looptax process is measuring on this machine.
//!
//! While a run measures, it listens on an abstract socket, whose name other runs can see. The kernel removes the name
//! when the process ends, however it ends, and no file is left. The name is visible only within one network namespace.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_host::kernel;
use looptax_host::waiting;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

/// The name that the first run takes; a run that starts while other runs measure takes this name plus a number.
const NAME: &str = "looptax is measuring";
const BESIDE: &str = ", beside ";
/// Maximum number of runs that can hold a name; in practice, fewer runs measure at the same time.
const MOST: usize = 32;
/// How often a waiting run checks whether it is its turn.
const PAUSE: Duration = Duration::from_millis(200);

/// The claim that this process measures: a name that other runs can see as long as this value exists.
pub struct Claim {
    _held: Option<UnixListener>,
    has_other: bool,
}

impl Claim {
    /// Takes a name, and notes whether other runs hold a name.
    pub fn take() -> Self {
        Self::take_of(NAME)
    }

    /// Waits until no other run holds a name, then takes a name. If `stop` is set, the wait ends, and the result is the
    /// same as from [`Self::take`]. If several runs wait, they measure one after the other.
    pub fn wait(stop: &AtomicBool) -> Self {
        Self::wait_of(NAME, stop)
    }

    pub fn has_other(&self) -> bool {
        self.has_other
    }

    /// Names the other run for a person: "another looptax (process 4711)".
    pub fn other() -> String {
        let own = std::process::id().cast_signed();
        let pid = names(NAME).iter().filter_map(|name| listener(name)).find(|pid| *pid != own);
        pid.map_or_else(|| "another looptax".to_owned(), |pid| format!("another looptax (process {pid})"))
    }

    /// Returns a warning for the user if another run is measuring: two runs disturb each other.
    pub fn warning(&self) -> Option<&'static str> {
        let words = "warning: another looptax is measuring on this machine, and the two disturb each other: pass \
            --wait to wait for it, or expect wide intervals\n";
        self.has_other.then_some(words)
    }

    /// The problem for the record if another run was measuring when this run began; `None` if no other run was
    /// measuring.
    pub fn problem(&self) -> Option<String> {
        let words = "another looptax was measuring on this machine when this run began; the two disturb each other";
        self.has_other.then(|| words.to_owned())
    }

    fn take_of(name: &str) -> Self {
        let held = (0..MOST).find_map(|idx| hold(name, idx).ok());
        Self { has_other: n_held(name) > usize::from(held.is_some()), _held: held }
    }

    fn wait_of(name: &str, stop: &AtomicBool) -> Self {
        // The run that holds the first name is the next to measure. Before it measures, it waits until no other run
        // holds a name.
        let mut first = hold(name, 0).ok();
        while !stop.load(Ordering::Relaxed) {
            if first.is_some() && n_held(name) == 1 {
                return Self { _held: first, has_other: false };
            }
            waiting::pause(PAUSE);
            first = first.or_else(|| hold(name, 0).ok());
        }
        drop(first);
        Self::take_of(name)
    }
}

fn hold(name: &str, idx: usize) -> io::Result<UnixListener> {
    let name = match idx {
        0 => name.to_owned(),
        idx => format!("{name}{BESIDE}{idx}"),
    };
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Returns how many runs hold a name, including this run.
fn n_held(name: &str) -> usize {
    names(name).len()
}

/// Returns the names that runs hold.
///
/// # Source
/// unix(7): the last column of `/proc/net/unix` is the name, with `@` before an abstract name.
fn names(name: &str) -> Vec<String> {
    let table = kernel::text("/proc/net/unix").unwrap_or_default();
    let names = table.lines().filter_map(|line| Some(line.split_once(" @")?.1));
    let is_one = |its: &&str| {
        let rest = its.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(BESIDE))
    };
    names.filter(is_one).map(str::to_owned).collect()
}

/// Returns the process that listens on an abstract name, if it is visible in this process namespace.
///
/// # Source
/// unix(7), `SO_PEERCRED`: the process that called `listen`. The socket is non-blocking: no process accepts connections
/// on the name, so the queue may be full, and a blocking connect would wait.
fn listener(name: &str) -> Option<i32> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
    connect(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes()).ok()?).ok()?;
    socket_peercred(&socket).ok().map(|it| it.pid.as_raw_pid()).filter(|pid| *pid > 0)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn name(of: &str) -> String {
        format!("looptax test {} {of}", std::process::id())
    }

    #[test]
    fn each_run_sees_every_other_one_and_none_after_its_end() {
        let name = name("take");
        let take = || Claim::take_of(&name);
        let first = take();
        assert!(!first.has_other);
        let second = take();
        assert!(second.has_other);
        drop(first);
        let third = take();
        assert!(third.has_other, "the second goes on");
        drop((second, third));
        assert!(!take().has_other);
    }

    #[test]
    fn r19_a_turn_comes_when_all_others_have_ended() {
        let name = name("wait");
        let stop = AtomicBool::new(false);
        let others = [Claim::take_of(&name), Claim::take_of(&name)];
        thread::scope(|scope| {
            let waiting = [(); 2].map(|()| {
                scope.spawn(|| {
                    let claim = Claim::wait_of(&name, &stop);
                    assert!(!claim.has_other);
                    // While this claim is held, a second claim reports that another run is measuring.
                    assert!(Claim::take_of(&name).has_other);
                })
            });
            for other in others {
                drop(other);
                thread::sleep(PAUSE);
            }
            for waiting in waiting {
                waiting.join().unwrap();
            }
        });
        let held = Claim::take_of(&name);
        stop.store(true, Ordering::Relaxed);
        assert!(Claim::wait_of(&name, &stop).has_other);
        drop(held);
    }
}
