//! Finds the variables in the systemd unit of a process: in its file, its drop-ins, and the environment files of both.
//!
//! # Source
//! systemd.unit(5), "Unit File Load Path"; systemd.exec(5), `Environment=` and `EnvironmentFile=`: variables from
//! environment files override the variables of the unit itself, and within each kind the last value counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use looptax_advise::app::{Assigned, Provider, Variable, assigned, drop_in};
use looptax_host::discover::{Home, Process};
use looptax_host::read;

use super::place::{Followed, Place, Reader};
use crate::SwitchError;
use crate::file::Original;
use crate::work::Edited;

/// The folders that contain units; an earlier folder overrides a later one.
const FOLDERS: [&str; 4] = ["etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system", "lib/systemd/system"];
/// The name of looptax's drop-in. It sorts after most drop-ins, so that it overrides them, but before the drop-ins that
/// people write to override everything else.
const DROP_IN: &str = "50-looptax.conf";

/// Finds the files that set the values that the process has.
pub(super) fn find(
    reader: Reader<'_>,
    process: &Process,
    environment: &BTreeMap<String, String>,
    names: &BTreeMap<String, bool>,
    followed: &mut Followed,
) {
    let Home::Unit(unit) = &process.home else {
        return;
    };
    let Some(files) = files(reader.root, unit) else {
        return;
    };
    let mut places: Vec<(Place, Vec<Assigned>)> = Vec::new();
    for path in &files {
        places.extend(Place::read(path, Provider::Unit));
    }
    // systemd reads environment files after everything that the unit and its drop-ins set themselves.
    let named: Vec<PathBuf> = { places.iter() }.flat_map(|(place, _)| environment_files(&place.text.content)).collect();
    for path in named {
        let inside = path.strip_prefix("/").unwrap_or(&path);
        places.extend(Place::read(&reader.root.join(inside), Provider::Dotenv));
    }
    let mut owner: BTreeMap<String, (usize, Option<String>)> = BTreeMap::new();
    for (idx, (_, values)) in places.iter().enumerate() {
        for it in values {
            owner.insert(it.name.clone(), (idx, it.value.clone()));
        }
    }
    // If the process has another value, the value comes from elsewhere, or the file was changed after the process
    // started.
    owner.retain(|name, (_, value)| value.is_some() && value.as_ref() == environment.get(name));
    if !owner.keys().any(|name| names.contains_key(name)) {
        return;
    }
    let etc = reader.root.join(FOLDERS[0]);
    let own_folder = etc.join(format!("{unit}.d"));
    for (idx, (mut place, values)) in places.into_iter().enumerate() {
        let own = owner.iter().filter(|(_, (at, _))| *at == idx);
        place.names = own.map(|(name, _)| name.clone()).collect();
        if place.provider == Provider::Unit && place.text.original.path().parent() != Some(&*own_folder) {
            place.drop_in = Some(own_folder.join(DROP_IN));
        }
        followed.add(place, &values);
    }
    followed.reload = Some(restart_of(unit));
}

/// Returns the command that gives a unit its changed environment. For a template unit, the command only reloads
/// systemd, because looptax does not know the unit's instances.
pub(crate) fn restart_of(unit: &str) -> String {
    let reload = "systemctl daemon-reload";
    if unit.contains("@.") {
        return reload.to_owned();
    }
    format!("{reload} && systemctl restart {unit}")
}

