//! Switches a web server and its upstream, the server behind it, together: the files of both programs are one switch.
//!
//! `pair` reads both files and determines how they belong together, `looking` follows the socket's path as the web
//! server would, `plan` decides what would be written, `way` waits for both programs and proves the switch, and `eyes`
//! reads the kernel's lists. `front` and `back` know the programs, with one file for each program. `rights` determines
//! which users may use a socket that does not exist yet. `copy` makes the texts of a private copy of both programs, for
//! a trial. These modules write nothing: `carry` writes.

mod back;
mod copy;
mod eyes;
mod front;
mod looking;
mod pair;
mod plan;
mod port;
mod program;
pub(crate) mod rights;
mod way;

use std::path::Path;

use crate::diagnose::check::{FileText, Sources, Switchable};
use looptax_host::discover::Process;
use looptax_model::failure::Failure;

use crate::line::{Commands, Line};
use back::BackProgram;
use front::FrontProgram;

pub use back::pool_tests;
pub use copy::{CopyPage, CopyWish, SiteCopy};
pub(crate) use plan::look_at;
pub(crate) use way::Way;

/// Both programs, as they are running at present.
#[derive(Debug, Clone)]
struct Sides {
    front: &'static dyn FrontProgram,
    front_master: Process,
    back: &'static dyn BackProgram,
    back_master: Process,
}

impl Sides {
    /// Whether a process belongs to the web server.
    fn is_front(&self, process: &Process) -> bool {
        let front = self.front_master.pid;
        process.pid == front || process.parent == front
    }

    /// Returns the commands that test and reload the files of the programs that change.
    ///
    /// # Errors
    /// If one of the programs cannot read its file again while it runs, and the caller passed no command for this.
    fn commands(&self, is_back_too: bool, reload: Option<&str>) -> Result<Commands, Failure> {
        let mut tests = vec![self.front.test(&self.front_master)];
        if is_back_too {
            tests.extend(self.back.test(&self.back_master));
        }
        if let Some(reload) = reload {
            let reloads = vec![Line::from(reload)];
            return Ok(Commands { tests, reloads, ..Commands::default() });
        }
        let by_hand = |why: String| {
            Failure::usage(why, "pass a command that makes both programs read their files: --reload COMMAND")
        };
        // The upstream is reloaded first: until its socket exists, the web server could not connect.
        let mut reloads = Vec::new();
        if is_back_too {
            let said = self.back.reload(&self.back_master);
            reloads.push(said.map(|it| Line::from(&*it)).map_err(by_hand)?);
        }
        reloads.push(self.front.reload(&self.front_master).map_err(by_hand)?);
        Ok(Commands { tests, reloads, ..Commands::default() })
    }
}

/// Reads a text as this application's file; returns its connections, with the text that would be written for a socket.
fn connections(path: &Path, text: &str, application: &str, socket: &Path) -> Result<Vec<Switchable>, Failure> {
    let file = FileText {
        path,
        text,
        pid: None,
        application: Some(application),
        environment: &std::collections::BTreeMap::new(),
        by_container: false,
        server_unit: None,
    };
    Sources::for_socket(&file, socket)
}
