//! What `internal schema` takes.

use clap::ValueEnum;

/// What is saved as JSON and has a published schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SavedForm {
    /// The record of a run.
    Record,
    /// The result of `replay`.
    Replay,
    /// What `find` saw.
    Found,
    /// What `watch` counted.
    Watched,
    /// The points of `check`.
    Check,
    /// The spellings of `dsn`.
    Dsn,
    /// The steps of `switch`.
    Switch,
    /// The list of `switch --list`.
    Switches,
    /// The checks of `selfcheck`.
    Selfcheck,
    /// What `report-to` sent.
    ReportTo,
    /// What `fleet init` made.
    FleetInit,
    /// What `report --publish` writes.
    Contribution,
    /// What `fleet report` says.
    Fleet,
}
