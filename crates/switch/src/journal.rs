//! The journal of a switch: a line of JSON for each step that is about to be done or is done. A line is on disk before
//! its step is done.
//!
//! If looptax was killed, the last line may be incomplete; the step of an incomplete line was not started.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::{Component, PathBuf};
use std::time::Duration;

use looptax_host::{FileId, Folder, plain};
use looptax_model::record::SwitchStanding;
use rustix::fs::{FlockOperation, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::SwitchError;
use crate::digest::Digest;
use crate::file::Created;
use crate::proof::Kin;

pub(crate) const NAME: &str = "journal";
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(10);
/// The maximum number of bytes of a journal that are read; the steps of any switch need fewer.
const MOST_BYTES: u64 = 64 << 20;
/// The version of the lines' format; looptax does not touch a journal with a newer version.
pub(crate) const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// The plan of files to write; always the first line.
    Planned {
        version: u32,
        /// The time, as RFC 3339.
        at: String,
        /// The subject of the switch, for a person: `WordPress, mysql at 127.0.0.1:3306`.
        title: String,
        files: Vec<PlannedFile>,
        /// The fix, if this switch only makes later switches possible.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fix: Option<Fix>,
    },
    Moving {
        connections: Vec<MovedFrom>,
        /// The programs that read the files, if a web server and its upstream are switched together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stack: Option<StackOf>,
        /// The server whose own file is the first file of the switch, if there is such a server.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<Box<ServerOf>>,
    },
    /// looptax is about to write all new files.
    Writing,
    Written,
    /// looptax is about to put all old files back.
    PuttingBack {
        /// The reason, for a person; a step's code would not explain enough.
        why: String,
    },
    /// All files are as they were before the switch.
    PutBack,
    /// How a person makes the application read its file.
    ByHand {
        words: String,
    },
    /// looptax is about to run a command.
    Running {
        command: String,
    },
    Ran {
        /// The command's exit code; `None` if a signal ended it.
        code: Option<i32>,
    },
    /// looptax is about to run a statement on the server.
    Fixing {
        /// Index of the statement in the fix.
        idx: usize,
        /// The statement without its password.
        statement: String,
        /// The statements that undo `statement`, without passwords.
        undo: Vec<String>,
    },
    Fixed {
        idx: usize,
        state: Digest,
    },
    /// looptax is about to undo the statements.
    Unfixing {
        why: String,
    },
    /// The accounts are as they were before the fix.
    Unfixed,
    /// The evidence that the switch works, or that it does not.
    Proof {
        holds: bool,
        words: String,
    },
    /// The switch is complete. This is the last line, unless the switch is undone later.
    Ended {
        how: End,
    },
}

/// A connection as it was before a switch. A client that has such a connection again no longer uses the socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedFrom {
    /// The address to which the connection led.
    pub tcp: SocketAddr,
    /// The processes with the application's account that were seen on the connection.
    pub kin: Vec<Kin>,
}

/// The programs of a web server's switch; an undo has to find these programs again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackOf {
    pub front: ProgramOf,
    /// The server to which the web server passes its requests; `None` if that server's file did not change.
    pub pool: Option<ProgramOf>,
    /// The address at which the server behind the web server listened.
    pub tcp: SocketAddr,
    /// The socket to which the server behind the web server was moved.
    pub socket: PathBuf,
}

/// A server whose own file is the first file of a switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerOf {
    /// The server's name for a person: `redis-server`.
    pub name: String,
    pub tcp: SocketAddr,
    /// The socket that the server got, or already had.
    pub socket: PathBuf,
    /// Whether the server already had the socket, and the switch only made the socket's queue longer.
    #[serde(default)]
    pub had_socket: bool,
    /// The shell command that restarts the server.
    pub restart: String,
    /// The command that removes the application's user from the server's group again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leave: Option<String>,
}

impl ServerOf {
    /// Names the thing that the server keeps until it restarts with its old file: its socket, or its longer queue.
    pub fn gain(&self) -> &'static str {
        if self.had_socket { "its longer queue" } else { "its socket" }
    }
}

