//! Collects facts that MySQL and MariaDB report about an account.

use looptax_advise::check::{
    self, Effective, MysqlAccount, MysqlLogin, Refusal, Rights, Server as Rules, mysql_account,
};
use looptax_bench::path::Conversation;
use looptax_model::record::Point;
use looptax_wire::{Login, WireError};

use super::sides::{Opened, Refused};

/// Returns points about the account over both endpoints, and about what the account demands of a connection.
pub(super) fn points(tcp: &mut Opened, unix: &mut Opened, as_whom: &Login) -> Vec<Point> {
    let (user, database) = (&*as_whom.user, as_whom.database.as_deref());
    let (over_tcp, over_unix) = (login(tcp, database), login(unix, database));
    let accounts = accounts(tcp, unix, user);
    let mut points = mysql_account((user, database), &over_tcp, &over_unix, &accounts);
    let is_required = requires_secure_transport(tcp, unix);
    points.extend(check::secure_transport(is_required));
    points
}

/// Returns the account and its rights, as the server reports them over one transport.
fn login(opened: &mut Opened, database: Option<&str>) -> MysqlLogin {
    let needs_tls = opened.is_sealed();
    let conversation = match &mut opened.conversation {
        Ok(conversation) => conversation,
        Err(why) => return refused(why),
    };
    // If the password has expired, the login works, but every statement fails.
    let account = match conversation.cell("SELECT CURRENT_USER()") {
        Err(error @ WireError::Server { .. }) => return refused(&Refused::from(&error)),
        account => account.and_then(|it| fitting(conversation, it, "an account", is_account)),
    };
    let account = opened.must_tell(account);
    let version = opened.ask_surely(|it| {
        let version = it.cell("SELECT VERSION()")?;
        fitting(it, version, "a version", |it| it.starts_with(|c: char| c.is_ascii_digit()))
    });
    let version = version.unwrap_or_default();
    let server = if version.contains("MariaDB") { Rules::Mariadb } else { Rules::Mysql };
    // A server that does not know the variable `partial_revokes` does not have this feature.
    let has_plain_names = opened.ask(|it| flag(it, "SELECT @@partial_revokes"));
    let has_plain_names = has_plain_names.unwrap_or(false);
    let grants = opened.ask_surely(|it| {
        let grants = it.column("SHOW GRANTS")?;
        let is_told = !grants.is_empty() && grants.iter().all(|it| is_grant(it));
        is_told.then_some(grants).ok_or_else(|| it.unfit("grants", "others"))
    });
    let rights = Rights::read(&grants.unwrap_or_default(), server, has_plain_names);
    // The current role may be NULL or `NONE`; versions without roles return an error.
    let role = opened.ask(|it| it.cell_or_null("SELECT CURRENT_ROLE()"));
    let role = role.flatten().unwrap_or_default();
    let has_active_role = !matches!(role.as_str(), "" | "NONE");
    let rights = if has_active_role && server == Rules::Mysql { rights.with_role_in_use(&version) } else { rights };
    let databases = opened.ask(|it| it.column("SHOW DATABASES"));
    let made = opened.ask(|it| {
        let made = it.cell("SHOW CREATE USER CURRENT_USER()")?;
        fitting(it, made, "CREATE USER", |it| it.starts_with("CREATE USER "))
    });
    let made = made.unwrap_or_default();
    let (_, how) = made.split_once(" IDENTIFIED ").unwrap_or_default();
    MysqlLogin {
        server,
        account: account.unwrap_or_default(),
        rights,
        effective: effective(opened, server, database),
        has_active_role,
        databases: databases.unwrap_or_default(),
        needs_tls,
        plugin: plugin(how),
        // The plugin is called `unix_socket` in MariaDB and `auth_socket` in MySQL.
        asks_system: how.contains("unix_socket") || how.contains("auth_socket"),
        refusal: None,
        database_refusal: opened.database_refusal.clone(),
    }
}

