//! Inspects one connection's clients repeatedly, in the kernel's list and the server's list. One inspection is a look.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use looptax_bench::path::{Limits, ServerCounts};
use looptax_host::discover::{Process, Server, Sighting, any_process};
use looptax_host::waiting;

use crate::clock::Since;

use super::application::{Application, is_looptax, named};
use super::askers::Askers;
use super::came::Came;
use super::connections::{Connections, continued};
use super::eye::{Eye, Session};
use super::log::Logs;
use super::seen::{Asks, Judgement, OverTcp, Seen};
use super::sessions::Sessions;
use super::watched::Watched;

pub struct Watch {
    pub(super) of: Watched,
    /// The time limits for the server's answers.
    limits: Limits,
    pub(super) connections: Connections,
    eye: Eye,
    pub(super) application: Application,
    pub(super) was_running: bool,
    logs: Logs,
    /// The time when counting began.
    pub(super) start: Since,
    sessions: Sessions,
    /// Inodes of the application's connections to the socket since counting began.
    own_inodes: BTreeSet<u64>,
    /// The sessions over the socket in the server's list, each with the look that first saw it.
    listed_since: BTreeMap<u64, u64>,
    /// The TCP connections that the server lists at present as sessions of the account.
    listed_tcp: BTreeSet<SocketAddr>,
    /// The application's TCP connections, whenever they were opened.
    pub(super) own_tcp: BTreeMap<SocketAddr, String>,
    /// The application's TCP connections that were opened before counting began.
    earlier_tcp: BTreeMap<SocketAddr, String>,
    base: ServerCounts,
    counted: Since,
    /// The kernel's counts at the time when the server was last asked for its counts.
    asked_then: Asks,
    /// Whether the application is only a guess, because no process that uses the account may read the file.
    pub(super) is_guessed: bool,
    /// Connections to the socket that were open when counting began.
    earlier_inodes: BTreeSet<u64>,
    /// Whether the application had one of `earlier_inodes` open at the last look, and could still use it.
    pub(super) is_earlier_open: bool,
    /// The login method of the server or pooler over the socket.
    pub(super) method: Option<&'static str>,
    /// The clients over TCP before anything is written, collected while the application is not known.
    pub(super) askers: Askers,
    pub(super) came: Came,
    pub(super) seen: Seen,
}

/// The pause between two requests for the server's counts; such requests are expensive.
const BETWEEN_COUNTS: Duration = Duration::from_millis(500);
/// How long `calibrate` waits for a short connection: long enough if a page is requested every second.
const CALIBRATED_WITHIN: Duration = Duration::from_secs(1);
/// How long a login may last. A connection that is open for longer and is not listed uses another account.
const LOGIN_LASTS: Duration = Duration::from_secs(10);
const BETWEEN_CALIBRATIONS: Duration = Duration::from_millis(50);

impl Watch {
    /// Takes the first look, before anything is written. The application consists of the processes in `named` and the
    /// processes that use the account over TCP. If `user` is set, only processes of this user belong to the
    /// application.
    pub fn begin(of: Watched, named: &[Process], user: Option<u32>) -> Self {
        let mut application = Application::default();
        for process in named {
            application.add(process);
        }
        let mut watch = Self::begin_as(of, application);
        if let Some(uid) = user {
            watch.is_only_of(uid);
        }
        watch
    }

    /// Returns a watch over the same server after the server restarted, which ended all connections.
    pub(crate) fn of_restarted(&self, server: Server) -> Self {
        let of = Watched { server: Some(server), ..self.of.clone() };
        let mut watch = Self::begin_as(of, self.application.clone());
        watch.calibrate();
        watch.restart();
        watch
    }

    /// Returns a watch over a server and an application that were started after the files were written: all connections
    /// of the application count, even those that are open already.
    pub(super) fn of_new(of: Watched, application: Application) -> Self {
        let mut watch = Self::new(of, application);
        watch.was_running = true;
        watch
    }

    /// Starts comparing the server's counts with the kernel's, which were read a moment ago.
    pub(super) fn starts_counting(&mut self) {
        self.base = self.eye.counts();
    }

