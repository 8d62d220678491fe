//! Checks whether the queue of the server's socket, at its present length, is long enough for all workers of the
//! client.
//!
//! The socket is identified by its file, so the check also works for a server in a chroot or a container. Called for
//! each connection that is checked.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use looptax_advise::check::{self, Burst};
use looptax_advise::serving::ServerFile;
use looptax_advise::{Connects, connects_to};
use looptax_host::discover::{Endpoint, Place, Process, Server, process, somaxconn};
use looptax_host::read;
use looptax_model::dsn::Kind;
use looptax_model::record::{Outcome, Point, PointCode};

use super::client::Client;
use super::own_file::own_file;
use super::question::Question;
use super::workers::{self, Count};
use crate::diagnose::socket_of::SocketOf;

/// How to recognise a client's language: the start of a program's name, the ending of a file's name, and the language's
/// name in the table of clients.
const LANGUAGES: [(&str, &str, &str); 6] = [
    ("php", ".php", "php"),
    ("node", ".js", "node"),
    ("java", ".properties", "java"),
    ("python", ".py", "python"),
    ("gunicorn", ".py", "python"),
    ("nginx", ".conf", "nginx"),
];

/// How looptax knows the queue length of a socket that does not exist yet.
pub(crate) const AT_PORT: &str =
    "asked the kernel for the queue length at the server's port; the socket's queue will have the same length";

/// Returns the point about the queue; `None` if no server that looptax knows listens on the socket.
pub(super) fn point(server: Option<&Server>, socket: &SocketOf, question: Question<'_>) -> Option<Point> {
    let (server, endpoint) = listening(server, socket, question)?;
    let counts = counts(Some(server), question);
    let most = counts.iter().max_by_key(|it| it.n);
    let word = language(question.client, question.source);
    let burst = Burst {
        backlog: endpoint.queue.backlog,
        n_connections: most.map(|it| it.n),
        from: most.map_or("", |it| &it.words),
        somaxconn: somaxconn(&server.process),
        clients: &connects_to(server.kind.name(), word),
    };
    let others: Vec<String> = counts.iter().map(|it| format!("{} ({})", it.n, it.words)).collect();
    let counted = if others.is_empty() { "nothing".to_owned() } else { others.join(", ") };
    let how = format!("asked the kernel for the queue length of {}; counted: {counted}", socket.file);
    let mut point = check::backlog(burst, server.kind.facts().how_to_raise_the_backlog, &how);
    if matches!(point.code, PointCode::BacklogShort | PointCode::BacklogWaits)
        && let Some(next) = &mut point.next
    {
        *next += &in_its_file(server, question);
    }
    Some(point)
}

/// Returns the end of the advice for a short queue: the path of the server's own file, and the command that writes the
/// setting. Empty if looptax does not know the file.
fn in_its_file(server: &Server, question: Question<'_>) -> String {
    let port = question.address.port;
    let is_there = |it: &Endpoint| matches!(it.place, Place::Tcp(at) if at.port() == port);
    let tcp = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let is_asked = question.no_login.is_none() && server.endpoints.iter().any(is_there);
    let Some((file, path)) = own_file(server, is_asked.then_some((question.address, tcp))) else {
        return String::new();
    };
    let path = path.display();
    match question.source.filter(|_| file.has_backlog()) {
        Some(source) => {
            format!(
                "; the server's own file is {path}, and `looptax switch {source} {path} --restart` also writes \
                this setting"
            )
        }
        None => format!("; the server's own file is {path}"),
    }
}

/// Returns the point for a socket that the client already uses: a queue that is too short is then only noted, and not
/// counted as a reason to stay on TCP.
pub(super) fn of_socket_in_use(socket: &SocketOf, question: Question<'_>) -> Option<Point> {
    let mut point = point(None, socket, question)?;
    if point.outcome == Outcome::Fail {
        point.outcome = Outcome::Note;
    }
    Some(point)
}

/// Returns the server that listens on the socket, by the file to which the socket is bound, else by its path.
fn listening<'a>(
    server: Option<&'a Server>,
    socket: &SocketOf,
    question: Question<'a>,
) -> Option<(&'a Server, &'a Endpoint)> {
    let path = Path::new(&socket.file);
    let view = question.client.pid.and_then(|pid| process(pid)?.view().ok());
    let file = view.map_or_else(|| read::look(path), |it| it.look(path)).ok().flatten();
    let all =
        || server.into_iter().chain(question.near.servers).flat_map(|it| it.endpoints.iter().map(move |own| (it, own)));
    let by_file = file.and_then(|file| all().find(|(_, own)| own.is_bound_to(&file)));
    by_file.or_else(|| {
        all().find(|(of, own)| {
            let is_own = server.is_some_and(|it| it.process.pid == of.process.pid);
            is_own && matches!(&own.place, Place::Path { path: own, .. } if own == path)
        })
    })
}

