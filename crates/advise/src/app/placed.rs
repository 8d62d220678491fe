//! Assigns each connection of a file to its container.
//!
//! The module `inside` reads the containers, without knowledge of the connections. Called by `read` and `compose`.

use std::collections::BTreeSet;

use super::found::Found;
use super::inside::File;
use super::source::Source;
use super::table::Role;

/// Sets the container of each connection; does nothing if the file describes no containers.
pub(super) fn place_inside(found: &mut [Found], source: &Source<'_>, text: &str) {
    let Some(path) = source.path.filter(|_| !found.is_empty()) else {
        return;
    };
    let Some(file) = File::read(path, text, source.neighbours) else {
        return;
    };
    for it in found {
        let lines = it.at_container.map_or_else(|| lines_of(it), |(line, _)| BTreeSet::from([line]));
        it.inside = file.inside(&lines, it.service.as_deref());
    }
}

/// The lines at which the settings of a connection begin.
fn lines_of(found: &Found) -> BTreeSet<usize> {
    let place = [Role::Url, Role::Host, Role::Socket, Role::Port, Role::Database];
    let settings = found.bound.iter().flat_map(|it| &it.roles);
    settings.filter(|(role, _)| place.contains(role)).map(|(_, setting)| setting.line).collect()
}
