//! The sockets in the images of known servers, and whether a container has its socket at the same place as the image.

use looptax_model::dsn::Protocol;

use super::container::Container;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Socket {
    /// The folder that both containers mount. It contains nothing except the socket.
    pub(super) mount: String,
    /// The folder of the socket: the mounted folder, or a folder inside it.
    pub(super) folder: String,
    pub(super) name: String,
    pub(super) port: u16,
}

/// A server's socket, and the settings that have to be added so that the server creates it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Serving {
    pub(super) socket: Socket,
    /// Words to add at the end of the server's command. If the server has no command, `program` and these words are the
    /// command.
    pub(super) options: Vec<String>,
    pub(super) program: &'static str,
    /// A variable to add to the server's environment, with its value.
    pub(super) variable: Option<(&'static str, String)>,
}

/// An image of `PgBouncer` that variables configure.
struct Pooler {
    images: &'static [&'static str],
    /// The variable for the folder of the socket.
    folder: &'static str,
    port: &'static str,
    usual_port: u16,
    /// The variable for the socket's mode, if the image has one. Without this variable, every user may use the socket.
    mode: Option<&'static str>,
}

/// The known images of `PgBouncer`. The default folder of bitnami's image is /tmp, which is not a folder only for the
/// socket.
///
/// # Source
/// edoburu/docker-pgbouncer, entrypoint.sh; bitnami/containers, pgbouncer-env.sh and libpgbouncer.sh; pgbouncer.org,
/// `unix_socket_dir`, `unix_socket_mode` (0777).
const POOLERS: [Pooler; 2] = [
    Pooler {
        images: &["edoburu/pgbouncer"],
        folder: "UNIX_SOCKET_DIR",
        port: "LISTEN_PORT",
        usual_port: 5432,
        mode: None,
    },
    Pooler {
        images: &["bitnami/pgbouncer", "bitnamilegacy/pgbouncer"],
        folder: "PGBOUNCER_SOCKET_DIR",
        port: "PGBOUNCER_PORT",
        usual_port: 6432,
        mode: Some("PGBOUNCER_SOCKET_MODE"),
    },
];

/// The usual folder for the sockets of Google's proxy.
const CLOUD_SQL: &str = "/cloudsql";

/// The folder and the name of the socket in MySQL's images, and the server's port. The folder contains nothing except
/// the socket.
///
/// # Source
/// docker-library/mysql, MariaDB/mariadb-docker and docker-library/postgres: their Dockerfiles.
pub(super) const MYSQL: (&str, &str, u16) = ("/var/run/mysqld", "mysqld.sock", 3306);
pub(super) const POSTGRES: (&str, &str, u16) = ("/var/run/postgresql", ".s.PGSQL.5432", 5432);

/// The folder for PHP-FPM's socket, the name of the socket, and the port on which the images listen.
pub(super) const PHP: (&str, &str, u16) = ("/run/php", "php-fpm.sock", 9000);

/// The images of docker-library/php with PHP-FPM. [`PLAIN`] lists the words of a command that leave the configuration
/// files of these images in use.
const FPM: [&str; 4] = ["php", "wordpress", "nextcloud", "drupal"];
const PLAIN: [&str; 6] = ["-F", "--nodaemonize", "-R", "--allow-to-run-as-root", "-O", "--force-stderr"];

/// The folder for Redis' socket, and the path of the socket.
pub(super) const REDIS: (&str, &str) = ("/run/redis", "/run/redis/redis.sock");

/// Words of a command that may move the socket or select another configuration.
const MOVING: [&str; 6] = ["socket", "defaults", "config", "skip-grant", "hba_file", "-k"];

/// The mode of a Redis socket. The users of the two containers share no group, and without this mode only the server
/// can use its socket (docker-entrypoint.sh: umask 0077). With this mode, every container that mounts the volume may
/// use the socket, just as every container on the network may use the port.
pub(super) const MODE: &str = "777";

