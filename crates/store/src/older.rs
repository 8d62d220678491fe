//! What records of earlier programs left to be guessed, filled in when they are read.

use looptax_record::{Comparison, Placement, Record, RemedyKind};

/// Says of each comparison of a run that asked what would help which remedy it measured.
pub(crate) fn name_remedies(record: &mut Record) {
    let is_named = record.comparisons.iter().any(|it| it.remedy.is_some());
    if record.remedies.is_empty() || is_named {
        return;
    }
    for idx in 1..record.comparisons.len() {
        let (before, rest) = record.comparisons.split_at_mut(idx);
        let other = &mut rest[0];
        let mut bases = before.iter();
        if let Some(base) = bases.find(|base| base.connections == other.connections) {
            other.remedy = remedy(base, other);
        }
    }
}

/// The one thing that `other` changes.
fn remedy(base: &Comparison, other: &Comparison) -> Option<RemedyKind> {
    let is_pinned = base.placement.asked == Placement::Same;
    let is_reconnected = other.load.reconnect_every > base.load.reconnect_every;
    if other.client != base.client && !is_reconnected {
        return None;
    }
    match other.placement.asked {
        _ if other.workload.pipeline > base.workload.pipeline => Some(RemedyKind::Pipelining),
        _ if is_reconnected => Some(RemedyKind::Persistent),
        Placement::Free if is_pinned => Some(RemedyKind::OneCore),
        Placement::Split if is_pinned => Some(RemedyKind::TwoCores),
        _ => None,
    }
}
