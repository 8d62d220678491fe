//! All grants of a login together: what they cover, and what another login's cover besides.

use std::collections::{BTreeMap, BTreeSet};

use super::pattern::{escaped, exactness, example, matches};
use super::read::read;
use super::{ALL, Grant, Level, Server};

/// A name of a schema that no grant names.
const ANY_OTHER: &str = "looptax_any_other";

/// MariaDB's name for everybody.
const PUBLIC: &str = "PUBLIC";

/// What one may do after a login.
#[derive(Debug, Clone, Default)]
pub struct Rights {
    server: Server,
    grants: Vec<Grant>,
}

/// Which of several equally exact rows counts, where a server does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    /// Any of them: of the account whose rights are wanted.
    Any,
    /// All of them: of the account that should have them.
    All,
}

/// What one login may and another may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// The statements that would give it, with `ACCOUNT` where the account belongs.
    pub grants: Vec<String>,
    /// Whether it is about the database that was asked about; else about others, or the whole server.
    pub is_in_database: bool,
}

/// A place where something may be done.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Server,
    Schema(String),
    Table(String, String),
    Column(String, String, String),
    Routine(String, String, String),
}

impl Rights {
    /// From the lines of `SHOW GRANTS`.
    pub fn read(lines: &[String], server: Server) -> Self {
        Self {
            server,
            grants: lines.iter().map(|line| read(line)).collect(),
        }
    }

    /// What these rights have and `other` has not: on the database, and elsewhere. Without a database all is one.
    pub fn beyond(&self, other: &Self, database: Option<&str>) -> Vec<Lacking> {
        let mut here: BTreeMap<Place, BTreeSet<String>> = BTreeMap::new();
        let mut elsewhere = here.clone();
        // What everybody may is nobody's own.
        let own = Self {
            server: self.server,
            grants: self
                .grants
                .iter()
                .filter(|it| it.grantee != PUBLIC)
                .cloned()
                .collect(),
        };
        for place in own.places(other, database) {
            let is_here = database.is_none_or(|database| place.schema() == Some(database));
            let rights = own.names_at(&place);
            let missing = rights.into_iter().filter(|right| {
                own.may(right, &place, Doubt::Any) && !other.may(right, &place, Doubt::All)
            });
            let mut missing: BTreeSet<String> = missing.collect();
            // Said so, and not one by one: a server may not know them all.
            if own.has_all_at(&place) && missing.iter().any(|it| it != super::GRANT_OPTION) {
                missing.insert(ALL.to_owned());
            }
            if !missing.is_empty() {
                let side = if is_here { &mut here } else { &mut elsewhere };
                side.insert(place, missing);
            }
        }
        let mut lacking = Vec::new();
        for (is_in_database, side) in [(true, here), (false, elsewhere)] {
            let mut grants = statements(&side);
            if is_in_database == database.is_none() {
                grants.extend(own.other_lines(other));
            }
            if !grants.is_empty() {
                lacking.push(Lacking {
                    grants,
                    is_in_database,
                });
            }
        }
        lacking
    }

    /// Whether a right may be used at a place.
    fn may(&self, right: &str, place: &Place, doubt: Doubt) -> bool {
        let mut grantees: BTreeSet<&str> = BTreeSet::new();
        grantees.extend(self.grants.iter().map(|it| it.grantee.as_str()));
        grantees.into_iter().any(|grantee| {
            let own: Vec<&Grant> = self
                .grants
                .iter()
                .filter(|it| it.grantee == grantee)
                .collect();
            may_one(&own, self.server, right, place, doubt)
        })
    }

    /// Whether these rights have all that there is at a place.
    fn has_all_at(&self, place: &Place) -> bool {
        let mut all = place.rights().iter();
        !place.rights().is_empty() && all.all(|right| self.may(right, place, Doubt::Any))
    }

    /// Every place that the grants of either tell from another, of a schema that the grants may be about.
    fn places(&self, other: &Self, database: Option<&str>) -> BTreeSet<Place> {
        let both = || self.grants.iter().chain(&other.grants);
        let mut places = BTreeSet::from([Place::Server]);
        let mut schemas: BTreeSet<String> = BTreeSet::from([ANY_OTHER.to_owned()]);
        schemas.extend(database.map(str::to_owned));
        for grant in both() {
            match &grant.level {
                Level::Schema(pattern) => {
                    schemas.insert(example(pattern));
                }
                Level::Table(schema, table) => {
                    places.insert(Place::Table(schema.clone(), table.clone()));
                    let columns = grant.column_rights.iter();
                    places.extend(columns.map(|(_, column)| {
                        Place::Column(schema.clone(), table.clone(), column.clone())
                    }));
                }
                Level::Routine(kind, schema, name) => {
                    places.insert(Place::Routine(kind.clone(), schema.clone(), name.clone()));
                }
                Level::Global | Level::Other(_) => {}
            }
        }
        places.extend(schemas.into_iter().map(Place::Schema));
        places
    }

