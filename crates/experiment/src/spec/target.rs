//! A target word: `private:mariadb`, `echo`, or the URL of a running server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use looptax_dsn::{Kind, Protocol, Secret};
use looptax_failure::Failure;
use looptax_servers::startable;
use looptax_wire::Login;
use url::{Host, Url};

const FORMS: &str = "private:mariadb, private:mysql, private:postgres, private:redis, private:valkey, \
                     private:memcached, echo, \
                     or a URL such as mysql://user@127.0.0.1:3306/db";

/// What is to be measured.
#[derive(Debug, Clone)]
pub enum TargetSpec {
    /// A server that we start.
    Private(Kind),
    /// A server that somebody cares for.
    Running(Running),
}

impl TargetSpec {
    /// As it is typed; a URL without its password.
    pub fn name(&self) -> String {
        match self {
            Self::Private(Kind::Echo) => "echo".to_owned(),
            Self::Private(kind) => format!("private:{kind}"),
            Self::Running(running) => running.shown.clone(),
        }
    }

    /// What happens to it first.
    pub fn before_measuring(&self) -> String {
        match self {
            Self::Private(_) => format!("starting {}", self.name()),
            Self::Running(_) => format!("logging in to {}", self.name()),
        }
    }

    /// `mariadb`, `postgres` …; a running server is known by its protocol alone.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Private(kind) => kind.name(),
            Self::Running(running) => running.protocol.name(),
        }
    }
}

/// Where a running server is, and who we are there.
#[derive(Debug, Clone)]
pub struct Running {
    /// What it speaks.
    pub protocol: Protocol,
    /// Where it listens.
    pub tcp: SocketAddr,
    /// Who logs in.
    pub login: Login,
    /// The URL without its password.
    pub shown: String,
}

/// Reads one target word.
pub fn parse(word: &str) -> Result<TargetSpec, Failure> {
    if word == "echo" {
        return Ok(TargetSpec::Private(Kind::Echo));
    }
    if let Some(kind) = word.strip_prefix("private:") {
        return startable(kind).map(TargetSpec::Private).map_err(|_| {
            Failure::usage(
                format!("`{word}` is no target"),
                format!("targets: {FORMS}"),
            )
        });
    }
    if word.contains("://") {
        return running(word).map(TargetSpec::Running);
    }
    Err(Failure::usage(
        format!("`{word}` is no target"),
        format!("targets: {FORMS}"),
    ))
}

fn running(word: &str) -> Result<Running, Failure> {
    // The word may hold a password: it is never printed whole.
    let url = Url::parse(word)
        .map_err(|error| Failure::usage(format!("the target's URL is broken: {error}"), FORMS))?;
    let (protocol, port) = match url.scheme() {
        "mysql" | "mariadb" => (Protocol::Mysql, 3306),
        "postgres" | "postgresql" => (Protocol::Postgres, 5432),
        "redis" | "valkey" => (Protocol::Redis, 6379),
        other => {
            return Err(Failure::usage(
                format!("`{other}://` is no kind of server that looptax knows"),
                FORMS,
            ));
        }
    };
    let tcp = SocketAddr::new(address(&url)?, url.port().unwrap_or(port));
    let database = url.path().trim_start_matches('/');
    let login = Login {
        user: decoded(url.username()),
        password: Secret::new(password(&url)),
        database: (!database.is_empty()).then(|| decoded(database)),
    };
    Ok(Running {
        protocol,
        tcp,
        shown: shown(&url),
        login,
    })
}

fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    // Fails only for URLs without a host; these were refused.
    let _ = shown.set_password(None);
    shown.set_query(None);
    shown.to_string()
}

/// A loopback address. `localhost` means 127.0.0.1 here: the name alone would be the socket to some
/// clients and TCP to others.
fn address(url: &Url) -> Result<IpAddr, Failure> {
    let hint = "looptax compares ways to a local server: give 127.0.0.1 or [::1]";
    let address = match url.host() {
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        Some(Host::Domain(name)) => match name.parse() {
            Ok(address) => address,
            Err(_) if name == "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Err(_) => {
                return Err(Failure::usage(
                    format!("the host `{name}` is no address"),
                    hint,
                ));
            }
        },
        None => return Err(Failure::usage("the target's URL has no host", hint)),
    };
    if address.is_loopback() {
        Ok(address)
    } else {
        Err(Failure::usage(
            format!("{address} is not on the loopback interface"),
            hint,
        ))
    }
}

/// From the URL, else from `LOOPTAX_PASSWORD`; a prompt is the command's business.
fn password(url: &Url) -> String {
    match url.password() {
        Some(password) => decoded(password),
        None => std::env::var("LOOPTAX_PASSWORD").unwrap_or_default(),
    }
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text)
        .decode_utf8_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(word: &str) -> Running {
        match parse(word).unwrap() {
            TargetSpec::Running(running) => running,
            TargetSpec::Private(kind) => panic!("{kind}"),
        }
    }

    #[test]
    fn a_url_is_taken_apart_and_its_password_hidden() {
        let found = url("mysql://wp:p%40ss@localhost/blog");
        assert_eq!(found.tcp, "127.0.0.1:3306".parse().unwrap());
        assert_eq!(
            (found.login.user.as_str(), found.login.password.reveal()),
            ("wp", "p@ss")
        );
        assert_eq!(found.login.database.as_deref(), Some("blog"));
        assert_eq!(found.shown, "mysql://wp@localhost/blog");
    }

    #[test]
    fn every_protocol_has_its_port() {
        assert_eq!(url("postgres://a@[::1]").tcp, "[::1]:5432".parse().unwrap());
        assert_eq!(
            url("redis://127.0.0.1:7").tcp,
            "127.0.0.1:7".parse().unwrap()
        );
    }

    #[track_caller]
    fn refused(word: &str) {
        assert!(parse(word).is_err(), "{word}");
    }

    #[test]
    fn other_words_are_refused() {
        refused("mariadb");
        refused("private:oracle");
        refused("http://127.0.0.1/");
        refused("mysql://root@192.0.2.1/");
        refused("mysql://root@db.example/");
    }

    #[test]
    fn a_broken_url_does_not_show_its_password() {
        let failure = parse("mysql://root:geheim@127.0.0.1:99999/").unwrap_err();
        assert!(!format!("{failure:#} {:?}", failure.hint()).contains("geheim"));
    }
}
