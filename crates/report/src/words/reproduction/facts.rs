//! The reasons and findings of a reproduction as sentences.

use looptax_model::record::{Estimate, ReproductionFinding, ReproductionReason};

use super::super::withheld::withheld;
use crate::format::{GLUE, Text, counted};

/// Returns a sentence about why a claim and the measurement may differ.
pub(super) fn reason(reason: &ReproductionReason, text: Text) -> String {
    let sentence = match reason {
        ReproductionReason::Known { words, figures } => {
            figures.iter().fold(words.clone(), |words, figure| filled(&words, figure))
        }
        ReproductionReason::HoldsNoDifference => {
            "too wide: the interval contains both the published figure and no difference at all".to_owned()
        }
        ReproductionReason::HoldsFarEffects => {
            "too wide: the interval contains the published figure, but also effects below half or above twice \
             this figure"
                .to_owned()
        }
        ReproductionReason::NoFigure { na } => format!("no figure: {na}"),
        ReproductionReason::Withheld(it) => {
            format!("`compare` gives no verdict: {}", withheld(it, text))
        }
        ReproductionReason::Warned { warning } => format!("`compare` warns: {warning}"),
        ReproductionReason::Ended { interrupted, n_epochs, planned } => {
            let why = if *interrupted { "interrupted" } else { "ended at the time limit" };
            format!("{why}, after {n_epochs} of {planned} epochs")
        }
        ReproductionReason::PortProxy { program } => format!("the port proxy here is {program}"),
        ReproductionReason::PageVersions { wordpress, php, mariadb } => format!(
            "measured with WordPress {wordpress}, PHP {php} and MariaDB {mariadb}; nothing is pinned, the scheduler \
             places PHP and MariaDB"
        ),
        ReproductionReason::FirstPages { added_pct } => {
            let decides = if holds_zero(added_pct) { ", which decides nothing" } else { "" };
            format!(
                "the first fifteen pages over each transport, as many as in the article, give {}{decides}",
                added(added_pct)
            )
        }
    };
    plain(&sentence, text)
}

/// Returns the sentence about a finding from a part's rows.
pub(super) fn finding(finding: &ReproductionFinding, text: Text) -> String {
    let sentence = match finding {
        ReproductionFinding::MostServed { per_s: [unix, tcp], connections: [at_unix, at_tcp] } => {
            format!(
                "the highest rates: {unix:.0}/s on the socket at {at_unix} connections, {tcp:.0}/s over TCP at \
                {at_tcp}"
            )
        }
        ReproductionFinding::LargestTax { tax_pct, connections } => {
            let (lo, hi) = ends(tax_pct);
            format!(
                "the largest difference: TCP loses {:.1} % [{lo:.1}, {hi:.1}] at {}; the largest of several \
                 differences is in part chance",
                tax_pct.value,
                counted(u64::from(*connections), "connection")
            )
        }
        ReproductionFinding::SampledByTimer => {
            "functions are sampled by a timer: kernel work with interrupts off appears at the place that switches them \
             on again, as in finish_task_switch"
                .to_owned()
        }
        ReproductionFinding::ShareOfPort { what, in_all_us, shares } => {
            let all = text.signed_micros_interval(in_all_us);
            let [tcp, bridge, proxy] =
                shares.map(|it| format!("{} ({:.0} %)", text.signed_micros_interval(&it.us), it.pct));
            format!(
                "{what}: of the {all} that the published port adds, loopback TCP takes {tcp}, the bridge {bridge} and \
                 the port proxy {proxy}"
            )
        }
        ReproductionFinding::Near { published_us, trials } if trials.is_empty() => {
            format!("no attempt comes near {published_us:.0} µs per message over TCP")
        }
        ReproductionFinding::Near { published_us, trials } => format!(
            "within a factor of two of {published_us:.0} µs per message over TCP: {}; this shows a possible cause of \
             such a figure, not the actual cause",
            trials.join("; ")
        ),
        ReproductionFinding::Page { queries, page_us, share_pct, added_pct } => {
            let added = added(added_pct);
            let whole = if holds_zero(added_pct) {
                format!("looptax cannot decide whether the whole page is slower over TCP: {added}")
            } else {
                format!("the whole page takes {added} over TCP")
            };
            format!(
                "a page of {queries} queries takes {:.1} ms over TCP, {share_pct:.1} % of it in queries; {whole}",
                page_us / 1e3
            )
        }
    };
    plain(&sentence, text)
}