/// Returns how many connections are opened at the same time; `None` if looptax has no count.
pub(super) fn at_once(question: Question<'_>) -> Option<Count> {
    counts(question.near.server(question.address), question).into_iter().max_by_key(|it| it.n)
}

/// A socket that lines in a server's own file will create.
#[derive(Clone, Copy)]
pub(crate) struct ToBeMade<'a> {
    pub(crate) server: &'a Server,
    /// The address at which the server listens at present.
    pub(crate) tcp: SocketAddr,
    pub(crate) file: &'a ServerFile,
    pub(crate) text: &'a str,
    pub(crate) client: &'a Client,
    /// The application's file.
    pub(crate) source: &'a str,
}

impl ToBeMade<'_> {
    /// Returns the point about the queue, and the queue length to write for this many connections. Reads the present
    /// length from the server's file, or else takes the length of the queue at the server's port. If the present length
    /// is not known, both results are `None`. The length to write is also `None` if the length need not change.
    pub(crate) fn queue(&self, counted: Option<&Count>) -> (Option<Point>, Option<u32>) {
        let Self { server, file, .. } = *self;
        let of_file = file.backlog(self.text).map(|it| (it, "read the server's file"));
        let at_port = || {
            let is_there = |it: &&Endpoint| matches!(it.place, Place::Tcp(at) if self.is_at(at));
            let endpoint = server.endpoints.iter().find(|it| file.has_one_backlog() && is_there(it))?;
            Some((endpoint.queue.backlog, AT_PORT))
        };
        let Some((now, how)) = of_file.or_else(at_port) else { return (None, None) };
        let clients = connects_to(server.kind.name(), language(self.client, Some(self.source)));
        let length = Length {
            now,
            how,
            is_written: file.has_backlog(),
            process: &server.process,
            kind: server.kind,
            clients: &clients,
        };
        let (point, larger) = length.for_burst(counted);
        (Some(point), larger)
    }

    fn is_at(&self, place: SocketAddr) -> bool {
        place.port() == self.tcp.port() && (place.ip() == self.tcp.ip() || place.ip().is_unspecified())
    }
}

/// The queue length of a socket that a server's file creates.
#[derive(Clone, Copy)]
pub(crate) struct Length<'a> {
    /// The present queue length: the argument of listen(2).
    pub(crate) now: u32,
    /// How looptax knows this length.
    pub(crate) how: &'a str,
    /// Whether looptax writes a longer queue into the file if this queue is too short.
    pub(crate) is_written: bool,
    pub(crate) process: &'a Process,
    pub(crate) kind: Kind,
    /// The clients that may be connecting, if looptax knows how they connect.
    pub(crate) clients: &'a [&'static Connects],
}

impl Length<'_> {
    /// Returns the point about the queue, and the queue length to write for this many connections if it has to change.
    pub(crate) fn for_burst(&self, counted: Option<&Count>) -> (Point, Option<u32>) {
        let Self { now, how, clients, .. } = *self;
        let most = somaxconn(self.process);
        let n = counted.map(|it| it.n);
        let larger = n.filter(|it| *it > now.saturating_add(1) && self.is_written);
        let backlog = larger.unwrap_or(now);
        let burst = Burst {
            backlog: most.map_or(backlog, |most| backlog.min(most)),
            n_connections: n,
            from: counted.map_or("", |it| &it.words),
            somaxconn: most,
            clients,
        };
        let how = match larger {
            Some(n) => format!("{how}: {now} becomes {n}"),
            None => format!("{how}: {now}"),
        };
        (check::backlog(burst, self.kind.facts().how_to_raise_the_backlog, &how), larger)
    }
}

/// Returns the counts of connections. If the caller passed a number, returns only that number. Otherwise returns the
/// counts from running processes, from files, and from connections that are open at present.
fn counts(server: Option<&Server>, question: Question<'_>) -> Vec<Count> {
    if let Some(n) = question.n_connections {
        return vec![Count::typed(n)];
    }
    let Question { client, pool, near, .. } = question;
    let of_workers = match client.pid.or(client.worker) {
        Some(pid) => workers::count(pid, pool),
        None => pool.map(workers::of_pool),
    };
    let n_open = server.map_or(0, |it| u32::try_from(near.n_open(it)).unwrap_or(u32::MAX));
    let words = "connections that are open to the server now".to_owned();
    let open = Some(Count { n: n_open, words }).filter(|it| it.n > 0);
    of_workers.into_iter().chain(open).collect()
}

/// Returns the language in which the client is written, according to the name of its program or file.
fn language(client: &Client, source: Option<&str>) -> Option<&'static str> {
    let program = client.pid.or(client.worker).and_then(process).map(|it| it.program_name());
    let of_program = program.and_then(|name| LANGUAGES.iter().find(|it| name.starts_with(it.0)));
    let of_file = || source.and_then(|name| LANGUAGES.iter().find(|it| name.ends_with(it.1)));
    of_program.or_else(of_file).map(|it| it.2)
}
