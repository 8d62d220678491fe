//! Facts about a connection that are not in its bytes: the protocol of its server, and the name of a process.

use looptax_host::discover::{Server, server_at};
use looptax_host::eyes::{Asked, Name};
use looptax_host::kernel;
use looptax_model::dsn::Protocol;

/// Returns the protocol of the server at the other end of a connection. If looptax sees no server at the address, it
/// recognises only the usual ports of MySQL and PostgreSQL. `None` for MySQL's X Protocol and for unknown protocols.
pub(super) fn protocol_at(asked: &Asked, servers: &[Server]) -> Option<Protocol> {
    // MySQL's X Protocol has its own port and its own socket on the same server.
    const MYSQL_X: u16 = 33_060;
    let is_x = match asked {
        Asked::Tcp { to, .. } => to.port() == MYSQL_X,
        Asked::Unix { name: Name::Path(path), .. } => path.to_string_lossy().contains("mysqlx"),
        Asked::Unix { .. } => false,
    };
    if is_x {
        return None;
    }
    let by_port = || {
        let Asked::Tcp { to, .. } = asked else { return None };
        let known = [Protocol::Mysql, Protocol::Postgres];
        known.into_iter().find(|it| it.port() == to.port())
    };
    server_at(asked, servers).map_or_else(by_port, |it| it.kind.protocol())
}

/// Returns the name of a running process.
pub(super) fn comm(pid: u32) -> Option<String> {
    let text = kernel::text(format!("/proc/{pid}/comm")).ok()?;
    Some(text.trim_end().to_owned())
}
