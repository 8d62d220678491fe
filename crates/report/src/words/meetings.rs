//! On which cores a server's real clients were seen to run, and what this means for the measured placements.

use looptax_model::record::{Comparison, Meetings, Placement, Tax, mixed};

use super::group::Group;
use crate::format::Text;

/// From this share of readings on, the text says that nearly all requests have the same placement.
const NEARLY_ALL: f64 = 0.9;

/// Returns a sentence for each number of connections at which both placements were measured; if there is no such
/// number, a single sentence.
pub(crate) fn sentences(group: &Group, text: Text) -> Vec<String> {
    let Some(seen) = &group.target.meetings else { return unseen(group).into_iter().collect() };
    let share = f64::from(seen.n_same) / f64::from(seen.n_looks.max(1));
    let of = |placement| group.comparisons.iter().copied().filter(move |it| it.placement.asked == placement);
    let mixtures: Vec<String> = of(Placement::Same)
        .filter_map(|same| {
            let split = of(Placement::Split).find(|it| it.connections == same.connections)?;
            words_of_mixture(share, same, split, text)
        })
        .collect();
    let begin = begin(seen, share, text);
    let has_both = of(Placement::Same).next().is_some() && of(Placement::Split).next().is_some();
    if !mixtures.is_empty() {
        mixtures.into_iter().map(|words| format!("{begin}: {words}")).collect()
    } else if has_both {
        vec![format!(
            "{begin}; both placements were measured, but one placement has no usable figure, so looptax cannot \
            combine the two"
        )]
    } else {
        vec![format!("{begin}: {}", stands_for(share))]
    }
}

/// Returns a note if looptax measured only the placement `split`, and saw no client or could not see clients. The
/// measurement then applies only to clients on other cores than the server.
fn unseen(group: &Group) -> Option<String> {
    let of = |placement| group.comparisons.iter().any(|it| it.placement.asked == placement);
    let is_split_alone = of(Placement::Split) && !of(Placement::Same) && group.looks.is_empty();
    if group.target.private || !is_split_alone {
        return None;
    }
    Some(match group.target.kind.as_str() {
        "redis" | "valkey" => {
            "looptax saw no client of the server before the measurement, so it is not known whether the \
             clients run on other cores than the server, as in this measurement, or on the server's core (--placement \
             same,split measures both)"
                .to_owned()
        }
        "mysql" | "mariadb" | "postgres" => {
            "if both ends are on one core, a request is shorter and TCP is a larger share of the request: as root, \
             looptax pins the server's threads and measures this case"
                .to_owned()
        }
        _ => return None,
    })
}

/// Returns "the server's own clients (php-fpm8.2) were on its core in 12 % of 830 readings before this was measured".
fn begin(seen: &Meetings, share: f64, text: Text) -> String {
    let programs = seen.programs.iter().map(|it| text.clean(it)).collect::<Vec<_>>().join(", ");
    let pct = 100.0 * share;
    format!(
        "the server's own clients ({programs}) were on the server's core in {pct:.0} % of {} readings before the \
        measurement",
        seen.n_looks
    )
}

fn words_of_mixture(share: f64, same: &Comparison, split: &Comparison, text: Text) -> Option<String> {
    let tax: &Tax = same.tax.first()?;
    let other = split.tax.iter().find(|it| (&it.arm, &it.baseline) == (&tax.arm, &tax.baseline))?;
    let pct = mixed(share, (same, tax), (split, other))?;
    let (arm, baseline) = (text.clean(&tax.arm), text.clean(&tax.baseline));
    Some(format!(
        "if their requests are spread like these readings, the difference is {} of a request's time ({arm} compared \
         with {baseline})",
        text.percent(&pct)
    ))
}

fn stands_for(share: f64) -> &'static str {
    match share {
        it if it >= NEARLY_ALL => "`same` is closest to these readings",
        it if it <= 1.0 - NEARLY_ALL => "`split` is closest to these readings",
        _ => {
            "the readings show both placements; --placement same,split measures both, and prints the tax of the \
            mixture"
        }
    }
}