/// Finds in a switch's steps the server whose own file the switch changed.
pub(crate) fn server_of(steps: &[Step]) -> Option<&ServerOf> {
    steps.iter().find_map(|it| match it {
        Step::Moving { server, .. } => server.as_deref(),
        _ => None,
    })
}

/// Finds in a switch's steps the programs of a web server's switch.
pub(crate) fn stack_of(steps: &[Step]) -> Option<&StackOf> {
    steps.iter().find_map(|it| match it {
        Step::Moving { stack, .. } => stack.as_ref(),
        _ => None,
    })
}

/// A program that keeps running, as opposed to a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramOf {
    /// The program's name; its file may be an interpreter.
    pub name: String,
    pub words: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    Moved,
    /// The server now lets the application connect over the socket; the application's own files need another switch.
    Prepared,
    /// The files are written, but nothing connected within the time limit, so nothing is proved.
    Unproved,
    /// The old files are back, because the switch did not work.
    PutBack,
    /// The old files are back, because a person requested it.
    Undone,
}

impl End {
    pub fn standing(self) -> SwitchStanding {
        match self {
            Self::Moved => SwitchStanding::Moved,
            Self::Prepared => SwitchStanding::Prepared,
            Self::Unproved => SwitchStanding::Unproved,
            Self::PutBack => SwitchStanding::PutBack,
            Self::Undone => SwitchStanding::Undone,
        }
    }
}

/// A change that makes switches possible. To undo it, looptax has to do more than put files back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case")]
pub enum Fix {
    /// Statements that ran on a server of MySQL or MariaDB.
    Account {
        /// The server's address, without a password.
        server: String,
    },
    /// A line of PostgreSQL's `pg_hba.conf`. The switch writes this file, and the server has to reload it.
    Hba { data: PathBuf },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedFile {
    /// The file's path, with links followed.
    pub path: PathBuf,
    /// The name of the new file before it replaces the old file.
    pub(crate) staged: String,
    pub(crate) old: Digest,
    pub(crate) new: Digest,
    /// The identity of the file's folder; `None` if the folder is created together with the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<Identity>,
    /// The file's user and group.
    pub(crate) owner: [u32; 2],
    /// How to create the file, if it did not exist before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) created: Option<Created>,
}

/// The identity of a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    dev: u64,
    ino: u64,
}

impl From<&Stat> for Identity {
    fn from(stat: &Stat) -> Self {
        let FileId { dev, ino } = FileId::from(stat);
        Self { dev, ino }
    }
}

impl Identity {
    /// Returns a text that identifies the folder, for use in a file name. No other folder gives the same text.
    pub(crate) fn mark(self) -> String {
        format!("{:x}-{:x}", self.dev, self.ino)
    }
}

/// An open journal, locked so that no other process works on it.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
    file: File,
    pub(crate) steps: Vec<Step>,
}

impl Journal {
    /// Creates a journal in a folder that does not have a journal yet.
    pub(crate) fn create(folder: &Folder) -> Result<Self, SwitchError> {
        Self::locked(folder, folder.create(NAME, 0o600))
    }

    /// Opens the journal of a switch that was started earlier.
    pub(crate) fn open(folder: &Folder) -> Result<Self, SwitchError> {
        let mut journal = Self::locked(folder, folder.append_own(NAME))?;
        journal.steps = read(folder)?;
        journal.close_last_line()?;
        Ok(journal)
    }

    fn locked(folder: &Folder, opened: io::Result<File>) -> Result<Self, SwitchError> {
        let file = opened.map_err(|source| SwitchError::Journal { path: folder.path().to_owned(), source })?;
        match lock(&file) {
            Err(Errno::WOULDBLOCK) => {
                let id = folder.path().file_name().unwrap_or_default();
                Err(SwitchError::Busy { id: id.to_string_lossy().into_owned() })
            }
            // On a file system without locks, every lock counts as free.
            _ => Ok(Self { folder: folder.path().to_owned(), file, steps: Vec::new() }),
        }
    }

