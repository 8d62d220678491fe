//! Parses a target: `private:mariadb`, `echo`, or the URL of a running server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::servers::startable;
use looptax_model::dsn::{Address, AddressError, Kind, Protocol, Secret, is_address, masked, shown};
use looptax_model::failure::{Failure, nearest};
use looptax_wire::Login;

const FORMS: &str = "private:mariadb, private:mysql, private:postgres, private:redis, private:valkey, \
                     private:memcached, private:ferretdb, private:pgbouncer, private:pgpool, private:php-fpm, \
                     private:http, echo, \
                     or a URL such as mysql://user@127.0.0.1:3306/db or http://127.0.0.1:8000/page";

#[derive(Debug, Clone)]
pub enum TargetSpec {
    Private(Kind),
    /// A server that looptax did not start and that other people may be using.
    Running(Box<Running>),
}

impl TargetSpec {
    /// Returns the target as it is typed; a URL without its password.
    pub fn name(&self) -> String {
        match self {
            Self::Private(Kind::Echo) => "echo".to_owned(),
            Self::Private(kind) => format!("private:{kind}"),
            Self::Running(running) => running.shown.clone(),
        }
    }

    /// Describes what is done first for this target.
    pub fn before_measuring(&self) -> String {
        match self {
            Self::Private(_) => format!("starting {}", self.name()),
            Self::Running(_) => format!("logging in to {}", self.name()),
        }
    }

    /// Returns the kind of server; for a running server only the protocol is known.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Private(kind) => *kind,
            Self::Running(running) => running.protocol.kind(),
        }
    }
}

/// A running server's addresses, and looptax's account on it.
#[derive(Debug, Clone)]
pub struct Running {
    pub protocol: Protocol,
    /// The address on which the server listens.
    pub tcp: SocketAddr,
    pub login: Login,
    /// The server's socket, if the URL names it.
    pub socket: Option<PathBuf>,
    /// The part of the URL that demands TLS, as the user wrote it.
    pub tls: Option<String>,
    /// The part of the URL that forbids TLS.
    pub no_tls: Option<String>,
    /// The URL without its password.
    pub shown: String,
}

pub fn parse(word: &str) -> Result<TargetSpec, Failure> {
    if word == "echo" {
        return Ok(TargetSpec::Private(Kind::Echo));
    }
    if let Some(kind) = word.strip_prefix("private:") {
        return startable(kind).map(TargetSpec::Private).map_err(|_| unknown_target(word));
    }
    if is_address(word) {
        return running(word).map(|it| TargetSpec::Running(Box::new(it)));
    }
    Err(unknown_target(word))
}

/// Returns the target that was probably meant by a misspelt word: `private:postgres` for `postgers` or
/// `private:psotgres`, and `private:mysql` for `mysql`.
pub fn meant(word: &str) -> Option<String> {
    let word = word.strip_prefix("private:").unwrap_or(word);
    let kinds = Kind::startable().map(Kind::name);
    let name = nearest(word, kinds)?;
    Some(if name == Kind::Echo.name() { name.to_owned() } else { format!("private:{name}") })
}

fn unknown_target(word: &str) -> Failure {
    let meant = meant(word).map_or_else(String::new, |it| format!("did you mean `{it}`? "));
    Failure::usage(format!("`{}` is not a target", masked(word)), format!("{meant}targets: {FORMS}"))
}

