//! A driver that connects as its configuration says, while listeners record where it connects.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use super::ears::Ears;
use super::ground::{Ground, Place, SCRATCH};
use crate::dialects::dialogue::{Answer, Job, Versions};
use crate::dialects::program::{self, Program};

/// Time limit of a driver for one connection on this machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The connections of a driver with a text.
#[derive(Debug, Clone)]
pub(crate) struct Done {
    pub(crate) reached: Vec<Place>,
    answer: String,
}

pub(crate) struct Driven {
    program: String,
    dialect: String,
    /// Whether the driver keeps settings of the previous text, so that each text needs its own process.
    is_each: bool,
    ears: Arc<Ears>,
    running: Program,
    /// The driver's connections with each text so far.
    known: BTreeMap<String, Done>,
}

impl Driven {
    /// Starts a program of `clients/dialects`.
    ///
    /// # Errors
    /// If the program does not start, because something that it needs is not installed.
    pub(crate) fn start(ground: Ground, program: &str, dialect: &str, is_each: bool) -> Result<Self> {
        Ok(Self {
            ears: Ears::at(ground)?,
            running: start(program, dialect)?,
            program: program.to_owned(),
            dialect: dialect.to_owned(),
            is_each,
            known: BTreeMap::new(),
        })
    }

    pub(crate) const fn versions(&self) -> &Versions {
        &self.running.versions
    }

    /// Makes the driver connect as the text says; a text that was tried before is not tried again.
    pub(crate) fn drive(&mut self, job: &Job) -> Result<Done> {
        if let Some(done) = self.known.get(&job.text) {
            return Ok(done.clone());
        }
        self.ears.take();
        let answer = match self.running.ask(job)? {
            Some(Answer::Seen(_)) => "connected".to_owned(),
            Some(Answer::Error(words)) => words,
            None => {
                let words = self.running.ended();
                self.running = start(&self.program, &self.dialect)?;
                words
            }
        };
        let done = Done { reached: self.ears.take(), answer };
        self.known.insert(job.text.clone(), done.clone());
        if self.is_each {
            self.running = start(&self.program, &self.dialect)?;
        }
        Ok(done)
    }
}

impl Done {
    /// Returns whether the driver reached this place, and no other.
    pub(crate) fn is_only(&self, place: &Place) -> bool {
        !self.reached.is_empty() && self.reached.iter().all(|it| it == place)
    }

    /// Returns the kind of the place that the driver reached first.
    pub(crate) fn class(&self, ground: Ground) -> &'static str {
        self.reached.first().map_or("nowhere", |it| ground.class(it))
    }

    pub(crate) fn words(&self) -> String {
        let mut places: Vec<String> = self.reached.iter().map(ToString::to_string).collect();
        places.dedup();
        if places.is_empty() { format!("nowhere: {}", self.answer) } else { places.join(", then ") }
    }
}

fn start(program: &str, dialect: &str) -> Result<Program> {
    let mut command = program::command(program, dialect)?;
    prepare(&mut command)?;
    Program::start(&mut command, PATIENCE).with_context(|| format!("the program of {dialect}"))
}

/// Sets the program's environment, in which nothing names a server.
fn prepare(command: &mut Command) -> Result<()> {
    let home = Path::new(SCRATCH).join("home");
    fs::create_dir_all(&home)?;
    command.env("DIALECT_QUERY", "SELECT 1").env("DIALECT_SCRATCH", SCRATCH).env("HOME", home);
    command.env("DIALECT_DEFAULT_SOCKET", "/run/mysqld/mysqld.sock");
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("PG") || name.starts_with("MYSQL") {
            command.env_remove(&*name);
        }
    }
    Ok(())
}
