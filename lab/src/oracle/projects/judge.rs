//! Checks whether the report of `switch` about a project is true, by the project's files and by the requests of its
//! application after the switch.
//!
//! No code of looptax takes part in this decision; looptax's JSON is only the report that is judged.

use std::collections::BTreeSet;

use looptax_model::dsn::Kind;
use looptax_model::record::{Outcome, Point, PointCode, SwitchConnection, SwitchFate, SwitchOutcome, Switched};
use serde::{Deserialize, Serialize};

use super::application::{Asked, Kept, Way};
use super::draw::{Draw, End, Obstacle, UNUSED_DATABASE};

/// The result of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Ending {
    /// Moved and proved.
    Moved,
    /// The application was already on the socket.
    There,
    /// Not written: there is an obstacle.
    Blocked,
    /// Not written: a fact is not known, or the user has to write the lines.
    Left,
    /// Written, and then restored.
    PutBack,
    /// Written, but not proved.
    Unproved,
    /// Not run: the application did not work before the switch.
    Unplayed,
}

impl Ending {
    pub(super) const ALL: [Self; 7] =
        [Self::Moved, Self::There, Self::Blocked, Self::Left, Self::PutBack, Self::Unproved, Self::Unplayed];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::There => "there",
            Self::Blocked => "blocked",
            Self::Left => "left",
            Self::PutBack => "put back",
            Self::Unproved => "unproved",
            Self::Unplayed => "unplayed",
        }
    }
}

/// A switch that ran, and the observations before and after it.
pub(super) struct Run<'a> {
    pub(super) draw: &'a Draw,
    pub(super) code: Option<i32>,
    pub(super) said: Option<Switched>,
    pub(super) stderr: &'a str,
    pub(super) before: &'a [Kept],
    pub(super) after: &'a [Kept],
    /// The application's requests before looptax started. `asked` has those since looptax ended.
    pub(super) asked_before: &'a [Asked],
    pub(super) asked: &'a [Asked],
    /// For each server, the number of the application's TCP connections to it, from the kernel's list.
    pub(super) n_over_tcp: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Judged {
    pub(super) ending: Ending,
    pub(super) violations: Vec<String>,
    /// The reason that looptax gives for not moving the application.
    pub(super) reason: String,
}

/// Lowest number of requests that the application must make in the time after the switch.
pub(super) const FEWEST_ASKED: usize = 4;

pub(super) fn judge(run: &Run<'_>) -> Judged {
    let mut violations = Vec::new();
    let ending = ending(run, &mut violations);
    let failures: Vec<&String> = run.asked.iter().filter_map(|it| it.way.as_ref().err()).collect();
    if let Some(why) = failures.first() {
        let n = failures.len();
        violations.push(format!("the application failed {n} times after the switch: {why}"));
    }
    for name in names(run.asked_before) {
        let n = run.asked.iter().filter(|it| it.name == name && it.way.is_ok()).count();
        if n < FEWEST_ASKED && failures.is_empty() {
            violations.push(format!("the application sends no queries after the switch: {n} answers of {name}"));
        }
    }
    if ending == Ending::Unproved {
        violations.push("moved, but not proved, although it was restarted".to_owned());
    }
    let ends = run.draw.ends.iter().enumerate();
    violations.extend(ends.filter_map(|(idx, end)| where_it_is(run, ending, idx, end)));
    violations.extend(files(run, matches!(ending, Ending::Moved | Ending::Unproved)));
    violations.extend(false_reasons(run, ending));
    Judged { ending, violations, reason: reason(run) }
}

fn ending(run: &Run<'_>, violations: &mut Vec<String>) -> Ending {
    let Some(said) = &run.said else {
        if run.code != Some(2) {
            violations.push(format!("looptax ended with {:?} and without JSON", run.code));
        }
        return Ending::Left;
    };
    let (ending, code) = match said.outcome {
        SwitchOutcome::Moved => (Ending::Moved, 0),
        SwitchOutcome::NothingToDo => (Ending::There, 0),
        SwitchOutcome::Unproved => (Ending::Unproved, 3),
        SwitchOutcome::PutBack | SwitchOutcome::Undone => (Ending::PutBack, 1),
        SwitchOutcome::NotDone | SwitchOutcome::Planned => {
            let is_blocked = said.connections.iter().any(|it| it.fate == SwitchFate::Blocked);
            (if is_blocked { Ending::Blocked } else { Ending::Left }, 1)
        }
    };
    if run.code != Some(code) {
        violations.push(format!("the exit code is {:?}, and the outcome {:?}", run.code, said.outcome));
    }
    ending
}

/// Returns the application's names for its servers.
fn names(asked: &[Asked]) -> BTreeSet<String> {
    asked.iter().map(|it| it.name.clone()).collect()
}

