//! Describes the load of a comparison: whether requests follow a rate.

use looptax_model::record::Load;

use crate::format::{Text, rate};

/// Returns text for a cell of the table: "40 %, 52.0K/s"; nothing if requests are sent as fast as the server replies.
pub(crate) fn cell(load: &Load, text: Text) -> Option<String> {
    if let Some(think_us) = load.think_us {
        return Some(format!("think {}", text.micros(think_us)));
    }
    if let Some(every) = load.reconnect_every {
        return Some(format!("new every {every}"));
    }
    let per_s = rate(load.rate_per_s?);
    Some(match load.share_pct {
        Some(share) => format!("{share:.0} %, {per_s}"),
        None => per_s,
    })
}

/// Returns text for a sentence: "at 52.0K/s (40 % of what the slower arm can serve, poisson gaps)".
pub(crate) fn clause(load: &Load, text: Text) -> Option<String> {
    if let Some(think_us) = load.think_us {
        let pause = text.micros(think_us);
        return Some(format!("with {pause} between an answer and the next request"));
    }
    if let Some(every) = load.reconnect_every {
        return Some(format!("with a new connection after every {every} requests"));
    }
    let per_s = rate(load.rate_per_s?);
    let gaps = text.clean(load.arrivals.as_deref().unwrap_or("unknown"));
    Some(match load.share_pct {
        Some(share) => {
            format!("at {per_s} ({share:.0} % of what the slower arm can serve, {gaps} gaps)")
        }
        None => format!("at {per_s} ({gaps} gaps)"),
    })
}
