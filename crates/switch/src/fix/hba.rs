//! Adds a line to PostgreSQL's `pg_hba.conf` that admits the client over the socket, and makes the server read the
//! line.
//!
//! The file is treated like any file of a switch: it keeps its owner and mode, and there are a journal and an undo.
//! With an administrator's login, the server checks the rules before it loads them. Without such a login, root makes
//! the server load them; in this case looptax changes the file only if it can parse the whole file.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::diagnose::check::hba_file;
use looptax_advise::check::Hba;
use looptax_bench::path::Conversation;
use looptax_host::discover::{Process, Server};
use looptax_host::{FileId, View, kernel, read};
use looptax_model::dsn::{Address, Protocol};
use looptax_model::failure::with_causes;
use looptax_model::record::{Point, StepPlace};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::FixError;
use super::admin::{log_in, refuse_another};
use crate::journal::{Fix, Step};
use crate::text::Text;
use crate::work::{FixPlan, Named};
use crate::{Edited, End, Kept, Work};

/// looptax asks this many times whether the server has read its rules, and then gives up. A server normally reads them
/// immediately.
const LOOKS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// The maximum number of bytes of a lock file that are read; a lock file has a few lines.
const MOST_LOCK_BYTES: u64 = 4 << 10;

/// Asks when the settings of a session were loaded.
const LOADED: &str = "SELECT pg_conf_load_time()::text";
const RELOAD: &str = "SELECT pg_reload_conf()::text";

/// The account for which a line is needed, its server, and how to reach that server.
#[derive(Debug, Clone, Copy)]
pub struct HbaWish<'a> {
    pub points: &'a [Point],
    pub client: &'a Address,
    /// The account's server, if looptax sees it.
    pub server: Option<&'a Server>,
    /// An administrator's login. Without it, looptax has to see the server and to run as root.
    pub admin: Option<&'a Address>,
}

/// A line to write, and the server that will read it.
#[derive(Debug)]
pub struct HbaFix {
    pub line: String,
    /// The number of the line above which the new line is written; `None` for the end of the file.
    pub above: Option<u32>,
    /// The file, with its old and its new text.
    pub edited: Edited,
    data: PathBuf,
    admin: Option<Address>,
}

impl HbaFix {
    /// Finds the file, and the position for the line. Changes nothing.
    ///
    /// # Errors
    /// [`FixError::Nothing`] if no point has a line; [`FixError::BadRules`] if the file has an error already;
    /// [`FixError::NoAdmin`], [`FixError::LogIn`], [`FixError::OtherServer`], [`FixError::Untold`],
    /// [`FixError::Elsewhere`] and [`FixError::Switch`].
    pub fn prepare(wish: HbaWish<'_>) -> Result<Self, FixError> {
        let steps = wish.points.iter().flat_map(|it| &it.steps);
        let mut lines = steps.filter(|it| it.place == StepPlace::HbaLine);
        let line = lines.next().filter(|_| wish.client.protocol == Protocol::Postgres);
        let line = line.ok_or(FixError::Nothing)?.text.clone();
        let (path, data) = match wish.admin {
            Some(admin) => asked(admin, wish.client)?,
            None => seen(wish.server, wish.client)?,
        };
        refuse_elsewhere(&path, &data)?;
        let text = Text::read(&path)?;
        let rules = Hba::parse(&text.content);
        if let (None, Some(number)) = (wish.admin, rules.unread.first()) {
            return Err(FixError::BadRules {
                path,
                why: format!("looptax cannot parse line {number}; with --admin DSN the server itself checks the rules"),
            });
        }
        let user = wish.client.user.as_deref().unwrap_or("postgres");
        let database = wish.client.database.as_deref().unwrap_or(user);
        let placed = rules.insertion(&text.content, &line, database, user);
        let edited = text.edited(&[placed.rewrite]).ok_or(FixError::Elsewhere {
            path,
            why: "the file's encoding cannot represent every character of the line",
        })?;
        Ok(Self { line, above: placed.above, edited, data, admin: wish.admin.cloned() })
    }

