//! The result of `looptax switch`: the plan, the steps that were done, and the outcome.
//!
//! Its own JSON, apart from records of runs.

use crate::stats::range::{Amount, Count};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{CheckedConnection, Edit, StepCode, WatchedDiff};

/// A switch: planned, carried out or undone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Switched {
    /// Its name, for `--undo`; `null` if nothing was written.
    pub id: Option<String>,
    /// Switches that prepared the server for this one; each has its own `--undo`.
    pub prepared: Vec<String>,
    /// The connections of the file.
    pub connections: Vec<SwitchConnection>,
    /// The files that are written.
    pub files: Vec<SwitchFile>,
    /// The parts of the file that were not understood.
    pub unread: Vec<String>,
    /// How the outcome is proved.
    pub proof: SwitchProof,
    /// The steps that were done, in order.
    pub steps: Vec<SwitchStep>,
    /// How long requests took before and after; `null` if they were not timed.
    #[serde(default)]
    pub requests: Option<WatchedDiff>,
    /// How it ended.
    pub outcome: SwitchOutcome,
}

/// A connection of the file, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchConnection {
    /// Its number for `--only`, from 1.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub number: usize,
    /// The account; `null` if the file does not name one.
    pub user: Option<String>,
    /// The socket that it would take.
    pub socket: Option<String>,
    /// Its fate.
    pub fate: SwitchFate,
    /// The applications of which one has to be named; empty if none is known, or none has to be named.
    pub may_be: Vec<String>,
    /// Of `check.changes` the one that is made.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub change_idx: Option<usize>,
    /// The result of `looptax check` about it.
    pub check: CheckedConnection,
}

/// The fate of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchFate {
    /// It is moved.
    Moves,
    /// It is on the socket.
    IsThere,
    /// Only others were asked for.
    Unwanted,
    /// Points of the check say why it would not work.
    Blocked,
    /// Something is not known that would have to be; points of the check say what.
    Open,
    /// One of several applications has to be named, with `--as`.
    WhichApplication,
    /// The lines are for a person to write.
    ByHand,
}

/// A file that is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchFile {
    /// Its path, links followed.
    pub path: String,
    /// Its lines that change, without their passwords.
    pub lines: Vec<Edit>,
    /// Remarks about it.
    pub remarks: Vec<FileRemark>,
}

/// Something about a file that is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRemark {
    /// For a program.
    pub code: FileRemarkCode,
    /// In words.
    pub words: String,
    /// Whether it cannot be written while it is so.
    pub forbids: bool,
    /// Whether somebody has to agree to it by itself.
    pub wants_a_word: bool,
}

/// The subject of a remark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileRemarkCode {
    /// The name leads elsewhere, and that file is written.
    Link,
    /// Other names lead to the same file and keep the old one.
    OtherNames,
    /// It may not be changed, not even by root.
    Immutable,
    /// Its file system is mounted for reading.
    ReadOnly,
    /// A program regenerates it.
    Managed,
    /// It belongs to a package.
    Conffile,
    /// It is in a git work tree.
    GitTree,
    /// Its folder takes no new file of this user.
    FolderClosed,
    /// A program that is not moved is connected to the port that is given up.
    PortInUse,
    /// The server that reads it is restarted.
    Restart,
    /// The server that reads it has to be restarted, and by what is not known.
    RestartUnknown,
    /// A user joins the group of the server, which the socket lets in.
    JoinsGroup,
    /// The socket lets in every user of the machine, as the port does.
    OpenToAll,
}

/// How the outcome is proved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchProof {
    /// The command that has the application read its files again; `null` if none was given.
    pub reload: Option<String>,
    /// The usual ways to have it read them, for a person.
    pub reload_words: Vec<String>,
    /// The page that is asked before and after.
    pub url: Option<String>,
    /// So long connections are waited for, in seconds.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub within_s: f64,
}

/// A step of a switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchStep {
    /// For a program.
    pub code: StepCode,
    /// In words.
    pub words: String,
}

/// How a switch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchOutcome {
    /// It was only planned.
    Planned,
    /// There is nothing to switch: all is on the socket.
    NothingToDo,
    /// It cannot be done as it is.
    NotDone,
    /// Moved, and proved.
    Moved,
    /// Moved; nothing connected, so nothing is proved.
    Unproved,
    /// It did not work; the old files are back.
    PutBack,
    /// The old files are back, as somebody asked.
    Undone,
}

/// A switch of earlier, for `--list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedSwitch {
    /// Its name.
    pub id: String,
    /// When it was begun, as RFC 3339.
    pub at: String,
    /// The subject of the switch.
    pub title: String,
    /// Its state.
    pub standing: SwitchStanding,
    /// Its files, and what is there now.
    pub files: Vec<ListedFile>,
}

/// The state of an earlier switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchStanding {
    /// Nothing was written.
    Planned,
    /// A looptax is at work on it.
    UnderWay,
    /// It was interrupted under way: to be finished or undone.
    Interrupted,
    /// Moved, and proved.
    Moved,
    /// The server lets the application in over the socket; the application's files are another switch.
    Prepared,
    /// Moved, and not proved.
    Unproved,
    /// It did not work; the old files are back.
    PutBack,
    /// The old files are back, as somebody asked.
    Undone,
}

/// A file of a switch of earlier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedFile {
    /// Its path.
    pub path: String,
    /// Its present contents.
    pub holds: FileHolds,
}

/// The contents at the path of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileHolds {
    /// The contents from before the switch.
    Old,
    /// The contents that the switch wrote.
    New,
    /// Somebody wrote something else since.
    Other,
    /// Nothing that could be read.
    Nothing,
    /// A file that the switch cannot have written: a link, or another user's file.
    Foreign,
}
