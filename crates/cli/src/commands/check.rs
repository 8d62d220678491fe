//! `check`: reports whether the move to the socket would work. Prints each checked point with its evidence, and the
//! changes that are needed.

mod by_text;
mod files;
mod target;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use looptax_advise::check::verdict;
use looptax_host::discover::{LookOnce, Process, Survey, survey};
use looptax_host::read;
use looptax_model::dsn::{MASK, masked};
use looptax_model::record::{Checked, CheckedConnection, Point, SwitchVerdict};
use looptax_report::terminal as report;
use looptax_switch::diagnose::check::{Around, Client, Question, Sources, points, sources, typed};

use crate::args::CheckArgs;
use crate::failure::{Exit, Failure};
use crate::outputs;
use crate::sys;
use crate::terminal::{self, Terminal};
use files::SourceFiles;
use target::Target;

pub(crate) fn run(args: &CheckArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let target = Target::find(args)?;
    if args.sarif {
        let Target::Files(files) = target else {
            return Err(Failure::usage("--sarif checks only files and folders", "for example looptax check . --sarif"));
        };
        return by_text::run(files, args, terminal);
    }
    sys::require_proc(sys::FOUND)?;
    // A folder may contain hundreds of addresses, so looptax inspects the machine only once for all of them.
    let _once = LookOnce::begin();
    match target {
        Target::Machine => of_machine(args, terminal),
        Target::Process(pid) => of_sources(None, &CheckArgs { pid: Some(pid), ..args.clone() }, terminal),
        Target::Address(url) => of_address(url, args, terminal),
        Target::Files([file]) if !read::is_folder(file) => of_sources(Some(file), args, terminal),
        Target::Files(files) => of_files(files, args, terminal),
    }
}

fn of_address(url: &str, args: &CheckArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let client = Client::find(args.pid, args.user.as_deref())?;
    let (address, mut all) = typed(url, &client)?;
    let survey = survey(None);
    all.extend(points(Question {
        socket: args.socket.as_deref(),
        n_connections: args.connections,
        ..Question::of(&address, &client, client.near(&survey))
    })?);
    let next = spelled_by(&all, url);
    show(&Checked::Address(all), &[], &client, (args, &next), terminal)
}

/// Checks the connections in a file or of a process.
fn of_sources(app: Option<&Path>, args: &CheckArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let survey = survey(None);
    let looked = look(app, (args, &survey), |_| {})?;
    if let Some(owner) = app.and_then(sources::owner)
        && !looked.client.is_named()
    {
        terminal.words(&format!(
            "hint: the file belongs to {owner}: pass the user that the application runs as, for example --user \
             {owner}\n"
        ));
    }
    if looked.sources.is_empty() {
        if let Some(words) = args.pid.and_then(|pid| sources::on_sockets(pid, &survey)) {
            terminal::words_as_data(&words)?;
            return Ok(Exit::Done);
        }
        return Err(looked.sources.nothing(app, survey.servers.len()));
    }
    let next = app.filter(|_| looked.is_written).map_or_else(String::new, |path| switched_by(path, args));
    let checked = Checked::Connections(looked.connections);
    show(&checked, &looked.sources.unread(), &looked.client, (args, &next), terminal)
}

/// Checks the connections of each program on this machine that is connected to a server over TCP. One process of each
/// program is checked.
fn of_machine(args: &CheckArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let survey = survey(None);
    let mut all: Vec<CheckedConnection> = Vec::new();
    let mut text = String::new();
    for process in clients_over_tcp(&survey) {
        let name = format!("{} {}", process.program_name(), process.pid);
        let args = &CheckArgs { pid: Some(process.pid), ..args.clone() };
        match look(None, (args, &survey), |_| {}) {
            Ok(looked) if looked.sources.is_empty() => {}
            Ok(mut looked) => {
                looked.connections.iter_mut().for_each(|it| it.source = format!("{name}: {}", it.source));
                let checked = Checked::Connections(looked.connections);
                text += &report::checked(&checked, &looked.sources.unread(), args.verbose, terminal.style());
                all.extend(connections(checked));
            }
            Err(failure) => terminal.words(&format!("not checked: {name}: {failure:#}\n")),
        }
    }
    if survey.clients.iter().any(|it| it.peer.way.is_tcp() && it.peer.process.is_none()) {
        terminal.words("only root sees the programs of other users\n");
    }
    several(all, args, text, "looptax sees no program that is connected over TCP to a known server\n")
}

/// Returns one process for each program and account with a connection to a server over TCP. Workers that
/// share a parent are counted once.
fn clients_over_tcp(survey: &Survey) -> Vec<&Process> {
    let mut found: BTreeMap<(usize, u32, u32, String), &Process> = BTreeMap::new();
    for client in survey.clients.iter().filter(|it| it.peer.way.is_tcp()) {
        if let Some(process) = &client.peer.process {
            let family = if process.parent > 1 { process.parent } else { process.pid };
            found.entry((client.server_idx, family, process.uid, process.program_name())).or_insert(process);
        }
    }
    let mut processes: Vec<&Process> = found.into_values().collect();
    processes.sort_by_key(|it| it.pid);
    processes.dedup_by_key(|it| it.pid);
    processes
}

