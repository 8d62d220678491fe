//! A random machine: an application, other programs, and the options with which looptax runs.

use std::time::Duration;

use looptax_model::dsn::Kind;
use looptax_testkit::dice::Dice;
use serde::Serialize;

/// The application's log continues for this time after looptax has ended.
pub(super) const AFTER: Duration = Duration::from_millis(1500);

/// User of the application. Every distribution has this user and the next one.
pub(super) const APPLICATION: &str = "www-data";
const STRANGER: &str = "games";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Style {
    /// The actor makes a new connection for each request.
    Short,
    /// The actor keeps one connection.
    Long,
}

/// When an actor reads its file again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Reads {
    Each,
    /// At intervals of a few seconds.
    Late,
    /// At SIGHUP, which the command of `--reload` sends.
    Hup,
    /// At a restart by the command of `--reload`.
    Start,
    Never,
}

/// The result of an actor's connections to the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OverSocket {
    Works,
    /// The actor never connects to it.
    Unable,
    /// The server refuses the login because of a wrong password or name.
    Refused,
    /// The actor connects and closes the connection.
    Drops,
    /// The actor connects, and sends nothing.
    Hangs,
    /// The actor's process ends.
    Dies,
}

/// A program on the machine.
#[derive(Debug, Clone)]
pub(super) struct Actor {
    pub(super) user: &'static str,
    /// Whether the actor uses the application's account.
    pub(super) has_account: bool,
    pub(super) style: Style,
    pub(super) n_workers: u32,
    /// How many of the workers keep the address that they read at their start.
    pub(super) n_staying: u32,
    /// Time between the starts of two workers.
    pub(super) spread: Duration,
    pub(super) every: Duration,
    pub(super) reads: Reads,
    pub(super) late: Duration,
    pub(super) over_socket: OverSocket,
    pub(super) is_over_tcp: bool,
    /// Time between the start of looptax and the start of the actor; `None` if the actor starts before looptax.
    pub(super) after: Option<Duration>,
}

/// The option with which looptax learns which process is the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    No,
    User,
    Pid,
}

#[derive(Debug, Clone)]
pub(super) struct Machine {
    pub(super) kind: Kind,
    pub(super) application: Actor,
    pub(super) others: Vec<Actor>,
    pub(super) is_asked_by_looptax: bool,
    pub(super) named: Named,
    pub(super) within: Duration,
    pub(super) keeps: bool,
}

impl Machine {
    pub(super) fn draw(kind: Kind, seed: u64) -> Self {
        let dice = &mut Dice::new(seed);
        let mut application = application(dice);
        let others = (0..dice.below(3)).map(|_| other(dice)).collect();
        let is_asked_by_looptax = dice.below(5) == 0;
        let named = match dice.below(20) {
            0..8 => Named::No,
            8..15 => Named::User,
            _ if application.after.is_some() => Named::User,
            _ => Named::Pid,
        };
        let keeps = dice.below(6) == 0;
        if dice.below(2) == 0 {
            application.spread = millis(dice, 0, 1500);
        }
        if application.n_workers > 1 && dice.below(3) == 0 {
            application.n_staying = 1;
        }
        Self { kind, application, others, is_asked_by_looptax, named, within: Duration::from_secs(8), keeps }
    }

    /// Returns whether another actor matches everything that looptax knows about the application, and stays on TCP or
    /// is refused.
    pub(super) fn has_alike(&self) -> bool {
        let fails = |it: &Actor| it.is_over_tcp && it.has_account || it.over_socket == OverSocket::Refused;
        self.named != Named::Pid && self.others.iter().any(|it| it.user == APPLICATION && fails(it))
    }

    /// Returns the machine as one line of text.
    pub(super) fn words(&self) -> String {
        let others = self.others.iter().map(|it| format!("; beside it {}", it.words()));
        let mut words = format!("{} application: {}", self.kind.name(), self.application.words());
        words.extend(others);
        if self.is_asked_by_looptax {
            words += "; looptax check";
        }
        match self.named {
            Named::No => {}
            Named::User => words += "; --user",
            Named::Pid => words += "; --pid",
        }
        words + if self.keeps { "; --keep-unproved" } else { "" }
    }
}

impl Actor {
    fn words(&self) -> String {
        let way = if self.is_over_tcp { "tcp" } else { "socket" };
        let when = self.after.map_or_else(String::new, |it| format!(" from {} ms on", it.as_millis()));
        let late = if self.reads == Reads::Late { format!(" by {} ms", self.late.as_millis()) } else { String::new() };
        let staying = if self.n_staying > 0 { format!(" except {}", self.n_staying) } else { String::new() };
        let account = if self.has_account { "" } else { " other account" };
        format!(
            "{} {:?} x{} {} ms apart, every {} ms, reads {:?}{late}{staying}, over the socket {:?}, {way}{account}{when}",
            self.user,
            self.style,
            self.n_workers,
            self.spread.as_millis(),
            self.every.as_millis(),
            self.reads,
            self.over_socket
        )
    }
}

fn millis(dice: &mut Dice, from: u64, to: u64) -> Duration {
    Duration::from_millis(from + dice.below((to - from) as usize) as u64)
}

fn every(dice: &mut Dice) -> Duration {
    Duration::from_millis(dice.one(&[30, 100, 100, 300, 300, 1000]))
}

fn application(dice: &mut Dice) -> Actor {
    use OverSocket::{Dies, Drops, Hangs, Refused, Unable, Works};
    use Reads::{Each, Hup, Late, Never, Start};
    let is_running = dice.below(10) > 0;
    let is_seldom = dice.below(12) == 0;
    let style = dice.one(&[Style::Short, Style::Long]);
    let n_workers = 1 + dice.below(3) as u32;
    let every = if is_seldom { Duration::from_secs(20) } else { every(dice) };
    Actor {
        user: APPLICATION,
        has_account: true,
        style,
        n_workers,
        n_staying: 0,
        spread: every / n_workers,
        every,
        reads: if is_running { dice.one(&[Each, Each, Each, Hup, Hup, Start, Start, Late, Never]) } else { Start },
        late: millis(dice, 1500, 4000),
        over_socket: dice.one(&[
            Works, Works, Works, Works, Works, Works, Works, Unable, Unable, Refused, Refused, Drops, Hangs, Dies,
        ]),
        is_over_tcp: true,
        after: (!is_running).then(|| Duration::from_secs(3600)),
    }
}

fn other(dice: &mut Dice) -> Actor {
    let user = dice.one(&[APPLICATION, STRANGER, STRANGER]);
    let has_account = dice.below(4) > 0;
    let style = dice.one(&[Style::Short, Style::Long]);
    let n_workers = 1 + dice.below(2) as u32;
    let every = every(dice);
    Actor {
        user,
        has_account,
        style,
        n_workers,
        n_staying: 0,
        spread: every / n_workers,
        every,
        reads: Reads::Never,
        late: Duration::ZERO,
        over_socket: dice.one(&[OverSocket::Works, OverSocket::Works, OverSocket::Works, OverSocket::Refused]),
        is_over_tcp: dice.below(10) < 3,
        after: (dice.below(2) == 0).then(|| millis(dice, 200, 4000)),
    }
}
