//! Switches a server's own file and an application's file together: the server gets a socket, and the application uses
//! it.
//!
//! `meeting` determines which of the two files is a server's own, and checks that a connection in the other file leads
//! to that server. `access` chooses the socket and its users, `loss` describes what a restart loses, and `others` finds
//! the other connected programs. `proof` waits for the server and then watches the application.
//! `looptax_advise::serving` knows what to write where. These modules write nothing: `carry` writes, the server's file
//! first.

mod access;
mod loss;
mod meeting;
mod others;
mod proof;

pub(crate) use proof::is_back_at_its_port;

use std::path::Path;

use looptax_advise::check::verdict;
use looptax_advise::serving::{ServerFile, Written};
use looptax_host::discover::{Home, Process, Server, Survey};
use looptax_host::program::Variables;
use looptax_model::dsn::Address;
use looptax_model::failure::Failure;
use looptax_model::record::{FileRemark, FileRemarkCode, Outcome, Point, PointCode, SwitchFile, SwitchVerdict, Topic};

use crate::before::{Before, around};
use crate::diagnose::check::{Switchable, ToBeMade, user_name};
use crate::journal::ServerOf;
use crate::line::{Commands, Line, Question, ServerCommands};
use crate::plan::{Planned, Restart, Subject, Wish};
use crate::reload::main_unit_of;
use crate::remark::{remark, remarks};
use crate::stack::pool_tests;
use access::{Access, Joins};
use meeting::{Meeting, Meets};
use others::Others;
use proof::ServerSide;

/// Plans the switch of two files, if one of them is a server's own file; otherwise returns `None`. If the server has a
/// socket and its own file stays unchanged, `plain` plans the switch of only the application's file.
///
/// # Errors
/// If one file is a server's own, but no connection in the other file leads to a server that was seen to read the
/// server's file; if there is no suitable path for the socket; if planning the application's file fails.
pub(crate) fn look_at<'a>(
    wish: Wish<'a>,
    other: &'a Path,
    survey: &'a Survey,
    plain: impl FnOnce(Wish<'a>) -> Result<Subject, Failure>,
) -> Result<Option<Subject>, Failure> {
    let mut apart = None;
    for (path, own) in [(wish.path, other), (other, wish.path)] {
        let wish = Wish { path, other: None, ..wish };
        match Meeting::find(wish, own, survey)? {
            Meets::OnSocket => return plain(wish).map(Some),
            Meets::There(meeting) => {
                let is_kept = meeting.server.has_socket() && is_in_container(meeting.server);
                let subject = if is_kept { None } else { plan(wish, *meeting, survey)? };
                // The server's file stays unchanged, so only the application's file is switched.
                return subject.map_or_else(|| plain(wish), Ok).map(Some);
            }
            Meets::Apart(why) => apart = apart.or(Some(why)),
            Meets::NoServersFile => {}
        }
    }
    apart.map_or(Ok(None), Err)
}

