//! The accounts of MySQL and MariaDB: which account a client has over the socket, and which over TCP.
//!
//! A client on the socket is always `user@localhost`. A client over TCP is `user@127.0.0.1`, or `user@localhost` if the
//! server resolves names. If these are two rows of `mysql.user`, they may have different passwords, rights and plugins.

mod effective;
mod login;
mod statements;
mod undo;

use std::collections::{BTreeMap, BTreeSet};

use looptax_model::record::{Outcome, Point, PointCode, StepPlace, Topic};

use super::grants::{Rights, Server};
pub use effective::Effective;
use login::SocketRow;
pub use login::{MysqlAccount, MysqlLogin, Refusal};
pub use statements::with_password;
use statements::{ACCOUNT, granted, missing_rights, quoted, rows_of, twin};
pub use undo::{AccountState, AccountStatement, Undo};

const HOW: &str = "logged in over TCP and over the socket, and ran SELECT CURRENT_USER() and SHOW GRANTS";

/// Checks whether a client has the same account over both transports. If not, checks whether the two accounts have the
/// same rights; if `database` is given, only the rights on this database must be the same. Also checks TLS and cached
/// passwords.
pub fn mysql_account(
    (user, database): (&str, Option<&str>),
    tcp: &MysqlLogin,
    unix: &MysqlLogin,
    accounts: &[MysqlAccount],
) -> Vec<Point> {
    let (tcp, unix) = &by_host(tcp, unix);
    let mut points = vec![same_account(user, database, tcp, unix, accounts)];
    points.extend(demands_tls(user, (tcp, unix), accounts));
    points.extend(cold_cache((tcp, unix), accounts));
    points
}

/// Adds the rights of `user@%` to an account of the same user for a single host. The server chooses the rows of its
/// tables of rights by the client's host, so the rows of `user@%` apply to the account for the single host too.
fn by_host(tcp: &MysqlLogin, unix: &MysqlLogin) -> (MysqlLogin, MysqlLogin) {
    let extended = |login: &MysqlLogin, other: &MysqlLogin| {
        let is_named = |it: &MysqlLogin| it.account.split('@').next() == login.account.split('@').next();
        let is_wider = login.account != other.account && other.account.ends_with("@%");
        let mut login = login.clone();
        // If a role is in use, MySQL combines the rights of only one account.
        let is_by_account = login.server == Server::Mysql && login.has_active_role;
        if is_wider && is_named(other) && !is_by_account {
            login.rights = login.rights.with_other_host(&other.rights);
        }
        login
    };
    (extended(tcp, unix), extended(unix, tcp))
}

fn same_account(
    user: &str,
    database: Option<&str>,
    tcp: &MysqlLogin,
    unix: &MysqlLogin,
    accounts: &[MysqlAccount],
) -> Point {
    if let Some(why) = &tcp.database_refusal {
        let what = format!("over TCP the login works only if no database is given: {why}");
        return point(PointCode::AccountUnknown, Outcome::Unknown, what)
            .with_next("check user and database: the client cannot log in today");
    }
    match (&tcp.refusal, &unix.refusal) {
        (None, Some(why)) => refused(user, tcp, why, accounts),
        (Some(why), None) => point(
            PointCode::AccountSocketOnly,
            Outcome::Note,
            format!("`{}` logs in over the socket; over TCP the server answers: {}", unix.account, why.words),
        ),
        (Some(why), Some(other)) => {
            let is_asked = |it: &&Refusal| it.code == ASKS_SYSTEM_CODE;
            let what = format!(
                "the login fails over TCP and over the socket, so looptax cannot check the account: {}",
                why.words
            );
            let point = point(PointCode::AccountUnknown, Outcome::Unknown, what);
            match [why, other].into_iter().find(is_asked) {
                Some(_) => point.with_next(system_is_asked(user)),
                // The error is not from the server: looptax itself cannot continue the login.
                None if why.code.is_empty() && other.code.is_empty() => point.with_next(
                    "log in over the socket with the application's own driver, or with the server's own client: the \
                     driver or the client may support a login that looptax does not support",
                ),
                None => point.with_next(
                    "check user, password (LOOPTAX_PASSWORD) and database: the server's message shows which is wrong",
                ),
            }
        }
        (None, None) => same_rights(user, database, tcp, unix),
    }
}

