//! Makes the kernel count requests by client and server, if looptax has the rights for this. The kernel counts even the
//! shortest connection.

use std::collections::BTreeMap;

use looptax_host::discover::{Process, process};
use looptax_host::eyes::{Counted, Eyes, Reach};

pub(super) struct Counter {
    eyes: Eyes,
    /// Clients as they were before they ended, by the pid and name under which the kernel counts them.
    known: BTreeMap<(u32, String), Client>,
}

/// The requests of one process to one address since the last call of [`Counter::look`].
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) counted: Counted,
    /// The process that sent the requests; its parent, if the process ended before looptax saw it.
    pub(super) client: Option<Process>,
    /// Whether the process uses libpq; `None` if the process ended before looptax saw it.
    pub(super) has_libpq: Option<bool>,
}

#[derive(Debug, Clone)]
struct Client {
    process: Process,
    has_libpq: Option<bool>,
}

/// The maximum number of clients that are remembered; if there are more, all are forgotten.
const MOST_KNOWN: usize = 20_000;

impl Counter {
    /// Starts counting; `None` if looptax may not count in the kernel.
    pub(super) fn open() -> Option<Self> {
        Eyes::open(Reach::Here).ok().map(|eyes| Self { eyes, known: BTreeMap::new() })
    }

    /// Returns the requests since the last call.
    pub(super) fn look(&mut self) -> Vec<Asking> {
        let counted = self.eyes.look().map(|it| it.counted).unwrap_or_default();
        let asking = |counted: Counted| {
            let client = self.client(&counted);
            let has_libpq = client.as_ref().and_then(|it| it.has_libpq);
            Asking { counted, client: client.map(|it| it.process), has_libpq }
        };
        counted.into_iter().map(asking).collect()
    }

    fn client(&mut self, counted: &Counted) -> Option<Client> {
        let end = counted.client.as_ref()?;
        let key = (end.pid, end.comm.clone());
        if end.has_ended {
            let parent = || {
                let parent = process(end.parent)?;
                // The parent of another looptax process did not send these requests itself.
                let is_looptax = end.comm == "looptax";
                let asking =
                    if is_looptax { Process { name: end.comm.clone(), program: None, ..parent } } else { parent };
                Some(Client { process: asking, has_libpq: None })
            };
            return self.known.remove(&key).or_else(parent);
        }
        if let Some(known) = self.known.get(&key) {
            return Some(known.clone());
        }
        let process = process(end.pid)?;
        let now = Client { has_libpq: process.has_library("libpq"), process };
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        self.known.insert(key, now.clone());
        Some(now)
    }
}
