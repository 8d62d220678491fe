//! Which line of PostgreSQL's `pg_hba.conf` lets a role in.

use looptax_advise::check::{Hba, postgres_rules};
use looptax_record::{Outcome, Point, PointCode, Topic};

use super::hba_file;
use super::sides::Sides;

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
    let how = format!("read {}, as the file is now", file.path);
    postgres_rules(
        &Hba::parse(&file.text),
        database,
        user,
        sides.tcp.ip(),
        &sides.client.user,
        &how,
    )
}
