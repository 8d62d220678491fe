//! What is said of one connection that was found: its points, and the lines to change.

use looptax_advise::Takes;
use looptax_advise::app::{Change, Credentials, Found};
use looptax_advise::check::{Outcome, Point};
use looptax_dsn::{Address, MASK};
use looptax_failure::Failure;
use serde::Serialize;

use super::sources::Looked;
use super::{Question, container, points, way};
use crate::socket_of::{self, Near};

/// What there is to say.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// Where it was found.
    pub source: String,
    /// The applications that may be meant; empty for a connection that was only seen.
    pub applications: Vec<String>,
    /// Which of the file's connections.
    pub label: String,
    /// What is at the other end: `mysql`.
    pub product: String,
    /// Where it goes now, for a person.
    pub place: String,
    /// Line of the file.
    pub line: Option<usize>,
    /// How it stands.
    pub verdict: Verdict,
    /// Point by point.
    pub points: Vec<Point>,
    /// What to write.
    pub changes: Vec<Change>,
}

/// How it stands with one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It takes the socket.
    AlreadyThere,
    /// It would.
    WouldWork,
    /// Nothing is known that stands in the way, and something is open.
    Open,
    /// It would not.
    WouldNotWork,
    /// Nothing listens where the configuration points: perhaps it is not in use.
    NobodyThere,
}

/// What holds for all connections of a check.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    /// All but the address; its `address` and `no_login` are set for each connection.
    pub client: &'a super::Client,
    /// What runs here, as the client sees it.
    pub near: Near<'a>,
    /// `--socket`.
    pub socket: Option<&'a std::path::Path>,
    /// `--connections`.
    pub n_connections: u32,
}

/// About a connection of a file or an environment.
pub fn found(looked: &Looked, found: &Found, around: Around<'_>) -> Result<Answer, Failure> {
    let mut answer = Answer {
        source: looked.name.clone(),
        applications: found.titles.clone(),
        label: found.label.clone(),
        product: found.kind.to_owned(),
        place: found.address.as_ref().map(place).unwrap_or_default(),
        line: found.line,
        verdict: Verdict::Open,
        points: vec![transport(found)],
        changes: Vec::new(),
    };
    if found.takes == Some(Takes::Unix) {
        answer.verdict = Verdict::AlreadyThere;
        if let Some(address) = &found.address {
            answer.look_at_the_socket(address, around);
        }
        return Ok(answer);
    }
    let (Some(_), Some(address)) = (found.takes, &found.address) else {
        return Ok(answer);
    };
    let no_login = no_login(found, address);
    answer.ask(address, no_login.as_deref(), around)?;
    if is_elsewhere(&answer.points) {
        // The name may be known after all, to containers.
        let known = container::point(address, &looked.services);
        if let (Some(last), Some(known)) = (answer.points.last_mut(), known) {
            *last = known;
        }
    } else if let Ok(socket) = socket_of::find(address, around.socket, around.near)
        && !socket.is_guess
    {
        let password = address.password.as_ref().map(|_| MASK.to_owned());
        answer.changes = found.changes(&socket.fields(address, password));
    }
    Ok(answer)
}

/// Which transport the configuration means.
fn transport(found: &Found) -> Point {
    let why = &found.why;
    match (found.takes, &found.address) {
        (None, _) => {
            let next = "--pid PID of the running application shows its environment; or check a DSN";
            configuration(Outcome::Unknown, why, Some(next))
        }
        (Some(Takes::Unix), _) => configuration(
            Outcome::Pass,
            &format!("it takes the socket already: {why}"),
            None,
        ),
        (Some(_), None) => {
            let what = format!(
                "it takes TCP: {why}; looptax does not speak to {}",
                found.kind
            );
            configuration(Outcome::Unknown, &what, None)
        }
        (Some(takes), Some(_)) => configuration(
            Outcome::Note,
            &format!("it takes {} now: {why}", takes.words()),
            None,
        ),
    }
}

