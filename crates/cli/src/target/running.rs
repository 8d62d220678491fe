//! A running server that somebody cares for: what it is, what we may ask of it, and what forbids it.

use std::path::PathBuf;

use looptax_path::{Conversation, Endpoint, Limits, Protocol, Workload};
use looptax_wire::redis::Value;

use super::scratch::Scratch;
use super::{SET_BYTES, Target, no_workload, threads_of};
use crate::failure::{Exit, Failure};
use crate::settings::Compare;
use crate::settings::target::Running;

/// sysbench's first table.
const SYSBENCH_TABLE: &str = "sbtest1";

/// Logs in over TCP, asks for the socket, and decides what can be asked without harm.
pub(super) fn open(spec: &Running, settings: &Compare) -> Result<Target, Failure> {
    let endpoint = Endpoint::Tcp(spec.tcp);
    let mut conversation =
        Conversation::open(spec.protocol, &endpoint, &spec.login, Limits::default())?;
    refuse_if_logged(&mut conversation)?;
    let socket = match &settings.socket {
        Some(path) => path.clone(),
        None => ask_socket(&mut conversation)?,
    };
    let mut target = Target {
        kind: kind_of(&conversation).to_owned(),
        version: conversation.server_version().to_owned(),
        name: spec.shown.clone(),
        protocol: spec.protocol,
        login: spec.login.clone(),
        workload: Workload::Ping,
        n_keys: 1,
        threads: threads_of(spec.protocol),
        pid: None,
        settings: Vec::new(),
        socket,
        tcp: spec.tcp,
        private: None,
        scratch: None,
    };
    let by_socket = target.converse(looptax_path::Arm::Unix)?;
    target.pid = by_socket.facts().peer_pid;
    choose_workload(&mut target, conversation, settings)?;
    Ok(target)
}

fn kind_of(conversation: &Conversation) -> &'static str {
    match conversation.protocol() {
        Protocol::Mysql if conversation.server_version().contains("MariaDB") => "mariadb",
        Protocol::Mysql => "mysql",
        Protocol::Postgres => "postgres",
        Protocol::Redis => "redis",
        Protocol::Echo => "echo",
    }
}

/// Without `--write`: sysbench's table if the account can read it, else ping.
fn choose_workload(
    target: &mut Target,
    mut conversation: Conversation,
    settings: &Compare,
) -> Result<(), Failure> {
    let asked = settings.workload.as_deref();
    if settings.may_write && asked != Some("ping") {
        refuse_if_written_on(&mut conversation)?;
        tell_leftovers(&mut conversation)?;
        let scratch = match target.protocol {
            Protocol::Mysql => Scratch::database(&mut conversation, settings.rows)?,
            Protocol::Postgres => Scratch::schema(&mut conversation, settings.rows)?,
            Protocol::Redis | Protocol::Echo => Scratch::keys(&mut conversation, settings.rows)?,
        };
        target.workload = match (asked, scratch.workload()) {
            (Some("set"), Workload::Get { prefix }) => Workload::Set {
                prefix,
                value_bytes: SET_BYTES,
            },
            (_, workload) => workload,
        };
        target.n_keys = u64::from(settings.rows);
        target.scratch = Some(scratch);
        return Ok(());
    }
    let rows = sysbench_rows(&mut conversation);
    match (asked, rows) {
        (None | Some("point-select"), Some(rows)) => {
            target.workload = Workload::PointSelect {
                table: SYSBENCH_TABLE.to_owned(),
            };
            target.n_keys = rows;
            Ok(())
        }
        (None | Some("ping"), _) => Ok(()),
        (Some("point-select"), None) => Err(Failure::usage(
            format!("there is no table `{SYSBENCH_TABLE}` that this account can read"),
            "--workload ping needs no table; --write makes a scratch schema and drops it afterwards",
        )),
        (Some(word @ ("get" | "set")), _) if target.protocol == Protocol::Redis => {
            Err(Failure::usage(
                format!("`{word}` needs keys on the server"),
                "--workload ping asks for a missing key; --write sets scratch keys and removes them afterwards",
            ))
        }
        (Some(word), _) => Err(no_workload(word, target.protocol)),
    }
}

/// The number of rows, when ids run from 1 without gaps.
fn sysbench_rows(conversation: &mut Conversation) -> Option<u64> {
    let rows = conversation
        .query(&format!(
            "SELECT COUNT(*), MIN(id), MAX(id) FROM {SYSBENCH_TABLE}"
        ))
        .ok()?;
    let numbers: Vec<u64> = rows
        .first()?
        .iter()
        .filter_map(|cell| cell.as_ref()?.parse().ok())
        .collect();
    match numbers[..] {
        [count, 1, max] if count == max => Some(count),
        _ => None,
    }
}

fn ask_socket(conversation: &mut Conversation) -> Result<PathBuf, Failure> {
    let none = || {
        Failure::usage(
            "the server does not tell its socket",
            "give it with --socket; `ss -xl` lists sockets",
        )
    };
    let first = |rows: Vec<Vec<Option<String>>>| rows.into_iter().next()?.into_iter().next()?;
    let path = match conversation.protocol() {
        Protocol::Mysql => first(conversation.query("SELECT @@socket")?),
        Protocol::Postgres => {
            let folders =
                first(conversation.query("SHOW unix_socket_directories")?).unwrap_or_default();
            let port = first(conversation.query("SHOW port")?).unwrap_or_default();
            folders
                .split(',')
                .map(str::trim)
                .find(|it| it.starts_with('/'))
                .map(|it| format!("{it}/.s.PGSQL.{port}"))
        }
        Protocol::Redis | Protocol::Echo => config(conversation, "unixsocket"),
    };
    path.filter(|path| path.starts_with('/'))
        .map(PathBuf::from)
        .ok_or_else(none)
}

/// One setting of a Redis server; `None` when the account may not ask.
fn config(conversation: &mut Conversation, name: &str) -> Option<String> {
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
fn refuse_if_logged(conversation: &mut Conversation) -> Result<(), Failure> {
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
        Protocol::Redis | Protocol::Echo => &[],
    };
    refuse(
        conversation,
        forbidden,
        "every measured query would be written to the server's log",
        variable,
    )
}

/// What `--write` writes must not replicate, evict, or land in an append-only file.
fn refuse_if_written_on(conversation: &mut Conversation) -> Result<(), Failure> {
    let why = "what --write writes would go further than this server's memory";
    match conversation.protocol() {
        Protocol::Mysql => refuse(conversation, &[("log_bin", &["ON", "1"])], why, variable),
        Protocol::Postgres => refuse(conversation, &[("wal_level", &["logical"])], why, variable),
        Protocol::Redis | Protocol::Echo => {
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
            return Err(Failure {
                error: anyhow::anyhow!("the server runs with `{name} = {value}`: {why}"),
                hint: Some(format!(
                    "change `{name}` while measuring, or measure a private server"
                )),
                exit: Exit::Environment,
            });
        }
    }
    Ok(())
}

fn tell_leftovers(conversation: &mut Conversation) -> Result<(), Failure> {
    let Ok(names) = Scratch::leftovers(conversation) else {
        return Ok(());
    };
    match names.first() {
        None => Ok(()),
        Some(first) => Err(Failure {
            error: anyhow::anyhow!(
                "an earlier run that was killed left {} behind",
                names.join(", ")
            ),
            hint: Some(match conversation.protocol() {
                Protocol::Mysql => format!("DROP DATABASE {first};"),
                _ => format!("DROP SCHEMA {first} CASCADE;"),
            }),
            exit: Exit::Environment,
        }),
    }
}
