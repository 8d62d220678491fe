//! The cost of a fleet's requests over TCP, and which clients to move first. For each kind of server, the measurements
//! predict the cost on machines that have servers of this kind but did not measure them. If no machine has measured a
//! kind, its cost is unknown.

use std::collections::{BTreeMap, HashMap, HashSet};

use looptax_model::record::{
    FleetHost, FleetList, FleetLost, FleetMove, FleetMover, FleetPair, FleetUnlike, FleetUnmeasured,
};
use looptax_model::stats::meta::{
    self, Candidate, Effect, Host, Posterior, Prior, Spread, benjamini_hochberg, cores_lost, groups, without_each,
};

use super::answers::{Measured, Mover, Payer};
use super::cells::Listed;
use super::saved::{ALPHA, saved};

/// Maximum number of clients that are considered for the first places: those with the largest expected loss. Any other
/// client has practically no chance of being among the first.
const MOST_CANDIDATES: usize = 20_000;
/// False discovery rate: the share of the machines reported as unusual that may be reported by chance.
const FALSE_SHARE: f64 = 0.05;

/// The results of all measurements, by kind of server.
pub(super) struct Kinds<'a> {
    /// For each kind of server, the index of its prior.
    by_name: HashMap<&'a str, usize>,
    priors: Vec<Prior>,
    /// The kinds of server that at least one machine has measured.
    measured: HashSet<&'a str>,
    /// For each machine and kind, the effect that the machine has measured on its own server.
    own: HashMap<(&'a str, &'a str), Effect>,
}

impl<'a> Kinds<'a> {
    pub(super) fn new(measured: &'a [Measured]) -> Self {
        let mut by_kind: BTreeMap<&str, Vec<Effect>> = BTreeMap::new();
        let mut own = HashMap::new();
        for it in measured {
            by_kind.entry(&it.server).or_default().push(it.effect);
            // The first entry is kept: the newest measurement comes first.
            own.entry((it.host_id.as_str(), it.server.as_str())).or_insert(it.effect);
        }
        let effects: Vec<&[Effect]> = by_kind.values().map(Vec::as_slice).collect();
        // If no kind was measured more than once, the only possible prior is the prior of the whole fleet, which is the
        // same for all kinds. In that case no prior is used.
        let found = groups(&effects, Spread::PauleMandel, ALPHA).filter(|it| it.common.freedom > 0.0);
        let prior = |idx| found.as_ref().and_then(|it| it.prior(idx));
        let known = by_kind.keys().enumerate();
        let known = known.filter_map(|(idx, name)| Some((*name, prior(idx)?)));
        let (names, priors): (Vec<_>, Vec<_>) = known.unzip();
        let by_name = { names.into_iter() }.zip(0..).collect();
        let measured = by_kind.keys().copied().collect();
        Self { by_name, priors, measured, own }
    }

    fn prior_idx(&self, server: &str) -> Option<usize> {
        self.by_name.get(server).copied()
    }

    fn own<'p>(&'p self, payer: &'p Payer) -> Option<&'p Effect> {
        self.own_of(&payer.host_id, &payer.server)
    }

