//! The files that belong to a file: files that a program includes, and files from which containers take values.
//!
//! Returns only the names; the caller opens the files, up to a limit.

use std::collections::BTreeSet;

use super::containers::SERVICES;
use super::format::format_of;
use super::read::is_manifest;
use super::{code, share, yaml};

/// The files that belong to this file, each with the words that name it. For a program's text: the files that the
/// program includes. For a Compose file: the files from which its services take variables, or which they mount as files
/// of nginx or PHP-FPM. For a manifest: the other manifests in the folder of the file, listed in `beside`.
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
