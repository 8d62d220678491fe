//! The proved dialects, as data for looptax and for the page that `cargo xtask docs` makes from the data, and as a
//! table.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::trial::Trial;
use crate::workspace;

const FILE: &str = "crates/advise/data/proved.toml";
const HEAD: &str = "# Which dialects real drivers have connected with, and a text of each to see whether it has\n\
    # changed since. Written by `cargo lab dialects --write`; not by hand. Those of php-fpm, http and\n\
    # uwsgi are what crates/advise/tests/web follows.\n";

/// One dialect, in the form that looptax reads.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Proof {
    driver: String,
    language: String,
    servers: Vec<String>,
    date: String,
    urls: usize,
    connected: usize,
    refused: usize,
    sample: String,
}

type Proofs = BTreeMap<String, BTreeMap<String, Proof>>;

/// Replaces the results of the dialects that were tried, and keeps the rest; failed dialects are removed.
pub(crate) fn keep(trials: &[Trial]) -> Result<()> {
    let path = workspace::root()?.join(FILE);
    let mut all: Proofs = match fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text).with_context(|| format!("{FILE} is invalid"))?,
        Err(_) => Proofs::new(),
    };
    let date = workspace::today()?;
    for trial in trials {
        all.entry(trial.kind.clone()).or_default().remove(&trial.name);
    }
    for trial in trials {
        let is_proved = |it: &Trial| (&it.kind, &it.name) != (&trial.kind, &trial.name) || it.is_proved();
        if !trials.iter().all(is_proved) {
            continue;
        }
        let proofs = all.entry(trial.kind.clone()).or_default();
        proofs
            .entry(trial.name.clone())
            .and_modify(|proof| proof.servers.push(trial.server.clone()))
            .or_insert_with(|| proof(trial, &date));
    }
    workspace::write_tables(FILE, HEAD, &all)
}

fn proof(trial: &Trial, date: &str) -> Proof {
    Proof {
        driver: trial.versions.driver.clone(),
        language: trial.versions.language.clone(),
        servers: vec![trial.server.clone()],
        date: date.to_owned(),
        urls: trial.n_cases,
        connected: trial.n_connected,
        refused: trial.n_refused,
        sample: trial.sample.clone(),
    }
}

pub(crate) fn table(trials: &[Trial]) -> String {
    let mut text = String::from(
        "| dialect | driver | server | connected | refused with a warning | of |\n|---|---|---|---|---|---|\n",
    );
    for trial in trials {
        let Trial { kind, name, server, versions, n_connected, n_refused, n_cases, .. } = trial;
        let (driver, language) = (&versions.driver, &versions.language);
        let _ = writeln!(
            text,
            "| {kind} {name} | {driver}, {language} | {server} | {n_connected} | {n_refused} | {n_cases} |"
        );
    }
    text
}
