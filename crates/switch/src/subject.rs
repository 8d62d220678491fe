//! What is switched: the file, whose it is, and the watches over its connections.

use std::path::{Path, PathBuf};

use crate::diagnose::check::{Around, Client};
use looptax_advise::app;
use looptax_host::discover::{Process, Survey, process};
use looptax_host::kernel;
use looptax_model::failure::Failure;

use crate::line::Commands;
use crate::plan::{Fate, Plan, Planned, Subject, Wish, plan};
use crate::proof::{Watch, Watched, Watches};
use crate::stack::pool_tests;

/// What is said of the subject beside the wish.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// As whom the application runs.
    pub user: Option<&'a str>,
    /// The socket that was named.
    pub socket: Option<&'a Path>,
    /// Connections that come at once.
    pub n_connections: u32,
}

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

/// Plans, as the user whose processes are connected now where none is named.
///
/// # Errors
/// As [`plan`]; that a user or process is not there.
pub fn look_at(wish: Wish<'_>, about: About<'_>, survey: &Survey) -> Result<Subject, Failure> {
    let named: Vec<Process> = wish.pid.and_then(process).into_iter().collect();
    let client = Client::find(wish.pid, about.user)?;
    let first = plan(wish, around(&client, about, survey))?;
    let watches = watches(&first, survey, &named);
    let is_named = wish.pid.is_some() || about.user.is_some();
    let example = { watches.iter() }.find_map(|it| it.application().example());
    let seen = example
        .filter(|_| !is_named)
        .and_then(|it| Client::find(Some(it.pid), None).ok());
    let plan = match seen {
        Some(client) => plan(wish, around(&client, about, survey))?,
        None => first,
    };
    let moves = |watch: &Watch| plan.connections.iter().any(|it| is_of(it, watch));
    let all = watches.into_iter().filter(moves).collect();
    let mut moved = { plan.connections.iter() }.filter(|it| matches!(it.fate, Fate::Moves(_)));
    let watches = Watches {
        all,
        // A container's goes to no address of this machine.
        has_unwatched: moved.any(|it| it.found.tcp.is_none()),
    };
    let tests = pool_tests(plan.edited.iter().map(|it| it.original.path()));
    Ok(Subject {
        plan,
        commands: Commands {
            tests,
            reloads: Vec::new(),
        },
        proof: Box::new(watches),
    })
}

fn around<'a>(client: &'a Client, about: About<'a>, survey: &'a Survey) -> Around<'a> {
    Around {
        client,
        near: client.near(&survey.servers),
        socket: about.socket,
        n_connections: about.n_connections,
    }
}

/// Whether a watch is over this connection, which moves.
fn is_of(planned: &Planned, watch: &Watch) -> bool {
    let watched = watch.watched();
    let address = planned.found.address.as_ref();
    let is_same = planned.found.tcp == Some(watched.tcp)
        && address.is_some_and(|it| it.user == watched.address.user);
    is_same && matches!(planned.fate, Fate::Moves(_))
}

/// Looks at every connection that may move, before anything is written. Two connections of one account have one.
fn watches(plan: &Plan, survey: &Survey, named: &[Process]) -> Vec<Watch> {
    let mut watches: Vec<Watch> = Vec::new();
    for planned in &plan.connections {
        let found = &planned.found;
        let (Some(address), Some(tcp), Some(socket)) = (&found.address, found.tcp, &found.socket)
        else {
            continue;
        };
        if matches!(planned.fate, Fate::Unwanted | Fate::IsThere) {
            continue;
        }
        let is_same = |it: &Watched| it.tcp == tcp && it.address.user == address.user;
        if watches.iter().any(|it| is_same(it.watched())) {
            continue;
        }
        let listens = |it: &&looptax_host::discover::Server| {
            let endpoints = it.endpoints.iter();
            { endpoints }.any(|endpoint| endpoint.place.takes(tcp))
        };
        let of = Watched {
            title: format!("{} at {}", found.checked.product, found.checked.place),
            address: address.clone(),
            tcp,
            socket: PathBuf::from(socket),
            server: survey.servers.iter().find(listens).cloned(),
        };
        watches.push(Watch::begin(of, named));
    }
    watches
}
