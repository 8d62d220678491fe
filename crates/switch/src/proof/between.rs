//! Follows a connection between two services of a Compose file: the command that reads the file creates new containers.
//!
//! Only Docker records a container's service where looptax can read it, and only root may read this record.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use looptax_host::discover::{ComposeService, Home, Process, Server, any_process, monitored, process, survey};
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

/// The processes in the running containers of the two services.
#[derive(Default)]
struct Inside {
    client: Vec<Process>,
    server: Vec<Process>,
}

impl Between {
    /// Whether containers of both services are running, as far as looptax can see, and can be followed.
    pub(crate) fn is_seen(&self) -> bool {
        let inside = self.inside();
        !inside.client.is_empty() && self.server(&inside, false).is_some()
    }

    /// Finds the containers. The result is empty if the file runs as several projects, or if several containers of the
    /// server run.
    fn inside(&self) -> Inside {
        let mut known: BTreeMap<String, Option<ComposeService>> = BTreeMap::new();
        let mut inside = Inside::default();
        any_process(|it| {
            let Home::Container { name, .. } = &it.home else { return false };
            let service = known.entry(name.clone()).or_insert_with(|| self.service_of(it));
            let service = service.as_ref().map(|it| &*it.name);
            if service == Some(&*self.service) {
                inside.client.push(it.clone());
            } else if service.is_some() && service == self.address.host.as_deref() {
                inside.server.push(it.clone());
            }
            false
        });
        let projects: BTreeSet<&str> = known.values().flatten().map(|it| &*it.project).collect();
        let first = inside.server.first().map(|it| it.home.clone());
        let is_one = inside.server.iter().all(|it| Some(&it.home) == first.as_ref());
        if projects.len() > 1 || !is_one { Inside::default() } else { inside }
    }

    /// Returns the service that a container runs, if the file describes it.
    fn service_of(&self, process: &Process) -> Option<ComposeService> {
        let container = monitored(process)?;
        let file = container.compose_file.as_deref().and_then(|it| read::real_path(it).ok());
        container.service.filter(|_| file.as_ref() == Some(&self.file))
    }

    /// Returns the server that listens at the address, and on the socket if `has_socket` is true. A server that listens
    /// only on the socket may be a temporary server, which prepares the data for the real server.
    fn server(&self, inside: &Inside, has_socket: bool) -> Option<Server> {
        let (name, port) = (self.socket.file_name(), self.address.port);
        let is_it = |it: &Server| {
            inside.server.iter().any(|own| own.pid == it.process.pid)
                && it.endpoints.iter().any(|it| it.port() == Some(port))
                && (!has_socket || it.paths().any(|it| it.file_name() == name))
        };
        let mut found = survey(None).servers.into_iter().filter(is_it);
        found.next().filter(|_| found.next().is_none())
    }
}

struct Running {
    watch: Watch,
    server: Process,
    /// The server's socket, if the server has one. It stays open because looptax connects through this descriptor.
    _socket: Option<OwnedFd>,
}

pub(super) struct Followed {
    of: Between,
    /// The watch over the containers that run at present.
    watch: Option<Running>,
    looked: Option<Since>,
    /// Whether the old file is back; with the old file the server may have no socket.
    is_back: bool,
    /// Whether the watch began in the present round, so that its counts have not begun.
    is_new: bool,
}

impl Followed {
    pub(super) fn new(of: Between) -> Self {
        Self { of, watch: None, looked: None, is_back: false, is_new: false }
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
        let inside = self.of.inside();
        let clients = &inside.client;
        let is_same = |it: &Running| {
            process(it.server.pid).as_ref() == Some(&it.server) && it.watch.application().are_all_in(clients)
        };
        self.watch = self.watch.take().filter(|it| !clients.is_empty() && is_same(it));
        match &mut self.watch {
            Some(running) => running.watch.look_from(clients),
            None if clients.is_empty() => {}
            None => {
                self.watch = self.begin(&inside);
                self.is_new = self.watch.is_some();
            }
        }
        self.looked = Some(Since::now());
    }

    pub(super) fn is_new(&self) -> bool {
        self.is_new
    }

    /// Begins to count if the watch is new; the kernel's counts were read a moment ago.
    pub(super) fn starts_counting(&mut self) {
        if std::mem::take(&mut self.is_new)
            && let Some(running) = &mut self.watch
        {
            running.watch.starts_counting();
        }
    }

    fn begin(&self, inside: &Inside) -> Option<Running> {
        let Between { title, address, socket, .. } = &self.of;
        let server = self.of.server(inside, !self.is_back)?;
        // The path is valid only in the container, and the container's links must not lead out of it.
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
        let watch = Watch::of_new(of, Application::in_containers(&inside.client));
        Some(Running { watch, server: server.process, _socket: held })
    }

    /// Returns the failed step if the containers do not run as the new file describes.
    pub(super) fn missing(&self) -> SwitchStep {
        let Between { title, address, socket, service, .. } = &self.of;
        if self.of.inside().client.is_empty() {
            let words = format!("{title}: no container of the service `{service}` is running");
            return step(StepCode::ApplicationGone, words);
        }
        let host = address.host.as_deref().unwrap_or_default();
        let socket = socket.display();
        let words = format!("{title}: no container of the service `{host}` listens on {socket}");
        step(StepCode::ServerGone, words)
    }
}
