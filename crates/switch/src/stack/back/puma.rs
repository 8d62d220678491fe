//! Controls Puma: its restart by SIGUSR2, after which it listens on the address in its file (seen with 5.6). Every user
//! may use its socket.

use looptax_host::discover::Process;

use super::super::program::{reload, restart_of_unit};
use super::super::rights::{Access, User};
use super::known::{BackProgram, Closed, Own, Wanted};

/// The socket's mode, whatever Puma's umask is, unless its `bind` sets another mode.
const MODE: u32 = 0o777;

#[derive(Debug)]
pub(super) struct Puma;

impl BackProgram for Puma {
    fn name(&self) -> &'static str {
        "puma"
    }

    fn title(&self) -> &'static str {
        "Puma"
    }

    fn applications(&self) -> &'static [&'static str] {
        &["puma"]
    }

    fn extension(&self) -> &'static str {
        "rb"
    }

    /// Whether the command line is a title that Puma sets, such as `puma 5.6.5 (tcp://127.0.0.1:3000) [shop]`.
    fn is_it(&self, process: &Process) -> bool {
        let words = process.arguments();
        words.first().is_some_and(|it| it.starts_with("puma "))
    }

    fn objection(&self, own: &Own<'_>) -> Option<Closed> {
        let has_port = |it: &str| it.trim_start().starts_with("port ");
        let line = own.text.lines().find(|it| has_port(it))?;
        Some(Closed {
            what: format!("`{}` in Puma's file opens a port in addition to the socket", line.trim()),
            next: "remove that line".to_owned(),
        })
    }

    fn reload(&self, master: &Process) -> Result<String, String> {
        // A unit's reload is often a phased restart, after which Puma still listens on its old address.
        Ok(restart_of_unit(master).unwrap_or_else(|| reload(master, "USR2")))
    }

    fn rights(&self) -> &'static str {
        "its file"
    }

    fn access(&self, own: &Own<'_>) -> Result<Access, String> {
        Ok(Access { uid: own.master.uid, gid: own.master.gid, mode: MODE })
    }

    fn opening(&self, _: Access, _: &User, _: &Own<'_>) -> Result<Vec<Wanted>, Closed> {
        Ok(Vec::new())
    }
}
