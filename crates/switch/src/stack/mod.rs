//! A web server and the server behind it, moved together: the files of both programs as one switch.
//!
//! `pair` reads both files and finds how they belong together, `looking` follows the way that the web server would
//! take, `plan` decides what would be written, `way` waits for both programs and proves the switch, and `eyes` asks the
//! kernel. `front` and `back` know the programs, with one file each; `rights` knows who may write to a socket that does
//! not exist yet. `copy` makes the texts of a private copy of both, for a trial. Nothing is written here: `carry` does
//! that.

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

/// Both programs as they are running.
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

    /// # Errors
    /// If one of the two cannot be made to read its file while it runs, and the caller passed no command for it.
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
        // The server behind comes first: until its socket exists, the web server has no destination.
        let mut reloads = Vec::new();
        if is_back_too {
            let said = self.back.reload(&self.back_master);
            reloads.push(said.map(|it| Line::from(&*it)).map_err(by_hand)?);
        }
        reloads.push(self.front.reload(&self.front_master).map_err(by_hand)?);
        Ok(Commands { tests, reloads, ..Commands::default() })
    }
}

/// Returns the connections of a text, read as this application's file, with the text that would be written for a
/// socket.
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
