//! Databases in files. They have no server, so there is nothing to switch.

use super::setting::{Setting, Value};

/// The last parts of the names of settings that give the kind of a database.
const KINDS: [&str; 14] = [
    "driver",
    "adapter",
    "dbtype",
    "type",
    "dialect",
    "client",
    "engine",
    "db_connection",
    "db_type",
    "wgdbtype",
    "database_type",
    "provider",
    "name",
    "launch",
];

/// The lines whose settings certainly mean `SQLite`.
pub(super) fn lines(settings: &[Setting]) -> Vec<usize> {
    let is_sqlite = |it: &&Setting| {
        let Value::Text(text) = &it.value else {
            return false;
        };
        let text = text.to_lowercase();
        let is_url = text.trim_start_matches("jdbc:").starts_with("sqlite") && text.contains(":/");
        let is_jdbc = text.starts_with("jdbc:sqlite:");
        let name = it.path.last().map(|it| it.to_lowercase()).unwrap_or_default();
        let is_kind = KINDS.iter().any(|kind| name == *kind || name.ends_with(&format!("_{kind}")));
        it.doubt.is_none() && (is_url || is_jdbc || is_kind && text.contains("sqlite"))
    };
    settings.iter().filter(is_sqlite).map(|it| it.line).collect()
}
