//! Makes the record of a `compare` run, still without comparisons.

use looptax_model::dsn::{MASK, is_address, masked};
use looptax_model::record::{Hex64, Record};

use crate::host;
use crate::spec::Experiment;
use crate::spec::target::TargetSpec;

/// Makes the record of a run that begins now.
pub fn empty_record(settings: &Experiment) -> Record {
    record_begun(command_line(settings), settings.seed)
}

/// Makes the record of a run that begins now with this command line. The command line must not contain passwords.
pub fn record_begun(command: Vec<String>, seed: u64) -> Record {
    let now = jiff::Zoned::now();
    let id = format!("{}-{}", now.strftime("%Y%m%d-%H%M%S"), std::process::id());
    let started_at = now.timestamp().to_string();
    Record {
        command,
        seed: Hex64(seed),
        host: host::host(),
        ..Record::begun(id, started_at, env!("CARGO_PKG_VERSION"))
    }
}

/// Returns the typed command line, without the passwords in URLs.
fn command_line(settings: &Experiment) -> Vec<String> {
    let shown: Vec<&str> = settings
        .targets
        .iter()
        .filter_map(|spec| match spec {
            TargetSpec::Running(running) => Some(running.shown.as_str()),
            TargetSpec::Private(_) => None,
        })
        .collect();
    let mut shown = shown.into_iter();
    let lines = settings.exec.iter().flat_map(|exec| &exec.typed);
    let line_of = |word: &str| {
        let mut lines = lines.clone();
        lines.find_map(|(typed, shown)| Some(word.strip_suffix(typed.as_str())?.to_owned() + shown))
    };
    std::env::args()
        .map(|word| {
            if let Some(line) = line_of(&word) {
                line
            } else if is_address(&word) {
                shown.next().unwrap_or(MASK).to_owned()
            } else {
                masked(&word)
            }
        })
        .collect()
}
