//! The greeting and our answer to it, which determine the capabilities of the connection.
//!
//! The capabilities that we request determine what the server sends per reply, so we request those that each server's
//! usual C library requests. libmariadb 3.3 does not use `CLIENT_DEPRECATE_EOF` and uses MariaDB's cached metadata
//! (MariaDB from 10.6 on then sends no column definitions if they have not changed since the statement was prepared).
//! This was observed with sysbench 1.0 over libmariadb 3.3.20. libmysqlclient 8 uses `CLIENT_DEPRECATE_EOF`. Unlike
//! both libraries, we request neither several results nor progress reports, because this code cannot read them. Called
//! by `Connection::login`.

use std::collections::HashMap;

use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{HandshakePacket, HandshakeResponse};
use mysql_common::proto::MySerialize;

use crate::error::printable;
use crate::mysql::auth::Authentication;
use crate::mysql::fault;
use crate::mysql::packet::{MAX_PAYLOAD_BYTES, Packets};
use crate::{Channel, Login, StartTls, Stream, WireError};

/// The prefix that MariaDB 10 and later put before their version, so that old replicas accept it.
const REPLICATION_PREFIX: &str = "5.5.5-";

/// Length of the TLS request: capabilities, longest packet, character set, and MariaDB's additional capabilities.
///
/// # Source
/// MySQL documentation, "`Protocol::SSLRequest`"; MariaDB's, "Connecting".
const TLS_REQUEST_BYTES: usize = 32;

/// The parts of the protocol that depend on the agreed capabilities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Dialect {
    /// Whether `CLIENT_DEPRECATE_EOF` was agreed. If so, no EOF packet follows the column definitions, and the rows end
    /// with an OK packet that has the marker byte of an EOF packet.
    pub(super) is_eof_deprecated: bool,
    /// Whether a byte after the column count shows that column definitions follow, or that they do not.
    pub(super) has_cached_metadata: bool,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) server_version: String,
    pub(super) is_mariadb: bool,
    pub(super) auth_plugin: &'static str,
    pub(super) connection_id: u64,
    pub(super) offers_tls: bool,
    pub(super) dialect: Dialect,
}

pub(super) fn run<S: Stream>(
    packets: &mut Packets<S>,
    login: &Login,
    channel: Channel,
    start_tls: Option<StartTls<'_, S>>,
) -> Result<Session, WireError> {
    let payload = packets.read_greeting()?;
    let greeting = parse(packets.action(), &payload)?;
    packets.name_step("log in");
    let mut agreed = Agreed::new(&greeting)?;
    if start_tls.is_some() {
        agreed.add_tls(&greeting)?;
    }
    let (authentication, first_answer) = Authentication::start(&greeting, login, channel)?;
    let mut response = Vec::new();
    HandshakeResponse::new(
        Some(first_answer),
        // For any version from 5.5.3 on, the library sets the character set utf8mb4.
        (8, 0, 0),
        Some(login.user.as_bytes()),
        login.database.as_deref().map(str::as_bytes),
        agreed.has_plugins().then(|| authentication.plugin()),
        agreed.capabilities,
        agreed.attributes(),
        MAX_PAYLOAD_BYTES as u32,
    )
    .with_mariadb_ext_capabilities(agreed.mariadb)
    .serialize(&mut response);
    if let Some(start_tls) = start_tls {
        seal(packets, &response, start_tls)?;
    }
    packets.write(&response)?;
    let auth_plugin = authentication.finish(packets)?;
    let version = printable(greeting.server_version_ref());
    Ok(Session {
        is_mariadb: agreed.is_mariadb || version.to_ascii_lowercase().contains("mariadb"),
        server_version: version.strip_prefix(REPLICATION_PREFIX).unwrap_or(&version).to_owned(),
        auth_plugin,
        connection_id: u64::from(greeting.connection_id()),
        offers_tls: offers_tls(&greeting),
        dialect: agreed.dialect(),
    })
}

/// Requests TLS and starts it. The request is the first part of the response and contains our capabilities. A server
/// that has read the request ignores this part of the later response.
fn seal<S: Stream>(packets: &mut Packets<S>, response: &[u8], start_tls: StartTls<'_, S>) -> Result<(), WireError> {
    packets.write(&response[..TLS_REQUEST_BYTES.min(response.len())])?;
    start_tls(packets.stream_mut()).map_err(|source| WireError::Io { action: "start TLS", source })
}