    /// Looks for the application's connections in the networks of these processes too.
    pub(super) fn look_from(&mut self, clients: &[Process]) {
        let pids: Vec<u32> = clients.iter().map(|it| it.pid).collect();
        self.connections.look_from(self.of.server.as_ref(), &pids);
    }

    fn begin_as(of: Watched, application: Application) -> Self {
        let mut watch = Self::new(of, application);
        watch.first_look();
        watch
    }

    fn new(of: Watched, application: Application) -> Self {
        let pids = application.pids();
        let limits = Limits::default();
        let (mut eye, unasked) = of.eye(limits);
        let method = of.method_of_pooler(limits).or_else(|| eye.method());
        Self {
            connections: Connections::of(of.server.as_ref(), &pids),
            logs: { of.server.as_ref() }.map_or_else(Logs::default, |it| Logs::find(&it.process)),
            application,
            was_running: false,
            start: Since::now(),
            sessions: Sessions::default(),
            own_inodes: BTreeSet::new(),
            listed_since: BTreeMap::new(),
            listed_tcp: BTreeSet::new(),
            own_tcp: BTreeMap::new(),
            earlier_tcp: BTreeMap::new(),
            base: ServerCounts::default(),
            counted: Since::now(),
            asked_then: Asks::default(),
            is_guessed: false,
            earlier_inodes: BTreeSet::new(),
            is_earlier_open: false,
            method,
            askers: Askers::default(),
            came: Came::start(),
            seen: Seen { unasked, protocol: Some(of.address.protocol), ..Seen::default() },
            eye,
            limits,
            of,
        }
    }

    /// Continues with the socket that is now known. Earlier observations belong to the time before the switch.
    pub(crate) fn with_socket(mut self, of: Watched, named: &[Process]) -> Self {
        if !self.eye.sees_tcp() {
            // A login over TCP cannot list sessions, so only a login over the socket shows the account's clients.
            return Self::begin(of, named, self.application.user());
        }
        let open = |it| self.eye.open_socket(&of.address, it, self.limits);
        self.seen.unasked = of.socket.as_deref().and_then(open);
        self.method = self.eye.method();
        self.of = of;
        self.restart();
        self
    }

    fn first_look(&mut self) {
        let new = self.look();
        let found = self.ask().filter(|_| self.eye.sees_tcp());
        self.seen.was_used =
            { new.iter() }.any(|(it, holder)| it.tcp.is_some() && !holder.as_ref().is_some_and(is_looptax));
        let is_named = self.application.is_seen();
        let mut users = Vec::new();
        for (sighting, holder) in new {
            let (Some((from, _)), Some(holder)) = (sighting.tcp, holder) else {
                continue;
            };
            let is_account = match &found {
                Some(sessions) => sessions.iter().any(|it| it.from == Some(from)),
                None => true,
            };
            if !is_account {
                self.askers.is_another_account_s(from, holder.pid);
            } else if !is_looptax(&holder) {
                self.own_tcp.insert(from, named(Some(&holder)));
                users.push(holder);
            }
        }
        if !is_named {
            let users = self.of.readers_of(users, |it| it);
            self.is_guessed = !users.iter().any(|it| self.of.may_be_read_by(it));
            for process in users {
                self.application.add(&process);
            }
        }
        self.was_running = self.application.is_seen();
        self.application.know_the_others();
        let own = |from: &SocketAddr| self.connections.clients.get(from).is_some_and(|it| self.application.has(it));
        let others: Vec<SocketAddr> = { self.own_tcp.keys().copied() }.filter(|it| !own(it)).collect();
        for from in others {
            self.own_tcp.remove(&from);
        }
        // Containers have their own network namespaces, and the application may be in one of them.
        let pids = self.application.pids();
        self.connections.look_from(self.of.server.as_ref(), &pids);
        self.look();
        self.restart();
    }

