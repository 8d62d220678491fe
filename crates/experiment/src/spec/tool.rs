//! Tools that looptax knows by name, with their flags for the transport and the account.
//!
//! Only data and pure functions. Called by `exec` to recognize tools, and by the command runner for their flags.
//!
//! # Source
//! The manual pages of the tools in Debian 12 (MariaDB 10.11, PostgreSQL 15, Redis 7.0, sysbench 1.0.20).

use std::path::PathBuf;

use looptax_bench::path::Endpoint;
use looptax_model::dsn::{MASK, Protocol, masked};
use looptax_wire::Login;

/// A tool that looptax knows; tools differ in how they get the server's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// `mysql`: a flag gives the database.
    MysqlShell,
    /// `mysqldump` and other MySQL tools, for which databases are separate words.
    MysqlOther,
    Libpq,
    /// `pgbench`: like the other libpq programs, but it may also run for a fixed time.
    Pgbench,
    /// sysbench, for MySQL and PostgreSQL.
    Sysbench,
    RedisCli,
    RedisBenchmark,
}

const TOOLS: [(&str, Tool); 14] = [
    ("mysql", Tool::MysqlShell),
    ("mariadb", Tool::MysqlShell),
    ("mysqldump", Tool::MysqlOther),
    ("mariadb-dump", Tool::MysqlOther),
    ("mysqlslap", Tool::MysqlOther),
    ("mariadb-slap", Tool::MysqlOther),
    ("psql", Tool::Libpq),
    ("pg_dump", Tool::Libpq),
    ("pgbench", Tool::Pgbench),
    ("sysbench", Tool::Sysbench),
    ("redis-cli", Tool::RedisCli),
    ("redis-benchmark", Tool::RedisBenchmark),
    ("valkey-cli", Tool::RedisCli),
    ("valkey-benchmark", Tool::RedisBenchmark),
];

/// The two families of MySQL clients, which have different options to turn TLS off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    Mariadb,
    /// MySQL's own clients, 8.0 and later.
    Mysql,
}

/// The flags and environment variables with which a tool connects to one endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expansion {
    /// The words that replace `{transport}`.
    pub words: Vec<String>,
    pub set: Vec<(String, String)>,
    pub unset: Vec<String>,
}

