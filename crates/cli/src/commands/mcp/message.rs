//! Messages of JSON-RPC 2.0 in the protocol's form: one request, notification or answer per line.
//!
//! # Source
//! JSON-RPC 2.0 specification; the error codes that begin with -320 are from version 2026-07-28 of the Model Context
//! Protocol.

use serde_json::{Map, Value, json};

/// The versions with a handshake, the newest first. 2025-03-26 is left out, because its messages may be arrays.
pub(super) const HANDSHAKE_VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2024-11-05"];
/// The version without a handshake: each request contains the version among its parameters.
const STATELESS_VERSION: &str = "2026-07-28";
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// Returns all versions, the newest first.
pub(super) fn versions() -> Vec<&'static str> {
    std::iter::once(STATELESS_VERSION).chain(HANDSHAKE_VERSIONS).collect()
}

pub(super) fn server_info() -> Value {
    json!({ "name": "looptax", "title": "looptax", "version": env!("CARGO_PKG_VERSION") })
}

/// The version of a request, which decides how the request is read and answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    Handshake,
    Stateless,
}

#[derive(Debug)]
pub(super) enum Message {
    Request(Request),
    Notification {
        method: String,
        params: Value,
    },
    /// An answer. It is ignored, because looptax never sends a request.
    Answer,
}

#[derive(Debug, Clone)]
pub(super) struct Request {
    /// A string or a whole number.
    pub(super) id: Value,
    pub(super) method: String,
    /// An object.
    pub(super) params: Value,
    pub(super) version: Version,
}

impl Message {
    /// Parses a message from a line.
    ///
    /// # Errors
    /// The problem, and the message's id, which the answer repeats; null if the id is not known.
    pub(super) fn read(line: &[u8]) -> Result<Self, (Value, Problem)> {
        let message: Value = serde_json::from_slice(line).map_err(|_| (Value::Null, Problem::parse()))?;
        let Value::Object(mut message) = message else {
            return Err((Value::Null, Problem::request()));
        };
        let id = message.remove("id");
        let id = match id {
            Some(id) if id.is_string() || id.is_i64() || id.is_u64() => Some(id),
            Some(_) => return Err((Value::Null, Problem::request())),
            None => None,
        };
        let wrong = |problem| (id.clone().unwrap_or_default(), problem);
        if message.get("jsonrpc").is_none_or(|it| it != "2.0") {
            return Err(wrong(Problem::request()));
        }
        let method = match message.remove("method") {
            Some(Value::String(method)) => method,
            None if message.contains_key("result") || message.contains_key("error") => return Ok(Self::Answer),
            _ => return Err(wrong(Problem::request())),
        };
        let params = message.remove("params").unwrap_or_else(|| Value::Object(Map::new()));
        let Some(id) = &id else {
            return Ok(Self::Notification { method, params });
        };
        if !params.is_object() {
            return Err(wrong(Problem::params("params")));
        }
        let version = version(&params).map_err(wrong)?;
        Ok(Self::Request(Request { id: id.clone(), method, params, version }))
    }
}

/// Returns the version that the parameters of a request contain.
fn version(params: &Value) -> Result<Version, Problem> {
    let meta = &params["_meta"];
    let Some(version) = meta.get(VERSION_KEY) else {
        return Ok(Version::Handshake);
    };
    let version = version.as_str().ok_or(Problem::params(VERSION_KEY))?;
    if !meta[CAPABILITIES_KEY].is_object() {
        return Err(Problem::params(CAPABILITIES_KEY));
    }
    if version != STATELESS_VERSION {
        return Err(Problem::version(version));
    }
    Ok(Version::Stateless)
}

impl Request {
    /// Returns the answer to this request with this result.
    pub(super) fn reply(&self, mut result: Value) -> Value {
        if self.version == Version::Stateless {
            result["resultType"] = "complete".into();
            result["_meta"] = json!({ SERVER_KEY: server_info() });
        }
        json!({ "jsonrpc": "2.0", "id": self.id, "result": result })
    }
}

/// The reason why a message gets an error as its answer. It repeats nothing from the message except a version.
#[derive(Debug)]
pub(super) struct Problem {
    code: i32,
    words: String,
    data: Option<Value>,
}

impl Problem {
    fn new(code: i32, words: impl Into<String>) -> Self {
        Self { code, words: words.into(), data: None }
    }

    fn parse() -> Self {
        Self::new(-32700, "this line is not JSON, or its JSON is nested too deeply")
    }

    pub(super) fn too_long() -> Self {
        Self::new(-32700, "this line is too long")
    }

    fn request() -> Self {
        Self::new(-32600, "a message is an object with jsonrpc 2.0, a method, and a string or whole number as its id")
    }

    pub(super) fn id() -> Self {
        Self::new(-32600, "a call with this id is already running")
    }

    pub(super) fn method() -> Self {
        Self::new(-32601, "looptax does not know this method in this version of the protocol")
    }

    pub(super) fn params(name: &str) -> Self {
        Self::new(-32602, format!("`{name}` is missing, or has a value that looptax does not know"))
    }

    fn version(requested: &str) -> Self {
        let data = Some(json!({ "supported": versions(), "requested": requested }));
        Self { data, ..Self::new(-32022, "looptax does not support this version of the protocol") }
    }

    /// Returns the answer that reports the problem.
    pub(super) fn reply(&self, id: &Value) -> Value {
        let mut error = json!({ "code": self.code, "message": self.words });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    }
}
