//! The table of the results of the rounds, one line for each kind.

use std::collections::BTreeMap;

use super::judge::Hit;
use super::runs::Ran;

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) name: &'static str,
    pub(super) n_rounds: u64,
    n_executed: u64,
    n_changed: u64,
    n_disclosed: u64,
    n_late: u64,
    /// Number of rounds in which code of the attacker ran with the attacker's own rights.
    pub(super) n_as_herself: u64,
    codes: BTreeMap<String, u64>,
    pub(super) seconds: f64,
    /// The round of the first violation, and its description.
    pub(super) first: Option<(u64, String)>,
    pub(super) skipped: Option<String>,
}

impl Tally {
    pub(super) fn of(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    pub(super) fn add(&mut self, ran: &Ran, hits: &[Hit]) {
        self.n_rounds += 1;
        self.n_late += u64::from(ran.is_late);
        let code = ran.code.map_or_else(|| "-".to_owned(), |it| it.to_string());
        *self.codes.entry(code).or_default() += 1;
        for hit in hits {
            let (count, words) = match hit {
                Hit::Executed(words) => (&mut self.n_executed, format!("executed: {words}")),
                Hit::Changed(words) => (&mut self.n_changed, format!("changed: {words}")),
                Hit::Disclosed(words) => (&mut self.n_disclosed, format!("disclosed: {words}")),
            };
            *count += 1;
            self.first.get_or_insert((self.n_rounds, words));
        }
    }

    pub(super) fn n_hits(&self) -> u64 {
        self.n_executed + self.n_changed + self.n_disclosed
    }

    fn row(&self) -> String {
        if let Some(why) = &self.skipped {
            return format!("{:<20} skipped: {why}", self.name);
        }
        let codes = self.codes.iter().map(|(code, n)| format!("{code}:{n}"));
        let first = self.first.as_ref();
        format!(
            "{:<20} {:>6} {:>8} {:>7} {:>9} {:>4} {:>7} {:>7.1}  {:<16} {}",
            self.name,
            self.n_rounds,
            self.n_executed,
            self.n_changed,
            self.n_disclosed,
            self.n_late,
            self.n_as_herself,
            self.seconds,
            codes.collect::<Vec<_>>().join(" "),
            first.map_or_else(String::new, |(round, words)| format!("round {round}: {words}"))
        )
    }
}

pub(super) fn table(tallies: &[Tally]) -> String {
    let head = format!(
        "{:<20} {:>6} {:>8} {:>7} {:>9} {:>4} {:>7} {:>7}  {:<16} first hit",
        "kind", "rounds", "executed", "changed", "disclosed", "late", "herself", "seconds", "exit codes"
    );
    let rows = tallies.iter().map(Tally::row);
    let lines: Vec<String> = std::iter::once(head).chain(rows).collect();
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
    format!(
        "{}\n{} rounds, {} hits: {} executed, {} changed, {} disclosed; {} runs were ended by their limit\n",
        lines.join("\n"),
        sum(|it| it.n_rounds),
        sum(Tally::n_hits),
        sum(|it| it.n_executed),
        sum(|it| it.n_changed),
        sum(|it| it.n_disclosed),
        sum(|it| it.n_late)
    )
}
