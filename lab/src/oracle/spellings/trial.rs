//! Tests one application with random files: compares looptax's report about each file with what the driver does.

use anyhow::Result;

use super::claim::{Claim, Ending, said};
use super::driven::{Done, Driven};
use super::ground::Ground;
use super::pools::Pools;
use super::subject::Subject;
use super::table::{Fault, FaultKind, Outcome};
use super::template::Draw;
use crate::coin::Coin;
use crate::dialects::dialogue::Job;

/// The part of looptax's report that is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Claim,
    Edit,
}

struct Trial<'a> {
    subject: &'a Subject,
    ground: Ground,
    pools: Pools,
    driven: Driven,
}

/// Draws files and tests each.
///
/// # Errors
/// If the driver's program does not start.
pub(super) fn run(subject: &Subject, n_draws: u32, seed: u64) -> Result<Outcome> {
    let ground = Ground::of(subject.protocol);
    let dialect = format!("spelling.{}", subject.name);
    let driven = Driven::start(ground, &subject.program, &dialect, false)?;
    let mut trial = Trial { subject, ground, pools: Pools::of(subject.protocol), driven };
    let mut outcome = Outcome::new(&subject.name, trial.driven.versions());
    for number in 0..n_draws {
        // Each draw has its own random numbers, so it does not depend on the number of draws before it.
        let mut coin = Coin::new(Some(seed ^ (u64::from(number) << 32)))?;
        let draw = subject.template.draw(&trial.pools, &mut coin);
        trial.once(&draw, number, &mut outcome)?;
    }
    Ok(outcome)
}

impl Trial<'_> {
    fn once(&mut self, draw: &Draw, number: u32, outcome: &mut Outcome) -> Result<()> {
        let text = self.text(draw);
        let said = said(self.subject, &text);
        let done = self.drive(&text)?;
        let endings = Claim::all_against(&said.claims, &done.reached, self.ground);
        outcome.count(&endings, said.edits.len());
        outcome.n_guessed += usize::from(said.is_guessed);
        for what in [What::Claim, What::Edit] {
            if let Some(fault) = self.fault(&text, what)? {
                let smallest = self.smallest(draw, what, fault)?;
                outcome.add(Fault { number, ..smallest });
            }
        }
        Ok(())
    }

    fn text(&self, draw: &Draw) -> String {
        self.subject.template.render(draw, &self.pools, self.subject.quotes)
    }

    fn drive(&mut self, text: &str) -> Result<Done> {
        self.driven.drive(&Job { text: text.to_owned(), user: None, password: None, database: None })
    }

    /// Returns a fault in the claim about a text, or in the first wrong edit of the text.
    fn fault(&mut self, text: &str, what: What) -> Result<Option<Fault>> {
        let said = said(self.subject, text);
        let own = self.drive(text)?;
        let ground = self.ground;
        let fault = |kind, done: &Done, edited: &str| Fault {
            kind,
            text: text.to_owned(),
            said: said.words(),
            done: done.words(),
            edited: edited.to_owned(),
            sign: format!("{kind:?}: {}; {}", said.classes(ground), done.class(ground)),
            number: 0,
        };
        if what == What::Claim {
            let is_false = Claim::all_against(&said.claims, &own.reached, self.ground).contains(&Ending::False);
            let kind = if own.reached.is_empty() { FaultKind::Nowhere } else { FaultKind::Elsewhere };
            return Ok(is_false.then(|| fault(kind, &own, "")));
        }
        for edit in &said.edits {
            let done = self.drive(&edit.text)?;
            if !done.is_only(&edit.socket) {
                let kind = if own.reached.is_empty() { FaultKind::EditOfBroken } else { FaultKind::Edit };
                return Ok(Some(fault(kind, &done, &edit.text)));
            }
        }
        Ok(None)
    }

    /// Returns the same fault with the simplest settings that can be reached from this draw.
    fn smallest(&mut self, draw: &Draw, what: What, fault: Fault) -> Result<Fault> {
        let (mut draw, mut smallest) = (draw.clone(), fault);
        'simpler: loop {
            for simpler in draw.simpler() {
                let text = self.text(&simpler);
                if let Some(fault) = self.fault(&text, what)?.filter(|it| it.sign == smallest.sign) {
                    (draw, smallest) = (simpler, fault);
                    continue 'simpler;
                }
            }
            return Ok(smallest);
        }
    }
}