fn connections(checked: Checked) -> Vec<CheckedConnection> {
    match checked {
        Checked::Connections(found) => found,
        Checked::Address(_) => Vec::new(),
    }
}

/// Checks the connections in the files that the user named, and in the files of the folders that the user named.
fn of_files(files: &[PathBuf], args: &CheckArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let survey = survey(None);
    let mut all: Vec<CheckedConnection> = Vec::new();
    let mut text = String::new();
    let tree = SourceFiles::find(files)?;
    for file in &tree.files {
        if args.application.is_none() && file.is_without_server() {
            continue;
        }
        let path = &file.path;
        let looked = look(Some(path), (args, &survey), |it| {
            if !file.is_named {
                it.without_guesses(path);
            }
        });
        match looked {
            Ok(looked) if looked.sources.is_empty() && !file.is_named => {}
            Ok(looked) if looked.sources.is_empty() => {
                return Err(looked.sources.nothing(Some(path), survey.servers.len()));
            }
            Ok(looked) => {
                let checked = Checked::Connections(looked.connections);
                let style = terminal.style();
                text += &report::checked(&checked, &looked.sources.unread(), args.verbose, style);
                text += &for_whom(&looked.client, terminal);
                if looked.is_written {
                    text += &switched_by(path, args);
                }
                all.extend(connections(checked));
            }
            Err(failure) if file.is_named => return Err(failure),
            Err(failure) => terminal.words(&format!("not read: {failure:#}\n")),
        }
    }
    for it in &tree.left_out {
        terminal.words(&format!("not read: {it}\n"));
    }
    let none = format!("none of {} files names a server that looptax knows\n", tree.files.len());
    several(all, args, text, &none)
}

/// Prints the connections of several files or processes, or the text `none` if there are none.
fn several(all: Vec<CheckedConnection>, args: &CheckArgs, text: String, none: &str) -> Result<Exit, Failure> {
    let verdicts: Vec<SwitchVerdict> = all.iter().map(|it| it.verdict).collect();
    outputs::show(&Checked::Connections(all), &args.json, || if text.is_empty() { none.to_owned() } else { text })?;
    Ok(code(&verdicts))
}

/// The connections found in a file or a process.
struct Looked {
    client: Client,
    sources: Sources,
    connections: Vec<CheckedConnection>,
    /// Whether `switch` would change at least one of the connections.
    is_written: bool,
}

fn look(
    app: Option<&Path>,
    (args, survey): (&CheckArgs, &Survey),
    choose: impl FnOnce(&mut Sources),
) -> Result<Looked, Failure> {
    let client = match app {
        Some(path) => Client::for_file(path, args.pid, args.user.as_deref())?,
        None => Client::find(args.pid, args.user.as_deref())?,
    };
    let mut sources = Sources::find(app, args.pid, args.application.as_deref(), survey)?;
    choose(&mut sources);
    let (connections, is_written) = sources.check(Around {
        client: &client,
        near: client.near(survey),
        socket: args.socket.as_deref(),
        n_connections: args.connections,
    })?;
    Ok(Looked { client, sources, connections, is_written })
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
        text + &for_whom(client, terminal) + next
    })?;
    let verdicts: Vec<SwitchVerdict> = match checked {
        Checked::Address(points) => vec![verdict(points)],
        Checked::Connections(found) => found.iter().map(|it| it.verdict).collect(),
    };
    Ok(code(&verdicts))
}

/// If the caller named no client, returns a line that names the user whose rights looptax used for the check. Root has
/// more rights than most applications.
fn for_whom(client: &Client, terminal: Terminal) -> String {
    if client.is_named() {
        return String::new();
    }
    let who = if rustix::process::geteuid().is_root() {
        "root, which may reach sockets that the application cannot reach"
    } else {
        "the user who runs looptax"
    };
    let words = format!("  as    {who}; to choose the client's user, pass --user or --pid\n");
    report::fitted(&words, terminal.style().width)
}

/// Returns a line with the command that prints the connection for every driver. The line is for a user who passed an
/// address, because an address does not show which file to change.
fn spelled_by(points: &[Point], url: &str) -> String {
    // `dsn` accepts URLs only.
    let is_url = url.contains("://") && !url.starts_with("jdbc:");
    if verdict(points) != SwitchVerdict::WouldWork || !is_url {
        return String::new();
    }
    let url = masked(url).replace(&format!(":{MASK}"), "");
    format!("  next  looptax dsn '{url}'   prints the connection over the socket for each driver\n")
}

/// Returns a line with the command that writes the changes into a file, for the same client.
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
    format!("  next  {command}   shows the lines; if you agree, looptax writes the lines and proves the move\n")
}

/// Returns the exit code for "no" if a connection would not work. Otherwise returns the exit code for "not known" if a
/// connection is undecided.
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
