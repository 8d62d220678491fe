//! Refuses running servers on which a measurement would do harm, after queries to the server and before any
//! measurement.
//!
//! On another user's server, looptax must not fill the log, write to the disk or a replica, or use up the connections.

use looptax_bench::path::Conversation;
use looptax_model::dsn::Protocol;
use looptax_model::failure::Failure;
use looptax_wire::WireError;
use looptax_wire::redis::Value;

/// A measurement may use at most one in this many of the free connections.
const PART_OF_FREE: u64 = 10;

/// Reads a setting of a Redis server; `None` if the account may not read it, or if no setting has this name.
pub(crate) fn config(conversation: &mut Conversation, name: &str) -> Result<Option<String>, WireError> {
    let command = vec![b"CONFIG".to_vec(), b"GET".to_vec(), name.as_bytes().to_vec()];
    let told = match conversation.pipeline(&[command]) {
        Err(WireError::Server { .. }) => return Ok(None),
        told => told?.pop(),
    };
    match told {
        Some(Value::Array(Some(pair))) => match &*pair {
            [] => Ok(None),
            [Value::Bulk(Some(own)), Value::Bulk(Some(value))] if own == name.as_bytes() => {
                Ok(Some(String::from_utf8_lossy(value).into_owned()))
            }
            _ => Err(conversation.unfit("a setting and its value", "others")),
        },
        _ => Err(conversation.unfit("a setting and its value", "something else")),
    }
}

/// Reads a setting of a SQL server; `None` if no setting has this name, or if the account may not read it.
fn variable(conversation: &mut Conversation, name: &str) -> Result<Option<String>, WireError> {
    let told = match conversation.protocol() {
        Protocol::Mysql => {
            let rows = conversation.rows(&format!("SHOW GLOBAL VARIABLES LIKE '{name}'"));
            rows.and_then(|rows: Vec<[Option<String>; 2]>| match <[_; 1]>::try_from(rows) {
                Ok([[Some(own), value]]) if own == name => Ok(value),
                Err(rows) if rows.is_empty() => Ok(None),
                _ => Err(conversation.unfit("a setting and its value", "others")),
            })
        }
        _ => conversation.cell_or_null(&format!("SELECT current_setting('{name}', true)")),
    };
    match told {
        Err(WireError::Server { .. }) => Ok(None),
        told => told,
    }
}

/// Reads a numeric setting that every server has; `None` if the account may not read the setting.
fn count(conversation: &mut Conversation, name: &str, read: Read) -> Result<Option<u64>, WireError> {
    let Some(text) = read(conversation, name)? else {
        return Ok(None);
    };
    let number = text.parse();
    number.map(Some).map_err(|_| conversation.unfit("a number", &text))
}

type Read = fn(&mut Conversation, &str) -> Result<Option<String>, WireError>;

/// Returns an error if the server logs queries: looptax's queries must not fill another user's log.
pub(crate) fn refuse_if_logged(conversation: &mut Conversation) -> Result<(), Failure> {
    let forbidden: &[(&str, &[&str])] = match conversation.protocol() {
        Protocol::Mysql => &[("general_log", &["ON", "1"]), ("server_audit_logging", &["ON", "1"])],
        Protocol::Postgres => {
            &[("log_statement", &["all"]), ("log_min_duration_statement", &["0"]), ("pgaudit.log", &["all", "read"])]
        }
        Protocol::Redis
        | Protocol::Memcached
        | Protocol::Mongodb
        | Protocol::Fastcgi
        | Protocol::Http
        | Protocol::Echo => &[],
    };
    refuse(conversation, forbidden, "the server would write every measured query to its log", variable)
}

/// Returns an error if the server would replicate the writes of `--write`, evict keys because of them, or append them
/// to an append-only file.
pub(crate) fn refuse_if_written_on(conversation: &mut Conversation) -> Result<(), Failure> {
    let why = "the server would evict, replicate or log the data that --write writes";
    match conversation.protocol() {
        Protocol::Mysql => refuse(conversation, &[("log_bin", &["ON", "1"])], why, variable),
        Protocol::Postgres => refuse(conversation, &[("wal_level", &["logical"])], why, variable),
        Protocol::Mongodb => refuse_if_replicated(conversation, why),
        Protocol::Memcached | Protocol::Fastcgi | Protocol::Http | Protocol::Echo => Ok(()),
        Protocol::Redis => {
            let limit = config(conversation, "maxmemory");
            let limit = limit.map_err(|error| conversation.failed(error))?;
            if limit.is_some_and(|limit| limit != "0") {
                let evicting = [
                    "allkeys-lru",
                    "allkeys-lfu",
                    "allkeys-random",
                    "volatile-lru",
                    "volatile-lfu",
                    "volatile-random",
                    "volatile-ttl",
                ];
                refuse(conversation, &[("maxmemory-policy", &evicting)], why, config)?;
            }
            refuse(conversation, &[("appendonly", &["yes"])], why, config)
        }
    }
}

