//! Random programs of two or three threads: one connects, one waits for events, and a third one may watch, write, or
//! make other calls (`stir`) at the same time. The outcome of each connection depends only on the program, in whatever
//! order the threads run.
//!
//! A program is a line of numbers, so that other run-times can execute it as well: `clients/run threads` executes it
//! with Java's selector, with libuv and with Go's netpoller. All of them print the same lines.

use std::fmt::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use super::program::Coin;
use super::queue::{HUNG_UP, IN, OUT, Queue, Way};
use crate::raw;

/// How long a program may take. If it takes longer, it hangs, and its process runs no further program.
const PATIENCE: Duration = Duration::from_secs(20);
const MOST_CONNECTIONS: u64 = 4;
/// One of two threads that run at the same time is delayed by at most this many turns of a loop.
const MOST_SPINS: u64 = 16_000;
/// How often a thread makes a call (`stir`) during a `connect`.
const STIRS: u32 = 30;

const CONNECTOR: u32 = 0;
const WAITER: u32 = 1;
const HELPER: u32 = 2;

/// When a connection is watched: before `connect`, at the same time, or after it.
const BEFORE: u32 = 0;
const BESIDE: u32 = 1;
const AFTER: u32 = 2;

/// How a connection ends: closed; or shut down by the writer or by the reader, and closed when the server has ended,
/// too.
const SHUT_BY_WRITER: u32 = 1;
const SHUT_BY_READER: u32 = 2;

/// The calls of another thread during `connect`.
const ASK: u32 = 1;
const COPY: u32 = 2;
const FORK: u32 = 3;

/// The properties of a connection: the numbers of a line, in this order.
#[derive(Debug, Clone, Default)]
struct Connection {
    is_patient: u32,
    when: u32,
    watcher: u32,
    interest: u32,
    spins: u32,
    watch_spins: u32,
    n_bytes: u32,
    n_parts: u32,
    writer: u32,
    end: u32,
    is_watched_by_copy: u32,
    stir: u32,
}

impl Connection {
    fn draw(coin: &mut Coin, n_threads: u64) -> Self {
        let mut below = |n: u64| coin.below(n) as u32;
        let watcher = below(n_threads);
        let when = match below(4) {
            0 => BEFORE,
            1 | 2 => BESIDE,
            _ => AFTER,
        };
        Self {
            is_patient: below(2),
            // The thread that connects cannot watch at the same time.
            when: if watcher == CONNECTOR && when == BESIDE { BEFORE } else { when },
            watcher,
            interest: [IN, IN, OUT, IN | OUT][below(4) as usize] as u32,
            spins: below(MOST_SPINS),
            watch_spins: below(MOST_SPINS),
            n_bytes: [1, 100, 5_000, 20_000][below(4) as usize],
            n_parts: 1 + below(3),
            writer: below(n_threads),
            end: below(3),
            is_watched_by_copy: u32::from(below(6) == 0),
            stir: if n_threads > 2 && below(3) == 0 { 1 + below(3) } else { 0 },
        }
    }

    fn numbers(&self) -> [u32; 12] {
        let Self { is_patient, when, watcher, interest, spins, watch_spins, .. } = *self;
        let Self { n_bytes, n_parts, writer, end, is_watched_by_copy, stir, .. } = *self;
        [
            is_patient,
            when,
            watcher,
            interest,
            spins,
            watch_spins,
            n_bytes,
            n_parts,
            writer,
            end,
            is_watched_by_copy,
            stir,
        ]
    }

    fn parse(text: &str) -> Self {
        let numbers: Vec<u32> = text.split_whitespace().map(|it| it.parse().unwrap()).collect();
        let [
            is_patient,
            when,
            watcher,
            interest,
            spins,
            watch_spins,
            n_bytes,
            n_parts,
            writer,
            end,
            is_watched_by_copy,
            stir,
        ] = numbers[..]
        else {
            panic!("{text}");
        };
        Self {
            is_patient,
            when,
            watcher,
            interest,
            spins,
            watch_spins,
            n_bytes,
            n_parts,
            writer,
            end,
            is_watched_by_copy,
            stir,
        }
    }
}

/// Returns the line of the program that is drawn from a seed.
pub(super) fn draw(seed: u64, way: &str) -> String {
    let mut coin = Coin::of(seed);
    let n_threads = 2 + coin.below(2);
    let mut line = format!("{seed} {way} {n_threads}");
    for _ in 0..=coin.below(MOST_CONNECTIONS) {
        let numbers = Connection::draw(&mut coin, n_threads).numbers();
        let words = numbers.map(|it| it.to_string());
        let _ = write!(line, "|{}", words.join(" "));
    }
    line
}