    /// Counts only processes of this user as the application's.
    fn is_only_of(&mut self, uid: u32) {
        self.application.retain(uid);
        self.is_guessed = false;
        let own = |from: &SocketAddr| self.connections.clients.get(from).is_some_and(|it| self.application.has(it));
        let others: Vec<SocketAddr> = self.own_tcp.keys().copied().filter(|it| !own(it)).collect();
        for from in others {
            self.own_tcp.remove(&from);
        }
        self.was_running = self.application.is_seen();
        self.restart();
    }

    /// Determines whether the kernel sees every connection that the server counts. Uses the connections that the kernel
    /// sees before anything is written.
    ///
    /// Connections that stay open need no count. If there were short connections before, waits for a short connection.
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

    /// Sets the time limit for the server's answers from now on.
    pub(crate) fn hurry(&mut self, limit: Duration) {
        self.limits = Limits { connect: limit, io: limit };
    }

    /// Starts counting: connections until now are known, and do not count.
    pub fn restart(&mut self) {
        let unasked = self.seen.unasked.take();
        let Seen { is_tcp_seen_whole, was_used, protocol, n_opened_by_all, .. } = self.seen;
        let by_kernel = self.seen.by_kernel.map(|_| Asks::default());
        self.look();
        // A connection that is open now does not count, but the application may keep it.
        self.ask();
        self.keep_open();
        self.base = self.eye.counts();
        self.start = Since::now();
        self.earlier_tcp = self.own_tcp.clone();
        // Connections that are already on the socket do not come from the new file.
        self.own_inodes.clear();
        self.came = Came::start();
        self.asked_then = Asks::default();
        self.seen =
            Seen { protocol, unasked, by_kernel, n_opened_by_all, is_tcp_seen_whole, was_used, ..Seen::default() };
        self.earlier_inodes = self.connections.open_since.keys().copied().collect();
        self.is_earlier_open = self.has_earlier();
    }

    /// Notes that the application has read the new file. Connections from now on come from the new file.
    pub fn reloaded(&mut self, by_command: bool) {
        self.tick();
        self.seen.reloaded = self.start.elapsed();
        self.seen.is_read_by_command = by_command;
    }

    pub fn application(&self) -> &Application {
        &self.application
    }

    pub fn watched(&self) -> &Watched {
        &self.of
    }

    pub fn tick(&mut self) {
        self.seen.looked = self.start.elapsed();
        // The server's count is read before the look: a connection that is opened in between is seen, but not counted.
        if self.counted.elapsed() >= BETWEEN_COUNTS {
            self.count();
        }
        let new = self.look();
        let now = self.start.elapsed();
        for (sighting, holder) in new {
            self.take_sighting(sighting, holder.as_ref(), now);
        }
        let new = self.ask().unwrap_or_default();
        let now = self.start.elapsed();
        for session in new {
            self.take_session(&session, now);
        }
        self.keep_open();
        self.is_earlier_open = self.has_earlier();
        let own = || self.connections.open_since.iter().filter(|(inode, _)| self.own_inodes.contains(inode));
        self.seen.n_open_of_application = own().count() as u64;
        self.seen.n_lasting_of_application =
            self.connections.lasting().filter(|it| self.own_inodes.contains(it)).count() as u64;
        self.seen.is_reader_connected = self
            .connections
            .lasting()
            .filter_map(|it| self.connections.over_socket.get(it))
            .any(|it| self.application.shares_file_with(it));
        let new = |it: &&u64| !self.earlier_inodes.contains(it) && !self.connections.ours.contains(it);
        self.seen.n_not_listed =
            self.connections.open_since.keys().filter(new).count().saturating_sub(self.listed_since.len()) as u64;
        self.seen.n_listed = self.seen.n_listed.max(self.n_listed_alone());
        let open = |all: &BTreeMap<SocketAddr, String>| -> BTreeMap<SocketAddr, String> {
            let open = all.iter().filter(|(from, _)| self.connections.open_tcp.contains_key(from));
            open.map(|(from, who)| (*from, who.clone())).collect()
        };
        let held = open(&self.earlier_tcp);
        let later = open(&self.own_tcp).into_iter().filter(|(from, _)| !held.contains_key(from));
        self.seen.open_over_tcp = later.map(|it| it.1).chain(self.logging_in()).collect();
        self.seen.held = held.into_values().collect();
        self.seen.is_one_missing = self.came.is_one_missing();
        self.seen.pass(now);
    }

