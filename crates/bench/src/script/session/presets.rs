//! The variables that a session has at its start.

/// The variables that a session has without a `\set`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Presets {
    /// `:client_id`: a separate number for each session, from 0.
    pub client_id: i64,
    /// `:scale`: how large the tables are.
    pub scale: i64,
    /// `:random_seed`: the seed of the run.
    pub random_seed: i64,
    /// `:default_seed`: the seed of hash function calls that do not specify one.
    pub default_seed: i64,
}