/// Makes the point for a login that works over TCP, but not over the socket.
///
/// # Source
/// dev.mysql.com and mariadb.com, the servers' error numbers.
fn refused(user: &str, tcp: &MysqlLogin, why: &Refusal, accounts: &[MysqlAccount]) -> Point {
    let there = accounts.iter().any(|it| it.host == "localhost");
    let (row, words) = match &*why.code {
        "1045" | "1130" if there => (SocketRow::Present, CHANGED),
        "1045" if counts_for_localhost(&tcp.account) => return hidden_by_another(user, tcp, why, accounts),
        "1045" | "1130" if !accounts.is_empty() => (SocketRow::Absent, "there is no such account"),
        "1045" => (SocketRow::Unknown, MADE_OR_CHANGED),
        "1130" => (SocketRow::Absent, "there is no such account"),
        ASKS_SYSTEM_CODE if there || tcp.server == Server::Mysql => (SocketRow::AsksSystem, ASKS_SYSTEM),
        ASKS_SYSTEM_CODE if !accounts.is_empty() => (SocketRow::Absent, "there is no such account"),
        ASKS_SYSTEM_CODE => (SocketRow::MayAskSystem, MADE_OR_ASKS_SYSTEM),
        "3118" | "4151" => (SocketRow::Locked, "the account is locked; ask why before you unlock it"),
        "1820" | "1862" => (SocketRow::Expired, CHANGED),
        // Another error, such as too many connections or a limit: the login may succeed at another time.
        _ => {
            let what = format!("over the socket the server answers: {}", why.words);
            let next = "read the server's message, and check again";
            return point(PointCode::AccountUnknown, Outcome::Unknown, what).with_next(next);
        }
    };
    let what = format!("`{}` logs in over TCP, but over the socket the server answers: {}", tcp.account, why.words);
    let account = quoted(user, "localhost");
    let next = format!("the socket's account is {account}: {words}. {RUN}");
    point(PointCode::AccountMissing, Outcome::Fail, what)
        .with_next(next)
        .with_steps(StepPlace::Sql, twin(user, tcp, row))
}

/// The error number with which the server denies access if no password is accepted for the account.
///
/// # Source
/// `ER_ACCESS_DENIED_NO_PASSWORD_ERROR` of MySQL and MariaDB.
pub const ASKS_SYSTEM_CODE: &str = "1698";

/// Describes the next step if the server checks the user of the operating system.
pub fn system_is_asked(user: &str) -> String {
    format!(
        "for `{user}` the server checks the system user instead of a password (unix_socket, auth_socket): only the \
         system user with the same name can log in, and only over the socket; the application needs a separate account \
         with a password"
    )
}

/// Whether the host pattern of an account also matches `localhost`, which is the host of a client on the socket.
fn counts_for_localhost(account: &str) -> bool {
    let host = account.rsplit_once('@').map_or("", |it| it.1);
    host.strip_suffix('%').is_some_and(|start| "localhost".starts_with(start))
}

/// Explains why the server refuses a login over the socket, although the account may log in from any host. The server
/// uses the row with the most specific host, and the row of the anonymous user precedes a row for `%`.
///
/// # Source
/// dev.mysql.com, "Access Control, Stage 1"; bugs.mysql.com 31061.
fn hidden_by_another(user: &str, tcp: &MysqlLogin, why: &Refusal, accounts: &[MysqlAccount]) -> Point {
    let account = quoted(user, "localhost");
    // If all rows of this user name are known, none of these rows is the cause.
    let (cause, row) = if accounts.is_empty() {
        (
            format!("the anonymous account ''@'localhost', or {account} with another password, takes precedence"),
            SocketRow::Unknown,
        )
    } else {
        ("the anonymous account ''@'localhost' takes precedence".to_owned(), SocketRow::Absent)
    };
    let what = format!(
        "`{}` logs in over TCP and would also match localhost, but {cause}; over the socket the server answers: {}",
        tcp.account, why.words
    );
    let next = format!(
        "drop the anonymous account (DROP USER ''@'localhost') if no program needs it, or create {account}. {RUN}"
    );
    point(PointCode::AccountMissing, Outcome::Fail, what)
        .with_next(next)
        .with_steps(StepPlace::Sql, twin(user, tcp, row))
}

