//! A file or an environment that is read, and the facts that show to which application it belongs.

use std::collections::BTreeMap;

use super::code::Included;

/// Largest file that is read. Configuration that people write has a few kilobytes.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// A file or an environment that is read.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The file's path; `None` for the environment of a process, as `NAME=value` lines.
    pub path: Option<&'a str>,
    pub bytes: &'a [u8],
    /// Names of files in its folder, and the signs that [`libraries`](super::libraries) finds in its project's
    /// manifests: they show to which application a `.env` belongs.
    pub neighbours: &'a [String],
    /// The program whose environment it is: `php-fpm8.2`. It, too, shows the application.
    pub program: Option<&'a str>,
    /// Of the other files that [`included`] lists, those that were read.
    ///
    /// [`included`]: fn@super::included
    pub included: &'a [Included],
    /// The environment of the process that reads the file, if known.
    pub environment: Option<&'a BTreeMap<String, String>>,
}
