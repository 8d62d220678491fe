//! The files that set variables, and the edits of these files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use looptax_advise::app::{Assigned, Provider, Variable, assign, assigned, drop_in};
use looptax_host::discover::Process;
use looptax_model::dsn::masked;
use looptax_model::record::Edit;

use crate::file::Original;
use crate::text::Text;
use crate::work::Edited;

#[derive(Debug)]
pub(crate) struct Place {
    pub(super) text: Text,
    pub(super) provider: Provider,
    /// The file to write instead of this one: a drop-in, if this file is a unit.
    pub(super) drop_in: Option<PathBuf>,
    /// The variables that this file sets and that no later file sets again.
    pub(super) names: BTreeSet<String>,
}

/// The files that set the variables, and the values in these files, if looptax knows them.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    pub(crate) values: BTreeMap<String, String>,
    places: Vec<Place>,
    /// The command that makes systemd read the changes; the application's own restart is not part of it.
    pub(crate) reload: Option<String>,
}

/// Another file to write, with the lines that change.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    pub(crate) named: PathBuf,
    pub(crate) edited: Edited,
    pub(crate) lines: Vec<Edit>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    /// The file whose connections depend on the variables.
    pub(crate) path: &'a Path,
    /// The process that reads this file, and the environment of the process.
    pub(crate) process: Option<(&'a Process, &'a BTreeMap<String, String>)>,
    /// The root folder under which the system's folders are: `/`, except in tests.
    pub(crate) root: &'a Path,
}

impl Followed {
    pub(super) fn sets(&self, name: &str) -> bool {
        self.places.iter().any(|it| it.names.contains(name))
    }

    pub(super) fn add(&mut self, place: Place, values: &[Assigned]) {
        for it in values.iter().filter(|it| place.names.contains(&it.name)) {
            if let Some(value) = &it.value {
                self.values.insert(it.name.clone(), value.clone());
            }
        }
        self.places.push(place);
    }

    /// Returns the edits that give the variables these values; `None` if looptax does not know which files set the
    /// variables, or must not write these files. `near` lists the connection's own variables: a new variable is added
    /// below the first variable of `near` that is set.
    pub(crate) fn edits(&self, wanted: &[Variable], near: &[String]) -> Option<Vec<Elsewhere>> {
        let place_of = |name: &String| self.places.iter().position(|it| it.names.contains(name));
        let home = near.iter().find_map(place_of);
        let mut of_places: BTreeMap<usize, Vec<Variable>> = BTreeMap::new();
        for variable in wanted {
            let place = place_of(&variable.0).or(home)?;
            let own = of_places.entry(place).or_default();
            match own.iter().find(|it| it.0 == variable.0) {
                Some(other) if other.1 != variable.1 => return None,
                Some(_) => {}
                None => own.push(variable.clone()),
            }
        }
        let edit = |(idx, wanted): (usize, Vec<Variable>)| self.places[idx].edit(&wanted, near);
        of_places.into_iter().map(edit).collect()
    }
}

impl Place {
    /// Reads a file that sets variables; `None` if looptax could not write the file.
    pub(super) fn read(path: &Path, provider: Provider) -> Option<(Self, Vec<Assigned>)> {
        let text = Text::read(path).ok()?;
        let values = assigned(&text.content, provider);
        let place = Self { text, provider, drop_in: None, names: BTreeSet::new() };
        Some((place, values))
    }

    fn edit(&self, wanted: &[Variable], near: &[String]) -> Option<Elsewhere> {
        let known = assigned(&self.text.content, self.provider);
        let before = |name: &str| known.iter().rfind(|it| it.name == name);
        let line = |(name, value): &Variable| {
            let old = before(name).filter(|_| self.drop_in.is_none());
            let shown = |value: &str| format!("{name}={}", masked(value));
            Edit {
                line: old.map(|it| it.line),
                before: old.and_then(|it| it.value.as_deref()).map(shown),
                after: Some(shown(value)),
            }
        };
        let lines = wanted.iter().map(line).collect();
        if let Some(path) = &self.drop_in {
            let text = drop_in(wanted, &[])?;
            return Some(Elsewhere {
                named: path.clone(),
                edited: Edited { original: Original::absent(path, &self.text.original).ok()?, new: text.into_bytes() },
                lines,
            });
        }
        let rewrites = assign(&self.text.content, self.provider, wanted, near)?;
        let path = self.text.original.path();
        let text = Text::read(path).ok()?;
        let is_same = text.original.bytes() == self.text.original.bytes();
        Some(Elsewhere { named: path.to_owned(), edited: text.edited(&rewrites).filter(|_| is_same)?, lines })
    }
}
