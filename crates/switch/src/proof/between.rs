//! Follows a connection between two services of a Compose file: the command that reads the file creates new containers.
//!
//! Only Docker keeps a container's service where looptax can read it, and only root may read that.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use looptax_host::discover::{Home, Monitored, Process, Server, any_process, monitored, process, survey};
use looptax_host::read;
use looptax_model::dsn::Address;
use looptax_model::record::{StepCode, SwitchStep};

use super::{Application, Watch, Watched};
use crate::clock::Since;
use crate::step::step;

/// The pause between two searches for the containers.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Between {
    /// The connection's title for a person.
    pub(crate) title: String,
    /// The address that the application uses before the switch; its host is the server's service.
    pub(crate) address: Address,
    /// The socket, as the containers see it.
    pub(crate) socket: PathBuf,
    /// The Compose file, with symbolic links resolved.
    pub(crate) file: PathBuf,
    /// The application's service.
    pub(crate) service: String,
}

impl Between {
    /// Whether containers of both services are running, as far as looptax can see.
    pub(crate) fn is_seen(&self) -> bool {
        let has = |service: &str| !self.processes_of(service).is_empty();
        has(&self.service) && self.address.host.as_deref().is_some_and(has)
    }

    /// Returns the processes in the containers of a service.
    fn processes_of(&self, service: &str) -> Vec<Process> {
        let mut known: BTreeMap<String, bool> = BTreeMap::new();
        let mut all = Vec::new();
        any_process(|it| {
            if let Home::Container { name, .. } = &it.home
                && *known
                    .entry(name.clone())
                    .or_insert_with(|| monitored(it).is_some_and(|it| self.is_of(&it, service)))
            {
                all.push(it.clone());
            }
            false
        });
        all
    }

    fn is_of(&self, container: &Monitored, service: &str) -> bool {
        let file = container.compose_file.as_deref().and_then(|it| read::real_path(it).ok());
        container.service.as_deref() == Some(service) && file.as_ref() == Some(&self.file)
    }

    /// Returns the server that listens on the socket, or that only runs if `has_socket` is false.
    fn server(&self, has_socket: bool) -> Option<Server> {
        let own = self.processes_of(self.address.host.as_deref()?);
        let name = self.socket.file_name();
        let is_it = |it: &Server| {
            own.iter().any(|own| own.pid == it.process.pid)
                && (!has_socket || it.paths().any(|it| it.file_name() == name))
        };
        survey(None).servers.into_iter().find(is_it)
    }
}

struct Running {
    watch: Watch,
    server: Process,
    /// The server's socket; `None` if there is none.
    _socket: Option<OwnedFd>,
}

/// A connection that is being followed.
pub(super) struct Followed {
    of: Between,
    /// The watch over the containers that run at present.
    watch: Option<Running>,
    looked: Option<Since>,
    /// Whether the old file is back, with which the server may have no socket.
    is_back: bool,
}

impl Followed {
    pub(super) fn new(of: Between) -> Self {
        Self { of, watch: None, looked: None, is_back: false }
    }

    pub(super) fn watch(&mut self) -> Option<&mut Watch> {
        self.watch.as_mut().map(|it| &mut it.watch)
    }

    pub(super) fn watched(&self) -> Option<&Watch> {
        self.watch.as_ref().map(|it| &it.watch)
    }

    /// Notes that the old file is back, and that its containers are about to be created.
    pub(super) fn goes_back(&mut self) {
        (self.watch, self.looked, self.is_back) = (None, None, true);
    }

    /// Searches for the containers, if the last search was long enough ago.
    pub(super) fn look(&mut self) {
        if self.looked.as_ref().is_some_and(|it| it.elapsed() < BETWEEN_LOOKS) {
            return;
        }
        let clients = self.of.processes_of(&self.of.service);
        let is_same = |it: &Running| {
            process(it.server.pid).as_ref() == Some(&it.server) && it.watch.application().are_all_in(&clients)
        };
        self.watch = self.watch.take().filter(|it| !clients.is_empty() && is_same(it));
        match &mut self.watch {
            Some(running) => running.watch.look_from(&clients),
            None if clients.is_empty() => {}
            None => self.watch = self.begin(&clients),
        }
        self.looked = Some(Since::now());
    }

    fn begin(&self, clients: &[Process]) -> Option<Running> {
        let Between { title, address, socket, .. } = &self.of;
        let server = self.of.server(!self.is_back)?;
        // The path leads to the socket only in the container, whose links must not lead out of it.
        let walked = server.process.view().and_then(|it| it.walk_to(socket)).ok();
        let held = walked.and_then(|it| it.last).map(|it| it.fd);
        let socket = held.as_ref().map(|it| PathBuf::from(format!("/proc/self/fd/{}", it.as_raw_fd())));
        let of = Watched {
            title: title.clone(),
            address: address.clone(),
            tcp: None,
            socket,
            server: Some(server.clone()),
            is_behind_proxy: false,
            is_whole: true,
            file: None,
        };
        let watch = Watch::of_new(of, Application::in_containers(clients));
        Some(Running { watch, server: server.process, _socket: held })
    }

    /// Returns the failed step if the containers do not run as the new file says.
    pub(super) fn missing(&self) -> SwitchStep {
        let Between { title, address, socket, service, .. } = &self.of;
        if self.of.processes_of(service).is_empty() {
            let words = format!("{title}: no container of the service `{service}` is running");
            return step(StepCode::ApplicationGone, words);
        }
        let host = address.host.as_deref().unwrap_or_default();
        let socket = socket.display();
        let words = format!("{title}: no container of the service `{host}` listens on {socket}");
        step(StepCode::ServerGone, words)
    }
}