fn refuse_if_replicated(conversation: &mut Conversation, why: &str) -> Result<(), Failure> {
    if conversation.mongodb().is_ok_and(|it| it.is_replicated()) {
        return Err(Failure::usage(
            format!("the server belongs to a replica set: {why}"),
            "measure a separate server, or a private one: private:ferretdb",
        ));
    }
    Ok(())
}

fn refuse(
    conversation: &mut Conversation,
    forbidden: &[(&str, &[&str])],
    why: &str,
    read: Read,
) -> Result<(), Failure> {
    for (name, values) in forbidden {
        let value = read(conversation, name);
        let Some(value) = value.map_err(|error| conversation.failed(error))? else {
            continue;
        };
        if values.contains(&value.as_str()) {
            return Err(Failure::usage(
                format!("the server runs with `{name} = {value}`: {why}"),
                format!("change `{name}` while measuring, or measure a private server"),
            ));
        }
    }
    Ok(())
}

/// Returns an error if looptax would need more than a tenth of the free connections. A server that does not report its
/// numbers is accepted; only the server's own limit then applies.
pub(crate) fn refuse_if_crowded(conversation: &mut Conversation, wanted: u64) -> Result<(), Failure> {
    let capacity = capacity(conversation);
    let Some((most, used)) = capacity.map_err(|error| conversation.failed(error))? else {
        return Ok(());
    };
    let free = most.saturating_sub(used);
    if wanted * PART_OF_FREE <= free {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{wanted} connections are more than a tenth of the {free} free connections of the server"),
        "use fewer with -c; pass --own-server if no other program needs them",
    ))
}

/// Returns the number of connections that the server allows, and how many are in use; `None` if the server does not
/// report these numbers to this account.
fn capacity(conversation: &mut Conversation) -> Result<Option<(u64, u64)>, WireError> {
    let (most, used) = match conversation.protocol() {
        Protocol::Mysql => {
            (count(conversation, "max_connections", variable)?, status(conversation, "Threads_connected")?)
        }
        Protocol::Postgres => (
            count(conversation, "max_connections", variable)?,
            told(conversation.number("SELECT count(*) FROM pg_stat_activity"))?,
        ),
        Protocol::Redis => {
            (count(conversation, "maxclients", config)?, redis_info(conversation, "clients", "connected_clients")?)
        }
        Protocol::Mongodb => return Ok(told(conversation.mongodb()?.capacity())?.flatten()),
        Protocol::Memcached | Protocol::Fastcgi | Protocol::Http | Protocol::Echo => {
            return Ok(None);
        }
    };
    Ok(most.zip(used))
}

/// Returns what the server reported; `None` if the account may not read it.
fn told<T>(answer: Result<T, WireError>) -> Result<Option<T>, WireError> {
    match answer {
        Err(WireError::Server { .. }) => Ok(None),
        answer => answer.map(Some),
    }
}

fn status(conversation: &mut Conversation, name: &str) -> Result<Option<u64>, WireError> {
    let asked = conversation.row(&format!("SHOW GLOBAL STATUS LIKE '{name}'"));
    let Some([own, value]) = told(asked)? else {
        return Ok(None);
    };
    let value = value.filter(|_| own.as_deref() == Some(name));
    let number = value.and_then(|it| it.parse().ok());
    number.map(Some).ok_or_else(|| conversation.unfit("a count and its name", "others"))
}

fn redis_info(conversation: &mut Conversation, section: &str, field: &str) -> Result<Option<u64>, WireError> {
    let command = vec![b"INFO".to_vec(), section.as_bytes().to_vec()];
    let Some(mut replies) = told(conversation.pipeline(&[command]))? else {
        return Ok(None);
    };
    let Some(Value::Bulk(Some(text))) = replies.pop() else {
        return Err(conversation.unfit("a text", "something else"));
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    let number = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')?.trim().parse().ok());
    number.map(Some).ok_or_else(|| conversation.unfit("a text with a count of clients", &text))
}

/// Returns how many queries of other clients are running; `None` if the server does not report this.
pub(crate) fn others_running(conversation: &mut Conversation) -> Result<Option<u64>, WireError> {
    match conversation.protocol() {
        Protocol::Mysql => status(conversation, "Threads_running"),
        Protocol::Postgres => told(
            conversation
                .number("SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()"),
        ),
        // Redis runs one command at a time, so no other client's command runs while Redis runs looptax's. The other
        // servers are not asked.
        Protocol::Redis
        | Protocol::Memcached
        | Protocol::Mongodb
        | Protocol::Fastcgi
        | Protocol::Http
        | Protocol::Echo => Ok(None),
    }
}
