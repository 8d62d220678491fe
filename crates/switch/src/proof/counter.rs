//! The kernel's count of requests by client and server, if looptax may count in the kernel: it sees even the shortest
//! connection.

use std::collections::BTreeMap;

use looptax_host::discover::{Process, process};
use looptax_host::eyes::{Counted, Eyes, Reach};

pub(super) struct Counter {
    eyes: Eyes,
    /// Clients as they were before they ended, each with the kernel's name for it.
    known: BTreeMap<(u32, String), Client>,
}

/// The requests of one process at one address since the last look.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) counted: Counted,
    /// The process that sent the requests; its parent, if it had ended before looptax saw it.
    pub(super) client: Option<Process>,
    /// Whether it uses libpq; `None` if it had ended before looptax saw it.
    pub(super) has_libpq: Option<bool>,
}

#[derive(Debug, Clone)]
struct Client {
    process: Process,
    has_libpq: Option<bool>,
}

/// When there are more clients than this, looptax forgets them.
const MOST_KNOWN: usize = 20_000;

impl Counter {
    /// `None` if looptax may not count in the kernel.
    pub(super) fn open() -> Option<Self> {
        Eyes::open(Reach::Here).ok().map(|eyes| Self { eyes, known: BTreeMap::new() })
    }

    /// Returns the requests since the last look.
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
                // A process that started another looptax did not send these requests itself.
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
