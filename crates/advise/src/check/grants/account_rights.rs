//! All grants of a login: the rights that they give, and the rights that another login lacks.

use std::collections::{BTreeMap, BTreeSet};

use super::pattern::{escaped, example, is_name, matches};
use super::place::{ANY_OTHER, Place, quoted, statements};
use super::read::read;
use super::rows::{Doubt, may_one};
use super::{ALL, Choice, Grant, Level, Server};

/// Rights that only MariaDB has.
const OF_MARIADB: [&str; 3] = ["DELETE HISTORY", "DELETE VERSIONING ROWS", "SHOW CREATE ROUTINE"];

const PUBLIC: &str = "PUBLIC";

/// The rights of a login.
#[derive(Debug, Clone, Default)]
pub struct Rights {
    server: Server,
    grants: Vec<Grant>,
    /// Whether `%` and `_` in names of schemas are ordinary characters, as with MySQL's `partial_revokes`.
    has_plain_names: bool,
    choice: Choice,
}

/// The rights that one login has and another lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// The statements that grant these rights, with `ACCOUNT` in place of the account.
    pub grants: Vec<String>,
    /// Whether the rights concern the database of the check; if not, they concern other databases or the whole server.
    pub is_in_database: bool,
}

impl Lacking {
    fn of(grants: Vec<String>, is_in_database: bool) -> Option<Self> {
        (!grants.is_empty()).then_some(Self { grants, is_in_database })
    }
}

impl Rights {
    /// Reads the lines of `SHOW GRANTS`. If `has_plain_names` is true (MySQL's `partial_revokes`), `%` and `_` are
    /// ordinary characters.
    pub fn read(lines: &[String], server: Server, has_plain_names: bool) -> Self {
        let read = |line: &String| read_line(line, has_plain_names);
        Self { server, grants: lines.iter().map(read).collect(), has_plain_names, choice: Choice::default() }
    }

    /// Returns the rights for a session in which a role of MySQL is in use. The server then applies patterns
    /// differently, depending on its version.
    #[must_use]
    pub fn with_role_in_use(self, version: &str) -> Self {
        let major = version.split('.').next().and_then(|it| it.parse().ok());
        let choice = if major.is_some_and(|it: u32| it < 9) { Choice::All } else { Choice::First };
        Self { choice, ..self }
    }

    /// The pattern of an existing row that would apply instead of the row that `statement` adds; `None` if there is no
    /// such row.
    pub fn hides(&self, statement: &str) -> Option<String> {
        let wanted = self.with(&[statement.to_owned()]).grants.pop()?;
        let Level::Schema(pattern) = wanted.level else {
            return None;
        };
        let name = example(&pattern);
        let rows = self.grants.iter().filter_map(|it| match &it.level {
            Level::Schema(row) if matches(row, &name) => Some(row),
            _ => None,
        });
        let first = rows.min().filter(|first| **first < pattern)?;
        (self.choice == Choice::First && !is_name(&pattern)).then(|| first.clone())
    }

    /// Adds the rights of `other`, an account of the same user for more hosts. A server finds the rows for databases,
    /// tables and routines by the client's host. In the same way, MariaDB finds the roles that the client may use (seen
    /// with 10.11).
    #[must_use]
    pub fn with_other_host(mut self, other: &Self) -> Self {
        let (own, theirs) = (self.grantee(), other.grantee());
        let has_roles = self.server == Server::Mariadb;
        let is_row = |it: &&Grant| {
            let is_row = match it.level {
                Level::Schema(_) | Level::Table(..) | Level::Routine(..) => !it.is_revoke,
                Level::Roles => has_roles,
                Level::Global | Level::DefaultRole(_) | Level::Other(_) => false,
            };
            is_row && it.grantee == theirs
        };
        let rows = other.grants.iter().filter(is_row);
        self.grants.extend(rows.map(|it| Grant { grantee: own.clone(), is_of_any_host: true, ..it.clone() }));
        self
    }

