//! Checks all connections of a file or a process.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;

use looptax_advise::app::{self, Beside, Found, Moves, Unit, Whole};
use looptax_advise::{Fields, Takes};
use looptax_bench::path::WaitOnce;
use looptax_host::discover::Survey;
use looptax_model::dsn::{Address, MASK, Protocol};
use looptax_model::failure::Failure;
use looptax_model::record::{CheckedConnection, SwitchVerdict};

use super::answer::{self, Around};
use super::contained;
use super::offered::{self, Offered};
use super::own_ip;
use super::queue;
use super::shared;
use super::sources::{self, FileText, Looked, Unseen};
use super::taken;
use super::workers::Count;
use crate::diagnose::socket_of::{self, SocketOf};

/// If no setting was found, the error lists the settings of at most this many applications.
const MOST_WANTED: usize = 6;

/// A connection of a file, and the text that `switch` would write for it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a separate fact")]
pub struct Switchable {
    pub checked: CheckedConnection,
    /// The byte range of the connection's first setting in the text.
    pub at: Option<Range<usize>>,
    /// Whether the connection is in fact the address at which a server itself listens.
    pub is_of_the_server: bool,
    /// Whether looptax does not know the connection's application.
    pub is_guessed: bool,
    /// Whether looptax recognises the connection only by the names of its settings, and not by a driver's call.
    pub is_known_by_names: bool,
    /// The titles of the applications that may use a guessed connection.
    pub readers: Vec<String>,
    /// The service of a Compose file to which the connection belongs.
    pub service: Option<String>,
    /// The destination, with its password.
    pub address: Option<Address>,
    /// The destination as a TCP address of this machine; `None` if the host is another machine. If the connection's
    /// socket is known, an address outside this machine also counts, because it may be a container's address.
    pub tcp: Option<SocketAddr>,
    /// The socket that the connection would use; `None` if looptax knows no socket of the connection's server.
    pub socket: Option<String>,
    /// How many connections are opened at the same time, if looptax knows the number.
    pub at_once: Option<Count>,
    /// For each possible application, in the order of `checked.changes`: the text to write in this file, and the new
    /// values of variables; `None` if nothing has to be written.
    pub moves: Vec<Option<Moves>>,
    /// The edit of the server container's unit, if that unit is a separate file.
    pub beside: Option<Beside>,
    /// The environment variables from which the settings come; the variables that set the destination are first.
    pub variables: Vec<String>,
    /// Whether some settings come from a Secret; their values are never shown.
    pub has_secrets: bool,
}

impl Switchable {
    /// Returns a connection whose destination has not been looked up yet.
    fn new(found: &Found, checked: CheckedConnection) -> Self {
        Self {
            checked,
            at: found.at.clone(),
            is_of_the_server: found.is_of_the_server(),
            is_guessed: found.is_guessed,
            is_known_by_names: found.is_known_by_names(),
            readers: found.may_be.clone(),
            service: found.service.clone(),
            address: found.address.clone(),
            tcp: None,
            socket: None,
            at_once: None,
            moves: Vec::new(),
            beside: None,
            variables: sorted(found.variables()),
            has_secrets: found.has_secrets(),
        }
    }

    /// Returns the applications to choose from, if the caller has to pass one; empty if looptax knows no such
    /// application. `None` if the application is clear.
    pub fn may_be(&self, application: Option<&str>) -> Option<Vec<String>> {
        if self.is_guessed {
            return Some(self.readers.clone());
        }
        let mut titles = self.checked.changes.iter().map(|it| it.title.clone());
        let is_named = application.is_some_and(|name| titles.any(|it| it.eq_ignore_ascii_case(name)));
        let is_alike = self.moves.windows(2).all(|pair| pair[0] == pair[1]);
        (!is_named && !is_alike).then(|| self.checked.changes.iter().map(|it| it.title.clone()).collect())
    }
}

