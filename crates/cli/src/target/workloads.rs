//! The workloads by their words: which exist for which protocol, and what a word means at a place.

use std::fmt::Write as _;

use looptax_path::{Conversation, Echo, EchoRequest, Oltp, Protocol, TPCB_ACCOUNTS, Workload};
use looptax_servers::{ServerError, dataset};
use looptax_wire::Sent;

use crate::failure::Failure;
use crate::settings::Requests;

/// What one send may hold at most, in bytes: a pipeline of large values would else fill both socket
/// buffers and wait for itself.
const MOST_PIPELINED_BYTES: u64 = 64 << 20;
/// Largest value that memcached takes, in bytes: an item of 1 MiB less its key and header.
const MOST_MEMCACHED_BYTES: u64 = (1 << 20) - 256;
/// What one send to the echo server may hold at most, in bytes, where it is a pipeline: it answers each
/// request at once and waits until its answers are read, so a send has to fit into the socket.
const MOST_ECHOED_BYTES: u64 = 128 << 10;
/// Digits of every key, and what a command has around it, in bytes; for the check above.
const COMMAND_BYTES: u64 = 96;
/// Size of a list's element where none is asked for, in bytes: lists grow with every request.
const ELEMENT_BYTES: usize = 3;

/// Size of a dumped value where none is asked for, in bytes: what people call a large one.
const DUMPED_VALUE_BYTES: usize = 1 << 20;
/// Bytes of a row of sysbench's table by its columns: two numbers, 120 and 60 characters.
const DUMPED_ROW_BYTES: u64 = 188;

/// Size of a value where none is asked for, in bytes.
pub(super) const VALUE_BYTES: usize = dataset::KEY_VALUE_BYTES;

/// Where a workload's data lie on a server.
pub(super) struct Place {
    /// What stands before a table's name: empty, or a schema or database with its dot.
    pub(super) schema: String,
    /// What a key starts with.
    pub(super) prefix: String,
    /// How long written keys live, in seconds; for ever without it.
    pub(super) ttl_s: Option<u32>,
    pub(super) rows: u32,
}

impl Place {
    /// On a private server.
    pub(super) fn private(rows: u32) -> Self {
        Self {
            schema: String::new(),
            prefix: dataset::KEY_PREFIX.to_owned(),
            ttl_s: None,
            rows,
        }
    }

    fn table(&self) -> String {
        format!("{}{}", self.schema, dataset::TABLE)
    }
}

/// A word, who knows it, and what it asks for.
struct Entry {
    word: &'static str,
    protocols: &'static [Protocol],
    means: &'static str,
}

const SQL: &[Protocol] = &[Protocol::Mysql, Protocol::Postgres];
const REDIS: &[Protocol] = &[Protocol::Redis];
const KEYED: &[Protocol] = &[Protocol::Redis, Protocol::Memcached];
/// One server behind all arms, so that a connection to either is the same work for it.
const ONE_SERVER: &[Protocol] = &[
    Protocol::Mysql,
    Protocol::Postgres,
    Protocol::Redis,
    Protocol::Echo,
];
const SQL_AND_REDIS: &[Protocol] = &[Protocol::Mysql, Protocol::Postgres, Protocol::Redis];
const ECHO: &[Protocol] = &[Protocol::Echo];
const ALL: &[Protocol] = &[
    Protocol::Mysql,
    Protocol::Postgres,
    Protocol::Redis,
    Protocol::Memcached,
    Protocol::Echo,
];