    /// Returns the rights of this login that `other` lacks, in two groups: the rights on the database, and the rights
    /// elsewhere. If no database is given, all rights are in one group, and `seen` has the names of existing databases.
    /// A row for one of these databases also hides the rows whose patterns match the name of the database.
    pub fn beyond(&self, other: &Self, database: Option<&str>, seen: &[String]) -> Vec<Lacking> {
        // A right that every account has does not belong to this account.
        let mut own = self.clone();
        own.grants.retain(|it| it.grantee != PUBLIC);
        let of_roles = own.other_lines(other);
        if database.is_some() {
            let mut lacking = own.beyond_at(&own.places(other, database), other, database);
            match lacking.iter_mut().find(|it| !it.is_in_database) {
                Some(it) => it.grants.extend(of_roles),
                None => lacking.extend(Lacking::of(of_roles, false)),
            }
            return lacking;
        }
        // A right that a role gives is not granted separately.
        let mut improved = other.clone();
        if of_roles.iter().any(|it| it.starts_with("SET DEFAULT ROLE")) {
            let own_name = own.grantee();
            let of_role = own.grants.iter().filter(|it| it.grantee != own_name);
            improved.grants.extend(of_role.cloned());
        }
        let named = seen.iter().map(|it| (Place::Schema(it.clone()), self.in_grant(it, escaped(it))));
        let mut given = of_roles;
        for places in [own.places(other, None), named.collect()] {
            for more in own.beyond_at(&places, &improved, None) {
                improved = improved.with(&more.grants);
                given.extend(more.grants);
            }
        }
        Lacking::of(given, true).into_iter().collect()
    }

    /// The account that has the rights. The first line of `SHOW GRANTS` is about this account.
    fn grantee(&self) -> String {
        let first = self.grants.first();
        first.map_or_else(String::new, |it| it.grantee.clone())
    }

    /// The missing rights at these places. For a schema, `places` also has its name as written in a grant.
    fn beyond_at(&self, places: &BTreeMap<Place, String>, other: &Self, database: Option<&str>) -> Vec<Lacking> {
        let mut here: BTreeMap<Place, BTreeSet<String>> = BTreeMap::new();
        let mut elsewhere = here.clone();
        for (place, pattern) in places {
            let is_here = database.is_none_or(|database| place.schema() == Some(database));
            let rights = self.names_at(place);
            let missing = rights
                .into_iter()
                .filter(|right| self.may_by_itself(right, place) && !other.may(right, place, Doubt::All));
            let mut missing: BTreeSet<String> = missing.collect();
            if !missing.is_empty() && other.would_be_hidden_by(place, pattern) {
                let all = self.names_at(place).into_iter().chain(other.names_at(place));
                let kept = |right: &String| self.may(right, place, Doubt::Any) || other.may(right, place, Doubt::Any);
                missing.extend(all.filter(kept));
            }
            // `ALL` is granted instead of a list, because a server may not know every right in the list.
            if self.has_all_at(place) && missing.iter().any(|it| it != super::GRANT_OPTION) {
                missing.insert(ALL.to_owned());
            }
            if !missing.is_empty() {
                let side = if is_here { &mut here } else { &mut elsewhere };
                side.insert(place.clone(), missing);
            }
        }
        let sides = [(true, here), (false, elsewhere)];
        let sides = sides.into_iter();
        sides.filter_map(|(is_in_database, side)| Lacking::of(statements(&side, places), is_in_database)).collect()
    }

    /// Whether a new row for this schema would hide the rows that apply to the schema so far.
    fn would_be_hidden_by(&self, place: &Place, pattern: &str) -> bool {
        let Place::Schema(schema) = place else {
            return false;
        };
        let mut rows = self.grants.iter().filter_map(|it| match &it.level {
            Level::Schema(row) if !it.is_of_any_host && matches(row, schema) => Some(row),
            _ => None,
        });
        let name = escaped(pattern);
        rows.clone().next().is_some() && rows.all(|row| row != pattern && !(self.has_plain_names && *row == name))
    }

    /// Returns these rights, and those that the statements grant.
    fn with(&self, statements: &[String]) -> Self {
        let given = statements.iter().map(|it| Grant {
            grantee: self.grantee(),
            ..read_line(&it.replace("ACCOUNT", "`it`@`here`"), self.has_plain_names)
        });
        let grants = self.grants.iter().cloned().chain(given).collect();
        Self { grants, ..*self }
    }

    /// Whether the login may read every table.
    pub fn may_read_all(&self) -> bool {
        self.may("SELECT", &Place::Server, Doubt::Any)
    }

