//! The largest number of connections that one process of an application opens: the size of its pool, recognised by the
//! name of the setting.
//!
//! Called by `read` for each connection that was found.

use std::collections::BTreeMap;

use super::bound::Bound;
use super::setting::{Setting, Value};
use super::table::Role;

/// The ends of names by which looptax recognises a setting for the size of a pool. Only letters and digits of a name
/// are compared.
///
/// # Source
/// The manuals of Rails, `HikariCP`, Ecto, `SQLAlchemy`, Knex, mysql2, Go's database/sql in Gitea and Grafana, Odoo and
/// Keycloak, 2026-11-28.
const NAMES: [&str; 9] = [
    "pool",
    "poolsize",
    "poolmaxsize",
    "maxpoolsize",
    "maximumpoolsize",
    "connectionlimit",
    "maxopenconns",
    "maxopenconnections",
    "dbmaxconn",
];
/// The names of settings for the size of a pool, inside a block that is called `pool`.
const WITHIN_POOL: [&str; 3] = ["max", "maxsize", "size"];
/// In Prisma, the size of the pool is in the query of the URL.
const OF_URL: &str = "connection_limit=";
/// Words for kinds of store. Outside a block, a pool setting whose name contains one of these words belongs only to
/// connections of the kind that the word means. A pool setting whose name contains none of these words belongs only to
/// connections of other kinds.
const STORES: [&str; 6] = ["redis", "valkey", "memcache", "mongo", "amqp", "thread"];
/// Maximum size of a pool. A setting with a larger number means something else.
const MOST: u32 = 100_000;

/// The size of a pool, and the setting that gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    pub size: u32,
    /// The setting's name in the file: `pool`.
    pub name: String,
    pub line: usize,
}

/// Finds the largest pool size that the settings give for the connection.
pub(super) fn pool_of<'a>(
    (bound, kind): (&[Bound], &str),
    settings: impl Iterator<Item = &'a Setting>,
    environment: Option<&BTreeMap<String, String>>,
) -> Option<Pool> {
    let own = || bound.iter().flat_map(|it| &it.roles);
    let blocks: Vec<&[String]> = own().filter_map(|(_, it)| Some(it.path.split_last()?.1)).collect();
    let number = |text: &str| text.trim().parse().ok().filter(|it| (1..=MOST).contains(it));
    let size = |setting: &Setting| match &setting.value {
        Value::Text(text) => number(text),
        Value::Variable { name, fallback } => {
            let value = environment?.get(name).or(fallback.as_ref())?;
            number(value)
        }
        Value::Hidden => None,
    };
    let by_name = settings.filter(|it| is_pool_of(it, &blocks, kind)).filter_map(|it| {
        let (size, name) = (size(it)?, it.path.last()?.clone());
        Some(Pool { size, name, line: it.line })
    });
    let urls = own().filter(|(role, _)| **role == Role::Url);
    let by_url = urls.filter_map(|(_, setting)| {
        let Value::Text(url) = &setting.value else { return None };
        let digits = url.split_once(OF_URL)?.1.split(|c: char| !c.is_ascii_digit()).next()?;
        Some(Pool { size: number(digits)?, name: OF_URL.trim_end_matches('=').to_owned(), line: setting.line })
    });
    by_name.chain(by_url).max_by_key(|it| it.size)
}

fn is_pool_of(setting: &Setting, blocks: &[&[String]], kind: &str) -> bool {
    let plain = |name: &String| -> String {
        name.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect()
    };
    let Some((name, block)) = setting.path.split_last() else { return false };
    let (name, around) = (plain(name), block.last().map(plain).unwrap_or_default());
    let is_size =
        NAMES.iter().any(|it| name.ends_with(it)) || around.ends_with("pool") && WITHIN_POOL.contains(&&*name);
    let is_of_kind = || {
        let mut others = STORES.iter().filter(|it| name.contains(*it));
        if STORES.contains(&kind) { name.contains(kind) } else { others.next().is_none() }
    };
    is_size && blocks.iter().any(|own| block.starts_with(own) && (!own.is_empty() || is_of_kind()))
}

#[cfg(test)]
mod tests {
    use super::super::{Source, read};

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[Option<(u32, &str, usize)>]) {
        let source = Source {
            path: Some(path),
            bytes: text.as_bytes(),
            included: &[],
            neighbours: &["artisan".to_owned()],
            program: None,
            environment: None,
        };
        let found = read(&source).found;
        let pools: Vec<_> = found.iter().map(|it| it.pool.as_ref().map(|it| (it.size, &*it.name, it.line))).collect();
        assert_eq!(pools, expected, "{found:?}");
    }

    #[test]
    fn the_pool_beside_a_connection_is_its_own() {
        let rails = "production:\n  adapter: postgresql\n  host: 127.0.0.1\n  database: d\n  username: u\n  pool: 12\n\
                     other:\n  pool: 40\n";
        check("/srv/shop/config/database.yml", rails, &[Some((12, "pool", 6))]);
        check("/srv/shop/config/database.yml", &rails.replace("  pool: 12\n", ""), &[None]);
    }

    #[test]
    fn variables_of_an_environment_are_of_their_kind_of_server() {
        let both = "DATABASE_URL=postgres://u:p@127.0.0.1/d\nDB_POOL=25\nREDIS_URL=redis://127.0.0.1:6379/0\n\
                    REDIS_POOL_SIZE=7\n";
        check("/srv/shop/.env", both, &[Some((25, "DB_POOL", 2)), Some((7, "REDIS_POOL_SIZE", 4))]);
        let prisma = "DATABASE_URL=mysql://u:p@127.0.0.1/d?connection_limit=9\n";
        check("/srv/shop/.env", prisma, &[Some((9, "connection_limit", 1))]);
    }
}