const CATALOGUE: &[Entry] = &[
    entry(
        "point-select",
        SQL,
        "one row by its key, as sysbench oltp_point_select",
    ),
    entry(
        "read-only",
        SQL,
        "16 statements that read, as sysbench oltp_read_only",
    ),
    entry(
        "read-write",
        SQL,
        "20 statements, as sysbench oltp_read_write",
    ),
    entry(
        "write-only",
        SQL,
        "6 statements that write, as sysbench oltp_write_only",
    ),
    entry(
        "update-index",
        SQL,
        "update an indexed column by key, as sysbench",
    ),
    entry(
        "update-non-index",
        SQL,
        "update a column without index by key, as sysbench",
    ),
    entry("insert", SQL, "insert one row, as sysbench oltp_insert"),
    entry(
        "delete",
        SQL,
        "delete one row by key, as sysbench oltp_delete",
    ),
    entry(
        "tpcb",
        SQL,
        "7 statements of pgbench's built-in transaction",
    ),
    entry("select-only", SQL, "one account's balance, as pgbench -S"),
    entry("get", KEYED, "GET of a key that is there"),
    entry("set", KEYED, "SET of a key (--value-size)"),
    entry(
        "mixed:R:W",
        KEYED,
        "R times GET for W times SET, at random: mixed:9:1",
    ),
    entry("incr", REDIS, "INCR of a counter"),
    entry("lpush", REDIS, "LPUSH on a list (--value-size)"),
    entry(
        "script:FILE",
        SQL,
        "your own transaction in pgbench's language; several: script:a.sql@3,b.sql",
    ),
    entry(
        "ping",
        ALL,
        "a round trip without data: 120 constant bytes, a missing key, an echo",
    ),
    entry(
        "connect",
        ONE_SERVER,
        "open a connection, log in, ask once, close, and wait for the server's end",
    ),
    entry(
        "dump",
        SQL_AND_REDIS,
        "a whole table in one go, as mysqldump and COPY TO STDOUT; large values of as many bytes (--rows)",
    ),
    entry(
        "stream",
        ECHO,
        "bytes one way, counted and answered once (--stream-bytes, --write-size)",
    ),
];

const fn entry(word: &'static str, protocols: &'static [Protocol], means: &'static str) -> Entry {
    Entry {
        word,
        protocols,
        means,
    }
}

/// All workloads, a line each.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for Entry {
        word,
        protocols,
        means,
    } in CATALOGUE
    {
        let who = protocols
            .iter()
            .map(|protocol| match protocol {
                Protocol::Mysql => "MySQL, MariaDB",
                Protocol::Redis => "Redis, Valkey",
                other => other.name(),
            })
            .collect::<Vec<_>>()
            .join(", ");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{word:<17} {means}\n{:17} ({who})", "");
    }
    text
}

/// What is asked where nothing is said.
pub(super) fn default_word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Mysql | Protocol::Postgres => "point-select",
        Protocol::Redis | Protocol::Memcached => "get",
        Protocol::Echo => "ping",
    }
}

/// The workload that a word means at a place.
///
/// # Errors
/// A usage failure when there is none of that word for this protocol, or it cannot be sent as asked.
pub(super) fn make(
    protocol: Protocol,
    requests: &Requests,
    place: &Place,
) -> Result<Workload, Failure> {
    let word = requests.workload.as_deref();
    let word = word.unwrap_or(default_word(protocol));
    let workload = match protocol {
        Protocol::Mysql | Protocol::Postgres => sql(word, place),
        Protocol::Redis => redis(word, requests, place)?,
        Protocol::Memcached => keyed(word, requests, place)?,
        Protocol::Echo if word == "connect" => Some(Workload::Connect),
        Protocol::Echo => requests.echo.workload(word)?.map(Workload::Echo),
    };
    let workload = workload.ok_or_else(|| unknown(word, protocol))?;
    check_sending(&workload, protocol, requests)?;
    Ok(workload)
}

fn sql(word: &str, place: &Place) -> Option<Workload> {
    let table = place.table();
    let schema = place.schema.clone();
    Some(match word {
        "point-select" => Workload::PointSelect { table },
        "ping" => Workload::Ping,
        "connect" => Workload::Connect,
        "dump" => Workload::Dump {
            table,
            rows: u64::from(place.rows),
        },
        "tpcb" => Workload::Tpcb {
            schema,
            scale: scale(place.rows),
        },
        "select-only" => Workload::SelectOnly { schema },
        word if word.starts_with("script:") => Workload::Script {
            files: word.trim_start_matches("script:").to_owned(),
        },
        word => Workload::Oltp {
            oltp: Oltp::ALL.into_iter().find(|oltp| oltp.name() == word)?,
            table,
        },
    })
}