fn running(word: &str) -> Result<Running, Failure> {
    // The word may contain a password, so it is never printed completely.
    let unknown = || {
        let scheme = word.split(':').next().unwrap_or_default();
        let scheme = scheme.to_ascii_lowercase();
        let message = format!("`{scheme}://` is not a kind of server that looptax knows");
        Failure::usage(message, FORMS)
    };
    let address = Address::parse(word).map_err(|error| match error {
        AddressError::Broken { source } => Failure::usage(format!("the target's URL is invalid: {source}"), FORMS),
        error => Failure::usage(error, FORMS),
    })?;
    let is_socket = address.host.is_none() && address.protocol == Protocol::Redis;
    if address.protocol == Protocol::Memcached {
        return Err(Failure::usage(
            "a running memcached cannot be measured: it serves a socket or TCP, not both",
            "use private:memcached, which starts a process for each transport and measures both",
        ));
    }
    if address.protocol == Protocol::Fastcgi || (is_socket && address.socket.is_some()) {
        return Err(unknown());
    }
    refuse_unread(&address)?;
    Ok(Running {
        protocol: address.protocol,
        tcp: match own_port(&address) {
            Some(port) => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port),
            None => SocketAddr::new(ip(&address)?, address.port),
        },
        socket: socket(&address)?,
        login: Login {
            user: address.user.unwrap_or_default(),
            // If the server requires a password that is neither in the URL nor in LOOPTAX_PASSWORD, the user is asked
            // for it.
            password: address
                .password
                .unwrap_or_else(|| Secret::new(std::env::var("LOOPTAX_PASSWORD").unwrap_or_default())),
            database: address.database.or(address.page),
            accounts: address.accounts,
            ..Login::default()
        },
        tls: address.tls,
        no_tls: address.no_tls,
        shown: shown(word),
    })
}

/// Returns the port in the name of a `MongoDB` socket, if the URL has this socket instead of a host. A later check
/// proves that the socket and the port belong to the same server.
fn own_port(address: &Address) -> Option<u16> {
    let socket = address.socket.as_deref()?;
    let is_only = address.host.is_none() && address.protocol == Protocol::Mongodb;
    let name = socket.file_name().filter(|_| is_only)?.to_str()?;
    let port = name.strip_prefix("mongodb-")?.strip_suffix(".sock")?;
    port.parse().ok()
}

/// Returns an error for a setting in the URL that other clients would apply and that looptax does not support.
fn refuse_unread(address: &Address) -> Result<(), Failure> {
    let Some(name) = address.unread.first() else {
        return Ok(());
    };
    // A password with unencoded characters may look like a setting, so such a name is not printed.
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let is_sure = address.unread.iter().all(|it| it.chars().all(is_name));
    let what = if is_sure { name } else { "something" };
    Err(Failure::usage(
        format!("the target's URL contains `{what}=`, which compare does not support"),
        "remove it; compare supports host, port, socket, user, password, dbname, sslmode and authSource",
    ))
}

/// Returns the socket that the URL names.
fn socket(address: &Address) -> Result<Option<PathBuf>, Failure> {
    let socket = address.socket_file();
    match &socket {
        Some(path) if !path.is_absolute() => Err(Failure::usage(
            "the socket in the target's URL is not an absolute path",
            "pass the path of the server's socket, such as /run/mysqld/mysqld.sock",
        )),
        _ => Ok(socket),
    }
}

