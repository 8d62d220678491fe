//! Other files that are read together with a file: files that a program includes, and files from which containers take
//! values.
//!
//! Returns only the names; the caller opens the files, up to a limit.

use std::collections::BTreeSet;

use super::containers::SERVICES;
use super::format::format_of;
use super::read::is_manifest;
use super::{code, share, yaml};

/// The files that are read together with this file, each with the words that name it. For a program's text, these are
/// the files that the program includes. For a Compose file, these are the files from which its services take variables,
/// and the files of nginx or PHP-FPM that its services mount. For a manifest, these are the other manifests in the same
/// folder; `beside` lists the files of that folder.
pub fn included(path: &str, text: &str, beside: &[String]) -> Vec<(String, String)> {
    let format = format_of(Some(path), text);
    let both = |it: String| (it.clone(), it);
    match format.language() {
        Some(language) => code::files(text, language),
        None if is_manifest(text) && share::takes_maps(text) => {
            let own = path.rsplit('/').next().unwrap_or(path);
            let is_other = |it: &&String| [".yaml", ".yml"].iter().any(|end| it.ends_with(end)) && **it != own;
            let others: BTreeSet<String> = beside.iter().filter(is_other).cloned().collect();
            others.into_iter().map(both).collect()
        }
        None if text.contains(SERVICES) => {
            let name = path.rsplit('/').next().unwrap_or(path);
            let variables = if text.contains("env_file") { share::env_files(&yaml::read(text).0) } else { Vec::new() };
            variables.into_iter().chain(share::own_files(name, text)).map(both).collect()
        }
        None => Vec::new(),
    }
}
