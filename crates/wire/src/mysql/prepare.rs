//! Makes a prepared query: the exchange with the server, and the bytes of its requests.
//!
//! Runs once per connection, over the blocking part. `prepared.rs` contains the code that runs once per request. Called
//! by `Connection::prepare`.

use mysql_common::io::ParseBuf;
use mysql_common::packets::StmtPacket;

use crate::mysql::fault;
use crate::mysql::handshake::Dialect;
use crate::mysql::packet::{Packets, header};
use crate::mysql::prepared::{KEY_BYTES, PreparedQuery};
use crate::mysql::replies::{Layout, layout};
use crate::mysql::statement::PreparedStatement;
use crate::mysql::text::end_definitions;
use crate::{Stream, WireError};

const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

/// The server's answer to a request to prepare a statement.
struct Prepared {
    id: u32,
    n_params: u16,
    first_column: Option<Layout>,
}

/// Prepares `sql` on a connection, with the key as its parameter or without a parameter.
pub(super) fn prepare<S: Stream>(
    packets: &mut Packets<S>,
    dialect: Dialect,
    sql: &str,
) -> Result<PreparedQuery, WireError> {
    let prepared = exchange(packets, dialect, sql)?;
    let has_key = match prepared.n_params {
        0 => false,
        1 => true,
        n_params => {
            return Err(WireError::Unsupported { what: format!("{n_params} parameters of one statement") });
        }
    };
    let id = prepared.id;
    Ok(PreparedQuery::new(
        dialect,
        [request(id, has_key, true), request(id, has_key, false)],
        has_key,
        prepared.first_column,
    ))
}

/// Prepares `sql`, with any number of values, as one statement of a transaction.
pub(super) fn prepare_statement<S: Stream>(
    packets: &mut Packets<S>,
    dialect: Dialect,
    sql: &str,
) -> Result<PreparedStatement, WireError> {
    let prepared = exchange(packets, dialect, sql)?;
    Ok(PreparedStatement::new(dialect, prepared.id, prepared.n_params, prepared.first_column))
}

fn exchange<S: Stream>(packets: &mut Packets<S>, dialect: Dialect, sql: &str) -> Result<Prepared, WireError> {
    packets.command("prepare a statement", COM_STMT_PREPARE, sql.as_bytes())?;
    let action = packets.action();
    let payload = packets.read()?;
    if payload.first() == Some(&fault::ERR) {
        return Err(fault::server_error(action, &payload));
    }
    let statement: StmtPacket =
        ParseBuf(&payload).parse(()).map_err(|_| fault::malformed(action, "a prepared statement", &payload))?;
    read_definitions(packets, dialect, statement.num_params())?;
    let first_column = read_definitions(packets, dialect, statement.num_columns())?;
    Ok(Prepared { id: statement.statement_id(), n_params: statement.num_params(), first_column })
}

/// Reads `n_columns` column definitions and the packet that ends them; returns the first column's layout, if there is a
/// column.
fn read_definitions<S: Stream>(
    packets: &mut Packets<S>,
    dialect: Dialect,
    n_columns: u16,
) -> Result<Option<Layout>, WireError> {
    if n_columns == 0 {
        return Ok(None);
    }
    let first = layout(packets.action(), &packets.read()?)?;
    for _ in 1..n_columns {
        packets.read()?;
    }
    end_definitions(packets, dialect)?;
    Ok(Some(first))
}

/// Returns the whole packet of one execution, with the key as its last bytes.
fn request(statement_id: u32, has_key: bool, has_type: bool) -> Vec<u8> {
    const NO_CURSOR: u8 = 0;
    const ONE_ITERATION: [u8; 4] = 1_u32.to_le_bytes();
    const NO_NULLS: u8 = 0;
    // A signed BIGINT, the type with which sysbench over libmariadb was observed to bind its keys.
    const LONGLONG: [u8; 2] = [0x08, 0x00];
    let mut payload = vec![COM_STMT_EXECUTE];
    payload.extend_from_slice(&statement_id.to_le_bytes());
    payload.push(NO_CURSOR);
    payload.extend_from_slice(&ONE_ITERATION);
    if has_key {
        payload.extend_from_slice(&[NO_NULLS, u8::from(has_type)]);
        if has_type {
            payload.extend_from_slice(&LONGLONG);
        }
        payload.extend_from_slice(&[0; KEY_BYTES]);
    }
    let mut packet = header(payload.len(), 0).to_vec();
    packet.append(&mut payload);
    packet
}