/// Branches for so many accounts.
pub(crate) fn scale(n_accounts: u32) -> u32 {
    n_accounts.div_ceil(TPCB_ACCOUNTS)
}

fn redis(word: &str, requests: &Requests, place: &Place) -> Result<Option<Workload>, Failure> {
    let prefix = &place.prefix;
    Ok(Some(match word {
        "incr" => Workload::Incr {
            prefix: format!("{prefix}counter:"),
        },
        "lpush" => Workload::Lpush {
            prefix: format!("{prefix}list:"),
            value_bytes: requests.value_bytes.unwrap_or(ELEMENT_BYTES),
        },
        word => return keyed(word, requests, place),
    }))
}

/// What Redis and memcached both know.
fn keyed(word: &str, requests: &Requests, place: &Place) -> Result<Option<Workload>, Failure> {
    let prefix = place.prefix.clone();
    let ttl_s = place.ttl_s;
    let value_bytes = requests.value_bytes.unwrap_or(VALUE_BYTES);
    Ok(Some(match word {
        "get" => Workload::Get { prefix },
        "ping" => Workload::Ping,
        "connect" => Workload::Connect,
        "dump" => dump_values(requests, place),
        "set" => Workload::Set {
            prefix,
            value_bytes,
            ttl_s,
        },
        word => match word.strip_prefix("mixed") {
            None => return Ok(None),
            Some(proportion) => Workload::Mixed {
                reads_and_writes: reads_and_writes(proportion)?,
                prefix,
                value_bytes,
                ttl_s,
            },
        },
    }))
}

/// As many large values as a table of so many rows has bytes.
fn dump_values(requests: &Requests, place: &Place) -> Workload {
    let value_bytes = requests.value_bytes.unwrap_or(DUMPED_VALUE_BYTES);
    let total_bytes = u64::from(place.rows) * DUMPED_ROW_BYTES;
    Workload::DumpValues {
        prefix: format!("{}dump:", place.prefix),
        n_keys: total_bytes.div_ceil(value_bytes.max(1) as u64).max(1),
        value_bytes,
    }
}

/// `:9:1`, or nothing for half and half.
fn reads_and_writes(typed: &str) -> Result<[u32; 2], Failure> {
    let numbers: Option<Vec<u32>> = typed
        .split(':')
        .skip(1)
        .map(|number| number.parse().ok())
        .collect();
    match numbers.as_deref() {
        Some([]) if typed.is_empty() => Ok([1, 1]),
        Some(&[reads @ ..=1_000_000, writes @ ..=1_000_000]) if reads + writes > 0 => {
            Ok([reads, writes])
        }
        _ => Err(Failure::usage(
            format!("`mixed{typed}` does not name a proportion"),
            "reads and writes, for example mixed:9:1",
        )),
    }
}

fn check_sending(
    workload: &Workload,
    protocol: Protocol,
    requests: &Requests,
) -> Result<(), Failure> {
    let is_sql = SQL.contains(&protocol);
    if matches!(workload, Workload::Dump { .. }) && requests.sent == Sent::Text {
        return Err(Failure::usage(
            "--protocol does not apply to `dump`: it goes out as text, as dumps do",
            "leave --protocol out",
        ));
    }
    match workload {
        Workload::Echo(echo) => check_echo(echo, requests)?,
        _ => requests.echo.refuse_others(&[], &workload.to_string())?,
    }
    if *workload == Workload::Connect {
        return check_connect(requests);
    }
    check_reconnect(workload, protocol, requests)?;
    if requests.pipeline > 1 && is_sql {
        return Err(Failure::usage(
            format!(
                "--pipeline {} is not for {}: a statement is sent when the answer before it is in",
                requests.pipeline,
                protocol.name()
            ),
            "Redis, Valkey, memcached and echo take pipelines",
        ));
    }
    if requests.sent == Sent::Text && !is_sql {
        return Err(Failure::usage(
            format!("--protocol text is not for {}", protocol.name()),
            "MySQL, MariaDB and PostgreSQL have prepared statements and text",
        ));
    }
    let value_bytes = match workload {
        Workload::DumpValues { .. } if requests.pipeline > 1 => {
            return Err(Failure::usage(
                "--pipeline does not apply to `dump`: it asks for one value after the other",
                "--value-size chooses their size",
            ));
        }
        Workload::DumpValues { value_bytes, .. }
        | Workload::Set { value_bytes, .. }
        | Workload::Mixed { value_bytes, .. }
        | Workload::Lpush { value_bytes, .. } => *value_bytes as u64,
        Workload::Get { .. } => requests.value_bytes.unwrap_or_default() as u64,
        _ if requests.value_bytes.is_some() => {
            return Err(Failure::usage(
                format!("--value-size does not apply to `{workload}`"),
                "get, set, mixed and lpush have values",
            ));
        }
        _ => 0,
    };
    if protocol == Protocol::Memcached && value_bytes > MOST_MEMCACHED_BYTES {
        return Err(Failure::usage(
            format!("memcached takes no value of {value_bytes} bytes"),
            format!("at most --value-size {MOST_MEMCACHED_BYTES}"),
        ));
    }
    let sent_bytes = u64::from(requests.pipeline) * (COMMAND_BYTES + value_bytes);
    if sent_bytes > MOST_PIPELINED_BYTES {
        return Err(Failure::usage(
            format!(
                "a pipeline of {} values of {value_bytes} bytes is {} MiB in one send",
                requests.pipeline,
                sent_bytes >> 20
            ),
            "at most 64 MiB: a smaller --pipeline or --value-size",
        ));
    }
    Ok(())
}

