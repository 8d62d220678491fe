//! Explains why a verdict is withheld, and what would help.

use looptax_model::record::{Parts, Reason, Verdict, Withheld};

use super::row::judged_words;
use crate::format::{Text, counted};

/// Returns the reason why the verdict is withheld.
pub(crate) fn withheld(it: &Withheld, text: Text) -> String {
    match it.verdict {
        Verdict::Invalid => why_invalid(it, text),
        _ => why_open(it, text),
    }
}

fn why_open(it: &Withheld, text: Text) -> String {
    let without = |verdict: &Verdict| judged_words((*verdict, it.direction), &it.arms[1], it.delta_pct, text);
    match &it.reason {
        Reason::TooWide { half_width_pct, lo_pct, hi_pct, n_epochs_needed } => format!(
            "the interval reaches {half_width_pct:.1} points to each side, so a tax of {lo_pct:.1} to {hi_pct:.1} % is \
             possible; {}",
            more_time(it, *n_epochs_needed)
        ),
        // If the run were longer, most of its additional epochs would also be left out.
        Reason::TooFewEpochs { have, need } if u64::from(it.n_left_out) > *have => format!(
            "{} of at least {need}, and {} do not count: these epochs were cut short, or one end of a connection \
             moved to another core in most slices of one arm. With --placement client-pinned, epochs with such moves \
             count",
            counted(*have, "epoch"),
            it.n_left_out
        ),
        Reason::TooFewEpochs { have, need } => {
            format!("{} of at least {need}; {}", counted(*have, "epoch"), more_time(it, *need))
        }
        Reason::PartsDiffer { parts, n_epochs, tax_pct, verdicts, directions, .. } => {
            let part = |idx: usize| {
                let judged = (verdicts[idx], directions[idx]);
                let words = judged_words(judged, &it.arms[1], it.delta_pct, text);
                format!("{:.1} % (\"{words}\")", tax_pct[idx])
            };
            parts_differ(*parts, *n_epochs, [part(0), part(1)])
        }
        Reason::GuardTransient { ratios, verdict } => {
            format!("the verdict would be \"{}\", but {}", without(verdict), uneven_start(it, *ratios, text))
        }
        Reason::ExcludesZero | Reason::InsideDelta | Reason::Invalid { .. } => "the record gives no reason".to_owned(),
    }
}

fn parts_differ(parts: Parts, n_epochs: [u64; 2], [first, rest]: [String; 2]) -> String {
    match parts {
        Parts::Disturbed => format!(
            "other programs or the hypervisor took CPU time in {} of {} epochs, and the tax differed: {first} in \
             these epochs, {rest} in the others. A quieter machine may help",
            n_epochs[0],
            n_epochs[0] + n_epochs[1],
        ),
        Parts::Halves => format!(
            "the effect drifted during the run: a tax of {first} in the first half, {rest} in the second half. A \
             longer run (--precise) may help"
        ),
    }
}

fn uneven_start(it: &Withheld, ratios: [f64; 2], text: Text) -> String {
    format!(
        "after each change between the arms, the two arms start at different rates: in the first 10 ms {} runs at \
         {:.0} % of its later rate, {} at {:.0} %. Longer slices may help",
        text.clean(&it.arms[0]),
        100.0 * ratios[0],
        text.clean(&it.arms[1]),
        100.0 * ratios[1],
    )
}

/// Returns how much time a verdict would need, and other advice.
fn more_time(it: &Withheld, n_counted: u64) -> String {
    let n_epochs = n_counted.saturating_mul(it.n_run_per_counted);
    let seconds = n_epochs as f64 * it.epoch_ms / 1e3;
    let epochs = counted(n_epochs, "epoch");
    let same = if it.same_helps { ", and so may --placement same" } else { "" };
    if seconds > HOPELESS_S {
        return format!(
            "with such a large spread, a verdict needs more than an hour of measuring; a quieter machine may help{same}"
        );
    }
    let time = match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds => format!("{:.0} minutes", seconds / 60.0),
    };
    format!("about {epochs} ({time}) may help (--fixed){same}")
}

/// Maximum time that is suggested for one verdict, in seconds. If the noise of only few epochs is known, the estimated
/// time is often several years.
const HOPELESS_S: f64 = 3600.0;

fn why_invalid(it: &Withheld, text: Text) -> String {
    match &it.reason {
        Reason::Invalid { reasons } if !reasons.is_empty() => {
            let reasons: Vec<String> = reasons.iter().map(|reason| text.clean(reason)).collect();
            reasons.join("; ")
        }
        _ => "the record gives no reason".to_owned(),
    }
}