    /// Writes the line. If there is an administrator's login, makes the server check its rules. Then makes the server
    /// load the rules. If the rules have an error, puts the old file back.
    ///
    /// # Errors
    /// [`FixError::BadRules`], [`FixError::Reload`] and [`FixError::Switch`]; after each of these the file is as it was
    /// before.
    pub fn run(self, kept: &Kept, named: Named<'_>) -> Result<Work, FixError> {
        let fix = FixPlan { fix: Fix::Hba { data: self.data.clone() }, kept: &[] };
        let edited = [self.edited];
        let mut work = Work::plan_fix(kept, named, &edited, Some(fix))?;
        work.write(&edited)?;
        let path = edited[0].original.path();
        let admin = self.admin.as_ref();
        let taken = look_through(admin, path).and_then(|()| reload(&mut work, &self.data, admin));
        if let Err(error) = taken {
            work.bring_back(&error.to_string())?;
            // The server still has the old rules, unless it read the new rules before it stopped answering.
            let _told = reload(&mut work, &self.data, admin);
            work.end(End::PutBack)?;
            return Err(error);
        }
        work.end(End::Prepared)?;
        Ok(work)
    }
}

/// Puts the old file back and makes the server read it.
pub(super) fn undo(work: &mut Work, data: &Path, admin: Option<&Address>, why: &str, how: End) -> Result<(), FixError> {
    // If looptax cannot make the server reload its rules, it does not put the file back.
    match admin {
        Some(admin) => drop(log_in(admin)?),
        None => drop(postmaster(data)?),
    }
    work.bring_back(why)?;
    reload(work, data, admin)?;
    Ok(work.end(how)?)
}

/// Returns the paths of the file and of the data folder, as the server reports them to the administrator.
fn asked(admin: &Address, client: &Address) -> Result<(PathBuf, PathBuf), FixError> {
    let mut talk = log_in(admin)?;
    refuse_another(&mut talk, admin, client)?;
    let mut show = |name: &str| {
        let path = talk.cell(&format!("SHOW {name}")).and_then(|it| {
            let is_path = it.starts_with('/');
            is_path.then(|| PathBuf::from(&it)).ok_or_else(|| talk.unfit("a path", &it))
        });
        path.map_err(|error| FixError::Untold { what: "the place of its files", why: with_causes(&error) })
    };
    let (path, data) = (show("hba_file")?, show("data_directory")?);
    refuse_errors(&mut talk, &path)?;
    Ok((path, data))
}

/// Returns the paths of the file and of the data folder from the process of a visible server; only for root.
fn seen(server: Option<&Server>, client: &Address) -> Result<(PathBuf, PathBuf), FixError> {
    let no_admin = || FixError::NoAdmin { server: super::admin::shown(client) };
    let server = server.filter(|_| rustix::process::geteuid().is_root());
    let server = server.ok_or_else(no_admin)?;
    let file = hba_file(server).ok_or_else(no_admin)?;
    let data = kernel::link(server.process.file("cwd")).map_err(|_| no_admin())?;
    Ok((PathBuf::from(file.path), data))
}

/// Returns an error unless the server's process sees the same file at this path as looptax does.
fn refuse_elsewhere(path: &Path, data: &Path) -> Result<(), FixError> {
    let elsewhere = |why| FixError::Elsewhere { path: path.to_owned(), why };
    let pid = postmaster_pid(data).ok_or_else(|| {
        elsewhere("the server sees other folders than looptax, or looptax may not inspect the server")
    })?;
    let Some(process) = looptax_host::discover::process(pid) else {
        return Err(elsewhere("looptax did not find the server's process"));
    };
    // Even to a user who may not inspect the process, the lock file shows that this process is the server of the data
    // folder.
    if kernel::link(process.file("cwd")).is_err() {
        return Ok(());
    }
    let same = |view: &View, path: &Path| {
        let both = read::look(path).ok().flatten().zip(view.look(path).ok().flatten());
        both.is_some_and(|(one, other)| FileId::from(&one) == FileId::from(&other))
    };
    let sees_the_same = |view: View| same(&view, data) && same(&view, path);
    if works_in(data, &process) && process.view().is_ok_and(sees_the_same) {
        return Ok(());
    }
    Err(elsewhere("the server sees other folders than looptax: perhaps the server runs in a container"))
}

