//! The properties of a random project: its form, its server, its obstacle, and how its application runs.
//!
//! This file contains only data that is drawn from one seed; it does not start anything.

use std::fmt::Write;

use looptax_model::dsn::Kind;
use serde::{Deserialize, Serialize};

use crate::coin::Coin;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Php,
    Python,
    Ruby,
    Node,
    Go,
    Shell,
}

/// The files of a project, with their paths in its folder.
pub(super) type Files = Vec<(&'static str, String)>;

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of a program or its driver")]
pub(super) struct Form {
    pub(super) name: &'static str,
    /// The kinds of servers that the project uses.
    pub(super) kinds: &'static [Kind],
    pub(super) program: Program,
    /// The argument of the program, by which it knows the form.
    pub(super) word: &'static str,
    /// A requirement of the program: an extension or a module of its language.
    pub(super) needs: &'static str,
    /// The file that is passed to looptax.
    pub(super) file: &'static str,
    /// Whether the program makes a new connection for each request.
    pub(super) is_short: bool,
    pub(super) takes_signal: bool,
    /// Whether the program's driver uses a socket for the host `localhost`.
    pub(super) has_localhost_as_socket: bool,
    pub(super) takes_ipv6: bool,
    pub(super) takes_redis_user: bool,
    pub(super) write: fn(&Draw, &mut Coin) -> Files,
}

/// Indexes of the servers of a kind: the first has the usual port and socket, the second has others, the last has no
/// socket.
pub(super) const USUAL: usize = 0;
pub(super) const OTHER: usize = 1;
pub(super) const SOCKETLESS: usize = 2;

/// A database that is in the file in addition to the project's own, and that no account may use.
pub(super) const UNUSED_DATABASE: &str = "shop_development";

/// The obstacle that keeps the application from the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Obstacle {
    None,
    /// The application's user cannot enter the folder of the socket.
    FolderClosed,
    /// The application's user cannot connect to the socket.
    SocketClosed,
    /// The server listens on TCP only.
    NoSocket,
    /// MySQL: the account is only for 127.0.0.1.
    OnlyTcp,
    /// MySQL: the account for `localhost` has another password.
    OtherPassword,
    /// MySQL: the account for `localhost` may not read the table.
    FewerRights,
    /// MySQL: an anonymous account for `localhost` is used before the application's own account.
    Anonymous,
    /// PostgreSQL: the `local` line requires an operating system user with the role's name.
    Peer,
    /// PostgreSQL: no `local` line accepts the role.
    NoLine,
}

/// How often the application connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Mode {
    /// Once, and it keeps the connection.
    Kept,
    /// For each request.
    Short,
}

/// How the command of `--reload` makes the application read its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Reload {
    /// The command ends the application by its process id and starts it again.
    Restart,
    /// The command sends a signal, and the application executes itself again.
    Signal,
}

/// A server that the project uses, and the login for it.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) kind: Kind,
    /// Index of the server among those of its kind.
    pub(super) server: usize,
    /// The host as it is written in the file.
    pub(super) host: String,
    /// The port at which the server listens.
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) password: String,
    /// A name, or the number of a Redis database.
    pub(super) database: String,
    pub(super) obstacle: Obstacle,
}

impl End {
    pub(super) fn is_usual_port(&self) -> bool {
        self.server == USUAL
    }
}

#[derive(Debug, Clone)]
pub(super) struct Draw {
    pub(super) seed: u64,
    pub(super) form: &'static Form,
    pub(super) ends: Vec<End>,
    pub(super) folder: &'static str,
    pub(super) mode: Mode,
    pub(super) reload: Reload,
    /// Options for looptax; `«pid»` is replaced by the application's process id.
    pub(super) options: Vec<&'static str>,
    /// The text by which the server's answer is recognized.
    pub(super) mark: String,
    /// Seed of the random numbers with which the files are written.
    pub(super) coin_seed: u64,
}

/// Returns the port of a server, from its kind and index.
pub(super) type Ports = fn(Kind, usize) -> u16;

const FOLDERS: [&str; 5] = ["shop", "srv/App v2", "My Shop", "www/html", "Straße"];

