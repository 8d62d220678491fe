//! The room as callers see it: scripts that parse and step, scripts that are refused, and text that no user would
//! write.
#![allow(clippy::disallowed_methods, reason = "tests create files and start programs")]

use std::sync::Arc;

use looptax_bench::script::{Action, Definition, Dialect, Presets, Script, ScriptSet, Session, SetError};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

mod hostile;
mod refused;
mod running;
mod sql;
mod values;

const PRESETS: Presets = Presets { client_id: 3, scale: 10, random_seed: 42, default_seed: 5432 };

/// Returns a source of random bits with a fixed seed.
fn bits() -> impl FnMut() -> u64 {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(1);
    move || generator.next_u64()
}

fn set_of(text: &str, dialect: Dialect, definitions: &[&str]) -> Result<ScriptSet, SetError> {
    let script = Script::parse("a.sql", text, dialect).map_err(SetError::Script)?;
    let definitions = definitions.iter().map(|given| Definition::parse(given)).collect::<Result<_, _>>()?;
    ScriptSet::new(vec![(script, 1)], definitions)
}

#[track_caller]
fn session_of(text: &str, definitions: &[&str]) -> Session {
    let set = set_of(text, Dialect::Postgres, definitions);
    let set = set.unwrap_or_else(|error| panic!("{error}"));
    Session::new(Arc::new(set), PRESETS)
}

/// Runs one transaction, and returns the text of each statement, and `\…` for each other action.
fn trace(session: &mut Session, random: &mut dyn FnMut() -> u64) -> Result<Vec<String>, String> {
    let mut seen = Vec::new();
    loop {
        let action = session.next(random).map_err(|error| error.to_string())?;
        seen.push(match action {
            Action::Done => return Ok(seen),
            Action::Send { statement_idx } => {
                let mut sql = Vec::new();
                let written = session.write_sql(statement_idx, &mut sql);
                written.map_err(|error| error.to_string())?;
                String::from_utf8(sql).expect("scripts are text")
            }
            Action::StartPipeline => "\\startpipeline".to_owned(),
            Action::SyncPipeline => "\\syncpipeline".to_owned(),
            Action::EndPipeline => "\\endpipeline".to_owned(),
            Action::Sleep(time) => format!("\\sleep {}us", time.as_micros()),
        });
    }
}