/// Whether `switch` writes the connection's lines, and would write the same lines for every possible application.
fn would_write(place: &Looked, found: &Found, socket: &SocketOf) -> bool {
    let Some(address) = found.address.as_ref().filter(|_| !found.is_guessed && !found.is_of_a_proxy()) else {
        return false;
    };
    let moves = found.moves(&socket.fields(address, password(address)), place.whole.text());
    moves.windows(2).all(|pair| pair[0] == pair[1]) && moves.iter().any(Option::is_some)
}

fn password(address: &Address) -> Option<String> {
    address.password.as_ref().map(|it| it.reveal().to_owned())
}

fn tcp_beside_socket(address: &Address) -> Option<SocketAddr> {
    let ip = own_ip(address, true).ok()?;
    Some(SocketAddr::new(ip, address.port))
}

fn tcp_here(address: &Address) -> Option<SocketAddr> {
    let ip = own_ip(address, false).ok()?;
    Some(SocketAddr::new(ip, address.port))
}

/// Returns the destination of a connection to a server whose protocol looptax does not speak.
fn of_unspoken(found: &Found) -> Option<Address> {
    found.unspoken.as_ref().map(|it| Address {
        host: it.host.clone(),
        port: it.port,
        socket: it.socket.clone(),
        ..Address::bare(Protocol::Echo)
    })
}

fn sorted(variables: BTreeMap<String, bool>) -> Vec<String> {
    let mut names: Vec<(String, bool)> = variables.into_iter().collect();
    names.sort_by_key(|(_, says_where)| !says_where);
    names.into_iter().map(|(name, _)| name).collect()
}

/// The connections of a file or a process.
#[derive(Debug)]
pub struct Sources {
    looked: Vec<Looked>,
    /// The servers to which the process is connected over TCP.
    connected: Vec<Address>,
    /// The process's TCP connections whose server process is not visible.
    unseen: Vec<Unseen>,
    /// For a file of containers, the commands that write both sides of a connection.
    offered: Option<Offered>,
}

impl Sources {
    /// Reads the connections of the file, or of the process if no file is given.
    pub fn find(
        app: Option<&Path>,
        pid: Option<u32>,
        application: Option<&str>,
        survey: &Survey,
    ) -> Result<Self, Failure> {
        let looked = match (app, pid.and_then(looptax_host::discover::process)) {
            (Some(path), _) => {
                let mut own = sources::file(path, pid, application)?;
                let beside = if application.is_none() { sources::laravel(path, &mut own) } else { None };
                [own].into_iter().chain(beside).collect()
            }
            (None, Some(found)) => sources::process(&found)?,
            (None, None) => Vec::new(),
        };
        let (connected, unseen) = match (app, pid) {
            (None, Some(pid)) => (sources::connected(pid, survey), sources::connected_to_unseen(pid, survey)),
            _ => Default::default(),
        };
        let offered = app.filter(|_| pid.is_none()).and_then(offered::offered_by);
        Ok(Self { looked, connected, unseen, offered })
    }

