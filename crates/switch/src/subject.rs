//! What is switched: the file, whose it is, and the watches over its connections.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::diagnose::check::{Around, Client};
use looptax_advise::app;
use looptax_bench::path::WaitOnce;
use looptax_host::discover::{Process, Server, Survey, process};
use looptax_host::kernel;
use looptax_model::dsn::Address;
use looptax_model::failure::Failure;

use crate::line::Commands;
use crate::plan::{FileToSwitch, Subject, Wish};
use crate::proof::{Watch, Watched, Watches};
use crate::stack::{self, pool_tests};

/// The files of a process's working folder that name connections.
pub fn files_of(pid: u32) -> Vec<PathBuf> {
    let Ok(folder) = kernel::link(format!("/proc/{pid}/cwd")) else {
        return Vec::new();
    };
    let Some(view) = process(pid).and_then(|it| it.view().ok()) else {
        return Vec::new();
    };
    let names = app::usual_files().into_iter();
    let there = names.filter(|name| view.is_file(Path::new(name)));
    there.map(|name| folder.join(name)).collect()
}

/// Plans, as the user whose processes are connected now if none is named: who that is, is found before the one plan.
///
/// # Errors
/// That the file cannot be read or names no connection; that a user or process is not there.
pub fn look_at(wish: Wish<'_>, survey: &Survey) -> Result<Subject, Failure> {
    if let Some(other) = wish.other {
        return stack::look_at(wish, other);
    }
    let _remembering = WaitOnce::begin();
    let named: Vec<Process> = wish.pid.and_then(process).into_iter().collect();
    let mut client = Client::for_file(wish.path, wish.pid, wish.user)?;
    let file = FileToSwitch::read(wish)?;
    let mut before: Vec<Watch> = Vec::new();
    for (address, tcp) in file.targets(around(&client, wish, survey))? {
        if !before.iter().any(|it| is_over(it, &address, tcp)) {
            let of = watched(address, tcp, survey);
            before.push(Watch::begin(of, &named));
        }
    }
    let is_named = wish.pid.is_some() || wish.user.is_some();
    let example = { before.iter().filter(|_| !is_named) }.find_map(|it| it.application().example());
    if let Some(seen) = example.and_then(|it| Client::find(Some(it.pid), None).ok()) {
        client = Client { unit: client.unit.take(), ..seen };
    }
    let plan = file.plan(around(&client, wish, survey))?;
    let mut watches = Watches::default();
    for planned in { plan.connections.iter() }.filter(|it| it.moves()) {
        let found = &planned.found;
        let (Some(address), Some(tcp), Some(socket)) = (&found.address, found.tcp, &found.socket) else {
            // A container's goes to no address of this machine.
            watches.has_unwatched |= found.tcp.is_none();
            continue;
        };
        // Two connections of one account have one.
        if watches.all.iter().any(|it| is_over(it, address, tcp)) {
            continue;
        }
        let of = Watched {
            title: format!("{} at {}", found.checked.product, found.checked.place),
            socket: Some(PathBuf::from(socket)),
            ..watched(address.clone(), tcp, survey)
        };
        let earlier = before.iter().position(|it| is_over(it, address, tcp));
        let watch = match earlier {
            Some(idx) => before.swap_remove(idx).with_socket(of, &named),
            None => Watch::begin(of, &named),
        };
        watches.all.push(watch);
    }
    let tests = pool_tests(plan.edited.iter().map(|it| it.original.path()));
    Ok(Subject { plan, commands: Commands { tests, reloads: Vec::new() }, proof: Box::new(watches) })
}

fn around<'a>(client: &'a Client, wish: Wish<'a>, survey: &'a Survey) -> Around<'a> {
    Around {
        client,
        near: client.near(&survey.servers).with_clients(&survey.clients),
        socket: wish.socket,
        n_connections: wish.n_connections,
    }
}

fn is_over(watch: &Watch, address: &Address, tcp: SocketAddr) -> bool {
    let watched = watch.watched();
    watched.tcp == tcp && watched.address.user == address.user
}

fn watched(address: Address, tcp: SocketAddr, survey: &Survey) -> Watched {
    let listens = |it: &&Server| it.endpoints.iter().any(|it| it.place.takes(tcp));
    Watched { title: String::new(), address, tcp, socket: None, server: survey.servers.iter().find(listens).cloned() }
}
