//! The results: a table, and each fault with the smallest file that shows it.

use std::fmt::Write;

use super::claim::Ending;
use crate::dialects::dialogue::Versions;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FaultKind {
    /// The driver connects to another place than looptax reports.
    Elsewhere,
    /// With the edited file, the driver does not reach the socket, or also connects to another place.
    Edit,
    /// The driver connects to nothing, although a listener is at the reported place.
    Nowhere,
    /// With the edited file, the driver does not reach the socket, but with the original file it connected to nothing
    /// either.
    EditOfBroken,
}

#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    pub(crate) text: String,
    pub(crate) said: String,
    pub(crate) done: String,
    /// The edited text; empty for a false claim.
    pub(crate) edited: String,
    /// A short form of the fault, for comparison: what looptax reports and what the driver does, without the messages.
    pub(crate) sign: String,
    /// The number of the draw that first showed the fault.
    pub(crate) number: u32,
}

/// The results of one application.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    name: String,
    driver: String,
    n_draws: usize,
    n_right: usize,
    n_open: usize,
    n_silent: usize,
    /// Number of connections that were recognised only by the names of settings; `switch` then writes nothing.
    pub(crate) n_guessed: usize,
    n_edits: usize,
    /// Each fault, with the number of draws that were reduced to it.
    faults: Vec<(Fault, usize)>,
    /// The reason why the application was not tested.
    skipped: Option<String>,
}

impl Outcome {
    pub(crate) fn new(name: &str, versions: &Versions) -> Self {
        let driver = format!("{}, {}", versions.driver, versions.language);
        Self { name: name.to_owned(), driver, ..Self::default() }
    }

    pub(crate) const fn is_skipped(&self) -> bool {
        self.skipped.is_some()
    }

    pub(crate) fn skipped(name: &str, why: &str) -> Self {
        Self { name: name.to_owned(), skipped: Some(why.to_owned()), ..Self::default() }
    }

    /// Counts a draw: the results of its claims, and the number of edits.
    pub(crate) fn count(&mut self, endings: &[Ending], n_edits: usize) {
        self.n_draws += 1;
        self.n_edits += n_edits;
        let counter = if endings.is_empty() {
            &mut self.n_silent
        } else if endings.contains(&Ending::False) {
            return;
        } else if endings.contains(&Ending::Right) {
            &mut self.n_right
        } else {
            &mut self.n_open
        };
        *counter += 1;
    }

    pub(crate) fn add(&mut self, fault: Fault) {
        let is_same = |(it, _): &&mut (Fault, usize)| it.sign == fault.sign && it.text == fault.text;
        match self.faults.iter_mut().find(is_same) {
            Some((_, n)) => *n += 1,
            None => self.faults.push((fault, 1)),
        }
    }

    /// Returns how many draws show a fault of this kind.
    fn n_of(&self, kind: FaultKind) -> usize {
        self.faults.iter().filter(|(it, _)| it.kind == kind).map(|(_, n)| n).sum()
    }

    pub(crate) fn n_faults(&self) -> usize {
        self.faults.iter().map(|(_, n)| n).sum()
    }
}

/// Returns a text with each fault and its smallest file, the worst kind first.
pub(crate) fn faults(outcome: &Outcome, seed: u64) -> String {
    let mut text = String::new();
    let mut faults: Vec<&(Fault, usize)> = outcome.faults.iter().collect();
    faults.sort_by_key(|(fault, n)| (fault.kind, std::cmp::Reverse(*n)));
    for (fault, n) in faults {
        let Outcome { name, n_draws, .. } = outcome;
        let what = match fault.kind {
            FaultKind::Elsewhere => "false claim",
            FaultKind::Nowhere => "false claim, the driver connects to nothing",
            FaultKind::Edit => "edit, the driver does not reach the socket",
            FaultKind::EditOfBroken => "edit, the driver does not reach the socket, and reached nothing before",
        };
        let _ = writeln!(text, "{name}: {what}, {n} of {n_draws} draws, first draw {} of seed {seed}", fault.number);
        let _ = write!(text, "{}", indented(&fault.text));
        let _ = writeln!(text, "    looptax: {}", fault.said);
        if !fault.edited.is_empty() {
            let _ = write!(text, "    edited:\n{}", indented(&fault.edited));
        }
        let _ = writeln!(text, "    driver: {}\n", fault.done.trim_end());
    }
    text
}

fn indented(text: &str) -> String {
    text.lines().filter(|it| !it.trim().is_empty()).flat_map(|line| ["      | ", line, "\n"]).collect()
}

pub(crate) fn table(outcomes: &[Outcome], seed: u64) -> String {
    let mut text = format!(
        "seed {seed}\n\n| spelling | driver | draws | right | false | false, nowhere | open | silent | guessed | edits | edits that miss | of broken files |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|\n"
    );
    for it in outcomes {
        if let Some(why) = &it.skipped {
            let _ = writeln!(text, "| {} | SKIPPED: {} | | | | | | | | | | |", it.name, why.replace('\n', " "));
            continue;
        }
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            it.name,
            it.driver,
            it.n_draws,
            it.n_right,
            it.n_of(FaultKind::Elsewhere),
            it.n_of(FaultKind::Nowhere),
            it.n_open,
            it.n_silent,
            it.n_guessed,
            it.n_edits,
            it.n_of(FaultKind::Edit),
            it.n_of(FaultKind::EditOfBroken)
        );
    }
    text
}