const RUN: &str = "Run as an administrator, with the client's password for …";
const CHANGED: &str = "the account has another password or plugin, or demands TLS; after the change, a program that \
                       uses this account today needs the client's password";
const MADE_OR_CHANGED: &str = "the account does not exist, has another password or plugin, or demands TLS; if CREATE \
                               warns that the account exists, a program that uses this account today needs the \
                               client's password after the ALTER";
/// Words for the next step if the account may not exist: for a missing account, MariaDB answers a login as it would for
/// an existing account, and the missing account's name decides which account MariaDB imitates.
const MADE_OR_ASKS_SYSTEM: &str = "the account does not exist (MariaDB may then give the same answer), or the server \
                                   asks the operating system which user logs in; if CREATE warns that the account \
                                   exists, the ALTER makes the server accept a password as well; if CREATE does not \
                                   warn, leave out the ALTER";
const ASKS_SYSTEM: &str = "the server asks the operating system which user logs in, instead of a password";

fn point(code: PointCode, outcome: Outcome, what: String) -> Point {
    Point::new(Topic::Account, code, outcome, what, HOW)
}

/// Compares the rights of two logins that both succeed.
fn same_rights(user: &str, database: Option<&str>, tcp: &MysqlLogin, unix: &MysqlLogin) -> Point {
    let is_one = tcp.account == unix.account;
    let who = if is_one {
        format!("the account is `{}` over TCP and over the socket", unix.account)
    } else {
        format!("over the socket the account is `{}`, over TCP `{}`", unix.account, tcp.account)
    };
    let missing = missing_rights(tcp, unix, database, true);
    if unix.database_refusal.is_some() {
        let point = lacking(user, &who, tcp, unix, &missing);
        return match database.filter(|_| point.steps.is_empty()) {
            Some(database) => point.with_next(HIDDEN_DATABASE).with_steps(StepPlace::Sql, [rows_of(user, database)]),
            None => point,
        };
    }
    // If an account may read everything, the server's report shows nothing about rows.
    let is_told = !tcp.rights.may_read_all() && !unix.rights.may_read_all();
    let told = tcp.effective.as_ref().zip(unix.effective.as_ref());
    let told = told.filter(|_| is_told);
    let lost = told.map_or_else(BTreeMap::new, |(over_tcp, there)| over_tcp.beyond(there));
    if !lost.is_empty() && missing.is_empty() {
        return hidden_rows(&who, tcp, unix, &lost);
    }
    if !missing.is_empty() {
        let has_hidden = told.is_some_and(|(over_tcp, there)| {
            over_tcp.differs_from(&tcp.rights, there) || there.differs_from(&unix.rights, over_tcp)
        });
        let point = lacking(user, &who, tcp, unix, &missing);
        return if has_hidden && lost.is_empty() { doubtful(point) } else { point };
    }
    let note = |code, words: String| point(code, Outcome::Note, format!("{who}: {words}"));
    let of_it = |grants: Vec<String>| grants.join("; ").replace(ACCOUNT, "it");
    let more = missing_rights(unix, tcp, None, true);
    let less_elsewhere = missing_rights(tcp, unix, database, false);
    if unix.asks_system && !tcp.asks_system {
        let words = "two accounts, and for the socket's account the server checks the system user instead of a \
            password";
        note(PointCode::AccountGetsMore, words.to_owned())
    } else if !more.is_empty() {
        let words =
            format!("over the socket the account has all the rights that it has over TCP, and more: {}", of_it(more));
        note(PointCode::AccountGetsMore, words)
    } else if !less_elsewhere.is_empty() {
        let database = database.unwrap_or_default();
        let words = format!(
            "over the socket the account has all the rights on `{database}` that it has over TCP, but fewer \
            elsewhere: {}",
            of_it(less_elsewhere)
        );
        note(PointCode::AccountDiffers, words)
    } else if is_one {
        let what = format!("`{}` over TCP and over the socket, with the same rights", unix.account);
        point(PointCode::AccountSame, Outcome::Pass, what)
    } else {
        let words = "two accounts with the same rights; change a password in both accounts";
        note(PointCode::AccountDiffers, words.to_owned())
    }
}

