//! What MySQL and MariaDB say of an account.

use looptax_advise::check::{MysqlAccount, MysqlLogin, Rights, Server as Rules};

use super::sides::Opened;

/// Account and rights over one transport.
pub(super) fn login(opened: &mut Opened) -> MysqlLogin {
    let conversation = match &mut opened.conversation {
        Ok(conversation) => conversation,
        Err(why) => {
            return MysqlLogin {
                refusal: Some(why.clone()),
                ..MysqlLogin::default()
            };
        }
    };
    let mut column = |sql: &str, idx: usize| -> Vec<String> {
        let rows = conversation.query(sql).unwrap_or_default();
        rows.into_iter()
            .filter_map(|row| row.into_iter().nth(idx)?)
            .collect()
    };
    let account = column("SELECT CURRENT_USER()", 0).into_iter().next();
    let version = column("SELECT VERSION()", 0).join("");
    let rules = if version.contains("MariaDB") {
        Rules::Mariadb
    } else {
        Rules::Mysql
    };
    let rights = Rights::read(&column("SHOW GRANTS", 0), rules);
    // Their names of the plugin: MariaDB's, and MySQL's.
    let made = column("SHOW CREATE USER CURRENT_USER()", 0);
    let asks_system = |it: &String| {
        let how = it.split_once(" IDENTIFIED ").map_or("", |(_, how)| how);
        how.contains("unix_socket") || how.contains("auth_socket")
    };
    MysqlLogin {
        account: account.unwrap_or_default(),
        rights,
        asks_system: made.iter().any(asks_system),
        refusal: None,
    }
}

/// The rows of `mysql.user` for this user, as far as we may read them.
pub(super) fn accounts(tcp: &mut Opened, unix: &mut Opened, user: &str) -> Vec<MysqlAccount> {
    let quoted = user.replace('\\', "\\\\").replace('\'', "''");
    let sql = format!("SELECT host, plugin, ssl_type FROM mysql.user WHERE user = '{quoted}'");
    let rows = ask(tcp, unix, &sql);
    let text = |cell: Option<&Option<String>>| cell.cloned().flatten().unwrap_or_default();
    rows.iter()
        .map(|row| MysqlAccount {
            host: text(row.first()),
            plugin: text(row.get(1)),
            ssl_type: text(row.get(2)),
        })
        .collect()
}

/// Whether the server lets nobody in without TLS or a socket; `None` where it was not to be asked.
pub(super) fn requires_secure_transport(tcp: &mut Opened, unix: &mut Opened) -> Option<bool> {
    let rows = ask(tcp, unix, "SELECT @@require_secure_transport");
    let value = rows.first()?.first()?.as_deref()?;
    Some(value == "1")
}

/// The rows of a statement, over whichever login there is; none where it is refused.
fn ask(tcp: &mut Opened, unix: &mut Opened, sql: &str) -> Vec<Vec<Option<String>>> {
    let both = [&mut tcp.conversation, &mut unix.conversation];
    let conversation = both.into_iter().find_map(|it| it.as_mut().ok());
    let rows = conversation.and_then(|it| it.query(sql).ok());
    rows.unwrap_or_default()
}
