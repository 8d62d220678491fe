//! Plans a switch from its file, its application and the application's connections.

use std::path::{Path, PathBuf};

use crate::diagnose::check::{Client, sources};
use looptax_advise::app;
use looptax_bench::path::WaitOnce;
use looptax_host::discover::{Survey, process};
use looptax_host::kernel;
use looptax_model::failure::Failure;

use crate::before::{Before, around};
use crate::line::Commands;
use crate::plan::{FileToSwitch, Subject, Wish};
use crate::server;
use crate::stack::{self, pool_tests};

/// Lists the usual configuration files that exist in a process's working folder.
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

/// Plans a switch. If the caller passes no user, first determines the user from the processes that are connected at
/// present.
///
/// # Errors
/// If the file cannot be read or contains no connection, or if a user or process does not exist.
pub fn look_at(wish: Wish<'_>, survey: &Survey) -> Result<Subject, Failure> {
    if let Some(other) = wish.other.filter(|it| [wish.path, it].iter().all(|it| sources::is_container_unit(it))) {
        return of_units(wish, other, survey);
    }
    if let Some(other) = wish.other {
        let plain = |wish| look_at(wish, survey);
        return match server::look_at(wish, other, survey, plain)? {
            Some(subject) => Ok(subject),
            None => stack::look_at(wish, other),
        };
    }
    if wish.containers && sources::is_container_unit(wish.path) {
        return Err(sources::no_containers(wish.path));
    }
    let _remembering = WaitOnce::begin();
    plan(wish, FileToSwitch::read(wish)?, survey)
}

/// Plans a switch of two `.container` units; the unit that has a connection to move is the application's unit.
fn of_units(wish: Wish<'_>, other: &Path, survey: &Survey) -> Result<Subject, Failure> {
    if wish.path.parent() != other.parent() {
        return Err(Failure::usage(
            "the two units are in different folders: looptax cannot tell whether one manager starts both",
            "pass two units in the same folder",
        ));
    }
    let own = Wish { other: None, ..wish };
    let first = plan(own, FileToSwitch::read_with(own, other)?, survey);
    let moves = |it: &Result<Subject, Failure>| it.as_ref().is_ok_and(|it| !it.plan.edited.is_empty());
    if moves(&first) {
        return first;
    }
    let turned = Wish { path: other, ..own };
    let second = plan(turned, FileToSwitch::read_with(turned, wish.path)?, survey);
    if moves(&second) || first.is_err() && second.is_ok() { second } else { first }
}

fn plan(wish: Wish<'_>, file: FileToSwitch<'_>, survey: &Survey) -> Result<Subject, Failure> {
    let targets = |client: &Client| file.targets(around(client, wish, survey));
    let mut before = Before::look(wish, targets, survey)?;
    let mut plan = file.plan(around(&before.client, wish, survey))?;
    let watches = before.watches(&plan, wish.path, survey);
    plan.can_follow = !watches.between.is_empty() && !watches.has_unwatched;
    let tests = pool_tests(plan.edited.iter().map(|it| it.original.path()));
    Ok(Subject {
        file: wish.path.to_owned(),
        plan,
        commands: Commands { tests, ..Commands::default() },
        proof: Box::new(watches),
    })
}
