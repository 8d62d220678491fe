//! Describes in one line what was measured: server, version, workload, and whether looptax started the server.
//!
//! Uses the names that people know; an unknown kind of server keeps its own name.

use looptax_model::record::{Target, Workload};

use crate::format::{Text, amount, size};

/// Returns the heading for everything that was measured on one server with one workload.
pub(crate) fn heading_for(target: &Target, workload: &Workload, text: Text) -> String {
    let name = match workload.name.as_str() {
        "command" => "whole command".to_owned(),
        // For these kinds of server, the workload `ping` does not send PING, but requests a missing key.
        "ping" if has_keys(&target.kind) => "get of a missing key".to_owned(),
        name => text.clean(&name.replace('-', " ")),
    };
    if target.kind == "application" {
        return format!("your application, {}", text.clean(&target.name));
    }
    if target.kind == "none" {
        return format!("{name}, on the server that the command chooses");
    }
    let mut parts = vec![server(target, text), name];
    parts.extend(workload.protocol.as_deref().map(|protocol| text.clean(protocol)));
    match (workload.statements, workload.pipeline) {
        (n @ 2.., _) => parts.push(format!("{n} statements per request")),
        (_, n @ 2..) => parts.push(format!("{n} commands per request")),
        _ => {}
    }
    let keys = workload.distribution.as_deref();
    parts.extend(keys.map(|keys| format!("keys {}", text.clean(keys))));
    let explained = match workload.name.as_str() {
        "connect" => Some("a request opens a connection, logs in, sends one query and closes"),
        "system-row" => Some("a request reads one row of a system table by its key"),
        "ping" if has_rows(&target.kind) => Some("a request selects a constant"),
        _ => None,
    };
    parts.extend(explained.map(str::to_owned));
    parts.extend(sizes(workload));
    parts.push(if target.private {
        "private server on this machine".to_owned()
    } else {
        format!("running server {}", text.clean(&target.name))
    });
    parts.join(", ")
}

/// Whether the workload `ping` requests a key from this kind of server; other kinds get a command without effect.
fn has_keys(kind: &str) -> bool {
    matches!(kind, "redis" | "valkey" | "memcached")
}

fn has_rows(kind: &str) -> bool {
    matches!(kind, "mysql" | "mariadb" | "postgres")
}

/// Returns the line below the heading, if each arm has separate server processes.
pub(crate) fn own_processes(target: &Target, text: Text) -> Option<String> {
    let n = target.processes_per_arm?;
    let kind = text.clean(&target.kind);
    Some(format!(
        "unix and tcp are separate processes, because {kind} serves a socket or TCP, not both; each has {n} processes \
         with the same binary and the same command line except for the address; for every epoch a coin picks one \
         process of unix and one process of tcp"
    ))
}

/// Returns the size of the requests, if the user has chosen it.
fn sizes(workload: &Workload) -> Option<String> {
    if let Some(stream) = &workload.stream {
        return Some(match stream.write_bytes {
            Some(bytes) => {
                format!("{} per request, sent in writes of {}", size(stream.bytes), size(bytes))
            }
            // The length of a dump was not chosen, so it is rounded.
            None => format!("{} per request", amount(stream.bytes)),
        });
    }
    let (there, back) = (workload.request_bytes?, workload.response_bytes?);
    Some(format!("{} there, {} back", size(there), size(back)))
}

/// Returns the server and its version: `MariaDB 10.11.19`.
pub(crate) fn server(target: &Target, text: Text) -> String {
    let name = match target.kind.as_str() {
        "mariadb" => "MariaDB",
        "mysql" => "MySQL",
        "postgres" => "PostgreSQL",
        "redis" => "Redis",
        "valkey" => "Valkey",
        "memcached" => "memcached",
        "echo" => {
            let threads = target.settings.get("threads");
            let threads = threads.map(|words| format!("; threads: {}", text.clean(words)));
            return format!("echo (no database{})", threads.unwrap_or_default());
        }
        other => &text.clean(other),
    };
    match version(&target.version) {
        "" => name.to_owned(),
        version => format!("{name} {}", text.clean(version)),
    }
}

/// Returns `10.11.19` for `10.11.19-MariaDB-0+deb12u1`; the whole text if it does not begin with a number.
pub(crate) fn version(stated: &str) -> &str {
    let end = stated.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(stated.len());
    if end == 0 { stated } else { &stated[..end] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stated: &str, expected: &str) {
        assert_eq!(version(stated), expected);
    }

    #[test]
    fn keeps_the_number_of_a_version() {
        check("10.11.19-MariaDB-0+deb12u1", "10.11.19");
        check("15.18 (Debian 15.18-0+deb12u1)", "15.18");
        check("7.0.15", "7.0.15");
        check("unstable", "unstable");
        check("", "");
    }
}