/// Plans the switch of both files. `None` if the server's file stays unchanged, because the server has a socket whose
/// queue is long enough or cannot be changed.
fn plan(wish: Wish<'_>, meeting: Meeting<'_>, survey: &Survey) -> Result<Option<Subject>, Failure> {
    let Meeting { file, text, application, server, tcp, address, evidence, asked } = meeting;
    refuse_container(server)?;
    let existing = server.socket(tcp.port()).map(|it| it.0.to_owned());
    if server.has_socket() && existing.is_none() {
        return Ok(None);
    }
    let socket = match &existing {
        Some(own) => own.clone(),
        None => access::socket(file, &text.content, wish.socket, tcp.port(), &server.process)?,
    };
    let own = application.for_socket(&socket)?.into_iter().find(|(_, it)| it.tcp == Some(tcp));
    let of_pool = own.and_then(|(_, it)| application.user_of_pool(&it.checked.label));
    let wish = Wish { socket: None, user: wish.user.or(of_pool.as_deref().filter(|_| wish.pid.is_none())), ..wish };
    let mut before = Before::look(wish, |_| Ok(vec![(address.clone(), tcp)]), survey)?;
    let find = || Access::find(file, &text.content, &server.process, &socket, &before.client);
    let access = existing.is_none().then(find);
    let others = Others::find(server, &before.applications(), wish.pid, survey);
    let name = format!("{} {}", server.name(), server.process.pid);
    let what = format!("{name} listens on port {} and reads {}", tcp.port(), text.named.display());
    let mut points = vec![Point::new(Topic::Server, PointCode::ServerListens, Outcome::Pass, what, evidence)];
    points.extend(access.iter().map(|it| it.point(&socket)));
    points.extend(others.at_a_port_that_ends(file.is_exclusive));
    if existing.is_none() && (file.has_mode() || file.is_exclusive) {
        points.extend(whose(wish, application.owner(), &address, &before, server, survey));
    }
    let mut to_be = application.for_socket(&socket)?;
    to_be.retain(|(_, it)| it.tcp == Some(tcp));
    let source = wish.path.to_string_lossy();
    let queue = ToBeMade { server, tcp, file, text: &text.content, client: &before.client, source: &source };
    let mut backlog = None;
    let mut plan = application.plan_with(around(&before.client, wish, survey), |idx, found| {
        if existing.is_some() {
            return longer(found, (&queue, &points), &mut backlog);
        }
        let Some(place) = to_be.iter().position(|(own, _)| *own == idx) else { return found };
        let (point, larger) = queue.queue(found.at_once.as_ref());
        backlog = backlog.max(larger);
        let points: Vec<Point> = points.iter().cloned().chain(point).collect();
        Switchable { at_once: found.at_once, ..answered(to_be.swap_remove(place).1, &points) }
    })?;
    if existing.is_some() && backlog.is_none() {
        return Ok(None);
    }
    let tests = pool_tests(plan.edited.iter().map(|it| it.original.path()));
    let its = |it: &&Planned| it.moves() && it.found.tcp == Some(tcp);
    if !plan.connections.iter().any(|it| its(&it)) {
        let watches = before.watches(&plan, wish.path, survey);
        let commands = Commands { tests, ..Commands::default() };
        return Ok(Some(Subject { file: wish.path.to_owned(), plan, commands, proof: Box::new(watches) }));
    }
    let restart = restart_of(&server.process, wish.restart, file);
    let named = if file.is_folder { socket.parent().unwrap_or(&socket) } else { &socket };
    let mode = access.as_ref().map(|it| it.mode);
    let written = written(file, &text.content, (&named.to_string_lossy(), mode), backlog);
    let lost = loss::words(&asked, others.n_connections(), tcp.port(), appends(file, &text.content, &server.process));
    let mut of_file = remarks(&text.named, &text.original);
    of_file.push(of_restart(&name, restart.as_deref(), &lost.join("; ")));
    of_file.extend(access.iter().flat_map(Access::remarks));
    let shown = SwitchFile { path: text.original.path().display().to_string(), lines: written.edits, remarks: of_file };
    let edited = text.edited(&written.rewrites).ok_or_else(not_encoded)?;
    let watches = before.watches(&plan, wish.path, survey);
    plan.edited.insert(0, edited);
    plan.files.insert(0, shown);
    let joins = access.as_ref().and_then(Access::joins);
    let restart = restart.unwrap_or_default();
    let server_commands = commands(server, joins.as_ref(), &restart);
    let leave = joins.and_then(|it| it.leave);
    let of = ServerOf { name: server.name(), tcp, socket, had_socket: existing.is_some(), restart, leave };
    let client = match access {
        Some(access) => access.client_then(before.client),
        None => before.client,
    };
    let side = ServerSide::new((of, server.process.clone()), address, client, watches, others, !file.is_exclusive);
    let commands = Commands { server: Some(server_commands), tests, reloads: Vec::new() };
    Ok(Some(Subject { file: wish.path.to_owned(), plan, commands, proof: Box::new(side) }))
}

/// Returns the new text of the server's file: with a socket and its mode if the server gets a socket, and with a longer
/// queue if it needs one.
fn written(file: &ServerFile, text: &str, (named, mode): (&str, Option<u32>), backlog: Option<u32>) -> Written {
    let mut written = mode.map(|mode| file.listening(text, named, mode)).unwrap_or_default();
    if let Some(n) = backlog {
        let of_queue = file.waiting(text, n);
        written.rewrites.extend(of_queue.rewrites);
        written.edits.extend(of_queue.edits);
    }
    written
}

fn not_encoded() -> Failure {
    Failure::usage("the encoding of the server's file cannot represent the socket's path", "write the lines by hand")
}

/// Returns the commands that test the server's file and make the server read it, and the commands for the undo.
fn commands(server: &Server, joins: Option<&Joins>, restart: &str) -> ServerCommands {
    let join = joins.and_then(|it| it.join.as_deref());
    let leave = joins.and_then(|it| it.leave.as_deref());
    ServerCommands {
        tests: test_of(server).into_iter().collect(),
        reloads: join.into_iter().chain([restart]).map(Line::from).collect(),
        back: [restart].into_iter().chain(leave).map(Line::from).collect(),
    }
}