/// Finds the socket of a container's server.
///
/// # Errors
/// Why the socket is not known, as words.
pub(super) fn socket_of(server: &Container, protocol: Protocol) -> Result<Serving, String> {
    let image = server.image.as_deref();
    let family = image.map(repository).and_then(|it| match it {
        "redis" => Some((REDIS.0, "redis-server")),
        "valkey/valkey" => Some(("/run/valkey", "valkey-server")),
        _ => None,
    });
    // With Kubernetes' `command`, the words of the program are known.
    let is_proxy = image.map(repository).is_some_and(is_cloud_sql)
        && server.words.first().is_some_and(|it| it.ends_with("cloud-sql-proxy"));
    let is_known = |it: &&str| (family.is_some() || is_proxy) && *it == "command";
    if let Some(key) = server.replaced_by.filter(|it| !is_known(it)) {
        return Err(format!("the server has `{key}`, which may set the place of its socket"));
    }
    let image = image.ok_or("the server has no `image`")?;
    let (folder, name, port) = match (repository(image), protocol) {
        ("mysql" | "mariadb", Protocol::Mysql) => MYSQL,
        ("postgres", Protocol::Postgres) => {
            if !asks_for_passwords(server) {
                return Err("the image accepts every login at its socket without a password, so every program in the \
                            application's container could log in as every role: first put `local all all \
                            scram-sha-256` into pg_hba.conf, and set POSTGRES_INITDB_ARGS: --auth-local=scram-sha-256"
                    .to_owned());
            }
            POSTGRES
        }
        ("redis" | "valkey/valkey", Protocol::Redis) => {
            let (folder, program) = family.unwrap_or_default();
            return of_redis(server, folder, program);
        }
        (name, Protocol::Postgres) if pooler(name).is_some() => return of_pgbouncer(server),
        (name, Protocol::Postgres | Protocol::Mysql) if is_cloud_sql(name) => return of_cloud_sql(server, protocol),
        (_, Protocol::Fastcgi) if is_fpm(image) => {
            let (first, rest) = server.words.split_first().unzip();
            let rest: &[String] = rest.unwrap_or_default();
            let is_plain = first.is_none_or(|it| it == "php-fpm") && rest.iter().all(|it| PLAIN.contains(&&**it));
            if !is_plain {
                return Err("the server's command may start another program, or read other files".to_owned());
            }
            PHP
        }
        ("memcached", _) => {
            return Err(
                "memcached listens on a socket or on a port, never on both, and the file does not show which other \
                 clients use its port"
                    .to_owned(),
            );
        }
        ("percona" | "percona/percona-server", _) => {
            return Err("the image's socket is in its data folder".to_owned());
        }
        _ => {
            return Err(format!("looptax does not know where the image `{image}` has its socket"));
        }
    };
    if server.variable("MYSQL_UNIX_PORT").is_some() {
        return Err("MYSQL_UNIX_PORT may set the place of the server's socket".to_owned());
    }
    if server.words.iter().any(|word| MOVING.iter().any(|it| word.contains(it))) {
        return Err("the server's command may set the place of its socket".to_owned());
    }
    Ok(Serving { socket: Socket::of(folder, name, port), options: Vec::new(), program: "", variable: None })
}

/// Whether an image starts PHP-FPM, according to its tag.
pub(super) fn is_fpm(image: &str) -> bool {
    let tag = image.rsplit('/').next().and_then(|it| it.split(['@', '$']).next()?.split_once(':'));
    FPM.contains(&repository(image)) && tag.is_some_and(|it| it.1.split('-').any(|it| it == "fpm"))
}

pub(super) fn is_nginx(image: &str) -> bool {
    ["nginx", "nginxinc/nginx-unprivileged"].contains(&repository(image))
}

impl Socket {
    fn of(folder: &str, name: &str, port: u16) -> Self {
        Self { mount: folder.to_owned(), folder: folder.to_owned(), name: name.to_owned(), port }
    }

