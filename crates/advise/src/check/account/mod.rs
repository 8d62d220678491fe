//! MySQL's and MariaDB's accounts: who one is over the socket, and who over TCP.
//!
//! A client of the socket is always `user@localhost`; one of TCP is `user@127.0.0.1`, or
//! `user@localhost` where the server resolves names. Another row of `mysql.user` means another
//! password, other rights, another plugin.

use looptax_record::{Outcome, Point, PointCode, Topic};

use super::grants::Rights;

/// A login over one transport, as the server told of it.
#[derive(Debug, Clone, Default)]
pub struct MysqlLogin {
    /// `CURRENT_USER()`: the account that was chosen; empty when the login failed.
    pub account: String,
    /// By `SHOW GRANTS`.
    pub rights: Rights,
    /// Whether the server asks the operating system who somebody is, in place of a password.
    pub asks_system: bool,
    /// The server's refusal.
    pub refusal: Option<String>,
}

/// An account as `mysql.user` has it, where we may read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MysqlAccount {
    /// Its host part.
    pub host: String,
    /// Its plugin.
    pub plugin: String,
    /// `ANY`, `X509`, `SPECIFIED`; empty where TLS is not demanded.
    pub ssl_type: String,
}

const HOW: &str = "logged in over both, and asked CURRENT_USER() and SHOW GRANTS";

/// Whether the account is the same over both transports, and may do the same on the database where one is named.
pub fn mysql_account(
    (user, database): (&str, Option<&str>),
    tcp: &MysqlLogin,
    unix: &MysqlLogin,
    accounts: &[MysqlAccount],
) -> Vec<Point> {
    let mut points = vec![same_account(user, database, tcp, unix)];
    points.extend(demands_tls(user, accounts));
    points.extend(cold_cache(accounts));
    points
}

fn same_account(user: &str, database: Option<&str>, tcp: &MysqlLogin, unix: &MysqlLogin) -> Point {
    match (&tcp.refusal, &unix.refusal) {
        (None, Some(why)) => point(
            PointCode::AccountMissing,
            Outcome::Fail,
            format!(
                "`{}` logs in over TCP, but over the socket: {why}",
                tcp.account
            ),
        )
        .with_next(twin_at_localhost(user, tcp)),
        (Some(why), None) => point(
            PointCode::AccountSocketOnly,
            Outcome::Note,
            format!(
                "`{}` logs in over the socket; over TCP the server says: {why}",
                unix.account
            ),
        ),
        (Some(why), Some(_)) => point(
            PointCode::AccountUnknown,
            Outcome::Unknown,
            format!("the login fails over both, so nothing is known: {why}"),
        )
        .with_next(
            "look at user, password (LOOPTAX_PASSWORD) and database: the server's words say which",
        ),
        (None, None) => same_rights(user, database, tcp, unix),
    }
}

fn point(code: PointCode, outcome: Outcome, what: String) -> Point {
    Point::new(Topic::Account, code, outcome, what, HOW)
}

/// Both logins work: what they may do.
fn same_rights(user: &str, database: Option<&str>, tcp: &MysqlLogin, unix: &MysqlLogin) -> Point {
    let is_one = tcp.account == unix.account;
    let who = if is_one {
        format!("one is `{}` over both", unix.account)
    } else {
        format!(
            "over the socket one is `{}`, over TCP `{}`",
            unix.account, tcp.account
        )
    };
    let missing = missing_rights(tcp, unix, database, true);
    if !missing.is_empty() {
        let what = if is_one {
            format!("`{}` has other rights over the socket", unix.account)
        } else {
            format!("{who}: two accounts, and the first lacks rights")
        };
        return point(PointCode::RightsMissing, Outcome::Fail, what)
            .with_next(lacking(user, tcp, unix, &missing));
    }
    let note = |code, words: String| point(code, Outcome::Note, format!("{who}: {words}"));
    let of_it = |grants: Vec<String>| grants.join("; ").replace(ACCOUNT, "it");
    let more = missing_rights(unix, tcp, None, true);
    let less_elsewhere = missing_rights(tcp, unix, database, false);
    if unix.asks_system && !tcp.asks_system {
        let words =
            "two accounts, and the first is asked for the system's user in place of a password";
        note(PointCode::AccountGetsMore, words.to_owned())
    } else if !more.is_empty() {
        let words = format!(
            "the first may do all that the second may, and more: {}",
            of_it(more)
        );
        note(PointCode::AccountGetsMore, words)
    } else if !less_elsewhere.is_empty() {
        let database = database.unwrap_or_default();
        let words = format!(
            "on `{database}` the first may do all that the second may, elsewhere less: {}",
            of_it(less_elsewhere)
        );
        note(PointCode::AccountDiffers, words)
    } else if is_one {
        let what = format!("`{}` over both, with the same rights", unix.account);
        point(PointCode::AccountSame, Outcome::Pass, what)
    } else {
        let words = "two accounts with the same rights; a password is changed in both";
        note(PointCode::AccountDiffers, words.to_owned())
    }
}

