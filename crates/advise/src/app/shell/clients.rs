//! The client programs of databases, and the names of their options.

/// A client program, and the names of its options.
pub(super) struct Client {
    pub(super) family: &'static str,
    pub(super) names: &'static [&'static str],
    /// The short options that have a value, each with its role.
    pub(super) short: &'static [(char, &'static str)],
    /// The other short options that have a value.
    pub(super) others: &'static str,
    /// The role of the first word without a dash.
    pub(super) first: &'static str,
    /// The host that the program uses by default.
    pub(super) host: &'static str,
    /// Environment variables that can replace options.
    pub(super) variables: &'static [(&'static str, &'static str)],
}

const MYSQL: Client = Client {
    family: "mysql",
    names: &["mysql", "mariadb", "mysqldump", "mariadb-dump", "mysqlcheck", "mysqlshow", "mysqlimport"],
    short: &[('h', "host"), ('P', "port"), ('S', "socket"), ('u', "user"), ('D', "database")],
    others: "erTw",
    first: "database",
    host: "",
    variables: &[("port", "MYSQL_TCP_PORT"), ("socket", "MYSQL_UNIX_PORT"), ("host", "MYSQL_HOST")],
};

const POSTGRES: Client = Client {
    family: "postgres",
    names: &["psql"],
    short: &[('h', "host"), ('p', "port"), ('U', "user"), ('d', "database")],
    others: "cfvFPRTLo",
    first: "database",
    host: "",
    variables: &[
        ("host", "PGHOST"),
        ("port", "PGPORT"),
        ("user", "PGUSER"),
        ("database", "PGDATABASE"),
        ("password", "PGPASSWORD"),
    ],
};

const MONGODB: Client = Client {
    family: "mongodb",
    names: &["mongodump", "mongorestore", "mongoexport", "mongoimport"],
    short: &[('h', "host"), ('d', "database"), ('u', "user"), ('p', "password")],
    others: "coqj",
    first: "",
    host: "localhost",
    variables: &[],
};

pub(super) const CLIENTS: [Client; 10] = [
    MYSQL,
    Client { names: &["mysqladmin", "mariadb-admin"], others: "ci", first: "", ..MYSQL },
    // A program in Perl with DBI.
    Client {
        names: &["opendmarc-import", "opendmarc-reports", "opendmarc-expire"],
        short: &[],
        others: "",
        first: "",
        variables: &[],
        ..MYSQL
    },
    POSTGRES,
    Client { names: &["pg_dump"], others: "fFnNtTjZES", ..POSTGRES },
    Client { names: &["vacuumdb", "reindexdb", "clusterdb"], others: "tjnNSiP", ..POSTGRES },
    Client {
        names: &["pg_dumpall", "pg_restore", "pg_basebackup"],
        others: "lfFnNtTjIPLDXcSrZ",
        first: "",
        ..POSTGRES
    },
    Client {
        family: "redis",
        names: &["redis-cli", "valkey-cli"],
        short: &[('h', "host"), ('p', "port"), ('s', "socket"), ('n', "database"), ('a', "password"), ('u', "url")],
        others: "rit",
        first: "",
        host: "127.0.0.1",
        variables: &[("password", "REDISCLI_AUTH")],
    },
    MONGODB,
    // The first word may also be a host. If the first word is not a URL, looptax does not know the server.
    Client { names: &["mongosh", "mongo"], others: "", first: "url", host: "", ..MONGODB },
];

/// Long options with a value that may be the next word, each with its role.
pub(super) const LONG: [(&str, &str); 16] = [
    // The option of OpenDMARC's programs.
    ("dbhost", "host"),
    ("dbport", "port"),
    ("dbuser", "user"),
    ("dbpasswd", "password"),
    ("host", "host"),
    ("port", "port"),
    ("socket", "socket"),
    ("user", "user"),
    ("username", "user"),
    ("password", "password"),
    ("pass", "password"),
    ("database", "database"),
    ("dbname", "database"),
    ("db", "database"),
    ("uri", "url"),
    ("protocol", "protocol"),
];

/// Other long options with a value that may be the next word. This word is not the name of a database.
pub(super) const LONG_OTHERS: [&str; 12] = [
    "default-character-set",
    "execute",
    "command",
    "file",
    "format",
    "result-file",
    "where",
    "ignore-table",
    "set-gtid-purged",
    "table",
    "schema",
    "login-path",
];

/// Options that name a file in which the server is set.
pub(super) const ELSEWHERE: [&str; 3] = ["defaults-file", "defaults-extra-file", "login-path"];