/// Runs `threaded ADDRESS FILE`: the programs of a file, one after another.
pub(crate) fn main(words: &[String]) -> ExitCode {
    let to: SocketAddr = words[0].parse().unwrap();
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    for line in std::fs::read_to_string(&words[1]).unwrap().lines() {
        let mut parts = line.split('|');
        let head: Vec<&str> = parts.next().unwrap().split(' ').collect();
        println!("program {line}");
        let (tell, told) = channel();
        let connections: Vec<Connection> = parts.map(Connection::parse).collect();
        let way = Way::parse(head[1]);
        thread::spawn(move || tell.send(run(to, way, &connections)).unwrap());
        let Ok(lines) = told.recv_timeout(PATIENCE) else {
            // The program's threads cannot be ended.
            println!("hangs");
            break;
        };
        println!("{lines}");
    }
    ExitCode::SUCCESS
}

/// A connection while the program runs.
#[derive(Default)]
struct Running {
    fd: AtomicI32,
    /// The descriptor number that is watched.
    watched: AtomicI32,
    /// Number of calls that failed because the exchange fell between two of them.
    n_between: AtomicU32,
}

/// The waiter's knowledge of a connection.
#[derive(Default, Clone)]
struct Seen {
    is_greeted: bool,
    n_bytes: u32,
    is_shut: bool,
    is_over: bool,
    interest: i16,
    ended: String,
}

struct World {
    queue: Queue,
    wanted: Vec<Connection>,
    running: Vec<Running>,
}

type Turn = Box<dyn FnOnce(&World) -> i64 + Send>;

/// The channels to the waiter and the helper; a turn for the waiter wakes it.
struct Workers {
    waiter: Sender<(Turn, std::sync::mpsc::SyncSender<i64>)>,
    helper: Sender<(Turn, std::sync::mpsc::SyncSender<i64>)>,
}

impl Workers {
    /// Passes a turn to a thread; the returned closure waits for the turn's result.
    fn give(&self, world: &World, who: u32, turn: Turn) -> impl FnOnce() -> i64 + use<> {
        let (tell, told) = sync_channel(1);
        match who {
            WAITER => {
                self.waiter.send((turn, tell)).unwrap();
                world.queue.wake();
            }
            HELPER => self.helper.send((turn, tell)).unwrap(),
            _ => tell.send(turn(world)).unwrap(),
        }
        move || told.recv().unwrap()
    }
}

fn run(to: SocketAddr, way: Way, wanted: &[Connection]) -> String {
    let world = Arc::new(World {
        queue: Queue::new(way),
        wanted: wanted.to_vec(),
        running: wanted.iter().map(|_| Running::default()).collect(),
    });
    let (give_waiter, waiter_turns) = channel::<(Turn, std::sync::mpsc::SyncSender<i64>)>();
    let (give_helper, helper_turns) = channel::<(Turn, std::sync::mpsc::SyncSender<i64>)>();
    let workers = Workers { waiter: give_waiter, helper: give_helper };
    thread::scope(|scope| {
        let world = &*world;
        scope.spawn(move || {
            for (turn, tell) in helper_turns {
                tell.send(turn(world)).unwrap();
            }
        });
        let waiter = scope.spawn(move || {
            let mut seen = vec![Seen::default(); world.wanted.len()];
            while !seen.iter().all(|it| it.is_over) {
                let events = world.queue.wait();
                for (turn, tell) in waiter_turns.try_iter() {
                    tell.send(turn(world)).unwrap();
                }
                for (idx, bits) in events {
                    if !seen[idx].is_over {
                        world.handle(idx, bits, &mut seen[idx]);
                    }
                }
            }
            seen
        });
        let connected: Vec<String> = (0..wanted.len()).map(|idx| world.connect(idx, to, &workers)).collect();
        drop(workers);
        let seen = waiter.join().unwrap();
        let lines =
            connected.iter().zip(&seen).zip(&world.running).enumerate().map(|(idx, ((connected, seen), it))| {
                let between = it.n_between.load(Ordering::SeqCst).min(1);
                format!("{idx}: {connected} echo {} {}\n{idx}: between {between}\n", seen.n_bytes, seen.ended)
            });
        lines.collect()
    })
}

fn spin(n: u32) {
    for _ in 0..n {
        std::hint::spin_loop();
    }
}

