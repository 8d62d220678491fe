//! Determines which line of PostgreSQL's `pg_hba.conf` admits a role.

use looptax_advise::check::{Hba, Known, Refusal, SocketLine, postgres_logins, postgres_rules};
use looptax_model::record::{Outcome, Point, PointCode, Topic};

use super::hba_file;
use super::sides::{Opened, Sides};

/// The first version whose rules may contain patterns.
const WITH_PATTERNS: u32 = 160_000;

/// Returns points about the login over both endpoints, and about the rules that decide the login.
pub(super) fn points(
    login: Point,
    (tcp, unix): (&mut Opened, &mut Opened),
    sides: &Sides<'_>,
    user: &str,
) -> Vec<Point> {
    // A pooler has its own rules, in a file of its own format.
    if sides.is_pooler() {
        return vec![login];
    }
    let refusal = unix.conversation.as_ref().err().map(Refusal::from);
    let either = [tcp, unix].into_iter().find(|it| it.conversation.is_ok());
    let (rules, line) = rules(sides, user, either);
    postgres_logins(login, rules, refusal.as_ref(), line)
}

/// Returns the point about the rules if looptax does not log in.
pub(super) fn rules_unasked(sides: &Sides<'_>, user: &str) -> Point {
    rules(sides, user, None).0
}

/// Returns the point about the rules that decide the login, or the point that looptax cannot read the file. Also
/// returns the line with which the socket admits the same logins as the rules admit over TCP.
fn rules(sides: &Sides<'_>, user: &str, opened: Option<&mut Opened>) -> (Point, SocketLine) {
    let database = sides.address.database.as_deref().unwrap_or(user);
    let file = sides.server.and_then(hba_file);
    let mut hba = file.as_ref().map_or_else(Hba::default, |file| Hba::parse(&file.text));
    if let Some(opened) = opened {
        settle(&mut hba, user, database, opened);
    }
    let line = hba.socket_line(database, user, sides.tcp.ip());
    let Some(file) = file else {
        let point = Point::new(
            Topic::Hba,
            PointCode::HbaNotReadable,
            Outcome::Unknown,
            "the file was not found, or looptax may not read it",
            "looked in the place that the server's command line or configuration sets; if neither sets a place, in the \
             server's data folder",
        )
        .with_next("run looptax as root, or read SELECT * FROM pg_hba_file_rules");
        return (point, line);
    };
    let (ip, client) = (sides.tcp.ip(), &sides.client.user);
    let point = postgres_rules(&hba, database, user, ip, client, &file.path);
    (point, line)
}

/// The file does not show the roles that include the user, nor whether a pattern matches: asks the server, with
/// statements that any role may run. If the server does not answer a statement, the question stays open.
fn settle(hba: &mut Hba, user: &str, database: &str, opened: &mut Opened) {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let of_user = quoted(user);
    let roles = opened.ask(|it| {
        let roles = it.column(&format!(
            "WITH RECURSIVE of AS (SELECT oid FROM pg_roles WHERE rolname = {of_user} \
             UNION SELECT roleid FROM pg_auth_members JOIN of ON member = of.oid) \
             SELECT rolname::text FROM pg_roles JOIN of USING (oid)"
        ))?;
        // Every role is a member of itself.
        let has_own = roles.iter().any(|it| it == user);
        has_own.then_some(roles).ok_or_else(|| it.unfit("roles that include the account's own", "others"))
    });
    let version = opened.ask_surely(|it| it.number::<u32>("SELECT current_setting('server_version_num')"));
    let (Some(roles), Some(version)) = (roles, version) else {
        return;
    };
    let known = Known { user, database, roles: &roles };
    hba.settle(&known, |pattern, name| {
        if version < WITH_PATTERNS {
            return Some(name.strip_prefix('/') == Some(pattern));
        }
        let (name, pattern) = (quoted(name), quoted(pattern));
        opened.ask(|it| match &*it.cell(&format!("SELECT ({name} ~ {pattern})::text"))? {
            "true" => Ok(true),
            "false" => Ok(false),
            other => Err(it.unfit("true or false", other)),
        })
    });
}