    /// The path of the socket, which is the same in both containers.
    pub(super) fn file(&self) -> String {
        format!("{}/{}", self.folder, self.name)
    }
}

fn pooler(image: &str) -> Option<&'static Pooler> {
    POOLERS.iter().find(|it| it.images.contains(&image))
}

fn is_cloud_sql(image: &str) -> bool {
    let hosts = ["gcr.io", "us.gcr.io", "eu.gcr.io", "asia.gcr.io"];
    let own = image.strip_suffix("/cloud-sql-connectors/cloud-sql-proxy");
    own.is_some_and(|it| hosts.contains(&it))
}

/// Whether a container runs a proxy that speaks the server's protocol. The server of such a proxy may be anywhere.
pub(super) fn is_in_front(container: &Container, protocol: Protocol) -> bool {
    let image = container.image.as_deref().map(repository).unwrap_or_default();
    match protocol {
        Protocol::Postgres => pooler(image).is_some() || is_cloud_sql(image),
        Protocol::Mysql => is_cloud_sql(image),
        _ => false,
    }
}

/// Finds the socket that the environment of a `PgBouncer` sets, or the variables that have to be added. `PgBouncer`
/// requires passwords on this socket as on its port.
fn of_pgbouncer(server: &Container) -> Result<Serving, String> {
    let pooler =
        server.image.as_deref().and_then(|it| pooler(repository(it))).ok_or("looptax does not know the image")?;
    if !server.words.is_empty() {
        return Err("the server's command may set the place of its socket".to_owned());
    }
    let port = match server.variable(pooler.port) {
        Some(text) => text.parse().map_err(|_| format!("the server's port is `{text}`, which is not a port number"))?,
        None => pooler.usual_port,
    };
    if let Some(mode) = pooler.mode.and_then(|it| server.variable(it)).filter(|it| !it.ends_with(['2', '3', '6', '7']))
    {
        return Err(format!("the server's socket has mode {mode}, which excludes the users of other containers"));
    }
    let own = server.variable(pooler.folder).filter(|it| !it.is_empty());
    let folder = own.unwrap_or("/var/run/pgbouncer").trim_end_matches('/').to_owned();
    if !is_own_folder(&folder) {
        return Err(format!("the server's socket is in `{folder}`, which is not a separate folder"));
    }
    let variable = own.is_none().then(|| (pooler.folder, folder.clone()));
    let socket = Socket::of(&folder, &format!(".s.PGSQL.{port}"), port);
    Ok(Serving { socket, options: Vec::new(), program: "", variable })
}

