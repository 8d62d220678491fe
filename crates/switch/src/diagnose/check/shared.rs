//! What is said of a connection between two services of a Compose file that is to go by a volume of both.
//!
//! What the file alone does not show stays unsaid: nobody looks into the containers. Called by `subject`.

use looptax_advise::app::{Found, Share};
use looptax_advise::check::verdict;
use looptax_model::dsn::MASK;
use looptax_model::record::{CheckedConnection, Outcome, PointCode};

use super::answer::explain_mask;

/// Says in place of "it is a container" how both come to the socket, or why that is left to people. `false` where
/// nothing is said of a container.
pub(super) fn answer(checked: &mut CheckedConnection, found: &Found, share: &Result<Share, String>) -> bool {
    let mut points = checked.points.iter_mut();
    let Some(point) = points.find(|it| it.code == PointCode::ServerInContainer) else {
        return false;
    };
    let share = match share {
        Ok(share) => share,
        Err(why) => {
            let next = point.next.take().unwrap_or_default();
            point.next = Some(format!("--compose does not write it, since {why}; by hand: {next}"));
            return true;
        }
    };
    point.outcome = Outcome::Note;
    point.next = None;
    point.what = format!(
        "`{}` is a service of the same file (image {}): its folder {} becomes a volume of both; whether the application \
         comes by it is not seen from the file, and nothing is proved",
        share.server, share.image, share.folder
    );
    checked.verdict = verdict(&checked.points);
    let Some(address) = &found.address else {
        return false;
    };
    let password = address.password.as_ref().map(|_| MASK.to_owned());
    checked.changes = found.changes(&share.fields(address, password));
    // What nobody knows has no name to say.
    if found.is_guessed && checked.changes.iter().all(|it| it.edits.is_empty()) {
        checked.changes.clear();
    }
    for change in &mut checked.changes {
        change.edits.extend(share.edits.iter().cloned());
        change.restart =
            format!("docker compose up -d, which makes both containers anew: `{}` is away for that time", share.server);
        explain_mask(change);
    }
    true
}
