//! `check`: would the switch to the socket work? Points with answers, and what would have to change.

use std::path::Path;

use looptax_advise::check::verdict;
use looptax_host::discover::{Survey, survey};
use looptax_model::dsn::{MASK, masked};
use looptax_model::record::{Checked, Point, SwitchVerdict};
use looptax_report::terminal as report;
use looptax_switch::diagnose::check::{Around, Client, Question, Sources, points, sources, typed};
use looptax_switch::diagnose::socket_of::Near;

use crate::args::CheckArgs;
use crate::failure::{Exit, Failure};
use crate::outputs;
use crate::sys;
use crate::terminal::{self, Terminal};

/// Runs `check`.
pub(crate) fn run(args: &CheckArgs, terminal: Terminal) -> Result<Exit, Failure> {
    sys::require_proc(sys::FOUND)?;
    match &args.url {
        Some(url) => of_address(url, args, terminal),
        None => of_sources(args, terminal),
    }
}

fn of_address(url: &str, args: &CheckArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let client = Client::find(args.pid, args.user.as_deref())?;
    let (address, mut all) = typed(url, &client)?;
    let survey = survey(None);
    all.extend(points(Question {
        socket: args.socket.as_deref(),
        n_connections: args.connections,
        ..Question::of(&address, &client, near(&client, &survey))
    })?);
    let next = spelled_by(&all, url);
    show(&Checked::Address(all), &[], &client, (args, &next), terminal)
}

/// What runs here, with its clients.
fn near<'a>(client: &Client, survey: &'a Survey) -> Near<'a> {
    client.near(&survey.servers).with_clients(&survey.clients)
}

/// The connections of a file, or of a process.
fn of_sources(args: &CheckArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let app = args.app.as_deref();
    let client = match app {
        Some(path) => Client::for_file(path, args.pid, args.user.as_deref())?,
        None => Client::find(args.pid, args.user.as_deref())?,
    };
    let survey = survey(None);
    let sources = Sources::find(app, args.pid, args.application.as_deref(), &survey)?;
    if let Some(owner) = app.and_then(sources::owner)
        && !client.is_named()
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
    let (connections, is_written) = sources.check(Around {
        client: &client,
        near: near(&client, &survey),
        socket: args.socket.as_deref(),
        n_connections: args.connections,
    })?;
    let next = app.filter(|_| is_written).map_or_else(String::new, |path| switched_by(path, args));
    show(&Checked::Connections(connections), &sources.unread(), &client, (args, &next), terminal)
}

fn show(
    checked: &Checked,
    unread: &[String],
    client: &Client,
    (args, next): (&CheckArgs, &str),
    terminal: Terminal,
) -> Result<Exit, Failure> {
    outputs::show(checked, &args.json, || {
        let text = report::checked(checked, unread, args.verbose, terminal.style());
        text + &for_whom(client) + next
    })?;
    let verdicts: Vec<SwitchVerdict> = match checked {
        Checked::Address(points) => vec![verdict(points)],
        Checked::Connections(found) => found.iter().map(|it| it.verdict).collect(),
    };
    Ok(code(&verdicts))
}

/// As whom it was tried where nobody was named: root reaches what an application may not.
fn for_whom(client: &Client) -> String {
    if client.is_named() {
        return String::new();
    }
    let who = if rustix::process::geteuid().is_root() {
        "root, who may reach more than the application"
    } else {
        "the user who asks"
    };
    format!("  as    {who}; --user or --pid names the client\n")
}

/// Of an address nothing is known that could be changed: what spells it for every driver.
fn spelled_by(points: &[Point], url: &str) -> String {
    // `dsn` takes URLs.
    let is_url = url.contains("://") && !url.starts_with("jdbc:");
    if verdict(points) != SwitchVerdict::WouldWork || !is_url {
        return String::new();
    }
    let url = masked(url).replace(&format!(":{MASK}"), "");
    format!("  next  looptax dsn '{url}'   writes it for the socket, for each driver\n")
}

/// What writes the lines of a file, for the same client.
fn switched_by(file: &Path, args: &CheckArgs) -> String {
    let options = [
        ("as", args.application.clone()),
        ("user", args.user.clone()),
        ("pid", args.pid.map(|it| it.to_string())),
        ("socket", args.socket.as_ref().map(|it| it.display().to_string())),
    ];
    let options =
        options.into_iter().filter_map(|(name, value)| Some(format!(" --{name} {}", shell_words::quote(&value?))));
    let file = file.display().to_string();
    let command = format!("looptax switch {}{}", shell_words::quote(&file), options.collect::<String>());
    format!("  next  {command}   shows the lines, and writes and proves them if you agree\n")
}

/// No where one of them is no; not known where one is open.
fn code(verdicts: &[SwitchVerdict]) -> Exit {
    let is_no = |it: &SwitchVerdict| matches!(it, SwitchVerdict::WouldNotWork | SwitchVerdict::NobodyThere);
    if verdicts.iter().any(is_no) {
        Exit::No
    } else if verdicts.contains(&SwitchVerdict::Open) {
        Exit::Invalid
    } else {
        Exit::Done
    }
}
