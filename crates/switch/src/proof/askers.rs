//! Collects the programs that send requests to the server over TCP before anything is written. One of these programs
//! may be the application.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use looptax_host::eyes::Asked;

use super::application::{Asker, is_looptax};
use super::counter::Asking;
use super::eye::Session;
use super::watched::Watched;

#[derive(Debug, Default)]
pub(super) struct Askers {
    all: Vec<Asker>,
    /// TCP connections that were open at the start and use other accounts, according to the server's list; each with
    /// the pid of its process.
    others: Vec<(SocketAddr, u32)>,
}

impl Askers {
    pub(super) fn take(&mut self, all: &[Asking], of: &Watched) {
        let is_tcp = |it: &&Asking| matches!(it.counted.asked, Asked::Tcp { .. }) && of.takes(&it.counted.asked);
        for Asking { counted, client, .. } in all.iter().filter(is_tcp) {
            let (Some(end), Some(client)) = (&counted.client, client) else { continue };
            let is_known = |it: &Asker| it.process.pid == client.pid && it.comm == end.comm;
            if !is_looptax(client) && !self.all.iter().any(is_known) {
                let is_seen = client.pid == end.pid;
                self.all.push(Asker { process: client.clone(), comm: end.comm.clone(), is_seen });
            }
        }
    }

    pub(super) fn is_another_account_s(&mut self, from: SocketAddr, pid: u32) {
        self.others.push((from, pid));
    }

    /// The server now lists sessions of the account that were still logging in at the start. Removes these sessions
    /// from the connections with other accounts.
    pub(super) fn use_the_account(&mut self, all: &[Session]) {
        self.others.retain(|(from, _)| !all.iter().any(|it| it.from == Some(*from)));
    }

    /// Returns all programs, except programs that still have a connection with another account; `open` lists the open
    /// connections. If a short command ended before looptax saw it, and looptax saw a command with the same name and
    /// parent, both count as one program.
    pub(super) fn all(&mut self, open: &BTreeSet<SocketAddr>) -> Vec<Asker> {
        let Self { mut all, others } = std::mem::take(self);
        // A short connection may be missing in the server's list, because the program opened it after the server had
        // made the list. So looptax compares the program's pid.
        let is_another_s = |pid: u32| others.iter().any(|(from, of)| *of == pid && open.contains(from));
        all.retain(|it| !is_another_s(it.process.pid));
        let seen: Vec<(String, u32)> =
            { all.iter() }.filter(|it| it.is_seen).map(|it| (it.comm.clone(), it.process.parent)).collect();
        let is_another = |it: &Asker| it.is_seen || !seen.contains(&(it.comm.clone(), it.process.pid));
        all.into_iter().filter(is_another).collect()
    }
}

#[cfg(test)]
mod tests {
    use looptax_host::discover::Process;

    use super::*;

    #[test]
    fn a_command_that_had_ended_is_no_other_program_than_one_that_was_seen() {
        let own = looptax_host::discover::process(std::process::id()).unwrap();
        let child = Process { pid: own.pid + 1, parent: own.pid, ..own.clone() };
        let asker =
            |comm: &str, process: &Process, is_seen| Asker { process: process.clone(), comm: comm.to_owned(), is_seen };
        let from = "127.0.0.1:40000".parse().unwrap();
        let with = |all: &[Asker], others| Askers { all: all.to_vec(), others };
        let n_of = |all: &[Asker]| with(all, Vec::new()).all(&BTreeSet::from([from])).len();
        assert_eq!(n_of(&[asker("psql", &own, false), asker("psql", &child, true)]), 1);
        assert_eq!(n_of(&[asker("pg_isready", &own, false), asker("psql", &child, true)]), 2);
        assert_eq!(n_of(&[asker("psql", &own, false)]), 1);
        // According to the server's list, this connection uses another account; this excludes the program while the
        // connection is open.
        let mut other = with(&[asker("psql", &own, true)], vec![(from, own.pid)]);
        assert_eq!(other.all(&BTreeSet::from([from])).len(), 0);
        let mut ended = with(&[asker("psql", &own, true)], vec![(from, own.pid)]);
        assert_eq!(ended.all(&BTreeSet::new()).len(), 1);
    }
}