/// Returns the names of all known tools, for a sentence.
pub fn names() -> String {
    let names: Vec<&str> = TOOLS.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

/// Returns the index of the word that is the program, and the tool. The program is the first word, or the first word
/// after `env A=B`.
///
/// # Errors
/// The program's name, if looptax does not know the tool.
pub fn recognise(words: &[String]) -> Result<(usize, Tool), String> {
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let is_env = words.first().is_some_and(|word| base(word) == "env");
    let n_skipped = if is_env {
        let assignments = words[1..].iter().take_while(|word| {
            !word.starts_with('-') && word.split_once('=').is_some_and(|(name, _)| !name.is_empty())
        });
        1 + assignments.count()
    } else {
        0
    };
    let name = words.get(n_skipped).map_or_else(|| "env".to_owned(), |word| base(word));
    let known = TOOLS.iter().find(|(known, _)| *known == name);
    known.map(|(_, tool)| (n_skipped, *tool)).ok_or(name)
}

/// Returns the words with passwords hidden. A password is recognized by its option or its position, so a password in an
/// unknown place is not hidden.
pub fn without_passwords(words: &[String]) -> Vec<String> {
    let tool = recognise(words).ok().map(|(_, tool)| tool);
    let is_redis = matches!(tool, Some(Tool::RedisCli | Tool::RedisBenchmark));
    let is_mysql = matches!(tool, Some(Tool::MysqlShell | Tool::MysqlOther));
    let mut is_next = false;
    let hide = |word: &String| {
        if std::mem::replace(&mut is_next, is_redis && matches!(word.as_str(), "-a" | "--pass")) {
            return MASK.to_owned();
        }
        match word.split_once('=') {
            Some((name, _)) if name.to_ascii_lowercase().contains("pass") || name.ends_with("_PWD") => {
                return format!("{name}={MASK}");
            }
            _ => {}
        }
        if is_mysql && word.starts_with("-p") && word.len() > 2 {
            return format!("-p{MASK}");
        }
        masked(word)
    };
    words.iter().map(hide).collect()
}

impl Tool {
    pub fn speaks(self, protocol: Protocol) -> bool {
        match self {
            Self::MysqlShell | Self::MysqlOther => protocol == Protocol::Mysql,
            Self::Libpq | Self::Pgbench => protocol == Protocol::Postgres,
            Self::Sysbench => matches!(protocol, Protocol::Mysql | Protocol::Postgres),
            Self::RedisCli | Self::RedisBenchmark => protocol == Protocol::Redis,
        }
    }

    /// Whether the [`Flavor`] of this tool must be determined.
    pub fn has_flavors(self) -> bool {
        matches!(self, Self::MysqlShell | Self::MysqlOther)
    }

    /// Describes for the plan how the tool gets the password.
    pub fn password_way(self) -> &'static str {
        match self {
            Self::MysqlShell | Self::MysqlOther => "in MYSQL_PWD",
            Self::Libpq | Self::Pgbench => "in PGPASSWORD",
            Self::RedisCli => "in REDISCLI_AUTH",
            Self::Sysbench => "on the tool's command line, the only place where the tool accepts a password for MySQL",
            Self::RedisBenchmark => "on the tool's command line, the only place where the tool accepts a password",
        }
    }

    /// If these words make the tool run for a fixed time, returns a sentence with the options to use instead.
    pub fn runs_for_a_time(self, words: &[String]) -> Option<String> {
        let has = |start: &str| words.iter().any(|word| word.starts_with(start));
        match self {
            Self::Pgbench if has("-T") || has("--time") => {
                Some("use a fixed number of transactions: --transactions N instead of --time".to_owned())
            }
            Self::Sysbench if !has("--time=0") || !has("--events=") => {
                Some("use a fixed number of events: --time=0 --events=N".to_owned())
            }
            _ => None,
        }
    }

    /// Returns the flags and the environment for `endpoint`. TLS is off on every arm, because its cost is measured
    /// separately.
    pub fn expand(self, endpoint: &Endpoint, login: &Login, protocol: Protocol, flavor: Flavor) -> Expansion {
        match self {
            Self::MysqlShell | Self::MysqlOther => self.mysql(endpoint, login, flavor),
            Self::Libpq | Self::Pgbench => libpq(endpoint, login),
            Self::Sysbench => sysbench(endpoint, login, protocol),
            Self::RedisCli | Self::RedisBenchmark => self.redis(endpoint, login),
        }
    }

    fn mysql(self, endpoint: &Endpoint, login: &Login, flavor: Flavor) -> Expansion {
        let mut words = match endpoint {
            Endpoint::Unix(_) | Endpoint::Abstract(_) => {
                vec!["--protocol=SOCKET".to_owned(), format!("--socket={endpoint}")]
            }
            Endpoint::Tcp(address) => vec![
                "--protocol=TCP".to_owned(),
                format!("--host={}", address.ip()),
                format!("--port={}", address.port()),
            ],
        };
        words.push(format!("--user={}", login.user));
        words.extend(match flavor {
            Flavor::Mariadb => vec!["--skip-ssl".to_owned()],
            // Without TLS, the client encrypts the password with the server's public key.
            Flavor::Mysql => ["--ssl-mode=DISABLED", "--get-server-public-key"].map(str::to_owned).to_vec(),
        });
        if self == Self::MysqlShell {
            words.extend(login.database.iter().map(|name| format!("--database={name}")));
        }
        Expansion { words, set: variable("MYSQL_PWD", login.password.reveal()), unset: Vec::new() }
    }

    fn redis(self, endpoint: &Endpoint, login: &Login) -> Expansion {
        let mut words = match endpoint {
            Endpoint::Unix(_) | Endpoint::Abstract(_) => {
                vec!["-s".to_owned(), endpoint.to_string()]
            }
            Endpoint::Tcp(address) => {
                let (host, port) = (address.ip().to_string(), address.port().to_string());
                vec!["-h".to_owned(), host, "-p".to_owned(), port]
            }
        };
        if !login.user.is_empty() {
            words.extend(["--user".to_owned(), login.user.clone()]);
        }
        let number = if self == Self::RedisCli { "-n" } else { "--dbnum" };
        words.extend(login.database.iter().flat_map(|database| [number.to_owned(), database.clone()]));
        let password = login.password.reveal();
        let mut set = Vec::new();
        match self {
            Self::RedisBenchmark if !password.is_empty() => {
                words.extend(["-a".to_owned(), password.to_owned()]);
            }
            Self::RedisBenchmark => {}
            _ => set = variable("REDISCLI_AUTH", password),
        }
        Expansion { words, set, unset: Vec::new() }
    }
}