/// Returns the unit's file and its drop-ins, in the order in which systemd applies them; `None` if the unit has no
/// file.
fn files(root: &Path, unit: &str) -> Option<Vec<PathBuf>> {
    // `app@1.service` is an instance of `app@.service`.
    let template = unit.split_once('@').and_then(|(name, rest)| {
        let (_, kind) = rest.rsplit_once('.')?;
        Some(format!("{name}@.{kind}"))
    });
    let names: Vec<&str> = std::iter::once(unit).chain(template.as_deref()).collect();
    let folders = || FOLDERS.iter().map(|it| root.join(it));
    let in_folders = |name: &str| folders().map(|it| it.join(name)).find(|it| read::is_file(it));
    let own = names.iter().find_map(|name| in_folders(name))?;
    // If several folders have a drop-in with the same name, the first folder's drop-in counts. Drop-ins are read in the
    // order of their names.
    let mut drop_ins: BTreeMap<String, PathBuf> = BTreeMap::new();
    for name in &names {
        for folder in folders() {
            let paths = read::list(&folder.join(format!("{name}.d")));
            for path in paths.unwrap_or_default() {
                let file = path.file_name().unwrap_or_default();
                let file = file.to_string_lossy().into_owned();
                if path.extension().is_some_and(|it| it == "conf") && !file.starts_with('.') {
                    drop_ins.entry(file).or_insert(path);
                }
            }
        }
    }
    Some(std::iter::once(own).chain(drop_ins.into_values()).collect())
}

/// Returns the environment files that a unit includes, except paths with patterns or specifiers.
fn environment_files(text: &str) -> Vec<PathBuf> {
    let lines = text.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "EnvironmentFile").then(|| value.trim().trim_start_matches('-'))
    });
    let plain = lines.filter(|it| it.starts_with('/') && !it.contains(['*', '?', '[', '%']));
    plain.map(PathBuf::from).collect()
}

/// Whether the file is the unit file of a service, in a folder that systemd reads.
pub(crate) fn is_unit(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "service") && root_of(path).is_some()
}

/// Returns the part of the path before the folder of units.
fn root_of(path: &Path) -> Option<&Path> {
    let folder = path.parent()?.to_str()?;
    let mut roots = FOLDERS.iter().filter_map(|it| folder.strip_suffix(it));
    roots.next().map(Path::new)
}

/// Writes the change of a unit's environment as a separate drop-in. Returns `None` if the two texts differ in more than
/// the environment, or if a file other than the unit sets the same variable.
///
/// # Errors
/// [`SwitchError::Exists`] if the drop-in exists already.
pub(crate) fn drop_in_of(original: &Original, old: &str, new: &str) -> Result<Option<Edited>, SwitchError> {
    let path = original.path();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (was, becomes) = (values(old), values(new));
    let changed = becomes.iter().filter(|(name, value)| was.get(*name) != Some(*value));
    let changed: Vec<Variable> = changed.map(|(name, value)| (name.clone(), value.clone())).collect();
    let gone = was.keys().filter(|it| !becomes.contains_key(*it)).cloned();
    let Some(text) = drop_in(&changed, &gone.collect::<Vec<_>>()) else {
        return Ok(None);
    };
    let Some(root) = root_of(path) else {
        return Ok(None);
    };
    let touched: BTreeSet<&String> = changed.iter().map(|it| &it.0).collect();
    for other in files(root, &name).unwrap_or_default() {
        let is_other = other != path;
        let Some((place, values)) = Place::read(&other, Provider::Unit) else {
            continue;
        };
        let of_files = environment_files(&place.text.content).into_iter().flat_map(|it| {
            let inside = root.join(it.strip_prefix("/").unwrap_or(&it));
            Place::read(&inside, Provider::Dotenv).map_or_else(Vec::new, |it| it.1)
        });
        let values = values.into_iter().filter(|_| is_other).chain(of_files);
        if values.into_iter().any(|it| touched.contains(&it.name)) {
            return Ok(None);
        }
    }
    let folder = root.join(FOLDERS[0]).join(format!("{name}.d"));
    Ok(Some(Edited { original: Original::absent(&folder.join(DROP_IN), original)?, new: text.into_bytes() }))
}

fn values(text: &str) -> BTreeMap<String, String> {
    let all = assigned(text, Provider::Unit).into_iter();
    all.filter_map(|it| Some((it.name, it.value?))).collect()
}
