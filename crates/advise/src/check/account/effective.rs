//! The rights on columns as the server itself reports them, in `information_schema.columns`.
//!
//! `SHOW GRANTS` shows only the rows of one account. But a server finds rows by the host from which a client connects,
//! so rows for any host and rows of the anonymous user may add rights or hide rights. To see these rows, an account
//! needs rights on `mysql.db`. If an account may read everything, the server reports only this fact, and nothing about
//! the rows.

use std::collections::{BTreeMap, BTreeSet};

use crate::check::grants::Rights;

/// The rights that the server reports for columns.
const TOLD: [&str; 4] = ["SELECT", "INSERT", "UPDATE", "REFERENCES"];

/// A schema, a table and a column.
type Column = (String, String, String);

/// The rights for each column. Columns that the account may not see are missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effective(BTreeMap<Column, BTreeSet<String>>);

impl Effective {
    /// Reads rows of four texts: schema, table, column, and rights like `select,insert`.
    pub fn read(rows: impl IntoIterator<Item = [String; 4]>) -> Self {
        let rights = |text: &str| {
            let words = text.split(',').map(str::to_ascii_uppercase);
            words.filter(|it| TOLD.contains(&&**it)).collect()
        };
        let rows = rows.into_iter();
        Self(rows.map(|[schema, table, column, text]| ((schema, table, column), rights(&text))).collect())
    }

    fn at(&self, column: &Column) -> BTreeSet<String> {
        self.0.get(column).cloned().unwrap_or_default()
    }

    /// Whether the server reports, for at least one column, other rights than the grants give. All columns of `self`
    /// and `of` are compared.
    pub(super) fn differs_from(&self, rights: &Rights, of: &Self) -> bool {
        let mut columns = self.0.keys().chain(of.0.keys());
        columns.any(|column @ (schema, table, name)| {
            let by_grants = TOLD.iter().filter(|it| rights.may_on_column(it, schema, table, name));
            let by_grants: BTreeSet<String> = by_grants.map(|it| (*it).to_owned()).collect();
            by_grants != self.at(column)
        })
    }

    /// The schemas and tables for which `self` has more rights than `other`, with these rights.
    pub(super) fn beyond(&self, other: &Self) -> BTreeMap<(String, String), BTreeSet<String>> {
        let mut lost: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
        for (column, rights) in &self.0 {
            let theirs = other.at(column);
            let missing = rights.difference(&theirs).cloned();
            let (schema, table, _) = column;
            let of_table = lost.entry((schema.clone(), table.clone())).or_default();
            of_table.extend(missing);
        }
        lost.retain(|_, rights| !rights.is_empty());
        lost
    }
}