/// About a server that a process is connected to, with no more known than its address.
pub fn connected(source: &str, address: &Address, around: Around<'_>) -> Result<Answer, Failure> {
    let what = "it is connected over TCP; which file says so is not known";
    let next = format!(
        "find where {} is set; `looptax dsn {}://{}/` spells the socket for each driver",
        place(address),
        address.protocol,
        place(address)
    );
    let mut answer = Answer {
        source: source.to_owned(),
        applications: Vec::new(),
        label: String::new(),
        product: address.protocol.to_string(),
        place: place(address),
        line: None,
        verdict: Verdict::Open,
        points: vec![configuration(Outcome::Note, what, Some(&next))],
        changes: Vec::new(),
    };
    answer.ask(
        address,
        Some("the process does not show its user and password"),
        around,
    )?;
    Ok(answer)
}

impl Answer {
    /// Whether the socket that is taken already can be reached. Which one `localhost` is, a driver's
    /// own configuration says: the usual one is looked at.
    fn look_at_the_socket(&mut self, address: &Address, around: Around<'_>) {
        let Ok(socket) = socket_of::find(address, around.socket, Near::nobody()) else {
            return;
        };
        let mut point = way(&socket, around.client);
        if point.outcome == Outcome::Fail && socket.is_guess {
            let server = around.near.server(address);
            let own = server.and_then(|it| it.paths().next());
            let own = own.map(|path| format!("; the server here has {}", path.display()));
            point.outcome = Outcome::Unknown;
            point.what = format!(
                "localhost means the driver's usual socket, on Debian {}, and {}{}",
                socket.file,
                point.what,
                own.unwrap_or_default()
            );
            point.next = Some("name the socket in the configuration, or in the driver's own (mysqli.default_socket, pdo_mysql.default_socket)".to_owned());
            self.verdict = Verdict::Open;
        } else if point.outcome == Outcome::Fail {
            self.verdict = Verdict::WouldNotWork;
        }
        self.points.push(point);
    }

    fn ask(
        &mut self,
        address: &Address,
        no_login: Option<&str>,
        around: Around<'_>,
    ) -> Result<(), Failure> {
        self.points.extend(points(Question {
            address,
            client: around.client,
            near: around.near,
            socket: around.socket,
            n_connections: around.n_connections,
            no_login,
        })?);
        if let Some(point) = self.points.last_mut()
            && super::is_nobody(point)
        {
            point.outcome = Outcome::Note;
            self.verdict = Verdict::NobodyThere;
            return Ok(());
        }
        let has = |outcome| self.points.iter().any(|it| it.outcome == outcome);
        self.verdict = if has(Outcome::Fail) {
            Verdict::WouldNotWork
        } else if has(Outcome::Unknown) {
            Verdict::Open
        } else {
            Verdict::WouldWork
        };
        Ok(())
    }
}

fn configuration(outcome: Outcome, what: &str, next: Option<&str>) -> Point {
    Point {
        topic: "configuration",
        outcome,
        what: what.to_owned(),
        how: "read it, and took its words as the application does".to_owned(),
        next: next.map(str::to_owned),
    }
}

fn place(address: &Address) -> String {
    match &address.socket {
        Some(socket) => socket.display().to_string(),
        None => format!(
            "{}:{}",
            address.host.as_deref().unwrap_or("localhost"),
            address.port
        ),
    }
}

/// Whether it ended with the server, which is another machine's.
fn is_elsewhere(points: &[Point]) -> bool {
    let last = points.last();
    last.is_some_and(|it| it.topic == "server" && it.outcome == Outcome::Fail)
}

/// Why nobody logs in; a password in `LOOPTAX_PASSWORD` was given for this.
fn no_login(found: &Found, address: &Address) -> Option<String> {
    let Credentials::Unknown(why) = &found.credentials else {
        return None;
    };
    let is_given = address.user.is_some() && std::env::var_os("LOOPTAX_PASSWORD").is_some();
    (!is_given).then(|| why.clone())
}
