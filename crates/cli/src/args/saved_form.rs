//! What `internal schema` takes.

use clap::ValueEnum;

/// What is saved as JSON and has a published schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SavedForm {
    /// The record of a run.
    Record,
    /// The result of `reproduce`.
    Reproduce,
    /// A line of `--json-stream`, `find --watch --json` or `watch --json`.
    Stream,
    /// The runs that `show` lists.
    Runs,
    /// Two runs compared by `diff`.
    Diff,
    /// Two saved looks of `watch` compared by `diff`.
    WatchedDiff,
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
    /// The checks of `doctor`.
    Doctor,
    /// What `fleet send` sent.
    FleetSend,
    /// A line of a report to a collector.
    ReportLine,
    /// What `fleet init` made.
    FleetInit,
    /// What `show --publish` writes.
    Contribution,
    /// What `fleet report` says.
    Fleet,
    /// The list of `fleet hosts`.
    FleetHosts,
    /// The list of `fleet programs`.
    FleetPrograms,
    /// The list of `fleet changes`.
    FleetChanges,
    /// The machines of `fleet host`.
    FleetHost,
}