impl World {
    /// Makes a connection, and lets threads watch it and write to it. Returns the results of these calls.
    fn connect(&self, idx: usize, to: SocketAddr, workers: &Workers) -> String {
        let (it, running) = (&self.wanted[idx], &self.running[idx]);
        let kind = if it.is_patient == 1 { 0 } else { libc::SOCK_NONBLOCK };
        let fd = raw::socket(raw::family(to), libc::SOCK_STREAM | kind);
        let watched = if it.is_watched_by_copy == 1 { unsafe { libc::dup(fd) } } else { fd };
        running.fd.store(fd, Ordering::SeqCst);
        running.watched.store(watched, Ordering::SeqCst);
        let watch = |spins: u32| -> Turn {
            Box::new(move |world| {
                spin(spins);
                world.queue.watch(
                    world.running[idx].watched.load(Ordering::SeqCst),
                    idx,
                    world.wanted[idx].interest as i16,
                )
            })
        };
        let mut watching = -1;
        if it.when == BEFORE {
            watching = workers.give(self, it.watcher, watch(0))();
        }
        let stirring = (it.stir != 0).then(|| {
            let (stir, spins) = (it.stir, it.watch_spins);
            workers.give(self, HELPER, Box::new(move |_| stir_beside(fd, stir, spins)))
        });
        let beside = (it.when == BESIDE).then(|| workers.give(self, it.watcher, watch(it.watch_spins)));
        spin(it.spins);
        let result = raw::connect(fd, to);
        if let Some(wait) = beside {
            watching = wait();
        }
        if let Some(wait) = stirring {
            wait();
        }
        if it.when == AFTER {
            watching = workers.give(self, it.watcher, watch(0))();
        }
        let written = workers.give(self, it.writer, Box::new(move |world| world.write(idx)))();
        format!("connect {result} watch {watching} write {written}")
    }

    fn write(&self, idx: usize) -> i64 {
        let (it, fd) = (&self.wanted[idx], self.running[idx].fd.load(Ordering::SeqCst));
        let mut left = it.n_bytes;
        for part in 0..it.n_parts {
            let mut n = if part + 1 == it.n_parts { left } else { it.n_bytes / it.n_parts };
            left -= n;
            while n > 0 {
                raw::poll(fd, libc::POLLOUT, -1);
                let bytes = vec![b'x'; n as usize];
                let sent = raw::number(unsafe {
                    libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
                } as i64);
                match sent {
                    1.. => n -= sent as u32,
                    _ if sent == -i64::from(libc::EAGAIN) => {}
                    _ => return sent,
                }
            }
        }
        if it.end == SHUT_BY_WRITER {
            return raw::number(unsafe { libc::shutdown(fd, libc::SHUT_WR) }.into());
        }
        0
    }

    /// Handles an event of a connection in the waiter's thread.
    fn handle(&self, idx: usize, bits: i16, seen: &mut Seen) {
        let (it, running) = (&self.wanted[idx], &self.running[idx]);
        let fd = running.watched.load(Ordering::SeqCst);
        if seen.interest == 0 {
            seen.interest = it.interest as i16;
        }
        let is_on_its_way = bits & OUT != 0 && bits & HUNG_UP == 0;
        let may_change = self.queue.is_once() || (is_on_its_way && seen.interest & OUT != 0);
        if is_on_its_way {
            seen.interest = IN;
        }
        let (is_ended, error) = receive(fd, seen);
        if seen.n_bytes == it.n_bytes && it.end == SHUT_BY_READER && !seen.is_shut {
            seen.is_shut = true;
            unsafe { libc::shutdown(fd, libc::SHUT_WR) };
        }
        let is_done = seen.n_bytes == it.n_bytes && (it.end == 0 || is_ended);
        if is_done || is_ended || error != 0 {
            let unwatched = self.queue.end(fd);
            // The thread that writes has finished its call by now, because the server only echoes.
            let own = running.fd.load(Ordering::SeqCst);
            raw::close(fd);
            if own != fd {
                raw::close(own);
            }
            seen.ended = format!("ended {is_ended} error {error} unwatch {unwatched}");
            seen.is_over = true;
        } else if may_change {
            let n = self.queue.change(fd, idx, seen.interest);
            running.n_between.fetch_add(n, Ordering::SeqCst);
        }
    }
}

/// Receives the available bytes. Returns whether the connection has ended, and the error or 0.
fn receive(fd: i32, seen: &mut Seen) -> (bool, i64) {
    let mut bytes = [0_u8; 4096];
    loop {
        let n =
            raw::number(unsafe { libc::recv(fd, bytes.as_mut_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT) } as i64);
        match n {
            0 => return (true, 0),
            1.. => {
                let mut got = &bytes[..n as usize];
                // The first line shows over which transport the server was reached.
                if !seen.is_greeted
                    && let Some(at) = got.iter().position(|it| *it == b'\n')
                {
                    seen.is_greeted = true;
                    got = &got[at + 1..];
                }
                if seen.is_greeted {
                    seen.n_bytes += got.len() as u32;
                }
            }
            _ if [libc::EAGAIN, libc::ENOTCONN].iter().any(|it| n == -i64::from(*it)) => return (false, 0),
            _ => return (false, n),
        }
    }
}

/// Makes calls on a socket while another thread connects it.
fn stir_beside(fd: i32, what: u32, spins: u32) -> i64 {
    spin(spins / 2);
    for _ in 0..STIRS {
        match what {
            ASK => {
                raw::name(true, fd, 28);
            }
            COPY => raw::close(unsafe { libc::dup(fd) }),
            FORK => {
                let child = unsafe { libc::fork() };
                if child == 0 {
                    unsafe { libc::_exit(0) };
                }
                return raw::number(unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) }.into()).min(0);
            }
            _ => return 0,
        }
    }
    0
}
