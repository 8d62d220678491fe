//! Checks how a workload is sent: options must fit the workload, and a single send must not be too large.

use looptax_bench::path::{Echo, EchoRequest, Workload};
use looptax_model::dsn::Protocol;
use looptax_model::failure::Failure;
use looptax_wire::Sent;

use super::catalogue::SQL;
use crate::spec::Requests;

/// Maximum size of one send in bytes: a larger pipeline would fill the buffers of both sockets, and each end would wait
/// for the other.
const MOST_PIPELINED_BYTES: u64 = 64 << 20;
/// Maximum size of a value in memcached, in bytes: an item of 1 MiB minus its key and header.
const MOST_MEMCACHED_BYTES: u64 = (1 << 20) - 256;
/// Maximum size of one pipeline to the echo server, in bytes. The server replies to each request immediately, and waits
/// until its replies are read, so a pipeline must fit into the socket's buffer.
const MOST_ECHOED_BYTES: u64 = 128 << 10;
/// Size of a command without its value, in bytes: the digits of the key, and the protocol's text around the key. Used
/// to check workloads against the limits above.
const COMMAND_BYTES: u64 = 96;

/// Checks that the workload can be sent in the requested way.
///
/// # Errors
/// A usage failure that names the option that does not fit.
pub(super) fn check(workload: &Workload, protocol: Protocol, requests: &Requests) -> Result<(), Failure> {
    if matches!(workload, Workload::Dump { .. }) && requests.sent == Sent::Text {
        return Err(Failure::usage(
            "--protocol does not apply to `dump`, which is always sent as text",
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
    check_forms(workload, protocol, requests)?;
    let value_bytes = match workload {
        Workload::DumpValues { .. } if requests.pipeline > 1 => {
            return Err(Failure::usage(
                "--pipeline does not apply to `dump`, which requests one value after another",
                "use --value-size to choose the size of the values",
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
                "use get, set, mixed or lpush, which have values",
            ));
        }
        _ => 0,
    };
    if protocol == Protocol::Memcached && value_bytes > MOST_MEMCACHED_BYTES {
        return Err(Failure::usage(
            format!("memcached accepts no value of {value_bytes} bytes"),
            format!("use --value-size {MOST_MEMCACHED_BYTES} at most"),
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
            "at most 64 MiB are possible: use a smaller --pipeline or --value-size",
        ));
    }
    Ok(())
}

/// Returns an error for pipelines and text if the protocol does not have them.
fn check_forms(workload: &Workload, protocol: Protocol, requests: &Requests) -> Result<(), Failure> {
    let is_sql = SQL.contains(&protocol);
    if requests.pipeline > 1 && matches!(workload, Workload::Page(_)) {
        return Err(Failure::usage(
            format!("--pipeline does not apply to `{workload}`: a web server gets one request after another"),
            "use -c to choose how many pages are requested at the same time",
        ));
    }
    if requests.pipeline > 1 && (is_sql || protocol == Protocol::Mongodb) {
        return Err(Failure::usage(
            format!(
                "--pipeline {} does not apply to {}: looptax sends {} only after the previous answer",
                requests.pipeline,
                protocol.title(),
                if is_sql { "a statement" } else { "a command" }
            ),
            "Redis, Valkey, memcached and echo accept pipelines",
        ));
    }
    if requests.sent == Sent::Text && !is_sql {
        return Err(Failure::usage(
            format!("--protocol text does not apply to {}", protocol.title()),
            "MySQL, MariaDB and PostgreSQL have prepared statements and text",
        ));
    }
    Ok(())
}

/// Returns an error for `--reconnect-every` with a workload that cannot be prepared quickly: its sessions are opened
/// within a slice.
fn check_reconnect(workload: &Workload, protocol: Protocol, requests: &Requests) -> Result<(), Failure> {
    let is_long = matches!(
        workload,
        Workload::Script { .. } | Workload::Dump { .. } | Workload::DumpValues { .. } | Workload::Echo(_)
    );
    let is_refused = is_long || matches!(protocol, Protocol::Memcached | Protocol::Mongodb);
    if requests.reconnect_every.is_none() || !is_refused {
        return Ok(());
    }
    Err(Failure::usage(
        format!("--reconnect-every does not apply to `{workload}` on {}", protocol.title()),
        "MySQL, MariaDB, PostgreSQL and Redis support --reconnect-every with their short workloads, PHP-FPM and \
        HTTP with pages",
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
            format!("{name} does not apply to `connect`: each connection sends one query and closes"),
            "use -c to choose how many connections are opened at the same time",
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
            "--pipeline does not apply to `stream`, because a stream is a single request, sent in many writes",
            "use --write-size to choose the size of the writes",
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
                format!("the limit is {MOST_ECHOED_BYTES} bytes: use a smaller --pipeline or --request-size"),
            ))
        }
    }
}
