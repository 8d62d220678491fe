//! Connections that are opened again after a number of requests (`--reconnect-every`).

use looptax_bench::path::{Calls, OneShot, PathError, Sending, Session, Workload};
use looptax_bench::{OneShotCalls, OneShotClient};
use looptax_model::failure::Failure;
use looptax_wire::Draws;

/// One client: its current session, and the means to open the next session.
pub(super) struct SessionRequests {
    one_shot: OneShot,
    workload: Workload,
    sending: Sending,
    every: u32,
    n_done: u32,
    session: Option<Session>,
}

impl SessionRequests {
    /// Makes a client that opens its first session with its first request.
    pub(super) fn new(one_shot: OneShot, workload: Workload, sending: Sending, every: u32) -> Self {
        Self { one_shot, workload, sending, every, n_done: 0, session: None }
    }

    /// Returns the current session, and the calls of a session that has just ended. If there is no current session,
    /// opens the next one.
    fn session(&mut self) -> Result<(&mut Session, Calls), PathError> {
        let mut ended = Calls::default();
        if self.n_done == self.every
            && let Some(used) = self.session.take()
        {
            let before = used.calls();
            ended = used.end()?.since(before);
        }
        let session = if let Some(session) = self.session.take() {
            session
        } else {
            self.n_done = 0;
            Session::open(&self.one_shot, &self.workload, self.sending)?
        };
        Ok((self.session.insert(session), ended))
    }
}

impl OneShotClient for SessionRequests {
    fn run(&mut self, draws: &mut dyn Draws) -> Result<OneShotCalls, Failure> {
        let is_new = self.session.is_none() || self.n_done == self.every;
        let (session, ended) = self.session()?;
        let before = if is_new { Calls::default() } else { session.calls() };
        session.request(draws)?;
        let calls = session.calls().since(before);
        self.n_done += 1;
        Ok(OneShotCalls { sends: calls.sends + ended.sends, receives: calls.receives + ended.receives })
    }
}
