//! What the points of a check come to.

use looptax_model::record::{Outcome, Point, PointCode, SwitchVerdict, Topic};

/// What has to be known before anybody may say that it would work.
const ESSENTIAL: [Topic; 5] = [Topic::Server, Topic::Path, Topic::Account, Topic::Login, Topic::Configuration];

/// No where one point says no; open where an essential one is. What takes the socket already has nothing to move.
pub fn verdict(points: &[Point]) -> SwitchVerdict {
    let is_essential = |it: &Point| ESSENTIAL.contains(&it.topic) || it.code == PointCode::AccountDemandsTls;
    let is_open = |it: &Point| it.outcome == Outcome::Unknown && is_essential(it);
    if points.iter().any(|it| it.outcome == Outcome::Fail) {
        SwitchVerdict::WouldNotWork
    } else if points.iter().any(is_open) {
        SwitchVerdict::Open
    } else if points.iter().any(|it| it.code == PointCode::TakesSocket) {
        SwitchVerdict::AlreadyThere
    } else {
        SwitchVerdict::WouldWork
    }
}