/// Whether this folder is the working folder of a process.
fn works_in(data: &Path, process: &Process) -> bool {
    let ours = read::look(data).ok().flatten().map(|it| FileId::from(&it));
    let theirs = kernel::metadata(process.file("cwd")).ok();
    let theirs = theirs.map(|it| FileId { dev: it.dev(), ino: it.ino() });
    ours.is_some() && ours == theirs
}

fn postmaster_pid(data: &Path) -> Option<u32> {
    let lock = read::text(&data.join("postmaster.pid"), MOST_LOCK_BYTES).ok()?;
    lock.lines().next()?.trim().parse().ok()
}

/// Opens the process that looptax will signal. The process is held open, so that its pid cannot become another
/// process's pid.
fn postmaster(data: &Path) -> Result<rustix::fd::OwnedFd, FixError> {
    let failed = |why: &str| FixError::Reload { path: data.to_owned(), why: why.to_owned() };
    let pid = postmaster_pid(data).ok_or_else(|| failed("looptax does not know the server's process"))?;
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let number = number.ok_or_else(|| failed("looptax does not know the server's process"))?;
    let process = pidfd_open(number, PidfdFlags::empty())
        .map_err(|error| failed(&format!("cannot open the server's process: {error}")))?;
    let folder = kernel::link(format!("/proc/{pid}/cwd"));
    folder.map_err(|_| failed("looptax may not inspect the server's process: pass --admin DSN"))?;
    looptax_host::discover::process(pid)
        .is_some_and(|it| works_in(data, &it))
        .then_some(process)
        .ok_or_else(|| failed("the server does not run"))
}

/// Makes the server check the rules that are in the file at present. Returns an error if the server reports a mistake.
/// Does nothing without an administrator's login.
fn look_through(admin: Option<&Address>, path: &Path) -> Result<(), FixError> {
    let Some(admin) = admin else { return Ok(()) };
    refuse_errors(&mut log_in(admin)?, path)
}

fn refuse_errors(talk: &mut Conversation, path: &Path) -> Result<(), FixError> {
    let asked = "SELECT 'line ' || line_number || ': ' || error FROM pg_hba_file_rules WHERE error IS NOT NULL";
    let errors = talk
        .column(asked)
        .map_err(|error| FixError::Untold { what: "whether its rules are right", why: with_causes(&error) })?;
    match errors.first() {
        None => Ok(()),
        Some(error) => Err(FixError::BadRules { path: path.to_owned(), why: error.clone() }),
    }
}

/// Makes the server read its files. With an administrator's login, also waits until the server has read them.
fn reload(work: &mut Work, data: &Path, admin: Option<&Address>) -> Result<(), FixError> {
    let failed = |why: String| FixError::Reload { path: data.to_owned(), why };
    let Some(admin) = admin else {
        let process = postmaster(data)?;
        work.note(Step::Running { command: "SIGHUP to the server".to_owned() })?;
        pidfd_send_signal(&process, Signal::HUP).map_err(|error| failed(error.to_string()))?;
        return Ok(work.note(Step::Ran { code: Some(0) })?);
    };
    // A new session has the settings that the server has read last.
    let loaded = || {
        let mut talk = log_in(admin)?;
        talk.cell(LOADED).map_err(|error| failed(with_causes(&error)))
    };
    let before = loaded()?;
    work.note(Step::Running { command: RELOAD.to_owned() })?;
    let said = log_in(admin)?.cell(RELOAD);
    let said = said.map_err(|error| failed(with_causes(&error)))?;
    if said != "true" {
        return Err(failed("the server could not signal its own process".to_owned()));
    }
    work.note(Step::Ran { code: Some(0) })?;
    for _ in 0..LOOKS {
        if loaded()? != before {
            return Ok(());
        }
        thread::sleep(PAUSE);
    }
    Err(failed("the server did not read the file within five seconds".to_owned()))
}
