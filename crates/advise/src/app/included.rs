//! What is read beside a file: what its program includes, and what its containers take from other files.
//!
//! Names alone; whoever calls opens them, up to a bound.

use std::collections::BTreeSet;

use super::containers::SERVICES;
use super::format::format_of;
use super::read::is_manifest;
use super::{code, share, yaml};

/// The files that a program of this path reads beside its own, by its words for them; of a Compose file those that its
/// services take their variables from, or have as nginx's and PHP-FPM's own; of a manifest the other ones of its folder, which `beside` names.
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
