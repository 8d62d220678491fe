//! What every part of `switch` knows and uses: what was typed, the terminal, where switches are kept.

use looptax_model::record::Switched;
use looptax_report::terminal as report;
use looptax_store::save_value;
use looptax_switch::Kept;

use crate::args::SwitchArgs;
use crate::earlier_runs::data_folder;
use crate::failure::{Exit, Failure};
use crate::terminal::{self, Terminal};

/// Where switches are kept.
pub(super) fn kept() -> Result<Kept, Failure> {
    let Some(data) = data_folder() else {
        return Err(Failure::usage(
            "there is no place for the old file: neither XDG_DATA_HOME nor HOME is set",
            "set one of them",
        ));
    };
    Ok(Kept::in_data_folder(&data))
}

/// What every part of the command knows.
#[derive(Clone, Copy)]
pub(super) struct Doing<'a> {
    pub(super) args: &'a SwitchArgs,
    pub(super) terminal: Terminal,
}

impl Doing<'_> {
    /// Shows a piece of the result, unless all of it is printed as JSON at the end.
    pub(super) fn show(self, text: &str) -> Result<(), Failure> {
        if self.args.json.is_printed() {
            return Ok(());
        }
        Ok(terminal::data(text)?)
    }

    /// Shows the end, and saves or prints the JSON.
    pub(super) fn end(self, switched: &Switched, exit: Exit) -> Result<Exit, Failure> {
        self.show(&report::switch_end(switched, self.terminal.style()))?;
        match self.args.json.path() {
            Some(_) if self.args.json.is_printed() => terminal::json(switched)?,
            Some(path) => save_value(switched, path)?,
            None => {}
        }
        Ok(exit)
    }

    /// Whether somebody can be asked, or need not be.
    pub(super) fn may_ask(self) -> Result<(), Failure> {
        let is_silent = self.args.json.is_printed() || !terminal::can_ask();
        if is_silent && !self.args.yes {
            return Err(Failure::usage(
                "nobody can be asked here",
                "--yes does it without a question, --dry-run only says what would be done",
            ));
        }
        Ok(())
    }
}
