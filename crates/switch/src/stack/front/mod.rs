//! Web servers and proxies: the process that reads a file, its workers, the test of its files, and the command that
//! makes it read them.
//!
//! `known` is the interface; each program has its own file. looptax runs these programs only to test and list their own
//! files.

mod apache;
mod caddy;
mod haproxy;
mod known;
pub(super) mod nginx;

use std::path::{Path, PathBuf};

use looptax_host::discover::{Process, any_process};
use looptax_host::{processes, read};
use looptax_model::failure::Failure;

use super::program::{masters, workers};
use crate::diagnose::check::Count;
pub(super) use known::{Files, FrontProgram};

pub(super) const ALL: [&dyn FrontProgram; 5] =
    [&nginx::Nginx, &apache::Apache("apache2"), &apache::Apache("httpd"), &caddy::Caddy, &haproxy::Haproxy];

#[derive(Debug)]
pub(super) struct Front {
    pub(super) program: &'static dyn FrontProgram,
    pub(super) master: Process,
    /// A process that connects to the upstream; the master process itself if it has no workers.
    pub(super) worker: Process,
    pub(super) files: Files,
}

pub(super) fn by_name(name: &str) -> Option<&'static dyn FrontProgram> {
    ALL.into_iter().find(|it| it.name() == name)
}

impl Front {
    /// Returns the maximum number of connections that the web server may open at the same time, according to its files.
    pub(super) fn at_once(&self) -> Option<Count> {
        let n_workers = workers(&self.master).iter().filter(|it| self.program.is_serving(it)).count();
        self.program.at_once(&self.files, u32::try_from(n_workers.max(1)).ok()?)
    }

    /// Finds the running web server that reads this file.
    ///
    /// # Errors
    /// If no running web server reads this file; the error also contains the reasons why looptax could not read the
    /// files of some web servers.
    pub(super) fn find(program: &'static dyn FrontProgram, file: &Path) -> Result<Self, Failure> {
        let mut unread = Vec::new();
        let masters = masters(|it| it.program_name() == program.name());
        for master in masters.into_iter().filter(|it| program.is_ours(it)) {
            let files = match program.files(&master) {
                Ok(files) => files,
                // If the process has ended in the meantime, its files do not matter.
                Err(_) if processes::stat(master.pid).is_none_or(|it| it.has_ended) => continue,
                Err(why) => {
                    unread.push(why);
                    continue;
                }
            };
            let is_it = |(path, _): &(PathBuf, String)| read::real_path(path).is_ok_and(|it| it == file);
            if !files.iter().any(is_it) {
                continue;
            }
            let own = workers(&master);
            let worker = own.iter().find(|it| program.is_serving(it)).cloned();
            let worker = worker.or_else(|| own.is_empty().then(|| master.clone()));
            let Some(worker) = worker else {
                return Err(Failure::usage(
                    format!("{} {} has no workers", program.title(), master.pid),
                    "read its error log",
                ));
            };
            return Ok(Self { program, master, worker, files });
        }
        let (title, shown) = (program.title(), file.display());
        if let Some(pid) = hidden(program) {
            return Err(Failure::usage(
                format!(
                    "no process that looptax can inspect reads {shown}; {title} {pid} belongs to another user, so \
                     looptax cannot see which files this process reads"
                ),
                "run looptax as root",
            ));
        }
        let none = format!("no running {title} reads {shown}");
        if unread.is_empty() {
            return Err(Failure::usage(none, "start the program, or pass the file that the running program reads"));
        }
        // Any of these processes may be the one that reads the file.
        let reasons: Vec<_> = unread.iter().map(ToString::to_string).collect();
        let mut hints: Vec<_> = unread.iter().filter_map(Failure::hint).collect();
        hints.dedup();
        Err(Failure::usage(format!("{none}, as far as looptax can see: {}", reasons.join("; ")), hints.join("; ")))
    }
}

/// Returns the pid of a process that runs this program, if the user may not inspect that process.
fn hidden(program: &dyn FrontProgram) -> Option<u32> {
    if rustix::process::geteuid().is_root() {
        return None;
    }
    let mut found = None;
    any_process(|it| {
        let is_hidden = it.program.is_none() && it.program_name() == program.name();
        if is_hidden {
            found.get_or_insert(it.pid);
        }
        is_hidden
    });
    found
}

/// Whether only new workers are serving. The earlier workers then accept no more requests.
pub(super) fn has_new_workers(program: &dyn FrontProgram, master: &Process, before: &[Process]) -> bool {
    let is_old = |it: &Process| before.iter().any(|old| old.pid == it.pid);
    let all = workers(master).into_iter();
    let mut serving = all.filter(|it| program.is_serving(it)).peekable();
    // A program without workers serves requests in its master process.
    before.is_empty() || serving.peek().is_some() && serving.all(|it| !is_old(&it))
}