fn kind_of(name: &str) -> Kind {
    match name {
        "mysql" => Kind::Mariadb,
        "postgres" => Kind::Postgres,
        _ => Kind::Redis,
    }
}

/// Returns the file's connections to a kind of server.
fn connections<'a>(run: &'a Run<'_>, kind: Kind) -> Vec<&'a SwitchConnection> {
    let is_its = |product: &str| match kind {
        Kind::Mariadb => matches!(product, "mysql" | "mariadb"),
        _ => product == kind.name(),
    };
    let all = run.said.iter().flat_map(|it| &it.connections);
    all.filter(|it| is_its(&it.check.product)).collect()
}

/// Checks a server whose connections looptax reports as on the socket, before or after the switch; returns what is
/// wrong.
fn where_it_is(run: &Run<'_>, ending: Ending, idx: usize, end: &End) -> Option<String> {
    let its = connections(run, end.kind);
    let is_there = |fate| fate == SwitchFate::IsThere || ending == Ending::Moved && fate == SwitchFate::Moves;
    let n_moved = its.iter().filter(|it| is_there(it.fate)).count();
    let asked = run.asked.iter().filter(|it| kind_of(&it.name) == end.kind);
    let n_over_tcp = asked.filter(|it| it.way == Ok(Way::Tcp)).count();
    if n_moved == 0 || n_moved < its.len() {
        return None;
    }
    let kind = end.kind.name();
    if n_over_tcp > 0 {
        return Some(format!("reported on the socket, but {kind} got requests over TCP {n_over_tcp} times"));
    }
    let n_held = run.n_over_tcp[idx];
    (n_held > 0)
        .then(|| format!("reported on the socket, but the kernel lists {n_held} connections over TCP to {kind}"))
}

/// Lists files that changed and should not have changed, and files that are new or were deleted.
fn files(run: &Run<'_>, is_written: bool) -> Vec<String> {
    let written: Vec<&str> = match &run.said {
        Some(said) if is_written => said.files.iter().map(|it| &*it.path).collect(),
        _ => Vec::new(),
    };
    let mut wrong = Vec::new();
    for old in run.before {
        let path = old.path.display();
        match run.after.iter().find(|it| it.path == old.path) {
            None => wrong.push(format!("{path} was deleted")),
            Some(new) if new.rights != old.rights => {
                wrong.push(format!("{path} had mode, user, group {:?}, but now has {:?}", old.rights, new.rights));
            }
            Some(new)
                if new.bytes != old.bytes
                    && !written.iter().any(|it| old.path.ends_with(it) || old.path == std::path::Path::new(it)) =>
            {
                wrong.push(format!("{path} has changed"));
            }
            Some(_) => {}
        }
    }
    let new = run.after.iter().filter(|it| run.before.iter().all(|old| old.path != it.path));
    wrong.extend(new.map(|it| format!("{} is new", it.path.display())));
    wrong
}

/// Lists the reported obstacles that do not exist.
fn false_reasons(run: &Run<'_>, ending: Ending) -> Vec<String> {
    let mut wrong = Vec::new();
    for connection in run.said.iter().flat_map(|it| &it.connections) {
        let failing = connection.check.points.iter().filter(|it| it.outcome == Outcome::Fail);
        let codes: Vec<&Point> = failing.collect();
        let is_of = |end: &&End| connections(run, end.kind).iter().any(|it| it.number == connection.number);
        let obstacle = run.draw.ends.iter().find(is_of).map_or(Obstacle::None, |it| it.obstacle);
        for point in &codes {
            if is_never(point.code) {
                wrong.push(format!("not so: {}", point.what));
            }
        }
        let is_explained = codes.iter().any(|it| explains(obstacle, it.code) || it.what.contains(UNUSED_DATABASE));
        if ending == Ending::Blocked && connection.fate == SwitchFate::Blocked && !is_explained {
            let what: Vec<&str> = codes.iter().map(|it| &*it.what).collect();
            wrong.push(format!("blocked, with {obstacle:?} in the way: {}", what.join("; ")));
        }
    }
    wrong
}

/// Returns whether `check` must never report this point: the application of every project works over TCP, so its server
/// listens at the address in the file, and accepts the login.
fn is_never(code: PointCode) -> bool {
    matches!(
        code,
        PointCode::NothingListens
            | PointCode::ServerElsewhere
            | PointCode::ListenerOfAnotherKind
            | PointCode::LoginFails
            | PointCode::LoginFailsOverTcp
            | PointCode::AccountSocketOnly
            | PointCode::ServersDiffer
    )
}

