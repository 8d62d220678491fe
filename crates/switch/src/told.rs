//! A plan, and switches of earlier, in the form that is shown and saved.

use looptax_model::record::{ListedFile, ListedSwitch, SwitchConnection};

use crate::list::Switch;
use crate::plan::{Plan, Planned};

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
    SwitchConnection {
        number,
        user: { planned.found.address.as_ref() }.and_then(|it| it.user.clone()),
        socket: planned.found.socket.clone(),
        fate: planned.fate,
        may_be: planned.may_be.clone(),
        change_idx: planned.change_idx,
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
