//! The argument of `internal schema`: the saved forms.

use clap::ValueEnum;

/// A JSON form that has a published schema.
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
    /// Two saved counts of `watch` compared by `diff`.
    WatchedDiff,
    /// The result of `find`.
    Found,
    /// The counts of `watch`.
    Watched,
    /// The points of `check`.
    Check,
    /// The settings that `dsn` prints.
    Dsn,
    /// The steps of `switch`.
    Switch,
    /// The list of `switch --list`.
    Switches,
    /// The checks of `doctor`.
    Doctor,
    /// The result of `fleet send`.
    FleetSend,
    /// A line of a report to a collector.
    ReportLine,
    /// The result of `fleet init`.
    FleetInit,
    /// The line that `show --publish` writes.
    Contribution,
    /// The result of `fleet report`.
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