/// Returns a loopback address. `localhost` means 127.0.0.1, although some clients use the socket for this name.
fn ip(address: &Address) -> Result<IpAddr, Failure> {
    let hint = "looptax compares transports to a local server: use 127.0.0.1 or [::1]";
    let Some(host) = address.host.as_deref() else {
        return Err(Failure::usage("the target's URL has no host", hint));
    };
    let ip = match host.trim_start_matches('[').trim_end_matches(']').parse() {
        Ok(ip) => ip,
        Err(_) if host == "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        Err(_) => {
            return Err(Failure::usage(format!("the host `{host}` is not an IP address"), hint));
        }
    };
    if ip.is_loopback() { Ok(ip) } else { Err(Failure::usage(format!("{ip} is not on the loopback interface"), hint)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(word: &str) -> Running {
        match parse(word).unwrap() {
            TargetSpec::Running(running) => *running,
            TargetSpec::Private(kind) => panic!("{kind}"),
        }
    }

    #[test]
    fn a_url_is_taken_apart_and_its_password_hidden() {
        let found = url("mysql://wp:p%40ss@localhost/blog");
        assert_eq!(found.tcp, "127.0.0.1:3306".parse().unwrap());
        assert_eq!((found.login.user.as_str(), found.login.password.reveal()), ("wp", "p@ss"));
        assert_eq!(found.login.database.as_deref(), Some("blog"));
        assert_eq!(found.shown, "mysql://wp@localhost/blog");
    }

    #[test]
    fn every_protocol_has_its_port() {
        assert_eq!(url("postgres://a@[::1]").tcp, "[::1]:5432".parse().unwrap());
        assert_eq!(url("redis://127.0.0.1:7").tcp, "127.0.0.1:7".parse().unwrap());
    }

    #[test]
    fn mongodb_s_socket_has_its_port_in_its_name() {
        let found = url("mongodb://u:p@%2Ftmp%2Fmongodb-27018.sock/d?authSource=admin");
        assert_eq!(found.tcp, "127.0.0.1:27018".parse().unwrap());
        assert_eq!(found.socket, Some(PathBuf::from("/tmp/mongodb-27018.sock")));
        assert_eq!(found.login.accounts.as_deref(), Some("admin"));
        assert_eq!(url("mongodb://h@[::1]/d").tcp, "[::1]:27017".parse().unwrap());
        refused("mongodb://u@%2Ftmp%2Fother.sock/d");
        refused("mongodb://u@127.0.0.1:1,127.0.0.1:2/d");
        refused("mongodb://u@127.0.0.1/d?replicaSet=rs");
    }

    #[test]
    fn a_scheme_may_demand_tls() {
        let found = url("rediss://127.0.0.1:7");
        assert_eq!(found.tls.as_deref(), Some("rediss://"));
        assert_eq!(found.shown, "rediss://127.0.0.1:7");
    }

    #[test]
    fn parameters_count_as_the_parts_they_stand_for() {
        let found = url("postgres://localhost?user=u&password=p&port=7&dbname=d&host=/run/pg");
        assert_eq!(found.tcp, "127.0.0.1:7".parse().unwrap());
        let login = &found.login;
        let found_login = (&*login.user, login.password.reveal(), login.database.as_deref());
        assert_eq!(found_login, ("u", "p", Some("d")));
        assert_eq!(found.socket, Some(PathBuf::from("/run/pg/.s.PGSQL.7")));
        let again = url(&found.shown);
        assert!(again.login.password.is_empty() && !found.shown.contains("password"));
        assert_eq!((again.tcp, again.socket), (found.tcp, found.socket));
        let found = url("host=::1 user=u password='a b' sslmode=disable");
        assert_eq!(found.shown, "host=::1 user=u sslmode=disable");
        assert_eq!(found.no_tls.as_deref(), Some("sslmode=disable"));
    }

    #[test]
    fn what_is_not_honoured_is_named_and_refused() {
        let said = |word: &str| parse(word).unwrap_err().to_string();
        let url = "mysql://u:p@localhost/d?charset=utf8mb4";
        assert!(said(url).contains("`charset=`"), "{}", said(url));
        for url in ["mysql://u:1?geheim@localhost", "mysql://localhost?host=h"] {
            assert!(!said(url).contains("geheim"), "{}", said(url));
        }
        assert!(said("redis://localhost?socket=@s").contains("is not an absolute path"));
    }

    #[track_caller]
    fn refused(word: &str) {
        assert!(parse(word).is_err(), "{word}");
    }

    #[test]
    fn other_words_are_refused() {
        refused("mariadb");
        refused("private:oracle");
        refused("fastcgi://127.0.0.1:9000");
        refused("mysql://root@192.0.2.1/");
        refused("mysql://root@db.example/");
        refused("memcached://127.0.0.1");
        refused("unix:///run/redis.sock");
        refused("mysql://localhost?port=x");
    }

    #[test]
    fn a_misspelt_target_is_named_as_it_was_meant() {
        let hint = |word: &str| parse(word).unwrap_err().hint().unwrap().to_owned();
        for (word, expected) in [
            ("mysql", "did you mean `private:mysql`? targets: "),
            ("postgers", "did you mean `private:postgres`? targets: "),
            ("private:mariadbd", "did you mean `private:mariadb`? targets: "),
            ("ehco", "did you mean `echo`? targets: "),
            ("private:oracle", "targets: "),
        ] {
            assert!(hint(word).starts_with(expected), "{word}: {}", hint(word));
        }
    }

    #[test]
    fn a_broken_url_does_not_show_its_password() {
        let failure = parse("mysql://root:geheim@127.0.0.1:99999/").unwrap_err();
        assert!(!format!("{failure:#} {:?}", failure.hint()).contains("geheim"));
    }
}