/// The statements that make `user@localhost` like the account of TCP; its password is not ours to print.
fn twin_at_localhost(user: &str, tcp: &MysqlLogin) -> String {
    let quoted = user.replace('\'', "''");
    let account = format!("'{quoted}'@'localhost'");
    let mut lines = vec![
        "run on the server as an administrator, with the password that the client has:".to_owned(),
        format!("CREATE USER IF NOT EXISTS {account} IDENTIFIED BY '…';"),
    ];
    let grants = missing_rights(tcp, &MysqlLogin::default(), None, true);
    lines.extend(grants.iter().map(|it| it.replace(ACCOUNT, &account) + ";"));
    lines.join("\n")
}

/// Stands for the account in a grant.
const ACCOUNT: &str = "ACCOUNT";

/// What the first login may and the second may not, as statements: on the database, or elsewhere.
fn missing_rights(
    has: &MysqlLogin,
    lacks: &MysqlLogin,
    database: Option<&str>,
    is_in_database: bool,
) -> Vec<String> {
    let lacking = has.rights.beyond(&lacks.rights, database);
    let asked = lacking
        .into_iter()
        .filter(|it| it.is_in_database == is_in_database);
    asked.flat_map(|it| it.grants).collect()
}

/// The statements that give the account of the socket what it lacks.
fn lacking(user: &str, tcp: &MysqlLogin, unix: &MysqlLogin, missing: &[String]) -> String {
    let (name, host) = unix.account.rsplit_once('@').unwrap_or_default();
    if name.is_empty() && !user.is_empty() {
        // It wins over 'user'@'%', since its host is the more exact one.
        return format!(
            "the anonymous account ''@'{host}' wins over yours on the socket: DROP USER ''@'{host}', or\n{}",
            twin_at_localhost(user, tcp)
        );
    }
    let quoted = |text: &str| text.replace('\'', "''");
    let account = format!("'{}'@'{}'", quoted(name), quoted(host));
    let lines = missing.iter().map(|it| it.replace(ACCOUNT, &account) + ";");
    let all: Vec<String> = ["run on the server as an administrator:".to_owned()]
        .into_iter()
        .chain(lines)
        .collect();
    all.join("\n")
}

/// `REQUIRE SSL` counts on the socket too.
fn demands_tls(user: &str, accounts: &[MysqlAccount]) -> Option<Point> {
    let at = |host: &str| accounts.iter().find(|it| it.host == host);
    let account = at("localhost").or_else(|| at("%"))?;
    (!account.ssl_type.is_empty()).then(|| {
        Point::new(
            Topic::Tls,
            PointCode::AccountDemandsTls,
            Outcome::Fail,
            format!(
                "'{user}'@'{}' demands TLS ({}), on the socket too",
                account.host, account.ssl_type
            ),
            "read mysql.user",
        )
        .with_next(format!(
            "ALTER USER '{user}'@'{}' REQUIRE NONE; or go on with TLS over the socket",
            account.host
        ))
    })
}

