//! The arms: ways to reach one server. Opens a connection, and proves which transport it really uses.
//!
//! A name proves nothing. The kernel reports the address family and, by `SO_PEERCRED`, the peer. The server reports how
//! it sees each connection ([`ServerView`]). The crate `experiment` calls this module before it passes connections to
//! the load engine; `switch` and `fleet` connect to servers through this module, too. This module measures nothing.

mod answers;
mod conversation;
mod endpoint;
mod error;
mod family;
mod link;
mod network;
mod one_shot;
mod peer;
mod ports;
mod prepare;
mod proof;
mod questions;
mod server_view;
mod session;
mod sighting;
mod silence;
mod storm;
mod tls;
mod web;
mod workload;

pub use conversation::{Conversation, Sealing};
pub use endpoint::{Endpoint, host_of};
pub use error::{MAX_SOCKET_PATH_BYTES, PathError, TRUST_PEER};
pub use family::Family;
pub use link::{Calls, Limits, Link, LinkFacts, Unlimited};
pub use network::{
    BRIDGE, Host, Network, NetworkError, get_right, has_nft, in_sidecar, may_make_namespaces, move_to_sidecar,
    namespace_name,
};
pub use one_shot::OneShot;
pub use peer::{Admitted, admit, trust_peers};
pub use ports::LocalPorts;
pub use prepare::MISSING_KEYS;
pub use proof::{Proof, prove};
pub use server_view::{Backend, BeforeRestart, ClientSeen, Saved, SeenAs, ServerCounts, ServerView, ServerWork};
pub use session::Session;
pub use sighting::{Peer, Relayed, peers_of, relayed_by};
pub use silence::WaitOnce;
pub use storm::{Fate, Storm, first_question, refuses};
pub use tls::{Checked, Seal, TlsClient, TlsFacts};
pub use web::{Resolve, WebAddress, WebPage};
pub use workload::{Collection, Echo, EchoRequest, Oltp, Sending, SitePage, TPCB_ACCOUNTS, Workload, system_row};
