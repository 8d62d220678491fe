//! The request for a trial of an application: its command, its load, and the sockets and ports of its servers. Only
//! data.

use std::net::SocketAddr;
use std::time::Duration;

use crate::spec::Effort;
use looptax_model::dsn::Protocol;
use looptax_model::record::TrialDesign;
use looptax_redirect::SocketName;
use looptax_wire::Login;

use crate::trial::pages::Page;

/// All settings of a trial.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The application's command, without passwords.
    pub command: String,
    pub load: Load,
    /// Number of pages requested at the same time.
    pub clients: usize,
    /// The rate of an open loop, in pages per second.
    pub rate_per_s: Option<f64>,
    /// How the arms take turns; `None` if the first look decides.
    pub design: Option<TrialDesign>,
    /// The two arms, `[baseline, other]`.
    pub arms: [Way; 2],
    /// Whether each server is also tried by itself.
    pub is_each: bool,
    pub effort: Effort,
    pub seed: u64,
    /// The address on which the application accepts connections when it is ready.
    pub ready: SocketAddr,
    /// Time limit until the application is ready.
    pub start_limit: Duration,
    pub page_limit: Duration,
    /// The servers to which the application may connect.
    pub servers: Vec<Server>,
    /// A delay in each page of the arm `Side::Other`. The delay shows which differences a trial can detect.
    pub inject: Option<Duration>,
    /// How long the pages are measured after one start of the application.
    pub start: Duration,
}

#[derive(Debug, Clone)]
pub enum Load {
    /// Pages that looptax requests.
    Pages(Vec<Page>),
    /// A command that makes all requests of a slice, and is measured from its start to its end. looptax itself requests
    /// pages only before such slices: in the first look and in warm-ups.
    Command {
        words: Vec<String>,
        shown: String,
        limit: Duration,
        /// Pages with which looptax checks that the application works.
        pages: Vec<Page>,
    },
}

/// The transport of an arm's connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Socket,
    Tcp,
}

/// A local server with its ports and its socket.
#[derive(Debug, Clone)]
pub struct Server {
    /// The name of the server's program: `mariadbd`, `redis-server`, …; if the program is not known, the first address.
    pub kind: String,
    pub from: Vec<SocketAddr>,
    /// The socket to which connections are moved.
    pub to: SocketName,
    /// The server's process, if looptax knows it.
    pub pid: Option<u32>,
    /// Whether the application's command starts the server. If so, the server's CPU time is part of the application's
    /// CPU time.
    pub is_own: bool,
    /// Whether the user has given the server's socket and port.
    pub is_given: bool,
    /// The account with which looptax reads the server's counts, if there is one.
    pub account: Option<Account>,
}

/// An account on a server, to read its counts.
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
    /// Returns the pages, no matter whether looptax or the load command requests them.
    pub(crate) fn pages(&self) -> &[Page] {
        match self {
            Self::Pages(pages) | Self::Command { pages, .. } => pages,
        }
    }
}

impl Ask {
    /// Returns the indexes of a server's routes in the mapping, which lists one server after the other, with one route
    /// per address.
    pub(crate) fn routes_of(&self, server: usize) -> std::ops::Range<usize> {
        let before: usize = self.servers[..server].iter().map(|it| it.from.len()).sum();
        before..before + self.servers[server].from.len()
    }

    /// Returns the mask of routes that moves the connections to each server for which `is_moved` returns true.
    pub(crate) fn mask(&self, is_moved: impl Fn(usize) -> bool) -> u32 {
        let moved = (0..self.servers.len()).filter(|server| is_moved(*server));
        moved.flat_map(|server| self.routes_of(server)).fold(0, |mask, route| mask | 1 << route)
    }
}
