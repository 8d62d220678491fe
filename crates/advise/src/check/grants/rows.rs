//! Finds the rows of the server's tables that decide whether an account has a right.
//!
//! # Source
//! `acl_get` and `table_hash_search` in `sql/sql_acl.cc` of MariaDB and `sql/auth` of MySQL: the server finds rows by
//! user and by the client's host, so rows of `user@'%'` also apply to `user@localhost`. It sorts the rows by host, then
//! by schema, and only the first row takes effect.

use std::collections::BTreeMap;

use super::pattern::{exactness, is_name, matches};
use super::place::Place;
use super::{Choice, Grant, Level, Server};

/// How equally specific rows are treated, because servers do not define which of them takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// The right counts if any of the rows gives it. Used for the account whose rights the other account should get.
    Any,
    /// The right counts if all of the rows give it. Used for the account that should get the rights.
    All,
}

/// Whether the grants of one account or role give a right. Of several matching rows for schemas, only the most specific
/// row applies.
pub(super) fn may_one(
    grants: &[&Grant],
    (server, choice): (Server, Choice),
    right: &str,
    place: &Place,
    doubt: Doubt,
) -> bool {
    let gives = |it: &&&Grant| !it.is_revoke && it.gives(right);
    let is_global = grants.iter().filter(gives).any(|it| it.level == Level::Global);
    let Some(schema) = place.schema() else {
        return is_global;
    };
    let is_of_schema = |level: &Level| matches!(level, Level::Schema(it) if matches(it, schema));
    let mut revokes = grants.iter().filter(|it| it.is_revoke && it.gives(right));
    let is_revoked = revokes.any(|it| is_of_schema(&it.level));
    if is_global && !is_revoked {
        return true;
    }
    // Lines with the same pattern are one row. Rows for the exact host precede all others.
    let mut rows: BTreeMap<(bool, &str), bool> = BTreeMap::new();
    for grant in grants.iter().filter(|it| !it.is_revoke) {
        if let Level::Schema(pattern) = &grant.level
            && matches(pattern, schema)
        {
            *rows.entry((!grant.is_of_any_host, pattern)).or_default() |= grant.gives(right);
        }
    }
    let fitting = rows.iter();
    let exactness = |is_of_host: bool, pattern| (is_of_host, exactness(pattern, server));
    let fitting = fitting.map(|((is_of_host, pattern), gives)| (exactness(*is_of_host, pattern), *gives));
    let most = fitting.clone().map(|(exactness, _)| exactness).max();
    let mut best = fitting.filter(|(exactness, _)| Some(*exactness) == most);
    let named = rows.iter().find(|((_, pattern), _)| is_name(pattern));
    let is_given = match doubt {
        _ if choice != Choice::MostExact && named.is_some() => named.is_some_and(|(_, gives)| *gives),
        _ if choice == Choice::All => rows.values().any(|gives| *gives),
        _ if choice == Choice::First => rows.values().next().is_some_and(|gives| *gives),
        Doubt::Any => best.any(|(_, gives)| gives),
        Doubt::All => most.is_some() && best.all(|(_, gives)| gives),
    };
    if is_given {
        return true;
    }
    let of_table = || {
        let all = grants.iter();
        all.filter(|it| !it.is_revoke && place.is_in(&it.level))
    };
    let has_own = of_table().any(|it| !it.is_of_any_host);
    let mut of_table = of_table().filter(|it| !has_own || !it.is_of_any_host);
    of_table.any(|it| match place {
        Place::Column(_, _, column) => {
            it.gives(right) || it.column_rights.contains(&(right.to_owned(), column.clone()))
        }
        _ => it.gives(right),
    })
}