    fn count(&mut self) {
        // If the previous count is old enough, every login that was started before that count has been counted by now.
        if self.counted.elapsed() >= BETWEEN_COUNTS {
            self.seen.asked_before = std::mem::replace(&mut self.asked_then, self.seen.by_kernel.unwrap_or_default());
        }
        self.counted = Since::now();
        self.seen.is_looptax_about = any_process(|it| is_looptax(it) && it.pid != std::process::id());
        let now = self.eye.counts();
        let since = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        self.seen.n_counted = since(now.n_connections, self.base.n_connections.map(|it| it + self.base.n_uncounted));
        self.seen.n_counted_at_most = since(now.n_connections, self.base.n_connections);
        self.seen.n_refused = since(now.n_refused, self.base.n_refused);
    }

    /// Judges the observations so far. `is_last`: no time is left. `is_asked`: a page is requested continuously.
    pub fn judge(&mut self, is_last: bool, is_asked: bool) -> Option<Judgement> {
        if is_last {
            self.count();
            self.tick();
            self.seen.is_application_gone = self.was_running && !self.application.runs();
        }
        self.seen.is_asked = is_asked;
        self.seen.is_unknown = self.application.is_unknown();
        self.seen.judge(self.seen.looked, is_last)
    }

    /// Returns further facts about the connection, for a person.
    pub fn notes(&self) -> Vec<String> {
        self.seen.notes()
    }

    /// Returns the lines about a refused client that the server has logged since the start.
    pub fn log_lines(&self) -> Vec<String> {
        self.logs.telling_lines()
    }

    /// Returns the processes of the application that opened a connection over TCP since counting began.
    pub fn over_tcp_again(&self) -> BTreeSet<&String> {
        self.seen.over_tcp.iter().map(|it| &it.who).collect()
    }

    /// Whether the application has a TCP connection open at present, whenever it was opened.
    pub fn is_still_over_tcp(&self) -> bool {
        self.own_tcp.keys().any(|from| self.connections.open_tcp.contains_key(from))
    }

    /// Returns the application's processes with a TCP connection, if each that was seen with one has one at present.
    pub fn wholly_over_tcp(&self) -> BTreeSet<&String> {
        let open = self.own_tcp.iter().filter(|(from, _)| self.connections.open_tcp.contains_key(from));
        let open: BTreeSet<&String> = open.map(|it| it.1).collect();
        let is_open =
            |(from, who): (&SocketAddr, &String)| !self.connections.clients.contains_key(from) || open.contains(who);
        if self.own_tcp.iter().all(is_open) { open } else { BTreeSet::new() }
    }

    /// Returns the connections that are new since the last look, each with the process that holds it.
    fn look(&mut self) -> Vec<(Sighting, Option<Process>)> {
        let new = self.connections.look();
        for from in &self.connections.reused {
            self.own_tcp.remove(from);
            self.earlier_tcp.remove(from);
        }
        new
    }

    /// Returns the sessions that are new since the last request; `None` if the server is not asked or is silent.
    fn ask(&mut self) -> Option<Vec<Session>> {
        if self.eye.is_shut() && self.seen.gone.is_none() {
            return None;
        }
        let all = match self.eye.sessions() {
            Ok(all) if !self.eye.is_shut() => all,
            asked => {
                self.listed_since.clear();
                self.listed_tcp.clear();
                self.open_again(asked.err());
                return None;
            }
        };
        self.seen.gone = None;
        for it in &mut self.seen.over_tcp {
            let lists = |id| all.iter().any(|now| now.id == id);
            it.is_open = it.session.is_some_and(lists);
        }
        let listed_now = { all.iter() }.filter(|it| it.from.is_none()).map(|it| it.id);
        self.listed_since = continued(&self.listed_since, listed_now, self.connections.n_looks);
        self.askers.use_the_account(&all);
        self.listed_tcp = all.iter().filter_map(|it| it.from).collect();
        let is_told = self.is_told();
        // The connection may have been opened since the last look; the next look then shows its process.
        let waits = |it: &Session| is_told && it.from.is_some_and(|it| !self.connections.clients.contains_key(&it));
        Some(self.sessions.new_of(all, waits))
    }

