//! The places to which rights apply, and the statements that grant rights there.

use std::collections::{BTreeMap, BTreeSet};

use super::{ALL, Level};

/// A name that stands for any schema that no grant mentions.
pub(super) const ANY_OTHER: &str = "looptax_any_other";

/// A place to which a right applies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Server,
    Schema(String),
    Table(String, String),
    Column(String, String, String),
    Routine(String, String, String),
}

impl Place {
    pub(super) fn schema(&self) -> Option<&str> {
        match self {
            Self::Server => None,
            Self::Schema(schema)
            | Self::Table(schema, _)
            | Self::Column(schema, _, _)
            | Self::Routine(_, schema, _) => Some(schema),
        }
    }

    /// The rights that exist at a place of this kind; empty for the whole server, because its rights cannot be listed.
    pub(super) fn rights(&self) -> &'static [&'static str] {
        match self {
            Self::Server | Self::Column(..) => &[],
            Self::Schema(_) => &super::SCHEMA_RIGHTS,
            Self::Table(..) => &super::TABLE_RIGHTS,
            Self::Routine(..) => &super::ROUTINE_RIGHTS,
        }
    }

    /// Whether a grant on this table or routine applies to the place.
    pub(super) fn is_in(&self, level: &Level) -> bool {
        match (self, level) {
            (Self::Table(schema, table) | Self::Column(schema, table, _), Level::Table(s, t)) => {
                (schema, table) == (s, t)
            }
            (Self::Routine(kind, schema, name), Level::Routine(k, s, n)) => (kind, schema, name) == (k, s, n),
            _ => false,
        }
    }

    /// The wider places whose rights also apply at this place.
    fn wider(&self) -> Vec<Self> {
        let any_other = Self::Schema(ANY_OTHER.to_owned());
        let Some(schema) = self.schema() else {
            return Vec::new();
        };
        let mut wider = vec![Self::Server];
        if *self != any_other {
            wider.push(any_other);
        }
        if !matches!(self, Self::Schema(_)) {
            wider.push(Self::Schema(schema.to_owned()));
        }
        if let Self::Column(schema, table, _) = self {
            wider.push(Self::Table(schema.clone(), table.clone()));
        }
        wider
    }

    /// The place as written in a grant; `pattern` is the schema's name as written there.
    fn text(&self, pattern: &str) -> String {
        match self {
            Self::Server => "*.*".to_owned(),
            Self::Schema(schema) if schema == ANY_OTHER => "*.*".to_owned(),
            Self::Schema(_) => format!("{}.*", quoted(pattern)),
            Self::Table(schema, table) | Self::Column(schema, table, _) => {
                format!("{}.{}", quoted(schema), quoted(table))
            }
            Self::Routine(kind, schema, name) => {
                format!("{kind} {}.{}", quoted(schema), quoted(name))
            }
        }
    }
}

pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// The statements that grant the missing rights. Leaves out a right if a wider place also gets it.
pub(super) fn statements(missing: &BTreeMap<Place, BTreeSet<String>>, places: &BTreeMap<Place, String>) -> Vec<String> {
    let covered = |place: &Place, right: &String| {
        let gives = |rights: &BTreeSet<String>| rights.contains(right) || rights.contains(ALL);
        let wider = |it: &Place| missing.get(it).is_some_and(gives);
        place.wider().iter().any(wider)
    };
    let mut lines = Vec::new();
    for (place, rights) in missing {
        let own: Vec<&String> = rights.iter().filter(|right| !covered(place, right)).collect();
        let has_option = own.iter().any(|it| *it == super::GRANT_OPTION);
        let column = match place {
            Place::Column(_, _, column) => format!(" ({})", quoted(column)),
            _ => String::new(),
        };
        let has_all = own.iter().any(|it| *it == ALL);
        let names: Vec<String> = { own.iter() }
            .filter(|it| **it != super::GRANT_OPTION && (!has_all || **it == ALL))
            .map(|it| format!("{}{column}", if *it == ALL { "ALL PRIVILEGES" } else { it }))
            .collect();
        let names = match (names.is_empty(), has_option) {
            (true, false) => continue,
            (true, true) => "USAGE".to_owned(),
            (false, _) => names.join(", "),
        };
        let option = if has_option { " WITH GRANT OPTION" } else { "" };
        lines.push(format!(
            "GRANT {names} ON {} TO ACCOUNT{option}",
            place.text(places.get(place).map_or("", String::as_str))
        ));
    }
    lines
}
