//! How a collector is reached: with which password, whose certificates are believed, for how long it is waited for.

use std::path::PathBuf;
use std::time::Duration;

use looptax_model::dsn::Secret;

/// The settings besides the address.
#[derive(Debug, Clone)]
pub struct Access {
    /// The password, where it is not in the address.
    pub password: Option<Secret>,
    /// A PEM of authorities that are believed in place of the system's.
    pub ca_file: Option<PathBuf>,
    pub connect_limit: Duration,
    /// For an answer as a whole.
    pub answer_limit: Duration,
}

impl Default for Access {
    /// 10 s to connect; 2 minutes for an answer: the views of a large fleet take some seconds.
    fn default() -> Self {
        Self {
            password: None,
            ca_file: None,
            connect_limit: Duration::from_secs(10),
            answer_limit: Duration::from_secs(120),
        }
    }
}
