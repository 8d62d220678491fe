//! A plan, and switches of earlier, in the form that is shown and saved.

use looptax_model::record::{ListedFile, ListedSwitch, SwitchConnection, SwitchFate};

use crate::list::Switch;
use crate::plan::{Fate, Plan, Planned};

impl Plan {
    /// The connections, numbered, without passwords.
    pub fn connections(&self) -> Vec<SwitchConnection> {
        let numbered = self.connections.iter().zip(1..);
        numbered
            .map(|(it, number)| connection(it, number))
            .collect()
    }
}

fn connection(planned: &Planned, number: usize) -> SwitchConnection {
    let (fate, change_idx) = match &planned.fate {
        Fate::Moves(idx) => (SwitchFate::Moves, Some(*idx)),
        Fate::IsThere => (SwitchFate::IsThere, None),
        Fate::Unwanted => (SwitchFate::Unwanted, None),
        Fate::Blocked => (SwitchFate::Blocked, None),
        Fate::Open => (SwitchFate::Open, None),
        Fate::WhichApplication(_) => (SwitchFate::WhichApplication, None),
        Fate::ByHand => (SwitchFate::ByHand, None),
    };
    SwitchConnection {
        number,
        user: { planned.found.address.as_ref() }.and_then(|it| it.user.clone()),
        socket: planned.found.socket.clone(),
        fate,
        may_be: match &planned.fate {
            Fate::WhichApplication(titles) => titles.clone(),
            _ => Vec::new(),
        },
        change_idx,
        check: planned.found.checked.clone(),
    }
}

impl Switch {
    /// As `--list` tells of it.
    pub fn listed(&self) -> ListedSwitch {
        let files = self.files.iter().map(|(path, holds)| ListedFile {
            path: path.display().to_string(),
            holds: *holds,
        });
        ListedSwitch {
            id: self.id.clone(),
            at: self.at.clone(),
            title: self.title.clone(),
            standing: self.standing,
            files: files.collect(),
        }
    }
}
