//! Measures one case: starts a server, then runs rounds in which the peer and looptax take turns.

use std::path::Path;

use anyhow::Result;
use looptax_model::dsn::Arm;

use super::case::Case;
use super::looptax::{self, LooptaxRun};
use super::place::{Cores, Role};
use super::server::Server;
use super::tool::{Ask, Effort, Length, Report};
use crate::coin::Coin;
use crate::process::{self, Used};

/// Number of requests in a trial run that measures a peer's rate, for peers whose run length is a number of requests.
const TRIAL_REQUESTS: u64 = 200_000;

pub(crate) struct Manner<'a> {
    pub(crate) looptax: &'a Path,
    pub(crate) cores: &'a Cores,
    pub(crate) n_rounds: u32,
    pub(crate) seconds: u32,
}

pub(crate) struct Measured<'a> {
    pub(crate) case: &'a Case,
    /// Name and version of the peer.
    pub(crate) tool: String,
    /// Name and version of the server.
    pub(crate) server: String,
    pub(crate) rounds: Vec<Round>,
}

/// The results of the peer and of looptax in one round.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    pub(crate) peer: Vec<PeerRun>,
    pub(crate) looptax: LooptaxRun,
    /// Number of requests in looptax's whole run, by the server's own count.
    pub(crate) looptax_counted: Option<u64>,
}

/// The peer's results on one arm.
#[derive(Debug, Clone)]
pub(crate) struct PeerRun {
    pub(crate) report: Report,
    pub(crate) used: Used,
    /// Resources of a run with one request per connection, if the peer can do that: the cost of the peer's start.
    pub(crate) start: Option<Used>,
    /// Number of requests by the server's own count.
    pub(crate) counted: Option<u64>,
}

/// Returns why a case cannot be measured on this machine; `None` if it can.
pub(crate) fn objection(case: &Case, looptax: &Path) -> Option<String> {
    let tool = case.tool;
    if let Err(error) = (tool.version)() {
        let (name, install) = (tool.name, tool.install);
        return Some(format!("`{name}` is missing ({install}): {error:#}"));
    }
    looptax::check(case, looptax).err().map(|error| format!("{error:#}"))
}

/// Starts the server, measures all rounds, stops the server.
///
/// # Errors
/// If something cannot be run; never because of a figure.
pub(crate) fn measure<'a>(case: &'a Case, how: &Manner<'_>, coin: &mut Coin) -> Result<Measured<'a>> {
    let tool = (case.tool.version)()?;
    how.cores.move_to(case.place, Role::Server)?;
    let server = Server::start(case, how.looptax)?;
    how.cores.move_to(case.place, Role::Client)?;
    let words = server.words.clone();
    let mut driver = Driver { case, how, server, rates: vec![None; case.arms().len()] };
    let rounds = driver.rounds(coin);
    driver.server.stop()?;
    Ok(Measured { case, tool, server: words, rounds: rounds? })
}

struct Driver<'a> {
    case: &'a Case,
    how: &'a Manner<'a>,
    server: Server,
    /// The peer's last rate, by arm.
    rates: Vec<Option<f64>>,
}

impl Driver<'_> {
    fn rounds(&mut self, coin: &mut Coin) -> Result<Vec<Round>> {
        let most = self.case.most_rounds.unwrap_or(u32::MAX);
        let n_rounds = self.how.n_rounds.min(most);
        let mut rounds = Vec::new();
        for idx in 1..=n_rounds {
            eprintln!("{}: round {idx} of {n_rounds}", self.case.name);
            rounds.push(self.round(coin)?);
            let pid = self.server.pid();
            self.how.cores.check_server(pid, self.case.place)?;
        }
        Ok(rounds)
    }

    fn round(&mut self, coin: &mut Coin) -> Result<Round> {
        let n_arms = self.case.arms().len();
        let mut peer: Vec<Option<PeerRun>> = vec![None; n_arms];
        let mut looptax = None;
        // The turns of a round: the peer on each arm, and looptax on all arms together.
        let turns = (0..n_arms).map(Some).chain([None]);
        for turn in coin.shuffled(turns) {
            match turn {
                Some(arm_idx) => peer[arm_idx] = Some(self.peer(arm_idx, coin)?),
                None => looptax = Some(self.looptax(coin.number())?),
            }
        }
        let turn = "a round holds every turn";
        let (looptax, looptax_counted) = looptax.expect(turn);
        Ok(Round { peer: peer.into_iter().map(|run| run.expect(turn)).collect(), looptax, looptax_counted })
    }

    fn looptax(&mut self, seed: u64) -> Result<(LooptaxRun, Option<u64>)> {
        let before = self.server.answered(self.case.work)?;
        // looptax measures two arms, each for as long as the peer.
        let seconds = 2 * self.how.seconds;
        let at = &self.server.at;
        let run = looptax::measure(self.case, at, self.how.looptax, seconds, seed)?;
        let after = self.server.answered(self.case.work)?;
        Ok((run, since(before, after)))
    }

    fn peer(&mut self, arm_idx: usize, coin: &mut Coin) -> Result<PeerRun> {
        let start = if self.case.tool.can_count {
            let least = Effort::Requests(u64::from(self.case.connections));
            Some(self.run_peer(arm_idx, least, coin)?.1)
        } else {
            None
        };
        let effort = self.effort(arm_idx, coin)?;
        let before = self.server.answered(self.case.work)?;
        let (report, used) = self.run_peer(arm_idx, effort, coin)?;
        let after = self.server.answered(self.case.work)?;
        self.rates[arm_idx] = Some(report.rate_per_s);
        Ok(PeerRun { report, used, start, counted: since(before, after) })
    }

    fn effort(&self, arm_idx: usize, coin: &mut Coin) -> Result<Effort> {
        let seconds = self.how.seconds;
        if self.case.tool.length == Length::Seconds {
            return Ok(Effort::Seconds(seconds));
        }
        let rate_per_s = if let Some(rate) = self.rates[arm_idx] {
            rate
        } else {
            let trial = Effort::Requests(TRIAL_REQUESTS);
            self.run_peer(arm_idx, trial, coin)?.0.rate_per_s
        };
        Ok(Effort::Requests((rate_per_s * f64::from(seconds)) as u64))
    }

    fn run_peer(&self, arm_idx: usize, effort: Effort, coin: &mut Coin) -> Result<(Report, Used)> {
        let arm = self.case.arms()[arm_idx];
        run_peer(self.case, arm, &self.server, effort, self.how.cores, coin, None)
    }
}

/// Runs the peer; returns its report and the resources that it used.
pub(crate) fn run_peer(
    case: &Case,
    arm: Arm,
    server: &Server,
    effort: Effort,
    cores: &Cores,
    coin: &mut Coin,
    log: Option<&Path>,
) -> Result<(Report, Used)> {
    let ask = Ask {
        at: &server.at,
        work: case.work,
        arm,
        connections: case.connections,
        reconnects: case.reconnects,
        n_cores: cores.n_for_client(case.place),
        effort,
        seed: (coin.number() >> 33) as u32,
        log,
    };
    let ended = process::run((case.tool.command)(&ask)?)?;
    Ok(((case.tool.read)(&ended.stdout, &ask)?, ended.used))
}

fn since(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?)
}