/// Sessions are opened within a slice: only what can be made ready quickly on any connection.
fn check_reconnect(
    workload: &Workload,
    protocol: Protocol,
    requests: &Requests,
) -> Result<(), Failure> {
    let is_long = matches!(
        workload,
        Workload::Script { .. }
            | Workload::Dump { .. }
            | Workload::DumpValues { .. }
            | Workload::Echo(_)
    );
    let is_refused = is_long || protocol == Protocol::Memcached;
    if requests.reconnect_every.is_none() || !is_refused {
        return Ok(());
    }
    Err(Failure::usage(
        format!(
            "--reconnect-every is not for `{workload}` on {}",
            protocol.name()
        ),
        "MySQL, MariaDB, PostgreSQL and Redis take it with their short workloads",
    ))
}

fn check_connect(requests: &Requests) -> Result<(), Failure> {
    let typed = [
        ("--pipeline", requests.pipeline > 1),
        ("--protocol", requests.sent == Sent::Text),
        ("--value-size", requests.value_bytes.is_some()),
        ("--reconnect-every", requests.reconnect_every.is_some()),
    ];
    match typed.into_iter().find(|(_, is_typed)| *is_typed) {
        Some((name, _)) => Err(Failure::usage(
            format!("{name} does not apply to `connect`: it asks once and closes"),
            "-c chooses how many do that at once",
        )),
        None => Ok(()),
    }
}

fn check_echo(echo: &Echo, requests: &Requests) -> Result<(), Failure> {
    if requests.pipeline == 1 {
        return Ok(());
    }
    match echo.request {
        EchoRequest::Stream { .. } => Err(Failure::usage(
            "--pipeline is not for `stream`: it is one request of many writes",
            "--write-size chooses their size",
        )),
        EchoRequest::Ping { request_bytes, .. } => {
            let sent_bytes = u64::from(requests.pipeline) * u64::from(request_bytes);
            if sent_bytes <= MOST_ECHOED_BYTES {
                return Ok(());
            }
            Err(Failure::usage(
                format!(
                    "a pipeline of {} requests of {request_bytes} bytes is {sent_bytes} bytes in one send",
                    requests.pipeline
                ),
                format!(
                    "the echo server takes {MOST_ECHOED_BYTES}: a smaller --pipeline or --request-size"
                ),
            ))
        }
    }
}

fn unknown(word: &str, protocol: Protocol) -> Failure {
    let known: Vec<&str> = CATALOGUE
        .iter()
        .filter(|entry| entry.protocols.contains(&protocol))
        .map(|entry| entry.word)
        .collect();
    Failure::usage(
        format!("`{word}` is no workload for {}", protocol.name()),
        format!(
            "{} knows {}; looptax compare --list explains them",
            protocol.name(),
            known.join(", ")
        ),
    )
}

