//! A question about an application: its command, its load, the sockets and ports of its servers. Plain data.

use std::net::SocketAddr;
use std::time::Duration;

use crate::spec::Effort;
use looptax_model::dsn::Protocol;
use looptax_model::record::TrialDesign;
use looptax_redirect::SocketName;
use looptax_wire::Login;

use crate::trial::pages::Page;

/// Everything that a trial is made of.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The application's command as it may be shown.
    pub command: String,
    pub load: Load,
    /// Pages that are asked for at a time.
    pub clients: usize,
    /// Pages per second that are due, in an open loop.
    pub rate_per_s: Option<f64>,
    /// How the arms take turns, where somebody decided it.
    pub design: Option<TrialDesign>,
    /// The two arms, `[baseline, other]`.
    pub arms: [Way; 2],
    /// Whether each server is also tried by itself.
    pub is_each: bool,
    pub effort: Effort,
    pub seed: u64,
    /// Where the application answers when it is ready.
    pub ready: SocketAddr,
    /// How long it may take until then.
    pub start_limit: Duration,
    /// How long a page may take.
    pub page_limit: Duration,
    /// The servers that it may be connected to.
    pub servers: Vec<Server>,
    /// Waits so long in each page of the other arm, for proving what a trial can see.
    pub inject: Option<Duration>,
    /// The pages of one start are measured so long.
    pub start: Duration,
}

#[derive(Debug, Clone)]
pub enum Load {
    /// Pages, by looptax.
    Pages(Vec<Page>),
    /// All requests of this command, from its start to its end; the pages are only for the first look.
    Command {
        words: Vec<String>,
        shown: String,
        limit: Duration,
        /// Pages that show whether the application works.
        pages: Vec<Page>,
    },
}

/// The way that an arm's connections take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Socket,
    Tcp,
}

/// A local server with both of its ways.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its program: `mariadbd`, `redis-server`, …; the first address where that is not known.
    pub kind: String,
    pub from: Vec<SocketAddr>,
    /// Where they are moved to.
    pub to: SocketName,
    /// Its process, where known.
    pub pid: Option<u32>,
    /// Whether the application's command starts it: then its CPU time is part of the application's.
    pub is_own: bool,
    /// Whether a person named its socket and its port.
    pub is_given: bool,
    /// Who may ask it what it has counted, where anybody is known.
    pub account: Option<Account>,
}

/// An account of a server, for asking it what it has counted.
#[derive(Debug, Clone)]
pub struct Account {
    pub protocol: Protocol,
    pub login: Login,
}

impl Way {
    pub fn name(self) -> &'static str {
        match self {
            Self::Socket => "unix",
            Self::Tcp => "tcp",
        }
    }
}

impl Load {
    /// The pages, whichever program asks for them.
    pub(crate) fn pages(&self) -> &[Page] {
        match self {
            Self::Pages(pages) | Self::Command { pages, .. } => pages,
        }
    }
}

impl Ask {
    /// The routes of a server in the mapping: servers are there one after the other, an address each.
    pub(crate) fn routes_of(&self, server: usize) -> std::ops::Range<usize> {
        let before: usize = self.servers[..server].iter().map(|it| it.from.len()).sum();
        before..before + self.servers[server].from.len()
    }

    /// The mask that moves the servers for which `is_moved` says so.
    pub(crate) fn mask(&self, is_moved: impl Fn(usize) -> bool) -> u32 {
        let moved = (0..self.servers.len()).filter(|server| is_moved(*server));
        moved.flat_map(|server| self.routes_of(server)).fold(0, |mask, route| mask | 1 << route)
    }
}