/// Passes the database and the TLS mode in environment variables, so that words of the user's command line take
/// precedence.
fn libpq(endpoint: &Endpoint, login: &Login) -> Expansion {
    let (host, port) = libpq_address(endpoint);
    let mut set = variable("PGPASSWORD", login.password.reveal());
    set.extend(variable("PGUSER", &login.user));
    set.extend(variable("PGDATABASE", login.database.as_deref().unwrap_or_default()));
    set.extend(variable("PGSSLMODE", "disable"));
    Expansion {
        words: vec!["-h".to_owned(), host, "-p".to_owned(), port],
        set,
        unset: ["PGHOSTADDR", "PGSERVICE"].map(str::to_owned).to_vec(),
    }
}

/// Returns the host and port for libpq, which finds a socket by its folder and the port in its name.
fn libpq_address(endpoint: &Endpoint) -> (String, String) {
    match endpoint {
        Endpoint::Tcp(address) => (address.ip().to_string(), address.port().to_string()),
        Endpoint::Unix(_) | Endpoint::Abstract(_) => {
            let path = PathBuf::from(endpoint.to_string());
            let folder = path.parent().map(|folder| folder.display().to_string());
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let port = name.and_then(|name| Some(name.strip_prefix(".s.PGSQL.")?.to_owned()));
            (folder.unwrap_or_default(), port.unwrap_or_else(|| "5432".to_owned()))
        }
    }
}

fn sysbench(endpoint: &Endpoint, login: &Login, protocol: Protocol) -> Expansion {
    let mut set = Vec::new();
    let mut unset = Vec::new();
    let name = if protocol == Protocol::Mysql { "mysql" } else { "pgsql" };
    let mut words = vec![format!("--db-driver={name}"), format!("--{name}-user={}", login.user)];
    words.extend(login.database.iter().map(|database| format!("--{name}-db={database}")));
    if let (Protocol::Mysql, Endpoint::Unix(path)) = (protocol, endpoint) {
        words.push(format!("--mysql-socket={}", path.display()));
    } else {
        let (host, port) = libpq_address(endpoint);
        words.push(format!("--{name}-host={host}"));
        words.push(format!("--{name}-port={port}"));
    }
    if protocol == Protocol::Mysql {
        words.push(format!("--mysql-password={}", login.password.reveal()));
    } else {
        let by_environment = libpq(endpoint, login);
        (set, unset) = (by_environment.set, by_environment.unset);
    }
    Expansion { words, set, unset }
}

/// Returns a variable, or nothing if its value is empty.
fn variable(name: &str, value: &str) -> Vec<(String, String)> {
    if value.is_empty() {
        return Vec::new();
    }
    vec![(name.to_owned(), value.to_owned())]
}

#[cfg(test)]
mod tests {
    use looptax_model::dsn::Secret;

    use std::path::PathBuf;

    use super::*;

    fn words(line: &str) -> Vec<String> {
        shell_words::split(line).unwrap()
    }

    #[track_caller]
    fn check_program(line: &str, expected: Result<(usize, Tool), &str>) {
        assert_eq!(recognise(&words(line)), expected.map_err(str::to_owned), "{line}");
    }

    #[test]
    fn a_tool_is_known_by_its_programs_name() {
        check_program("mysqldump x", Ok((0, Tool::MysqlOther)));
        check_program("/usr/bin/psql", Ok((0, Tool::Libpq)));
        check_program("env A=b C=d ./redis-cli", Ok((3, Tool::RedisCli)));
        check_program("/usr/bin/env mysql", Ok((1, Tool::MysqlShell)));
        check_program("env -i mysql", Err("-i"));
        check_program("env", Err("env"));
        check_program("sh -c mysql", Err("sh"));
        check_program("mysqldump.old", Err("mysqldump.old"));
    }

