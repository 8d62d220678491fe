//! The clients that an experiment runs against a server: the requested clients, or the default clients.

use looptax_bench::ClientModel;
use looptax_model::dsn::{Kind, Protocol};
use looptax_model::failure::Failure;

use super::check::check_clients;
use super::load::Load;
use super::waits::{self, Waits};
use super::{Clients, Experiment};

/// Maximum number of connections at which each connection has its own client thread by default.
const MOST_THREADS: u32 = 64;

impl Experiment {
    /// Returns how the client waits for replies from a server of this kind, at this number of connections.
    ///
    /// # Errors
    /// A usage failure if a requested client does not use this kind of server, or does not fit the load.
    pub fn clients_for(&self, kind: Kind, connections: u32) -> Result<Vec<Waits>, Failure> {
        let clients: Vec<Waits> = match &self.clients {
            Some(Clients::Like(words)) => {
                words.iter().map(|word| waits::like(word, kind.name())).collect::<Result<_, _>>()?
            }
            Some(Clients::Models(models)) => models.iter().copied().map(Waits::As).collect(),
            Some(Clients::All) => ClientModel::ALL.into_iter().map(Waits::As).collect(),
            None => self.default_clients(kind, connections),
        };
        let on_arms = |client: &Waits| self.arms.iter().map(|arm| client.on(*arm)).collect();
        let models: Vec<Vec<ClientModel>> = clients.iter().map(on_arms).collect();
        check_clients(&self.load, &models.concat())?;
        Ok(clients)
    }

    fn default_clients(&self, kind: Kind, connections: u32) -> Vec<Waits> {
        let is_event = match self.load {
            Load::Open { .. } => true,
            Load::Closed { think } => think.is_zero() && (connections > MOST_THREADS || self.is_sweep),
        };
        let default = match self.requests.usual_client() {
            Some(usual) if !is_event || self.requests.are_connects() => usual,
            _ if is_event => ClientModel::Event,
            _ => usual_model(kind),
        };
        let both = self.is_sweep
            && connections == MOST_THREADS
            && self.load.is_flat_out()
            && self.requests.usual_client().is_none();
        if both {
            // At this number of connections the default client model changes, so both models are measured.
            vec![Waits::As(default), Waits::As(usual_model(kind))]
        } else {
            vec![Waits::As(default)]
        }
    }
}

/// Returns the client model that polls in the same way as the C library of most programs for this kind of server:
/// libmariadb tries to receive first, libpq does not. Web servers wait for all their upstreams together.
fn usual_model(kind: Kind) -> ClientModel {
    match kind.protocol() {
        Some(Protocol::Fastcgi | Protocol::Http) => ClientModel::Event,
        Some(Protocol::Postgres) => ClientModel::PollFirst,
        _ => ClientModel::Poll,
    }
}