    /// Whether the login has a right on a column.
    pub fn may_on_column(&self, right: &str, schema: &str, table: &str, column: &str) -> bool {
        let [schema, table, column] = [schema, table, column].map(str::to_owned);
        self.may(right, &Place::Column(schema, table, column), Doubt::Any)
    }

    /// Whether the login has a right at a place.
    fn may(&self, right: &str, place: &Place, doubt: Doubt) -> bool {
        let mut grantees: BTreeSet<&str> = BTreeSet::new();
        grantees.extend(self.grants.iter().map(|it| it.grantee.as_str()));
        grantees.into_iter().any(|grantee| {
            let own: Vec<&Grant> = self.grants.iter().filter(|it| it.grantee == grantee).collect();
            may_one(&own, (self.server, self.choice), right, place, doubt)
        })
    }

    /// The name of a schema as written in a grant: a pattern, or the plain name.
    fn in_grant(&self, name: &str, pattern: String) -> String {
        if self.has_plain_names { name.to_owned() } else { pattern }
    }

    /// Whether the login has a right at a place. For the place "any other schema", only a grant on `*.*` counts,
    /// because grants on patterns are compared one by one.
    fn may_by_itself(&self, right: &str, place: &Place) -> bool {
        let place = match place.schema() {
            Some(ANY_OTHER) => &Place::Server,
            _ => place,
        };
        self.may(right, place, Doubt::Any)
    }

    /// Whether the login has all rights at a place. For "any other schema" this needs `ALL` on `*.*`, which gives more
    /// rights than `ALL` in every schema.
    fn has_all_at(&self, place: &Place) -> bool {
        if place.schema() == Some(ANY_OTHER) {
            return self.may(ALL, &Place::Server, Doubt::Any);
        }
        let all = self.rights_at(place);
        !all.is_empty() && all.iter().all(|it| self.may(it, place, Doubt::Any))
    }

    /// The rights that exist at a place on this server.
    fn rights_at(&self, place: &Place) -> Vec<&'static str> {
        let all = match place {
            Place::Column(..) => &super::TABLE_RIGHTS,
            place => place.rights(),
        };
        let is_known = |it: &&str| self.server == Server::Mariadb || !OF_MARIADB.contains(it);
        all.iter().copied().filter(is_known).collect()
    }

    /// All places that the grants of the two logins distinguish, in the schemas to which the grants may apply. Each
    /// schema has its name or pattern as written in a grant.
    fn places(&self, other: &Self, database: Option<&str>) -> BTreeMap<Place, String> {
        let both = || self.grants.iter().chain(&other.grants);
        let mut places: BTreeSet<Place> = BTreeSet::from([Place::Server]);
        let mut schemas = BTreeMap::from([(ANY_OTHER.to_owned(), String::new())]);
        schemas.extend(database.map(|it| (it.to_owned(), self.in_grant(it, escaped(it)))));
        for grant in both() {
            match &grant.level {
                Level::Schema(pattern) if Some(&*example(pattern)) != database => {
                    let name = example(pattern);
                    let text = self.in_grant(&name, pattern.clone());
                    schemas.insert(name, text);
                }
                Level::Table(schema, table) => {
                    places.insert(Place::Table(schema.clone(), table.clone()));
                    let columns = grant.column_rights.iter();
                    places.extend(
                        columns.map(|(_, column)| Place::Column(schema.clone(), table.clone(), column.clone())),
                    );
                }
                Level::Routine(kind, schema, name) => {
                    places.insert(Place::Routine(kind.clone(), schema.clone(), name.clone()));
                }
                Level::Global | Level::Schema(_) | Level::Roles | Level::DefaultRole(_) | Level::Other(_) => {}
            }
        }
        let schemas = schemas.into_iter();
        let places = places.into_iter().map(|it| (it, String::new()));
        schemas.map(|(name, pattern)| (Place::Schema(name), pattern)).chain(places).collect()
    }

    /// The rights to compare at a place: the rights that exist at such a place, and the rights in the grants.
    fn names_at(&self, place: &Place) -> BTreeSet<String> {
        let named = self.grants.iter().flat_map(|it| {
            let of_columns = it.column_rights.iter().map(|(right, _)| right);
            it.rights.iter().chain(of_columns)
        });
        let mut names: BTreeSet<String> = named.cloned().collect();
        if *place == Place::Server {
            // Rights in a schema are compared in this schema, and also at the place for any other schema.
            names.retain(|name| !super::SCHEMA_RIGHTS.contains(&name.as_str()));
            return names;
        }
        let all = self.rights_at(place);
        names.retain(|name| name == super::GRANT_OPTION || all.contains(&name.as_str()));
        names.extend(all.iter().map(|it| (*it).to_owned()));
        names
    }

    /// Returns the lines that `other` lacks: lines for roles, and other lines that do not give a right at a place.
    fn other_lines(&self, other: &Self) -> Vec<String> {
        let lines_of = |it: &Self| -> BTreeSet<String> {
            let lines = it.grants.iter().flat_map(|it| match &it.level {
                Level::Roles => {
                    let roles = it.rights.iter();
                    roles.map(|role| format!("GRANT {} TO ACCOUNT", quoted_role(role))).collect()
                }
                Level::DefaultRole(role) => {
                    vec![format!("SET DEFAULT ROLE {} FOR ACCOUNT", quoted(role))]
                }
                Level::Other(line) => vec![line.clone()],
                _ => Vec::new(),
            });
            lines.collect()
        };
        let has_default = |it: &Self| {
            let mut levels = it.grants.iter().map(|it| &it.level);
            levels.any(|level| matches!(level, Level::DefaultRole(_)))
        };
        // An account has only one default role, so `other` keeps its own.
        let keeps_its_role = has_default(other);
        let theirs = lines_of(other);
        let missing = lines_of(self)
            .into_iter()
            .filter(|it| !(theirs.contains(it) || keeps_its_role && it.starts_with("SET DEFAULT ROLE")));
        missing.collect()
    }
}

