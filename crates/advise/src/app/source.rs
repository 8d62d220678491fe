//! What is looked into: a file or an environment, and what tells whose it is.

use std::collections::BTreeMap;

use super::code::Included;

/// Largest file that is read. Configuration that people write has some kilobytes.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// A file, or an environment, to look into.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its path; `None` for a process' environment, as `NAME=value` lines.
    pub path: Option<&'a str>,
    pub bytes: &'a [u8],
    /// Names of files that lie beside it, and what [`libraries`](super::libraries) reads in its project's manifests: they
    /// tell whose `.env` it is.
    pub neighbours: &'a [String],
    /// The program whose environment it is, which tells it too: `php-fpm8.2`.
    pub program: Option<&'a str>,
    /// What it reads besides, of what [`included`] names.
    ///
    /// [`included`]: fn@super::included
    pub included: &'a [Included],
    /// The environment of the process that reads it, where that is known.
    pub environment: Option<&'a BTreeMap<String, String>>,
}
