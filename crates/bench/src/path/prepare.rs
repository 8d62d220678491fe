//! Makes the codec that runs a workload on one connection.

use std::sync::Arc;

use looptax_wire::transaction::Statement;
use looptax_wire::{Codec, Mixed, Pipelined, Sent, WireError, memcached, mongodb, redis};

use crate::path::conversation::ProtocolConnection;
use crate::path::{Conversation, PathError, Sending, Workload};

/// No stored key begins with this prefix. A GET of a key that begins with it is a [`Workload::Ping`].
pub const MISSING_KEYS: &str = "looptax:missing:";

impl Conversation {
    /// Prepares the workload on this connection.
    ///
    /// # Errors
    /// [`PathError::NoSuchWorkload`], or [`PathError::Protocol`] if the server refuses to prepare it.
    pub fn codec(&mut self, workload: &Workload, sending: Sending) -> Result<Box<dyn Codec>, PathError> {
        let endpoint = self.endpoint().to_string();
        let protocol = self.protocol().title();
        let prepared = match &mut self.connection {
            ProtocolConnection::Mysql(_) | ProtocolConnection::Postgres(_) => self.sql(workload, sending.sent),
            ProtocolConnection::Redis(_) => Ok(redis_codec(workload, sending.pipeline)),
            ProtocolConnection::Memcached(_) => {
                Ok(keyed_codec(workload, sending.pipeline, memcached::Get::new, memcached::Set::new))
            }
            ProtocolConnection::Mongodb(it) => mongodb_codec(workload, it.database()),
            ProtocolConnection::Fastcgi(it) => match workload {
                Workload::Page(page) => page.script(it.folder(), sending.is_last).map(boxed).map(Some),
                _ => Ok(None),
            },
            ProtocolConnection::Http(it) => match workload {
                Workload::Page(page) => page.fetch(it.target(), sending.is_last).map(boxed).map(Some),
                _ => Ok(None),
            },
            ProtocolConnection::Echo(it) => Ok(match workload {
                Workload::Echo(echo) => Some(pipelined(it.codec(echo.write_bytes()), workload, sending.pipeline)),
                _ => None,
            }),
        };
        prepared
            .map_err(|source| PathError::Protocol { action: "prepare the query", endpoint, source })?
            .ok_or_else(|| PathError::NoSuchWorkload { workload: workload.to_string(), protocol })
    }

    /// Prepares one statement on this connection: see the function `statement` of each protocol.
    ///
    /// `place` says where the statement comes from, for error messages.
    ///
    /// # Errors
    /// [`PathError::Refused`] if the server refuses the statement and `place` is known. [`PathError::Protocol`] in all
    /// other cases, for example if the protocol has no SQL.
    pub fn statement(&mut self, sql: &str, sent: Sent, place: Option<&str>) -> Result<Box<dyn Statement>, PathError> {
        let prepared: Result<Box<dyn Statement>, WireError> = match &mut self.connection {
            ProtocolConnection::Mysql(it) => it.statement(sql, sent).map(|it| Box::new(it) as _),
            ProtocolConnection::Postgres(it) => it.statement(sql, sent).map(|it| Box::new(it) as _),
            ProtocolConnection::Redis(_)
            | ProtocolConnection::Memcached(_)
            | ProtocolConnection::Mongodb(_)
            | ProtocolConnection::Fastcgi(_)
            | ProtocolConnection::Http(_)
            | ProtocolConnection::Echo(_) => Err(WireError::Unsupported { what: "SQL".to_owned() }),
        };
        prepared.map_err(|source| match (source, place) {
            (source @ WireError::Server { .. }, Some(place)) => PathError::Refused { place: place.to_owned(), source },
            (source, place) => PathError::Protocol {
                action: "prepare the statement",
                endpoint: match place {
                    Some(place) => format!("{}: {place}", self.endpoint()),
                    None => self.endpoint().to_string(),
                },
                source,
            },
        })
    }

