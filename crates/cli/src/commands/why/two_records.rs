//! `why` with two records: shows which layer became more expensive between two earlier runs.

use std::path::Path;

use looptax_experiment::spec::target;
use looptax_model::analysis::diff;
use looptax_model::dsn::is_address;
use looptax_model::failure::Failure;
use looptax_model::record::Record;
use looptax_report::terminal as report;

use crate::args::WhyArgs;
use crate::earlier_runs::{is_record_file, is_run, record_of};
use crate::failure::Exit;
use crate::outputs::show;
use crate::terminal::Terminal;

/// Options that are allowed together with two records.
const SUITABLE: [&str; 3] = ["--json", "--color", "--quiet"];

/// Compares two records, if the words name records instead of servers.
///
/// # Errors
/// A usage failure if the words are not exactly two records, or if other options were given too.
pub(crate) fn run(args: &WhyArgs, terminal: Terminal) -> Result<Option<Exit>, Failure> {
    let words = &args.compare.targets;
    let Some(record) = words.iter().find(|it| is_record(it)) else {
        return Ok(None);
    };
    let [before, after] = &words[..] else {
        return Err(not_two(record, words.len()));
    };
    if let Some(server) = words.iter().find_map(|it| target::parse(it).ok()) {
        return Err(Failure::usage(
            format!("`{record}` is a record and `{}` is a server: `why` needs servers, or two records", server.name()),
            format!(
                "`looptax why {record} LATER` compares two records; `looptax show {record}` shows the layers of \
                this record"
            ),
        ));
    }
    refuse_options(&args.typed)?;
    let (before, after) = (sampled(before, terminal)?, sampled(after, terminal)?);
    let mut diff = diff(&before, &after)?;
    diff.pairs.retain(|it| !it.layers.is_empty());
    for pair in &mut diff.pairs {
        pair.taxes.clear();
        pair.arms.clear();
    }
    show(&diff, &args.compare.result.json, || report::diff(&diff, terminal.style()))?;
    Ok(Some(Exit::Done))
}

/// Whether a word names a record and not a server: a record's file, a name that ends in `.json` (even if there is no
/// such file), or a run in the history.
fn is_record(word: &str) -> bool {
    let is_server = is_address(word) || target::parse(word).is_ok();
    let ends_as_one = Path::new(word).extension().is_some_and(|it| it == "json");
    !is_server && (is_record_file(word) || ends_as_one || is_run(word))
}

fn not_two(record: &str, n_words: usize) -> Failure {
    let given = match n_words {
        1 => "only one was given".to_owned(),
        n => format!("{n} words were given"),
    };
    Failure::usage(
        format!("`{record}` is a record, and `why` compares an earlier record with a later record; {given}"),
        format!(
            "`looptax why {record} LATER` compares two records; `looptax show {record}` shows the layers of this \
            record"
        ),
    )
}

/// Fails if other options were typed, because other options have no meaning for two records.
fn refuse_options(typed: &[String]) -> Result<(), Failure> {
    let mut unsuitable = typed.iter().filter(|it| !SUITABLE.contains(&it.as_str()));
    let all: Vec<&str> = unsuitable.by_ref().map(String::as_str).collect();
    let verb = match all.len() {
        0 => return Ok(()),
        1 => "does",
        _ => "do",
    };
    Err(Failure::usage(
        format!("{} {verb} not work with two records, because `why` only compares them", all.join(", ")),
        "with two records, only --json works; `looptax show` makes pages, call chains and other formats from one \
         record",
    ))
}

fn sampled(word: &str, terminal: Terminal) -> Result<Record, Failure> {
    let (record, _) = record_of(word)?.told(terminal);
    if record.comparisons.iter().all(|it| it.why.is_empty()) {
        return Err(Failure::usage(
            format!("`{word}` has no samples"),
            "`looptax why TARGET -o FILE` writes records of `why`; `looptax diff` compares all other records",
        ));
    }
    Ok(record)
}