    /// Returns the application's processes with an open TCP connection that the server does not list, but may list soon:
    /// it lists a client that has logged in.
    fn logging_in(&self) -> impl Iterator<Item = String> {
        let is_new =
            |(from, since): &(&SocketAddr, &Since)| !self.listed_tcp.contains(from) && since.elapsed() < LOGIN_LASTS;
        let new =
            self.connections.open_tcp.iter().filter(move |it| self.eye.sees_tcp() && self.of.is_whole && is_new(it));
        let holders = new.filter_map(|(from, _)| self.connections.clients.get(from));
        holders.filter(|it| self.application.has(it)).map(|it| named(Some(it)))
    }

    /// Whether the kernel's counts show every connection's program, even for short connections.
    fn is_told(&self) -> bool {
        self.seen.by_kernel.is_some() && self.of.is_whole && self.seen.n_tcp_of_unknown == 0
    }

    /// Logs in again, because the server may only have restarted; in this case its counts began at zero again.
    fn open_again(&mut self, why: Option<String>) {
        let now = self.start.elapsed();
        let (mut eye, _) = self.of.eye(self.limits);
        if eye.is_shut() || eye.sessions().is_err() {
            let why = why.unwrap_or_else(|| "logins fail".to_owned());
            self.seen.gone.get_or_insert((now, why));
        } else {
            self.base = eye.counts();
            self.seen.gone = None;
        }
        self.eye = eye;
    }

    fn take_sighting(&mut self, sighting: Sighting, holder: Option<&Process>, now: Duration) {
        if let Some(looptax) = holder.filter(|it| is_looptax(it)) {
            if sighting.tcp.is_none() && looptax.pid != std::process::id() {
                self.seen.strangers.insert(named(Some(looptax)));
            }
            return;
        }
        let is_ours = match holder {
            Some(holder) => self.application.has(holder),
            None => sighting.uid.is_some_and(|uid| self.application.has_user(uid)),
        };
        let Some((from, _)) = sighting.tcp else {
            self.take_socket(sighting.inode, holder, is_ours);
            return;
        };
        self.seen.n_over_tcp += 1;
        if !is_ours {
            return;
        }
        if sighting.inode != 0 && !self.eye.sees_tcp() && self.of.is_whole {
            // No list of the server shows how long the connection stays open.
            self.own_tcp.insert(from, named(holder));
        }
        if self.seen.by_kernel.is_some() {
            // The kernel's count shows the process even of a very short connection.
        } else if self.eye.sees_tcp() {
            // The server's list shows the connection's account, if the connection lasts long enough.
            self.seen.n_unclear += 1;
        } else {
            self.came.over_tcp(holder);
            self.seen.over_tcp.push(OverTcp { who: named(holder), at: now, session: None, is_open: false });
        }
    }

    fn take_socket(&mut self, inode: u64, holder: Option<&Process>, is_ours: bool) {
        self.seen.n_over_socket += 1;
        if is_ours || self.application.is_unknown() {
            self.own_inodes.insert(inode);
            self.seen.n_of_application += 1;
            self.seen.over_socket.extend(holder.map(|it| named(Some(it))));
            if let Some(holder) = holder {
                self.came.over_socket(holder.pid);
            }
        } else if let Some(holder) = holder {
            self.seen.strangers.insert(named(Some(holder)));
        }
    }

    /// Whether the application still has a connection to the socket from before counting began.
    fn has_earlier(&self) -> bool {
        let earlier = self.earlier_inodes.iter().filter(|it| self.connections.open_since.contains_key(it));
        earlier.filter_map(|it| self.connections.over_socket.get(it)).any(|it| self.application.has(it))
    }

