//! The steps that a switch was about to do and did: a line of JSON per step, on the disk before the step is done.
//!
//! If looptax was killed, the last line may be a part of one; it means a step that was not begun.

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
/// More than the steps of any switch.
const MOST_BYTES: u64 = 64 << 20;
/// Form of the lines; a newer one is not touched.
pub(crate) const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// The plan of files to write; the first line.
    Planned {
        version: u32,
        /// When, as RFC 3339.
        at: String,
        /// The subject of the switch, for a person: `WordPress, mysql at 127.0.0.1:3306`.
        title: String,
        files: Vec<PlannedFile>,
        /// Where it prepares the way for others: what it changes beside files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fix: Option<Fix>,
    },
    Moving {
        connections: Vec<MovedFrom>,
        /// Where a web server moves together with what is behind it: the programs that read the files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stack: Option<StackOf>,
        /// Where a server's own file is the first one: what has the server read it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<Box<ServerOf>>,
    },
    /// All files are about to become new.
    Writing,
    Written,
    /// All files are about to become old again.
    PuttingBack {
        /// Why, for a person; a code of a step would not tell.
        why: String,
    },
    /// All files are as they were.
    PutBack,
    /// The instructions for a person to have the application read its file.
    ByHand {
        words: String,
    },
    /// A command is about to be run.
    Running {
        command: String,
    },
    Ran {
        /// Its exit code; `None` if a signal ended it.
        code: Option<i32>,
    },
    /// A statement is about to be run on the server.
    Fixing {
        /// Its place in the fix, from zero.
        idx: usize,
        /// Without its password.
        statement: String,
        /// The statements that take it back, without passwords.
        undo: Vec<String>,
    },
    Fixed {
        idx: usize,
        state: Digest,
    },
    /// The statements are about to be taken back.
    Unfixing {
        why: String,
    },
    /// The accounts are as they were.
    Unfixed,
    /// The evidence that the switch is done, or that it is not.
    Proof {
        holds: bool,
        words: String,
    },
    /// Nothing more is to be done; the last line of a switch that was not undone.
    Ended {
        how: End,
    },
}

/// A connection as it was before a switch: a client that is found there again has fallen back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedFrom {
    /// Where it went.
    pub tcp: SocketAddr,
    /// The processes that were seen there as the account.
    pub kin: Vec<Kin>,
}

/// The programs of a web server's switch, to be found again when it is undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackOf {
    pub front: ProgramOf,
    /// The server behind it; `None` if its file stayed as it was.
    pub pool: Option<ProgramOf>,
    /// Where it listened.
    pub tcp: SocketAddr,
    /// Where it was moved to.
    pub socket: PathBuf,
}

/// A server whose own file is the first of a switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerOf {
    /// For a person: `redis-server`.
    pub name: String,
    pub tcp: SocketAddr,
    /// The socket that it got, or had.
    pub socket: PathBuf,
    /// Whether it had the socket before, and got a longer queue.
    #[serde(default)]
    pub had_socket: bool,
    /// The command that restarts it, for a shell.
    pub restart: String,
    /// The command that takes the user out of its group again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leave: Option<String>,
}

impl ServerOf {
    /// Returns the change that it keeps until it is restarted with its old file.
    pub fn gain(&self) -> &'static str {
        if self.had_socket { "its longer queue" } else { "its socket" }
    }
}

/// The server of a switch, out of its steps.
pub(crate) fn server_of(steps: &[Step]) -> Option<&ServerOf> {
    steps.iter().find_map(|it| match it {
        Step::Moving { server, .. } => server.as_deref(),
        _ => None,
    })
}

/// The programs of a web server's switch, out of its steps.
pub(crate) fn stack_of(steps: &[Step]) -> Option<&StackOf> {
    steps.iter().find_map(|it| match it {
        Step::Moving { stack, .. } => stack.as_ref(),
        _ => None,
    })
}