/// Drivers that send no clear password over a socket fail when the server has not cached it.
fn cold_cache(accounts: &[MysqlAccount]) -> Option<Point> {
    let is_used = |it: &&MysqlAccount| it.plugin == "caching_sha2_password";
    accounts.iter().find(is_used).map(|account| {
        Point::new(
            Topic::Plugin,
            PointCode::PasswordCacheCold,
            Outcome::Unknown,
            format!(
                "the account at '{}' uses caching_sha2_password: with a cold cache some drivers fail over a socket without TLS (Connector/J with sslMode=DISABLED, MariaDB Connector/J, MySqlConnector with SslMode=None, Rust sqlx, Node mariadb before autumn 2025); this check's own login has warmed the cache",
                account.host
            ),
            "read mysql.user",
        )
        .with_next("try the driver right after a restart of a server that is not in use (FLUSH PRIVILEGES does not empty the cache of MySQL 9.7)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::grants::Server;

    fn rights(grants: &[&str]) -> Rights {
        let lines: Vec<String> = grants.iter().map(|it| (*it).to_owned()).collect();
        Rights::read(&lines, Server::Mariadb)
    }

    fn login(account: &str, grants: &[&str]) -> MysqlLogin {
        MysqlLogin {
            account: account.to_owned(),
            rights: rights(grants),
            ..MysqlLogin::default()
        }
    }

    fn refused() -> MysqlLogin {
        MysqlLogin {
            refusal: Some("Access denied for user 'app'@'localhost'".to_owned()),
            ..MysqlLogin::default()
        }
    }

    #[track_caller]
    fn check(tcp: &MysqlLogin, unix: &MysqlLogin, outcome: Outcome, words: &str) {
        let point = mysql_account(("app", None), tcp, unix, &[]).remove(0);
        assert_eq!(point.outcome, outcome, "{point:?}");
        assert!(format!("{point:?}").contains(words), "{words} in {point:?}");
    }

    #[test]
    fn an_account_for_one_transport_alone_is_told_with_how_to_make_the_other() {
        let grants = [
            "GRANT USAGE ON *.* TO `app`@`127.0.0.1`",
            "GRANT SELECT ON `shop`.* TO `app`@`127.0.0.1`",
        ];
        check(
            &login("app@127.0.0.1", &grants),
            &refused(),
            Outcome::Fail,
            "CREATE USER IF NOT EXISTS 'app'@'localhost'",
        );
        check(
            &login("app@127.0.0.1", &grants),
            &refused(),
            Outcome::Fail,
            "GRANT SELECT ON `shop`.* TO 'app'@'localhost';",
        );
        check(
            &refused(),
            &login("app@localhost", &[]),
            Outcome::Note,
            "over TCP the server says",
        );
        check(&refused(), &refused(), Outcome::Unknown, "fails over both");
    }

    #[test]
    fn two_accounts_and_other_rights_are_told_with_the_grants_that_are_missing() {
        let tcp = login(
            "app@127.0.0.1",
            &["GRANT SELECT ON `shop`.* TO `app`@`127.0.0.1`"],
        );
        let unix = login(
            "app@localhost",
            &["GRANT USAGE ON *.* TO `app`@`localhost`"],
        );
        check(
            &tcp,
            &unix,
            Outcome::Fail,
            "GRANT SELECT ON `shop`.* TO 'app'@'localhost';",
        );
        let enough = login(
            "app@localhost",
            &[
                "GRANT SELECT ON `shop`.* TO `app`@`localhost`",
                "GRANT INSERT ON `shop`.* TO `app`@`localhost`",
            ],
        );
        check(
            &tcp,
            &enough,
            Outcome::Note,
            "and more: GRANT INSERT ON `shop`.* TO it",
        );
        let twin = login(
            "app@localhost",
            &["GRANT SELECT ON `shop`.* TO `app`@`localhost`"],
        );
        check(&tcp, &twin, Outcome::Note, "with the same rights");
        let asks_system = MysqlLogin {
            asks_system: true,
            ..twin
        };
        check(&tcp, &asks_system, Outcome::Note, "in place of a password");
        let nobody = login("@localhost", &["GRANT USAGE ON *.* TO ``@`localhost`"]);
        check(&tcp, &nobody, Outcome::Fail, "DROP USER ''@'localhost'");
        // What everybody may is no difference.
        let public = login("app@127.0.0.1", &["GRANT SELECT ON `test`.* TO PUBLIC"]);
        check(&public, &unix, Outcome::Note, "two accounts");
        let same = login("app@%", &["GRANT SELECT ON `shop`.* TO `app`@`%`"]);
        check(&same, &same, Outcome::Pass, "the same rights");
    }

    #[test]
    fn tls_and_the_cold_cache_are_told_where_the_account_says_so() {
        let account = |plugin: &str, ssl_type: &str| MysqlAccount {
            host: "localhost".to_owned(),
            plugin: plugin.to_owned(),
            ssl_type: ssl_type.to_owned(),
        };
        let same = login("app@localhost", &[]);
        let topics = |accounts: &[MysqlAccount]| -> Vec<Topic> {
            mysql_account(("app", None), &same, &same, accounts)
                .iter()
                .map(|it| it.topic)
                .collect()
        };
        assert_eq!(
            topics(&[account("mysql_native_password", "")]),
            [Topic::Account]
        );
        assert_eq!(
            topics(&[account("mysql_native_password", "ANY")]),
            [Topic::Account, Topic::Tls]
        );
        assert_eq!(
            topics(&[account("caching_sha2_password", "")]),
            [Topic::Account, Topic::Plugin]
        );
    }
}