    /// Drops the connections that looptax recognises only by the names of their settings, unless the path shows that
    /// the file is a configuration file.
    pub fn without_guesses(&mut self, path: &Path) {
        if !app::is_configuration(&path.to_string_lossy()) {
            let readings = self.looked.iter_mut().map(|it| &mut it.reading.found);
            readings.for_each(|it| it.retain(|found| !found.is_known_by_names()));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.connected.is_empty() && self.looked.iter().all(|it| it.reading.found.is_empty())
    }

    /// Checks each connection. An open connection counts only if no file or environment contains it. Also returns
    /// whether `switch` would write at least one connection.
    pub fn check(&self, around: Around<'_>) -> Result<(Vec<CheckedConnection>, bool), Failure> {
        // Several connections may lead to the same server, and looptax waits only once for a silent server.
        let _remembering = WaitOnce::begin();
        let mut answers = Vec::new();
        let mut known: Vec<&Address> = Vec::new();
        let mut is_written = false;
        for (idx, place) in self.looked.iter().enumerate() {
            for found in &place.reading.found {
                let (mut checked, socket) = answer::found(place, found, around)?;
                is_written |= idx == 0
                    && checked.verdict == SwitchVerdict::WouldWork
                    && socket.is_some_and(|it| would_write(place, found, &it));
                if let Some(command) = self.offered.as_ref().and_then(|it| it.of(found)) {
                    shared::offer(&mut checked, command);
                }
                taken::hide(&mut checked, found);
                taken::locate(&mut checked, place);
                answers.push(checked);
                known.extend(&found.address);
            }
        }
        for address in &self.connected {
            if !known.iter().any(|it| sources::is_same(it, address)) {
                answers.push(answer::connected("its current connections", address, around)?);
            }
        }
        let is_named = |it: &Unseen| known.iter().any(|known| known.port == it.to.port());
        let unseen = self.unseen.iter().filter(|it| !is_named(it));
        answers.extend(unseen.map(Unseen::answer));
        Ok((answers, is_written))
    }

    /// Returns the TCP destinations of the connections in a file's text, each with the connection's index. looptax
    /// looks for the clients of an account at these destinations, so destinations at which no known server listens are
    /// left out. Contacts no server.
    ///
    /// # Errors
    /// If the process's environment cannot be read, or if there is no application with the given name.
    pub fn targets(file: &FileText<'_>, around: Around<'_>) -> Result<Vec<(usize, Address, SocketAddr)>, Failure> {
        let looked = sources::text(file)?;
        let target = |(idx, found): (usize, &Found)| {
            if contained::elsewhere(&looked, found, around.client.pid).is_some() {
                return None;
            }
            let address = { found.address.clone() }
                .filter(|_| found.takes.is_some_and(|it| it != Takes::Unix) && !found.is_of_the_server())?;
            let is_another_kind = around.near.server(&address).is_none() && around.near.listener(&address).is_some();
            let socket = socket_of::find(&address, around.socket, around.near).ok()?;
            let tcp = tcp_beside_socket(&address)?;
            (!socket.is_guess && !is_another_kind).then_some((idx, address, tcp))
        };
        Ok({ looked.reading.found.iter().enumerate() }.filter_map(target).collect())
    }

    /// Checks each connection of a file's text, and returns the text that `switch` would write for it.
    pub fn switchable(file: &FileText<'_>, around: Around<'_>) -> Result<(Vec<Switchable>, Self), Failure> {
        let _remembering = WaitOnce::begin();
        let looked = sources::text(file)?;
        let mut all = Vec::new();
        let connections = &looked.reading.found;
        let shares = match file.server_unit {
            Some(server) => {
                let name = sources::unit_name(file.path);
                app::shares_of_units(Unit { name: &name, text: file.text }, server, connections, &looked.neighbours)
            }
            None if file.by_container => app::shares(&looked.whole, connections, &looked.neighbours),
            None => Vec::new(),
        };
        let offered = if file.pid.is_none() { offered::offered(file) } else { None };
        let mut shares = shares.into_iter();
        for found in &looked.reading.found {
            let (mut checked, socket) = answer::found(&looked, found, around)?;
            let mut moves = Vec::new();
            let (mut socket_file, mut beside) = (None, None);
            let share = shares.next().flatten();
            if let (Some(socket), Some(address)) = (&socket, &found.address) {
                let fields = socket.fields(address, password(address));
                moves = found.moves(&fields, looked.whole.text());
                if moves.iter().all(Option::is_some) {
                    answer::keep_words_of_here(&mut checked.changes, found, &fields);
                }
                socket_file = Some(socket.file.clone());
            } else if let (Some(share), Some(address)) = (&share, &found.address)
                && shared::answer(&mut checked, found, share)
                && let Ok(share) = share
            {
                let fields = share.fields(address, password(address));
                let own = found.moves(&fields, looked.whole.text()).into_iter();
                moves = own.map(|it| share.complete(it?)).collect();
                (socket_file, beside) = (Some(share.file()), share.beside.clone());
            }
            if let Some(command) = offered.as_ref().and_then(|it| it.of(found)) {
                shared::offer(&mut checked, command);
            }
            taken::hide(&mut checked, found);
            let is_elsewhere = contained::elsewhere(&looked, found, around.client.pid).is_some();
            let address = found.address.as_ref();
            all.push(Switchable {
                at_once: address.and_then(|it| queue::at_once(answer::question(it, found, &looked.name, around))),
                tcp: { found.address.as_ref() }.filter(|_| !is_elsewhere).and_then(tcp_beside_socket),
                socket: socket_file,
                moves,
                beside,
                ..Switchable::new(found, checked)
            });
        }
        let sources = Self { looked: vec![looked], connected: Vec::new(), unseen: Vec::new(), offered: None };
        Ok((all, sources))
    }

    /// Returns the connections of a file's text, with the text that `switch` would write for a socket that need not
    /// exist yet. Contacts no server, so the verdict on the connections over TCP is left to the caller.
    ///
    /// # Errors
    /// If the process's environment cannot be read, or if there is no application with the given name.
    pub fn for_socket(file: &FileText<'_>, socket: &Path) -> Result<Vec<Switchable>, Failure> {
        let looked = sources::text(file)?;
        let path = socket.to_string_lossy().into_owned();
        let folder = socket.parent().unwrap_or(socket).to_string_lossy().into_owned();
        let all = looked.reading.found.iter().map(|found| {
            let mut checked = answer::unasked(&looked, found);
            let address = found.address.clone().or_else(|| of_unspoken(found));
            checked.place = address.as_ref().map(answer::place).unwrap_or_default();
            let is_there = found.takes == Some(Takes::Unix);
            let its = address.as_ref().filter(|it| !matches!(it.protocol, Protocol::Http | Protocol::Fastcgi));
            let fields = |password| Fields {
                socket: path.clone(),
                folder: folder.clone(),
                user: its.and_then(|it| it.user.clone()),
                database: its.and_then(|it| it.database.clone()),
                port: its.map_or(0, |it| it.port),
                password,
                ..Fields::default()
            };
            if is_there {
                checked.verdict = SwitchVerdict::AlreadyThere;
            } else {
                let masked = its.and_then(|it| it.password.as_ref()).map(|_| MASK.to_owned());
                checked.changes = found.changes_to_write(&fields(masked));
                checked.changes.iter_mut().for_each(answer::explain_mask);
            }
            let moves = found.moves(&fields(its.and_then(password)), looked.whole.text());
            Switchable {
                tcp: { address.as_ref() }.and_then(tcp_here).filter(|_| !is_there),
                address,
                socket: Some(path.clone()).filter(|_| !is_there),
                moves,
                ..Switchable::new(found, checked)
            }
        });
        Ok(all.collect())
    }

    /// Returns the connections of a file's text, with the text that `switch` would write for the sockets that their
    /// servers may have: see [`answer::by_text`].
    ///
    /// # Errors
    /// If there is no application with the given name.
    pub(crate) fn by_text(file: &FileText<'_>, socket: Option<&Path>) -> Result<(Vec<Switchable>, Self), Failure> {
        let looked = sources::text_alone(file)?;
        // To find the command, looptax has to read the file again, so it does this only for a connection whose server
        // is not on this machine.
        let offers = OnceCell::new();
        let all = looked.reading.found.iter().map(|found| {
            let (mut checked, socket) = answer::by_text(&looked, found, socket);
            if shared::is_elsewhere(&checked)
                && let Some(offers) = offers.get_or_init(|| offered::offered(file))
                && let Some(command) = offers.of(found)
            {
                shared::offer(&mut checked, command);
            }
            let fields =
                socket.as_ref().zip(found.address.as_ref()).map(|(it, address)| it.fields(address, password(address)));
            Switchable {
                moves: fields.map(|it| found.moves(&it, looked.whole.text())).unwrap_or_default(),
                socket: socket.map(|it| it.file),
                ..Switchable::new(found, checked)
            }
        });
        let all = all.collect();
        Ok((all, Self { looked: vec![looked], connected: Vec::new(), unseen: Vec::new(), offered: None }))
    }

    /// Returns the file that was read, with the files from which its containers get variables.
    pub(crate) fn whole(&self) -> Option<&Whole> {
        self.looked.first().map(|it| &it.whole)
    }

    /// Gives each line of a connection the number that the line has in its own file.
    pub(crate) fn locate(&self, checked: &mut CheckedConnection) {
        if let Some(looked) = self.looked.first() {
            taken::locate(checked, looked);
        }
    }

    /// Returns the texts that looptax did not understand, each with its source.
    pub fn unread(&self) -> Vec<String> {
        let of_place = |it: &Looked| {
            let problems = it.reading.problems.iter();
            problems.map(|problem| format!("{}: {problem}", it.name)).collect::<Vec<_>>()
        };
        self.looked.iter().flat_map(of_place).collect()
    }

    /// Returns the error that lists what looptax looked for, if it found no connection.
    pub fn nothing(&self, app: Option<&Path>, n_servers: usize) -> Failure {
        let Some(path) = app else {
            if !self.unseen.is_empty() {
                let unseen: Vec<String> = self.unseen.iter().map(Unseen::words).collect();
                return Failure::usage(
                    format!(
                        "neither the environment nor the working folder of the process contains a server that looptax \
                         knows; the process is connected to {}, and only root can see which process listens there",
                        unseen.join(", ")
                    ),
                    "run looptax as root, or check the address itself: looptax check URL",
                );
            }
            return Failure::usage(
                "neither the environment nor the working folder of the process contains a server that looptax \
                 knows, and the process has no TCP connection to a server that looptax sees",
                format!("looptax sees {n_servers} servers; pass the configuration file: `looptax check FILE`"),
            );
        };
        let readings = || self.looked.iter().map(|it| &it.reading);
        if let Some(line) = readings().flat_map(|it| &it.sqlite).next() {
            let what = format!(
                "`{}`: line {line} is for SQLite, which is a file and not a server: there is nothing to switch",
                path.display()
            );
            return Failure::usage(what, "pass the address of a server: `looptax check URL`");
        }
        let problems = readings().flat_map(|it| &it.problems);
        let problems: Vec<String> = problems.map(ToString::to_string).collect();
        let wanted = readings().flat_map(|it| &it.looked_for);
        let wanted: Vec<&str> = wanted.map(|it| &**it).collect();
        let what = match (&*problems, wanted.is_empty()) {
            ([], true) => "looptax knows no application with a file of that name".to_owned(),
            ([], false) => "the file contains no setting that looptax looked for".to_owned(),
            (problems, _) => problems.join("; "),
        };
        let hint = if wanted.is_empty() {
            "looptax knows wp-config.php, .env, settings.py, config/database.yml, config.php and others; for another \
             name, pass the application with `--as NAME` (nginx, apache, caddy, haproxy, php-fpm, gunicorn, laravel), \
             or the address itself with `looptax check URL`"
                .to_owned()
        } else {
            let n_more = wanted.len().saturating_sub(MOST_WANTED);
            let more = if n_more > 0 { format!("; and {n_more} more") } else { String::new() };
            let first: Vec<&str> = wanted.into_iter().take(MOST_WANTED).collect();
            format!("looked for {}{more}", first.join("; "))
        };
        Failure::usage(format!("`{}`: {what}", path.display()), hint)
    }
}
