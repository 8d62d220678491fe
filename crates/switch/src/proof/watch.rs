//! Looks at one connection's clients again and again: the kernel's list and the server's.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use looptax_bench::path::{Limits, ServerCounts};
use looptax_host::discover::{Outlook, Process, Server, Sighting, holders};
use looptax_host::waiting;
use looptax_model::dsn::Address;

use crate::clock::Since;

use super::application::Application;
use super::eye::{Eye, Session};
use super::log::Logs;
use super::seen::{Judgement, OverTcp, Seen};

#[derive(Debug, Clone)]
pub struct Watched {
    /// Which, for a person: `mysql at 127.0.0.1:3306`.
    pub title: String,
    /// Where it goes now, with its password.
    pub address: Address,
    /// The same as an address of TCP.
    pub tcp: SocketAddr,
    /// The socket that it will take; `None` until a plan knows it.
    pub socket: Option<PathBuf>,
    /// The server behind both, where it is seen.
    pub server: Option<Server>,
}

impl Watched {
    /// The server's own view, over TCP and over the socket if that is known; beside it why there is none over the socket.
    fn eye(&self, limits: Limits) -> (Eye, Option<String>) {
        let kind = self.server.as_ref().map(|it| it.kind);
        if let Some(kind) = kind.filter(|it| it.is_pooler()) {
            // What is asked through it is answered by the server behind, which lists the pooler's connections.
            let why = format!("{kind} hands questions on to the server behind it");
            return (Eye::default(), Some(why));
        }
        let mut eye = Eye::open(&self.address, self.tcp, limits);
        let socket = self.socket.as_deref();
        let why = socket.and_then(|it| eye.open_socket(&self.address, it, limits));
        (eye, why)
    }
}

pub struct Watch {
    of: Watched,
    /// How long the server is waited for.
    limits: Limits,
    outlook: Option<Outlook>,
    eye: Eye,
    application: Application,
    was_running: bool,
    logs: Logs,
    /// When what is counted began.
    start: Since,
    known_tcp: BTreeSet<(SocketAddr, SocketAddr)>,
    known_inodes: BTreeSet<u64>,
    known_sessions: BTreeSet<u64>,
    /// Who holds the client's end of connections over TCP.
    clients: BTreeMap<SocketAddr, Process>,
    /// Connections over TCP that are open now.
    open_tcp: BTreeSet<SocketAddr>,
    /// The application's connections over TCP, of whatever time.
    own_tcp: BTreeMap<SocketAddr, String>,
    /// Those of them that were there before what is counted began.
    earlier_tcp: BTreeMap<SocketAddr, String>,
    base: ServerCounts,
    counted: Since,
    seen: Seen,
}

/// Between two questions for the server's counts, which cost it more than others.
const BETWEEN_COUNTS: Duration = Duration::from_millis(500);
/// Short connections are waited for this long before anything is written: a page that is asked for once a second has one.
const CALIBRATED_WITHIN: Duration = Duration::from_secs(1);
const BETWEEN_CALIBRATIONS: Duration = Duration::from_millis(50);

impl Watch {
    /// Looks for the first time, before anything is written: who uses the account over TCP is the application, beside
    /// the processes that are named.
    pub fn begin(of: Watched, named: &[Process]) -> Self {
        let pids: Vec<u32> = named.iter().map(|it| it.pid).collect();
        let limits = Limits::default();
        let (eye, unasked) = of.eye(limits);
        let mut watch = Self {
            outlook: { of.server.as_ref() }.map(|it| Outlook::new(it, &pids)),
            logs: { of.server.as_ref() }.map_or_else(Logs::default, |it| Logs::find(&it.process)),
            application: Application::default(),
            was_running: false,
            start: Since::now(),
            known_tcp: BTreeSet::new(),
            known_inodes: BTreeSet::new(),
            known_sessions: BTreeSet::new(),
            clients: BTreeMap::new(),
            open_tcp: BTreeSet::new(),
            own_tcp: BTreeMap::new(),
            earlier_tcp: BTreeMap::new(),
            base: ServerCounts::default(),
            counted: Since::now(),
            seen: Seen { unasked, ..Seen::default() },
            eye,
            limits,
            of,
        };
        for process in named {
            watch.application.add(process);
        }
        watch.first_look();
        watch
    }

