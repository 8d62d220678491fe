//! The numbers of requests that the servers counted: read before and after each group of pages of the warm-up.
//!
//! The warm-up loads the same pages as the trial, over both arms. The counts are read only during the warm-up, so that
//! reading them does not slow down the measured pages.

use std::time::Duration;

use looptax_bench::path::{Conversation, Endpoint, Limits, ServerWork};
use looptax_model::record::TrialCount;
use looptax_redirect::SocketName;

use crate::trial::ask::{Ask, Server};

/// Time limit for a server's reply.
const PATIENCE: Duration = Duration::from_secs(2);

/// The servers that report counts, each with its counts so far.
pub(crate) struct Counters(Vec<Counter>);

struct Counter {
    server: usize,
    conversation: Conversation,
    begun: Option<ServerWork>,
    name: &'static str,
    n_requests: u64,
    busy_us: Option<f64>,
    n_pages: u64,
}

impl Counters {
    /// Logs in to each server whose account is known; a server that does not reply is left out.
    pub(crate) fn open(ask: &Ask) -> Self {
        let servers = ask.servers.iter().enumerate();
        Self(servers.filter_map(|(idx, server)| open(idx, server)).collect())
    }

    /// Reads the counts before pages are loaded.
    pub(crate) fn begin(&mut self) {
        for counter in &mut self.0 {
            counter.begun = counter.conversation.work().ok().flatten();
        }
    }

    /// Reads the counts after `n_pages` pages were loaded.
    pub(crate) fn end(&mut self, n_pages: u64) {
        for counter in &mut self.0 {
            let now = counter.conversation.work().ok().flatten();
            let (Some(before), Some(now)) = (counter.begun.take(), now) else {
                continue;
            };
            let grown = now.n_requests.saturating_sub(before.n_requests);
            counter.n_requests += grown.saturating_sub(now.n_own);
            counter.busy_us = match (counter.busy_us, before.busy_us, now.busy_us) {
                (sum, Some(before), Some(now)) => Some(sum.unwrap_or(0.0) + (now - before).max(0.0)),
                _ => None,
            };
            counter.n_pages += n_pages;
            counter.name = now.counter;
        }
    }

    /// Returns the counts per page, by server.
    pub(crate) fn per_page(&self) -> Vec<TrialCount> {
        let counted = self.0.iter().filter(|it| it.n_pages > 0);
        let per_page = counted.map(|it| TrialCount {
            server: it.server as u32,
            counter: it.name.to_owned(),
            requests_per_page: it.n_requests as f64 / it.n_pages as f64,
            us_per_page: it.busy_us.map(|us| us / it.n_pages as f64),
        });
        per_page.collect()
    }
}

/// Connects over the socket if the socket has a path, because servers do not require TLS on a socket. The counts are
/// the same over TCP.
fn open(idx: usize, server: &Server) -> Option<Counter> {
    let account = server.account.as_ref()?;
    let endpoint = match &server.to {
        SocketName::Path(path) => Endpoint::unix(path).ok()?,
        SocketName::Abstract(_) => Endpoint::Tcp(*server.from.first()?),
    };
    let limits = Limits { connect: PATIENCE, io: PATIENCE };
    let conversation = Conversation::open(account.protocol, &endpoint, &account.login, limits);
    Some(Counter {
        server: idx,
        conversation: conversation.ok()?,
        begun: None,
        name: "",
        n_requests: 0,
        busy_us: None,
        n_pages: 0,
    })
}
