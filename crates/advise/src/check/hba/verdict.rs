//! The effect that the lines of `pg_hba.conf` have on a switch to the socket.

use std::net::IpAddr;

use looptax_model::record::{Outcome, Point, PointCode, StepPlace, Topic};

use super::Hba;
use super::line::HbaLine;
use super::socket_line::quoted;

/// The statement that makes the server read the file again.
pub(super) const RELOAD: &str = "SELECT pg_reload_conf();";
const PEERS: &str = "; clients that now log in over the socket without a password (as the system user of the same \
                     name) then need a password too";

/// Makes the point about the line that decides a login over the socket, compared with TCP. `tcp` is the client's
/// current address, and `system_user` the name of the user that the client runs as.
pub fn postgres_rules(hba: &Hba, database: &str, user: &str, tcp: IpAddr, system_user: &str, file: &str) -> Point {
    let how = format!("read {file} in its present state");
    let point = |code, outcome, what: String| Point::new(Topic::Hba, code, outcome, what, how.clone());
    let (local, is_unsure) = hba.decides(database, user, None);
    let add = |point: Point| {
        let line = hba.socket_line(database, user, tcp);
        let others = match &local {
            Some(line) if matches!(&*line.method, "peer" | "ident") => PEERS,
            _ => "",
        };
        let others = line.caution.as_deref().unwrap_or(others);
        point
            .with_next(format!(
                "put this line above the others in {file}: with this line the client logs in over the socket as it \
                 does over TCP{others}"
            ))
            .with_steps(StepPlace::HbaLine, [line.text])
            .with_steps(StepPlace::Sql, [RELOAD])
    };
    let Some(local) = local else {
        let what = format!("no `local` line matches user `{user}` and database `{database}`");
        let outcome = if is_unsure { Outcome::Unknown } else { Outcome::Fail };
        return add(point(PointCode::HbaLineMissing, outcome, what));
    };
    let shown = local.numbered();
    if is_unsure {
        let what = format!(
            "{shown} decides, unless an earlier line matches; looptax cannot tell, because an earlier line has roles, \
             patterns or files, or looptax did not understand that line"
        );
        return point(PointCode::HbaLineUnsure, Outcome::Unknown, what);
    }
    match &*local.method {
        "reject" => add(point(
            PointCode::HbaRejects,
            Outcome::Fail,
            format!("the login over the socket is rejected by {shown}"),
        )),
        "peer" | "ident" if local.has_map() => point(
            PointCode::HbaMapUnknown,
            Outcome::Unknown,
            format!("{shown}: pg_ident.conf decides whether the system user `{system_user}` may log in as `{user}`"),
        ),
        "peer" | "ident" if system_user != user => add(point(
            PointCode::HbaPeerDiffers,
            Outcome::Fail,
            format!("{shown}: peer accepts only the system user `{user}`, and the client runs as `{system_user}`"),
        )),
        "peer" | "ident" => {
            point(PointCode::HbaPeerSame, Outcome::Pass, format!("{shown}: the client runs as `{user}`"))
        }
        "trust" => point(
            PointCode::HbaTrust,
            Outcome::Note,
            format!(
                "{shown}: every user of this machine who reaches the socket can log in as `{user}` without a password"
            ),
        )
        .with_next(format!(
            "to ask for a password (which the role must have: ALTER ROLE \"{user}\" PASSWORD '…'), put \
             `local  {}  {}  scram-sha-256` above that line",
            quoted(database),
            quoted(user)
        )),
        method => {
            let today = hba.line_of_tcp(database, user, tcp);
            let today = today.map_or_else(|| "no line".to_owned(), HbaLine::numbered);
            point(PointCode::HbaPassword, Outcome::Pass, format!("{shown} (today {today}): {method}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::line::Wrap;
    use super::*;

    const DEBIAN: &str = "
# comment
local   all             postgres                                peer
local   all             all                                     peer
host    all             all             127.0.0.1/32            scram-sha-256
host    all             all             ::1/128                 scram-sha-256
local   replication     all                                     peer
";

    #[track_caller]
    fn check(text: &str, user: &str, system_user: &str, outcome: Outcome, words: &str) {
        let tcp = IpAddr::from([127, 0, 0, 1]);
        let point = postgres_rules(&Hba::parse(text), "shop", user, tcp, system_user, "pg_hba.conf");
        assert_eq!(point.outcome, outcome, "{point:?}");
        assert!(format!("{point:?}").contains(words), "{words} in {point:?}");
    }

    #[test]
    fn debians_own_file_lets_only_the_user_of_the_same_name_in() {
        check(DEBIAN, "app", "www-data", Outcome::Fail, "line 4: local all all peer");
        check(DEBIAN, "app", "app", Outcome::Pass, "runs as `app`");
        check(DEBIAN, "app", "www-data", Outcome::Fail, "local  shop  app  scram-sha-256");
    }

    #[test]
    fn the_first_line_that_fits_decides() {
        let text = "local shop app scram-sha-256\nlocal all all reject\n";
        check(text, "app", "www-data", Outcome::Pass, "line 1: local shop app scram-sha-256");
        check(text, "other", "www-data", Outcome::Fail, "rejected by line 2");
        check("local all all trust", "app", "x", Outcome::Note, "without a password");
        check("host all all 127.0.0.1/32 md5", "app", "x", Outcome::Fail, "no `local` line");
        check("local shop \"a b\" md5", "a b", "x", Outcome::Pass, "md5");
        check("local all \\\n app, b md5", "b", "x", Outcome::Pass, "local all app,b md5");
        // In quotes, the word is the name of a database.
        check("local \"all\" app md5", "app", "x", Outcome::Fail, "no `local` line");
    }

    #[test]
    fn r20_a_line_that_would_ask_nobody_is_told_to() {
        let tcp = "host all all 127.0.0.1/32 trust";
        for local in ["", "local all all reject\n", "local all all peer\n"] {
            let text = format!("{local}{tcp}");
            check(&text, "app", "x", Outcome::Fail, "local  shop  app  trust");
            let words = "every user of this machine who reaches the socket can log in as `app`";
            check(&text, "app", "x", Outcome::Fail, words);
        }
    }

    #[test]
    fn lines_with_roles_patterns_or_files_leave_it_open() {
        let text = "local all +staff peer\nlocal all all scram-sha-256";
        check(text, "app", "x", Outcome::Unknown, "unless an earlier line");
        check("local all /^app md5", "app", "x", Outcome::Unknown, "no `local` line");
    }

    #[test]
    fn networks_and_masks_are_compared_by_their_bits() {
        let fits = |line: &str, address: &str| {
            let hba = Hba::parse(line);
            let (found, _) = hba.decides("d", "u", Some((address.parse().unwrap(), Wrap::None)));
            found.is_some()
        };
        assert!(fits("host all all 127.0.0.0/8 md5", "127.9.9.9"));
        assert!(fits("host all all 127.0.0.1 255.255.255.255 md5", "127.0.0.1"));
        assert!(!fits("host all all 127.0.0.1 255.255.255.255 md5", "127.0.0.2"));
        assert!(fits("host all all ::1/128 md5", "::1"));
        assert!(!fits("host all all 0.0.0.0/0 md5", "::1"));
        assert!(fits("host all all 0.0.0.0/0 md5", "10.0.0.1"));
        assert!(fits("host all all localhost md5", "127.0.0.1"));
        assert!(!fits("hostssl all all 127.0.0.1/32 md5", "127.0.0.1"));
    }

    #[test]
    fn what_is_not_understood_may_have_said_anything() {
        let hba = Hba::parse("include other.conf\nlocal all\nhost all all 10.0.0.1\n");
        assert_eq!((hba.lines.len(), &hba.unread[..]), (0, &[1, 2, 3][..]));
        let text = "include other.conf\nlocal all all scram-sha-256";
        check(text, "app", "x", Outcome::Unknown, "looptax did not understand");
    }

    #[test]
    fn a_map_of_users_leaves_it_open() {
        let text = "local all all peer map=apps";
        check(text, "app", "www-data", Outcome::Unknown, "pg_ident.conf");
    }
}