impl Draw {
    /// Draws the project of this seed, with one of the forms that can run on this machine.
    pub(super) fn of(seed: u64, playable: &[&'static Form], ports: Ports) -> anyhow::Result<Self> {
        let mut coin = Coin::new(Some(seed))?;
        let form = playable[(coin.number() % playable.len() as u64) as usize];
        let ends = form.kinds.iter().map(|kind| end(*kind, form, &mut coin, ports)).collect();
        let mode = if form.is_short || coin.flip() { Mode::Short } else { Mode::Kept };
        let reload = if form.takes_signal && one_in(&mut coin, 3) { Reload::Signal } else { Reload::Restart };
        let options = match coin.number() % 8 {
            0 => vec!["--pid", "«pid»"],
            1 => vec!["--user", "www-data"],
            _ => Vec::new(),
        };
        Ok(Self {
            seed,
            form,
            ends,
            folder: pick(&mut coin, &FOLDERS),
            mode,
            reload,
            options,
            mark: format!("m{:08x}", coin.number() >> 32),
            coin_seed: coin.number(),
        })
    }

    /// Returns the obstacles of all its servers.
    pub(super) fn obstacles(&self) -> Vec<Obstacle> {
        let all = self.ends.iter().map(|it| it.obstacle);
        all.filter(|it| *it != Obstacle::None).collect()
    }

    /// Returns the project's settings as a text, without passwords.
    pub(super) fn words(&self) -> String {
        let mut words = format!("{} in `{}`, {:?}, {:?}", self.form.name, self.folder, self.mode, self.reload);
        for end in &self.ends {
            let server = ["usual", "other", "socketless"][end.server];
            let _ = write!(
                words,
                "; {} ({server}) as {}:{} db {} user `{}`, {:?}",
                end.kind.name(),
                end.host,
                end.port,
                end.database,
                end.user,
                end.obstacle
            );
        }
        if !self.options.is_empty() {
            let _ = write!(words, "; {}", self.options.join(" "));
        }
        words
    }
}

fn end(kind: Kind, form: &Form, coin: &mut Coin, ports: Ports) -> End {
    let obstacle = if coin.number() % 100 < 58 { Obstacle::None } else { pick(coin, obstacles(kind)) };
    let server = match obstacle {
        Obstacle::NoSocket => SOCKETLESS,
        // The usual server looks up names: if 127.0.0.1 has the name localhost, the server also uses the accounts for
        // localhost over TCP, so these obstacles would exist over TCP, too.
        Obstacle::OtherPassword | Obstacle::FewerRights | Obstacle::Anonymous => OTHER,
        _ => pick(coin, &[USUAL, OTHER]),
    };
    let is_localhost_a_socket = form.has_localhost_as_socket && kind == Kind::Mariadb;
    let mut hosts = vec!["127.0.0.1", "127.0.0.1", "127.0.0.1", "db.internal"];
    if !is_localhost_a_socket {
        hosts.extend(["localhost", "localhost"]);
    } else if server == USUAL && obstacle == Obstacle::None && form.kinds.len() == 1 {
        // With this host, the application uses the socket before the switch.
        hosts.push("localhost");
    }
    if form.takes_ipv6 {
        hosts.push("::1");
    }
    let host = pick(coin, &hosts).to_owned();
    let tag = coin.number() >> 40;
    let (user, password, database) = if kind == Kind::Redis {
        let (user, password) = match coin.number() % 6 {
            0 | 1 => (String::new(), String::new()),
            // Redis's own client splits its arguments at spaces.
            5 if form.takes_redis_user => (format!("app{tag:x}"), drawn_password(coin).replace(' ', "")),
            _ => (String::new(), drawn_password(coin).replace(' ', "")),
        };
        (user, password, pick(coin, &["0", "0", "2"]).to_owned())
    } else {
        (
            pick(coin, &["shop", "wp_user", "app-rw", "u"]).to_owned() + &format!("{tag:x}"),
            drawn_password(coin),
            format!("d{tag:x}"),
        )
    };
    End { kind, server, host, port: ports(kind, server), user, password, database, obstacle }
}

fn obstacles(kind: Kind) -> &'static [Obstacle] {
    match kind {
        Kind::Mariadb => &[
            Obstacle::FolderClosed,
            Obstacle::SocketClosed,
            Obstacle::NoSocket,
            Obstacle::OnlyTcp,
            Obstacle::OtherPassword,
            Obstacle::FewerRights,
            Obstacle::Anonymous,
        ],
        Kind::Postgres => {
            &[Obstacle::FolderClosed, Obstacle::SocketClosed, Obstacle::NoSocket, Obstacle::Peer, Obstacle::NoLine]
        }
        _ => &[Obstacle::FolderClosed, Obstacle::SocketClosed, Obstacle::NoSocket],
    }
}

/// Draws a password. Most are plain; some need quotes in a file and escapes in a URL.
fn drawn_password(coin: &mut Coin) -> String {
    let tag = coin.number() >> 36;
    match coin.number() % 6 {
        0 => format!("p@ss/{tag:x}"),
        1 => format!("a#b {tag:x}"),
        2 => format!("x:%{tag:x}=?"),
        _ => format!("pw{tag:x}"),
    }
}

pub(super) fn pick<T: Copy>(coin: &mut Coin, of: &[T]) -> T {
    of[(coin.number() % of.len() as u64) as usize]
}

pub(super) fn one_in(coin: &mut Coin, n: u64) -> bool {
    coin.number().is_multiple_of(n)
}
