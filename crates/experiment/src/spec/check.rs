//! Checks that the parts of an experiment do not contradict each other, no matter how the experiment was made.

use std::path::Path;

use crate::servers::pooler::PoolMode;
use looptax_bench::ClientModel;
use looptax_model::failure::Failure;

use super::load::Load;
use super::target::TargetSpec;
use super::{Clients, Effort, Experiment, MOST_CONNECTIONS, Requests, requests};

impl Experiment {
    /// Returns an error if parts contradict each other.
    ///
    /// # Errors
    /// A usage failure that names the options in question.
    pub fn check(&self) -> Result<(), Failure> {
        check_connections(self.connections.as_deref().unwrap_or_default())?;
        self.requests.echo.check()?;
        check_flat_out(&self.requests, &self.load)?;
        if self.requests.are_connects() {
            check_connects(self.clients.as_ref())?;
        }
        if self.requests.are_dumps() {
            check_dumps(self)?;
        }
        for spec in &self.targets {
            check_socket(self.socket.as_deref(), spec)?;
        }
        check_pool_mode(self)?;
        if self.arms.len() < 2 {
            return Err(Failure::usage(
                "a comparison needs two arms",
                "for example --arms unix,tcp; unix,unix is an A/A run",
            ));
        }
        Ok(())
    }
}

/// Returns an error for a pool mode if no target is a pooler.
fn check_pool_mode(experiment: &Experiment) -> Result<(), Failure> {
    let is_pooler = |spec: &TargetSpec| spec.kind().is_pooler();
    if experiment.pool_mode == PoolMode::default() || experiment.targets.iter().any(is_pooler) {
        return Ok(());
    }
    Err(Failure::usage(
        "--pool-mode is for a pooler that looptax starts itself",
        "for example looptax compare private:pgbouncer --pool-mode transaction --protocol text",
    ))
}

/// Returns an error if the user gave two different sockets, because looptax cannot know which of them is meant.
fn check_socket(given: Option<&Path>, spec: &TargetSpec) -> Result<(), Failure> {
    let own = match spec {
        TargetSpec::Running(running) => running.socket.as_deref(),
        TargetSpec::Private(_) => None,
    };
    match (given, own) {
        // PostgreSQL's socket may be given by its folder.
        (Some(given), Some(own)) if given != own && Some(given) != own.parent() => Err(Failure::usage(
            format!("the target's URL names the socket {}, but --socket names {}", own.display(), given.display()),
            "leave out the socket in the URL, or --socket",
        )),
        _ => Ok(()),
    }
}

fn check_connections(connections: &[u32]) -> Result<(), Failure> {
    let is_wrong = |n: &&u32| **n == 0 || **n > MOST_CONNECTIONS;
    match connections.iter().find(is_wrong) {
        Some(n) => Err(Failure::usage(
            format!("`-c {n}` is not a number of connections"),
            format!("from 1 to {MOST_CONNECTIONS}, for example -c 1,16"),
        )),
        None => Ok(()),
    }
}

/// Returns an error for a rate or pauses if the requests always run as fast as they can.
fn check_flat_out(requests: &Requests, load: &Load) -> Result<(), Failure> {
    match requests.workload.as_deref() {
        Some(word @ (requests::STREAM | requests::CONNECT | requests::DUMP)) if !load.is_flat_out() => {
            Err(Failure::usage(
                format!("--rate and --think do not apply to `{word}`"),
                "leave --rate and --think out: this workload runs as fast as it can",
            ))
        }
        _ if requests.reconnect_every.is_some() && !load.is_flat_out() => {
            Err(Failure::usage("--reconnect-every needs a closed loop without pauses", "leave --rate and --think out"))
        }
        _ => Ok(()),
    }
}

/// Returns an error for options that a dump ignores: a dump has a fixed length, and no other request runs beside it.
fn check_dumps(experiment: &Experiment) -> Result<(), Failure> {
    if matches!(experiment.effort, Effort::Time(_)) {
        return Err(Failure::usage(
            "--fixed cannot be a time for dumps, because looptax does not know beforehand how long a dump takes",
            "give a number of epochs (an epoch is four dumps): --fixed 6",
        ));
    }
    if experiment.slice.is_some() {
        return Err(Failure::usage(
            "--slice-ms does not apply to `dump`: whole dumps are compared",
            "use --rows to choose the length of the dumps",
        ));
    }
    let connections = experiment.connections.iter().flatten();
    if experiment.is_sweep || { connections }.any(|n| *n != 1) {
        return Err(Failure::usage("`dump` runs one dump at a time", "leave -c and --sweep out"));
    }
    Ok(())
}

/// Returns an error if requests log in and the user requested a client model other than `block`: a login is a separate
/// dialogue, in which the client does not poll.
fn check_connects(clients: Option<&Clients>) -> Result<(), Failure> {
    let typed = match clients {
        None => None,
        Some(Clients::All) => Some("--client all".to_owned()),
        Some(Clients::Models(models)) => {
            { models.iter() }.find(|model| **model != ClientModel::Block).map(|model| format!("--client {model}"))
        }
        Some(Clients::Like(words)) => words.first().map(|word| format!("--client-like {word}")),
    };
    match typed {
        Some(typed) => Err(Failure::usage(
            format!("{typed} does not apply to `connect` or --reconnect-every: their client blocks in every step"),
            "leave it out",
        )),
        None => Ok(()),
    }
}

/// Returns an error for a client model that does not fit the load: a client thread that waits for one reply cannot keep
/// to a schedule, and a thread that serves many connections cannot pause for one of them.
///
/// # Errors
/// A usage failure for a model that does not fit the load.
pub(super) fn check_clients(load: &Load, clients: &[ClientModel]) -> Result<(), Failure> {
    let is_event = |model: &ClientModel| *model == ClientModel::Event;
    match load {
        Load::Open { .. } if !clients.iter().all(is_event) => Err(Failure::usage(
            "--rate does not work with a client that waits for each answer before it sends again",
            "leave --client out, or use --client event",
        )),
        Load::Closed { think } if !think.is_zero() && clients.iter().any(is_event) => {
            Err(Failure::usage("--think needs a thread for each connection", "use --client poll, poll-first or block"))
        }
        _ => Ok(()),
    }
}
