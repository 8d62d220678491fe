//! What forbids measuring on a running server, asked of the server before anything is measured.
//!
//! Nobody's log is filled, nobody's disk or replica written to, nobody's connections used up.

use looptax_dsn::Protocol;
use looptax_failure::Failure;
use looptax_path::Conversation;
use looptax_wire::redis::Value;

/// Measured connections may take this part of those that are free.
const PART_OF_FREE: u64 = 10;

/// One setting of a Redis server; `None` when the account may not ask.
pub(crate) fn config(conversation: &mut Conversation, name: &str) -> Option<String> {
    let command = vec![
        b"CONFIG".to_vec(),
        b"GET".to_vec(),
        name.as_bytes().to_vec(),
    ];
    match conversation.pipeline(&[command]).ok()?.pop()? {
        Value::Array(Some(pair)) => match pair.into_iter().nth(1)? {
            Value::Bulk(Some(bytes)) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            _ => None,
        },
        _ => None,
    }
}

/// One setting of a SQL server; `None` when there is none of that name.
fn variable(conversation: &mut Conversation, name: &str) -> Option<String> {
    let sql = match conversation.protocol() {
        Protocol::Mysql => format!("SHOW GLOBAL VARIABLES LIKE '{name}'"),
        _ => format!("SELECT 0, current_setting('{name}', true)"),
    };
    conversation
        .query(&sql)
        .ok()?
        .into_iter()
        .next()?
        .into_iter()
        .nth(1)?
}

/// Our queries must not fill somebody's log.
pub(crate) fn refuse_if_logged(conversation: &mut Conversation) -> Result<(), Failure> {
    let forbidden: &[(&str, &[&str])] = match conversation.protocol() {
        Protocol::Mysql => &[
            ("general_log", &["ON", "1"]),
            ("server_audit_logging", &["ON", "1"]),
        ],
        Protocol::Postgres => &[
            ("log_statement", &["all"]),
            ("log_min_duration_statement", &["0"]),
            ("pgaudit.log", &["all", "read"]),
        ],
        Protocol::Redis
        | Protocol::Memcached
        | Protocol::Mongodb
        | Protocol::Fastcgi
        | Protocol::Http
        | Protocol::Echo => &[],
    };
    refuse(
        conversation,
        forbidden,
        "every measured query would be written to the server's log",
        variable,
    )
}

/// What `--write` writes must not replicate, evict, or land in an append-only file.
pub(crate) fn refuse_if_written_on(conversation: &mut Conversation) -> Result<(), Failure> {
    let why = "what --write writes would go further than this server's memory";
    match conversation.protocol() {
        Protocol::Mysql => refuse(conversation, &[("log_bin", &["ON", "1"])], why, variable),
        Protocol::Postgres => refuse(conversation, &[("wal_level", &["logical"])], why, variable),
        Protocol::Mongodb => refuse_if_replicated(conversation, why),
        Protocol::Memcached | Protocol::Fastcgi | Protocol::Http | Protocol::Echo => Ok(()),
        Protocol::Redis => {
            if config(conversation, "maxmemory").is_some_and(|limit| limit != "0") {
                let evicting = [
                    "allkeys-lru",
                    "allkeys-lfu",
                    "allkeys-random",
                    "volatile-lru",
                    "volatile-lfu",
                    "volatile-random",
                    "volatile-ttl",
                ];
                refuse(
                    conversation,
                    &[("maxmemory-policy", &evicting)],
                    why,
                    config,
                )?;
            }
            refuse(conversation, &[("appendonly", &["yes"])], why, config)
        }
    }
}

fn refuse_if_replicated(conversation: &mut Conversation, why: &str) -> Result<(), Failure> {
    if conversation.mongodb().is_ok_and(|it| it.is_replicated()) {
        return Err(Failure::usage(
            format!("the server is one of a replica set: {why}"),
            "measure a server of its own, or a private one: private:ferretdb",
        ));
    }
    Ok(())
}

fn refuse(
    conversation: &mut Conversation,
    forbidden: &[(&str, &[&str])],
    why: &str,
    read: fn(&mut Conversation, &str) -> Option<String>,
) -> Result<(), Failure> {
    for (name, values) in forbidden {
        let Some(value) = read(conversation, name) else {
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

/// Refuses to take more than a tenth of the connections that are free. Servers that do not tell
/// their numbers are not refused: their own limit holds.
pub(crate) fn refuse_if_crowded(
    conversation: &mut Conversation,
    wanted: u64,
) -> Result<(), Failure> {
    let Some((most, used)) = capacity(conversation) else {
        return Ok(());
    };
    let free = most.saturating_sub(used);
    if wanted * PART_OF_FREE <= free {
        return Ok(());
    }
    Err(Failure::usage(
        format!(
            "{wanted} connections are more than a tenth of the {free} that the server has free"
        ),
        "use fewer with -c; --own-server says that nobody else needs them",
    ))
}

/// Connections that the server allows, and those in use.
fn capacity(conversation: &mut Conversation) -> Option<(u64, u64)> {
    match conversation.protocol() {
        Protocol::Mysql => {
            let most = variable(conversation, "max_connections")?.parse().ok()?;
            let rows = conversation
                .query("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
                .ok()?;
            Some((most, rows.first()?.get(1)?.as_ref()?.parse().ok()?))
        }
        Protocol::Postgres => {
            let most = variable(conversation, "max_connections")?.parse().ok()?;
            let rows = conversation
                .query("SELECT count(*) FROM pg_stat_activity")
                .ok()?;
            Some((most, rows.first()?.first()?.as_ref()?.parse().ok()?))
        }
        Protocol::Redis => {
            let most = config(conversation, "maxclients")?.parse().ok()?;
            let used = redis_info(conversation, "clients", "connected_clients")?;
            Some((most, used))
        }
        Protocol::Mongodb => conversation.mongodb().ok()?.capacity().ok()?,
        Protocol::Memcached | Protocol::Fastcgi | Protocol::Http | Protocol::Echo => None,
    }
}

fn redis_info(conversation: &mut Conversation, section: &str, field: &str) -> Option<u64> {
    let command = vec![b"INFO".to_vec(), section.as_bytes().to_vec()];
    let Value::Bulk(Some(text)) = conversation.pipeline(&[command]).ok()?.pop()? else {
        return None;
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().find_map(|line| {
        line.strip_prefix(field)?
            .strip_prefix(':')?
            .trim()
            .parse()
            .ok()
    })
}

/// Queries of others that run right now, where the server tells.
pub(crate) fn others_running(conversation: &mut Conversation) -> Option<u64> {
    let sql = match conversation.protocol() {
        Protocol::Mysql => "SHOW GLOBAL STATUS LIKE 'Threads_running'",
        Protocol::Postgres => {
            "SELECT 0, count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()"
        }
        // One thread: it runs one command at a time, ours or another's.
        Protocol::Redis
        | Protocol::Memcached
        | Protocol::Mongodb
        | Protocol::Fastcgi
        | Protocol::Http
        | Protocol::Echo => return None,
    };
    conversation
        .query(sql)
        .ok()?
        .first()?
        .get(1)?
        .as_ref()?
        .parse()
        .ok()
}