/// Makes the data that the workload asks for, where the conversation's own schema is.
///
/// # Errors
/// The statement or the keys that failed.
pub(super) fn fill(
    workload: &Workload,
    conversation: &mut Conversation,
    requests: &Requests,
    rows: u32,
) -> Result<(), ServerError> {
    let protocol = conversation.protocol();
    match (workload, protocol) {
        (
            Workload::PointSelect { .. } | Workload::Oltp { .. } | Workload::Dump { .. },
            Protocol::Mysql,
        ) => dataset::populate_mysql(|sql| conversation.execute(sql), rows),
        (Workload::PointSelect { .. } | Workload::Oltp { .. } | Workload::Dump { .. }, _) => {
            dataset::populate_postgres(|sql| conversation.execute(sql), rows)
        }
        (Workload::Script { .. }, Protocol::Mysql) => {
            dataset::populate_mysql(|sql| conversation.execute(sql), rows)?;
            dataset::tpcb::populate(|sql| conversation.execute(sql), rows, scale(rows))
        }
        (Workload::Script { .. }, _) => {
            dataset::populate_postgres(|sql| conversation.execute(sql), rows)?;
            dataset::tpcb::populate(|sql| conversation.execute(sql), rows, scale(rows))?;
            dataset::tpcb::vacuum(|sql| conversation.execute(sql))
        }
        (Workload::Tpcb { .. } | Workload::SelectOnly { .. }, _) => {
            dataset::tpcb::populate(|sql| conversation.execute(sql), rows, scale(rows))?;
            if protocol == Protocol::Postgres {
                dataset::tpcb::vacuum(|sql| conversation.execute(sql))?;
            }
            Ok(())
        }
        // Written keys too: each of its processes sees a part of the writes alone, and a first write of
        // a key is more work than a second.
        (
            Workload::Get { prefix }
            | Workload::Set { prefix, .. }
            | Workload::Mixed { prefix, .. },
            Protocol::Memcached,
        ) => {
            let keys = keys(prefix, requests, rows);
            dataset::populate_memcached(|pairs| conversation.store(pairs), &keys)
        }
        (Workload::Get { prefix } | Workload::Mixed { prefix, .. }, _) => {
            let keys = keys(prefix, requests, rows);
            dataset::populate_redis(|commands| conversation.pipeline(commands), &keys)
        }
        (
            Workload::DumpValues {
                prefix,
                n_keys,
                value_bytes,
            },
            _,
        ) => {
            let keys = dataset::Keys {
                prefix,
                n: u32::try_from(*n_keys).unwrap_or(u32::MAX),
                value_bytes: *value_bytes,
            };
            dataset::populate_redis(|commands| conversation.pipeline(commands), &keys)
        }
        _ => Ok(()),
    }
}

fn keys<'a>(prefix: &'a str, requests: &Requests, rows: u32) -> dataset::Keys<'a> {
    dataset::Keys {
        prefix,
        n: rows,
        value_bytes: requests.value_bytes.unwrap_or(VALUE_BYTES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, wanted: Option<[u32; 2]>) {
        assert_eq!(reads_and_writes(typed).ok(), wanted, "{typed}");
    }

    #[test]
    fn proportions_are_two_numbers_of_which_one_is_more_than_nothing() {
        check("", Some([1, 1]));
        check(":9:1", Some([9, 1]));
        check(":1:0", Some([1, 0]));
        check(":0:0", None);
        check(":9", None);
        check(":9:1:1", None);
        check(":a:b", None);
        check("9:1", None);
    }

    #[test]
    fn every_word_of_the_list_makes_a_workload() {
        let place = Place::private(1);
        for entry in CATALOGUE {
            for protocol in entry.protocols {
                let requests = Requests {
                    workload: Some(entry.word.replace("R:W", "9:1")),
                    ..Requests::default()
                };
                let workload = make(*protocol, &requests, &place);
                let workload = workload.unwrap_or_else(|_| panic!("{}", entry.word));
                assert!(entry.word.starts_with(workload.name()), "{}", entry.word);
            }
        }
    }
}