/// A program that runs all the time.
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
    /// The server lets the application in over the socket now; its own files are another switch.
    Prepared,
    /// Written; nothing connected within the time, so nothing is proved.
    Unproved,
    /// The old files are back, since it did not work.
    PutBack,
    /// The old files are back, since somebody wanted them.
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

/// A change that prepares the way for switches, and is undone not only by files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case")]
pub enum Fix {
    /// Statements on a server of MySQL or MariaDB.
    Account {
        /// The server's address, without a password.
        server: String,
    },
    /// A line of PostgreSQL's `pg_hba.conf`: a file of the switch, which the server has to read again.
    Hba { data: PathBuf },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedFile {
    /// The file's path, with links followed.
    pub path: PathBuf,
    /// The neighbour's name until it takes the file's place.
    pub(crate) staged: String,
    pub(crate) old: Digest,
    pub(crate) new: Digest,
    /// The identity of its folder; `None` if that is made with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<Identity>,
    /// Whose it is: user and group.
    pub(crate) owner: [u32; 2],
    /// How it is made, if it was not there before.
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
    /// For a part of a name that no other folder gives.
    pub(crate) fn mark(self) -> String {
        format!("{:x}-{:x}", self.dev, self.ino)
    }
}

/// An open journal that no other process works on.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
    file: File,
    pub(crate) steps: Vec<Step>,
}

impl Journal {
    /// Makes one in a folder without a journal.
    pub(crate) fn create(folder: &Folder) -> Result<Self, SwitchError> {
        Self::locked(folder, folder.create(NAME, 0o600))
    }

    /// Opens that of a switch which was begun earlier.
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
            // A file system without locks has them all free.
            _ => Ok(Self { folder: folder.path().to_owned(), file, steps: Vec::new() }),
        }
    }

    /// Ends a line that was cut off, so that the next one is separate.
    fn close_last_line(&mut self) -> Result<(), SwitchError> {
        let mut text = Vec::new();
        let mut file = &self.file;
        let done = file.read_to_end(&mut text).and_then(|_| match text.last() {
            None | Some(b'\n') => Ok(()),
            Some(_) => file.write_all(b"\n"),
        });
        self.or_failed(done)
    }

    /// Has a step on the disk.
    pub(crate) fn add(&mut self, step: Step) -> Result<(), SwitchError> {
        let mut line = serde_json::to_vec(&step).expect("a step is plain data");
        line.push(b'\n');
        let before = self.file.metadata().map(|it| it.len());
        let done = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        if let (Err(_), Ok(before)) = (&done, before) {
            // The next line has to be separate.
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

/// Takes the lock, and waits a moment for it: a process that its last holder has just begun to start holds it until it
/// runs its own program.
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

/// Whether a looptax works on it just now.
pub(crate) fn is_busy(folder: &Folder) -> bool {
    let Ok(file) = folder.open_own(NAME) else {
        return false;
    };
    let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared);
    locked == Err(Errno::WOULDBLOCK)
}

/// Whether there is a journal without a whole line, and no looptax works on it: the process that made it ended before
/// it had a plan.
pub(crate) fn is_without_plan(folder: &Folder) -> bool {
    let begun = folder.read_own(NAME, MOST_BYTES);
    begun.is_ok_and(|it| !it.contains(&b'\n')) && !is_busy(folder)
}

/// Removes a folder that has no plan: its journal last, so that what cannot be removed now is known for what it is later.
pub(crate) fn discard(all: &Folder, id: &OsStr) -> io::Result<()> {
    let own = all.folder(id)?;
    for name in own.names()?.iter().filter(|it| *it != NAME) {
        own.remove_all(name)?;
    }
    all.remove_all(id)
}

/// Reads the steps of a journal, even if a process is at work on it; a line that is not a step is left out.
pub(crate) fn read(folder: &Folder) -> Result<Vec<Step>, SwitchError> {
    let unreadable = |why: String| SwitchError::Unreadable { path: folder.path().to_owned(), why };
    let bytes = match folder.read_own(NAME, MOST_BYTES) {
        // Killed before there was one.
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
        Some(_) => Err(unreadable("it does not begin with a plan".to_owned())),
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
