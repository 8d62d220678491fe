//! The names in a record for placements and client models.
//!
//! Only names. Code that depends on a placement or client model compares the enum, never the text.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The cores on which the two ends of a connection run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Both ends run on the same core.
    Same,
    /// The two ends run on different cores.
    Split,
    /// The scheduler chooses the cores.
    Free,
    /// Only the client's threads are pinned, because looptax did not start the server.
    ClientPinned,
}

/// How the load generator waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// One thread per connection, which tries to receive, then polls, then receives.
    Poll,
    /// One thread per connection, which polls and then receives.
    PollFirst,
    /// One thread per connection, which receives.
    Block,
    /// A few threads that use epoll.
    Event,
    /// A command that is measured as a whole, or an application: both wait in their own way.
    Command,
}

impl Placement {
    /// Returns the name as it is saved and typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Split => "split",
            Self::Free => "free",
            Self::ClientPinned => "client-pinned",
        }
    }
}

impl Placement {
    /// Returns the smallest number of cores that this placement needs.
    pub const fn least_cores(self) -> usize {
        if matches!(self, Self::Split) { 2 } else { 1 }
    }
}

impl Client {
    /// Returns the name as it is saved and typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Poll => "poll",
            Self::PollFirst => "poll-first",
            Self::Block => "block",
            Self::Event => "event",
            Self::Command => "command",
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Placement {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        [Self::Same, Self::Split, Self::Free, Self::ClientPinned]
            .into_iter()
            .find(|placement| placement.name() == word)
            .ok_or_else(|| format!("`{word}` is not a placement: same, split, free or client-pinned"))
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: impl Serialize + fmt::Display) {
        assert_eq!(serde_json::to_value(&word).unwrap(), word.to_string());
    }

    #[test]
    fn a_placement_is_read_by_its_word() {
        assert_eq!("split".parse(), Ok(Placement::Split));
        assert!("near".parse::<Placement>().is_err());
    }

    #[test]
    fn what_is_printed_is_what_is_saved() {
        for word in [Placement::Same, Placement::Split, Placement::Free, Placement::ClientPinned] {
            check(word);
        }
        for word in [Client::Poll, Client::PollFirst, Client::Block, Client::Event, Client::Command] {
            check(word);
        }
    }
}
