//! The dialogue with a driver's program: one line of JSON for each question, and one for each answer.

use serde::{Deserialize, Serialize};

/// A connection text, and the values that an application would know in addition.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Job {
    pub(crate) text: String,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) database: Option<String>,
}

/// The versions of a driver, as the driver reports them.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Versions {
    pub(crate) driver: String,
    pub(crate) language: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Answer {
    /// The server's answer to the query about the connection.
    Seen(String),
    Error(String),
}