/// Makes the point for this case: in the grants that the server shows, no right is missing over the socket, but the
/// server's report on columns shows that rights are missing.
fn hidden_rows(
    who: &str,
    tcp: &MysqlLogin,
    unix: &MysqlLogin,
    lost: &BTreeMap<(String, String), BTreeSet<String>>,
) -> Point {
    let list = |rights: &BTreeSet<String>| rights.iter().cloned().collect::<Vec<_>>().join(", ");
    let tables = lost.iter().take(MOST_TABLES);
    let shown = tables.map(|((schema, table), rights)| format!("{} on {schema}.{table}", list(rights)));
    let what = format!(
        "{who}: over the socket the account lacks {}, because rows of another account apply to this login ({}@'%' or \
         the anonymous account)",
        shown.collect::<Vec<_>>().join("; "),
        tcp.account.split('@').next().unwrap_or_default()
    );
    let mut steps: BTreeSet<String> = BTreeSet::new();
    for ((schema, table), rights) in lost {
        let of_schema = tcp.rights.beyond(&Rights::default(), Some(schema), &[]);
        let here = of_schema.into_iter().filter(|it| it.is_in_database);
        steps.extend(here.flat_map(|it| it.grants));
        let name = |name: &str| format!("`{}`", name.replace('`', "``"));
        steps.insert(format!("GRANT {} ON {}.{} TO {ACCOUNT}", list(rights), name(schema), name(table)));
    }
    let steps: Vec<String> = steps.into_iter().collect();
    let (user, host) = unix.account.rsplit_once('@').unwrap_or_default();
    point(PointCode::RightsMissing, Outcome::Fail, what)
        .with_next("run this as an administrator, or inspect SELECT user, host, db FROM mysql.db")
        .with_steps(StepPlace::Sql, granted(&steps, &quoted(user, host)))
}

/// The next step if the server refuses a database that the grants, as shown, allow.
const HIDDEN_DATABASE: &str = "the account's own grants are complete, so a row of another account in mysql.db hides \
                               the database (an account for any host, or the anonymous account): as an administrator, \
                               look for a row without rights that has the host localhost, or whose pattern matches \
                               this database more exactly";

/// Maximum number of tables that are listed, because there may be thousands.
const MOST_TABLES: usize = 3;

/// Makes a point less certain. Rights are missing in the grants that the server shows, but the server gives more rights
/// than it shows.
fn doubtful(point: Point) -> Point {
    Point {
        outcome: Outcome::Unknown,
        what: format!(
            "{}; looptax concludes this from the grants that the server shows, but rows of other accounts give further \
             rights",
            point.what
        ),
        ..point
    }
}

/// Makes the point for an account that has fewer rights over the socket.
fn lacking(user: &str, who: &str, tcp: &MysqlLogin, unix: &MysqlLogin, missing: &[String]) -> Point {
    let refusal = unix.database_refusal.as_ref();
    let refusal = refusal.map_or_else(String::new, |why| format!("; {why}"));
    let what = if tcp.account == unix.account {
        format!("`{}` has different rights over the socket{refusal}", unix.account)
    } else {
        format!("{who}: two accounts, and the socket's account lacks rights{refusal}")
    };
    let hidden = { missing.iter() }.find_map(|it| Some((it, unix.rights.hides(it)?)));
    if let Some((statement, row)) = hidden {
        return point(PointCode::RightsHidden, Outcome::Fail, what).with_next(format!(
            "the account lacks `{}`, but this grant would have no effect: while a role is in use, MySQL applies only \
             one matching pattern, the alphabetically first, which is `{row}`; as an administrator, either grant the \
             missing rights on `{row}` (this also applies to everything else that matches `{row}`), or revoke the \
             rights on `{row}`",
            statement.replace(ACCOUNT, &unix.account)
        ));
    }
    let point = point(PointCode::RightsMissing, Outcome::Fail, what);
    let (name, host) = unix.account.rsplit_once('@').unwrap_or_default();
    if name.is_empty() && !user.is_empty() {
        let next = format!(
            "on the socket the anonymous account ''@'{host}' takes precedence over your account; an account for \
             localhost with your user name takes precedence over the anonymous account. {RUN}"
        );
        // The new account takes precedence over 'user'@'%', because its host is more specific.
        let steps = twin(user, tcp, SocketRow::Unknown);
        return point.with_next(next).with_steps(StepPlace::Sql, steps);
    }
    let steps = granted(missing, &quoted(name, host));
    point.with_next("run as an administrator").with_steps(StepPlace::Sql, steps)
}

