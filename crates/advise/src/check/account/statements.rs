//! The statements that make the account for the socket like the account for TCP. looptax must not print the password,
//! so the statements contain `…` instead of the password.

use super::login::{MysqlLogin, SocketRow};
use crate::check::grants::Server;

/// The text that stands for the account in a grant.
pub(super) const ACCOUNT: &str = "ACCOUNT";

/// The account as written in statements: `'app'@'localhost'`.
pub(super) fn quoted(user: &str, host: &str) -> String {
    format!("{}@{}", literal(user), literal(host))
}

/// Returns a string literal for both servers with their default settings. With these settings, a backslash begins an
/// escape.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// Returns a statement with the client's password in place of `…`, or unchanged if it needs no password.
pub fn with_password(statement: &str, password: &str) -> String {
    let before = ["BY '", "PASSWORD('"];
    let at = before.iter().find_map(|before| {
        let at = statement.rfind(&format!("{before}…'"))?;
        Some(at + before.len() - 1)
    });
    let Some(at) = at else {
        return statement.to_owned();
    };
    let behind = &statement[at + "'…'".len()..];
    format!("{}{}{behind}", &statement[..at], literal(password))
}

/// The query for the rows that decide who may use a database: the rows of the user, and of the anonymous user.
pub(super) fn rows_of(user: &str, database: &str) -> String {
    let (user, database) = (literal(user), literal(database));
    format!("SELECT * FROM mysql.db WHERE {database} LIKE db AND user IN ({user}, '');")
}

/// The statements that create or change the account for the socket, so that the client can log in with its password and
/// has the same rights as over TCP.
pub(super) fn twin(user: &str, tcp: &MysqlLogin, row: SocketRow) -> Vec<String> {
    let account = quoted(user, "localhost");
    let identified = identified(tcp);
    let create = |exists: &str| format!("CREATE USER {exists}{account} {identified};");
    let alter = format!("ALTER USER {account} {identified} REQUIRE NONE;");
    let mut lines = match row {
        SocketRow::Absent => vec![create("")],
        SocketRow::Unknown => vec![create("IF NOT EXISTS "), alter],
        SocketRow::Present => vec![alter],
        SocketRow::MayAskSystem => vec![create("IF NOT EXISTS "), let_in_with_password(&account, tcp)],
        SocketRow::AsksSystem => vec![let_in_with_password(&account, tcp)],
        SocketRow::Locked => vec![format!("ALTER USER {account} ACCOUNT UNLOCK;")],
        SocketRow::Expired => vec![format!("ALTER USER {account} {identified};")],
    };
    if !matches!(row, SocketRow::Locked | SocketRow::Expired) {
        let rights = missing_rights(tcp, &MysqlLogin::default(), None, true);
        lines.extend(granted(&rights, &account));
    }
    lines
}

pub(super) fn granted(grants: &[String], account: &str) -> Vec<String> {
    let line = |grant: &String| grant.replace(ACCOUNT, account) + ";";
    grants.iter().map(line).collect()
}

/// Uses the plugin of the account for TCP, which the client supports, if looptax can write a statement for this plugin.
/// For any other plugin, uses the default plugin, which every client of both servers supports.
fn identified(tcp: &MysqlLogin) -> String {
    match (tcp.server, &*tcp.plugin) {
        (Server::Mariadb, plugin @ "ed25519") => {
            format!("IDENTIFIED VIA {plugin} USING PASSWORD('…')")
        }
        (Server::Mysql, plugin) if plugin.ends_with("_password") => {
            format!("IDENTIFIED WITH {plugin} BY '…'")
        }
        _ => "IDENTIFIED BY '…'".to_owned(),
    }
}

/// The statement with which an account also accepts a password. In MariaDB it adds a second plugin; in MySQL an account
/// has only one plugin.
fn let_in_with_password(account: &str, tcp: &MysqlLogin) -> String {
    match tcp.server {
        Server::Mariadb => {
            let plugin = match &*tcp.plugin {
                "ed25519" => "ed25519",
                _ => "mysql_native_password",
            };
            format!("ALTER USER {account} IDENTIFIED VIA unix_socket OR {plugin} USING PASSWORD('…');")
        }
        Server::Mysql => format!("ALTER USER {account} {};", identified(tcp)),
    }
}

/// The statements that grant the rights which the first login has and the second lacks: the rights on the database, or
/// all other rights if `is_in_database` is false.
pub(super) fn missing_rights(
    has: &MysqlLogin,
    lacks: &MysqlLogin,
    database: Option<&str>,
    is_in_database: bool,
) -> Vec<String> {
    let lacking = has.rights.beyond(&lacks.rights, database, &has.databases);
    let asked = lacking.into_iter().filter(|it| it.is_in_database == is_in_database);
    asked.flat_map(|it| it.grants).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_people_stay_words_whatever_signs_they_have() {
        assert_eq!(quoted("o'ne\\", "h"), r"'o''ne\\'@'h'");
        let tcp = MysqlLogin::default();
        for user in ["app", "BY '…'", "…"] {
            let steps = twin(user, &tcp, SocketRow::Absent);
            let said = with_password(&steps[0], "p'w\\…");
            let account = quoted(user, "localhost");
            assert!(said.contains(&format!("USER {account} ")), "{said}");
            assert!(said.ends_with(r"BY 'p''w\\…';"), "{said}");
        }
        let grant = "GRANT SELECT ON `BY '…`.* TO 'a'@'b';";
        assert_eq!(with_password(grant, "pw"), grant);
    }

    #[test]
    fn r20_only_a_lock_that_is_told_of_is_taken_off() {
        for row in
            [SocketRow::Unknown, SocketRow::Absent, SocketRow::Present, SocketRow::AsksSystem, SocketRow::Expired]
        {
            let steps = twin("app", &MysqlLogin::default(), row);
            assert!(!steps.join(" ").contains("UNLOCK"), "{row:?}: {steps:?}");
        }
        let steps = twin("app", &MysqlLogin::default(), SocketRow::Locked);
        assert_eq!(steps, ["ALTER USER 'app'@'localhost' ACCOUNT UNLOCK;"]);
    }
}
