//! What MySQL and MariaDB say of an account.

use looptax_advise::check::{
    Effective, MysqlAccount, MysqlLogin, Refusal, Rights, Server as Rules,
};
use looptax_path::Conversation;

use super::sides::{Opened, Refused};

/// Account and rights over one transport.
pub(super) fn login(opened: &mut Opened, database: Option<&str>) -> MysqlLogin {
    let needs_tls = opened.is_sealed();
    let conversation = match &mut opened.conversation {
        Ok(conversation) => conversation,
        Err(why) => return refused(why),
    };
    // An expired password lets one in, and then nothing be asked.
    if let Err(error) = conversation.query("SELECT CURRENT_USER()") {
        return refused(&Refused::from(&error));
    }
    let mut column = |sql: &str| -> Vec<String> {
        let rows = conversation.query(sql).unwrap_or_default();
        rows.into_iter()
            .filter_map(|row| row.into_iter().next()?)
            .collect()
    };
    let account = column("SELECT CURRENT_USER()").into_iter().next();
    let version = column("SELECT VERSION()").join("");
    let server = if version.contains("MariaDB") {
        Rules::Mariadb
    } else {
        Rules::Mysql
    };
    let has_plain_names = column("SELECT @@partial_revokes").join("") == "1";
    let rights = Rights::read(&column("SHOW GRANTS"), server, has_plain_names);
    let role = column("SELECT CURRENT_ROLE()").join("");
    let has_active_role = !matches!(role.as_str(), "" | "NONE");
    let rights = if has_active_role && server == Rules::Mysql {
        rights.with_role_in_use(&version)
    } else {
        rights
    };
    let databases = column("SHOW DATABASES");
    let made = column("SHOW CREATE USER CURRENT_USER()").join("");
    let (_, how) = made.split_once(" IDENTIFIED ").unwrap_or_default();
    MysqlLogin {
        server,
        account: account.unwrap_or_default(),
        rights,
        effective: effective(conversation, server, database),
        has_active_role,
        databases,
        needs_tls,
        plugin: plugin(how),
        // Their names of the plugin: MariaDB's, and MySQL's.
        asks_system: how.contains("unix_socket") || how.contains("auth_socket"),
        refusal: None,
        database_refusal: opened.database_refusal.clone(),
    }
}

/// What the server says of the columns of the database, or of all that are not its own. It may take long with many
/// tables, and is only asked for so long.
fn effective(
    conversation: &mut Conversation,
    server: Rules,
    database: Option<&str>,
) -> Option<Effective> {
    let (limit, hint) = match server {
        Rules::Mariadb => ("SET STATEMENT max_statement_time=3 FOR ", ""),
        Rules::Mysql => ("", "/*+ MAX_EXECUTION_TIME(3000) */ "),
    };
    let of = match database {
        Some(name) => format!("= '{}'", name.replace('\\', "\\\\").replace('\'', "''")),
        None => "NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')".to_owned(),
    };
    let sql = format!(
        "{limit}SELECT {hint}table_schema, table_name, column_name, privileges FROM information_schema.columns WHERE table_schema {of} LIMIT {MOST_COLUMNS}"
    );
    let rows = conversation.query(&sql).ok()?;
    if rows.len() == MOST_COLUMNS {
        return None;
    }
    let text = |cell: Option<String>| cell.unwrap_or_default();
    Some(Effective::read(rows.into_iter().filter_map(|row| {
        let row: [Option<String>; 4] = row.try_into().ok()?;
        Some(row.map(text))
    })))
}

/// Columns that are looked at.
const MOST_COLUMNS: usize = 20_000;

fn refused(why: &Refused) -> MysqlLogin {
    MysqlLogin {
        refusal: Some(Refusal::from(why)),
        ..MysqlLogin::default()
    }
}

/// `VIA ed25519 USING …`, `WITH 'caching_sha2_password' AS …`; empty for `BY PASSWORD '…'`.
fn plugin(how: &str) -> String {
    let mut words = how.split_whitespace();
    match words.next() {
        Some("VIA" | "WITH") => words
            .next()
            .unwrap_or_default()
            .trim_matches('\'')
            .to_owned(),
        _ => String::new(),
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
