//! A private server of any kind, filled as looptax fills its own servers, and the address and login for a loop.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use looptax_bench::path::Conversation;
use looptax_experiment::servers::{dataset, startable};
use looptax_model::dsn::{Kind, Protocol};

use crate::servers::Private;

/// Number of rows in the table, or of keys: looptax's default.
pub(crate) const ROWS: u32 = 100_000;
/// Highest number of simultaneous connections: two of a client, two of looptax, and some for queries.
const CONNECTIONS: u32 = 16;

/// A server that accepts connections and contains the rows.
pub(crate) struct Server {
    private: Private,
}

/// Starts a server of each of these kinds.
pub(crate) fn start_all<'a>(looptax: &Path, kinds: impl Iterator<Item = &'a str>) -> Result<BTreeMap<String, Server>> {
    let mut servers = BTreeMap::new();
    for kind in kinds {
        if !servers.contains_key(kind) {
            servers.insert(kind.to_owned(), Server::start(looptax, startable(kind)?)?);
        }
    }
    Ok(servers)
}

impl Server {
    /// Starts a server with `looptax` as its reaper, and fills it.
    pub(crate) fn start(looptax: &Path, kind: Kind) -> Result<Self> {
        let private = Private::start(looptax, kind, CONNECTIONS, ROWS)?;
        let server = Self { private };
        server.fill(kind)?;
        Ok(server)
    }

    pub(crate) fn fill(&self, kind: Kind) -> Result<()> {
        let mut talk = self.talk()?;
        match kind.protocol() {
            Some(Protocol::Mysql) => {
                dataset::populate_mysql(|sql| talk.execute(sql), "", ROWS)?;
            }
            Some(Protocol::Postgres) => {
                dataset::populate_postgres(|sql| talk.execute(sql), "", ROWS)?;
            }
            Some(Protocol::Redis) => {
                let keys =
                    dataset::Keys { prefix: dataset::KEY_PREFIX, n: ROWS, value_bytes: dataset::KEY_VALUE_BYTES };
                dataset::populate_redis(|commands| talk.pipeline(commands), &keys)?;
            }
            Some(Protocol::Memcached | Protocol::Mongodb | Protocol::Fastcgi | Protocol::Http | Protocol::Echo)
            | None => {}
        }
        Ok(())
    }

    pub(crate) fn name(&self) -> String {
        self.private.name()
    }

    pub(crate) fn kind(&self) -> Kind {
        self.private.kind
    }

    pub(crate) fn talk(&self) -> Result<Conversation> {
        self.private.talk()
    }

    pub(crate) fn socket(&self) -> &PathBuf {
        &self.private.socket
    }

    pub(crate) fn pid(&self) -> u32 {
        self.private.pid
    }

    pub(crate) fn tcp(&self) -> SocketAddr {
        self.private.tcp
    }

    /// Allows programs of every user to connect to the socket with the password.
    pub(crate) fn open_to_all(&self) -> Result<()> {
        let socket = &self.private.socket;
        let scratch_root = std::env::temp_dir();
        let folders = socket.ancestors().skip(1);
        for folder in folders.take_while(|it| *it != scratch_root) {
            add_mode(folder, 0o011)?;
        }
        add_mode(socket, 0o066)
    }

    /// Returns the environment of a loop.
    pub(crate) fn environment(&self) -> [(&'static str, String); 5] {
        let login = &self.private.login;
        [
            ("LOOP_SERVER", self.private.kind.name().to_owned()),
            ("LOOP_USER", login.user.clone()),
            ("LOOP_PASSWORD", login.password.reveal().to_owned()),
            ("LOOP_DATABASE", login.database.clone().unwrap_or_default()),
            ("LOOP_ROWS", ROWS.to_string()),
        ]
    }

    pub(crate) fn password(&self) -> &str {
        self.private.login.password.reveal()
    }

    /// Returns the server's URL for looptax, without the password.
    pub(crate) fn url(&self) -> String {
        let (scheme, login) = (self.private.kind.name(), &self.private.login);
        let database = login.database.as_deref().unwrap_or_default();
        // A Redis URL may have no user, and then has no `@`, either.
        let user = match login.user.as_str() {
            "" => String::new(),
            user => format!("{user}@"),
        };
        format!("{scheme}://{user}{}/{database}", self.private.tcp)
    }

    /// Returns looptax's name of the request that the loops send.
    pub(crate) fn workload(&self) -> &'static str {
        match self.private.kind.protocol() {
            Some(Protocol::Redis) => "get",
            Some(Protocol::Memcached | Protocol::Mongodb | Protocol::Fastcgi | Protocol::Http | Protocol::Echo)
            | None => "ping",
            Some(Protocol::Mysql | Protocol::Postgres) => "point-select",
        }
    }

    /// Returns whether looptax requests only its own keys on a server that it did not start.
    pub(crate) fn wants_scratch_keys(&self) -> bool {
        matches!(self.private.kind, Kind::Redis | Kind::Valkey)
    }

    pub(crate) fn stop(self) -> Result<()> {
        self.private.stop()
    }
}

fn add_mode(path: &Path, bits: u32) -> Result<()> {
    let failed = || format!("cannot change the mode of {}", path.display());
    let mut mode = fs::metadata(path).with_context(failed)?.permissions();
    mode.set_mode(mode.mode() | bits);
    fs::set_permissions(path, mode).with_context(failed)
}
