//! Finds variables in PHP-FPM's pools, which are lines such as `env[NAME] = value`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use looptax_advise::app::{Assigned, Provider};
use looptax_host::discover::Process;
use looptax_host::read;

use super::place::{Followed, Place, Reader};

/// Finds the pool of the process. Without a process, finds the only pool that sets one of the names.
pub(super) fn find(
    reader: Reader<'_>,
    process: Option<&Process>,
    names: &BTreeMap<String, bool>,
    followed: &mut Followed,
) {
    let is_php = reader.path.extension().is_some_and(|it| it == "php");
    // A worker's command line is `php-fpm: pool www`.
    let pool = process.and_then(|it| {
        let words = it.arguments().join(" ");
        let (_, name) = words.split_once(": pool ")?;
        Some(name.trim().to_owned())
    });
    if !is_php || process.is_some() && pool.is_none() {
        return;
    }
    let mut found: Vec<(Place, Vec<Assigned>)> = Vec::new();
    for path in files(reader) {
        let Some((place, values)) = Place::read(&path, Provider::Pool) else {
            continue;
        };
        let is_meant = |name: &String| {
            let head = format!("[{name}]");
            place.text.content.lines().any(|it| it.trim() == head)
        };
        // In a file with several pools, a name may be set more than once.
        let n_pools = place.text.content.lines().filter(|it| it.trim().starts_with('[')).count();
        let sets_one = values.iter().any(|it| names.contains_key(&it.name));
        if sets_one && n_pools == 1 && pool.as_ref().is_none_or(is_meant) {
            found.push((place, values));
        }
    }
    if found.len() != 1 {
        return;
    }
    for (mut place, values) in found {
        let own: BTreeSet<String> = values.iter().map(|it| it.name.clone()).collect();
        place.names = own;
        followed.add(place, &values);
    }
}

fn files(reader: Reader<'_>) -> Vec<PathBuf> {
    let below = |folder: PathBuf| read::list(&folder).unwrap_or_default();
    let mut found = below(reader.root.join("etc/php-fpm.d"));
    for version in below(reader.root.join("etc/php")) {
        found.extend(below(version.join("fpm/pool.d")));
    }
    found.retain(|it| it.extension().is_some_and(|it| it == "conf"));
    found
}
