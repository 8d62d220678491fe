//! Finds servers that may belong to a chain although no link to them was seen, because connections to them were opened
//! and closed.
//!
//! A closed connection no longer has an owner. Called while the chains are built.

use looptax_host::discover::{Service, Survey};

use super::counts::Counts;
use super::paths::{Path, is_application};

/// Returns the pids of servers to which an application of this chain may have sent requests. Connections to such a
/// server were opened and closed, the client of these connections was not visible, and the counts do not rule out that
/// the application opened them.
pub(super) fn may_miss(survey: &Survey, path: &Path, counts: Option<&Counts<'_>>) -> Vec<u32> {
    let applications = applications(survey, path);
    let pids: Vec<u32> = applications.iter().map(|it| it.process.pid).collect();
    let links = &survey.stack.links;
    let is_in = |server: usize| path.links.iter().any(|it| links[*it].server == server);
    let is_explained = |server: usize| {
        let mut links = links.iter().filter(|it| it.server == server);
        links.any(|it| it.n_passing > 0)
    };
    let is_near = |server: usize| {
        let mut closed = { survey.others[server].closed.iter() }.filter(|it| it.way().is_some());
        closed.any(|closed| {
            let mut networks = applications.iter().map(|it| it.process.network);
            networks.any(|it| it.is_none_or(|it| it == closed.network))
        })
    };
    let servers = survey.servers.iter().enumerate();
    let open = servers.filter(|(idx, server)| {
        let may_be_asked = !is_application(server.kind) && !is_in(*idx);
        let is_open = counts.is_none_or(|it| it.leave_open(*idx, &pids));
        may_be_asked && !is_explained(*idx) && is_near(*idx) && is_open
    });
    open.map(|(_, it)| it.process.pid).collect()
}

/// Returns the services in a chain that run the application.
fn applications<'a>(survey: &'a Survey, path: &Path) -> Vec<&'a Service> {
    let stack = &survey.stack;
    let servers = path.links.iter().map(|it| stack.links[*it].server);
    let all = std::iter::once(path.first).chain(servers);
    let services = all.map(|it| &stack.services[it]);
    let is_one = |it: &&Service| { it.server_idx }.is_some_and(|idx| is_application(survey.servers[idx].kind));
    services.filter(is_one).collect()
}
