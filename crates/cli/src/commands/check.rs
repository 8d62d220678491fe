//! `check`: would the switch to the socket work? Points with answers, and what would have to change.

mod told;

use looptax_advise::check::{Outcome, Point};
use looptax_diagnose::check::answer::{self, Answer, Around};
use looptax_diagnose::check::sources::{self, Looked};
use looptax_diagnose::check::{Client, Question, points};
use looptax_discover::{Survey, survey};
use looptax_dsn::Address;
use looptax_failure::Failure;
use looptax_report::terminal::{cleaned, fitted};

use crate::args::CheckArgs;
use crate::failure::Exit;
use crate::terminal::{self, Terminal};

/// Runs `check`.
pub(crate) fn run(args: &CheckArgs, terminal: Terminal) -> Result<Exit, Failure> {
    match &args.url {
        Some(url) => of_address(url, args, terminal),
        None => of_sources(args, terminal),
    }
}

const LOGINS: &str = "logging in once over either endpoint, reading only: a line in the server's log, a warmed password cache\n";

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
    if args.json {
        terminal::json(&points)?;
    } else {
        let style = terminal.style();
        let outcome = fitted(&cleaned(&told::outcome(&points), style), style.width);
        terminal::data(&(told::points(&points, style) + &outcome))?;
    }
    Ok(code(&points))
}

/// What has to be known before anybody may say that it would work.
const ESSENTIAL: [&str; 5] = ["server", "path", "account", "login", "configuration"];

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

/// The connections of a file, or of a process.
fn of_sources(args: &CheckArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let client = Client::find(args.pid, args.user.as_deref())?;
    let survey = survey(None);
    let looked = looked(args)?;
    if let Some(owner) = args.app.as_deref().and_then(sources::owner)
        && args.user.is_none()
        && args.pid.is_none()
    {
        terminal.words(&format!(
            "hint: the file belongs to {owner}: say whom the application runs as, for example --user {owner}\n"
        ));
    }
    let around = Around {
        client: &client,
        near: client.near(&survey.servers),
        socket: args.socket.as_deref(),
        n_connections: args.connections,
    };
    let seen = match (&args.app, args.pid) {
        (None, Some(pid)) => sources::connected(pid, &survey),
        _ => Vec::new(),
    };
    if seen.is_empty() && looked.iter().all(|it| it.reading.found.is_empty()) {
        if let Some(words) = args.pid.and_then(|pid| sources::on_sockets(pid, &survey)) {
            terminal::data(&format!("{}\n", told::harmless(&words)))?;
            return Ok(Exit::Done);
        }
        return Err(nothing(args, &looked, &survey));
    }
    terminal.words(LOGINS);
    let answers = answers(&looked, &seen, around)?;
    if args.json {
        terminal::json(&answers)?;
    } else {
        terminal::data(&told::answers(&answers, &looked, terminal.style()))?;
    }
    Ok(code(answers.iter().flat_map(|it| &it.points)))
}

fn looked(args: &CheckArgs) -> Result<Vec<Looked>, Failure> {
    match (&args.app, args.pid.and_then(looptax_discover::process)) {
        (Some(path), _) => Ok(vec![sources::file(path, args.pid)?]),
        (None, Some(process)) => sources::process(&process),
        (None, None) => Ok(Vec::new()),
    }
}

fn answers(
    looked: &[Looked],
    seen: &[Address],
    around: Around<'_>,
) -> Result<Vec<Answer>, Failure> {
    let mut answers = Vec::new();
    let mut known: Vec<&Address> = Vec::new();
    for place in looked {
        for found in &place.reading.found {
            answers.push(answer::found(place, found, around)?);
            known.extend(&found.address);
        }
    }
    for address in seen {
        if !known.iter().any(|it| sources::is_same(it, address)) {
            answers.push(answer::connected("its connections now", address, around)?);
        }
    }
    Ok(answers)
}

/// What was looked for, where nothing was found.
fn nothing(args: &CheckArgs, looked: &[Looked], survey: &Survey) -> Failure {
    let Some(path) = &args.app else {
        return Failure::usage(
            "nothing in its environment or working folder names a server that is known, and it has no TCP connection to one of the servers here",
            format!(
                "{} servers were seen; --app FILE takes its configuration file",
                survey.servers.len()
            ),
        );
    };
    let problems: Vec<String> = looked
        .iter()
        .flat_map(|it| &it.reading.problems)
        .map(told::problem)
        .collect();
    let wanted: Vec<&str> = looked
        .iter()
        .flat_map(|it| &it.reading.looked_for)
        .map(|it| &**it)
        .collect();
    let what = match (&*problems, wanted.is_empty()) {
        ([], true) => "no application that is known has a file of that name".to_owned(),
        ([], false) => "none of the settings that were looked for is in it".to_owned(),
        (problems, _) => problems.join("; "),
    };
    let hint = if wanted.is_empty() {
        "known are wp-config.php, .env, settings.py, config/database.yml, config.php and others; `looptax check DSN` takes the address itself".to_owned()
    } else {
        format!("looked for {}", wanted.join("; "))
    };
    Failure::usage(
        told::harmless(&format!("`{}`: {what}", path.display())),
        told::harmless(&hint),
    )
}