/// Finds the socket that Google's proxy has in addition to its port, or the words that have to be added. The proxy
/// listens at a separate place for each of its arguments, so two arguments may be for the same database. Every user may
/// use the socket.
///
/// # Source
/// GoogleCloudPlatform/cloud-sql-proxy, README ("`unix-socket` query param") and internal/proxy/proxy.go:
/// `networkType`, `newUnixSocketMount`, the loop over `conf.Instances`.
fn of_cloud_sql(server: &Container, protocol: Protocol) -> Result<Serving, String> {
    let is_part = |it: &str| !it.is_empty() && it.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    let words: Vec<&str> = server.words.iter().map(|it| it.trim_matches(['"', '\''])).collect();
    let databases = words.iter().filter_map(|it| {
        let (name, query) = it.split_once('?').unwrap_or((it, ""));
        let parts: Vec<&str> = name.split(':').collect();
        (matches!(parts.len(), 3 | 4) && parts.iter().all(|it| is_part(it))).then_some((name, query))
    });
    let databases: Vec<(&str, &str)> = databases.collect();
    let of_query = |query: &'_ str, key: &str| -> Option<String> {
        query.split('&').find_map(|it| it.strip_prefix(key)?.strip_prefix('=')).map(str::to_owned)
    };
    let option = |names: &[&str]| {
        let (at, word) = words.iter().enumerate().find(|(_, word)| names.iter().any(|it| word.starts_with(it)))?;
        let own = names.iter().find_map(|it| word.strip_prefix(it)?.strip_prefix('='));
        own.or_else(|| words.get(at + 1).copied().filter(|_| names.contains(word))).map(str::to_owned)
    };
    let elsewhere = ["--unix-socket", "-u", "--fuse", "--config-file"];
    if words.iter().any(|word| word.contains('$') || elsewhere.iter().any(|it| word.starts_with(it))) {
        return Err("the proxy's command sets its address in a form that looptax does not read".to_owned());
    }
    let by_port: Vec<_> = databases.iter().filter(|it| !it.1.contains("unix-socket")).collect();
    let [(name, query)] = by_port[..] else {
        return Err(
            "the proxy has several databases or no database: the file does not show which database the port leads to"
                .to_owned(),
        );
    };
    let usual = if protocol == Protocol::Mysql { 3306 } else { 5432 };
    let port = match of_query(query, "port").or_else(|| option(&["--port", "-p"])) {
        Some(text) => text.parse().map_err(|_| format!("the server's port is `{text}`, which is not a port number"))?,
        None => usual,
    };
    let own = databases.iter().find_map(|it| of_query(it.1, "unix-socket").filter(|_| it.0 == *name));
    let mount = own.as_deref().unwrap_or(CLOUD_SQL).trim_end_matches('/').to_owned();
    if !is_own_folder(&mount) {
        return Err(format!("the proxy's socket is in `{mount}`, which is not a separate folder"));
    }
    let options = if own.is_none() { vec![format!("{name}?unix-socket={mount}")] } else { Vec::new() };
    let socket = match protocol {
        Protocol::Mysql => Socket { folder: mount.clone(), name: (*name).to_owned(), port, mount },
        _ => Socket { folder: format!("{mount}/{name}"), name: ".s.PGSQL.5432".to_owned(), port, mount },
    };
    Ok(Serving { socket, options, program: "", variable: None })
}

/// Whether a folder usually contains nothing except the socket.
fn is_own_folder(folder: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._-".contains(it);
    let is_others = ["/tmp", "/data", "/run", "/var/run"].contains(&folder);
    folder.starts_with('/') && !is_others && folder.chars().all(is_plain)
}

/// Finds the socket that the command of a Redis server sets, or the words that have to be added.
///
/// # Source
/// redis.io, "Passing arguments using the command line": options override a file that the command names before them.
fn of_redis(server: &Container, folder: &str, program: &'static str) -> Result<Serving, String> {
    let first = server.words.first().map_or(program, |it| it.rsplit('/').next().unwrap_or(it));
    let is_file = first.strip_suffix(".conf").is_some_and(|it| !it.is_empty());
    if !(first == program || first == "redis-server" || first.starts_with("--") || is_file) {
        return Err("the server's command starts another program".to_owned());
    }
    if server.words.iter().any(|it| it == "--sentinel") {
        return Err("a Sentinel sends its clients the addresses of servers, never sockets".to_owned());
    }
    let option = |name: &str| {
        let mut words = server.words.iter().map(|it| it.trim_matches(['"', '\'']));
        words.by_ref().find(|it| *it == name)?;
        Some(words.next().unwrap_or_default())
    };
    let port = match option("--port") {
        Some(text) => text.parse().map_err(|_| format!("the server's port is `{text}`, which is not a port number"))?,
        None => 6379,
    };
    let mut options = Vec::new();
    let path = option("--unixsocket").map_or_else(|| format!("{folder}/redis.sock"), str::to_owned);
    if option("--unixsocket").is_none() {
        options.extend(["--unixsocket".to_owned(), path.clone()]);
    }
    match option("--unixsocketperm") {
        None => options.extend(["--unixsocketperm".to_owned(), MODE.to_owned()]),
        Some(mode) if mode.ends_with(['2', '3', '6', '7']) => {}
        Some(mode) => {
            return Err(format!(
                "the server's socket has mode {mode}, which excludes the users of other containers: start the \
                 server with --unixsocketperm {MODE}"
            ));
        }
    }
    let (folder, name) = path.rsplit_once('/').unwrap_or_default();
    let is_odd = |it: char| !it.is_ascii_alphanumeric() && !"._-".contains(it);
    if !is_own_folder(folder) || name.is_empty() || name.contains(is_odd) {
        return Err(format!("the server's socket `{path}` is not in a separate folder"));
    }
    Ok(Serving { socket: Socket::of(folder, name, port), options, program, variable: None })
}

