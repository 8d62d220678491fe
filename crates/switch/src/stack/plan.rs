//! What a switch of both files would do: who reads them, which lines, and what speaks against it. Writes nothing.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use looptax_advise::app::{PoolSection, Rewrite, rewritten};
use looptax_diagnose::check::Switchable;
use looptax_discover::{Place, Process};
use looptax_failure::Failure;
use looptax_record::{Edit, Outcome, SwitchVerdict};

use super::fpm;
use super::looking::{Found, Looking};
use super::nginx;
use super::{FRONT, Stack, StackWish, connections};
use crate::file::Original;
use crate::plan::{Fate, Lines, Plan, Planned};
use crate::remark::remarks;
use crate::text::Encoding;
use crate::work::Edited;

/// The name that the table of applications has for the pool's file.
const POOL: &str = "php_fpm_pool";
/// Where packages of PHP-FPM have their sockets.
const USUAL_FOLDER: &str = "/run/php";

/// A file with its text.
struct Text<'a> {
    named: &'a Path,
    original: Original,
    encoding: Encoding,
    content: String,
}

impl<'a> Text<'a> {
    fn read(named: &'a Path) -> Result<Self, Failure> {
        let original = Original::read(named)?;
        let (encoding, content) = Encoding::read(original.bytes());
        Ok(Self {
            named,
            original,
            encoding,
            content,
        })
    }

    /// Its connections, as that application's, with what would be written for a socket.
    fn read_as(&self, application: &str, socket: &Path) -> Result<Vec<Switchable>, Failure> {
        connections(self.original.path(), &self.content, application, socket)
    }

    /// The file with these bytes; `None` where they cannot be written.
    fn edited(self, rewrites: &[Rewrite]) -> Option<Edited> {
        let new = rewritten(&self.content, rewrites)?;
        let new = self.encoding.write(&new)?;
        Some(Edited {
            original: self.original,
            new,
        })
    }
}

/// How the two belong together.
struct Pair {
    /// Where the pages go now; `None` where they go over the socket.
    tcp: Option<SocketAddr>,
    /// The pool's name.
    pool: String,
    /// The socket that it listens on already.
    listens: Option<PathBuf>,
}

/// Looks at both files, and at the programs that read them.
///
/// # Errors
/// That a file cannot be read, is of another program, or is read by none that runs; that the two do not belong together.
pub fn look_at_stack(wish: StackWish<'_>) -> Result<Stack, Failure> {
    let (site, pool) = sides(wish)?;
    let front = nginx::find(site.original.path())?;
    let pair = pair(&site, &pool)?;
    let socket = match (&pair.listens, wish.socket) {
        (Some(own), _) => own.clone(),
        (None, Some(named)) => named.to_owned(),
        (None, None) => PathBuf::from(USUAL_FOLDER).join(format!("{}.sock", pair.pool)),
    };
    if !socket.is_absolute() {
        return Err(Failure::usage(
            format!("`{}` is no whole path", socket.display()),
            "both programs need the socket's path from / on",
        ));
    }
    let master = master(&pair, &socket)?;
    let (worker, pool_moves) = (front.worker.clone(), pair.listens.is_none());
    let found = Looking {
        front: &front,
        master: &master,
        socket: &socket,
        tcp: pair.tcp.filter(|_| pool_moves),
        site: site.original.path(),
        file: pool.named,
        pool: &pair.pool,
    }
    .look(&pool.content)?;
    let (plan, tcp) = planned(site, pool, (&pair, &socket), &found)?;
    Ok(Stack {
        plan,
        front: front.master,
        worker,
        pool: master,
        pool_moves,
        tcp,
        socket,
    })
}

/// Which of the two is nginx's.
fn sides(wish: StackWish<'_>) -> Result<(Text<'_>, Text<'_>), Failure> {
    let [one, other] = [Text::read(wish.files[0])?, Text::read(wish.files[1])?];
    let nowhere = Path::new("/");
    let has = |text: &Text<'_>, application| {
        text.read_as(application, nowhere)
            .is_ok_and(|it| !it.is_empty())
    };
    if has(&one, FRONT) && has(&other, POOL) {
        return Ok((one, other));
    }
    if has(&other, FRONT) && has(&one, POOL) {
        return Ok((other, one));
    }
    let shown = [&one, &other].map(|it| it.named.display().to_string());
    Err(Failure::usage(
        format!(
            "{} and {} are not nginx's file with a fastcgi_pass and the file of PHP-FPM's pool",
            shown[0], shown[1]
        ),
        format!(
            "other pairs are not moved together: looptax check --app {} says the lines for each",
            shown[0]
        ),
    ))
}