    /// If the last line was cut off, adds a line end to it, so that the next step gets its own line.
    fn close_last_line(&mut self) -> Result<(), SwitchError> {
        let mut text = Vec::new();
        let mut file = &self.file;
        let done = file.read_to_end(&mut text).and_then(|_| match text.last() {
            None | Some(b'\n') => Ok(()),
            Some(_) => file.write_all(b"\n"),
        });
        self.or_failed(done)
    }

    /// Writes a step to the disk.
    pub(crate) fn add(&mut self, step: Step) -> Result<(), SwitchError> {
        let mut line = serde_json::to_vec(&step).expect("a step is plain data");
        line.push(b'\n');
        let before = self.file.metadata().map(|it| it.len());
        let done = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        if let (Err(_), Ok(before)) = (&done, before) {
            // Cuts off the partly written line, so that the next step starts on its own line.
            let _cut_off = self.file.set_len(before);
        }
        self.or_failed(done)?;
        self.steps.push(step);
        Ok(())
    }

    fn or_failed<T>(&self, done: io::Result<T>) -> Result<T, SwitchError> {
        done.map_err(|source| SwitchError::Journal { path: self.folder.clone(), source })
    }
}

/// Takes the lock. If the lock is held, retries for a moment. The last holder may just have started a process: this
/// process also holds the lock, until it executes its own program.
fn lock(file: &File) -> rustix::io::Result<()> {
    let take = || rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive);
    for _ in 0..LOCK_TRIES {
        if take() != Err(Errno::WOULDBLOCK) {
            return Ok(());
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    take()
}

/// Whether another looptax process is working on the journal at present.
pub(crate) fn is_busy(folder: &Folder) -> bool {
    let Ok(file) = folder.open_own(NAME) else {
        return false;
    };
    let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared);
    locked == Err(Errno::WOULDBLOCK)
}

/// Whether a journal has no complete line, and no looptax process is working on it. The process that made such a
/// journal ended before it had a plan.
pub(crate) fn is_without_plan(folder: &Folder) -> bool {
    let begun = folder.read_own(NAME, MOST_BYTES);
    begun.is_ok_and(|it| !it.contains(&b'\n')) && !is_busy(folder)
}

/// Removes a folder that has no plan. Removes the journal last, so that a partly removed folder can still be recognised
/// later.
pub(crate) fn discard(all: &Folder, id: &OsStr) -> io::Result<()> {
    let own = all.folder(id)?;
    for name in own.names()?.iter().filter(|it| *it != NAME) {
        own.remove_all(name)?;
    }
    all.remove_all(id)
}

/// Reads the steps of a journal, even while a process is working on it; skips a line that is not a step.
pub(crate) fn read(folder: &Folder) -> Result<Vec<Step>, SwitchError> {
    let unreadable = |why: String| SwitchError::Unreadable { path: folder.path().to_owned(), why };
    let bytes = match folder.read_own(NAME, MOST_BYTES) {
        // looptax was killed before it created the journal.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        found => found.map_err(|error| unreadable(error.to_string()))?,
    };
    let steps: Vec<Step> =
        bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    match steps.first() {
        Some(Step::Planned { version, .. }) if *version > VERSION => {
            Err(unreadable("a newer looptax wrote it".to_owned()))
        }
        Some(Step::Planned { files, .. }) => match files.iter().find_map(PlannedFile::objection) {
            Some(objection) => Err(unreadable(objection)),
            None => Ok(steps),
        },
        None => Ok(steps),
        Some(_) => Err(unreadable("the journal does not begin with a plan".to_owned())),
    }
}

impl PlannedFile {
    fn objection(&self) -> Option<String> {
        let is_whole = self.path.is_absolute() && self.path.file_name().is_some() && { self.path.components() }
            .all(|it| matches!(it, Component::RootDir | Component::Normal(_)));
        if !is_whole {
            return Some(format!("`{}` is not the path of a file", self.path.display()));
        }
        plain(OsStr::new(&self.staged)).err().map(|it| it.to_string())
    }
}