/// Makes the point for `REQUIRE SSL`, which applies on the socket too. The fact comes from a login over the socket, or
/// else from `mysql.user`.
///
/// # Source
/// Seen in MariaDB 10.11; dev.mysql.com, CREATE USER, "SSL/TLS Options".
fn demands_tls(user: &str, (tcp, unix): (&MysqlLogin, &MysqlLogin), accounts: &[MysqlAccount]) -> Option<Point> {
    let at = |host: &str| accounts.iter().find(|it| it.host == host);
    let of_login = unix.account.rsplit_once('@').filter(|_| unix.needs_tls);
    let (name, host, how) = if let Some((name, host)) = of_login {
        let how = "the server refused the login over the socket without TLS, and accepted it with TLS";
        (name, host, how)
    } else {
        let account = at("localhost").or_else(|| at("%"));
        let account = account.filter(|it| !it.ssl_type.is_empty())?;
        (user, &*account.host, "read mysql.user")
    };
    let kind = at(host).map_or("SSL", |it| match &*it.ssl_type {
        "" | "ANY" => "SSL",
        other => other,
    });
    let whom = if host == "localhost" {
        "every program that uses this account over the socket"
    } else {
        "every program that uses this account, over TCP too"
    };
    let account = quoted(name, host);
    // The driver uses TLS over TCP. This does not show whether the driver can use TLS on a socket.
    let (outcome, driver) = if tcp.needs_tls && unix.needs_tls {
        (Outcome::Unknown, "; the driver uses TLS over TCP, but not every driver uses TLS on a socket")
    } else {
        (Outcome::Fail, "")
    };
    let what = format!("{account} demands TLS ({kind}), on the socket too{driver}");
    let next = format!(
        "allow this account's logins without TLS (this applies to {whom}), or use a driver that uses TLS on the socket \
         too (the cost of TLS then remains); run as an administrator"
    );
    let step = format!("ALTER USER {account} REQUIRE NONE;");
    let point = Point::new(Topic::Tls, PointCode::AccountDemandsTls, outcome, what, how);
    Some(point.with_next(next).with_steps(StepPlace::Sql, [step]))
}

