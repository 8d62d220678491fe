//! Proves a switch of a web server and its upstream: what to wait for after each reload, and what shows that the pages
//! use the socket, or the port again.
//!
//! Called by `carry` through [`Proof`]; `eyes` reads the kernel's lists. Writes nothing.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::diagnose::check::Client;
use crate::diagnose::check::reach::reach;
use looptax_advise::check::End as WayEnd;
use looptax_host::discover::{Process, is_listened_at};
use looptax_host::waiting;
use looptax_model::failure::Failure;
use looptax_model::record::{StepCode, SwitchStep};

use super::eyes::Eyes;
use super::front::{self, has_new_workers};
use super::{Sides, back, program};
use crate::clock::Since;
use crate::journal::{ProgramOf, StackOf, Step};
use crate::line::{Commands, Line};
use crate::proof::{Judged, Page, Proof};
use crate::step::{step, stopped};

/// The page has to be as before for this long, without a connection of the web server to the port. Only then does the
/// proof count.
const STEADY: Duration = Duration::from_secs(2);
/// How long looptax waits for a program after a command has made it read its files.
const TAKEN: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);
/// The pause between two requests for a page while looptax looks for the page's connections.
const PAGE_PAUSE: Duration = Duration::from_millis(3);
/// The longest wait for a page's connections. If looptax has seen no connection after this time, it rejects the page,
/// because the page seems to use no server. The wait is long because connections last a millisecond: on a busy machine,
/// looptax misses hundreds of them.
const LONGEST_LOOK: Duration = Duration::from_secs(15);
/// How many requests for the page run at the same time while looptax looks for the page's connections: enough that a
/// connection is open most of the time.
const N_ASKING: usize = 4;

/// Both programs, and the connections that were seen between them.
pub(crate) struct Way {
    eyes: Eyes,
    /// A worker of the web server.
    worker: Process,
    /// Whether the upstream's file also changes.
    pool_moves: bool,
    /// The upstream, as it ran before the switch.
    back_before: ProgramOf,
    /// The command that reloads the upstream, if this command signals the upstream's process.
    signal: Option<String>,
    /// The socket that the pages will use.
    socket: PathBuf,
    /// When the current period without connections over TCP began.
    quiet: Since,
    /// The length of the current period without connections over TCP, up to the start of the last inspection. Later
    /// connections have not been seen yet.
    quiet_seen: Duration,
    /// The web server's workers before the programs read the old files again.
    before: Vec<Process>,
}

impl Way {
    pub(super) fn new(sides: &Sides, worker: Process, pool_moves: bool, (tcp, socket): (SocketAddr, PathBuf)) -> Self {
        let back_before = program::found_again_by(&sides.back_master, sides.back.name());
        let signal = { sides.back.reload(&sides.back_master).ok() }.filter(|it| it.starts_with("kill "));
        let (eyes, quiet, before) = (Eyes::open(sides, tcp), Since::now(), Vec::new());
        Self { eyes, worker, pool_moves, back_before, signal, socket, quiet, quiet_seen: Duration::ZERO, before }
    }

    /// Returns the proof for an earlier switch, with both programs as they run at present, and the commands that make
    /// them read their files.
    ///
    /// # Errors
    /// The reason, if a person has to run the commands.
    pub(crate) fn of_earlier(stack: &StackOf, reload: Option<&str>) -> Result<(Self, Commands), String> {
        let sides = Sides::of_earlier(stack);
        let sides =
            sides.ok_or("the programs that read these files no longer run as they did at the time of the switch")?;
        let commands = sides.commands(stack.pool.is_some(), reload);
        let commands = commands.map_err(|why| why.to_string())?;
        let worker = sides.front_master.clone();
        let ends = (stack.tcp, stack.socket.clone());
        Ok((Self::new(&sides, worker, stack.pool.is_some(), ends), commands))
    }

    fn sides(&self) -> &Sides {
        &self.eyes.sides
    }