    /// Returns how many sessions over the socket can only be the application's: those that the server listed at an
    /// earlier inspection and still lists, minus the connections of other programs that were open the whole time. Such
    /// a session was open while looptax read the kernel's list, so this list shows its process.
    fn n_listed_alone(&self) -> u64 {
        let is_others = |it: &u64| !self.own_inodes.contains(it) && !self.connections.ours.contains(it);
        // Other watches' logins are listed too.
        let n_ours = self.connections.open_since.keys().filter(|it| self.connections.ours.contains(it)).count();
        let n_of_others = n_ours.saturating_sub(self.eye.n_over_socket());
        // There has to be at least one look between the two lists.
        let alone = self.listed_since.values().filter(|it| **it < self.connections.n_looks).map(|since| {
            let n_listed = self.listed_since.values().filter(|it| *it <= since).count();
            let n_others =
                self.connections.open_since.iter().filter(|(inode, it)| **it <= since + 1 && is_others(inode)).count();
            n_listed.saturating_sub(n_others + n_of_others) as u64
        });
        alone.max().unwrap_or(0)
    }

    /// Notes the application's connections among the listed sessions, whenever they were opened. looptax may have learnt
    /// only now which processes are the application, or which process holds a connection.
    fn keep_open(&mut self) {
        for from in &self.listed_tcp {
            if let Some(holder) = self.connections.clients.get(from).filter(|it| self.application.has(it)) {
                self.own_tcp.insert(*from, named(Some(holder)));
            }
        }
    }

    fn take_session(&mut self, session: &Session, now: Duration) {
        let Some(from) = session.from else {
            return;
        };
        let holder = self.connections.clients.get(&from);
        let is_foreign = holder.is_none() && (self.is_told() || self.application.is_in_containers());
        if holder.is_some_and(is_looptax) || is_foreign {
            return;
        }
        let is_other = !self.application.is_unknown() && holder.is_some_and(|it| !self.application.has(it));
        if is_other {
            self.seen.others.insert(named(holder));
        } else {
            self.seen.n_unclear = self.seen.n_unclear.saturating_sub(1);
            self.own_tcp.insert(from, named(holder));
            self.came.over_tcp(holder);
            self.seen.over_tcp.push(OverTcp { who: named(holder), at: now, session: Some(session.id), is_open: true });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::process::Command;

    use looptax_host::discover::process;
    use looptax_model::dsn::Address;
    use looptax_testkit::fake_redis::{FakeRedis, Script};
    use looptax_testkit::patience;
    use looptax_testkit::scratch::Scratch;

    use super::*;

    #[test]
    fn a_session_counts_although_its_process_is_seen_after_the_session() {
        let scratch = Scratch::new();
        let server = FakeRedis::start(&scratch.file("."), Script::default());
        let mut worker = Command::new("sleep").arg("60").spawn().unwrap();
        let application = process(worker.id()).unwrap();
        let of = Watched {
            title: "redis".to_owned(),
            address: Address::parse(&format!("redis://{}", server.tcp)).unwrap(),
            tcp: Some(server.tcp),
            socket: None,
            server: None,
            is_behind_proxy: false,
            is_whole: true,
            file: None,
        };
        let mut watch = Watch::begin(of, std::slice::from_ref(&application), None);
        let client = TcpStream::connect(server.tcp).unwrap();
        let from = client.local_addr().unwrap();
        let is_listed = |watch: &mut Watch| watch.ask().is_some_and(|it| it.iter().any(|it| it.from == Some(from)));
        patience::wait_for("the session", Duration::from_secs(20), || is_listed(&mut watch).then_some(()));
        watch.tick();
        let before = watch.own_tcp.contains_key(&from);
        // The next look finds the process.
        watch.connections.clients.insert(from, application);
        watch.tick();
        let after = watch.own_tcp.contains_key(&from);
        worker.kill().unwrap();
        worker.wait().unwrap();
        assert_eq!([before, after], [false, true]);
    }
}
