//! The records that are changed: stored records of measurements that not every machine can do, and new records of
//! measurements that every machine can do.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use looptax_model::record::Record;
use serde_json::Value;

use crate::process;

/// Stored records, because their measurements need rights or programs that a machine may lack. Each is in the form that
/// `show --json` prints.
const KEPT: [(&str, &str); 2] =
    [("why, kept", include_str!("kept/why.json")), ("trial, kept", include_str!("kept/trial.json"))];

/// The runs that make new records. They are short, and together have every kind of field that a record may have.
const MADE: [(&str, &str); 6] = [
    ("one arm", "compare echo --fixed 6"),
    ("several arms", "compare echo --arms unix,tcp,abstract,tls --fixed 6 -c 2"),
    ("a rate", "compare echo --rate 2000 --fixed 6"),
    ("connects", "compare private:redis --reconnect-every 1 --fixed 6"),
    ("whole commands", "compare echo --exec-unix true --exec-tcp true --fixed 6"),
    ("a private server", "compare private:redis --fixed 6"),
];

pub(super) struct Original {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) json: Value,
    pub(super) id: String,
    /// Whether the record contains samples of `why`.
    pub(super) is_of_why: bool,
    /// Whether the record contains pages of an application.
    pub(super) is_of_trial: bool,
}

impl Original {
    fn new(name: &str, text: String) -> Result<Self> {
        let failed = || format!("{name}: no record");
        let json: Value = serde_json::from_str(&text).with_context(failed)?;
        let record: Record = serde_json::from_str(&text).with_context(failed)?;
        Ok(Self {
            name: name.to_owned(),
            json,
            id: record.id,
            is_of_why: record.comparisons.iter().any(|it| !it.why.is_empty()),
            is_of_trial: record.comparisons.iter().any(|it| it.trial.is_some()),
            text,
        })
    }
}

pub(super) fn kept() -> Result<Vec<Original>> {
    let kept = KEPT.iter();
    kept.map(|(name, text)| Original::new(name, (*text).to_owned())).collect()
}

/// Measures the new records; a run that this machine cannot do is reported and left out.
pub(super) fn made(looptax: &Path) -> Result<Vec<Original>> {
    let home = tempfile::tempdir().context("cannot make a folder")?;
    let mut all = Vec::new();
    for (name, words) in MADE {
        let mut command = Command::new(looptax);
        command.args(words.split(' ')).args(["--quiet", "--json", "--no-history"]).env("XDG_DATA_HOME", home.path());
        match process::run(command) {
            Ok(ended) => all.push(Original::new(name, thinned(&ended.stdout, looptax)?)?),
            Err(error) => println!("{name}: left out: {error:#}"),
        }
    }
    Ok(all)
}

/// Returns the record with only the latencies of the first epoch, and judged again. Reading the latencies takes most of
/// a command's time.
fn thinned(text: &str, looptax: &Path) -> Result<String> {
    let mut record: Record = serde_json::from_str(text)?;
    for comparison in &mut record.comparisons {
        for epoch in comparison.raw.epochs.iter_mut().skip(1) {
            epoch.samples = [None, None];
        }
    }
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let path = folder.path().join("record.json");
    std::fs::write(&path, serde_json::to_string(&record)?)?;
    let mut command = Command::new(looptax);
    command.arg("show").arg(&path).args(["--json", "--quiet"]);
    Ok(process::run(command)?.stdout)
}
