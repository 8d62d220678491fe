//! Applications with a connection pool, in languages whose libraries are not installed for every commit: a tokio
//! service with sqlx, and Java with `HikariCP`. looptax has to recognise each application, restart it for each turn,
//! and prove its turns.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;
use looptax_model::record::{TrialConnections, TrialDesign};

use super::site::{Site, free_address, shown};
use crate::workspace;

/// The options of the trials.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of epochs in each trial, which has four starts
    #[arg(long, default_value_t = 6)]
    epochs: u32,
}

pub(super) fn run(options: &Options, site: &Site) -> Result<()> {
    let clients = workspace::root()?.join("target/clients");
    if !clients.join("classes").is_dir() {
        bail!("the drivers are missing: clients/setup.sh installs them");
    }
    for (name, words) in [("tokio and sqlx", sqlx as Words), ("Java and HikariCP", java)] {
        let at = free_address()?;
        let fixed = ["--fixed".to_owned(), options.epochs.to_string()];
        let record = site.tried_as(at, &fixed, &words(&clients, at))?;
        let comparison = record.comparisons.first().context("nothing was measured")?;
        let trial = comparison.trial.as_ref().context("no trial")?;
        let [socket, tcp] = &trial.arms;
        let sum = |all: &[TrialConnections], of: fn(&TrialConnections) -> u64| -> u64 { all.iter().map(of).sum() };
        let moved = [socket, tcp].map(|arm| sum(&arm.connections, |it| it.n_moved));
        let left = [socket, tcp].map(|arm| sum(&arm.connections, |it| it.n_left + it.n_not_moved));
        let tax = comparison.tax.first().context("no verdict")?;
        println!(
            "{name}: {:?}; moved {} of {} in the socket's turns, {} of {} in TCP's; {} pages, {} failed; TCP costs {} % of them, {:?}",
            trial.design,
            moved[0],
            moved[0] + left[0],
            moved[1],
            moved[1] + left[1],
            socket.n_pages + tcp.n_pages,
            socket.n_failed + tcp.n_failed,
            shown(tax.throughput_pct.known()),
            tax.verdict
        );
        let is_right = trial.design == TrialDesign::Restart && left[0] == 0 && moved[1] == 0;
        if !is_right || moved[0] == 0 || left[1] == 0 || socket.n_failed + tcp.n_failed > 0 {
            bail!("{name}: the turns are wrong");
        }
    }
    Ok(())
}

type Words = fn(&Path, SocketAddr) -> Vec<String>;

fn sqlx(clients: &Path, at: SocketAddr) -> Vec<String> {
    let program = clients.join("rust/debug/site").display().to_string();
    vec![program, at.port().to_string()]
}

fn java(clients: &Path, at: SocketAddr) -> Vec<String> {
    let classes = format!("{0}/classes:{0}/jars/*", clients.display());
    let words = ["java", "-cp", &classes, "clients.Site", &at.port().to_string()];
    words.map(str::to_owned).to_vec()
}