    /// The same, now that the socket is known: what was seen until now is of before.
    pub(crate) fn with_socket(mut self, of: Watched, named: &[Process]) -> Self {
        if !self.eye.sees_tcp() {
            // Only the server's list over the socket says which clients are of the account.
            return Self::begin(of, named);
        }
        let socket = of.socket.as_deref();
        let open = |it| self.eye.open_socket(&of.address, it, self.limits);
        self.seen.unasked = socket.and_then(open);
        self.of = of;
        self.restart();
        self
    }

    fn first_look(&mut self) {
        let found = self.ask().filter(|_| self.eye.sees_tcp());
        let new = self.look();
        self.seen.was_used =
            { new.iter() }.any(|(it, holder)| it.tcp.is_some() && !holder.as_ref().is_some_and(is_looptax));
        let is_named = !self.application.is_unknown();
        for (sighting, holder) in new {
            let (Some((from, _)), Some(holder)) = (sighting.tcp, holder) else {
                continue;
            };
            let is_account = match &found {
                Some(sessions) => sessions.iter().any(|it| it.from == Some(from)),
                None => true,
            };
            if is_account && holder.pid != std::process::id() {
                self.own_tcp.insert(from, named(Some(&holder)));
                if !is_named {
                    self.application.add(&holder);
                }
            }
        }
        self.was_running = !self.application.is_unknown();
        self.application.know_the_others();
        let own = |from: &SocketAddr| self.clients.get(from).is_some_and(|it| self.application.has(it));
        let others: Vec<SocketAddr> = { self.own_tcp.keys().copied() }.filter(|it| !own(it)).collect();
        for from in others {
            self.own_tcp.remove(&from);
        }
        // Containers have a network of their own.
        let pids = self.application.pids();
        self.outlook = { self.of.server.as_ref() }.map(|it| Outlook::new(it, &pids));
        self.look();
        self.restart();
    }

    /// Counts only processes of this user as the application's.
    pub(crate) fn is_only_of(&mut self, uid: u32) {
        self.application.retain(uid);
        let own = |from: &SocketAddr| self.clients.get(from).is_some_and(|it| self.application.has(it));
        let others: Vec<SocketAddr> = self.own_tcp.keys().copied().filter(|it| !own(it)).collect();
        for from in others {
            self.own_tcp.remove(&from);
        }
        self.was_running = !self.application.is_unknown();
        self.restart();
    }

    /// Learns from what came before anything is written whether the kernel sees each connection that the server counts.
    ///
    /// Connections that last need no count, and are seen at once; short ones are waited for, if there were any before.
    pub fn calibrate(&mut self) {
        let begun = Since::now();
        loop {
            self.count();
            self.tick();
            self.seen.is_tcp_seen_whole = self.seen.is_seen_whole();
            let are_short = self.seen.was_used && !self.is_still_over_tcp() && self.seen.n_counted.is_some();
            if self.seen.is_tcp_seen_whole || !are_short || begun.elapsed() > CALIBRATED_WITHIN {
                return;
            }
            if !waiting::pause(BETWEEN_CALIBRATIONS) {
                return;
            }
        }
    }

    /// From now on the server has so long for whatever is asked.
    pub(crate) fn hurry(&mut self, limit: Duration) {
        self.limits = Limits { connect: limit, io: limit };
    }

