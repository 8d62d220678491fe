//! The dialogue with a driver's program: a line of JSON for each question and answer.

use serde::{Deserialize, Serialize};

/// A text, and what an application would know beside it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Job {
    pub(crate) text: String,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) database: Option<String>,
}

/// The versions of a driver, in its own words.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Versions {
    pub(crate) driver: String,
    pub(crate) language: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Answer {
    /// The server's answer about the connection.
    Seen(String),
    Error(String),
}
