//! Finds running servers, their sockets and their clients, in every namespace that looptax may inspect.
//!
//! Reads `/proc` and the kernel's lists of sockets. Does not connect, log in, change anything or execute a program: a
//! server's version is read from the bytes of its program or from the package database. A part of the machine that
//! cannot be seen is listed as a [`Problem`] and is never an error, because one hidden process must not hide the other
//! processes. Every name in the results was chosen by another program, and a caller that prints a name has to clean it
//! first. Called by `cli`, `experiment` and `switch`.

mod beside;
mod candidates;
mod connections;
mod docker_proxy;
mod ends;
mod error;
mod family;
mod flows;
mod glimpses;
mod home;
mod inferred;
mod kind;
mod listed;
mod listened;
mod meetings;
mod monitored;
mod monotonic;
mod namespace_id;
mod namespaces;
mod once;
mod owners;
mod ports;
mod problems;
mod process;
mod published;
mod sealed;
mod servers;
mod sighting;
mod sightings;
mod sock_diag;
mod stack;
mod survey;
mod upstreams;
mod usual;
mod version;
mod web;
mod words;

pub use beside::{Beside, FoundBy, socket_named, sockets_beside};
pub use connections::{Client, Hop, OtherConnections};
pub use ends::{Closed, Connection, Peer};
pub use error::DiscoverError;
pub use flows::{Asks, Flow, KnownClients, Party, flows, flows_of_known, is_accepted_at, server_at, server_with_file};
pub use glimpses::Glimpses;
pub use home::Home;
pub use inferred::Listener;
pub use listed::{Listed, listed};
pub use listened::{ListenedPaths, listened_paths};
pub use meetings::{Meetings, meetings};
pub use monitored::{ComposeService, Monitored, monitored};
pub use namespace_id::NamespaceId;
pub use namespaces::{host_name, somaxconn};
pub use once::{LookOnce, any_process};
pub use ports::{PortsHeld, ports_held};
pub use problems::{Hiding, Problem};
pub use process::{Process, process};
pub use published::Published;
pub use sealed::{SealedConnections, SealedFlow};
pub use servers::{Endpoint, Place, Server, SocketFile, is_listened_at, listens_on};
pub use sighting::Sighting;
pub use sightings::{Outlook, holders, listener_at};
pub use sock_diag::{Queue, Traffic};
pub use stack::{Link, Service, Stack};
pub use survey::{Survey, survey, survey_after};
pub use web::{asks_by_its_files, known_as};
