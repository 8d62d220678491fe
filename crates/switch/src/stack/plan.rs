//! What a switch of both files would do: who reads them, which lines, and what speaks against it. Writes nothing.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::diagnose::check::Switchable;
use looptax_advise::app::Rewrite;
use looptax_host::discover::{Endpoint, Place, Process, listens_on};
use looptax_host::read;
use looptax_model::failure::Failure;
use looptax_model::record::{Edit, FileRemarkCode, Outcome, SwitchVerdict};

use super::back::{self, Own};
use super::eyes::others_at;
use super::front::Front;
use super::looking::{Found, Looking};
use super::pair::{Pair, Text, pair};
use super::port::Port;
use super::way::Way;
use super::{Sides, StackWish, connections};
use crate::plan::{Fate, Plan, Planned, Subject};
use crate::remark::remark;

/// Looks at both files, and at the programs that read them.
///
/// # Errors
/// That a file cannot be read, is of another program, or is read by none that runs; that the two do not belong together.
pub fn look_at_stack(wish: StackWish<'_>) -> Result<Subject, Failure> {
    let (site, pool, pair) = pair(wish)?;
    let front = Front::find(pair.front, site.original.path())?;
    let socket = socket(&pair, wish.socket)?;
    let master = master(&pair, &socket)?;
    let (worker, pool_moves) = (front.worker.clone(), pair.listens.is_none());
    let given_up = { pair.tcp.filter(|_| pool_moves) }.map(|it| Port::of(&master, it));
    let port = given_up.as_ref();
    let found = Looking {
        front: &front,
        pair: &pair,
        socket: &socket,
        port,
        site: site.original.path(),
        own: Own {
            text: &pool.content,
            label: &pair.label,
            file: pool.named,
            master: &master,
        },
    }
    .look()?;
    let unknown = port.map(|_| unknown_targets(&front, site.original.path(), &pair));
    let (mut plan, tcp) = planned(site, pool, (&pair, &socket, port), &found)?;
    plan.unread.extend(unknown.unwrap_or_default());
    let is_open_to_all =
        |it: &Endpoint| matches!(it.place, Place::Tcp(at) if at.ip().is_unspecified());
    if pool_moves && listens_on(&master).iter().any(is_open_to_all) {
        let title = pair.back.title();
        plan.unread.push(format!(
            "{title} listens for other machines as well, who will find nobody there any more"
        ));
    }
    let sides = Sides {
        front: front.program,
        front_master: front.master,
        back: pair.back,
        back_master: master,
    };
    let others = pool_moves.then(|| others_at(&sides, tcp));
    let others = others.into_iter().flatten();
    let left_alone = others.map(|program| {
        let words = format!(
            "{program}, is connected to {tcp} as well, and will find nobody there any more"
        );
        remark(FileRemarkCode::PortInUse, words)
    });
    if let Some(file) = plan.files.last_mut() {
        file.remarks.extend(left_alone);
    }
    Ok(Subject {
        plan,
        commands: sides.commands(pool_moves, wish.reload)?,
        proof: Box::new(Way::new(&sides, worker, pool_moves, (tcp, socket))),
    })
}

/// Where the socket is to be.
fn socket(pair: &Pair, named: Option<&Path>) -> Result<PathBuf, Failure> {
    let program = pair.back;
    let socket = match (&pair.listens, named) {
        (Some(own), _) => Some(own.clone()),
        (None, Some(named)) => Some(named.to_owned()),
        (None, None) => program.usual_socket(&pair.label),
    };
    let Some(socket) = socket else {
        return Err(Failure::usage(
            format!("{} has no usual place for a socket", program.title()),
            "name one in a folder that it may write to: --socket /run/NAME/NAME.sock",
        ));
    };
    if !socket.is_absolute() {
        return Err(Failure::usage(
            format!("`{}` is no whole path", socket.display()),
            "both programs need the socket's path from / on",
        ));
    }
    Ok(socket)
}

/// The program that listens where its file says.
fn master(pair: &Pair, socket: &Path) -> Result<Process, Failure> {
    let is_there = |place: &Place| match (&pair.listens, place) {
        (Some(_), Place::Path { path, .. }) => path == socket,
        (None, place) => pair.tcp.is_some_and(|to| place.takes(to)),
        _ => false,
    };
    let program = pair.back;
    back::find(program, is_there).ok_or_else(|| {
        let place = match (&pair.listens, pair.tcp) {
            (None, Some(tcp)) => tcp.to_string(),
            _ => socket.display().to_string(),
        };
        Failure::usage(
            format!(
                "no {} that can be seen listens at {place}, as its file says",
                program.title()
            ),
            "start or reload it first, or run this as root",
        )
    })
}

