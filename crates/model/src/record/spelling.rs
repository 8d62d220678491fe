//! The result of `looptax dsn`: one connection over the socket, written as each driver expects it.
//!
//! This JSON form is separate from records of runs. It is a list of [`Spelling`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The form in which one driver, framework or application gets the connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spelling {
    /// Name of the driver, framework or application: `mysqli`, `go-redis`, `wordpress`.
    pub name: String,
    /// The programming language of the driver, framework or application.
    pub language: String,
    /// The place where the text has to be written.
    pub place: String,
    /// The text to write; stars stand for a password, which is not shown.
    pub text: String,
    /// The transport that the driver uses with the given URL.
    pub takes_now: Takes,
    /// The transport that the driver uses if the host is `localhost`.
    pub localhost: Takes,
    /// The reason why the driver uses these transports.
    pub why: String,
    /// Mistakes that people often make with this driver.
    pub traps: Vec<String>,
    /// Reasons why the text does not work for this connection.
    pub cannot: Vec<String>,
    /// The driver with which looptax tried a text of this form, and which connected; `null` if no driver was tried.
    pub proved: Option<Proved>,
}

/// The driver that was tried and connected, and the date.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Proved {
    /// The driver and its version.
    pub driver: String,
    /// The driver's language and the language's version.
    pub language: String,
    /// The date on which the driver was tried: `2026-11-21`.
    pub date: String,
}

/// The transport that a driver uses for a host. Each alias is the short name of the variant in the table of dialects.
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
    /// Returns the text that is saved and shown.
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
