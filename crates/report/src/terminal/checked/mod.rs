//! The result of `looptax check`, for a terminal: the conclusion, the obstacles with their remedies, and other useful
//! facts; on request also the evidence of each point. Every name comes from outside and is cleaned.

pub(super) mod change;

use std::fmt::Write;

use looptax_advise::check::verdict;
use looptax_model::record::{Checked, CheckedConnection, Outcome, Point, PointCode, StepPlace, SwitchVerdict, Topic};

use super::style::{Style, cleaned};
use change::{change_of, wrapped};

/// Returns the conclusion, the points and the lines to change. `unread` lists texts that looptax did not understand,
/// each with its place. If `is_verbose` is set, every point is printed with its evidence. Ends with a line break.
pub fn checked(checked: &Checked, unread: &[String], is_verbose: bool, style: Style) -> String {
    let told = Told { is_verbose, style };
    match checked {
        Checked::Address(found) => {
            let conclusion = conclusion(verdict(found), found);
            wrapped(&format!("{conclusion}\n"), style) + &told.points(found)
        }
        Checked::Connections(found) => told.connections(found, unread),
    }
}

/// Returns only the points that are obstacles or that are undecided, with what to do about each.
pub(super) fn obstacles(points: &[Point], style: Style) -> String {
    let told = Told { is_verbose: false, style };
    let in_the_way = { points.iter() }.filter(|it| it.outcome > Outcome::Note);
    let in_the_way: Vec<Point> = in_the_way.cloned().collect();
    told.points(&in_the_way)
}

#[derive(Clone, Copy)]
struct Told {
    is_verbose: bool,
    style: Style,
}

/// The outcomes in the order in which they are printed.
const OUTCOMES: [(Outcome, &str); 3] = [(Outcome::Fail, "FAIL"), (Outcome::Unknown, "open"), (Outcome::Note, "note")];

impl Told {
    fn points(self, points: &[Point]) -> String {
        let mut text = String::new();
        for (outcome, word) in OUTCOMES {
            let told = points.iter().filter(|it| it.outcome == outcome);
            for point in told.filter(|it| self.is_verbose || is_worth_a_line(it)) {
                text += &self.point(point, word);
            }
        }
        let fine = points.iter().filter(|it| it.outcome == Outcome::Pass);
        if self.is_verbose {
            let lines = fine.map(|point| self.point(point, "fine"));
            return text + &lines.collect::<String>();
        }
        let mut topics: Vec<&str> = Vec::new();
        for topic in fine.map(|it| it.topic.name()) {
            if !topics.contains(&topic) {
                topics.push(topic);
            }
        }
        if !topics.is_empty() {
            let line = format!("  fine  {} (--verbose shows how we know)\n", topics.join(", "));
            text += &wrapped(&line, self.style);
        }
        text
    }

    /// Writes a point with its steps. Statements for copying are not broken into lines, however long they are.
    fn point(self, point: &Point, word: &str) -> String {
        let what = format!("  {word}  {}: {}\n", point.topic.name(), point.what);
        let mut text = wrapped(&what, self.style);
        if let Some(next) = &point.next {
            text += &wrapped(&format!("        do: {next}\n"), self.style);
        }
        let mut place = None;
        let is_mixed = point.steps.windows(2).any(|it| it[0].place != it[1].place);
        for step in &point.steps {
            if is_mixed && place != Some(step.place) {
                place = Some(step.place);
                let _ = writeln!(text, "          {}:", where_it_belongs(step.place));
            }
            let step = cleaned(&step.text, self.style);
            let _ = writeln!(text, "            {}", step.trim_end());
        }
        if self.is_verbose {
            text += &wrapped(&format!("        how we know: {}\n", point.how), self.style);
        }
        text
    }

    /// Writes each connection: a heading with the conclusion, the points, and the lines to change.
    fn connections(self, found: &[CheckedConnection], unread: &[String]) -> String {
        let mut text = String::new();
        if found.len() != 1 {
            text += &wrapped(&summary(found), self.style);
        }
        for connection in found {
            let conclusion = conclusion(connection.verdict, &connection.points);
            let heading = format!("{}: {conclusion}\n", heading(connection));
            text += &wrapped(&heading, self.style);
            text += &self.points(&connection.points);
            for change in &connection.changes {
                text += &change_of(connection, change, self.style);
            }
        }
        for problem in unread {
            text += &wrapped(&format!("not understood: {problem}\n"), self.style);
        }
        text
    }
}

