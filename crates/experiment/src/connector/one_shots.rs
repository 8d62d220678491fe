//! Requests that open and close their own connections. Once per epoch, connections of the same kind are proved; then
//! the load engine repeats the requests.

use std::sync::Arc;

use looptax_bench::path::{Admitted, OneShot, PathError};
use looptax_bench::{ConnectError, OneShotCalls, OneShotClient, OneShotClients};
use looptax_model::dsn::Arm;
use looptax_model::failure::Failure;
use looptax_model::stats::Side;
use looptax_wire::{Draws, Login, Salted};

use super::sessions::SessionRequests;
use super::{Draw, Met, TargetConnector};

/// A client of the load engine that opens a connection for each request.
struct OneShotRequests(OneShot);

impl OneShotClient for OneShotRequests {
    fn run(&mut self, _draws: &mut dyn Draws) -> Result<OneShotCalls, Failure> {
        let calls = self.0.run()?;
        Ok(OneShotCalls { sends: calls.sends, receives: calls.receives })
    }
}

impl TargetConnector<'_> {
    /// Opens an epoch's one-shot clients, `n` on each side; `None` if requests share connections.
    pub(super) fn open_one_shots(
        &mut self,
        contrast_idx: usize,
        draw: Draw,
        n: usize,
    ) -> Result<Option<OneShotClients>, ConnectError> {
        if !self.target.opens_within_requests() {
            return Ok(None);
        }
        // Checks the one-shot connections so far; only the supervisor's counts can show whether they were moved.
        self.target.arms.check_moved()?;
        let Met { conversations, views } = self.meet(contrast_idx, draw, 1)?;
        for (side, (conversations, view)) in Side::BOTH.into_iter().zip(conversations.iter().zip(&views)) {
            let relayed = self.relayed(contrast_idx, side);
            for conversation in conversations {
                self.prove(contrast_idx, side, conversation, view, relayed.as_ref())?;
            }
        }
        let [baseline, other] = self.pairs[contrast_idx];
        let admitted = conversations.each_ref().map(|side| side[0].admitted());
        Ok(Some(OneShotClients {
            sides: [self.clients_of_arm(baseline, admitted[0], n)?, self.clients_of_arm(other, admitted[1], n)?],
            server_pid: self.target.pid(),
            standing_pids: self.target.standing_pids(),
            may_pin: self.target.is_private(),
        }))
    }

    fn clients_of_arm(&self, arm: Arm, admitted: Admitted, n: usize) -> Result<Vec<Box<dyn OneShotClient>>, PathError> {
        let one_shot = OneShot {
            arm,
            protocol: self.target.protocol,
            endpoint: self.target.arms.seen_from_there(arm, self.target.endpoint(arm)?),
            // A client that opens a connection for each request does not reuse anything from the previous login.
            login: Login { salted: Salted::default(), ..self.target.login_of(arm).into_owned() },
            admitted,
            limits: self.limits,
            tls: self.target.arms.tls(arm).cloned(),
            n_begun: { self.target.arms.redirect(arm) }.map_or_else(Arc::default, |it| it.n_begun()),
        };
        let client = || -> Box<dyn OneShotClient> {
            let one_shot = one_shot.clone();
            match self.target.reconnect_every {
                None => Box::new(OneShotRequests(one_shot)),
                Some(every) => {
                    Box::new(SessionRequests::new(one_shot, self.target.workload.clone(), self.target.sending, every))
                }
            }
        };
        Ok(std::iter::repeat_with(client).take(n).collect())
    }
}