fn read_line(line: &str, has_plain_names: bool) -> Grant {
    let mut grant = read(line);
    if let Level::Schema(name) = &mut grant.level
        && has_plain_names
    {
        *name = escaped(name);
    }
    grant
}

fn quoted_role(role: &str) -> String {
    match role.rsplit_once('@') {
        Some((name, host)) => format!("{}@{}", quoted(name), quoted(host)),
        None => quoted(role),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(lines: &[&str]) -> Rights {
        let lines: Vec<String> = lines.iter().map(|it| format!("GRANT {it} TO `a`@`h`")).collect();
        Rights::read(&lines, Server::Mariadb, false)
    }

    /// Checks which rights the grants over TCP give and the grants over the socket do not give, on the database `shop`
    /// or everywhere.
    #[track_caller]
    fn check(tcp: &[&str], unix: &[&str], database: Option<&str>, here: &[&str], elsewhere: &[&str]) {
        let found = rights(tcp).beyond(&rights(unix), database, &[]);
        let of = |is_in_database: bool| -> Vec<String> {
            let all = found.iter().filter(|it| it.is_in_database == is_in_database);
            all.flat_map(|it| it.grants.clone()).collect()
        };
        assert_eq!(of(true), here, "{tcp:?} over {unix:?}");
        assert_eq!(of(false), elsewhere, "{tcp:?} over {unix:?}");
    }

    #[test]
    fn wider_grants_cover_narrower_ones() {
        let narrow = ["SELECT ON `shop`.`t`"];
        for wide in ["ALL PRIVILEGES ON *.*", "ALL PRIVILEGES ON `shop`.*", "SELECT ON `sh%`.*"] {
            check(&narrow, &[wide], None, &[], &[]);
        }
        check(&["SELECT ON `shop`.*"], &["ALL PRIVILEGES ON *.*"], None, &[], &[]);
        check(&["SELECT (`id`) ON `shop`.`t`"], &["SELECT ON `shop`.`t`"], None, &[], &[]);
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
        check(&["INSERT ON `shop`.*"], &unix, None, &["GRANT INSERT ON `shop`.* TO ACCOUNT"], &[]);
        check(&["INSERT ON `shed`.*"], &unix, None, &[], &[]);
    }

    #[test]
    fn with_partial_revokes_a_pattern_is_a_name() {
        let read = |line: &str| {
            let line = format!("GRANT {line} TO `a`@`h`");
            Rights::read(&[line], Server::Mysql, true)
        };
        let (own, other) = (read("SELECT ON `shop_eu`.*"), read("SELECT ON `shop%`.*"));
        let lacking = own.beyond(&other, None, &["shop_eu".to_owned()]);
        assert_eq!(lacking[0].grants, ["GRANT SELECT ON `shop_eu`.* TO ACCOUNT"]);
        assert_eq!(own.beyond(&own, None, &["shop_eu".to_owned()]), []);
    }

    #[test]
    fn r20_with_a_role_in_use_the_first_pattern_by_its_letters_counts() {
        let read = |lines: &[&str], version: &str| {
            let line = |it: &&str| format!("GRANT {it} TO `a`@`h`");
            let lines: Vec<String> = lines.iter().map(line).collect();
            Rights::read(&lines, Server::Mysql, false).with_role_in_use(version)
        };
        let may = |lines: &[&str], version: &str, database: &str, expected: &[bool; 2]| {
            let rights = read(lines, version);
            let table = Place::Table(database.to_owned(), "t".to_owned());
            let found = ["SELECT", "INSERT"].map(|it| rights.may(it, &table, Doubt::All));
            assert_eq!(&found, expected, "{lines:?}");
        };
        // MySQL 9.7.4 reported these rights for the columns of a table.
        for (first, second, database, expected) in [
            ("%", "sh\\_p", "sh_p", [true, false]),
            ("sh\\_p", "%", "sh_p", [false, true]),
            ("sh%", "%", "sh_p", [false, true]),
            ("sh_p", "sh\\_p", "sh_p", [false, true]),
            ("sh%", "s%", "sh_p", [false, true]),
            ("%p", "sh%", "sh_p", [true, false]),
            ("%_p", "%p", "sh_p", [true, false]),
            ("s%", "s__p", "sh_p", [true, false]),
            ("shxp", "%", "shxp", [true, false]),
            ("____", "sh%", "shxp", [true, false]),
        ] {
            let lines = [format!("SELECT ON `{first}`.*"), format!("INSERT ON `{second}`.*")];
            may(&[&lines[0], &lines[1]], "9.7.4", database, &expected);
        }
        let both = ["SELECT ON `%`.*", "INSERT ON `sh\\_p`.*"];
        may(&both, "8.0.46", "sh_p", &[true, true]);
        let rights = read(&both, "9.7.4");
        let statement = |name: &str| format!("GRANT DELETE ON `{name}`.* TO ACCOUNT");
        assert_eq!(rights.hides(&statement("sh\\_p")).as_deref(), Some("%"));
        assert_eq!(rights.hides(&statement("shop")), None);
        assert_eq!(rights.hides(&statement("%")), None);
    }

    #[test]
    fn roles_and_strange_lines_are_covered_by_themselves_alone() {
        let role = ["`reader`@`%`"];
        check(&role, &role, None, &[], &[]);
        check(&role, &[], None, &["GRANT `reader`@`%` TO ACCOUNT"], &[]);
    }

    #[test]
    fn r20_a_role_of_an_account_for_any_host_counts_at_localhost_in_mariadb() {
        let missing = |server| {
            let read = |line: &str| Rights::read(&[line.to_owned()], server, false);
            let wide = read("GRANT `reader` TO `a`@`%`");
            let unix = read("GRANT USAGE ON *.* TO `a`@`localhost`").with_other_host(&wide);
            wide.beyond(&unix, None, &[]).len()
        };
        assert_eq!([Server::Mariadb, Server::Mysql].map(missing), [0, 1]);
    }

    #[test]
    fn the_right_to_hand_on_is_a_right() {
        let line = |option: &str| format!("GRANT SELECT ON `shop`.* TO `a`@`h`{option}");
        let of = |option: &str| Rights::read(&[line(option)], Server::Mysql, false);
        let (with, without) = (of(" WITH GRANT OPTION"), of(""));
        let lacking = with.beyond(&without, None, &[]);
        assert_eq!(lacking[0].grants, ["GRANT USAGE ON `shop`.* TO ACCOUNT WITH GRANT OPTION"]);
        assert_eq!(without.beyond(&with, None, &[]), []);
    }
}
