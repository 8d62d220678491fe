//! Proves a switch of both sides: the server runs again and has its socket, the application uses the socket, and the
//! other clients are connected again.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_host::discover::{Process, Server, is_listened_at, listened_paths, process, survey};
use looptax_host::waiting;
use looptax_model::dsn::Address;
use looptax_model::record::{Outcome, StepCode, SwitchStep};

use super::others::Others;
use crate::clock::Since;
use crate::diagnose::check::{Client, on_its_socket};
use crate::journal::{ServerOf, Step};
use crate::proof::{Application, Judged, Proof, Watches};
use crate::step::{step, stopped};

const PAUSE: Duration = Duration::from_millis(20);
/// How long looptax waits for the socket's permissions: a server creates its socket first, and then sets the
/// permissions.
const RIGHTS_WITHIN: Duration = Duration::from_secs(3);
/// The pause between two inspections of the server's clients.
const BETWEEN_LOOKS: Duration = Duration::from_millis(700);

pub(super) struct ServerSide {
    of: ServerOf,
    /// The server's process before the restart.
    before: Process,
    /// The address to which the application connects, with its login.
    address: Address,
    /// The client, with whose rights looptax connects to the socket.
    client: Client,
    watches: Watches,
    others: Others,
    /// Whether the server keeps listening on its port in addition to the socket.
    keeps_port: bool,
    looked: Option<Since>,
}

impl ServerSide {
    pub(super) fn new(
        (of, before): (ServerOf, Process),
        address: Address,
        client: Client,
        watches: Watches,
        others: Others,
        keeps_port: bool,
    ) -> Self {
        Self { of, before, address, client, watches, others, keeps_port, looked: None }
    }

    fn is_back(&self, has_socket: bool) -> bool {
        let is_at_port = || {
            let own = process(std::process::id());
            own.is_some_and(|own| is_listened_at(self.of.tcp, &own) == Some(true))
        };
        (!has_socket || listened_paths().on(&self.of.socket).is_some())
            && (has_socket && !self.keeps_port || is_at_port())
    }

    fn wait_for_server(&self, has_socket: bool, within: Duration, stop: &AtomicBool) -> Result<(), SwitchStep> {
        let start = Since::now();
        while !self.is_back(has_socket) {
            if stop.load(Ordering::Relaxed) {
                return Err(stopped());
            }
            if start.elapsed() > within {
                return Err(step(StepCode::ServerGone, self.why_not_back(has_socket)));
            }
            waiting::pause(PAUSE);
        }
        Ok(())
    }

    fn why_not_back(&self, has_socket: bool) -> String {
        let ServerOf { name, socket, tcp, restart, .. } = &self.of;
        let place = if has_socket { socket.display().to_string() } else { tcp.to_string() };
        let pid = self.before.pid;
        match process(pid) {
            Some(same) if same == self.before => {
                format!("{name} {pid} runs as before and does not listen at {place}: `{restart}` did not restart it")
            }
            _ => format!("{name} does not listen at {place} after `{restart}`: start {name}"),
        }
    }

    /// Returns the server as it is running at present.
    fn server(&self) -> Option<Server> {
        let is_it = |it: &Server| {
            let at_port = it.endpoints.iter().any(|it| it.place.takes(self.of.tcp));
            at_port || it.paths().any(|it| it == self.of.socket)
        };
        survey(None).servers.into_iter().find(is_it)
    }

    /// Watches the server that is running now. The earlier process has ended, and so have all connections to it.
    fn watch_anew(&mut self) {
        let Some(server) = self.server() else { return };
        for watch in self.watches.all.iter_mut().filter(|it| it.watched().tcp == Some(self.of.tcp)) {
            *watch = watch.of_restarted(server.clone());
        }
    }