/// Returns a point if looptax does not know the application's user, or which of the connected programs is the
/// application. If looptax chose a wrong program, that program would lose its server, or would get rights to the
/// socket. For a server with accounts, the account shows which connections are the application's.
fn whose(
    wish: Wish<'_>,
    owner: Option<u32>,
    address: &Address,
    before: &Before,
    server: &Server,
    survey: &Survey,
) -> Option<Point> {
    let is_told = address.user.is_some() && before.applications().iter().any(|it| it.is_seen());
    if wish.pid.is_some() || wish.user.is_some() || is_told {
        return None;
    }
    let point = |what: String, next: String| {
        let how = "read the server's connections and the owner of the file";
        Some(Point::new(Topic::Path, PointCode::ClientUnknown, Outcome::Fail, what, how).with_next(next))
    };
    let connected: Vec<Process> = others::clients(server.process.pid, survey).map(|it| it.0).collect();
    let Some(first) = connected.first() else {
        let is_us = before.client.rights.is_none();
        let words = "no program is connected to the server now, so looptax does not know the user of the application";
        return if is_us { point(words.to_owned(), "pass the user: --user NAME".to_owned()) } else { None };
    };
    if connected.iter().all(|it| Some(it.uid) == owner) {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for it in &connected {
        let name = format!("{} {} ({})", it.program_name(), it.pid, user_name(it.uid));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    point(
        format!(
            "connected to the server: {}; looptax does not know which of these is the application",
            names.join(", ")
        ),
        format!("pass the application, for example --user {}, or --pid {}", user_name(first.uid), first.pid),
    )
}

/// If only the short queue of the server's socket keeps a connection on TCP, judges the connection again with the queue
/// length that will be written. Returns any other connection unchanged.
fn longer(mut found: Switchable, (queue, points): (&ToBeMade<'_>, &[Point]), backlog: &mut Option<u32>) -> Switchable {
    let fails = |it: &&Point| it.outcome == Outcome::Fail;
    let is_short = |it: &Point| it.code == PointCode::BacklogShort;
    let all = &found.checked.points;
    if found.tcp != Some(queue.tcp) || !all.iter().any(is_short) || !all.iter().filter(fails).all(is_short) {
        return found;
    }
    let (Some(point), Some(n)) = queue.queue(found.at_once.as_ref()) else { return found };
    if point.outcome == Outcome::Fail {
        return found;
    }
    *backlog = (*backlog).max(Some(n));
    let checked = &mut found.checked;
    checked.points.retain(|it| !is_short(it));
    checked.points.extend(points.iter().cloned().chain([point]));
    checked.verdict = verdict(&checked.points);
    found
}

/// Returns a connection as it will be with a socket that does not exist yet, with the points about that socket.
fn answered(mut found: Switchable, points: &[Point]) -> Switchable {
    let has = |outcome| points.iter().any(|it| it.outcome == outcome);
    let checked = &mut found.checked;
    checked.points.extend(points.iter().cloned());
    checked.verdict = match () {
        () if has(Outcome::Fail) => SwitchVerdict::WouldNotWork,
        () if has(Outcome::Unknown) => SwitchVerdict::Open,
        () => SwitchVerdict::WouldWork,
    };
    found
}

fn is_in_container(server: &Server) -> bool {
    matches!(server.process.home, Home::Container { .. })
}

/// Returns an error for a server in a container: a container is recreated from its image, and then loses all changes.
fn refuse_container(server: &Server) -> Result<(), Failure> {
    let Home::Container { name, .. } = &server.process.home else { return Ok(()) };
    Err(Failure::usage(
        format!(
            "{} {} runs in the container {name}, which is recreated from its image",
            server.name(),
            server.process.pid
        ),
        "share a folder with the container, and configure the server's socket in that folder: `looptax switch \
        --containers` writes the files of containers",
    ))
}

/// Whether the server reads an append-only file after a restart, according to its own file or its command line.
fn appends(file: &ServerFile, text: &str, server: &Process) -> bool {
    let arguments = server.arguments();
    let by_line = arguments.windows(2).any(|it| it[0] == "--appendonly" && it[1] == "yes");
    by_line || file.value(text, "appendonly").is_some_and(|it| it == "yes")
}

/// Returns the remark that a server will be restarted, and what the restart loses.
fn of_restart(name: &str, restart: Option<&str>, lost: &str) -> FileRemark {
    match restart {
        Some(command) => remark(FileRemarkCode::Restart, format!("{name} is restarted (`{command}`): {lost}")),
        None => remark(
            FileRemarkCode::RestartUnknown,
            format!(
                "{name} has to be restarted ({lost}), but is not the main process of a systemd service: pass the \
                 command with --restart='COMMAND'"
            ),
        ),
    }
}

/// Returns the shell command that restarts a server; `None` if the caller passed no command and looptax knows no
/// service that is only for this server.
fn restart_of(process: &Process, wish: Restart<'_>, file: &ServerFile) -> Option<String> {
    match wish {
        Restart::By(command) => Some(command.to_owned()),
        Restart::ByItsService | Restart::NotAgreed => {
            let before = if file.is_unit() { "systemctl daemon-reload && " } else { "" };
            main_unit_of(process).map(|unit| format!("{before}systemctl restart {unit}"))
        }
    }
}

/// Returns the server's own test of its file, with the arguments of the running server.
fn test_of(server: &Server) -> Option<Line> {
    let words = ServerFile::test_words(server.kind).iter().map(|it| (*it).to_owned());
    let own = server.process.arguments().into_iter().skip(1);
    let is_tested = words.len() > 0;
    let question = Question {
        process: server.process.clone(),
        name: None,
        words: own.chain(words).collect(),
        variables: Variables::None,
    };
    is_tested.then(|| question.into())
}