    fn login() -> Login {
        Login {
            user: "looptax".to_owned(),
            password: Secret::new("geheim".to_owned()),
            database: Some("d".to_owned()),
            ..Login::default()
        }
    }

    fn unix() -> Endpoint {
        Endpoint::Unix(PathBuf::from("/tmp/x/.s.PGSQL.77"))
    }

    fn tcp() -> Endpoint {
        Endpoint::Tcp("127.0.0.1:77".parse().unwrap())
    }

    #[track_caller]
    fn check(tool: Tool, protocol: Protocol, endpoint: &Endpoint, expected: &str, variables: &str) {
        let found = tool.expand(endpoint, &login(), protocol, Flavor::Mariadb);
        assert_eq!(found.words.join(" "), expected);
        let set: Vec<String> = found.set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(set.join(" "), variables);
    }

    #[test]
    fn mysql_tools_have_their_own_flags() {
        let (mysql, other) = (Tool::MysqlShell, Tool::MysqlOther);
        check(
            mysql,
            Protocol::Mysql,
            &unix(),
            "--protocol=SOCKET --socket=/tmp/x/.s.PGSQL.77 --user=looptax --skip-ssl --database=d",
            "MYSQL_PWD=geheim",
        );
        check(
            other,
            Protocol::Mysql,
            &tcp(),
            "--protocol=TCP --host=127.0.0.1 --port=77 --user=looptax --skip-ssl",
            "MYSQL_PWD=geheim",
        );
        let found = other.expand(&tcp(), &login(), Protocol::Mysql, Flavor::Mysql);
        assert!(found.words.contains(&"--ssl-mode=DISABLED".to_owned()));
    }

    #[test]
    fn libpq_takes_a_folder_and_the_environment() {
        let variables = "PGPASSWORD=geheim PGUSER=looptax PGDATABASE=d PGSSLMODE=disable";
        check(Tool::Libpq, Protocol::Postgres, &unix(), "-h /tmp/x -p 77", variables);
        check(Tool::Pgbench, Protocol::Postgres, &tcp(), "-h 127.0.0.1 -p 77", variables);
    }

    #[test]
    fn sysbench_is_told_its_driver() {
        check(
            Tool::Sysbench,
            Protocol::Mysql,
            &unix(),
            "--db-driver=mysql --mysql-user=looptax --mysql-db=d --mysql-socket=/tmp/x/.s.PGSQL.77 \
             --mysql-password=geheim",
            "",
        );
        check(
            Tool::Sysbench,
            Protocol::Postgres,
            &unix(),
            "--db-driver=pgsql --pgsql-user=looptax --pgsql-db=d --pgsql-host=/tmp/x --pgsql-port=77",
            "PGPASSWORD=geheim PGUSER=looptax PGDATABASE=d PGSSLMODE=disable",
        );
    }

    #[test]
    fn redis_tools_take_the_password_where_they_can() {
        let redis = Protocol::Redis;
        let cli = "-s /tmp/x/.s.PGSQL.77 --user looptax -n d";
        check(Tool::RedisCli, redis, &unix(), cli, "REDISCLI_AUTH=geheim");
        let benchmark = "-h 127.0.0.1 -p 77 --user looptax --dbnum d -a geheim";
        check(Tool::RedisBenchmark, redis, &tcp(), benchmark, "");
    }

    #[track_caller]
    fn check_hidden(line: &str, expected: &str) {
        assert_eq!(without_passwords(&words(line)).join(" "), expected);
    }

    #[test]
    fn passwords_in_known_places_are_not_shown() {
        check_hidden("mysqldump -pgeheim -P 3306", "mysqldump -p**** -P 3306");
        check_hidden("x --mysql-password=geheim", "x --mysql-password=****");
        check_hidden("redis-cli -a geheim get x", "redis-cli -a **** get x");
        check_hidden("env PGPASSWORD=geheim psql", "env PGPASSWORD=**** psql");
        check_hidden("env MYSQL_PWD=geheim mysql", "env MYSQL_PWD=**** mysql");
        check_hidden("psql postgres://u:geheim@h/d?x=1", "psql postgres://u:****@h/d?x=1");
        check_hidden("page.sh -p 80 -a b a=b", "page.sh -p 80 -a b a=b");
    }
}
