//! Finds the programs other than the application that are connected to a server: a restart ends their connections too.

use std::collections::BTreeSet;

use looptax_host::discover::{Process, Server, Survey, any_process};
use looptax_model::record::{Outcome, Point, PointCode, Topic};

use crate::diagnose::check::user_name;
use crate::proof::{Application, Kin};

#[derive(Debug, Default)]
pub(super) struct Others {
    /// For each program, the properties that its processes have in common, and the name that a person sees.
    all: Vec<(Kin, String)>,
    seen_again: BTreeSet<usize>,
    n_over_tcp: usize,
    n_connections: usize,
    n_remote: usize,
}

impl Others {
    /// Finds the other programs. If a server does not report accounts, every client may belong to the application. In
    /// that case, if the clients are several programs and the caller passed no process in `named`, all clients count as
    /// other programs.
    pub(super) fn find(server: &Server, applications: &[&Application], named: Option<u32>, survey: &Survey) -> Self {
        let mut found = Self::default();
        let is_one = named.is_some() || applications.iter().all(|it| it.kin().len() < 2);
        for (process, is_tcp, n) in clients(server.process.pid, survey) {
            found.n_connections += n;
            if is_one && applications.iter().any(|it| it.has(&process)) {
                continue;
            }
            found.n_over_tcp += usize::from(is_tcp);
            let kin = Kin::new(&process);
            if !found.all.iter().any(|(own, _)| *own == kin) {
                let user = user_name(process.uid);
                found.all.push((kin, format!("{} {} ({user})", process.program_name(), process.pid)));
            }
        }
        let place = survey.servers.iter().position(|it| it.process.pid == server.process.pid);
        found.n_remote = place.and_then(|idx| survey.others.get(idx)).map_or(0, |it| it.n_remote);
        found
    }

    /// Returns the number of open connections to the server, including the application's connections.
    pub(super) fn n_connections(&self) -> usize {
        self.n_connections + self.n_remote
    }

    /// Returns the point about other programs that use a port on which the server will not listen once it has a socket.
    pub(super) fn at_a_port_that_ends(&self, is_exclusive: bool) -> Option<Point> {
        if !is_exclusive {
            return None;
        }
        let point = |outcome, what: String| {
            Point::new(Topic::Server, PointCode::OthersAtPort, outcome, what, "read the server's connections")
        };
        if self.n_over_tcp == 0 && self.n_remote == 0 {
            let words = "once the server has a socket, it no longer listens on a port; at present no other program is connected to \
                 that port";
            return Some(point(Outcome::Note, words.to_owned()));
        }
        let mut names: Vec<String> = self.all.iter().map(|it| it.1.clone()).collect();
        if self.n_remote > 0 {
            names.push(format!("{} connections from other machines", self.n_remote));
        }
        let what = format!(
            "once the server has a socket, it no longer listens on a port, and other programs are connected to that port: {}",
            names.join(", ")
        );
        Some(point(Outcome::Fail, what).with_next(
            "start a second server with the socket for this application, and leave this server as it is; or pass \
             the program that moves: --pid PID",
        ))
    }

    /// Notes which of the other programs are connected again.
    pub(super) fn look(&mut self, server_pid: u32, survey: &Survey) {
        let now: Vec<Kin> = clients(server_pid, survey).map(|it| Kin::new(&it.0)).collect();
        let again = self.all.iter().enumerate().filter(|(_, (kin, _))| now.contains(kin));
        self.seen_again.extend(again.map(|(idx, _)| idx).collect::<Vec<_>>());
    }

    /// Returns the names of the programs that are running and have not connected again.
    pub(super) fn missing(&self) -> Vec<String> {
        self.unseen(true)
    }

    /// Returns the names of the programs that ended without having connected again.
    pub(super) fn gone(&self) -> Vec<String> {
        self.unseen(false)
    }

    fn unseen(&self, are_running: bool) -> Vec<String> {
        let runs = |kin: &Kin| any_process(|it| Kin::new(it) == *kin);
        let unseen = self.all.iter().enumerate().filter(|(idx, _)| !self.seen_again.contains(idx));
        unseen.filter(|(_, (kin, _))| runs(kin) == are_running).map(|(_, (_, name))| name.clone()).collect()
    }
}

/// Returns each process that has connections to a server. For each process, also returns whether it uses TCP, and the
/// number of its connections.
pub(super) fn clients(server_pid: u32, survey: &Survey) -> impl Iterator<Item = (Process, bool, usize)> {
    let own = std::process::id();
    let is_its = move |idx: usize| survey.servers[idx].process.pid == server_pid;
    let its = survey.clients.iter().filter(move |it| is_its(it.server_idx));
    its.filter_map(move |it| {
        let process = it.peer.process.clone().filter(|it| it.pid != own && it.program_name() != "looptax")?;
        Some((process, it.peer.way.is_tcp(), it.peer.connections.len()))
    })
}