const fn where_it_belongs(place: StepPlace) -> &'static str {
    match place {
        StepPlace::Sql => "in SQL, as an administrator",
        StepPlace::Shell => "in a shell, as root",
        StepPlace::HbaLine => "in the file",
    }
}

/// Whether a point gets a line although the user did not ask for all points. A point does not get a line if it is about
/// losses, or if the heading already shows the fact.
fn is_worth_a_line(point: &Point) -> bool {
    let is_known = matches!(point.code, PointCode::TakesTcp | PointCode::ConnectedOverTcp);
    point.topic != Topic::Losses && (!is_known || point.next.is_some())
}

fn conclusion(verdict: SwitchVerdict, points: &[Point]) -> String {
    let n = |outcome| points.iter().filter(|it| it.outcome == outcome).count();
    let (n_failed, n_open) = (n(Outcome::Fail), n(Outcome::Unknown));
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let has = |code| points.iter().any(|it| it.code == code);
    let is_there = has(PointCode::TakesSocket);
    match verdict {
        SwitchVerdict::WouldNotWork if has(PointCode::ReachesNothing) => "does not work as it is".to_owned(),
        SwitchVerdict::WouldNotWork | SwitchVerdict::Open if is_there && n_failed > 0 => {
            format!("on the socket already, and does not work: {n_failed} cause{}", plural(n_failed))
        }
        SwitchVerdict::WouldNotWork | SwitchVerdict::Open if is_there => format!(
            "on the socket already, but looptax does not know whether the connection works: {n_open} open point{}",
            plural(n_open)
        ),
        SwitchVerdict::WouldWork if n_open == 0 => "would work".to_owned(),
        SwitchVerdict::WouldWork => {
            format!("would work, as far as looptax knows; {n_open} open point{}", plural(n_open))
        }
        SwitchVerdict::WouldNotWork => {
            format!("would not work as things are: {n_failed} cause{}", plural(n_failed))
        }
        SwitchVerdict::Open => format!("not known: {n_open} open point{}", plural(n_open)),
        SwitchVerdict::AlreadyThere => "on the socket already".to_owned(),
        SwitchVerdict::NobodyThere => {
            "no process listens at this address: check whether the application uses this connection".to_owned()
        }
    }
}

fn heading(answer: &CheckedConnection) -> String {
    let mut text = answer.source.clone();
    if let Some(line) = answer.line {
        let _ = write!(text, " line {line}");
    }
    let _ = write!(text, ": {}", answer.applications.join(" or "));
    if !answer.label.is_empty() {
        let _ = write!(text, " ({})", answer.label);
    }
    let whom = answer.product.as_str();
    if answer.applications.is_empty() {
        let _ = write!(text, "{whom}");
    } else {
        let _ = write!(text, ", {whom}");
    }
    if !answer.place.is_empty() {
        let _ = write!(text, " at {}", answer.place);
    }
    text
}

/// Summarizes all connections in a sentence.
fn summary(answers: &[CheckedConnection]) -> String {
    let n = |verdict| answers.iter().filter(|it| it.verdict == verdict).count();
    let words = [
        (SwitchVerdict::AlreadyThere, "on the socket already"),
        (SwitchVerdict::WouldWork, "would work"),
        (SwitchVerdict::Open, "open"),
        (SwitchVerdict::WouldNotWork, "would not work as things are"),
        (SwitchVerdict::NobodyThere, "to an address at which no process listens"),
    ];
    let parts: Vec<String> = words
        .iter()
        .filter(|(verdict, _)| n(*verdict) > 0)
        .map(|(verdict, word)| format!("{} {word}", n(*verdict)))
        .collect();
    let counted = match answers.len() {
        1 => "1 connection".to_owned(),
        n => format!("{n} connections"),
    };
    format!("{counted}: {}\n", parts.join(", "))
}