/// Lines of the web server's files whose target only it knows, where the port is given up.
fn unknown_targets(front: &Front, site: &Path, pair: &Pair) -> Vec<String> {
    let is_another_machine = |it: &Switchable| {
        let host = it.address.as_ref().and_then(|it| it.host.as_deref());
        let bare = host.unwrap_or_default().trim_matches(['[', ']']);
        bare.parse::<IpAddr>().is_ok()
    };
    let is_unknown = |it: &&Switchable| {
        let is_open = it.tcp.is_none() && it.checked.verdict == SwitchVerdict::Open;
        is_open && !is_another_machine(it)
    };
    let of_file = |(path, text): &(PathBuf, String)| {
        let all = connections(path, text, pair.applications[0], Path::new("/"));
        let is_site = read::real_path(path).is_ok_and(|it| it == *site);
        let file = if is_site {
            String::new()
        } else {
            format!("{} ", path.display())
        };
        let all = all.unwrap_or_default();
        let lines = all
            .iter()
            .filter(is_unknown)
            .map(|it| it.checked.line.unwrap_or_default());
        let lines: Vec<String> = lines.map(|line| format!("{file}line {line}: where its pages go is not known; at the old port nobody will be any more")).collect();
        lines
    };
    front.files.iter().flat_map(of_file).collect()
}

/// Connections, lines and files.
fn planned(
    site: Text<'_>,
    pool: Text<'_>,
    (pair, socket, port): (&Pair, &Path, Option<&Port>),
    found: &Found,
) -> Result<(Plan, SocketAddr), Failure> {
    let is_wanted = |it: &Switchable| match (port, pair.tcp) {
        // Whatever address of this machine it is by.
        (Some(port), _) => port.is_way_of(it),
        (None, Some(tcp)) => it.tcp == Some(tcp),
        (None, None) => it.checked.verdict == SwitchVerdict::AlreadyThere,
    };
    let mut of_site = site.read_as(pair.applications[0], socket)?;
    let mut of_pool = pool.read_as(pair.applications[1], socket)?;
    of_site.retain(is_wanted);
    of_pool.retain(|it| it.checked.label == pair.label);
    let site_lines = Changes::collect(&of_site, found);
    let mut pool_lines = Changes::collect(&of_pool, found);
    pool_lines.rewrites.extend(found.rewrites.iter().cloned());
    pool_lines.edits.extend(found.edits.iter().cloned());
    let mut connections: Vec<Planned> = Vec::new();
    for (idx, mut it) in of_site.into_iter().chain(of_pool).enumerate() {
        let fate = fate(&it, found);
        if idx == 0 {
            it.checked.points.extend(found.points.iter().cloned());
        }
        for change in &mut it.checked.changes {
            // What it says beside is done here.
            change.advice.clear();
        }
        it.checked.verdict = match fate {
            Fate::Moves(_) => SwitchVerdict::WouldWork,
            Fate::Blocked => SwitchVerdict::WouldNotWork,
            _ => it.checked.verdict,
        };
        connections.push(Planned { found: it, fate });
    }
    let mut plan = Plan {
        connections,
        unread: Vec::new(),
        edited: Vec::new(),
        files: Vec::new(),
        reload: None,
    };
    let is_going = |it: &Planned| matches!(it.fate, Fate::Moves(_) | Fate::IsThere);
    if plan.connections.iter().all(is_going) {
        write([(site, site_lines), (pool, pool_lines)], &mut plan);
    }
    // Where all is on the socket already, nothing is asked of a port.
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
    Ok((plan, pair.tcp.unwrap_or(nowhere)))
}

fn fate(it: &Switchable, found: &Found) -> Fate {
    let has = |outcome| found.points.iter().any(|it| it.outcome == outcome);
    match it.checked.verdict {
        _ if has(Outcome::Fail) => Fate::Blocked,
        _ if has(Outcome::Unknown) => Fate::Open,
        SwitchVerdict::AlreadyThere => Fate::IsThere,
        _ if it.moves.first().is_some_and(Option::is_some) => Fate::Moves(0),
        _ => Fate::ByHand,
    }
}

/// What changes in a file: bytes, and lines for a person.
struct Changes {
    rewrites: Vec<Rewrite>,
    edits: Vec<Edit>,
}

impl Changes {
    fn collect(all: &[Switchable], found: &Found) -> Self {
        let moved = || { all.iter() }.filter(|it| matches!(fate(it, found), Fate::Moves(_)));
        let own = moved().filter_map(|it| it.moves.first()?.clone());
        let changes = moved().filter_map(|it| it.checked.changes.first());
        Self {
            rewrites: own.flat_map(|it| it.here).collect(),
            edits: changes.flat_map(|it| it.edits.clone()).collect(),
        }
    }
}

/// The files that change, both or none.
fn write(files: [(Text<'_>, Changes); 2], plan: &mut Plan) {
    for (text, changes) in files {
        if changes.rewrites.is_empty() {
            continue;
        }
        let named = text.named;
        let Some(edited) = text.edited(&changes.rewrites) else {
            plan.edited.clear();
            plan.files.clear();
            plan.leave_to_people();
            return;
        };
        plan.add(edited, named, changes.edits);
    }
}
