//! Derives from the first look how many pages a slice has, how many slices an epoch has, and how many epochs a trial
//! has; writes the text about this plan.

use std::fmt::Write;
use std::time::Duration;

use crate::plan::minutes;
use looptax_bench::Shape as Slices;
use looptax_model::record::TrialDesign;
use looptax_model::stats::InterimAnalyses;

use crate::trial::arms::GUARD;
use crate::trial::ask::{Ask, Load, Server};
use crate::trial::first_look::FirstLook;

/// Number of pages per client in a slice if there are several clients, so that clients rarely wait for each other.
const PAGES_PER_CLIENT: usize = 4;
/// Intended length of an epoch: long enough that its pauses and its readings of the machine's state cost little.
const EPOCH: Duration = Duration::from_millis(500);
/// Maximum number of octets (eight slices) in an epoch.
const MOST_OCTETS: usize = 8;
/// A trial whose epochs are longer than this is planned like a comparison of whole commands, with at most forty epochs.
const LONG_EPOCH: Duration = Duration::from_millis(1_500);
/// Minimum number of pages in a slice if the application is started again for each slice.
const LEAST_PER_START: usize = 20;
/// Minimum number of pages in a slice if the load is an open loop. In this case the median of each slice is used.
const LEAST_PER_RATE: usize = 10;
/// An estimate for the plan: a start of the application, with its warm-up and its end, takes this many times as long as
/// the measured slice.
const OVERHEAD: u32 = 3;

/// The number of slices in an epoch, and of epochs in a trial.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) pages_per_slice: usize,
    /// The slices of an epoch; their length is an estimate, or zero if only a first run can show it.
    pub(crate) slices: Slices,
    pub(crate) analyses: InterimAnalyses,
    /// The length of an epoch, including its parts that do not count.
    pub(crate) epoch: Duration,
}

pub(crate) fn shape(ask: &Ask, seen: &FirstLook) -> Shape {
    let page_s = seen.page.as_secs_f64().max(1e-6);
    let per_s = ask.rate_per_s.unwrap_or(ask.clients as f64 / page_s);
    let within = |time: Duration| (per_s * time.as_secs_f64()).ceil() as usize;
    if let Load::Command { .. } = ask.load {
        return whole_runs(ask);
    }
    let (pages_per_slice, octets, overhead) = match seen.design {
        TrialDesign::Restart => (within(ask.start).max(LEAST_PER_START), 0, OVERHEAD),
        TrialDesign::Flip => {
            let n = match ask.rate_per_s {
                Some(_) => within(EPOCH / 2).max(LEAST_PER_RATE),
                None if ask.clients > 1 => PAGES_PER_CLIENT * ask.clients,
                None => 1,
            };
            let octet_s = 8.0 * n as f64 / per_s;
            let octets = (EPOCH.as_secs_f64() / octet_s).ceil() as usize;
            (n, octets.clamp(1, MOST_OCTETS), 1)
        }
    };
    let slices = Slices {
        slice: Duration::from_secs_f64(pages_per_slice as f64 / per_s),
        guard: match seen.design {
            TrialDesign::Flip => GUARD,
            TrialDesign::Restart => Duration::ZERO,
        },
        octets,
        ..Slices::whole()
    };
    let epoch = (slices.slice * overhead + slices.guard) * slices.n_slices() as u32;
    let full = if epoch <= LONG_EPOCH { InterimAnalyses::full() } else { InterimAnalyses::quick() };
    let n_contrasts = contrasts(ask, seen).len() as u32;
    Shape { pages_per_slice, slices, analyses: ask.effort.analyses(full, Some(epoch * n_contrasts)), epoch }
}

/// Returns the shape if each slice is a run of a load command; the first run shows how long a run takes.
fn whole_runs(ask: &Ask) -> Shape {
    Shape {
        pages_per_slice: 1,
        slices: Slices::whole(),
        analyses: ask.effort.analyses(InterimAnalyses::quick(), None),
        epoch: Duration::ZERO,
    }
}

/// Returns the contrasts: all servers together and, with `--each` and several used servers, each of them by itself.
pub(crate) fn contrasts(ask: &Ask, seen: &FirstLook) -> Vec<Option<usize>> {
    let is_each = ask.is_each && seen.used.len() > 1;
    let each = seen.used.iter().copied().filter(|_| is_each);
    std::iter::once(None).chain(each.map(Some)).collect()
}

/// Returns the findings of the first look, and the plan that follows from them.
pub(crate) fn plan_text(ask: &Ask, seen: &FirstLook, shape: &Shape) -> String {
    let how = match seen.design {
        TrialDesign::Flip => {
            "one process; looptax moves its new connections in some turns and leaves them on TCP in the others"
        }
        TrialDesign::Restart => "the application is restarted for each turn",
    };
    let n_epochs = shape.analyses.n_max() as u32 * contrasts(ask, seen).len() as u32;
    let length = if shape.epoch.is_zero() {
        format!("at most {} runs of the load", 4 * n_epochs)
    } else {
        let n_pages = n_epochs as usize * shape.slices.n_slices() * shape.pages_per_slice;
        format!("at most {n_pages} pages, about {}", minutes(shape.epoch * n_epochs))
    };
    format!("{}: {how}; {length}{}", seen.why, in_vain(ask, seen))
}

/// Returns a sentence about the options that have no effect.
fn in_vain(ask: &Ask, seen: &FirstLook) -> String {
    let is_unused = |(idx, server): &(usize, &Server)| server.is_given && !seen.used.contains(idx);
    let unused = ask.servers.iter().enumerate().filter(is_unused);
    let unused = unused.flat_map(|(_, server)| &server.from);
    let mut words = String::new();
    for from in unused {
        let _ = write!(words, "; no page connects to {from}, for which a socket was given");
    }
    if ask.is_each && seen.used.len() == 1 {
        words += "; --each found only one server, so there is only one comparison";
    }
    words
}