/// Makes the point for an account with a plugin that caches passwords. Some drivers do not send the password as clear
/// text over a socket. The login with such a driver fails while the server has not cached the password.
fn cold_cache((tcp, unix): (&MysqlLogin, &MysqlLogin), accounts: &[MysqlAccount]) -> Option<Point> {
    const PLUGIN: &str = "caching_sha2_password";
    let row = accounts.iter().find(|it| it.plugin == PLUGIN).map(|it| (it.host.as_str(), "read mysql.user"));
    // A client that may not read `mysql.user` still knows the plugin of its own account.
    let own = [unix, tcp].into_iter().find(|it| it.plugin == PLUGIN);
    let own = own.and_then(|it| Some((it.account.rsplit_once('@')?.1, "ran SHOW CREATE USER")));
    row.or(own).map(|(host, how)| {
        Point::new(
            Topic::Plugin,
            PointCode::PasswordCacheCold,
            Outcome::Unknown,
            format!(
                "the account at '{host}' uses caching_sha2_password: while the server's password cache is cold, some \
                 drivers fail over a socket without TLS (Connector/J with sslMode=DISABLED, MariaDB Connector/J, \
                 MySqlConnector with SslMode=None, Rust sqlx, Node mariadb before autumn 2025); the login of this \
                 check has warmed the cache; over TCP without TLS, a login with a cold cache needs the server's public \
                 key (allowPublicKeyRetrieval)"
            ),
            how,
        )
        .with_next(
            "restart a server that is not in use, and try the driver right afterwards: the restart empties the \
             server's password cache (FLUSH PRIVILEGES does not empty the cache of MySQL 9.7)",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(grants: &[&str]) -> Rights {
        let lines: Vec<String> = grants.iter().map(|it| (*it).to_owned()).collect();
        Rights::read(&lines, Server::Mariadb, false)
    }

    fn login(account: &str, grants: &[&str]) -> MysqlLogin {
        MysqlLogin { account: account.to_owned(), rights: rights(grants), ..MysqlLogin::default() }
    }

    #[test]
    fn an_answer_that_mariadb_gives_for_missing_accounts_too_is_certain_only_by_its_list() {
        let why = Refusal { words: "Access denied".to_owned(), code: ASKS_SYSTEM_CODE.to_owned() };
        let unix = MysqlLogin { refusal: Some(why), ..MysqlLogin::default() };
        let at = |host: &str| MysqlAccount { host: host.to_owned(), ..MysqlAccount::default() };
        let steps = |server, accounts: &[MysqlAccount]| {
            let tcp = MysqlLogin { server, ..login("app@127.0.0.1", &[]) };
            let steps = mysql_account(("app", None), &tcp, &unix, accounts).remove(0).steps;
            steps.into_iter().map(|it| it.text).collect::<Vec<_>>().join(" ")
        };
        let create = "CREATE USER 'app'@'localhost' IDENTIFIED";
        let maybe = "CREATE USER IF NOT EXISTS 'app'@'localhost' IDENTIFIED";
        let alter = "ALTER USER 'app'@'localhost' IDENTIFIED VIA unix_socket OR mysql_native_password";
        let unknown = steps(Server::Mariadb, &[]);
        assert!(unknown.contains(maybe) && unknown.contains(alter), "{unknown}");
        let absent = steps(Server::Mariadb, &[at("127.0.0.1")]);
        assert!(absent.contains(create) && !absent.contains("ALTER"), "{absent}");
        let present = steps(Server::Mariadb, &[at("127.0.0.1"), at("localhost")]);
        assert!(present.contains(alter) && !present.contains("CREATE"), "{present}");
        let of_mysql = steps(Server::Mysql, &[]);
        assert!(of_mysql.contains("ALTER") && !of_mysql.contains("CREATE"), "{of_mysql}");
    }

    fn refused() -> MysqlLogin {
        MysqlLogin {
            refusal: Some(Refusal {
                words: "Access denied for user 'app'@'localhost'".to_owned(),
                code: "1045".to_owned(),
            }),
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
        let grants = ["GRANT USAGE ON *.* TO `app`@`127.0.0.1`", "GRANT SELECT ON `shop`.* TO `app`@`127.0.0.1`"];
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
        check(&refused(), &login("app@localhost", &[]), Outcome::Note, "over TCP the server answers");
        check(&refused(), &refused(), Outcome::Unknown, "fails over TCP and over the socket");
    }

    #[test]
    fn an_account_for_any_host_that_the_socket_refuses_is_hidden_by_a_closer_one() {
        let tcp = login("app@%", &["GRANT SELECT ON `shop`.* TO `app`@`%`"]);
        let words = "would also match localhost, but the anonymous account ''@'localhost', or 'app'@'localhost' with \
                     another password, takes precedence";
        check(&tcp, &refused(), Outcome::Fail, words);
        check(&tcp, &refused(), Outcome::Fail, "DROP USER ''@'localhost'");
        check(&tcp, &refused(), Outcome::Fail, "CREATE USER IF NOT EXISTS 'app'@'localhost'");
        let row = MysqlAccount { host: "%".to_owned(), ..MysqlAccount::default() };
        let point = mysql_account(("app", None), &tcp, &refused(), &[row]).remove(0);
        assert!(point.what.contains("but the anonymous account ''@'localhost' takes precedence"), "{point:?}");
        // An account for another network does not apply to clients on the socket.
        let other = login("app@10.%", &["GRANT SELECT ON `shop`.* TO `app`@`10.%`"]);
        let point = mysql_account(("app", None), &other, &refused(), &[]).remove(0);
        assert!(!point.what.contains("anonymous"), "{point:?}");
    }

    #[test]
    fn where_the_system_is_asked_no_password_is_looked_for() {
        let asked = || MysqlLogin {
            refusal: Some(Refusal { words: "Access denied".to_owned(), code: ASKS_SYSTEM_CODE.to_owned() }),
            ..MysqlLogin::default()
        };
        check(&asked(), &asked(), Outcome::Unknown, "only the system user with the same name can log in");
        check(&refused(), &refused(), Outcome::Unknown, "check user, password");
    }

    #[test]
    fn two_accounts_and_other_rights_are_told_with_the_grants_that_are_missing() {
        let tcp = login("app@127.0.0.1", &["GRANT SELECT ON `shop`.* TO `app`@`127.0.0.1`"]);
        let unix = login("app@localhost", &["GRANT USAGE ON *.* TO `app`@`localhost`"]);
        check(&tcp, &unix, Outcome::Fail, "GRANT SELECT ON `shop`.* TO 'app'@'localhost';");
        let enough = login(
            "app@localhost",
            &["GRANT SELECT ON `shop`.* TO `app`@`localhost`", "GRANT INSERT ON `shop`.* TO `app`@`localhost`"],
        );
        check(&tcp, &enough, Outcome::Note, "and more: GRANT INSERT ON `shop`.* TO it");
        let twin = login("app@localhost", &["GRANT SELECT ON `shop`.* TO `app`@`localhost`"]);
        check(&tcp, &twin, Outcome::Note, "with the same rights");
        let asks_system = MysqlLogin { asks_system: true, ..twin };
        check(&tcp, &asks_system, Outcome::Note, "instead of a password");
        let nobody = login("@localhost", &["GRANT USAGE ON *.* TO ``@`localhost`"]);
        check(&tcp, &nobody, Outcome::Fail, "CREATE USER IF NOT EXISTS 'app'@'localhost'");
        // A right that every account has is not a difference.
        let public = login("app@127.0.0.1", &["GRANT SELECT ON `test`.* TO PUBLIC"]);
        check(&public, &unix, Outcome::Note, "two accounts");
        let same = login("app@%", &["GRANT SELECT ON `shop`.* TO `app`@`%`"]);
        check(&same, &same, Outcome::Pass, "the same rights");
    }

    #[test]
    fn r20_a_grant_that_another_row_hides_is_no_advice() {
        let login = |host: &str, pattern: &str, right: &str| {
            let line = format!("GRANT {right} ON `{pattern}`.* TO `app`@`{host}`");
            MysqlLogin {
                account: format!("app@{host}"),
                rights: Rights::read(&[line], Server::Mysql, false).with_role_in_use("9.7.4"),
                has_active_role: true,
                ..MysqlLogin::default()
            }
        };
        let tcp = login("127.0.0.1", "sh\\_p", "SELECT");
        let unix = login("localhost", "%", "INSERT");
        check(&tcp, &unix, Outcome::Fail, "which is `%`");
        let point = mysql_account(("app", None), &tcp, &unix, &[]).remove(0);
        assert_eq!((point.code, point.steps.len()), (PointCode::RightsHidden, 0));
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
            mysql_account(("app", None), &same, &same, accounts).iter().map(|it| it.topic).collect()
        };
        assert_eq!(topics(&[account("mysql_native_password", "")]), [Topic::Account]);
        assert_eq!(topics(&[account("mysql_native_password", "ANY")]), [Topic::Account, Topic::Tls]);
        assert_eq!(topics(&[account("caching_sha2_password", "")]), [Topic::Account, Topic::Plugin]);
    }
}
