//! A file or an environment that is read, and the facts that show to which application it belongs.

use std::collections::BTreeMap;

use super::code::Included;

/// Maximum size of a file that is read, in bytes. Configuration that people write has a few kilobytes.
pub(super) const MOST_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The path of the file; `None` for the environment of a process, given as lines `NAME=value`.
    pub path: Option<&'a str>,
    pub bytes: &'a [u8],
    /// The names of the files in the same folder, and the signs that [`libraries`](super::libraries) finds in the
    /// project's manifests. They show to which application a `.env` belongs.
    pub neighbours: &'a [String],
    /// The program whose environment is read: `php-fpm8.2`. The program, too, shows the application.
    pub program: Option<&'a str>,
    /// The files that were read, of those that [`included`] lists.
    ///
    /// [`included`]: fn@super::included
    pub included: &'a [Included],
    /// The environment of the process that reads the file, if known.
    pub environment: Option<&'a BTreeMap<String, String>>,
}