/// Whether a text looks like an account, such as `app@localhost`; the anonymous account has no name before the `@`.
fn is_account(text: &str) -> bool {
    let host = text.rsplit_once('@').map(|it| it.1);
    host.is_some_and(|it| !it.is_empty())
}

/// Whether a line belongs to the output of `SHOW GRANTS`. Besides grants, MariaDB also shows the role that each login
/// gets, and MySQL shows exceptions to a grant.
fn is_grant(line: &str) -> bool {
    ["GRANT ", "REVOKE ", "SET DEFAULT ROLE "].iter().any(|it| line.starts_with(it))
}

/// Returns the text if it has the expected form, else an error.
fn fitting(
    conversation: &Conversation,
    text: String,
    expected: &'static str,
    is_fit: impl Fn(&str) -> bool,
) -> Result<String, WireError> {
    if is_fit(&text) { Ok(text) } else { Err(conversation.unfit(expected, &text)) }
}

/// Reads a setting that is on or off.
fn flag(conversation: &mut Conversation, sql: &str) -> Result<bool, WireError> {
    match &*conversation.cell(sql)? {
        "1" => Ok(true),
        "0" => Ok(false),
        other => Err(conversation.unfit("0 or 1", other)),
    }
}

/// Returns the account's rights to each column of the database, or of all databases except the server's system
/// databases; `None` if there are too many columns. With many tables this query takes long, so it has a time limit.
fn effective(opened: &mut Opened, server: Rules, database: Option<&str>) -> Option<Effective> {
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
    let rows = opened.ask(|it| {
        let rows = it.rows::<4>(&sql)?;
        let has_names = |row: &[Option<String>; 4]| row[..3].iter().all(Option::is_some);
        let is_told = rows.iter().all(has_names);
        is_told.then_some(rows).ok_or_else(|| it.unfit("names of columns", "NULL"))
    })?;
    if rows.len() == MOST_COLUMNS {
        return None;
    }
    // A column's text may be NULL if the account has no rights to the column.
    let text = |cell: Option<String>| cell.unwrap_or_default();
    Some(Effective::read(rows.into_iter().map(|row| row.map(text))))
}

const MOST_COLUMNS: usize = 20_000;

fn refused(why: &Refused) -> MysqlLogin {
    MysqlLogin { refusal: Some(Refusal::from(why)), ..MysqlLogin::default() }
}

/// Returns the plugin in a text such as `VIA ed25519 USING …` or `WITH 'caching_sha2_password' AS …`; empty for `BY
/// PASSWORD '…'`.
fn plugin(how: &str) -> String {
    let mut words = how.split_whitespace();
    match words.next() {
        Some("VIA" | "WITH") => words.next().unwrap_or_default().trim_matches('\'').to_owned(),
        _ => String::new(),
    }
}

/// Returns the rows of `mysql.user` for this user, if the login may read them.
fn accounts(tcp: &mut Opened, unix: &mut Opened, user: &str) -> Vec<MysqlAccount> {
    let quoted = user.replace('\\', "\\\\").replace('\'', "''");
    let sql = format!("SELECT host, plugin, ssl_type FROM mysql.user WHERE user = '{quoted}'");
    let rows = either(tcp, unix).and_then(|it| it.ask(|it| it.rows::<3>(&sql)));
    let text = |cell: Option<String>| cell.unwrap_or_default();
    let account = |[host, plugin, ssl_type]: [Option<String>; 3]| MysqlAccount {
        host: text(host),
        plugin: text(plugin),
        ssl_type: text(ssl_type),
    };
    rows.into_iter().flatten().map(account).collect()
}

/// Whether the server refuses every client that uses neither TLS nor a socket; `None` if the server did not answer.
fn requires_secure_transport(tcp: &mut Opened, unix: &mut Opened) -> Option<bool> {
    either(tcp, unix)?.ask(|it| flag(it, "SELECT @@require_secure_transport"))
}

fn either<'a>(tcp: &'a mut Opened, unix: &'a mut Opened) -> Option<&'a mut Opened> {
    [tcp, unix].into_iter().find(|it| it.conversation.is_ok())
}
