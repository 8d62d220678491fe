//! The list of earlier switches, with a few lines for each.

use looptax_model::record::{FileHolds, ListedSwitch, SwitchStanding};

use crate::terminal::checked::change::wrapped;
use crate::terminal::style::Style;

/// Returns the text about all switches, the latest last.
pub fn switches(all: &[ListedSwitch], style: Style) -> String {
    if all.is_empty() {
        return "no switch was made yet\n".to_owned();
    }
    all.iter().map(|it| switch(it, style)).collect()
}

fn switch(listed: &ListedSwitch, style: Style) -> String {
    let standing = match listed.standing {
        SwitchStanding::Planned => "planned, and nothing was written",
        SwitchStanding::UnderWay => "running now",
        SwitchStanding::Interrupted => "INTERRUPTED: --finish or --undo it",
        SwitchStanding::Moved => "moved and proved",
        SwitchStanding::Prepared => "the server was prepared",
        SwitchStanding::Unproved => "moved, but not proved",
        SwitchStanding::PutBack => "put back, because it did not work or was not proved",
        SwitchStanding::Undone => "undone",
    };
    let at = listed.at.get(..16).unwrap_or(&listed.at).replace('T', " ");
    let head = format!("{}  {at}  {}: {standing}\n", listed.id, listed.title);
    let mut text = wrapped(&head, style);
    let is_over = matches!(listed.standing, SwitchStanding::Planned | SwitchStanding::PutBack | SwitchStanding::Undone);
    for file in &listed.files {
        if is_over {
            text += &wrapped(&format!("  {}\n", file.path), style);
            continue;
        }
        let holds = match file.holds {
            FileHolds::Old => "as it was before",
            FileHolds::New => "as it was written",
            FileHolds::Other => "changed since the switch",
            FileHolds::Nothing => "missing or not readable",
            FileHolds::Foreign => "no longer the file that looptax wrote: now a link, or another user's file",
        };
        text += &wrapped(&format!("  {}: {holds}\n", file.path), style);
    }
    text
}