    /// Checks whether the application can log in over the socket that exists now.
    fn gets_in(&self) -> Result<(), SwitchStep> {
        let start = Since::now();
        loop {
            let points = on_its_socket(&self.of.socket, &self.address, &self.client);
            let points = points.map_err(|why| step(StepCode::LoginsRefused, why.to_string()))?;
            let Some(refused) = points.into_iter().find(|it| it.outcome == Outcome::Fail) else {
                return Ok(());
            };
            if start.elapsed() > RIGHTS_WITHIN {
                return Err(step(StepCode::LoginsRefused, refused.what));
            }
            waiting::pause(PAUSE);
        }
    }

    fn look_at_others(&mut self) {
        if self.looked.as_ref().is_none_or(|it| it.elapsed() >= BETWEEN_LOOKS) {
            let now = survey(None);
            let is_it = |it: &&Server| it.paths().any(|it| it == self.of.socket);
            if let Some(pid) = now.servers.iter().find(is_it).map(|it| it.process.pid) {
                self.others.look(pid, &now);
            }
            self.looked = Some(Since::now());
        }
    }
}

impl Proof for ServerSide {
    fn applications(&self) -> Vec<&Application> {
        self.watches.applications()
    }

    fn moving(&mut self) -> Step {
        match self.watches.moving() {
            Step::Moving { connections, stack, .. } => {
                Step::Moving { connections, stack, server: Some(Box::new(self.of.clone())) }
            }
            other => other,
        }
    }

    fn begin(&mut self, files: &[PathBuf]) {
        self.watches.begin(files);
    }

    fn server_has_read(&mut self, within: Duration, stop: &AtomicBool) -> Result<(), SwitchStep> {
        self.wait_for_server(true, within, stop)?;
        self.gets_in()?;
        self.watch_anew();
        Ok(())
    }

    fn server_is_as_before(&mut self, within: Duration, stop: &AtomicBool) -> Result<(), SwitchStep> {
        self.wait_for_server(false, within, stop)?;
        self.watch_anew();
        Ok(())
    }

    fn files_are_read(&mut self, by_command: bool) {
        self.watches.files_are_read(by_command);
    }

    fn look(&mut self) {
        self.watches.look();
    }

    fn judge(&mut self, is_last: bool, is_asked: bool) -> Option<Judged> {
        let mut judged = self.watches.judge(is_last, is_asked)?;
        let Judged::Holds(steps) = &mut judged else {
            return Some(judged);
        };
        self.look_at_others();
        let missing = self.others.missing();
        if missing.is_empty() {
            let words = format!("{} listens on {}", self.of.name, self.of.socket.display());
            steps.insert(0, step(StepCode::SeenOverSocket, words));
            return Some(judged);
        }
        let (were, have) = if missing.len() == 1 { ("was", "has") } else { ("were", "have") };
        let words = format!(
            "{} {were} connected to {name} before {name} was restarted, and {have} not connected again",
            missing.join(", "),
            name = self.of.name
        );
        // The application itself has moved, but other clients are missing.
        is_last.then_some(Judged::Unseen(words))
    }

    fn cause(&mut self) -> Option<SwitchStep> {
        self.watches.cause()
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.watches.notes();
        let gone = self.others.gone();
        if !gone.is_empty() {
            let name = &self.of.name;
            let (were, are) = if gone.len() == 1 { ("was", "is") } else { ("were", "are") };
            notes.push(format!(
                "{} {were} connected to {name} before {name} was restarted, and {are} no longer running",
                gone.join(", ")
            ));
        }
        notes
    }

    fn log_lines(&self) -> Vec<String> {
        self.watches.log_lines()
    }

    fn old_files_are_back(&mut self, limit: Option<Duration>) {
        self.watches.old_files_are_back(limit);
    }

    fn works_again(&mut self) -> Option<String> {
        self.watches.works_again()
    }
}

/// Whether a server listens again on the address that it had before a switch gave it a socket.
pub(crate) fn is_back_at_its_port(of: &ServerOf, within: Duration, stop: &AtomicBool) -> bool {
    let start = Since::now();
    let is_there = || process(std::process::id()).is_some_and(|own| is_listened_at(of.tcp, &own) == Some(true));
    while !is_there() {
        if stop.load(Ordering::Relaxed) || start.elapsed() > within {
            return false;
        }
        waiting::pause(PAUSE);
    }
    true
}
