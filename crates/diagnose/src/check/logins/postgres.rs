//! Which line of PostgreSQL's `pg_hba.conf` lets a role in.

use looptax_advise::check::{Hba, Refusal, postgres_logins, postgres_rules};
use looptax_record::{Outcome, Point, PointCode, Topic};

use super::hba_file;
use super::sides::{Opened, Sides};

/// The login over both, and the rules that decide it.
pub(super) fn points(login: Point, unix: &Opened, sides: &Sides<'_>, user: &str) -> Vec<Point> {
    let refusal = unix.conversation.as_ref().err().map(Refusal::from);
    let file = sides.server.and_then(hba_file);
    let hba = file.map_or_else(Hba::default, |file| Hba::parse(&file.text));
    let database = sides.address.database.as_deref().unwrap_or(user);
    let line = hba.socket_line(database, user, sides.tcp.ip());
    postgres_logins(login, rules(sides, user), refusal.as_ref(), line)
}

/// Which lines of `pg_hba.conf` decide, where the file can be read.
pub(super) fn rules(sides: &Sides<'_>, user: &str) -> Point {
    let Some(file) = sides.server.and_then(hba_file) else {
        return Point::new(
            Topic::Hba,
            PointCode::HbaNotReadable,
            Outcome::Unknown,
            "the file was not found, or may not be read".to_owned(),
            "looked where its command line and its configuration say, else in its data folder"
                .to_owned(),
        )
        .with_next("run it as root, or look at SELECT * FROM pg_hba_file_rules");
    };
    let database = sides.address.database.as_deref().unwrap_or(user);
    postgres_rules(
        &Hba::parse(&file.text),
        database,
        user,
        sides.tcp.ip(),
        &sides.client.user,
        &file.path,
    )
}