    /// The rights that may be had at a place, by all that these grants name.
    fn names_at(&self, place: &Place) -> BTreeSet<String> {
        let named = self.grants.iter().flat_map(|it| {
            let of_columns = it.column_rights.iter().map(|(right, _)| right);
            it.rights.iter().chain(of_columns)
        });
        let mut names: BTreeSet<String> = named.cloned().collect();
        if *place == Place::Server {
            return names;
        }
        let all = match place {
            Place::Column(..) => &super::TABLE_RIGHTS,
            place => place.rights(),
        };
        names.retain(|name| name == super::GRANT_OPTION || all.contains(&name.as_str()));
        names.extend(all.iter().map(|it| (*it).to_owned()));
        names
    }

    /// Roles and what else is no right at a place, that `other` has not.
    fn other_lines(&self, other: &Self) -> Vec<String> {
        let is_other = |it: &&Grant| matches!(it.level, Level::Other(_));
        let rights_of = |it: &Self| -> BTreeSet<String> {
            let grants = it.grants.iter().filter(is_other);
            grants
                .flat_map(|it| match (&it.level, it.rights.is_empty()) {
                    (Level::Other(line), true) => vec![line.clone()],
                    _ => it.rights.iter().map(|role| quoted_role(role)).collect(),
                })
                .collect()
        };
        let theirs = rights_of(other);
        let missing = rights_of(self)
            .into_iter()
            .filter(|it| !theirs.contains(it));
        missing
            .map(|it| {
                if it.starts_with("GRANT ") {
                    it
                } else {
                    format!("GRANT {it} TO ACCOUNT")
                }
            })
            .collect()
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn quoted_role(role: &str) -> String {
    match role.rsplit_once('@') {
        Some((name, host)) => format!("{}@{}", quoted(name), quoted(host)),
        None => quoted(role),
    }
}

/// What the grants of one account or role allow; of schemas that fit, the most exact alone counts.
fn may_one(grants: &[&Grant], server: Server, right: &str, place: &Place, doubt: Doubt) -> bool {
    let gives = |it: &&&Grant| !it.is_revoke && it.gives(right);
    let is_global = grants
        .iter()
        .filter(gives)
        .any(|it| it.level == Level::Global);
    let Some(schema) = place.schema() else {
        return is_global;
    };
    let is_of_schema = |level: &Level| matches!(level, Level::Schema(it) if matches(it, schema));
    let mut revokes = grants.iter().filter(|it| it.is_revoke && it.gives(right));
    let is_revoked = revokes.any(|it| is_of_schema(&it.level));
    if is_global && !is_revoked {
        return true;
    }
    // Lines of one pattern are one row.
    let mut rows: BTreeMap<&str, bool> = BTreeMap::new();
    for grant in grants.iter().filter(|it| !it.is_revoke) {
        if let Level::Schema(pattern) = &grant.level
            && matches(pattern, schema)
        {
            *rows.entry(pattern).or_default() |= grant.gives(right);
        }
    }
    let fitting = rows.iter();
    let fitting = fitting.map(|(pattern, gives)| (exactness(pattern, server), *gives));
    let most = fitting.clone().map(|(exactness, _)| exactness).max();
    let mut best = fitting.filter(|(exactness, _)| Some(*exactness) == most);
    let is_given = match doubt {
        Doubt::Any => best.any(|(_, gives)| gives),
        Doubt::All => most.is_some() && best.all(|(_, gives)| gives),
    };
    if is_given {
        return true;
    }
    let mut of_table = grants
        .iter()
        .filter(|it| !it.is_revoke && place.is_in(&it.level));
    of_table.any(|it| match place {
        Place::Column(_, _, column) => {
            it.gives(right)
                || it
                    .column_rights
                    .contains(&(right.to_owned(), column.clone()))
        }
        _ => it.gives(right),
    })
}

impl Place {
    fn schema(&self) -> Option<&str> {
        match self {
            Self::Server => None,
            Self::Schema(schema)
            | Self::Table(schema, _)
            | Self::Column(schema, _, _)
            | Self::Routine(_, schema, _) => Some(schema),
        }
    }

    /// The rights that there are at such a place; none that can be listed for the whole server.
    fn rights(&self) -> &'static [&'static str] {
        match self {
            Self::Server | Self::Column(..) => &[],
            Self::Schema(_) => &super::SCHEMA_RIGHTS,
            Self::Table(..) => &super::TABLE_RIGHTS,
            Self::Routine(..) => &super::ROUTINE_RIGHTS,
        }
    }

    /// Whether a grant at that level of a table or a routine is about this place.
    fn is_in(&self, level: &Level) -> bool {
        match (self, level) {
            (Self::Table(schema, table) | Self::Column(schema, table, _), Level::Table(s, t)) => {
                (schema, table) == (s, t)
            }
            (Self::Routine(kind, schema, name), Level::Routine(k, s, n)) => {
                (kind, schema, name) == (k, s, n)
            }
            _ => false,
        }
    }

    /// Where a right counts here too.
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

    /// As it stands in a grant.
    fn text(&self) -> String {
        match self {
            Self::Server => "*.*".to_owned(),
            Self::Schema(schema) if schema == ANY_OTHER => "*.*".to_owned(),
            Self::Schema(schema) => format!("{}.*", quoted(&escaped(schema))),
            Self::Table(schema, table) | Self::Column(schema, table, _) => {
                format!("{}.{}", quoted(schema), quoted(table))
            }
            Self::Routine(kind, schema, name) => {
                format!("{kind} {}.{}", quoted(schema), quoted(name))
            }
        }
    }
}

/// The statements that give these rights; what a wider one gives is not repeated.
fn statements(missing: &BTreeMap<Place, BTreeSet<String>>) -> Vec<String> {
    let covered = |place: &Place, right: &String| {
        let gives = |rights: &BTreeSet<String>| rights.contains(right) || rights.contains(ALL);
        let wider = |it: &Place| missing.get(it).is_some_and(gives);
        place.wider().iter().any(wider)
    };
    let mut lines = Vec::new();
    for (place, rights) in missing {
        let own: Vec<&String> = rights
            .iter()
            .filter(|right| !covered(place, right))
            .collect();
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
            place.text()
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(lines: &[&str]) -> Rights {
        let lines: Vec<String> = lines
            .iter()
            .map(|it| format!("GRANT {it} TO `a`@`h`"))
            .collect();
        Rights::read(&lines, Server::Mariadb)
    }

    /// What TCP's grants have beyond the socket's, on the database `shop` or everywhere.
    #[track_caller]
    fn check(
        tcp: &[&str],
        unix: &[&str],
        database: Option<&str>,
        here: &[&str],
        elsewhere: &[&str],
    ) {
        let found = rights(tcp).beyond(&rights(unix), database);
        let of = |is_in_database: bool| -> Vec<String> {
            let all = found
                .iter()
                .filter(|it| it.is_in_database == is_in_database);
            all.flat_map(|it| it.grants.clone()).collect()
        };
        assert_eq!(of(true), here, "{tcp:?} over {unix:?}");
        assert_eq!(of(false), elsewhere, "{tcp:?} over {unix:?}");
    }

    #[test]
    fn wider_grants_cover_narrower_ones() {
        let narrow = ["SELECT ON `shop`.`t`"];
        for wide in [
            "ALL PRIVILEGES ON *.*",
            "ALL PRIVILEGES ON `shop`.*",
            "SELECT ON `sh%`.*",
        ] {
            check(&narrow, &[wide], None, &[], &[]);
        }
        check(
            &["SELECT ON `shop`.*"],
            &["ALL PRIVILEGES ON *.*"],
            None,
            &[],
            &[],
        );
        check(
            &["SELECT (`id`) ON `shop`.`t`"],
            &["SELECT ON `shop`.`t`"],
            None,
            &[],
            &[],
        );
        check(
            &["SELECT ON `shop`.`t`"],
            &["SELECT (`id`) ON `shop`.`t`"],
            None,
            &["GRANT SELECT ON `shop`.`t` TO ACCOUNT"],
            &[],
        );
    }

    #[test]
    fn what_is_missing_on_the_database_is_told_from_what_is_missing_elsewhere() {
        check(
            &["ALL PRIVILEGES ON *.*"],
            &["ALL PRIVILEGES ON `shop`.*"],
            Some("shop"),
            &[],
            &["GRANT ALL PRIVILEGES ON *.* TO ACCOUNT"],
        );
        check(
            &["SELECT, INSERT ON `shop`.*", "SELECT ON `log`.*"],
            &["SELECT ON `shop`.*"],
            Some("shop"),
            &["GRANT INSERT ON `shop`.* TO ACCOUNT"],
            &["GRANT SELECT ON `log`.* TO ACCOUNT"],
        );
    }

    #[test]
    fn of_patterns_that_fit_the_most_exact_alone_counts() {
        let unix = ["ALL PRIVILEGES ON `sh%`.*", "SELECT ON `shop`.*"];
        check(
            &["INSERT ON `shop`.*"],
            &unix,
            None,
            &["GRANT INSERT ON `shop`.* TO ACCOUNT"],
            &[],
        );
        check(&["INSERT ON `shed`.*"], &unix, None, &[], &[]);
    }

    #[test]
    fn roles_and_strange_lines_are_covered_by_themselves_alone() {
        let role = ["`reader`@`%`"];
        check(&role, &role, None, &[], &[]);
        check(&role, &[], None, &["GRANT `reader`@`%` TO ACCOUNT"], &[]);
    }

    #[test]
    fn the_right_to_hand_on_is_a_right() {
        let line = |option: &str| format!("GRANT SELECT ON `shop`.* TO `a`@`h`{option}");
        let of = |option: &str| Rights::read(&[line(option)], Server::Mysql);
        let (with, without) = (of(" WITH GRANT OPTION"), of(""));
        let lacking = with.beyond(&without, None);
        assert_eq!(
            lacking[0].grants,
            ["GRANT USAGE ON `shop`.* TO ACCOUNT WITH GRANT OPTION"]
        );
        assert_eq!(without.beyond(&with, None), []);
    }
}
