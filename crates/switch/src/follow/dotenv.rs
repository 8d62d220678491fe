//! Finds the `.env` files in a file's folder or above it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use looptax_advise::app::Provider;
use looptax_host::read;

use super::place::{Followed, Place, Reader};

/// How many folders above the file's own folder are searched: `config/packages/prod/doctrine.yaml` is three folders
/// deep.
const MOST_ABOVE: usize = 4;

/// Finds the nearest folder whose `.env` files set at least one of the names.
pub(super) fn find(reader: Reader<'_>, names: &BTreeSet<String>, followed: &mut Followed) {
    let Ok(path) = std::path::absolute(reader.path) else {
        return;
    };
    // The file itself is a `.env`.
    let is_own = path.file_name().is_some_and(|it| it.as_encoded_bytes().starts_with(b".env"));
    if is_own {
        return;
    }
    for folder in path.ancestors().skip(1).take(MOST_ABOVE + 1) {
        if read::is_file(&folder.join(".env")) || read::is_file(&folder.join(".env.local")) {
            in_folder(folder, reader, names, followed);
            return;
        }
    }
}

/// Reads the `.env` files of a folder. In Symfony a later file overrides an earlier one; other frameworks read only
/// `.env`.
fn in_folder(folder: &Path, reader: Reader<'_>, names: &BTreeSet<String>, followed: &mut Followed) {
    let is_symfony = read::is_file(&folder.join("symfony.lock")) || read::is_file(&folder.join("bin/console"));
    let mut files: Vec<String> = vec![".env".to_owned()];
    if is_symfony {
        files.push(".env.local".to_owned());
        let kind = environment_kind(folder, reader);
        files.extend([format!(".env.{kind}"), format!(".env.{kind}.local")]);
    } else if read::is_file(&folder.join(".env.local")) {
        // The program decides whether it reads such a file, and which other files this file overrides.
        return;
    }
    let mut read = Vec::new();
    for file in files {
        if let Some(found) = Place::read(&folder.join(file), Provider::Dotenv) {
            read.push(found);
        }
    }
    // If several files set a name, the last of them is the file to change.
    let mut owner: BTreeMap<&String, usize> = BTreeMap::new();
    for (idx, (_, values)) in read.iter().enumerate() {
        for it in values {
            owner.insert(&it.name, idx);
        }
    }
    let owned: Vec<BTreeSet<String>> = (0..read.len())
        .map(|idx| {
            let own = owner.iter().filter(|(_, at)| **at == idx);
            own.map(|(name, _)| (*name).clone()).collect()
        })
        .collect();
    if !owner.keys().any(|it| names.contains(*it)) {
        return;
    }
    for ((mut place, values), own) in read.into_iter().zip(owned) {
        // If the process already has a variable from another place, these files do not set it.
        let is_set_elsewhere =
            |name: &String| reader.process.is_some_and(|(_, environment)| environment.contains_key(name));
        place.names = own.into_iter().filter(|it| !is_set_elsewhere(it)).collect();
        followed.add(place, &values);
    }
}

/// Returns the value of Symfony's `APP_ENV`.
fn environment_kind(folder: &Path, reader: Reader<'_>) -> String {
    let own = reader.process.and_then(|(_, environment)| environment.get("APP_ENV").cloned());
    let in_file = |name: &str| {
        let (_, values) = Place::read(&folder.join(name), Provider::Dotenv)?;
        values.into_iter().rfind(|it| it.name == "APP_ENV")?.value
    };
    let found = own.or_else(|| in_file(".env.local")).or_else(|| in_file(".env"));
    found.unwrap_or_else(|| "dev".to_owned())
}
