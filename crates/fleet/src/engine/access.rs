//! How looptax connects to a collector: the password, the trusted certificate authorities, the time limits.

use std::path::PathBuf;
use std::time::Duration;

use looptax_model::dsn::Secret;

/// The connection settings that are not part of the address.
#[derive(Debug, Clone)]
pub struct Access {
    /// The password, if it is not in the address.
    pub password: Option<Secret>,
    /// A PEM file with certificate authorities that are trusted instead of the system's.
    pub ca_file: Option<PathBuf>,
    pub connect_limit: Duration,
    /// Time limit for a complete reply.
    pub answer_limit: Duration,
}

impl Default for Access {
    /// 10 s for a connection; 2 minutes for a reply, because the views of a large fleet take some seconds.
    fn default() -> Self {
        Self {
            password: None,
            ca_file: None,
            connect_limit: Duration::from_secs(10),
            answer_limit: Duration::from_secs(120),
        }
    }
}
