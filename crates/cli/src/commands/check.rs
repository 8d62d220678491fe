//! `check`: would the switch to the socket work? Points with answers, and what would have to change.

use looptax_diagnose::check::{Around, Client, Question, Sources, points, sources};
use looptax_discover::survey;
use looptax_dsn::Address;
use looptax_record::{Checked, Outcome, Point, Topic};
use looptax_report::terminal as report;

use crate::args::CheckArgs;
use crate::failure::{Exit, Failure};
use crate::sys;
use crate::terminal::{self, Terminal};

const LOGINS: &str = "logging in once over either endpoint, reading only: a line in the server's log, a warmed password cache\n";

/// Runs `check`.
pub(crate) fn run(args: &CheckArgs, terminal: Terminal) -> Result<Exit, Failure> {
    sys::require_proc(sys::FOUND)?;
    match &args.url {
        Some(url) => of_address(url, args, terminal),
        None => of_sources(args, terminal),
    }
}

fn of_address(url: &str, args: &CheckArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let address = Address::parse(url)
        .map_err(|error| Failure::usage(error, "for example mysql://user@127.0.0.1:3306/db"))?;
    let client = Client::find(args.pid, args.user.as_deref())?;
    terminal.words(LOGINS);
    let points = points(Question {
        address: &address,
        client: &client,
        near: client.near(&survey(None).servers),
        socket: args.socket.as_deref(),
        n_connections: args.connections,
        no_login: None,
    })?;
    show(&Checked::Address(points), &[], args, terminal)
}

/// The connections of a file, or of a process.
fn of_sources(args: &CheckArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let client = Client::find(args.pid, args.user.as_deref())?;
    let survey = survey(None);
    let app = args.app.as_deref();
    let sources = Sources::find(app, args.pid, &survey)?;
    if let Some(owner) = app.and_then(sources::owner)
        && args.user.is_none()
        && args.pid.is_none()
    {
        terminal.words(&format!(
            "hint: the file belongs to {owner}: say whom the application runs as, for example --user {owner}\n"
        ));
    }
    if sources.is_empty() {
        if let Some(words) = args.pid.and_then(|pid| sources::on_sockets(pid, &survey)) {
            terminal::words_as_data(&words)?;
            return Ok(Exit::Done);
        }
        return Err(sources.nothing(app, survey.servers.len()));
    }
    terminal.words(LOGINS);
    let connections = sources.check(Around {
        client: &client,
        near: client.near(&survey.servers),
        socket: args.socket.as_deref(),
        n_connections: args.connections,
    })?;
    show(
        &Checked::Connections(connections),
        &sources.unread(),
        args,
        terminal,
    )
}

fn show(
    checked: &Checked,
    unread: &[String],
    args: &CheckArgs,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    if args.json {
        terminal::json(checked)?;
    } else {
        terminal::data(&report::checked(checked, unread, terminal.style()))?;
    }
    Ok(match checked {
        Checked::Address(points) => code(points),
        Checked::Connections(found) => code(found.iter().flat_map(|it| &it.points)),
    })
}

/// What has to be known before anybody may say that it would work.
const ESSENTIAL: [Topic; 5] = [
    Topic::Server,
    Topic::Path,
    Topic::Account,
    Topic::Login,
    Topic::Configuration,
];

/// No where one point says no; not known where an essential one is open.
fn code<'a>(points: impl IntoIterator<Item = &'a Point>) -> Exit {
    let mut code = Exit::Done;
    for point in points {
        match point.outcome {
            Outcome::Fail => return Exit::No,
            Outcome::Unknown if ESSENTIAL.contains(&point.topic) => code = Exit::Invalid,
            Outcome::Unknown | Outcome::Note | Outcome::Pass => {}
        }
    }
    code
}
