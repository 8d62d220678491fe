//! Plans the switch of both files: the programs that read them, the lines, and the objections. Writes nothing.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::diagnose::check::{Count, Switchable};
use looptax_host::discover::{Endpoint, Place, Process, listens_on};
use looptax_host::read;
use looptax_model::failure::Failure;
use looptax_model::record::{FileRemarkCode, Outcome, SwitchFate, SwitchVerdict};

use super::back::{self, Own};
use super::eyes::others_at;
use super::front::Front;
use super::looking::{Found, Looking};
use super::pair::{Pair, pair};
use super::port::Port;
use super::way::Way;
use super::{Sides, connections};
use crate::follow::Followed;
use crate::plan::{Edits, Plan, Planned, Subject, Wish, lines};
use crate::remark::remark;
use crate::text::Text;

/// Reads both files, and inspects the programs that read them.
///
/// # Errors
/// If a file cannot be read, belongs to another program, or is not read by any running program; if the two files do not
/// belong together.
pub(crate) fn look_at(wish: Wish<'_>, other: &Path) -> Result<Subject, Failure> {
    if wish.pid.is_some() || wish.user.is_some() || wish.application.is_some() || !wish.only.is_empty() {
        return Err(Failure::usage(
            "--pid, --user, --as and --only need an application's file together with a server's own file, but neither \
             of these two files is an application's file",
            "leave these options out",
        ));
    }
    let (site, pool, pair) = pair([wish.path, other], wish.socket)?;
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
        own: Own { text: &pool.content, label: &pair.label, file: &pool.named, master: &master },
        counted: wish.n_connections.map(Count::typed).or_else(|| front.at_once()),
        is_limit: wish.n_connections.is_none(),
    }
    .look()?;
    let unknown = port.map(|_| unknown_targets(&front, site.original.path(), &pair));
    let (mut plan, tcp) = planned(site, pool, (&pair, &socket, port), &found)?;
    plan.unread.extend(unknown.unwrap_or_default());
    let is_open_to_all = |it: &Endpoint| matches!(it.place, Place::Tcp(at) if at.ip().is_unspecified());
    if pool_moves && listens_on(&master).iter().any(is_open_to_all) {
        let title = pair.back.title();
        plan.unread.push(format!(
            "{title} also listens for other machines, which will no longer find a server at that address"
        ));
    }
    let sides = Sides { front: front.program, front_master: front.master, back: pair.back, back_master: master };
    let others = pool_moves.then(|| others_at(&sides, tcp));
    let others = others.into_iter().flatten();
    let left_alone = others.map(|program| {
        let words = format!("{program}, is also connected to {tcp}, and will no longer find a server at that address");
        remark(FileRemarkCode::PortInUse, words)
    });
    if let Some(file) = plan.files.last_mut() {
        file.remarks.extend(left_alone);
    }
    Ok(Subject {
        file: wish.path.to_owned(),
        plan,
        commands: sides.commands(pool_moves, wish.reload)?,
        proof: Box::new(Way::new(&sides, worker, pool_moves, (tcp, socket))),
    })
}

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
            "choose a socket in a folder that the program may write to: --socket /run/NAME/NAME.sock",
        ));
    };
    if !socket.is_absolute() {
        return Err(Failure::usage(
            format!("`{}` is not an absolute path", socket.display()),
            "pass the socket's absolute path, beginning with /",
        ));
    }
    Ok(socket)
}

/// Returns the upstream's process, which listens on the address in the upstream's file.
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
        let title = program.title();
        Failure::usage(
            format!("looptax sees no {title} that listens at {place}, the address in {title}'s file"),
            "start or reload the program first, or run looptax as root",
        )
    })
}

/// If no server will listen on the port any more, lists lines of the web server's files whose target only the web
/// server knows.
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
        let file = if is_site { String::new() } else { format!("{} ", path.display()) };
        let all = all.unwrap_or_default();
        let lines = all.iter().filter(is_unknown).map(|it| it.checked.line.unwrap_or_default());
        let lines: Vec<String> = lines
            .map(|line| {
                format!(
                    "{file}line {line}: looptax does not know to which server this line passes pages; no server will \
                     listen on the old port any more"
                )
            })
            .collect();
        lines
    };
    front.files.iter().flat_map(of_file).collect()
}

/// Plans connections, lines and files; either both files change, or neither.
fn planned(
    site: Text,
    pool: Text,
    (pair, socket, port): (&Pair, &Path, Option<&Port>),
    found: &Found,
) -> Result<(Plan, SocketAddr), Failure> {
    let is_wanted = |it: &Switchable| match (port, pair.tcp) {
        // Every address of this machine that leads to the port counts.
        (Some(port), _) => port.is_way_of(it),
        (None, Some(tcp)) => it.tcp == Some(tcp),
        (None, None) => it.checked.verdict == SwitchVerdict::AlreadyThere,
    };
    let mut of_site = site.read_as(pair.applications[0], socket)?;
    let mut of_pool = pool.read_as(pair.applications[1], socket)?;
    of_site.retain(is_wanted);
    of_pool.retain(|it| it.checked.label == pair.label);
    if let Some(first) = of_site.first_mut() {
        first.checked.points.extend(found.points.iter().cloned());
    }
    let mut plan = Plan::default();
    let mut files = Vec::new();
    for (text, all) in [(site, of_site), (pool, of_pool)] {
        let mut edits = Edits::default();
        let mut planned = Vec::new();
        for it in all {
            let mut it = Planned::new(it, SwitchFate::ByHand);
            it.decide(found);
            edits.take(&mut it, &text.content, &Followed::default());
            planned.push(it);
        }
        files.push((text, edits.here, lines(&planned)));
        plan.connections.extend(planned);
    }
    if let Some((_, rewrites, lines)) = files.last_mut() {
        rewrites.extend(found.rewrites.iter().cloned());
        lines.extend(found.edits.iter().cloned());
    }
    let is_going = |it: &Planned| it.moves() || it.fate == SwitchFate::IsThere;
    files.retain(|(_, rewrites, _)| !rewrites.is_empty());
    if plan.connections.iter().all(is_going) {
        for (text, rewrites, lines) in files {
            let named = text.named.clone();
            let Some(edited) = text.edited(&rewrites) else {
                plan.edited.clear();
                plan.files.clear();
                plan.leave_to_people();
                break;
            };
            plan.add(edited, &named, lines);
        }
    }
    // If all connections already use the socket, there is no port.
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
    Ok((plan, pair.tcp.unwrap_or(nowhere)))
}

impl Planned {
    /// Decides from the findings about both programs what happens to the connection.
    fn decide(&mut self, found: &Found) {
        let has = |outcome| found.points.iter().any(|it| it.outcome == outcome);
        let moves = self.found.moves.first().is_some_and(Option::is_some);
        let checked = &mut self.found.checked;
        self.fate = match checked.verdict {
            _ if has(Outcome::Fail) => SwitchFate::Blocked,
            _ if has(Outcome::Unknown) => SwitchFate::Open,
            SwitchVerdict::AlreadyThere => SwitchFate::IsThere,
            _ if moves => SwitchFate::Moves,
            _ => SwitchFate::ByHand,
        };
        for change in &mut checked.changes {
            // looptax carries out the remaining advice itself.
            change.advice.clear();
        }
        match self.fate {
            SwitchFate::Moves => {
                self.change_idx = Some(0);
                checked.verdict = SwitchVerdict::WouldWork;
            }
            SwitchFate::Blocked => checked.verdict = SwitchVerdict::WouldNotWork,
            _ => {}
        }
    }
}
