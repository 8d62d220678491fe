//! The properties of a drawn project: its form, its server, its obstacle, and how its application runs.
//!
//! Plain data from one seed; nothing is started here.

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

/// Files of a project, by their path in its folder.
pub(super) type Files = Vec<(&'static str, String)>;

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of a program or its driver")]
pub(super) struct Form {
    pub(super) name: &'static str,
    /// The servers that it uses.
    pub(super) kinds: &'static [Kind],
    pub(super) program: Program,
    /// The argument of the program.
    pub(super) word: &'static str,
    /// A requirement in the program's language: an extension, a module.
    pub(super) needs: &'static str,
    /// The file that looptax is given.
    pub(super) file: &'static str,
    /// Whether it connects for each question only.
    pub(super) is_short: bool,
    pub(super) takes_signal: bool,
    /// Whether its driver takes `localhost` for a socket.
    pub(super) has_localhost_as_socket: bool,
    pub(super) takes_ipv6: bool,
    pub(super) takes_redis_user: bool,
    pub(super) write: fn(&Draw, &mut Coin) -> Files,
}

/// Names of the servers of a kind: the first has the usual port and socket, the last has no socket.
pub(super) const USUAL: usize = 0;
pub(super) const OTHER: usize = 1;
pub(super) const SOCKETLESS: usize = 2;

/// A database that a file names beside the project's own, and that no account may use.
pub(super) const UNUSED_DATABASE: &str = "shop_development";

/// The obstacle that keeps the application from the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Obstacle {
    None,
    /// The folder of the socket is closed to the application's user.
    FolderClosed,
    /// The socket itself is.
    SocketClosed,
    /// The server listens on TCP only.
    NoSocket,
    /// MySQL: the account is of 127.0.0.1 only.
    OnlyTcp,
    /// MySQL: the account of `localhost` has another password.
    OtherPassword,
    /// MySQL: the account of `localhost` may not read the table.
    FewerRights,
    /// MySQL: an anonymous account of `localhost` comes before the application's own.
    Anonymous,
    /// PostgreSQL: `local` asks for an operating system's user of the role's name.
    Peer,
    /// PostgreSQL: no `local` line lets the role in.
    NoLine,
}

/// How often the application connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Mode {
    /// Once.
    Kept,
    /// For each question.
    Short,
}

/// How `--reload` has the application read its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Reload {
    /// It is ended by its process id and started again.
    Restart,
    /// A signal, upon which it executes itself again.
    Signal,
}

/// A server that the project uses, and how it logs in.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) kind: Kind,
    /// Which of that kind.
    pub(super) server: usize,
    /// As it is written.
    pub(super) host: String,
    /// Where the server listens.
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) password: String,
    /// A name, or Redis' number.
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
    /// Options of looptax, with `«pid»` for the application's.
    pub(super) options: Vec<&'static str>,
    /// The server's answer by which it is recognized.
    pub(super) mark: String,
    /// Random numbers for the texts.
    pub(super) coin_seed: u64,
}

/// The ports of a kind's servers.
pub(super) type Ports = fn(Kind, usize) -> u16;

const FOLDERS: [&str; 5] = ["shop", "srv/App v2", "My Shop", "www/html", "Straße"];

impl Draw {
    /// The project of this seed, of one of the forms that can be played here.
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

    /// Whether something keeps it from one of its sockets.
    pub(super) fn obstacles(&self) -> Vec<Obstacle> {
        let all = self.ends.iter().map(|it| it.obstacle);
        all.filter(|it| *it != Obstacle::None).collect()
    }

    /// Its settings, for a person; without passwords.
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
        // Where 127.0.0.1 is called localhost its account is the socket's, too.
        Obstacle::OtherPassword | Obstacle::FewerRights | Obstacle::Anonymous => OTHER,
        _ => pick(coin, &[USUAL, OTHER]),
    };
    let is_localhost_a_socket = form.has_localhost_as_socket && kind == Kind::Mariadb;
    let mut hosts = vec!["127.0.0.1", "127.0.0.1", "127.0.0.1", "db.internal"];
    if !is_localhost_a_socket {
        hosts.extend(["localhost", "localhost"]);
    } else if server == USUAL && obstacle == Obstacle::None && form.kinds.len() == 1 {
        // It is there before.
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
            // Redis' own client takes its words apart at spaces.
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

/// Mostly plain; some need quotes in a file and escapes in a URL.
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
