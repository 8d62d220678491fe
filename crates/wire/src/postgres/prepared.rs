//! The measured query, prepared once. Each request sends Bind, Describe, Execute and Sync together, as libpq's
//! `PQsendQueryPrepared` (and therefore pgbench) does.
//!
//! Runs in the measured loop: `request` copies a template and writes the key into it, `replies.rs` reads the answer.
//! Neither allocates, locks, logs, or makes a system call. Only `prepare` does I/O. The load engine calls the codec,
//! `Connection::prepare` makes it.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::{Message, ParameterDescriptionBody};
use postgres_protocol::message::frontend::{self, BindError};

use super::frames::{Frames, out_of_place};
use super::replies;
use crate::{Codec, Draws, KeyForm, Renewal, Reply, Stream, WireError};

const PREPARE: &str = "prepare a statement";

/// Object ids in `pg_type` of the two types that a key may have.
pub(super) const INT4_OID: u32 = 23;
pub(super) const INT8_OID: u32 = 20;

/// A prepared statement of one session, as a codec.
///
/// The key is sent in binary. For an `int4` parameter only the low 32 bits of the key are sent, so keys have to stay
/// below 2^31. Columns are returned as text. The data of a reply is the first column of the first row; empty for NULL,
/// and if there are no rows.
#[derive(Debug, Clone)]
pub struct PreparedQuery {
    template: Vec<u8>,
    /// The position and the form of the key, if the statement has one.
    key: Option<(usize, KeyForm)>,
}

/// Prepares the measured query; see [`super::Connection::prepare`].
pub(super) fn prepare<S: Stream>(frames: &mut Frames<S>, name: &str, sql: &str) -> Result<PreparedQuery, WireError> {
    PreparedQuery::new(name, &parse(frames, name, sql)?)
}

/// Prepares `sql` under `name`, and returns its parameters' types.
pub(super) fn parse<S: Stream>(frames: &mut Frames<S>, name: &str, sql: &str) -> Result<Vec<u32>, WireError> {
    frames.send(PREPARE, |out| {
        frontend::parse(name, sql, [], out)?;
        frontend::describe(b'S', name, out)?;
        frontend::sync(out);
        Ok(())
    })?;
    let mut parameters = None;
    frames.receive_answer(PREPARE, |message, _| {
        match message {
            Message::ParseComplete | Message::RowDescription(_) | Message::NoData => {}
            Message::ParameterDescription(body) => parameters = Some(parameter_types(&body)?),
            _ => return Err(out_of_place(PREPARE, "the statement's description")),
        }
        Ok(())
    })?;
    parameters.ok_or_else(|| out_of_place(PREPARE, "the statement's parameters"))
}

fn parameter_types(body: &ParameterDescriptionBody) -> Result<Vec<u32>, WireError> {
    body.parameters().collect().map_err(|_| out_of_place(PREPARE, "a list of parameter types"))
}

impl PreparedQuery {
    /// Makes the template for the statement `name` with these parameter types.
    fn new(name: &str, parameters: &[u32]) -> Result<Self, WireError> {
        let (parameter, form): (&[u8], _) = match *parameters {
            [] => (&[], None),
            [INT4_OID] => (&[0; 4], Some(KeyForm::Int4)),
            [INT8_OID] => (&[0; 8], Some(KeyForm::Int8)),
            [oid] => {
                let what = format!("a parameter of type {oid}, neither int4 nor int8");
                return Err(WireError::Unsupported { what });
            }
            _ => {
                let what = format!("{} parameters", parameters.len());
                return Err(WireError::Unsupported { what });
            }
        };
        let (template, parameter_at) = requests(name, parameter)?;
        Ok(Self { template, key: form.map(|form| (parameter_at, form)) })
    }
}

/// Returns the four messages and the position of the parameter in them. `parameter` is the only parameter; if it is
/// empty, the statement has no parameter.
fn requests(name: &str, parameter: &[u8]) -> Result<(Vec<u8>, usize), WireError> {
    const BINARY: i16 = 1;
    const TEXT: i16 = 0;
    let has_parameter = !parameter.is_empty();
    let mut parameter_at = 0;
    let mut out = BytesMut::new();
    frontend::bind(
        "",
        name,
        has_parameter.then_some(BINARY),
        has_parameter.then_some(parameter),
        |value, out| {
            parameter_at = out.len();
            out.extend_from_slice(value);
            Ok(IsNull::No)
        },
        [TEXT],
        &mut out,
    )
    .and_then(|()| Ok(frontend::describe(b'P', "", &mut out)?))
    .and_then(|()| Ok(frontend::execute("", 0, &mut out)?))
    .map_err(|fault| WireError::Io {
        action: PREPARE,
        source: match fault {
            BindError::Conversion(source) => std::io::Error::other(source),
            BindError::Serialization(source) => source,
        },
    })?;
    frontend::sync(&mut out);
    Ok((out.to_vec(), parameter_at))
}

impl Codec for PreparedQuery {
    #[inline]
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.template);
        if let Some((at, form)) = self.key {
            form.write(draws.key(), &mut out[start + at..]);
        }
    }

    fn renewal(&self) -> Renewal {
        match self.key {
            None => Renewal::Same,
            Some((at, form)) => Renewal::key(at, form),
        }
    }

    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        Ok(replies::answer(received)?.map(|answer| answer.reply))
    }
}