    /// Counts from now on: what was there until now is known.
    pub fn restart(&mut self) {
        let unasked = self.seen.unasked.take();
        let Seen { is_tcp_seen_whole, was_used, .. } = self.seen;
        self.ask();
        self.look();
        self.base = self.eye.counts();
        self.start = Since::now();
        self.earlier_tcp = self.own_tcp.clone();
        self.seen = Seen { unasked, is_tcp_seen_whole, was_used, ..Seen::default() };
    }

    /// The application has read the new file, by a command of ours or by somebody else: what connects from now on does so
    /// by it.
    pub fn reloaded(&mut self, by_command: bool) {
        self.tick();
        self.seen.reloaded = self.start.elapsed();
        self.seen.is_read_by_command = by_command;
    }

    /// The application, as far as it is known.
    pub fn application(&self) -> &Application {
        &self.application
    }

    pub fn watched(&self) -> &Watched {
        &self.of
    }

    pub fn tick(&mut self) {
        let now = self.start.elapsed();
        // Before the look: a connection that comes between is then seen, and not counted.
        if self.counted.elapsed() >= BETWEEN_COUNTS {
            self.count();
        }
        for (sighting, holder) in self.look() {
            self.take_sighting(sighting, holder.as_ref(), now);
        }
        let new = self.ask().unwrap_or_default();
        for session in new {
            self.take_session(&session, now);
        }
        if self.seen.is_over_socket() {
            self.seen.first_over_socket.get_or_insert(now);
        }
        if self.seen.n_refused.is_some_and(|it| it > 0) {
            self.seen.refused_since.get_or_insert(now);
        }
        let held = { self.earlier_tcp.iter() }.filter(|(from, _)| self.open_tcp.contains(from));
        self.seen.held = held.map(|(_, who)| who.clone()).collect();
    }

    fn count(&mut self) {
        self.counted = Since::now();
        let now = self.eye.counts();
        let since = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        self.seen.n_counted = since(now.n_connections, self.base.n_connections);
        self.seen.n_refused = since(now.n_refused, self.base.n_refused);
    }

    /// What follows; `is_last` where no more time is left. `is_asked` where a page of the application is asked all the
    /// time.
    pub fn judge(&mut self, is_last: bool, is_asked: bool) -> Option<Judgement> {
        if is_last {
            self.count();
            self.tick();
            self.seen.is_application_gone = self.was_running && !self.application.runs();
        }
        self.seen.is_asked = is_asked;
        self.seen.judge(self.start.elapsed(), is_last)
    }

    /// What else is to be known of it.
    pub fn notes(&self) -> Vec<String> {
        self.seen.notes()
    }

    /// Lines of the server's log since, that tell of somebody who was refused.
    pub fn log_lines(&self) -> Vec<String> {
        self.logs.telling_lines()
    }

    /// Whether the application came over TCP, or is as it was: connected so all the time.
    pub fn is_over_tcp_again(&self) -> bool {
        !self.seen.over_tcp.is_empty() || self.seen.n_unclear > 0
    }

    /// Whether a connection of the application over TCP, of whatever time, is open now.
    pub fn is_still_over_tcp(&self) -> bool {
        self.own_tcp.keys().any(|from| self.open_tcp.contains(from))
    }

    /// New connections since the last look, with their holders.
    fn look(&mut self) -> Vec<(Sighting, Option<Process>)> {
        let mut new = Vec::new();
        let all = { self.outlook.as_ref() }.map(Outlook::look).unwrap_or_default();
        let open = { all.iter() }.filter(|it| it.inode != 0);
        self.open_tcp = { open }.filter_map(|it| it.tcp).map(|(from, _)| from).collect();
        for sighting in all {
            let is_new = match sighting.tcp {
                Some(ends) => self.known_tcp.insert(ends),
                None => self.known_inodes.insert(sighting.inode),
            };
            if is_new {
                new.push(sighting);
            }
        }
        let open = { new.iter() }.map(|it| it.inode).filter(|it| *it != 0);
        let open: BTreeSet<u64> = open.collect();
        let mut held = if open.is_empty() { BTreeMap::new() } else { holders(&open) };
        let with_holder = |sighting: Sighting| (sighting, held.remove(&sighting.inode));
        let new: Vec<_> = new.into_iter().map(with_holder).collect();
        for (sighting, holder) in &new {
            if let (Some((from, _)), Some(holder)) = (sighting.tcp, holder) {
                self.clients.insert(from, holder.clone());
            }
        }
        new
    }