fn plain(sentence: &str, text: Text) -> String {
    text.clean(&sentence.replace(GLUE, " "))
}

/// Replaces the name of a figure by its value; a number of connections also gets its noun.
fn filled(words: &str, (name, figure): (&String, &f64)) -> String {
    let shown = match name.as_str() {
        "connections" => counted(*figure as u64, "connection"),
        _ => format!("{figure:.0}"),
    };
    words.replace(&format!("{{{name}}}"), &shown)
}

/// Formats a difference: `+1.2 % [0.3, 2.1]`.
fn added(pct: &Estimate) -> String {
    let (lo, hi) = ends(pct);
    format!("{:+.1} % [{lo:.1}, {hi:.1}]", pct.value)
}

fn holds_zero(it: &Estimate) -> bool {
    let (lo, hi) = ends(it);
    lo <= 0.0 && 0.0 <= hi
}

fn ends(it: &Estimate) -> (f64, f64) {
    (it.lo.unwrap_or(f64::NEG_INFINITY), it.hi.unwrap_or(f64::INFINITY))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use looptax_model::record::PortShare;

    use super::*;

    const TEXT: Text = Text { is_unicode: true };

    fn exact(value: f64) -> Estimate {
        Estimate { value, lo: Some(value - 1.0), hi: Some(value + 1.0), n: 8 }
    }

    #[track_caller]
    fn check(found: &ReproductionFinding, expected: &[&str]) {
        let words = finding(found, TEXT);
        for part in expected {
            assert!(words.contains(part), "{part}: {words}");
        }
    }

    #[test]
    fn findings_name_their_figures() {
        let most = ReproductionFinding::MostServed { per_s: [90.0, 81.0], connections: [2, 2] };
        check(&most, &["90/s on the socket at 2"]);
        let largest = |connections| ReproductionFinding::LargestTax { tax_pct: exact(20.0), connections };
        check(&largest(1), &["20.0 % [19.0, 21.0] at 1 connection;"]);
        check(&largest(16), &["at 16 connections;"]);
        let near = |trials: &[&str]| ReproductionFinding::Near {
            published_us: 1_133.4,
            trials: trials.iter().map(|it| (*it).to_owned()).collect(),
        };
        check(&near(&[]), &["no attempt comes near", "1133 µs"]);
        check(&near(&["two", "three"]), &["over TCP: two; three; "]);
        let page =
            |pct| ReproductionFinding::Page { queries: 54, page_us: 8_000.0, share_pct: 4.0, added_pct: exact(pct) };
        check(&page(0.5), &["8.0 ms", "slower over TCP: +0.5 % [-0.5, 1.5]"]);
        check(&page(2.0), &["takes +2.0 % [1.0, 3.0] over TCP"]);
    }

    #[test]
    fn shares_are_those_of_the_added_time() {
        let share = |us, pct| PortShare { us: exact(us), pct };
        let port = ReproductionFinding::ShareOfPort {
            what: "get".to_owned(),
            in_all_us: exact(20.0),
            shares: [share(2.0, 10.0), share(1.0, 5.0), share(17.0, 85.0)],
        };
        check(
            &port,
            &[
                "get: of the +20.0 µs [19.0, 21.0] that the published port adds",
                "loopback TCP takes +2.0 µs [1.0, 3.0] (10 %)",
                "the bridge +1.0 µs [0.0, 2.0] (5 %)",
                "the port proxy +17.0 µs [16.0, 18.0] (85 %)",
            ],
        );
    }

    #[test]
    fn a_known_reason_has_its_figures_in_place() {
        let known = |connections| ReproductionReason::Known {
            words: "at {connections}, {rate_per_s} per second".to_owned(),
            figures: BTreeMap::from([("connections".to_owned(), connections), ("rate_per_s".to_owned(), 1_234.4)]),
        };
        assert_eq!(reason(&known(1.0), TEXT), "at 1 connection, 1234 per second");
        assert_eq!(reason(&known(4.0), TEXT), "at 4 connections, 1234 per second");
    }
}