/// Parses the greeting, or returns the error that it contains.
fn parse<'a>(action: &'static str, payload: &'a [u8]) -> Result<HandshakePacket<'a>, WireError> {
    const VERSION_10: u8 = 10;
    // The fields after the version text: connection id, salt, filler, flags, character set, status, flags.
    const SALT_LENGTH_AT: usize = 1 + 4 + 8 + 1 + 2 + 1 + 2 + 2;
    let wrong = || fault::malformed(action, "a MySQL greeting of version 10", payload);
    match payload.first() {
        Some(&fault::ERR) => return Err(fault::server_error(action, payload)),
        Some(&VERSION_10) => {}
        _ => return Err(wrong()),
    }
    let version_end = payload.iter().position(|&byte| byte == 0);
    let salt_bytes = version_end.and_then(|end| payload.get(end + SALT_LENGTH_AT));
    // The library reads this length as a signed byte, so a larger number would overflow.
    if salt_bytes.is_none_or(|&n_bytes| n_bytes > 127) {
        return Err(wrong());
    }
    ParseBuf(payload).parse(()).map_err(|_| wrong())
}

fn offers_tls(greeting: &HandshakePacket<'_>) -> bool {
    let offered = greeting.capabilities();
    offered.contains(CapabilityFlags::CLIENT_SSL)
}

/// The capabilities that we request and that both ends support.
struct Agreed {
    is_mariadb: bool,
    capabilities: CapabilityFlags,
    mariadb: MariadbCapabilities,
}

impl Agreed {
    fn new(greeting: &HandshakePacket<'_>) -> Result<Self, WireError> {
        let needed = CapabilityFlags::CLIENT_PROTOCOL_41 | CapabilityFlags::CLIENT_SECURE_CONNECTION;
        let offered = greeting.capabilities();
        if !offered.contains(needed) {
            return Err(WireError::Unsupported { what: "the protocol before version 4.1".to_owned() });
        }
        let wanted = needed
            | CapabilityFlags::CLIENT_LONG_FLAG
            | CapabilityFlags::CLIENT_TRANSACTIONS
            | CapabilityFlags::CLIENT_CONNECT_ATTRS
            | CapabilityFlags::CLIENT_PLUGIN_AUTH
            | CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA;
        // If `CLIENT_LONG_PASSWORD` (MariaDB calls it `CLIENT_MYSQL`) is cleared, MariaDB's own capabilities are in the
        // reserved bytes. We must clear it, too; otherwise the server does not read our capabilities.
        let is_mariadb = !offered.contains(CapabilityFlags::CLIENT_LONG_PASSWORD);
        let (specific, mariadb) = if is_mariadb {
            let metadata = MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA
                | MariadbCapabilities::MARIADB_CLIENT_EXTENDED_METADATA;
            (CapabilityFlags::empty(), metadata & greeting.mariadb_ext_capabilities())
        } else {
            let mysql = CapabilityFlags::CLIENT_LONG_PASSWORD | CapabilityFlags::CLIENT_DEPRECATE_EOF;
            (mysql, MariadbCapabilities::empty())
        };
        Ok(Self { is_mariadb, capabilities: (wanted | specific) & offered, mariadb })
    }

    fn add_tls(&mut self, greeting: &HandshakePacket<'_>) -> Result<(), WireError> {
        if !offers_tls(greeting) {
            return Err(WireError::NoTls);
        }
        self.capabilities |= CapabilityFlags::CLIENT_SSL;
        Ok(())
    }

    fn has_plugins(&self) -> bool {
        self.capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH)
    }

    /// Returns the attributes by which an administrator can recognise looptax in `session_connect_attrs`.
    fn attributes(&self) -> Option<HashMap<String, String>> {
        self.capabilities
            .contains(CapabilityFlags::CLIENT_CONNECT_ATTRS)
            .then(|| HashMap::from([("program_name".to_owned(), "looptax".to_owned())]))
    }

    fn dialect(&self) -> Dialect {
        Dialect {
            is_eof_deprecated: self.capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF),
            has_cached_metadata: self.mariadb.contains(MariadbCapabilities::MARIADB_CLIENT_CACHE_METADATA),
        }
    }
}
