//! The judge of a round: it checks the marks that the attacker's code left, root's files, and the files that the
//! attacker may read.

mod marks;
mod readable;
mod victims;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::ground::Ground;
use marks::{Mark, Rights};
use readable::Scanner;
use victims::Victims;

/// A violation that the judge has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hit {
    /// Code of the attacker ran with rights that the attacker does not have.
    Executed(String),
    /// A file that does not belong to the attacker has changed.
    Changed(String),
    /// The attacker can read something that only root may read.
    Disclosed(String),
}

/// The judge. It knows the state of all files before the attacks.
pub(super) struct Judge {
    ink: PathBuf,
    rights: Rights,
    secret: String,
    private: Vec<PathBuf>,
    victims: Victims,
    scanner: Scanner,
    /// Number of marks left with the attacker's own rights. They show that the attacks work at all.
    pub(super) n_as_herself: u64,
}

impl Judge {
    /// Creates the victims, and records the state of all files once.
    pub(super) fn new(ground: &Ground) -> Result<Self> {
        let victims = Victims::lay_out(ground)?;
        let namespace = fs::read_link("/proc/self/ns/user")?;
        Ok(Self {
            ink: ground.at("judge").join("ink"),
            rights: Rights { uid: ground.uid, namespace: namespace.display().to_string() },
            secret: ground.secret.clone(),
            private: vec![ground.at("victims"), ground.at("ours")],
            victims,
            scanner: Scanner::new(ground),
            n_as_herself: 0,
        })
    }

    /// Returns the violations since the last check, and restores what can be restored.
    pub(super) fn look(&mut self) -> Result<Vec<Hit>> {
        let mut hits = Vec::new();
        for mark in self.marks()? {
            let wrong = self.rights.exceeded(&mark);
            self.n_as_herself += u64::from(wrong.is_none());
            hits.extend(wrong.map(Hit::Executed));
            let leak = mark.leak(&self.secret, &self.private);
            hits.extend(leak.map(Hit::Disclosed));
        }
        if let Some(how) = self.victims.changed()? {
            hits.push(Hit::Changed(how));
            self.victims.restore()?;
        }
        let found = self.scanner.scan()?;
        hits.extend(found.map(|it| Hit::Disclosed(it.display().to_string())));
        Ok(hits)
    }

    fn marks(&self) -> Result<Vec<Mark>> {
        let text = fs::read(&self.ink).context("cannot read the marks")?;
        if text.is_empty() {
            return Ok(Vec::new());
        }
        fs::File::options().write(true).truncate(true).open(&self.ink)?;
        Ok(marks::parse(&String::from_utf8_lossy(&text)))
    }
}

#[cfg(test)]
mod tests;
