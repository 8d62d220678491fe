//! One login over either endpoint, and what the server says of it.
//!
//! Read only, but a login leaves traces: a line in the server's log, a warmed password cache, a count.

use std::fmt::Write;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use looptax_advise::check::{
    self, Hba, MysqlAccount, MysqlLogin, Outcome, Point, mysql_account, postgres_rules,
};
use looptax_advise::{Address, Product};
use looptax_discover::Server;
use looptax_path::{Conversation, Endpoint, Limits, PathError};
use looptax_wire::{Login, Secret};

use super::client::Client;
use super::protocol;
use crate::socket_of::SocketOf;

/// What the two logins show.
pub(super) fn points(
    address: &Address,
    tcp: SocketAddr,
    socket: &SocketOf,
    server: Option<&Server>,
    client: &Client,
) -> Vec<Point> {
    let login = login(address);
    let open = |endpoint: Result<Endpoint, PathError>| {
        endpoint.and_then(|endpoint| {
            Conversation::open(
                protocol(address.product),
                &endpoint,
                &login,
                Limits::default(),
            )
        })
    };
    let mut over_tcp = open(Ok(Endpoint::Tcp(tcp)));
    let mut over_unix = open(Endpoint::unix(Path::new(&socket.file)));
    let mut points = vec![check::same_server(
        identity(&mut over_tcp).as_deref(),
        identity(&mut over_unix).as_deref(),
        "logged in over both and asked the server who it is",
    )];
    match address.product {
        Product::Mysql => {
            let (tcp, unix) = (mysql_login(&mut over_tcp), mysql_login(&mut over_unix));
            let accounts = mysql_accounts(&mut over_tcp, &mut over_unix, &login.user);
            points.extend(mysql_account(&login.user, &tcp, &unix, &accounts));
        }
        Product::Postgres => {
            points.push(entered(&over_tcp, &over_unix));
            points.push(rules(address, tcp, server, client, &login.user));
        }
        Product::Redis | Product::Memcached => points.push(entered(&over_tcp, &over_unix)),
    }
    points
}

fn login(address: &Address) -> Login {
    let password = match &address.password {
        Some(password) => password.clone(),
        None => Secret::new(std::env::var("LOOPTAX_PASSWORD").unwrap_or_default()),
    };
    let usual = match address.product {
        Product::Postgres => "postgres",
        Product::Mysql => "root",
        Product::Redis | Product::Memcached => "",
    };
    Login {
        user: address.user.clone().unwrap_or_else(|| usual.to_owned()),
        password,
        database: address.database.clone(),
    }
}

type Opened = Result<Conversation, PathError>;

fn identity(opened: &mut Opened) -> Option<String> {
    let conversation = opened.as_mut().ok()?;
    let id = conversation.connection_id();
    conversation.census(&[id]).ok().map(|it| it.identity)
}

/// Why it could not be opened, with its causes.
fn refusal(opened: &Opened) -> Option<String> {
    let error = opened.as_ref().err()?;
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    Some(text)
}

/// Whether the login works over both; no more is to be known of Redis and memcached.
fn entered(tcp: &Opened, unix: &Opened) -> Point {
    let (outcome, what) = match (refusal(tcp), refusal(unix)) {
        (None, None) => (Outcome::Pass, "the login works over both".to_owned()),
        (None, Some(why)) => (
            Outcome::Fail,
            format!("the login works over TCP, but {why}"),
        ),
        (Some(why), None) => (
            Outcome::Note,
            format!("the login works over the socket, but {why}"),
        ),
        (Some(why), Some(_)) => (
            Outcome::Unknown,
            format!("the login fails over both: {why}"),
        ),
    };
    Point {
        topic: "login",
        outcome,
        what,
        how: "logged in over both, as ourselves".to_owned(),
        next: None,
    }
}

