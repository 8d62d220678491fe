//! Decides the verdict of a check from its points.

use looptax_model::record::{Outcome, Point, PointCode, SwitchVerdict, Topic};

/// Topics that have to be known: if a point of one of these topics is unknown, the verdict cannot be that the switch
/// would work.
const ESSENTIAL: [Topic; 5] = [Topic::Server, Topic::Path, Topic::Account, Topic::Login, Topic::Configuration];

/// The switch would not work if a point fails. The verdict is open if a point of an essential topic is unknown. If the
/// client already uses the socket, there is nothing to move.
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
