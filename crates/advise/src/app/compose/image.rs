//! Where the images of servers that are known have their socket, and whether a service leaves it there.

use looptax_model::dsn::Protocol;

use super::tree::{Node, Shape};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Socket {
    /// The folder, which belongs to nothing else.
    pub(super) folder: &'static str,
    pub(super) name: &'static str,
    /// The port that is its server's without a word.
    pub(super) port: u16,
}

/// # Source
/// docker-library/mysql, MariaDB/mariadb-docker and docker-library/postgres, their Dockerfiles: the folder is made for
/// everybody, and nothing else lies in it.
const MYSQL: Socket = Socket { folder: "/var/run/mysqld", name: "mysqld.sock", port: 3306 };
const POSTGRES: Socket = Socket { folder: "/var/run/postgresql", name: ".s.PGSQL.5432", port: 5432 };

/// Words of a command that may put the socket elsewhere, or have another configuration read.
const MOVING: [&str; 6] = ["socket", "defaults", "config", "skip-grant", "hba_file", "-k"];

/// What a part of Compose's `deploy` may be where all containers are on one machine, one of each.
const HARMLESS: [&str; 3] = ["resources", "restart_policy", "labels"];

/// The socket of a service's server, or why that is not known.
pub(super) fn socket_of(service: &Node, protocol: Protocol) -> Result<(&str, Socket), String> {
    for key in ["build", "entrypoint"] {
        if service.get(key).is_some() {
            return Err(format!("the server's service has `{key}`, which may say where its socket is"));
        }
    }
    let image = service.get("image").and_then(Node::text);
    let image = image.ok_or("the server's service names no image")?;
    let socket = match (repository(image), protocol) {
        ("mysql" | "mariadb", Protocol::Mysql) => MYSQL,
        ("postgres", Protocol::Postgres) => {
            if !asks_for_passwords(service) {
                return Err("the image lets everybody in at its socket without a password, so that whoever is in the \
                            application's container would be every role: first have pg_hba.conf say `local all all \
                            scram-sha-256`, and POSTGRES_INITDB_ARGS: --auth-local=scram-sha-256"
                    .to_owned());
            }
            POSTGRES
        }
        ("percona" | "percona/percona-server", _) => {
            return Err("that image's socket lies among its data".to_owned());
        }
        ("redis" | "valkey/valkey", _) => {
            return Err("that image has a socket with a command of its own alone".to_owned());
        }
        _ => {
            return Err(format!("where the image `{image}` has its socket is not known"));
        }
    };
    let mut words = Vec::new();
    collect(service.get("command"), &mut words);
    let environment = service.get("environment");
    let is_moved = |it: &Node| it.text().is_some_and(|it| it.starts_with("MYSQL_UNIX_PORT"));
    if environment.is_some_and(|it| it.any(&is_moved)) {
        return Err("MYSQL_UNIX_PORT says where the server's socket is".to_owned());
    }
    if words.iter().any(|word| MOVING.iter().any(|it| word.contains(it))) {
        return Err("the server's command may say where its socket is".to_owned());
    }
    Ok((image, socket))
}

/// Whether containers of that service may be several, or on another machine.
pub(super) fn is_spread(service: &Node) -> bool {
    let deploy = service.get("deploy").map_or(&[][..], Node::entries);
    let is_harmless = |key: &Node| key.text().is_some_and(|it| HARMLESS.contains(&it));
    service.get("scale").is_some() || deploy.iter().any(|(key, _)| !is_harmless(key))
}

/// `mysql` of `docker.io/library/mysql:${TAG:-8}`.
fn repository(image: &str) -> &str {
    let known = image.split('$').next().unwrap_or_default();
    let is_cut = known.len() < image.len();
    let image = known.trim_start_matches("docker.io/");
    let image = image.trim_start_matches("library/");
    let name = image.rfind('/').map_or(0, |at| at + 1);
    match image[name..].find([':', '@']) {
        Some(at) => &image[..name + at],
        // The name itself may go on.
        None if is_cut => "",
        None => image,
    }
}

/// Whether PostgreSQL was made so that its socket asks for a password.
fn asks_for_passwords(service: &Node) -> bool {
    let mut words = Vec::new();
    collect(service.get("environment"), &mut words);
    let is_safe = |it: &str| {
        let methods = ["scram-sha-256", "md5"].iter();
        { methods }.any(|method| it.contains(&format!("--auth-local={method}")))
    };
    let environment = service.get("environment");
    let own = environment.and_then(|it| it.get("POSTGRES_INITDB_ARGS"));
    let listed = { words.iter() }.find(|it| it.starts_with("POSTGRES_INITDB_ARGS="));
    own.and_then(Node::text).or(listed.copied()).is_some_and(is_safe)
}

fn collect<'a>(node: Option<&'a Node>, words: &mut Vec<&'a str>) {
    match node.map(|it| &it.kind) {
        Some(Shape::Text { text, .. }) => words.push(text),
        Some(Shape::List { items, .. }) => { items.iter() }.for_each(|it| collect(Some(it), words)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;

    #[track_caller]
    fn check(service: &str, protocol: Protocol, expected: Result<&str, &str>) {
        let root = tree::read(service).unwrap();
        let found = socket_of(&root, protocol).map(|(_, socket)| socket.folder);
        match (&found, expected) {
            (Ok(folder), Ok(expected)) => assert_eq!(*folder, expected, "{service}"),
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
            mysql(&format!("image: {image}\n"), Err("not known"));
        }
        mysql("image: percona:8\n", Err("among its data"));
        mysql("image: mysql\nbuild: .\n", Err("`build`"));
        mysql("image: mysql\ncommand: --socket=/x\n", Err("command"));
        mysql("image: mysql\ncommand: [mysqld, '--socket=/x']\n", Err("command"));
        mysql("image: mysql\ncommand: --max-connections=9\n", Ok("/var/run/mysqld"));
        mysql("build: .\n", Err("`build`"));
        mysql("restart: always\n", Err("names no image"));
        check("image: redis:7\n", Protocol::Redis, Err("a command of its own"));
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
