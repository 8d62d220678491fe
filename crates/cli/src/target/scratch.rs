//! What `--write` may leave on a running server while it runs, and how it goes away again.
//!
//! Everything carries [`PREFIX`] and our process id, so that a crashed run's leftovers are known by
//! name; keys expire by themselves.

use looptax_path::{Conversation, Workload};
use looptax_servers::dataset;
use looptax_wire::WireError;

/// Every schema, database and key of ours starts with this.
const PREFIX: &str = "looptax_scratch_";
/// Keys live this long at most, in seconds: longer than any run.
const KEY_TTL_S: u32 = 3_600;
/// Size of a key's value in bytes.
const VALUE_BYTES: usize = dataset::REDIS_VALUE_BYTES;

/// A scratch place on a running server.
pub(super) enum Scratch {
    /// A `MySQL` database.
    Database(String),
    /// A `PostgreSQL` schema.
    Schema(String),
    /// Redis keys with a prefix.
    Keys { prefix: String, n_keys: u32 },
}

impl Scratch {
    /// A `MySQL` database with sysbench's table.
    pub(super) fn database(
        conversation: &mut Conversation,
        n_rows: u32,
    ) -> Result<Self, anyhow::Error> {
        let name = name();
        conversation.execute(&format!("CREATE DATABASE {name}"))?;
        let scratch = Self::Database(name.clone());
        let filled = conversation
            .execute(&format!("USE {name}"))
            .map_err(anyhow::Error::from)
            .and_then(|_| {
                Ok(dataset::populate_mysql(
                    |sql| conversation.execute(sql),
                    n_rows,
                )?)
            });
        scratch.or_gone(filled, conversation)
    }

    /// A `PostgreSQL` schema with sysbench's table.
    pub(super) fn schema(
        conversation: &mut Conversation,
        n_rows: u32,
    ) -> Result<Self, anyhow::Error> {
        let name = name();
        conversation.execute(&format!("CREATE SCHEMA {name}"))?;
        let scratch = Self::Schema(name.clone());
        let filled = conversation
            .execute(&format!("SET search_path = {name}"))
            .map_err(anyhow::Error::from)
            .and_then(|_| {
                Ok(dataset::populate_postgres(
                    |sql| conversation.execute(sql),
                    n_rows,
                )?)
            });
        scratch.or_gone(filled, conversation)
    }

    /// Redis keys that expire.
    pub(super) fn keys(
        conversation: &mut Conversation,
        n_keys: u32,
    ) -> Result<Self, anyhow::Error> {
        let scratch = Self::Keys {
            prefix: format!("{}:", name()),
            n_keys,
        };
        let value = vec![b'x'; VALUE_BYTES];
        let ttl = KEY_TTL_S.to_string().into_bytes();
        let filled = scratch.for_keys(conversation, |key| {
            vec![
                b"SET".to_vec(),
                key,
                value.clone(),
                b"EX".to_vec(),
                ttl.clone(),
            ]
        });
        scratch.or_gone(filled.map_err(anyhow::Error::from), conversation)
    }

    /// The workload that uses it.
    pub(super) fn workload(&self) -> Workload {
        match self {
            Self::Database(name) | Self::Schema(name) => Workload::PointSelect {
                table: format!("{name}.{}", dataset::TABLE),
            },
            Self::Keys { prefix, .. } => Workload::Get {
                prefix: prefix.clone(),
            },
        }
    }

    /// Takes it away.
    pub(super) fn drop_from(&self, conversation: &mut Conversation) -> Result<(), WireError> {
        match self {
            Self::Database(name) => conversation
                .execute(&format!("DROP DATABASE {name}"))
                .map(drop),
            Self::Schema(name) => conversation
                .execute(&format!("DROP SCHEMA {name} CASCADE"))
                .map(drop),
            Self::Keys { .. } => self.for_keys(conversation, |key| vec![b"DEL".to_vec(), key]),
        }
    }

    /// Names of what earlier runs left behind.
    pub(super) fn leftovers(conversation: &mut Conversation) -> Result<Vec<String>, WireError> {
        let pattern = PREFIX.replace('_', "\\_");
        let rows = conversation.query(&format!(
            "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE '{pattern}%'"
        ))?;
        Ok(rows
            .into_iter()
            .filter_map(|mut row| row.pop().flatten())
            .collect())
    }

    fn or_gone(
        self,
        filled: Result<(), anyhow::Error>,
        conversation: &mut Conversation,
    ) -> Result<Self, anyhow::Error> {
        match filled {
            Ok(()) => Ok(self),
            Err(error) => {
                // The error that brought us here matters more than a second one.
                let _ = self.drop_from(conversation);
                Err(error)
            }
        }
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
            let commands: Vec<_> = part
                .iter()
                .map(|id| command(format!("{prefix}{id:012}").into_bytes()))
                .collect();
            conversation.pipeline(&commands)?;
        }
        Ok(())
    }
}

fn name() -> String {
    format!("{PREFIX}{}", std::process::id())
}
