//! Reads a systemd unit's settings and user from its file and its drop-ins.
//!
//! Reads the files up to a size limit, and does not ask systemd. Called by `client`.

use std::path::{Path, PathBuf};

use looptax_advise::check::UnitSettings;

use super::bounded_read::Files;

const MOST_DROP_INS: usize = 64;

#[derive(Debug, Clone)]
pub struct Unit {
    pub settings: UnitSettings,
    /// The unit's name without its suffix; also the name of the dynamic user, if the unit sets no user.
    pub name: String,
    /// The user that the unit sets, if this machine does not have that user.
    pub unknown_user: Option<String>,
}

/// Returns the unit to which a file belongs; the file is either the unit itself or one of its drop-ins.
pub(super) fn unit_of(path: &Path) -> Option<Unit> {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = whole.parent()?;
    let is_unit = |it: &Path| it.extension().is_some_and(|it| it == "service");
    let own_folder = Some(folder).filter(|it| it.to_string_lossy().ends_with(".service.d"));
    let (own, drop_ins) = match own_folder {
        Some(folder) => (folder.with_extension(""), folder.to_owned()),
        None if is_unit(&whole) => (whole.clone(), PathBuf::from(format!("{}.d", whole.display()))),
        None => return None,
    };
    let files = Files::Ours;
    let mut names = files.names(&drop_ins);
    names.retain(|it| Path::new(it).extension().is_some_and(|it| it == "conf") && !it.starts_with('.'));
    names.sort_unstable();
    names.truncate(MOST_DROP_INS);
    let paths = std::iter::once(own.clone()).chain(names.iter().map(|it| drop_ins.join(it)));
    let texts = paths.filter_map(|it| files.read(&it).ok());
    let texts: Vec<String> = texts.map(|it| String::from_utf8_lossy(&it).into_owned()).collect();
    let name = own.file_stem()?.to_string_lossy().into_owned();
    Some(Unit { settings: UnitSettings::read(texts.iter().map(|it| &**it)), name, unknown_user: None })
}
