//! A file or an environment to read, and the facts that show which application it belongs to.

use std::collections::BTreeMap;

use super::code::Included;

/// Largest file that is read. Configuration that people write has some kilobytes.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// A file, or an environment, to read.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its path; `None` for the environment of a process, as `NAME=value` lines.
    pub path: Option<&'a str>,
    pub bytes: &'a [u8],
    /// Names of files in its folder, and the signs that [`libraries`](super::libraries) reads in its project's
    /// manifests: they show which application a `.env` belongs to.
    pub neighbours: &'a [String],
    /// The program whose environment it is, which also shows that: `php-fpm8.2`.
    pub program: Option<&'a str>,
    /// The other files that its program reads, of those that [`included`] lists.
    ///
    /// [`included`]: fn@super::included
    pub included: &'a [Included],
    /// The environment of the process that reads it, if that is known.
    pub environment: Option<&'a BTreeMap<String, String>>,
}