/// How the site's connections lead to the pool.
fn pair(site: &Text<'_>, pool: &Text<'_>) -> Result<Pair, Failure> {
    let nowhere = Path::new("/");
    let (of_site, of_pool) = (site.read_as(FRONT, nowhere)?, pool.read_as(POOL, nowhere)?);
    let targets: Vec<SocketAddr> = of_site.iter().filter_map(|it| it.tcp).collect();
    let name = |it: &Switchable| it.checked.label.clone();
    for it in &of_pool {
        let to = { targets.iter() }.find(|to| it.tcp.is_some_and(|own| own.port() == to.port()));
        if let Some(to) = to {
            return Ok(Pair {
                tcp: Some(*to),
                pool: name(it),
                listens: None,
            });
        }
    }
    let on_socket = |it: &Switchable| it.address.as_ref()?.socket.clone();
    let listening = { of_pool.iter() }.find_map(|it| Some((name(it), on_socket(it)?)));
    let is_one = targets.windows(2).all(|pair| pair[0] == pair[1]);
    if let Some((pool, path)) = listening.filter(|_| is_one) {
        let is_there = of_site
            .iter()
            .any(|it| on_socket(it).as_deref() == Some(&*path));
        if is_there || !targets.is_empty() {
            return Ok(Pair {
                tcp: targets.first().copied().filter(|_| !is_there),
                pool,
                listens: Some(path),
            });
        }
    }
    let places = |all: &[Switchable]| {
        let all: Vec<&str> = all.iter().map(|it| &*it.checked.place).collect();
        all.join(", ")
    };
    let (from, to) = (places(&of_site), places(&of_pool));
    Err(Failure::usage(
        format!(
            "{} does not hand its pages to {}: it names {from}, and the pool listens at {to}",
            site.named.display(),
            pool.named.display()
        ),
        "name the file of the pool that the pages go to",
    ))
}

/// The PHP-FPM that listens where the pool's file says.
fn master(pair: &Pair, socket: &Path) -> Result<Process, Failure> {
    let is_there = |place: &Place| match (&pair.listens, place) {
        (Some(_), Place::Path { path, .. }) => path == socket,
        (None, place) => pair.tcp.is_some_and(|to| place.takes(to)),
        _ => false,
    };
    fpm::find(is_there).ok_or_else(|| {
        let place = match (&pair.listens, pair.tcp) {
            (None, Some(tcp)) => tcp.to_string(),
            _ => socket.display().to_string(),
        };
        Failure::usage(
            format!("no PHP-FPM that can be seen listens at {place}, as the pool's file says"),
            "start or reload it first, or run this as root",
        )
    })
}

/// Lines of nginx's whose target only nginx knows, where the port is given up.
fn unknown_targets(all: &[Switchable], pair: &Pair) -> Vec<String> {
    let is_given_up = pair.tcp.is_some() && pair.listens.is_none();
    let unknown = |it: &&Switchable| {
        is_given_up && it.tcp.is_none() && it.checked.verdict == SwitchVerdict::Open
    };
    let line = |it: &Switchable| {
        let line = it.checked.line.unwrap_or_default();
        format!(
            "line {line}: where its pages go is not known; at the old port nobody will be any more"
        )
    };
    all.iter().filter(unknown).map(line).collect()
}

/// Connections, lines and files.
fn planned(
    site: Text<'_>,
    pool: Text<'_>,
    (pair, socket): (&Pair, &Path),
    found: &Found,
) -> Result<(Plan, SocketAddr), Failure> {
    let is_wanted = |it: &Switchable| match pair.tcp {
        Some(tcp) => it.tcp == Some(tcp),
        None => it.checked.verdict == SwitchVerdict::AlreadyThere,
    };
    let mut of_site = site.read_as(FRONT, socket)?;
    let mut of_pool = pool.read_as(POOL, socket)?;
    let unread = unknown_targets(&of_site, pair);
    of_site.retain(is_wanted);
    of_pool.retain(|it| it.checked.label == pair.pool);
    let site_lines = Changes::collect(&of_site, found);
    let mut pool_lines = Changes::collect(&of_pool, found);
    let section = PoolSection::find(&pool.content, &pair.pool);
    if let Some((own, edits)) = section.and_then(|it| it.written(&found.wanted)) {
        pool_lines.rewrites.extend(own);
        pool_lines.edits.extend(edits);
    }
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
        unread,
        edited: Vec::new(),
        remarks: Vec::new(),
        elsewhere: Vec::new(),
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
        let (named, path) = (text.named.to_owned(), text.original.path().to_owned());
        let Some(edited) = text.edited(&changes.rewrites) else {
            plan.edited.clear();
            plan.elsewhere.clear();
            plan.leave_to_people();
            return;
        };
        plan.elsewhere.push(Lines {
            path,
            lines: changes.edits,
            remarks: remarks(&named, &edited.original),
        });
        plan.edited.push(edited);
    }
}
