//! A web server and what is behind it, moved together: nginx's file and the file of PHP-FPM's pool, as one switch.
//!
//! `plan` reads both files and `looking` goes the way that nginx would go; neither writes anything. `carry` writes, has both files
//! tested before anybody reloads, reloads the pool first, and proves it; `eyes` asks the kernel. `nginx` and `fpm` know
//! their programs, `rights` who may write to a socket that is yet to be made.

mod carry;
mod eyes;
mod fpm;
mod looking;
mod nginx;
mod plan;
mod program;
mod rights;
mod undo;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use looptax_diagnose::check::{FileText, Sources, Switchable};
use looptax_discover::Process;
use looptax_failure::Failure;

use crate::journal::StackOf;
use crate::plan::Plan;

pub use carry::{StackOrder, carry_out_stack};
pub use plan::look_at_stack;
pub use undo::undo_stack;

/// The name that the table of applications has for nginx's files.
const FRONT: &str = "nginx_fastcgi";

/// What somebody wants moved together.
#[derive(Debug, Clone, Copy)]
pub struct StackWish<'a> {
    /// Both files, in whatever order.
    pub files: [&'a Path; 2],
    /// Where the socket is to be.
    pub socket: Option<&'a Path>,
}

/// A plan with the programs that read its files.
#[derive(Debug)]
pub struct Stack {
    /// The plan: the web server's connections, then the pool's.
    pub plan: Plan,
    /// nginx's master.
    front: Process,
    /// One of its workers.
    worker: Process,
    /// PHP-FPM's master.
    pool: Process,
    /// Whether the pool's file changes too.
    pool_moves: bool,
    /// Where the pages go now.
    tcp: SocketAddr,
    /// Where they will.
    socket: PathBuf,
}

impl Stack {
    /// The lines of a shell that test both files, and what has them read then, in this order.
    pub fn commands(&self, reload: Option<&str>) -> (Vec<String>, Vec<String>) {
        let told = self.told();
        commands(
            &self.front,
            Some(&self.pool).filter(|_| told.pool.is_some()),
            reload,
        )
    }

    fn told(&self) -> StackOf {
        StackOf {
            front: program::told(&self.front),
            pool: self.pool_moves.then(|| program::told(&self.pool)),
            tcp: self.tcp,
        }
    }
}

fn commands(
    front: &Process,
    pool: Option<&Process>,
    reload: Option<&str>,
) -> (Vec<String>, Vec<String>) {
    let mut tests = vec![nginx::test(front)];
    tests.extend(pool.map(fpm::test));
    // The pool first: until its socket is there, nginx has nowhere to go.
    let own = || {
        let pool = pool.map(|it| program::reload(it, "USR2"));
        pool.into_iter()
            .chain([program::reload(front, "HUP")])
            .collect()
    };
    (tests, reload.map_or_else(own, |it| vec![it.to_owned()]))
}

/// The connections of a text, as that application's, with what would be written for a socket.
fn connections(
    path: &Path,
    text: &str,
    application: &str,
    socket: &Path,
) -> Result<Vec<Switchable>, Failure> {
    let file = FileText {
        path,
        text,
        pid: None,
        application: Some(application),
        environment: &std::collections::BTreeMap::new(),
        by_service: false,
    };
    Ok(Sources::for_socket(&file, socket)?.0)
}
