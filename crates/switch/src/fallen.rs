//! Finds clients that were switched to the socket and use TCP again: cron jobs, workers with a separate file.

use looptax_host::discover::{Client, Survey};
use looptax_model::record::SwitchStanding;

use crate::journal::{MovedFrom, Step};
use crate::list::Switch;
use crate::proof::Kin;

/// A process like those that an earlier switch moved, which is connected to the same server over TCP again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallen {
    pub id: String,
    pub title: String,
    /// The process's name and pid, such as `php-fpm8.2 812`.
    pub who: String,
    pub pid: u32,
    /// The server to which the process is connected over TCP again. The switch may have left the process's connections
    /// to other servers on TCP.
    pub server_pid: u32,
}

/// Finds the processes that an earlier switch moved and that are connected over TCP again.
pub fn fallen_back(switches: &[Switch], survey: &Survey) -> Vec<Fallen> {
    let mut found = Vec::new();
    for switch in switches.iter().filter(|it| is_over_socket(it)) {
        for moved in switch.steps.iter().flat_map(moved_from) {
            let back = { survey.clients.iter() }.filter(|it| is_back(it, moved, survey));
            found.extend(back.filter_map(|client| {
                let process = client.peer.process.as_ref()?;
                Some(Fallen {
                    id: switch.id.clone(),
                    title: switch.title.clone(),
                    who: format!("{} {}", process.program_name(), process.pid),
                    pid: process.pid,
                    server_pid: survey.servers[client.server_idx].process.pid,
                })
            }));
        }
    }
    found
}

fn is_over_socket(switch: &Switch) -> bool {
    use SwitchStanding::{Moved, Unproved};
    matches!(switch.standing, Moved | Unproved)
}

fn moved_from(step: &Step) -> &[MovedFrom] {
    match step {
        Step::Moving { connections, .. } => connections,
        _ => &[],
    }
}

fn is_back(client: &Client, moved: &MovedFrom, survey: &Survey) -> bool {
    let Some(process) = &client.peer.process else {
        return false;
    };
    let endpoints = &survey.servers[client.server_idx].endpoints;
    client.peer.way.is_tcp()
        && endpoints.iter().any(|it| it.place.takes(moved.tcp))
        && moved.kin.contains(&Kin::new(process))
}
