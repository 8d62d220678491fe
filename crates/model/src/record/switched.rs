//! The result of `looptax switch`: the plan, the steps that were carried out, and the outcome.
//!
//! A JSON form separate from records of runs.

use crate::stats::range::{Amount, Count};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{CheckedConnection, Edit, PointCode, StepCode, WatchedDiff};

/// A switch that was planned, carried out or undone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Switched {
    /// The switch's name, for `--undo`; `null` if nothing was written.
    pub id: Option<String>,
    /// Earlier switches that prepared the server for this switch; each of them can be undone with `--undo` and its own
    /// name.
    pub prepared: Vec<String>,
    /// The connections of the file.
    pub connections: Vec<SwitchConnection>,
    /// The files that the switch writes.
    pub files: Vec<SwitchFile>,
    /// The parts of the file that looptax did not understand.
    pub unread: Vec<String>,
    /// How looptax proves that the switch worked.
    pub proof: SwitchProof,
    /// The steps that were carried out, in order.
    pub steps: Vec<SwitchStep>,
    /// The times of requests before and after the switch; `null` if the requests were not timed.
    #[serde(default)]
    pub requests: Option<WatchedDiff>,
    /// How the switch ended.
    pub outcome: SwitchOutcome,
}

/// A connection of the file, and what the switch does with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchConnection {
    /// The connection's number for `--only`, counted from 1.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub number: usize,
    /// The account; `null` if the file does not name an account.
    pub user: Option<String>,
    /// The socket that the connection would use.
    pub socket: Option<String>,
    /// The action of the switch on the connection, and the reason.
    pub fate: SwitchFate,
    /// The applications from which the user has to choose; empty if no application is known, or if the choice does not
    /// matter.
    pub may_be: Vec<String>,
    /// Index in `check.changes` of the change that the switch makes.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub change_idx: Option<usize>,
    /// The result of `looptax check` for the connection.
    pub check: CheckedConnection,
}

impl SwitchConnection {
    /// Whether the server runs in a container that the file describes.
    pub fn is_in_container(&self) -> bool {
        self.check.points.iter().any(|it| it.code == PointCode::ServerInContainer)
    }
}

/// The action of a switch on a connection, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchFate {
    /// The connection is moved to the socket.
    Moves,
    /// The connection already uses the socket.
    IsThere,
    /// The connection is not moved, because the user selected other connections.
    Unwanted,
    /// The connection is not moved, because it would not work; points of the check show why.
    Blocked,
    /// The connection is not moved, because a necessary fact is not known; points of the check show which fact.
    Open,
    /// The connection is not moved before the user names one of several applications with `--as`.
    WhichApplication,
    /// looptax does not move the connection: a person has to write the lines.
    ByHand,
}

/// A file that the switch writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchFile {
    /// The file's path, with symbolic links resolved.
    pub path: String,
    /// The lines of the file that change, without their passwords.
    pub lines: Vec<Edit>,
    /// Remarks about the file.
    pub remarks: Vec<FileRemark>,
}

/// A remark about a file that the switch writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRemark {
    /// The remark, as a code for programs.
    pub code: FileRemarkCode,
    /// The remark in words.
    pub words: String,
    /// Whether the remark prevents the switch from writing the file.
    pub forbids: bool,
    /// Whether the user has to agree separately, because of this remark.
    pub wants_a_word: bool,
}

/// The subject of a remark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileRemarkCode {
    /// The path is a symbolic link; the switch writes the file to which the link points.
    Link,
    /// The file has other hard links: these names will keep the old contents.
    OtherNames,
    /// The file is immutable: not even root can change it.
    Immutable,
    /// The file's file system is mounted read-only.
    ReadOnly,
    /// A program regenerates the file.
    Managed,
    /// The file belongs to a package.
    Conffile,
    /// The file is in a git work tree.
    GitTree,
    /// The user that runs looptax may not create a file in the file's folder.
    FolderClosed,
    /// A program that is not moved is connected to the port on which the server will stop listening.
    PortInUse,
    /// The server that reads the file is restarted.
    Restart,
    /// The server that reads the file has to be restarted, and looptax does not know how to do this.
    RestartUnknown,
    /// A user joins the server's group; the socket accepts the members of this group.
    JoinsGroup,
    /// The socket accepts every user of the machine, as the server's port does.
    OpenToAll,
}

/// How looptax proves that the switch worked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchProof {
    /// The command that makes the application read its files again; `null` if the user did not give a command.
    pub reload: Option<String>,
    /// The usual commands that make the application read its files again, for a person.
    pub reload_words: Vec<String>,
    /// Whether looptax can follow the applications into the containers that `reload` creates.
    #[serde(default)]
    pub can_follow: bool,
    /// The page that looptax requests before and after the switch.
    pub url: Option<String>,
    /// Whether the new files stay in place if looptax cannot see whether the switch worked.
    #[serde(default)]
    pub keeps_unproved: bool,
    /// Time for which looptax waits for connections, in seconds.
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
    /// The switch was only planned.
    Planned,
    /// There was nothing to switch: every connection already uses the socket.
    NothingToDo,
    /// The switch cannot be done in the present state.
    NotDone,
    /// The connections were moved, and the move was proved.
    Moved,
    /// The files were changed, but nothing connected afterwards, so nothing is proved.
    Unproved,
    /// The switch did not work, and the old files were put back.
    PutBack,
    /// The old files were put back, because the user undid the switch.
    Undone,
}

/// An earlier switch, for `--list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedSwitch {
    /// The switch's name.
    pub id: String,
    /// Time at which the switch began, RFC 3339.
    pub at: String,
    /// The title of the entry: the application or server that was switched.
    pub title: String,
    /// The state of the switch.
    pub standing: SwitchStanding,
    /// The files of the switch, and their present contents.
    pub files: Vec<ListedFile>,
}

/// The state of an earlier switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchStanding {
    /// Nothing was written.
    Planned,
    /// A running looptax is carrying out the switch.
    UnderWay,
    /// The switch was interrupted; the user has to finish or undo it.
    Interrupted,
    /// The connections were moved, and the move was proved.
    Moved,
    /// The server was prepared to accept the application over the socket; another switch changes the application's own
    /// files.
    Prepared,
    /// The connections were moved, but the move was not proved.
    Unproved,
    /// The switch did not work, and the old files were put back.
    PutBack,
    /// The old files were put back, because the user undid the switch.
    Undone,
}

/// A file of an earlier switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedFile {
    /// The file's path.
    pub path: String,
    /// The file's present contents.
    pub holds: FileHolds,
}

/// The present contents of a file that belongs to a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileHolds {
    /// The contents from before the switch.
    Old,
    /// The contents that the switch wrote.
    New,
    /// Other contents, which somebody else wrote after the switch.
    Other,
    /// looptax could not read any contents.
    Nothing,
    /// The file cannot be the file that the switch wrote: it is a symbolic link, or it belongs to another user.
    Foreign,
}
