//! Revokes a grant, and keeps the rights that the account had before.

use std::collections::BTreeSet;

use super::read::read;
use super::{ALL, GRANT_OPTION, Grant, Level};

impl Grant {
    /// Whether looptax understands the grant, and whether a revoke with the same words can remove the rights that the
    /// grant adds.
    fn is_plain(&self) -> bool {
        let is_known = !matches!(self.level, Level::Other(_) | Level::DefaultRole(_));
        is_known && !self.is_revoke && !self.grantee.is_empty()
    }
}

/// The statements that revoke `GRANT … TO …` from an account for which `SHOW GRANTS` returned `before`. `None` if no
/// such statements would restore the earlier state exactly.
///
/// `on` is the text between `ON` and `TO`, and `account` the text after `TO`, both as written in the statement.
pub(in crate::check) fn revokes(statement: &str, on: &str, account: &str, before: &[String]) -> Option<Vec<String>> {
    let added = Some(read(statement)).filter(Grant::is_plain)?;
    let before: Vec<Grant> = before.iter().map(|line| read(line)).collect();
    // The first line is about the account itself. Lines of roles and of `PUBLIC` come after it.
    let own = &before.first()?.grantee;
    let own = before.iter().filter(|it| it.grantee == *own);
    let own: Vec<&Grant> = own.collect();
    if own.iter().any(|it| it.is_revoke) {
        // With partial revokes of MySQL, the rows do not show all rights.
        return None;
    }
    let rows = own.iter().filter(|it| it.level == added.level);
    let (mut rights, mut columns) = (BTreeSet::new(), BTreeSet::new());
    for row in rows {
        rights.extend(row.rights.iter().cloned());
        columns.extend(row.column_rights.iter().cloned());
    }
    if added.level == Level::Roles {
        let is_new = added.rights.is_disjoint(&rights);
        return match (is_new, added.rights.len()) {
            (true, _) => Some(vec![format!("REVOKE {on} FROM {account}")]),
            (false, 1) => Some(Vec::new()),
            (false, _) => None,
        };
    }
    let adds_option = added.rights.contains(GRANT_OPTION) && !rights.remove(GRANT_OPTION);
    let has_all = rights.contains(ALL);
    if added.rights.contains(ALL) && !rights.is_empty() && !has_all {
        return None;
    }
    let mut words: Vec<String> = Vec::new();
    for right in &added.rights {
        if right == GRANT_OPTION || rights.contains(right) || has_all {
            continue;
        }
        let is_all = right == ALL;
        words.push(if is_all { "ALL PRIVILEGES" } else { right }.to_owned());
    }
    for pair @ (right, column) in &added.column_rights {
        if !columns.contains(pair) {
            words.push(format!("{right} (`{}`)", column.replace('`', "``")));
        }
    }
    let mut lines = Vec::new();
    if adds_option {
        lines.push(format!("REVOKE GRANT OPTION ON {on} FROM {account}"));
    }
    if !words.is_empty() {
        lines.push(format!("REVOKE {} ON {on} FROM {account}", words.join(", ")));
    }
    Some(lines)
}

/// The default role of an account; `None` if it has no default role.
pub(in crate::check) fn default_role(grants: &[String]) -> Option<String> {
    let levels = grants.iter().map(|line| read(line).level);
    levels.into_iter().find_map(|level| match level {
        Level::DefaultRole(role) => Some(role),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rights: &str, on: &str, before: &[&str], expected: Option<&[&str]>) {
        let account = "'app'@'localhost'";
        let before = before.iter().map(|it| (*it).to_owned());
        let first = "GRANT USAGE ON *.* TO `app`@`localhost`".to_owned();
        let before: Vec<String> = std::iter::once(first).chain(before).collect();
        let (rights, option) = match rights.strip_suffix(" WITH GRANT OPTION") {
            Some(rights) => (rights, " WITH GRANT OPTION"),
            None => (rights, ""),
        };
        let found = revokes(&format!("GRANT {rights} ON {on} TO {account}{option}"), on, account, &before);
        let expected = expected.map(|lines| {
            let line = |it: &&str| format!("REVOKE {it} FROM {account}");
            lines.iter().map(line).collect::<Vec<_>>()
        });
        assert_eq!(found, expected, "{rights} ON {on}");
    }

    #[test]
    fn only_what_was_not_there_is_taken() {
        let on_shop = "GRANT SELECT ON `shop`.* TO `app`@`localhost`";
        let on_table = "GRANT SELECT (id), INSERT ON `shop`.`t` TO `app`@`localhost`";
        let all = "GRANT ALL PRIVILEGES ON `shop`.* TO `app`@`localhost` WITH GRANT OPTION";
        let all_of_shop = "ALL PRIVILEGES ON `shop`.*";
        check("SELECT, INSERT", "`shop`.*", &[on_shop], Some(&["INSERT ON `shop`.*"]));
        check("SELECT", "`shop`.*", &[on_shop], Some(&[]));
        check("SELECT", "`shop_eu`.*", &[on_shop], Some(&["SELECT ON `shop_eu`.*"]));
        check("ALL PRIVILEGES", "`shop`.*", &[], Some(&[all_of_shop]));
        check("ALL PRIVILEGES", "`shop`.*", &[on_table], Some(&[all_of_shop]));
        check("ALL PRIVILEGES", "`shop`.*", &[on_shop], None);
        check("ALL PRIVILEGES, GRANT OPTION", "`shop`.*", &[all], Some(&[]));
        check("DELETE", "`shop`.*", &[all], Some(&[]));
        check(
            "SELECT (`id`), UPDATE (`na``me`)",
            "`shop`.`t`",
            &[on_table],
            Some(&["UPDATE (`na``me`) ON `shop`.`t`"]),
        );
        check("USAGE WITH GRANT OPTION", "`shop`.*", &[on_shop], Some(&["GRANT OPTION ON `shop`.*"]));
        let revoked = "REVOKE SELECT ON `mysql`.* FROM `app`@`localhost`";
        check("SELECT", "`shop`.*", &[revoked], None);
        let of_role = "GRANT SELECT ON `shop`.* TO `reader`";
        check("SELECT", "`shop`.*", &[of_role], Some(&["SELECT ON `shop`.*"]));
    }
}