/// Returns `mysql` for `docker.io/library/mysql:${TAG:-8}`.
fn repository(image: &str) -> &str {
    let known = image.split('$').next().unwrap_or_default();
    let is_cut = known.len() < image.len();
    let image = known.trim_start_matches("docker.io/");
    let image = image.trim_start_matches("library/");
    let name = image.rfind('/').map_or(0, |at| at + 1);
    match image[name..].find([':', '@']) {
        Some(at) => &image[..name + at],
        // The variable may contain the rest of the name.
        None if is_cut => "",
        None => image,
    }
}

/// Whether `PostgreSQL` was initialised to require a password on its socket.
fn asks_for_passwords(server: &Container) -> bool {
    let methods = ["scram-sha-256", "md5"];
    let is_safe = |it: &str| methods.iter().any(|method| it.contains(&format!("--auth-local={method}")));
    server.variable("POSTGRES_INITDB_ARGS").is_some_and(is_safe)
}

#[cfg(test)]
mod tests {
    use super::super::compose::container_of;
    use super::super::tree;
    use super::*;

    #[track_caller]
    fn check(service: &str, protocol: Protocol, expected: Result<&str, &str>) {
        let root = tree::read(service).unwrap();
        let found = socket_of(&container_of("db", &root), protocol);
        match (&found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found.socket.folder, expected, "{service}"),
            (Err(why), Err(expected)) => assert!(why.contains(expected), "{service}: {why}"),
            _ => panic!("{service}: {found:?}"),
        }
    }

    #[test]
    fn a_socket_is_known_by_its_image_alone() {
        let mysql = |service: &str, expected| check(service, Protocol::Mysql, expected);
        for image in ["mysql", "mysql:8.4", "mariadb@sha256:0", "docker.io/library/mysql:5.7", "mysql:${TAG:-a/b}"] {
            mysql(&format!("image: {image}\n"), Ok("/var/run/mysqld"));
        }
        for image in ["bitnami/mysql", "mysql${X}", "${R}/mysql:8", "own.example/mysql:8", "postgres"] {
            mysql(&format!("image: {image}\n"), Err("does not know"));
        }
        mysql("image: percona:8\n", Err("in its data folder"));
        mysql("image: mysql\nbuild: .\n", Err("`build`"));
        mysql("image: mysql\ncommand: --socket=/x\n", Err("command"));
        mysql("image: mysql\ncommand: [mysqld, '--socket=/x']\n", Err("command"));
        mysql("image: mysql\ncommand: --max-connections=9\n", Ok("/var/run/mysqld"));
        mysql("build: .\n", Err("`build`"));
        mysql("restart: always\n", Err("has no `image`"));
        check("image: memcached\n", Protocol::Memcached, Err("never on both"));
    }

    #[test]
    fn an_image_with_php_fpm_is_known_by_its_tag() {
        let fpm = |service: &str, expected| check(service, Protocol::Fastcgi, expected);
        for image in ["php:fpm", "php:8.3-fpm-alpine", "docker.io/library/wordpress:6-php8.3-fpm", "php:8-fpm@sha256:0"]
        {
            fpm(&format!("image: {image}\n"), Ok("/run/php"));
        }
        for image in ["php", "php:8-apache", "php:${V}-fpm", "own/php:8-fpm", "bitnami/php-fpm:8", "php@sha256:0"] {
            fpm(&format!("image: {image}\n"), Err("does not know"));
        }
        fpm("image: php:8-fpm\ncommand: [php-fpm, -F, -R]\n", Ok("/run/php"));
        fpm("image: php:8-fpm\ncommand: php-fpm -y /own.conf\n", Err("command"));
        fpm("image: php:8-fpm\ncommand: sh -c php-fpm\n", Err("command"));
    }

    #[test]
    fn a_redis_gets_the_options_that_its_command_lacks() {
        let options = |command: &str| {
            let root = tree::read(&format!("image: redis:7\n{command}\n")).unwrap();
            socket_of(&container_of("c", &root), Protocol::Redis).map(|it| (it.socket.folder, it.options.join(" ")))
        };
        let all = "--unixsocket /run/redis/redis.sock --unixsocketperm 777";
        for command in [
            "",
            "command: redis-server --appendonly yes",
            "command: [redis-server, /etc/redis.conf]",
            "command: --save ''",
            "command: my.conf",
        ] {
            assert_eq!(options(command), Ok(("/run/redis".to_owned(), all.to_owned())), "{command}");
        }
        let own = "command: redis-server --unixsocket /sockets/r.sock";
        assert_eq!(options(own), Ok(("/sockets".to_owned(), "--unixsocketperm 777".to_owned())));
        let whole = "command: [redis-server, --unixsocket, /sockets/r.sock, --unixsocketperm, '777']";
        assert_eq!(options(whole), Ok(("/sockets".to_owned(), String::new())));
        for (command, why) in [
            ("command: sh -c 'redis-server'", "another program"),
            ("command: [redis-sentinel, /s.conf]", "another program"),
            ("command: redis-server /s.conf --sentinel", "Sentinel"),
            ("command: redis-server --unixsocketperm 770", "mode 770"),
            ("command: redis-server --unixsocket /tmp/r.sock", "a separate folder"),
            ("command: redis-server --unixsocket r.sock", "a separate folder"),
            ("command: redis-server --unixsocket $${S}", "a separate folder"),
            ("command: redis-server --port ${P}", "port is"),
            ("entrypoint: x", "`entrypoint`"),
        ] {
            let found = options(command);
            assert!(found.as_ref().is_err_and(|it| it.contains(why)), "{command}: {found:?}");
        }
        check("image: valkey/valkey:8-alpine\n", Protocol::Redis, Ok("/run/valkey"));
        check("image: redis\n", Protocol::Mysql, Err("does not know"));
    }

    #[test]
    fn a_pooler_gets_the_variable_that_its_environment_lacks() {
        let serving = |environment: &str| {
            let service = format!("image: edoburu/pgbouncer:v1.24\nenvironment: [DB_HOST=x{environment}]\n");
            let found = socket_of(&container_of("pool", &tree::read(&service).unwrap()), Protocol::Postgres);
            found.map(|it| (format!("{}/{}", it.socket.folder, it.socket.name), it.variable))
        };
        let variable = Some(("UNIX_SOCKET_DIR", "/var/run/pgbouncer".to_owned()));
        assert_eq!(serving(""), Ok(("/var/run/pgbouncer/.s.PGSQL.5432".to_owned(), variable)));
        let own = serving(", UNIX_SOCKET_DIR=/sockets/, LISTEN_PORT=6432");
        assert_eq!(own, Ok(("/sockets/.s.PGSQL.6432".to_owned(), None)));
        assert!(serving(", UNIX_SOCKET_DIR=/tmp").is_err());
        assert!(serving(", 'LISTEN_PORT=${P}'").is_err());
    }

    #[test]
    fn a_pooler_of_bitnami_has_names_of_its_own() {
        let serving = |environment: &str| {
            let service = format!("image: docker.io/bitnami/pgbouncer:1\nenvironment: [A=x{environment}]\n");
            let found = socket_of(&container_of("pool", &tree::read(&service).unwrap()), Protocol::Postgres);
            found.map(|it| (format!("{}/{}", it.socket.folder, it.socket.name), it.variable))
        };
        let variable = Some(("PGBOUNCER_SOCKET_DIR", "/var/run/pgbouncer".to_owned()));
        assert_eq!(serving(""), Ok(("/var/run/pgbouncer/.s.PGSQL.6432".to_owned(), variable)));
        let own = serving(", PGBOUNCER_SOCKET_DIR=/s, PGBOUNCER_PORT=5432, PGBOUNCER_SOCKET_MODE=0777");
        assert_eq!(own, Ok(("/s/.s.PGSQL.5432".to_owned(), None)));
        assert!(serving(", PGBOUNCER_SOCKET_MODE=0770").is_err_and(|it| it.contains("mode 0770")));
        assert!(serving(", PGBOUNCER_SOCKET_DIR=/tmp/").is_err_and(|it| it.contains("a separate folder")));
    }

    #[test]
    fn googles_proxy_gets_its_database_a_second_time() {
        let serving = |words: &str, protocol| {
            let service = format!("image: gcr.io/cloud-sql-connectors/cloud-sql-proxy:2\ncommand: {words}\n");
            let found = socket_of(&container_of("proxy", &tree::read(&service).unwrap()), protocol);
            found.map(|Serving { socket: it, options, .. }| {
                format!("{} {}/{} {} {}", it.mount, it.folder, it.name, it.port, options.join(" "))
            })
        };
        for (words, protocol, expected) in [
            ("[p:r:i]", Protocol::Postgres, "/cloudsql /cloudsql/p:r:i/.s.PGSQL.5432 5432 p:r:i?unix-socket=/cloudsql"),
            ("[--port=3307, p:r:i]", Protocol::Mysql, "/cloudsql /cloudsql/p:r:i 3307 p:r:i?unix-socket=/cloudsql"),
            (
                "--port 6000 'd.e:p:r:i?auto-iam-authn=true'",
                Protocol::Mysql,
                "/cloudsql /cloudsql/d.e:p:r:i 6000 d.e:p:r:i?unix-socket=/cloudsql",
            ),
            ("[p:r:i?port=1, 'p:r:i?unix-socket=/s/']", Protocol::Postgres, "/s /s/p:r:i/.s.PGSQL.5432 1 "),
        ] {
            assert_eq!(serving(words, protocol).as_deref(), Ok(expected), "{words}");
        }
        for (words, why) in [
            ("[p:r:i, p:r:j]", "several databases"),
            ("[--structured-logs]", "no database"),
            ("[--unix-socket=/cloudsql, p:r:i]", "in a form that"),
            ("[-u, /cloudsql, p:r:i]", "in a form that"),
            ("['p:r:$(I)']", "in a form that"),
            ("[p:r:i, 'p:r:i?unix-socket=/tmp']", "a separate folder"),
            ("[p:r:i?port=x]", "port is"),
        ] {
            let found = serving(words, Protocol::Postgres);
            assert!(found.as_ref().is_err_and(|it| it.contains(why)), "{words}: {found:?}");
        }
    }

    #[test]
    fn a_socket_that_asks_nobody_is_shared_with_nobody() {
        let check = |environment: &str, expected| {
            let service = format!("image: postgres:17\nenvironment:\n{environment}");
            check(&service, Protocol::Postgres, expected);
        };
        check("  A: b\n", Err("without a password"));
        let method = "--auth-local=scram-sha-256";
        check(&format!("  POSTGRES_INITDB_ARGS: {method}\n"), Ok("/var/run/postgresql"));
        check(&format!("  - POSTGRES_INITDB_ARGS={method}\n"), Ok("/var/run/postgresql"));
        check("  POSTGRES_INITDB_ARGS: --auth-local=trust\n", Err("without a password"));
        check("  X: --auth-local=md5\n", Err("without a password"));
    }
}
