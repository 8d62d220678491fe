//! Interprets the words in a setting's name: its role, and the kind of server to which it belongs.

pub(super) use super::kind_words::{kind_in, kind_of_port};
use super::kind_words::{kind_of_word, snake};
use super::table::Role;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) role: Role,
    /// The prefix that the name shares with neighbouring settings: `db` of `DB_HOST`.
    pub(super) prefix: String,
}

const ROLES: [(&str, Role); 43] = [
    ("hosts", Role::Host),
    ("servers", Role::Host),
    ("nodes", Role::Host),
    ("unix_sockets", Role::Socket),
    ("socket_dir", Role::Socket),
    ("ip", Role::Host),
    ("unixsocket", Role::Socket),
    ("unix_socket", Role::Socket),
    ("socketpath", Role::Socket),
    ("socket_path", Role::Socket),
    ("socket", Role::Socket),
    ("sock", Role::Socket),
    ("hostname", Role::Host),
    ("hostspec", Role::Host),
    ("host_name", Role::Host),
    ("host", Role::Host),
    ("server_name", Role::Host),
    ("servername", Role::Host),
    ("server", Role::Host),
    ("address", Role::Host),
    ("addr", Role::Host),
    ("port_number", Role::Port),
    ("portnumber", Role::Port),
    ("port", Role::Port),
    ("username", Role::User),
    ("user_name", Role::User),
    ("user", Role::User),
    ("login", Role::User),
    ("password", Role::Password),
    ("passwd", Role::Password),
    ("pass", Role::Password),
    ("pwd", Role::Password),
    ("pw", Role::Password),
    ("auth", Role::Password),
    ("database", Role::Database),
    ("dbname", Role::Database),
    ("db_name", Role::Database),
    ("database_name", Role::Database),
    ("dbase", Role::Database),
    ("db_number", Role::Database),
    ("database_index", Role::Database),
    ("db", Role::Database),
    ("name", Role::Database),
];

/// Returns the role and the prefix according to the last word of a setting's name; `None` if the setting does not
/// belong to a connection.
pub(super) fn key_of(name: &str) -> Option<Key> {
    let name = snake(name);
    // `redis_host1` and `redis_port1` are settings of the same connection.
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    let (end, role) = ROLES.iter().find(|(end, _)| {
        let head = name.strip_suffix(end);
        // `dbhost` consists of two words, `localhost` of one word.
        let last = |head: &str| head.rsplit('_').next().is_some_and(is_database_word);
        head.is_some_and(|it| it.is_empty() || it.ends_with('_') || last(it))
    })?;
    let prefix = name.strip_suffix(end)?.trim_end_matches('_');
    Some(Key { role: *role, prefix: prefix.to_owned() })
}

/// The second prefix that a setting with a database's name may share with its neighbours: for `dbname`, `db` besides
/// the empty prefix.
pub(super) fn prefix_of_database(name: &str, prefix: &str) -> Option<String> {
    let name = snake(name);
    let ends =
        [("dbname", "db"), ("db_name", "db"), ("dbase", "db"), ("database_name", "database"), ("database", "database")];
    let (_, word) = ends.iter().find(|it| name.ends_with(it.0))?;
    Some(format!("{prefix}_{word}").trim_start_matches('_').to_owned())
}

/// The prefix that a URL's name shares with the names of the login settings: `jdbc` of `jdbc_connection_string`.
pub(super) fn prefix_of_url(name: &str) -> String {
    let name = snake(name);
    let ends = ["connection_string", "connection_url", "connection", "url", "uri", "dsn"];
    let head = ends.iter().find_map(|it| name.strip_suffix(it));
    head.unwrap_or_default().trim_end_matches('_').to_owned()
}

fn is_database_word(word: &str) -> bool {
    matches!(word, "db" | "database" | "sql" | "rdbms") || kind_of_word(word).is_some()
}

/// Whether a name contains a word for any kind of database.
pub(super) fn is_about_a_database(name: &str) -> bool {
    snake(name).split(['_', '/']).any(is_database_word)
}

/// Whether a text is only a placeholder that a person or another program fills in later.
pub(super) fn is_placeholder(text: &str) -> bool {
    let is_between = |open: &str, close: &str| {
        let inside = text.strip_prefix(open).and_then(|it| it.strip_suffix(close));
        inside.is_some_and(|it| !it.is_empty())
    };
    // Host names contain no underscores; the names of macros contain only capitals, digits and underscores.
    let is_macro = text.contains('_')
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    is_macro || is_between("<", ">") || is_between("%", "%") || is_between("@", "@") || text.contains("process.env.")
}

#[cfg(test)]
mod tests {
    use looptax_model::dsn::Kind;

    use super::*;

    #[test]
    fn names_are_read_by_their_words() {
        for (name, role, prefix) in [
            ("DB_HOST", Role::Host, "db"),
            ("dbhost", Role::Host, "db"),
            ("dbHost", Role::Host, "db"),
            ("spring.redis.port", Role::Port, "spring_redis"),
            ("mysql-user", Role::User, "mysql"),
            ("host", Role::Host, ""),
            ("PAPERLESS_DBHOST", Role::Host, "paperless_db"),
        ] {
            let expected = Key { role, prefix: prefix.to_owned() };
            assert_eq!(key_of(name), Some(expected), "{name}");
        }
        assert_eq!(key_of("localhost"), None);
        assert_eq!(kind_in("MySQL"), Some(Kind::Mysql));
        assert_eq!(kind_in("org.postgresql.Driver"), Some(Kind::Postgres));
        for text in ["DB_HOST", "<db host>", "@HOST@", "%%host%%", "#js process.env.H || 'h'"] {
            assert!(is_placeholder(text), "{text}");
        }
        for text in ["DB", "db_host", "10.0.0.1", "@", "%"] {
            assert!(!is_placeholder(text), "{text}");
        }
        assert_eq!(kind_in("CACHE_REDIS"), Some(Kind::Redis));
        assert!(is_about_a_database("APP_DB") && !is_about_a_database("smtp"));
    }
}
