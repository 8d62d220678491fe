//! The share of the machine's CPU time that other programs and the hypervisor took, as a clause in a verdict's
//! sentence.

use looptax_model::record::{Direction, Disturbance, SizeCause, Tax};

use crate::format::{Text, counted};

/// A share of the CPU time above this limit, in percent, is named. If neither share is above its limit, the share that
/// is closer to its limit is named.
const NAMED_STEAL_PCT: f64 = 1.0;
const NAMED_FOREIGN_PCT: f64 = 5.0;

/// Returns "; measured while the hypervisor took 2.5 % of the time", if hardly any epoch was undisturbed.
pub(super) fn measured_while(tax: &Tax) -> Option<String> {
    let disturbance = tax.disturbance.as_ref().filter(|it| it.is_throughout)?;
    // If the disturbance makes the size uncertain, the text about the size already mentions the disturbance.
    if tax.uncertain_size.as_ref().is_some_and(|it| it.cause == SizeCause::Disturbed) {
        return None;
    }
    let takers: Vec<String> =
        takers(disturbance).into_iter().map(|(who, pct)| format!("{who} took {pct:.1} %")).collect();
    Some(format!("; measured while {} of the time", takers.join(" and ")))
}

/// Returns "tcp is slower; the size is uncertain (4.9 to 13.9 %): the machine was busy in 12 epochs (20.0 % other
/// work)".
pub(super) fn uncertain_size(tax: &Tax, text: Text) -> Option<String> {
    let size = tax.uncertain_size.as_ref()?;
    let word = direction_word(tax.direction?);
    let arm = text.clean(&tax.arm);
    let (lo, hi) = (size.lo_pct, size.hi_pct);
    // The whole measurement was disturbed, so the range does not apply to a quiet machine.
    if size.cause == SizeCause::Disturbed && tax.disturbance.as_ref().is_some_and(|it| it.is_throughout) {
        let busy = shares(tax);
        return Some(format!(
            "{arm} is {word}, by {lo:.1} to {hi:.1} % while the machine was busy{busy}; the size on a quiet machine is \
             not known"
        ));
    }
    let why = match size.cause {
        SizeCause::Disturbed => format!("the machine was busy{}", shares(tax)),
        SizeCause::Drifted => "the difference changed during the run".to_owned(),
        SizeCause::Wide => "the interval is wide".to_owned(),
        SizeCause::TwoSpeeds => {
            "slices have two speeds, as if both ends meet on one core in only some of them".to_owned()
        }
        SizeCause::UnevenStart => {
            "a part of the difference appears right after each change between the arms".to_owned()
        }
    };
    Some(format!("{arm} is {word}; the size is uncertain ({lo:.1} to {hi:.1} %): {why}"))
}

pub(crate) fn direction_word(direction: Direction) -> &'static str {
    match direction {
        Direction::OtherSlower => "slower",
        Direction::OtherFaster => "faster",
    }
}

fn shares(tax: &Tax) -> String {
    let Some(disturbance) = &tax.disturbance else {
        return String::new();
    };
    let n_epochs = counted(u64::from(disturbance.n_epochs), "epoch");
    let when = if disturbance.is_throughout { String::new() } else { format!(" in {n_epochs}") };
    let shares: Vec<String> = takers(disturbance)
        .into_iter()
        .map(|(who, pct)| match who {
            OTHERS => format!("{pct:.1} % other work"),
            _ => format!("{pct:.1} % taken by the hypervisor"),
        })
        .collect();
    format!("{when} ({})", shares.join(", "))
}

const HYPERVISOR: &str = "the hypervisor";
const OTHERS: &str = "other work";

fn takers(it: &Disturbance) -> Vec<(&'static str, f64)> {
    let steal = (HYPERVISOR, it.steal_pct);
    let foreign = (OTHERS, it.foreign_pct);
    let is_stolen = it.steal_pct > NAMED_STEAL_PCT;
    // If neither share is above its limit in the whole run, a share was above its limit only in some windows of epochs.
    let is_steal_nearer = it.steal_pct / NAMED_STEAL_PCT > it.foreign_pct / NAMED_FOREIGN_PCT;
    if it.foreign_pct > NAMED_FOREIGN_PCT {
        [steal, foreign][usize::from(!is_stolen)..].to_vec()
    } else if is_stolen || is_steal_nearer {
        vec![steal]
    } else {
        vec![foreign]
    }
}
