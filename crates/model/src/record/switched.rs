//! The result of `looptax switch`: the plan, the steps that were done, and the outcome.
//!
//! A JSON form separate from records of runs.

use crate::stats::range::{Amount, Count};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{CheckedConnection, Edit, StepCode, WatchedDiff};

/// A switch: planned, carried out or undone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Switched {
    /// Its name, for `--undo`; `null` if nothing was written.
    pub id: Option<String>,
    /// Earlier switches that prepared the server for this one; each can be undone by its own `--undo`.
    pub prepared: Vec<String>,
    /// The connections of the file.
    pub connections: Vec<SwitchConnection>,
    /// The files that are written.
    pub files: Vec<SwitchFile>,
    /// The parts of the file that looptax did not understand.
    pub unread: Vec<String>,
    /// How the outcome is to be proved.
    pub proof: SwitchProof,
    /// The steps that were done, in order.
    pub steps: Vec<SwitchStep>,
    /// How long requests took before and after; `null` if they were not timed.
    #[serde(default)]
    pub requests: Option<WatchedDiff>,
    /// How it ended.
    pub outcome: SwitchOutcome,
}

/// A connection of the file, and its fate in the switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchConnection {
    /// Its number for `--only`, from 1.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub number: usize,
    /// The account; `null` if the file does not name one.
    pub user: Option<String>,
    /// The socket that it would use.
    pub socket: Option<String>,
    /// Its fate in the switch.
    pub fate: SwitchFate,
    /// The applications of which the user has to name one; empty if none is known, or if the choice does not matter.
    pub may_be: Vec<String>,
    /// Index in `check.changes` of the change that is made.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub change_idx: Option<usize>,
    /// The result of `looptax check` for it.
    pub check: CheckedConnection,
}

/// The fate of a connection in a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchFate {
    /// It is moved.
    Moves,
    /// It uses the socket already.
    IsThere,
    /// The user selected other connections.
    Unwanted,
    /// Points of the check say why it would not work.
    Blocked,
    /// Something that has to be known is not known; points of the check say what.
    Open,
    /// The user has to name one of several applications with `--as`.
    WhichApplication,
    /// A person has to write the lines.
    ByHand,
}

/// A file that is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchFile {
    /// Its path, with symbolic links resolved.
    pub path: String,
    /// Its lines that change, without their passwords.
    pub lines: Vec<Edit>,
    /// Remarks about it.
    pub remarks: Vec<FileRemark>,
}

/// Something about a file that is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRemark {
    /// The remark, as a code for programs.
    pub code: FileRemarkCode,
    /// The remark in words.
    pub words: String,
    /// Whether the file cannot be written as long as the remark holds.
    pub forbids: bool,
    /// Whether the user has to agree to this remark separately.
    pub wants_a_word: bool,
}

/// The subject of a remark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileRemarkCode {
    /// The name is a symbolic link; the file that it points to is written.
    Link,
    /// Hard links: other names lead to the same file and will keep the old contents.
    OtherNames,
    /// The file is immutable: not even root may change it.
    Immutable,
    /// Its file system is mounted read-only.
    ReadOnly,
    /// A program regenerates it.
    Managed,
    /// It belongs to a package.
    Conffile,
    /// It is in a git work tree.
    GitTree,
    /// This user may not create a file in its folder.
    FolderClosed,
    /// A program that is not moved is connected to the port that the server gives up.
    PortInUse,
    /// The server that reads it is restarted.
    Restart,
    /// The server that reads it has to be restarted, and looptax does not know how.
    RestartUnknown,
    /// A user joins the server's group, whose members the socket accepts.
    JoinsGroup,
    /// The socket accepts every user of the machine, as the port does.
    OpenToAll,
}

/// How the outcome is to be proved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchProof {
    /// The command that makes the application read its files again; `null` if the user gave none.
    pub reload: Option<String>,
    /// The usual ways to make it read them again, for a person.
    pub reload_words: Vec<String>,
    /// The page that looptax requests before and after the switch.
    pub url: Option<String>,
    /// Whether the new file stays if nothing shows that it works or fails.
    #[serde(default)]
    pub keeps_unproved: bool,
    /// How long looptax waits for connections, in seconds.
    #[serde(deserialize_with = "Amount::read")]
    #[schemars(with = "Amount")]
    pub within_s: f64,
}

/// A step of a switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchStep {
    /// The step, as a code for programs.
    pub code: StepCode,
    /// The step in words.
    pub words: String,
}

/// How a switch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchOutcome {
    /// It was only planned.
    Planned,
    /// There is nothing to switch: every connection uses the socket.
    NothingToDo,
    /// The switch cannot be done in the present state.
    NotDone,
    /// Moved, and proved.
    Moved,
    /// Moved; nothing connected afterwards, so nothing is proved.
    Unproved,
    /// It did not work; the old files are back.
    PutBack,
    /// The old files are back, because the user undid the switch.
    Undone,
}

/// An earlier switch, for `--list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedSwitch {
    /// Its name.
    pub id: String,
    /// When it was begun, as RFC 3339.
    pub at: String,
    /// The application or server that was switched, as a title.
    pub title: String,
    /// Its state.
    pub standing: SwitchStanding,
    /// Its files and their present contents.
    pub files: Vec<ListedFile>,
}

/// The state of an earlier switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchStanding {
    /// Nothing was written.
    Planned,
    /// A running looptax is working on it.
    UnderWay,
    /// It was interrupted: finish it or undo it.
    Interrupted,
    /// Moved, and proved.
    Moved,
    /// The server accepts the application over the socket; the application's own files belong to another switch.
    Prepared,
    /// Moved, and not proved.
    Unproved,
    /// It did not work; the old files are back.
    PutBack,
    /// The old files are back, because the user undid the switch.
    Undone,
}

/// A file of an earlier switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedFile {
    /// Its path.
    pub path: String,
    /// Its present contents.
    pub holds: FileHolds,
}

/// The present contents of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileHolds {
    /// The contents from before the switch.
    Old,
    /// The contents that the switch wrote.
    New,
    /// Something else, written since by somebody else.
    Other,
    /// Nothing that looptax could read.
    Nothing,
    /// A file that the switch cannot have written: a symbolic link, or another user's file.
    Foreign,
}
