//! Recognises the kind of a server by words and ports in a text.

use looptax_model::dsn::Kind;

/// Returns the name in snake case: `dbHost`, `db-host` and `DB.HOST` become `db_host`.
pub(super) fn snake(name: &str) -> String {
    let mut new = String::new();
    let mut is_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && is_lower {
            new.push('_');
        }
        is_lower = c.is_lowercase() || c.is_ascii_digit();
        new.extend(c.to_lowercase().map(|c| if c.is_alphanumeric() { c } else { '_' }));
    }
    new.trim_matches('_').to_owned()
}

/// The kind of server that a text means: the name of a setting, or a value like `mysqli` or `PostgreSQL`.
pub(in crate::app) fn kind_in(name: &str) -> Option<Kind> {
    let lower = name.to_lowercase();
    let by_words = || snake(name).split(['_', '/']).find_map(kind_of_word);
    // The parts of names like `MySql.Data.MySqlClient` contain capitals, so looptax also compares each whole part.
    let by_parts = || lower.split(['.', '/', ' ']).find_map(kind_of_word);
    kind_of_word(&lower).or_else(by_words).or_else(by_parts)
}

pub(super) fn kind_of_word(word: &str) -> Option<Kind> {
    Some(match word.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "mysql" | "mysqli" | "mariadb" | "maria" | "percona" | "mysqldb" | "pymysql" | "mysqlconnector" | "myxql" => {
            Kind::Mysql
        }
        "postgres" | "postgresql" | "pgsql" | "pg" | "psql" | "postgis" | "psycopg" | "npgsql" | "postgrex" => {
            Kind::Postgres
        }
        "redis" | "valkey" => Kind::Redis,
        "memcached" | "memcache" => Kind::Memcached,
        "mongo" | "mongodb" => Kind::Mongodb,
        _ => return None,
    })
}

/// The kind of server that usually listens on this port.
pub(in crate::app) fn kind_of_port(port: &str) -> Option<Kind> {
    Some(match port.trim() {
        "3306" | "3307" => Kind::Mysql,
        "5432" | "5433" | "6432" => Kind::Postgres,
        "6379" | "6380" => Kind::Redis,
        "11211" => Kind::Memcached,
        "27017" => Kind::Mongodb,
        _ => return None,
    })
}