    /// Waits until the upstream listens on the socket and a worker of the web server can connect to it.
    fn socket_opens(&self, stop: &AtomicBool) -> Result<(), SwitchStep> {
        let (start, shown) = (Since::now(), self.socket.display());
        let go_on = || { !stop.load(Ordering::Relaxed) }.then_some(()).ok_or_else(stopped);
        let back = &self.sides().back_master;
        let gone = |how: String| {
            let title = self.sides().back.title();
            let words = format!("{title} {} {how}", back.pid);
            Err(step(StepCode::ServerGone, words))
        };
        while self.eyes.on(&self.socket).is_none() {
            go_on()?;
            // A service manager may start another process, and a program that runs in the background reads its files as
            // a new process.
            if !self.runs() && self.signal.is_some() && !self.runs() {
                return gone("has ended".to_owned());
            }
            if start.elapsed() > TAKEN {
                return gone(format!("does not listen on {shown}"));
            }
            thread::sleep(PAUSE);
        }
        // The master process sets the socket's permissions after it has created the socket. If one command reloads both
        // programs, the worker may have ended.
        while let Ok(client) = Client::find(Some(self.worker.pid), None) {
            if reach(&self.socket, &client).end == WayEnd::Connected {
                break;
            }
            go_on()?;
            if start.elapsed() > TAKEN {
                let words = format!("{} cannot connect to {shown}", client.shown);
                return Err(step(StepCode::LoginsRefused, words));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Whether the upstream is running, as the same process or as another process of the same program.
    fn runs(&self) -> bool {
        let (sides, before) = (self.sides(), &self.sides().back_master);
        let is_it = |it: &Process| sides.back.is_it(it) && it.program_name() == before.program_name();
        looptax_host::discover::process(before.pid).is_some() || !program::masters(is_it).is_empty()
    }

    /// Returns the step of the proof that reports this process as the listener on the socket.
    fn proved(&self, own: &Process) -> SwitchStep {
        let (tcp, socket) = (self.eyes.tcp, self.socket.display());
        let workers: Vec<String> = self.eyes.over_socket.iter().cloned().collect();
        let seen = match &*workers {
            [] => String::new(),
            [worker] => format!(", where looptax saw {worker}"),
            all => format!(", where looptax saw {}", all.join(", ")),
        };
        let port = if self.pool_moves {
            format!("no process listens at {tcp} any more")
        } else {
            format!("no page has caused a connection to {tcp} since the change")
        };
        let (title, pid) = (self.sides().back.title(), own.pid);
        let words = format!("{title} {pid} listens on {socket}{seen}; {port}");
        step(StepCode::SeenOverSocket, words)
    }
}

impl Proof for Way {
    /// A page is needed because a web server's connections to the upstream last a millisecond and have no login.
    fn needs_page(&self) -> bool {
        true
    }

    /// Checks that each request for the page leads to a connection over TCP.
    fn page_before(&self, url: &str) -> Result<Page, Failure> {
        let mut eyes = Eyes::open(self.sides(), self.eyes.tcp);
        let page = Page::before(url)
            .map_err(|failure| failure.with_hint("pass a page that works now: only a page can prove this move"))?;
        // `Page::before` requested the page twice.
        let n_seen = eyes.look();
        if n_seen >= 2 || eyes.has_kept() || is_seen_when_asked(&page, &mut eyes, n_seen) {
            return Ok(page);
        }
        Err(Failure::usage(
            format!(
                "{url} answers, but looptax sees no connection to {} for this page, so the page proves nothing",
                self.eyes.tcp
            ),
            format!("pass a page that {} generates each time", self.sides().back.title()),
        ))
    }

    fn moving(&mut self) -> Step {
        let sides = self.sides();
        let back = || program::found_again_by(&sides.back_master, sides.back.name());
        let stack = StackOf {
            front: program::found_again_by(&sides.front_master, sides.front.name()),
            pool: self.pool_moves.then(back),
            tcp: self.eyes.tcp,
            socket: self.socket.clone(),
        };
        Step::Moving { connections: Vec::new(), stack: Some(stack), server: None }
    }

    fn begin(&mut self, _files: &[PathBuf]) {
        self.eyes = Eyes::open(self.sides(), self.eyes.tcp);
    }

    fn after_reload(&mut self, idx: usize, stop: &AtomicBool) -> Result<(), SwitchStep> {
        if idx == 0 && self.pool_moves {
            return self.socket_opens(stop);
        }
        Ok(())
    }

    fn files_are_read(&mut self, _by_command: bool) {
        self.eyes.refresh(&self.socket);
        self.quiet = Since::now();
        self.quiet_seen = Duration::ZERO;
    }

    fn look(&mut self) {
        self.quiet_seen = self.quiet.elapsed();
        if self.eyes.look() > 0 {
            self.quiet = Since::now();
            self.quiet_seen = Duration::ZERO;
        }
    }

    fn judge(&mut self, is_last: bool, _is_asked: bool) -> Option<Judged> {
        let is_quiet = self.quiet_seen >= STEADY && !self.eyes.has_kept();
        if is_quiet
            && let Some(own) = self.eyes.on(&self.socket)
            && !(self.pool_moves && self.eyes.is_port_open())
        {
            return Some(Judged::Holds(vec![self.proved(&own)]));
        }
        if !is_last {
            return None;
        }
        let fails = |code, words: String| Some(Judged::Fails(step(code, words)));
        let (title, tcp) = (self.sides().back.title(), self.eyes.tcp);
        if self.eyes.on(&self.socket).is_none() {
            let words = format!("{title} does not listen on {}", self.socket.display());
            return fails(StepCode::ServerGone, words);
        }
        let does = if is_quiet { "listens" } else { "connects" };
        let at = if is_quiet { "at" } else { "to" };
        let words = format!("a process still {does} {at} {tcp}");
        fails(StepCode::StillOverTcp, words)
    }

    fn page_settles(&self) -> Duration {
        STEADY
    }

    fn old_files_are_back(&mut self, _limit: Option<Duration>) {
        let sides = self.sides();
        let mut before = program::workers(&sides.front_master);
        before.retain(|it| sides.front.is_serving(it));
        self.before = before;
    }

    fn reload_now(&self, idx: usize, line: &Line) -> Line {
        let is_of_back = idx == 0 && self.pool_moves && self.signal.as_deref() == Some(line.text());
        if !is_of_back {
            return line.clone();
        }
        let back = self.sides().back;
        let found = back::find_again(back, &self.back_before.words, self.eyes.tcp, &self.socket);
        let reload = found.and_then(|it| back.reload(&it).ok());
        reload.map_or_else(|| line.clone(), |it| Line::from(&*it))
    }

    /// If the upstream was reloaded, first waits until it listens on its port: only then is the web server reloaded.
    fn after_old_reload(&mut self, idx: usize, is_last: bool) {
        let (front, master) = (self.sides().front, &self.sides().front_master);
        if idx == 0 && self.pool_moves {
            wait_until(|| is_listened_at(self.eyes.tcp, master) == Some(true));
        }
        if is_last {
            wait_until(|| has_new_workers(front, master, &self.before));
        }
    }
}

/// Waits until `is_so` returns true; at most for the time limit, and not after a signal that ends all waits.
fn wait_until(is_so: impl Fn() -> bool) {
    let start = Since::now();
    while !is_so() && start.elapsed() < TAKEN && waiting::pause(PAUSE) {}
}

/// Requests the page repeatedly, and checks whether its connections are seen while they are open. This is needed
/// because the kernel does not list closed connections that were reset. If the kernel already keeps too many closed
/// connections, it lists no further ones.
fn is_seen_when_asked(page: &Page, eyes: &mut Eyes, mut n_seen: usize) -> bool {
    let (start, is_over) = (Since::now(), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..N_ASKING {
            scope.spawn(|| {
                let mut page = page.clone();
                while !is_over.load(Ordering::Relaxed) {
                    page.differs_until(&is_over);
                    thread::sleep(PAGE_PAUSE);
                }
            });
        }
        while n_seen < 2 && start.elapsed() < LONGEST_LOOK {
            n_seen += eyes.look();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    n_seen >= 2
}

impl Sides {
    /// Returns the programs of an earlier switch, as they are running at present.
    fn of_earlier(stack: &StackOf) -> Option<Self> {
        let front = front::by_name(&stack.front.name)?;
        let words = |it: &Process, of: &ProgramOf| it.arguments().join(" ") == of.words;
        let masters = program::masters(|it| it.program_name() == front.name());
        let masters = masters.into_iter().filter(|it| front.is_ours(it));
        let masters: Vec<Process> = masters.collect();
        let same = masters.iter().find(|it| words(it, &stack.front));
        // A reload may add words to a command line. If there is only one process, it is certainly the same program.
        let only = masters.first().filter(|_| masters.len() == 1);
        let front_master = same.or(only)?.clone();
        let (back, back_master) = match &stack.pool {
            // The upstream did not change, so looptax does not need it.
            None => (back::ALL[0], front_master.clone()),
            Some(of) => {
                let back = back::by_name(&of.name)?;
                (back, back::find_again(back, &of.words, stack.tcp, &stack.socket)?)
            }
        };
        Some(Self { front, front_master, back, back_master })
    }
}

impl StackOf {
    /// Returns the programs that have to read the files, for a person, such as `PHP-FPM and nginx`.
    pub fn titles(&self) -> String {
        let front = front::by_name(&self.front.name).map_or("the web server", |it| it.title());
        let Some(of) = &self.pool else {
            return front.to_owned();
        };
        let back = back::by_name(&of.name).map_or("the program behind it", |it| it.title());
        format!("{back} and {front}")
    }
}
