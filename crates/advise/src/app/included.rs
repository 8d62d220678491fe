//! What is read beside a file: what its program includes, and where its containers take variables from.
//!
//! Names alone; whoever calls opens them, up to a bound.

use std::collections::BTreeSet;

use super::format::format_of;
use super::read::is_manifest;
use super::{code, share, yaml};

/// The files that a program of this path reads beside its own, by its words for them; of a Compose file those that its
/// services take their variables from, of a manifest the other ones of its folder, which `beside` names.
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
        None if text.contains("env_file") => share::env_files(&yaml::read(text).0).into_iter().map(both).collect(),
        None => Vec::new(),
    }
}
