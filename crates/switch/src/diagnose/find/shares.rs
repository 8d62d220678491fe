//! Computes the share of each chain in a hop that several chains use, such as a pooler's connections to its server.
//!
//! The requests that a service sends are divided in proportion to the requests that it gets from each chain. Called
//! when the costs of chains are added up.

use looptax_host::discover::{Link, Stack};
use looptax_model::record::{Estimate, Figure, FoundHop};

use super::paths::Path;

/// The maximum number of servers that looptax follows from a shared hop back towards the beginning of a chain.
const MOST_STEPS: u32 = 16;

/// The graph of services, the chains, and the rates of the links.
pub(super) struct Shares<'a> {
    pub(super) stack: &'a Stack,
    pub(super) paths: &'a [Path],
    /// Requests per second over each link; `None` for a link whose requests are not counted.
    pub(super) rates: Vec<Option<f64>>,
}

impl Shares<'_> {
    /// Whether more than one chain contains a link.
    pub(super) fn is_shared(&self, link: usize) -> bool {
        self.paths.iter().filter(|it| it.links.contains(&link)).count() > 1
    }

    /// Returns a chain's share of a link's requests, from 0 to 1; `None` if the share is not known.
    pub(super) fn of(&self, path: &Path, link: usize) -> Option<f64> {
        self.part(path, link, MOST_STEPS)
    }

    fn part(&self, path: &Path, link: usize, n_steps: u32) -> Option<f64> {
        if !self.is_shared(link) {
            return Some(1.0);
        }
        let n_steps = n_steps.checked_sub(1)?;
        let client = self.stack.links[link].client?;
        let own = { self.into(client) }.filter(|(idx, _)| path.links.contains(idx));
        let own: Vec<(usize, &Link)> = own.collect();
        if own.is_empty() {
            return None;
        }
        let mut own_rate = 0.0;
        for (idx, _) in own {
            let rate = self.rates[idx]?;
            // A link without requests adds nothing.
            if rate > 0.0 {
                own_rate += rate * self.part(path, idx, n_steps)?;
            }
        }
        let all: Option<f64> = self.into(client).map(|(idx, _)| self.rates[idx]).sum();
        match all {
            Some(all) => (all > 0.0).then(|| own_rate / all),
            None => (own_rate <= 0.0).then_some(0.0),
        }
    }

    fn into(&self, service: usize) -> impl Iterator<Item = (usize, &Link)> {
        let links = self.stack.links.iter().enumerate();
        links.filter(move |(_, it)| it.server == service)
    }
}

/// Returns the requests per second over a hop; `None` if some of the requests are not counted.
pub(super) fn rate_of(hop: &FoundHop) -> Option<f64> {
    if hop.opened_per_s.is_some() {
        return hop.requests_per_s;
    }
    let is_counted = hop.way.is_tcp() && (hop.n_passing == 0 || hop.closed_per_s.is_some());
    let open = hop.requests_per_s.filter(|_| is_counted)?;
    Some(open + hop.closed_per_s.unwrap_or(0.0))
}

/// Returns a chain's share of a hop's cost; `None` if the hop has no cost, or looptax does not know the share.
pub(super) fn charged(hop: &FoundHop) -> Option<Figure> {
    let cost = hop.cpu_ms_per_s.clone()?;
    if !hop.is_shared {
        return Some(cost);
    }
    let share = hop.share?;
    let Estimate { value, lo, hi, n } = *cost.known()?;
    let end = |end: Option<f64>, open: f64| end.map_or(open, |it| it * share);
    Some(Figure::new(value * share, end(lo, f64::NEG_INFINITY), end(hi, f64::INFINITY), n))
}