    /// Makes the codec of a SQL workload; `None` for other workloads.
    fn sql(&mut self, workload: &Workload, sent: Sent) -> Result<Option<Box<dyn Codec>>, WireError> {
        if let Workload::Dump { table, rows } = workload {
            return Ok(match &self.connection {
                ProtocolConnection::Mysql(it) => Some(Box::new(it.dump(table, *rows))),
                ProtocolConnection::Postgres(it) => Some(Box::new(it.copy_out(table, *rows))),
                ProtocolConnection::Redis(_)
                | ProtocolConnection::Memcached(_)
                | ProtocolConnection::Mongodb(_)
                | ProtocolConnection::Fastcgi(_)
                | ProtocolConnection::Http(_)
                | ProtocolConnection::Echo(_) => None,
            });
        }
        // A transaction that is one statement with at most one key has a separate codec, which does the least work.
        if sent == Sent::Prepared
            && let Some(sql) = single(workload)
        {
            return Ok(Some(match &mut self.connection {
                ProtocolConnection::Mysql(it) => Box::new(it.prepare(&sql)?),
                ProtocolConnection::Postgres(it) => Box::new(it.prepare("looptax", &sql.replace('?', "$1"))?),
                ProtocolConnection::Redis(_)
                | ProtocolConnection::Memcached(_)
                | ProtocolConnection::Mongodb(_)
                | ProtocolConnection::Fastcgi(_)
                | ProtocolConnection::Http(_)
                | ProtocolConnection::Echo(_) => return Ok(None),
            }));
        }
        let Some(transaction) = workload.transaction() else {
            return Ok(None);
        };
        let transaction = Arc::new(transaction);
        Ok(Some(match &mut self.connection {
            ProtocolConnection::Mysql(it) => Box::new(it.prepare_transaction(&transaction, sent)?),
            ProtocolConnection::Postgres(it) => Box::new(it.prepare_transaction(&transaction, sent)?),
            ProtocolConnection::Redis(_)
            | ProtocolConnection::Memcached(_)
            | ProtocolConnection::Mongodb(_)
            | ProtocolConnection::Fastcgi(_)
            | ProtocolConnection::Http(_)
            | ProtocolConnection::Echo(_) => return Ok(None),
        }))
    }
}

fn boxed<C: Codec + 'static>(codec: C) -> Box<dyn Codec> {
    Box::new(codec)
}

/// Returns the statement of the workload, if it is a single statement with at most one key.
fn single(workload: &Workload) -> Option<String> {
    match workload {
        Workload::Ping | Workload::SystemRow { .. } | Workload::PointSelect { .. } | Workload::SelectOnly { .. } => {
            workload.transaction().and_then(|mut it| it.steps.pop()).map(|step| step.sql)
        }
        _ => None,
    }
}

fn redis_codec(workload: &Workload, pipeline: usize) -> Option<Box<dyn Codec>> {
    Some(match workload {
        Workload::DumpValues { prefix, n_keys, value_bytes } => {
            Box::new(redis::Values::new(prefix, *n_keys, *value_bytes))
        }
        Workload::Incr { prefix } => pipelined(redis::Counting::incr(prefix), workload, pipeline),
        Workload::Lpush { prefix, value_bytes } => {
            let lpush = redis::Counting::lpush(prefix, *value_bytes);
            pipelined(lpush, workload, pipeline)
        }
        _ => return keyed_codec(workload, pipeline, redis::Get::new, redis::Set::new),
    })
}

fn mongodb_codec(workload: &Workload, own: &str) -> Result<Option<Box<dyn Codec>>, WireError> {
    Ok(Some(match workload {
        Workload::Ping => Box::new(mongodb::Ping::new(own)),
        Workload::FindOne { collection } => {
            let (database, collection) = collection.split(own);
            Box::new(mongodb::FindOne::new(database, collection))
        }
        Workload::InsertOne { collection, value } => {
            let (database, collection) = collection.split(own);
            Box::new(mongodb::InsertOne::new(database, collection, value)?)
        }
        _ => return Ok(None),
    }))
}

/// Makes the codec of a workload that Redis and memcached both have, each with its own `get` and `set`.
fn keyed_codec<G: Codec + 'static, S: Codec + 'static>(
    workload: &Workload,
    pipeline: usize,
    get: impl Fn(&str) -> G,
    set: impl Fn(&str, usize, Option<u32>) -> S,
) -> Option<Box<dyn Codec>> {
    Some(match workload {
        Workload::Get { prefix } => pipelined(get(prefix), workload, pipeline),
        Workload::Ping => pipelined(get(MISSING_KEYS), workload, pipeline),
        Workload::Set { prefix, value_bytes, ttl_s } => {
            pipelined(set(prefix, *value_bytes, *ttl_s), workload, pipeline)
        }
        Workload::Mixed { prefix, value_bytes, ttl_s, reads_and_writes } => {
            let (get, set) = (get(prefix), set(prefix, *value_bytes, *ttl_s));
            pipelined(Mixed::new(get, set, *reads_and_writes), workload, pipeline)
        }
        _ => return None,
    })
}

fn pipelined<C: Codec + 'static>(codec: C, workload: &Workload, n: usize) -> Box<dyn Codec> {
    if n > 1 { Box::new(Pipelined::new(codec, n, workload.least_data_bytes())) } else { Box::new(codec) }
}
