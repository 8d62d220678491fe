//! Who asks the server over TCP before anything is written: one of them may be the application.

use looptax_host::eyes::Asked;

use super::application::{Asker, is_looptax};
use super::counter::Asking;
use super::watched::Watched;

#[derive(Debug, Default)]
pub(super) struct Askers(Vec<Asker>);

impl Askers {
    pub(super) fn take(&mut self, all: &[Asking], of: &Watched) {
        let is_tcp = |it: &&Asking| matches!(it.counted.asked, Asked::Tcp { .. }) && of.takes(&it.counted.asked);
        for Asking { counted, client, .. } in all.iter().filter(is_tcp) {
            let (Some(end), Some(client)) = (&counted.client, client) else { continue };
            let is_known = |it: &Asker| it.process.pid == client.pid && it.comm == end.comm;
            if !is_looptax(client) && !self.0.iter().any(is_known) {
                let is_seen = client.pid == end.pid;
                self.0.push(Asker { process: client.clone(), comm: end.comm.clone(), is_seen });
            }
        }
    }

    /// All of them. If a short command had ended before it was seen, and another one of the same name and parent was seen,
    /// both are the same program.
    pub(super) fn all(&mut self) -> Vec<Asker> {
        let all = std::mem::take(&mut self.0);
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
        let n_of = |all: &[Asker]| Askers(all.to_vec()).all().len();
        assert_eq!(n_of(&[asker("psql", &own, false), asker("psql", &child, true)]), 1);
        assert_eq!(n_of(&[asker("pg_isready", &own, false), asker("psql", &child, true)]), 2);
        assert_eq!(n_of(&[asker("psql", &own, false)]), 1);
    }
}