/// Returns whether a point describes this obstacle.
fn explains(obstacle: Obstacle, code: PointCode) -> bool {
    use PointCode as Code;
    match obstacle {
        Obstacle::None => false,
        Obstacle::FolderClosed => matches!(code, Code::FolderDenied | Code::SocketNotVisible),
        Obstacle::SocketClosed => code == Code::SocketDenied,
        Obstacle::NoSocket => code == Code::SocketMissing,
        Obstacle::OnlyTcp | Obstacle::OtherPassword | Obstacle::Anonymous | Obstacle::FewerRights => matches!(
            code,
            Code::AccountMissing
                | Code::AccountDiffers
                | Code::RightsMissing
                | Code::LoginFailsOverSocket
                | Code::LoginFailsForUs
        ),
        Obstacle::Peer => {
            matches!(code, Code::HbaPeerDiffers | Code::LoginFailsOverSocket | Code::LoginFailsForUs)
        }
        Obstacle::NoLine => matches!(code, Code::HbaLineMissing | Code::HbaRejects | Code::LoginFailsOverSocket),
    }
}

/// Returns the reason why the application was not moved: a check that failed, a fact that is not known, or the whole
/// report.
fn reason(run: &Run<'_>) -> String {
    let Some(said) = &run.said else {
        return run.stderr.lines().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" / ");
    };
    let mut words = Vec::new();
    for connection in &said.connections {
        let of = |outcome: Outcome| {
            let points = connection.check.points.iter().filter(move |it| it.outcome == outcome);
            points.map(|it| it.what.clone()).collect::<Vec<_>>()
        };
        let mut points = of(Outcome::Fail);
        if points.is_empty() {
            points = of(Outcome::Unknown);
        }
        let fate = format!("{:?}", connection.fate);
        let may_be = connection.may_be.join(" or ");
        words.push(format!("{fate} {may_be} {}", points.join("; ")));
    }
    let steps = said.steps.iter().map(|it| format!("{:?}: {}", it.code, it.words));
    words.extend(steps);
    words.join(" | ").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::super::forms::named;
    use super::*;

    fn asked(way: Result<Way, &str>) -> Vec<Asked> {
        let one = Asked { at_s: 1.0, name: "mysql".to_owned(), way: way.map_err(str::to_owned) };
        vec![one; 6]
    }

    fn file(text: &str) -> Vec<Kept> {
        let path = PathBuf::from("/srv/wp-config.php");
        vec![Kept { path, bytes: text.into(), rights: (0o640, 0, 33) }]
    }

    fn said(outcome: &str) -> Switched {
        let check = json!({
            "source": "", "applications": [], "label": "", "product": "mysql", "place": "", "line": 1,
            "verdict": "would-work", "points": [], "changes": [],
        });
        let connection = json!({
            "number": 1, "user": "u", "socket": "/s", "fate": "moves", "may_be": [], "change_idx": 0, "check": check,
        });
        let all = json!({
            "id": "1", "prepared": [], "connections": [connection], "unread": [], "steps": [], "outcome": outcome,
            "files": [{ "path": "/srv/wp-config.php", "lines": [], "remarks": [] }],
            "proof": { "reload": "r", "reload_words": [], "url": null, "within_s": 5.0 },
        });
        serde_json::from_value(all).unwrap()
    }

    /// Judges a switch that reports this outcome and exit code, after which the file has this content and the
    /// application gets this result.
    fn violations(outcome: &str, code: i32, after: &str, way: Result<Way, &str>) -> String {
        let form = named(&["wordpress".to_owned()]).unwrap();
        let draw = Draw::of(1, &form, |_, _| 3306).unwrap();
        let run = Run {
            draw: &draw,
            code: Some(code),
            said: Some(said(outcome)),
            stderr: "",
            before: &file("old"),
            after: &file(after),
            asked_before: &asked(Ok(Way::Tcp)),
            asked: &asked(way),
            n_over_tcp: vec![0],
        };
        judge(&run).violations.join("; ")
    }

    #[test]
    fn a_switch_is_right_when_files_and_application_are_as_it_says() {
        assert_eq!(violations("moved", 0, "new", Ok(Way::Socket)), "");
        assert_eq!(violations("put-back", 1, "old", Ok(Way::Tcp)), "");
    }

    #[test]
    fn whatever_is_not_as_it_says_is_found() {
        for (outcome, code, after, way, found) in [
            ("moved", 0, "new", Ok(Way::Tcp), "over TCP"),
            ("moved", 0, "new", Err("no such file"), "failed 6 times after the switch: no such file"),
            ("moved", 3, "new", Ok(Way::Socket), "exit code"),
            ("put-back", 1, "new", Ok(Way::Tcp), "has changed"),
            ("unproved", 3, "new", Ok(Way::Socket), "not proved"),
            ("unproved", 3, "new", Err("refused"), "failed 6 times"),
        ] {
            let wrong = violations(outcome, code, after, way);
            assert!(wrong.contains(found), "{outcome}: {wrong}");
        }
    }
}