    /// New sessions since the last question; `None` where the server was not asked or does not answer.
    fn ask(&mut self) -> Option<Vec<Session>> {
        if self.eye.is_shut() && self.seen.gone.is_none() {
            return None;
        }
        let all = match self.eye.sessions() {
            Ok(all) if !self.eye.is_shut() => all,
            asked => {
                self.open_again(asked.err());
                return None;
            }
        };
        self.seen.gone = None;
        for it in &mut self.seen.over_tcp {
            let lists = |id| all.iter().any(|now| now.id == id);
            it.is_open = it.session.is_some_and(lists);
        }
        let all = all.into_iter();
        Some(all.filter(|it| self.known_sessions.insert(it.id)).collect())
    }

    /// The server may only have been restarted; what it counted began anew then.
    fn open_again(&mut self, why: Option<String>) {
        let now = self.start.elapsed();
        let (mut eye, _) = self.of.eye(self.limits);
        if eye.is_shut() || eye.sessions().is_err() {
            let why = why.unwrap_or_else(|| "nobody can log in".to_owned());
            self.seen.gone.get_or_insert((now, why));
        } else {
            self.base = eye.counts();
            self.seen.gone = None;
        }
        self.eye = eye;
    }

    fn take_sighting(&mut self, sighting: Sighting, holder: Option<&Process>, now: Duration) {
        if holder.is_some_and(is_looptax) {
            return;
        }
        let is_ours = match holder {
            Some(holder) => self.application.has(holder),
            None => sighting.uid.is_some_and(|uid| self.application.has_user(uid)),
        };
        if sighting.tcp.is_none() {
            self.take_socket(holder, is_ours);
            return;
        }
        self.seen.n_over_tcp += 1;
        if !is_ours {
            return;
        }
        if self.eye.sees_tcp() {
            // Whose account it is the server says, where it lasts long enough.
            self.seen.n_unclear += 1;
        } else {
            self.seen.over_tcp.push(OverTcp { who: named(holder), at: now, session: None, is_open: false });
        }
    }

    fn take_socket(&mut self, holder: Option<&Process>, is_ours: bool) {
        self.seen.n_over_socket += 1;
        if is_ours || self.application.is_unknown() {
            self.seen.n_of_application += 1;
            self.seen.over_socket.extend(holder.map(|it| named(Some(it))));
        } else if let Some(holder) = holder {
            self.seen.strangers.insert(named(Some(holder)));
        }
    }

    fn take_session(&mut self, session: &Session, now: Duration) {
        let Some(from) = session.from else {
            self.seen.n_sessions += 1;
            return;
        };
        let holder = self.clients.get(&from);
        if holder.is_some_and(is_looptax) {
            return;
        }
        let is_other = !self.application.is_unknown() && holder.is_some_and(|it| !self.application.has(it));
        if is_other {
            self.seen.others.insert(named(holder));
        } else {
            self.seen.n_unclear = self.seen.n_unclear.saturating_sub(1);
            self.own_tcp.insert(from, named(holder));
            self.seen.over_tcp.push(OverTcp { who: named(holder), at: now, session: Some(session.id), is_open: true });
        }
    }
}

/// Whoever else asks servers just now is no application.
fn is_looptax(process: &Process) -> bool {
    process.pid == std::process::id() || process.program_name() == "looptax"
}

fn named(process: Option<&Process>) -> String {
    process.map_or_else(
        || "a process that was gone before it was seen".to_owned(),
        |it| format!("{} {}", it.program_name(), it.pid),
    )
}
