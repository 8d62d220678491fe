//! The times of the application's requests before and after the move. They come from the kernel, if looptax may load
//! its counters.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_host::discover::Survey;
use looptax_host::eyes::{Eyes, Reach};
use looptax_model::analysis::watched_diff;
use looptax_model::failure::Failure;
use looptax_model::record::{SwitchConnection, SwitchFate, Switched, Watched, WatchedChange, WatchedDiff, Way};
use looptax_switch::diagnose::find::watched::Beside;

use super::doing::Doing;
use crate::watching::Watch;

/// Counts requests from the planning of the switch on. If the application sends no request during the planning, looptax
/// does not time its requests.
pub(super) struct Times {
    watch: Watch,
    time: Duration,
}

impl Times {
    /// Starts to count; `None` if the user switched this off, or if looptax may not load its counters.
    pub(super) fn begin(doing: Doing<'_>, survey: &Survey) -> Option<Self> {
        let args = doing.args;
        if args.dry_run || args.patch || args.no_times {
            return None;
        }
        let begun = Eyes::open(Reach::Here).map_err(Failure::new).and_then(|eyes| {
            let mut watch = Watch::new(eyes, survey.clone(), Beside { everything: true, elsewhere: false });
            watch.begin()?;
            Ok(watch)
        });
        match begun {
            Ok(watch) => Some(Self { watch, time: args.times_over }),
            Err(error) => {
                let why = format!("looptax does not time requests before and after the move: {error:#}\n");
                doing.terminal.words(&why);
                None
            }
        }
    }

    /// Times requests before the move; `None` if there were no requests while the switch was planned, or if a signal
    /// ends the count.
    pub(super) fn before(&mut self, doing: Doing<'_>, switched: &Switched, stop: &AtomicBool) -> Option<Watched> {
        let mut moved = switched.connections.iter().filter(|it| it.fate == SwitchFate::Moves);
        // A new container is another client.
        if moved.all(SwitchConnection::is_in_container) {
            return None;
        }
        let planned = self.watch.look().ok()?;
        if !planned.hops.iter().any(|it| it.n_requests > 0 && moves(it.way, &it.address, switched)) {
            return None;
        }
        doing
            .terminal
            .words(&format!("timing requests for {} s before the move and again after it\n", self.time.as_secs()));
        self.watch.look_for(self.time, stop).ok()?
    }

    /// Times the requests of the same clients after the move, and the requests that other programs send to these
    /// clients.
    pub(super) fn after(
        &mut self,
        before: &Watched,
        switched: &Switched,
        stop: &AtomicBool,
    ) -> Result<WatchedDiff, Failure> {
        let Some(after) = self.watch.look_for(self.time, stop)? else {
            return Err(Failure::new("the count ended too early"));
        };
        let mut diff = watched_diff((None, before), (None, &after))?;
        let is_moved =
            |it: &WatchedChange| moves(it.before.way, &it.before.address, switched) && it.after.way == Way::Unix;
        let mut clients: BTreeSet<u32> = BTreeSet::new();
        let mut kept = vec![false; diff.hops.len()];
        // Requests to the application are kept too: the application answers a request only when it has the answers of
        // the moved connections.
        loop {
            let n_before = clients.len();
            for (hop, kept) in diff.hops.iter().zip(&mut kept) {
                let is_asked = hop.server.as_ref().and_then(|it| it.pid).is_some_and(|it| clients.contains(&it));
                if is_asked || is_moved(hop) {
                    *kept = true;
                    clients.extend(hop.client.as_ref().and_then(|it| it.pid));
                }
            }
            if clients.len() == n_before {
                break;
            }
        }
        let mut kept = kept.into_iter();
        diff.hops.retain(|_| kept.next().unwrap_or_default());
        Ok(diff)
    }
}

/// Whether the switch moves connections away from this transport and address.
fn moves(way: Way, address: &str, switched: &Switched) -> bool {
    let port = |address: &str| address.rsplit_once(':').map(|it| it.1.to_owned());
    let moved = switched.connections.iter().filter(|it| it.fate == SwitchFate::Moves);
    let mut ports = moved.map(|it| port(&it.check.place));
    way.is_tcp() && ports.any(|it| it.is_some() && it == port(address))
}
