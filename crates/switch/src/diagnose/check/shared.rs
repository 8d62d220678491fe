//! Points about a connection between two containers of a project: the containers can share a socket through a common
//! volume.
//!
//! Reports only what the file shows; looptax does not look inside the containers. Called by `subject`.

use looptax_advise::app::{Found, Share};
use looptax_advise::check::verdict;
use looptax_model::dsn::MASK;
use looptax_model::record::{CheckedConnection, Outcome, PointCode};

/// The codes of points about a server that is not on this machine.
const ELSEWHERE: [PointCode; 3] =
    [PointCode::ServerInContainer, PointCode::LoopbackOfContainer, PointCode::ServerElsewhere];

use super::answer::explain_mask;

/// Whether the connection's server is not on this machine.
pub(super) fn is_elsewhere(checked: &CheckedConnection) -> bool {
    checked.points.iter().any(|it| ELSEWHERE.contains(&it.code))
}

/// Adds the command that writes both sides of a connection between containers, or the reason why there is no command.
pub(super) fn offer(checked: &mut CheckedConnection, offered: &str) {
    for point in checked.points.iter_mut().filter(|it| ELSEWHERE.contains(&it.code)) {
        let by_hand = point.next.take().map_or_else(String::new, |it| format!("; by hand: {it}"));
        point.next = Some(format!("{offered}{by_hand}"));
    }
}

/// Replaces the point about the server in a container with a point that explains how both containers get to the socket.
/// If `switch` does not change this connection, keeps the point, and adds the reason to the next step, which a person
/// has to carry out. Returns false if there is no such point.
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
        "{} (image {}): the container's folder {} becomes {}, and every user may use the socket in this folder. The \
         file does not show whether the application connects over this socket, and looptax has not proved it",
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
    // looptax does not know the application, so there are no lines to show.
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
