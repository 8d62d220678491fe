//! Points about a connection between two containers of one project that is to use a volume of both.
//!
//! Reports only what the file shows: looptax does not look into the containers. Called by `subject`.

use looptax_advise::app::{Found, Share};
use looptax_advise::check::verdict;
use looptax_model::dsn::MASK;
use looptax_model::record::{CheckedConnection, Outcome, PointCode};

/// The points about a server that is not on this machine.
const ELSEWHERE: [PointCode; 3] =
    [PointCode::ServerInContainer, PointCode::LoopbackOfContainer, PointCode::ServerElsewhere];

use super::answer::explain_mask;

/// Whether its server is not this machine's.
pub(super) fn is_elsewhere(checked: &CheckedConnection) -> bool {
    checked.points.iter().any(|it| ELSEWHERE.contains(&it.code))
}

/// Says of a connection to another container which command writes both sides, or why none does.
pub(super) fn offer(checked: &mut CheckedConnection, offered: &str) {
    for point in checked.points.iter_mut().filter(|it| ELSEWHERE.contains(&it.code)) {
        let by_hand = point.next.take().map_or_else(String::new, |it| format!("; by hand: {it}"));
        point.next = Some(format!("{offered}{by_hand}"));
    }
}

/// Replaces "it is a container" with how both get to the socket, or why that is left to people. `false` if no point is
/// about a container.
pub(super) fn answer(checked: &mut CheckedConnection, found: &Found, share: &Result<Share, String>) -> bool {
    let mut points = checked.points.iter_mut();
    let Some(point) = points.find(|it| ELSEWHERE.contains(&it.code)) else {
        return false;
    };
    let share = match share {
        Ok(share) => share,
        Err(why) => {
            let next = point.next.take().unwrap_or_default();
            point.next = Some(format!("--containers does not change this connection, because {why}; by hand: {next}"));
            return true;
        }
    };
    point.outcome = Outcome::Note;
    point.next = None;
    point.code = PointCode::ServerInContainer;
    point.what = format!(
        "{} (image {}): its folder {} becomes {}, and the socket there is open to every user; the file does not show \
         whether the application connects over this socket, and looptax has proved nothing",
        share.server_is, share.image, share.folder, share.volume_is
    );
    if let Some(words) = found.taken_words() {
        point.what = format!("{}; {words}", point.what);
    }
    checked.verdict = verdict(&checked.points);
    let Some(address) = &found.address else {
        return false;
    };
    let password = address.password.as_ref().map(|_| MASK.to_owned());
    checked.changes = found.changes(&share.fields(address, password));
    // An unknown application has no name to show.
    if found.is_guessed && checked.changes.iter().all(|it| it.edits.is_empty()) {
        checked.changes.clear();
    }
    for change in &mut checked.changes {
        change.edits.extend(share.edits.iter().cloned());
        change.restart.clone_from(&share.restart);
        change.traps.extend(share.traps.iter().cloned());
        explain_mask(change);
    }
    true
}
