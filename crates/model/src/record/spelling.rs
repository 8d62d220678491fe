//! The result of `looptax dsn`: one connection over the socket, written as each driver expects it.
//!
//! A JSON form separate from records of runs: a list of [`Spelling`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How one driver, framework or application is given the connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spelling {
    /// Its name: `mysqli`, `go-redis`, `wordpress`.
    pub name: String,
    /// The language it belongs to.
    pub language: String,
    /// Where to write the text.
    pub place: String,
    /// The text to write; stars stand for a password that is not shown.
    pub text: String,
    /// The transport that the driver uses for the given URL.
    pub takes_now: Takes,
    /// The transport that the driver uses for `localhost`.
    pub localhost: Takes,
    /// Why it uses these transports.
    pub why: String,
    /// Typical mistakes with this driver.
    pub traps: Vec<String>,
    /// Reasons why the text does not work for this connection.
    pub cannot: Vec<String>,
    /// The driver that has connected with such texts; `null` if no driver was tried.
    pub proved: Option<Proved>,
}

/// The driver that has connected with such texts, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Proved {
    /// The driver with its version.
    pub driver: String,
    /// Its language, with the version.
    pub language: String,
    /// The day: `2026-11-21`.
    pub date: String,
}

/// Which transport a driver uses for a host. The table of dialects has a short word for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Takes {
    /// The socket.
    #[serde(rename = "the socket", alias = "unix")]
    Unix,
    /// TCP.
    #[serde(rename = "TCP", alias = "tcp")]
    Tcp,
    /// The driver looks for a socket first and uses TCP if there is none.
    #[serde(rename = "a socket if the driver finds one, else TCP", alias = "probe")]
    Probe,
    /// The driver connects over TCP, requests the socket's path and changes to the socket.
    #[serde(rename = "TCP first, then the socket", alias = "tcp then unix")]
    TcpThenUnix,
    /// The driver refuses to connect.
    #[serde(rename = "nothing: the driver needs a host", alias = "nothing")]
    Nothing,
}

impl Takes {
    /// The words as they are saved and shown.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Unix => "the socket",
            Self::Tcp => "TCP",
            Self::Probe => "a socket if the driver finds one, else TCP",
            Self::TcpThenUnix => "TCP first, then the socket",
            Self::Nothing => "nothing: the driver needs a host",
        }
    }
}
