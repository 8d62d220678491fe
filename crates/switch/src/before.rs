//! Determines which processes belong to the application, from the connections that are open before anything is written.
//! Creates the watches over the connections that a plan moves.
//!
//! Called by `subject` and `server` while they plan.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use looptax_host::discover::{Process, Survey, process};
use looptax_host::read;
use looptax_model::dsn::{Address, Protocol};
use looptax_model::failure::Failure;

use crate::diagnose::check::{Around, Client, Switchable};
use crate::diagnose::socket_of::Near;
use crate::plan::{Plan, Planned, Wish};
use crate::proof::{Application, Between, Watch, Watched, Watches};

/// The application, identified by its TCP connections before anything is written.
pub(crate) struct Before {
    pub(crate) client: Client,
    watches: Vec<Watch>,
    named: Vec<Process>,
    /// The user that the caller named.
    user: Option<u32>,
}

impl Before {
    /// # Errors
    /// If a process or user that the caller named does not exist; also every error of `targets`.
    pub(crate) fn look(
        wish: Wish<'_>,
        targets: impl FnOnce(&Client) -> Result<Vec<(Address, SocketAddr)>, Failure>,
        survey: &Survey,
    ) -> Result<Self, Failure> {
        let named: Vec<Process> = wish.pid.and_then(process).into_iter().collect();
        let mut client = Client::for_file(wish.path, wish.pid, wish.user)?;
        let mut watches: Vec<Watch> = Vec::new();
        let user = wish.user.and(client.rights.as_ref()).map(|it| it.uid);
        let file = read::look(wish.path).ok().flatten();
        for (address, tcp) in targets(&client)? {
            if !watches.iter().any(|it| is_over(it, &address, tcp)) {
                let of = Watched { file, ..watched(address, tcp, client.near(survey)) };
                watches.push(Watch::begin(of, &named, user));
            }
        }
        let is_named = wish.pid.is_some() || wish.user.is_some();
        let example = { watches.iter().filter(|_| !is_named) }.find_map(|it| it.application().example());
        if let Some(seen) = example.and_then(|it| Client::find(Some(it.pid), None).ok()) {
            client = Client { unit: client.unit.take(), ..seen };
        }
        Ok(Self { client, watches, named, user })
    }

    pub(crate) fn applications(&self) -> Vec<&Application> {
        self.watches.iter().map(Watch::application).collect()
    }

    /// Returns the watches over the connections that a plan moves.
    pub(crate) fn watches(&mut self, plan: &Plan, file: &Path, survey: &Survey) -> Watches {
        let (before, named) = (&mut self.watches, &self.named);
        let mut watches = Watches::default();
        for planned in { plan.connections.iter() }.filter(|it| it.moves()) {
            let found = &planned.found;
            let (Some(address), Some(tcp), Some(socket)) = (&found.address, found.tcp, &found.socket) else {
                // A container's connection does not lead to an address of this machine, so `found.tcp` is `None`.
                match between(planned, plan, file).filter(Between::is_seen) {
                    Some(between) => watches.between.push(between),
                    None => watches.has_unwatched |= found.tcp.is_none(),
                }
                continue;
            };
            // Two connections with the same account and address share a watch.
            if watches.all.iter().any(|it| is_over(it, address, tcp)) {
                continue;
            }
            let of = Watched {
                title: title(found),
                socket: Some(PathBuf::from(socket)),
                is_whole: !stays(plan, tcp),
                ..watched(address.clone(), tcp, self.client.near(survey))
            };
            let earlier = before.iter().position(|it| is_over(it, address, tcp));
            let watch = match earlier {
                Some(idx) => {
                    let earlier = before.swap_remove(idx);
                    let of = Watched { file: earlier.watched().file, ..of };
                    earlier.with_socket(of, named)
                }
                None => Watch::begin(of, named, self.user),
            };
            watches.all.push(watch);
        }
        watches
    }
}

pub(crate) fn around<'a>(client: &'a Client, wish: Wish<'a>, survey: &'a Survey) -> Around<'a> {
    Around { client, near: client.near(survey), socket: wish.socket, n_connections: wish.n_connections }
}

/// Whether a connection of the file to this address stays on TCP.
fn stays(plan: &Plan, tcp: SocketAddr) -> bool {
    plan.connections.iter().any(|it| !it.moves() && it.found.tcp == Some(tcp))
}

fn title(found: &Switchable) -> String {
    format!("{} at {}", found.checked.product, found.checked.place)
}

/// The protocols of servers whose clients looptax follows into new containers.
const FOLLOWED: [Protocol; 5] =
    [Protocol::Mysql, Protocol::Postgres, Protocol::Redis, Protocol::Memcached, Protocol::Mongodb];

/// Returns the connection if it is between two services of this Compose file, and if no other connection to the same
/// server stays on TCP; else `None`.
fn between(planned: &Planned, plan: &Plan, file: &Path) -> Option<Between> {
    let found = &planned.found;
    let host = |it: &Switchable| it.address.as_ref().and_then(|it| it.host.clone());
    if plan.connections.iter().any(|it| !it.moves() && host(&it.found) == host(found)) {
        return None;
    }
    found.address.as_ref().filter(|it| FOLLOWED.contains(&it.protocol))?;
    Some(Between {
        title: title(found),
        address: found.address.clone().filter(|_| found.tcp.is_none())?,
        socket: PathBuf::from(found.socket.as_ref()?),
        file: read::real_path(file).ok()?,
        service: found.service.clone()?,
    })
}

fn is_over(watch: &Watch, address: &Address, tcp: SocketAddr) -> bool {
    let watched = watch.watched();
    watched.tcp == Some(tcp) && watched.address.user == address.user
}

fn watched(address: Address, tcp: SocketAddr, near: Near<'_>) -> Watched {
    let (server, is_behind_proxy) = near.server_as_seen(&address);
    Watched {
        title: String::new(),
        address,
        tcp: Some(tcp),
        socket: None,
        server,
        is_behind_proxy,
        is_whole: true,
        file: None,
    }
}
