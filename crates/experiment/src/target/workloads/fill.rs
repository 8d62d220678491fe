//! Makes the data that a workload needs.

use crate::servers::{ServerError, dataset};
use looptax_bench::path::{Conversation, Workload};
use looptax_model::dsn::Protocol;

use super::{VALUE_BYTES, scale};
use crate::spec::Requests;

/// Makes the workload's data; `schema` is the prefix of the tables' names.
///
/// # Errors
/// The statement or the keys that failed.
pub(crate) fn fill(
    workload: &Workload,
    conversation: &mut Conversation,
    requests: &Requests,
    schema: &str,
    rows: u32,
) -> Result<(), ServerError> {
    let protocol = conversation.protocol();
    match (workload, protocol) {
        (Workload::PointSelect { .. } | Workload::Oltp { .. } | Workload::Dump { .. }, Protocol::Mysql) => {
            dataset::populate_mysql(|sql| conversation.execute(sql), schema, rows)
        }
        (Workload::PointSelect { .. } | Workload::Oltp { .. } | Workload::Dump { .. }, _) => {
            dataset::populate_postgres(|sql| conversation.execute(sql), schema, rows)
        }
        (Workload::Script { .. }, Protocol::Mysql) => {
            dataset::populate_mysql(|sql| conversation.execute(sql), schema, rows)?;
            dataset::tpcb::populate(|sql| conversation.execute(sql), schema, rows, scale(rows))
        }
        (Workload::Script { .. }, _) => {
            dataset::populate_postgres(|sql| conversation.execute(sql), schema, rows)?;
            dataset::tpcb::populate(|sql| conversation.execute(sql), schema, rows, scale(rows))?;
            dataset::tpcb::vacuum(|sql| conversation.execute(sql), schema)
        }
        (Workload::Tpcb { .. } | Workload::SelectOnly { .. }, _) => {
            dataset::tpcb::populate(|sql| conversation.execute(sql), schema, rows, scale(rows))?;
            if protocol == Protocol::Postgres {
                dataset::tpcb::vacuum(|sql| conversation.execute(sql), schema)?;
            }
            Ok(())
        }
        // Keys that requests will write are also made beforehand. Each process gets only some of the writes, and the
        // first write of a key is more work than later writes.
        (
            Workload::Get { prefix } | Workload::Set { prefix, .. } | Workload::Mixed { prefix, .. },
            Protocol::Memcached,
        ) => {
            let keys = keys(prefix, requests, rows);
            dataset::populate_memcached(|pairs| conversation.store(pairs), &keys)
        }
        (Workload::Get { prefix } | Workload::Mixed { prefix, .. }, _) => {
            let keys = keys(prefix, requests, rows);
            dataset::populate_redis(|commands| conversation.pipeline(commands), &keys)
        }
        (Workload::DumpValues { prefix, n_keys, value_bytes }, _) => {
            let keys =
                dataset::Keys { prefix, n: u32::try_from(*n_keys).unwrap_or(u32::MAX), value_bytes: *value_bytes };
            dataset::populate_redis(|commands| conversation.pipeline(commands), &keys)
        }
        (Workload::FindOne { collection }, _) => {
            let place = (collection.database.as_deref(), &*collection.name);
            let insert = |ids: std::ops::RangeInclusive<u32>| {
                let documents = ids.map(u64::from).map(|id| (id, dataset::value_for(id)));
                conversation.mongodb()?.insert(place, documents)
            };
            dataset::populate_mongodb(insert, rows)
        }
        _ => Ok(()),
    }
}

fn keys<'a>(prefix: &'a str, requests: &Requests, rows: u32) -> dataset::Keys<'a> {
    dataset::Keys { prefix, n: rows, value_bytes: requests.value_bytes.unwrap_or(VALUE_BYTES) }
}
