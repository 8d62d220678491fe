//! Makes the objects that `--write` needs on a running server, and removes them again.
//!
//! The names of all objects contain [`PREFIX`] and looptax's process id, so that leftovers of a crashed run can be
//! recognized by their names. Keys also expire by themselves.

use looptax_bench::path::{Conversation, Workload};
use looptax_model::dsn::Protocol;
use looptax_model::failure::Failure;
use looptax_wire::WireError;

use super::workloads::{self, Place};
use crate::spec::{Experiment, Requests};

/// The prefix of the name of each schema, database and key that looptax makes.
const PREFIX: &str = "looptax_scratch_";
/// Lifetime of keys in seconds; longer than any run.
const KEY_TTL_S: u32 = 3_600;

/// The place on a running server where looptax makes its objects.
pub(super) enum Scratch {
    /// A `MySQL` database.
    Database(String),
    /// A database of `MongoDB`, which exists from its first document on.
    Documents(String),
    /// A `PostgreSQL` schema.
    Schema(String),
    Keys {
        prefix: String,
        n_keys: u32,
    },
}

impl Scratch {
    /// Returns the place in which a protocol's data will be made. Makes nothing yet.
    pub(super) fn planned(protocol: Protocol, n_keys: u32) -> Self {
        match protocol {
            Protocol::Mysql => Self::Database(name()),
            Protocol::Postgres => Self::Schema(name()),
            Protocol::Mongodb => Self::Documents(name()),
            Protocol::Redis | Protocol::Memcached | Protocol::Fastcgi | Protocol::Http | Protocol::Echo => {
                Self::Keys { prefix: format!("{}:", name()), n_keys }
            }
        }
    }

    /// Returns where the data are in the scratch place.
    pub(super) fn place(&self, rows: u32) -> Place {
        let place =
            Place { has_own_site: false, schema: String::new(), prefix: String::new(), ttl_s: Some(KEY_TTL_S), rows };
        match self {
            Self::Database(name) | Self::Schema(name) | Self::Documents(name) => {
                Place { schema: format!("{name}."), ..place }
            }
            Self::Keys { prefix, .. } => Place { prefix: prefix.clone(), ..place },
        }
    }

    /// Makes the scratch place, and the workload's data in it. After an error, some of the data may already exist.
    pub(super) fn make(
        &self,
        workload: &Workload,
        conversation: &mut Conversation,
        settings: &Experiment,
    ) -> Result<(), Failure> {
        match self {
            Self::Database(name) => {
                conversation.execute(&format!("CREATE DATABASE {name}"))?;
            }
            Self::Schema(name) => {
                conversation.execute(&format!("CREATE SCHEMA {name}"))?;
            }
            Self::Documents(_) | Self::Keys { .. } => {}
        }
        self.fill(workload, conversation, settings)
    }

    fn fill(&self, workload: &Workload, conversation: &mut Conversation, settings: &Experiment) -> Result<(), Failure> {
        if let Self::Keys { .. } = self {
            return Ok(self.set_keys(conversation, &settings.requests)?);
        }
        let Place { schema, rows, .. } = self.place(settings.rows);
        workloads::fill(workload, conversation, &settings.requests, &schema, rows)?;
        Ok(())
    }

    fn set_keys(&self, conversation: &mut Conversation, requests: &Requests) -> Result<(), WireError> {
        let value = vec![b'x'; requests.value_bytes.unwrap_or(workloads::VALUE_BYTES)];
        let ttl = KEY_TTL_S.to_string().into_bytes();
        self.for_keys(conversation, |key| vec![b"SET".to_vec(), key, value.clone(), b"EX".to_vec(), ttl.clone()])
    }

    pub(super) fn drop_from(&self, conversation: &mut Conversation) -> Result<(), WireError> {
        match self {
            Self::Database(name) => conversation.execute(&format!("DROP DATABASE IF EXISTS {name}")).map(drop),
            Self::Schema(name) => conversation.execute(&format!("DROP SCHEMA IF EXISTS {name} CASCADE")).map(drop),
            Self::Documents(name) => conversation.mongodb()?.drop_database(name),
            Self::Keys { .. } => self.for_keys(conversation, |key| vec![b"DEL".to_vec(), key]),
        }
    }

    /// Returns the names of the objects that earlier runs have left behind.
    pub(super) fn leftovers(conversation: &mut Conversation) -> Result<Vec<String>, WireError> {
        if let Ok(server) = conversation.mongodb() {
            let mut names = server.databases()?;
            names.retain(|it| it.starts_with(PREFIX));
            return Ok(names);
        }
        let pattern = PREFIX.replace('_', "\\_");
        conversation
            .column(&format!("SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE '{pattern}%'"))
    }

    fn for_keys(
        &self,
        conversation: &mut Conversation,
        command: impl Fn(Vec<u8>) -> Vec<Vec<u8>>,
    ) -> Result<(), WireError> {
        let Self::Keys { prefix, n_keys } = self else {
            return Ok(());
        };
        let ids: Vec<u32> = (1..=*n_keys).collect();
        for part in ids.chunks(1_000) {
            let commands: Vec<_> = part.iter().map(|id| command(format!("{prefix}{id:012}").into_bytes())).collect();
            conversation.pipeline(&commands)?;
        }
        Ok(())
    }
}

fn name() -> String {
    format!("{PREFIX}{}", std::process::id())
}