fn mysql_login(opened: &mut Opened) -> MysqlLogin {
    let refusal = refusal(opened);
    let Ok(conversation) = opened else {
        return MysqlLogin {
            refusal,
            ..MysqlLogin::default()
        };
    };
    let mut column = |sql: &str, idx: usize| -> Vec<String> {
        let rows = conversation.query(sql).unwrap_or_default();
        rows.into_iter()
            .filter_map(|row| row.into_iter().nth(idx)?)
            .collect()
    };
    let account = column("SELECT CURRENT_USER()", 0).into_iter().next();
    let mut grants: Vec<String> = column("SHOW GRANTS", 0)
        .iter()
        .map(|grant| without_hash(grant))
        .collect();
    grants.sort();
    let cipher = column("SHOW STATUS LIKE 'Ssl_cipher'", 1)
        .into_iter()
        .next();
    MysqlLogin {
        account: account.unwrap_or_default(),
        grants,
        refusal: None,
        has_tls: cipher.is_some_and(|cipher| !cipher.is_empty()),
    }
}

/// A grant without the password's hash, which MariaDB prints with it.
fn without_hash(grant: &str) -> String {
    let end = [" IDENTIFIED BY PASSWORD", " IDENTIFIED VIA"]
        .iter()
        .filter_map(|words| grant.find(words))
        .min();
    end.map_or(grant, |end| &grant[..end]).to_owned()
}

/// The rows of `mysql.user` for this user, as far as we may read them.
fn mysql_accounts(tcp: &mut Opened, unix: &mut Opened, user: &str) -> Vec<MysqlAccount> {
    let quoted = user.replace('\\', "\\\\").replace('\'', "''");
    let sql = format!("SELECT host, plugin, ssl_type FROM mysql.user WHERE user = '{quoted}'");
    let conversation = tcp.as_mut().ok().or(unix.as_mut().ok());
    let rows = conversation.and_then(|it| it.query(&sql).ok());
    let text = |cell: Option<&Option<String>>| cell.cloned().flatten().unwrap_or_default();
    rows.unwrap_or_default()
        .iter()
        .map(|row| MysqlAccount {
            host: text(row.first()),
            plugin: text(row.get(1)),
            ssl_type: text(row.get(2)),
        })
        .collect()
}

/// Which lines of `pg_hba.conf` decide, where the file can be read.
fn rules(
    address: &Address,
    tcp: SocketAddr,
    server: Option<&Server>,
    client: &Client,
    user: &str,
) -> Point {
    let Some((path, text)) = server.and_then(hba_file) else {
        return Point {
            topic: "pg_hba.conf",
            outcome: Outcome::Unknown,
            what: "the file was not found, or may not be read".to_owned(),
            how: "looked in the server's data folder and beside its configuration".to_owned(),
            next: Some("run it as root, or look at SELECT * FROM pg_hba_file_rules".to_owned()),
        };
    };
    let database = address.database.as_deref().unwrap_or(user);
    let how = format!("read {path}, as the file is now");
    postgres_rules(
        &Hba::parse(&text),
        database,
        user,
        tcp.ip(),
        &client.user,
        &how,
    )
}

/// The file beside the configuration that the server was started with, else in its data folder.
fn hba_file(server: &Server) -> Option<(String, String)> {
    const NAME: &str = "pg_hba.conf";
    let beside = server.process.arguments().into_iter().find_map(|argument| {
        let path = argument.strip_prefix("config_file=")?.to_owned();
        Some(Path::new(&path).with_file_name(NAME))
    });
    let outside = beside.map(|path| (path.display().to_string(), server.process.outside(&path)));
    let own = (
        format!("{NAME} of the data folder"),
        server.process.file("cwd").join(NAME),
    );
    outside
        .into_iter()
        .chain([own])
        .find_map(|(name, path)| Some((name, fs::read_to_string(path).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_loses_its_password_hash() {
        let grant = "GRANT USAGE ON *.* TO `app`@`%` IDENTIFIED BY PASSWORD '*2470C0C06DEE42FD'";
        assert_eq!(without_hash(grant), "GRANT USAGE ON *.* TO `app`@`%`");
        assert_eq!(
            without_hash("GRANT SELECT ON a.* TO b"),
            "GRANT SELECT ON a.* TO b"
        );
    }
}
