//! The output of `looptax switch` during a switch, and at its end.

use looptax_model::record::{FileRemarkCode, StepCode, SwitchOutcome, SwitchStep, Switched};

use super::labelled;
use crate::terminal::style::Style;

const FAILURE: &str = "FAIL";

/// Returns the line about a step, which is printed as soon as the step is done.
pub fn switch_step(step: &SwitchStep, style: Style) -> String {
    labelled(label(step), &step.words, style)
}

pub fn is_failure(step: &SwitchStep) -> bool {
    label(step) == FAILURE
}

fn label(step: &SwitchStep) -> &'static str {
    match step.code {
        StepCode::ServerFileWritten | StepCode::FilesWritten | StepCode::Reloaded => "done",
        StepCode::ReloadByHand => "now",
        StepCode::SeenOverSocket | StepCode::BurstAnswered | StepCode::PageAsBefore => "proved",
        StepCode::NothingConnected | StepCode::NotSeenAgain => "open",
        StepCode::RequestsTimed => "times",
        StepCode::PageVisited => "visits",
        StepCode::ProofNote => "note",
        StepCode::ServerLog => "log",
        StepCode::FilesPutBack | StepCode::WorksAsBefore => "back",
        StepCode::FilesNotWritten
        | StepCode::ReloadFailed
        | StepCode::StillOverTcp
        | StepCode::LoginsRefused
        | StepCode::ApplicationGone
        | StepCode::ServerGone
        | StepCode::PageDiffers
        | StepCode::BurstFailed
        | StepCode::Stopped
        | StepCode::FilesNotPutBack => FAILURE,
    }
}

/// Returns the last line, about the end of a switch.
pub fn switch_end(switched: &Switched, style: Style) -> String {
    let id = switched.id.as_deref().unwrap_or("last");
    let id = &format!("{id}{}", way_back(switched));
    let words = match switched.outcome {
        SwitchOutcome::Planned | SwitchOutcome::NotDone if !switched.prepared.is_empty() => {
            "the file was not changed".to_owned()
        }
        SwitchOutcome::Planned => "nothing was changed".to_owned(),
        SwitchOutcome::NothingToDo => "nothing to do: the application uses the socket already".to_owned(),
        SwitchOutcome::NotDone => "nothing was changed: the reason is above".to_owned(),
        SwitchOutcome::Moved => format!("moved and proved; to undo the move: looptax switch --undo {id}"),
        SwitchOutcome::Unproved => format!(
            "moved, but not proved: use the application, and check with `looptax find`; to undo the move: looptax \
             switch --undo {id}"
        ),
        SwitchOutcome::PutBack if is_unseen(switched) => {
            "not moved: the old file is back, but the application still needs attention".to_owned()
        }
        SwitchOutcome::PutBack => "not moved: everything is as it was before".to_owned(),
        SwitchOutcome::Undone => "undone".to_owned(),
    };
    let prepared = { switched.prepared.iter() }
        .map(|it| format!("the server stays prepared; to undo the preparation: looptax switch --undo {it}\n"));
    super::wrapped(&format!("{words}\n{}", prepared.collect::<String>()), style)
}

/// Returns the options that an undo needs if it has to restart a server; otherwise an empty text.
pub(super) fn way_back(switched: &Switched) -> String {
    let mut remarks = switched.files.iter().flat_map(|it| &it.remarks);
    if !remarks.any(|it| it.code == FileRemarkCode::Restart) {
        return String::new();
    }
    let reload = switched.proof.reload.as_ref().map_or_else(String::new, |it| format!(" --reload '{it}'"));
    format!(" --restart{reload}")
}

/// Whether the old file is back, but the application was not seen to work afterwards.
fn is_unseen(switched: &Switched) -> bool {
    let mut codes = switched.steps.iter().map(|it| it.code);
    codes.any(|it| it == StepCode::NotSeenAgain)
}
