//! Lists the names of the workloads, with the protocols that have them, and makes the text of `--list`.

use std::fmt::Write as _;

use looptax_model::dsn::Protocol;
use looptax_model::failure::Failure;

/// The name of a workload, the protocols that have it, and the requests that it means.
pub(super) struct Entry {
    pub word: &'static str,
    pub protocols: &'static [Protocol],
    means: &'static str,
}

pub(super) const SQL: &[Protocol] = &[Protocol::Mysql, Protocol::Postgres];
const REDIS: &[Protocol] = &[Protocol::Redis];
const KEYED: &[Protocol] = &[Protocol::Redis, Protocol::Memcached];
/// Protocols for which one server process serves all arms. Therefore a connect is the same work for the server on each
/// arm.
const ONE_SERVER: &[Protocol] = &[Protocol::Mysql, Protocol::Postgres, Protocol::Redis, Protocol::Echo];
const SQL_AND_REDIS: &[Protocol] = &[Protocol::Mysql, Protocol::Postgres, Protocol::Redis];
const ECHO: &[Protocol] = &[Protocol::Echo];
const MONGODB: &[Protocol] = &[Protocol::Mongodb];
const SITE: &[Protocol] = &[Protocol::Fastcgi, Protocol::Http];
const ALL: &[Protocol] =
    &[Protocol::Mysql, Protocol::Postgres, Protocol::Redis, Protocol::Memcached, Protocol::Mongodb, Protocol::Echo];

pub(super) const CATALOGUE: &[Entry] = &[
    entry("point-select", SQL, "one row by its key, like sysbench oltp_point_select"),
    entry("read-only", SQL, "16 statements that read, like sysbench oltp_read_only"),
    entry("read-write", SQL, "20 statements, like sysbench oltp_read_write"),
    entry("write-only", SQL, "6 statements that write, like sysbench oltp_write_only"),
    entry("update-index", SQL, "update an indexed column by key, like sysbench"),
    entry("update-non-index", SQL, "update a column without index by key, like sysbench"),
    entry("insert", SQL, "insert one row, like sysbench oltp_insert"),
    entry("delete", SQL, "delete one row by key, like sysbench oltp_delete"),
    entry("tpcb", SQL, "7 statements of pgbench's built-in transaction"),
    entry("select-only", SQL, "one account's balance, like pgbench -S"),
    entry("system-row", SQL, "one row of a system table by its key (pg_type, mysql.help_topic)"),
    entry("get", KEYED, "GET of an existing key"),
    entry("set", KEYED, "SET of a key (--value-size)"),
    entry("mixed:R:W", KEYED, "R GETs for every W SETs, in random order: mixed:9:1"),
    entry("incr", REDIS, "INCR of a counter"),
    entry("lpush", REDIS, "LPUSH on a list (--value-size)"),
    entry("find-one", MONGODB, "find of one document by its id"),
    entry("insert-one", MONGODB, "insert of one document with a new id"),
    entry("script:FILE", SQL, "your own transaction in pgbench's language; for several scripts: script:a.sql@3,b.sql"),
    entry(
        "ping",
        ALL,
        "a round trip without stored data: a constant (SQL), a missing key (Redis, memcached), a `ping`, an echo",
    ),
    entry("connect", ONE_SERVER, "open a connection, log in, send one query, close, and wait until the server closes"),
    entry(
        "dump",
        SQL_AND_REDIS,
        "a whole table at a time, like mysqldump and COPY TO STDOUT; in Redis, large values with as many bytes in \
         total as a table of --rows rows",
    ),
    entry("hello", SITE, "a page of 200 bytes of looptax's own site"),
    entry(
        "page:BYTES",
        SITE,
        "a page of BYTES bytes from a private server; from a running server, the page in its URL",
    ),
    entry("upload:BYTES", SITE, "BYTES bytes to the server, and a number back"),
    entry(
        "stream",
        ECHO,
        "bytes in one direction; the server counts the bytes and answers once (--stream-bytes, --write-size)",
    ),
];

const fn entry(word: &'static str, protocols: &'static [Protocol], means: &'static str) -> Entry {
    Entry { word, protocols, means }
}

pub fn list() -> String {
    let mut text = String::new();
    for Entry { word, protocols, means } in CATALOGUE {
        let who = protocols
            .iter()
            .map(|protocol| match protocol {
                Protocol::Mysql => "MySQL, MariaDB",
                Protocol::Redis => "Redis, Valkey",
                Protocol::Mongodb => "FerretDB, MongoDB",
                Protocol::Fastcgi => "PHP-FPM",
                other => other.title(),
            })
            .collect::<Vec<_>>()
            .join(", ");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{word:<17} {means}\n{:17} ({who})", "");
    }
    text
}

/// Returns the failure if a protocol has no workload of this name.
pub(super) fn unknown(word: &str, protocol: Protocol) -> Failure {
    let known: Vec<&str> =
        CATALOGUE.iter().filter(|entry| entry.protocols.contains(&protocol)).map(|entry| entry.word).collect();
    let servers = match protocol {
        Protocol::Mysql => "MySQL and MariaDB",
        Protocol::Mongodb => "FerretDB and MongoDB",
        Protocol::Fastcgi => "PHP-FPM",
        other => other.title(),
    };
    Failure::usage(
        format!("`{word}` is not a workload for {servers}"),
        format!("known: {}; looptax compare --list explains them", known.join(", ")),
    )
}