    fn own_of<'p>(&'p self, host_id: &'p str, server: &'p str) -> Option<&'p Effect> {
        self.own.get(&(host_id, server))
    }

    /// Returns the cost of TCP for a payer. Combines the measurement of the payer's machine with the prior of the
    /// server's kind. If only one of these two is known, uses only that one.
    fn posterior(&self, payer: &Payer) -> Option<Posterior> {
        self.posterior_of(&payer.host_id, &payer.server)
    }

    /// Does the same as [`Self::posterior`] for any server of a machine.
    fn posterior_of(&self, host_id: &str, server: &str) -> Option<Posterior> {
        let own = self.own_of(host_id, server);
        let idx = self.prior_idx(server);
        match idx.and_then(|idx| self.priors.get(idx)) {
            Some(prior) => Some(prior.posterior(own)),
            None => own.map(Posterior::alone),
        }
    }

    /// Returns the total over the servers of all machines. All clients of one server have the same cost per request.
    fn total<'p>(&self, payers: impl Iterator<Item = &'p Payer>) -> Option<meta::Total> {
        let mut rates: HashMap<(&str, &str), (f64, &Payer)> = HashMap::new();
        for payer in payers {
            let key = (payer.host_id.as_str(), payer.server.as_str());
            rates.entry(key).or_insert((0.0, payer)).0 += payer.requests_per_s;
        }
        let mut rates: Vec<_> = rates.into_iter().collect();
        // Sorted, because a sum of floating-point numbers depends on their order.
        rates.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let hosts = rates.into_iter().filter_map(|(_, (rate, payer))| {
            Some(Host {
                requests_per_s: rate,
                prior_idx: self.prior_idx(&payer.server)?,
                effect: self.own(payer).copied(),
            })
        });
        meta::total(&self.priors, hosts, ALPHA)
    }

    pub(super) fn lost(&self, payers: &[Payer]) -> Option<FleetLost> {
        let total = self.total(payers.iter())?;
        Some(FleetLost {
            cores: saved(&total.cores),
            n_measured: total.n_measured as u64,
            n_predicted: total.n_predicted as u64,
            error_of_measured: total.error_of_measured,
            error_of_predicted: total.error_of_predicted,
            error_of_means: total.error_of_means,
        })
    }

    /// Returns the kinds of server that no machine has measured. The kind with the most requests comes first.
    pub(super) fn not_measured<'p>(&self, payers: impl Iterator<Item = &'p Payer>) -> Vec<FleetUnmeasured> {
        let mut by_kind: BTreeMap<&str, f64> = BTreeMap::new();
        for payer in payers {
            if !self.measured.contains(payer.server.as_str()) {
                *by_kind.entry(&payer.server).or_default() += payer.requests_per_s;
            }
        }
        let kinds = by_kind.into_iter();
        let kinds = kinds.map(|(server, requests_per_s)| FleetUnmeasured { server: server.to_owned(), requests_per_s });
        let mut kinds: Vec<FleetUnmeasured> = kinds.collect();
        kinds.sort_by(|one, other| other.requests_per_s.total_cmp(&one.requests_per_s));
        kinds
    }

    /// Returns pairs of program and kind of server, sorted by loss; the largest loss comes first. If a loss is not
    /// known, each request counts as 1 µs.
    pub(super) fn pairs(&self, payers: &[Payer]) -> Vec<FleetPair> {
        let mut by_pair: BTreeMap<(&str, &str), Vec<&Payer>> = BTreeMap::new();
        for payer in payers {
            let pair = (payer.client.as_str(), payer.server.as_str());
            by_pair.entry(pair).or_default().push(payer);
        }
        let mut pairs: Vec<FleetPair> = by_pair.into_values().filter_map(|payers| self.pair(&payers)).collect();
        let weight = |it: &FleetPair| weight_of(it.cores.as_ref(), it.requests_per_s);
        pairs.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
        pairs
    }

    fn pair(&self, payers: &[&Payer]) -> Option<FleetPair> {
        let first = payers.first()?;
        let mut hosts: HashMap<&str, bool> = HashMap::new();
        for payer in payers {
            *hosts.entry(&payer.host_id).or_default() |= payer.has_socket;
        }
        Some(FleetPair {
            client: first.client.clone(),
            server: first.server.clone(),
            hosts: hosts.len() as u64,
            hosts_with_socket: hosts.values().filter(|has_socket| **has_socket).count() as u64,
            requests_per_s: payers.iter().map(|it| it.requests_per_s).sum(),
            cores: { self.total(payers.iter().copied()) }.map(|it| saved(&it.cores)),
        })
    }

    /// Returns the machines with clients over TCP, the largest loss first.
    pub(super) fn hosts(&self, payers: &[Payer]) -> Vec<FleetHost> {
        let mut by_host: BTreeMap<&str, Vec<&Payer>> = BTreeMap::new();
        for payer in payers {
            by_host.entry(&payer.host_id).or_default().push(payer);
        }
        let mut hosts: Vec<FleetHost> = by_host
            .into_values()
            .filter_map(|payers| {
                let not_measured = self.not_measured(payers.iter().copied()).into_iter();
                Some(FleetHost {
                    host: payers.first()?.host.clone(),
                    pairs: payers.len() as u64,
                    connections: payers.iter().map(|it| it.connections).sum(),
                    requests_per_s: payers.iter().map(|it| it.requests_per_s).sum(),
                    cores: { self.total(payers.iter().copied()) }.map(|it| saved(&it.cores)),
                    not_measured: not_measured.map(|it| it.server).collect(),
                })
            })
            .collect();
        let weight = |it: &FleetHost| weight_of(it.cores.as_ref(), it.requests_per_s);
        hosts.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
        hosts
    }

    /// Returns the pairs that have changed their transport, and how many cores each change saves.
    pub(super) fn movers(&self, movers: &[Mover]) -> Vec<FleetMover> {
        let saves = |it: &Mover| {
            let is_moved = it.direction == "to socket" && it.now == "socket" && it.before == "tcp";
            let rate = it.requests_per_s.filter(|_| is_moved)?;
            cores_lost(rate, &self.posterior_of(&it.host_id, &it.server)?, ALPHA)
        };
        let movers = movers.iter().map(|it| FleetMover {
            host: it.host.clone(),
            client: it.client.clone(),
            server: it.server.clone(),
            before: it.before.clone(),
            now: it.now.clone(),
            direction: it.direction.clone(),
            requests_per_s: it.requests_per_s,
            cores: saves(it).map(|it| saved(&it)),
        });
        movers.collect()
    }

    /// Lists the clients that would gain most by moving. A request whose cost is not known counts as 1 µs.
    pub(super) fn first(&self, payers: &Listed<Payer>, n_top: usize) -> FleetList<FleetMove> {
        let known = payers.rows.iter().map(|payer| (payer, self.posterior(payer)));
        let mut known: Vec<(&Payer, Option<Posterior>)> = known.collect();
        let expected = |(payer, posterior): &(&Payer, Option<Posterior>)| {
            payer.requests_per_s * posterior.map_or(1.0, |it| it.value)
        };
        known.sort_by(|one, other| expected(other).total_cmp(&expected(one)));
        known.truncate(MOST_CANDIDATES);
        let candidates = known.iter().map(|(payer, posterior)| Candidate {
            requests_per_s: payer.requests_per_s,
            value: posterior.map_or(f64::NAN, |it| it.value),
            variance: posterior.map_or(f64::NAN, |it| it.variance()),
        });
        let chances = meta::top_probabilities(&candidates.collect::<Vec<_>>(), n_top);
        let rows = known.iter().zip(chances).take(n_top);
        let rows = rows.map(|((payer, posterior), chance)| FleetMove {
            host: payer.host.clone(),
            client: payer.client.clone(),
            server: payer.server.clone(),
            requests_per_s: payer.requests_per_s,
            connections: payer.connections,
            has_socket: payer.has_socket,
            cores: posterior.and_then(|it| cores_lost(payer.requests_per_s, &it, ALPHA)).map(|it| saved(&it)),
            is_measured: self.own(payer).is_some(),
            top_probability: posterior.map(|_| chance),
        });
        FleetList { rows: rows.collect(), n: payers.rows.len() as u64, has_more_than_n: payers.is_cut }
    }

    /// Returns the machines that measured an unusual value for their kind of server, the most unlikely first.
    pub(super) fn unlike(&self, measured: &[Measured]) -> Vec<FleetUnlike> {
        let mut by_kind: BTreeMap<&str, Vec<&Measured>> = BTreeMap::new();
        for it in measured {
            by_kind.entry(&it.server).or_default().push(it);
        }
        let with_p: Vec<_> = by_kind.iter().flat_map(|(server, measured)| self.with_p(server, measured)).collect();
        let p_values: Vec<f64> = with_p.iter().map(|(_, _, p)| *p).collect();
        let q_values = benjamini_hochberg(&p_values);
        let found = with_p.into_iter().zip(q_values);
        let found = found.filter(|(_, q)| *q < FALSE_SHARE);
        let mut rows: Vec<FleetUnlike> = found
            .map(|((it, usual, _), q)| FleetUnlike {
                host: it.host.clone(),
                server: it.server.clone(),
                cpu_us: saved(&it.cpu_us),
                mean_us: usual.mean,
                q,
            })
            .collect();
        rows.sort_by(|one, other| one.q.total_cmp(&other.q));
        rows
    }

    /// Returns the measurements of a kind of server, each with the usual value for this kind and with its p-value: the
    /// probability that a measurement differs from the usual value by at least as much.
    fn with_p<'m>(&self, server: &str, measured: &[&'m Measured]) -> Vec<(&'m Measured, Prior, f64)> {
        let of_kind = self.prior_idx(server).and_then(|idx| self.priors.get(idx));
        let effects: Vec<Effect> = measured.iter().map(|it| it.effect).collect();
        let usual = without_each(&effects, Spread::PauleMandel);
        let usual = { usual.into_iter() }.map(|others| others.or(of_kind.copied()));
        { measured.iter().zip(usual) }.filter_map(|(it, usual)| Some((*it, usual?, usual?.p_of(&it.effect)?))).collect()
    }
}

/// Returns the value by which lists are sorted: the number of cores lost. If this number is not known, the requests are
/// counted at 1 µs of CPU time each.
fn weight_of(cores: Option<&looptax_model::record::Estimate>, requests_per_s: f64) -> f64 {
    cores.map_or(requests_per_s * 1e-6, |it| it.value)
}
