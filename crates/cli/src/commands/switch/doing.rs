//! The state that all parts of `switch` share: the arguments, the terminal, and the folder of kept switches.

use looptax_model::record::{StepCode, SwitchStep, Switched};
use looptax_report::terminal as report;
use looptax_store::save_value;
use looptax_switch::{Kept, Named};

use crate::args::SwitchArgs;
use crate::earlier_runs::data_folder;
use crate::failure::{Exit, Failure};
use crate::terminal::{self, Terminal};

/// Returns the folder in which switches are kept.
pub(super) fn kept() -> Result<Kept, Failure> {
    let Some(data) = data_folder() else {
        return Err(Failure::usage(
            "looptax does not know where it keeps old files: neither XDG_DATA_HOME nor HOME is set",
            "set one of them",
        ));
    };
    Ok(Kept::in_data_folder(&data))
}

/// Calls a function with the title of the switch, and with the current day and time.
pub(super) fn named<T>(title: &str, run: impl FnOnce(Named<'_>) -> T) -> T {
    let now = jiff::Zoned::now();
    run(Named { day: &now.strftime("%Y%m%d").to_string(), at: &now.timestamp().to_string(), title })
}

/// The state that all parts of the command share.
#[derive(Clone, Copy)]
pub(super) struct Doing<'a> {
    pub(super) args: &'a SwitchArgs,
    pub(super) terminal: Terminal,
}

impl Doing<'_> {
    /// Whether steps are not printed: the user asked for quiet output, and has agreed to the switch with `--yes`.
    pub(super) fn is_silent(self) -> bool {
        self.terminal.is_quiet && self.args.yes && !self.args.dry_run
    }

    /// Prints what looptax is doing, unless the output is silent.
    pub(super) fn show(self, text: &str) -> Result<(), Failure> {
        if self.is_silent() { Ok(()) } else { self.show_result(text) }
    }

    /// Prints a part of the result, unless the whole result is printed as JSON at the end.
    pub(super) fn show_result(self, text: &str) -> Result<(), Failure> {
        if self.args.json.is_printed() {
            return Ok(());
        }
        Ok(terminal::data(text)?)
    }

    /// Prints a step. If the output is silent, prints only steps that failed or that the user has to take. If the
    /// reader of the output has ended, nothing is printed, and the switch continues.
    pub(super) fn show_step(self, step: &SwitchStep) {
        let is_needed = report::is_failure(step) || step.code == StepCode::ReloadByHand;
        if self.is_silent() && !is_needed {
            return;
        }
        let _gone = self.show_result(&report::switch_step(step, self.terminal.style()));
    }

    /// Prints the outcome, and saves or prints the JSON.
    pub(super) fn end(self, switched: &Switched, exit: Exit) -> Result<Exit, Failure> {
        self.show_result(&report::switch_end(switched, self.terminal.style()))?;
        match self.args.json.path() {
            Some(_) if self.args.json.is_printed() => terminal::json(switched)?,
            Some(path) => save_value(switched, path)?,
            None => {}
        }
        Ok(exit)
    }

    /// Fails if looptax would have to ask the user but cannot.
    pub(super) fn may_ask(self) -> Result<(), Failure> {
        let is_silent = self.args.json.is_printed() || !terminal::can_ask();
        if is_silent && !self.args.yes {
            return Err(Failure::usage(
                "without a terminal looptax cannot ask you",
                "pass --yes to agree in advance, or --dry-run to see only what looptax would do",
            ));
        }
        Ok(())
    }
}
