//! Which line of PostgreSQL's `pg_hba.conf` lets a role in.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use looptax_advise::check::{Hba, postgres_rules};
use looptax_discover::Server;
use looptax_record::{Outcome, Point, PointCode, Topic};

use super::sides::Sides;

/// More than any `pg_hba.conf` that people wrote.
const MOST_BYTES: u64 = 1 << 20;

/// Which lines of `pg_hba.conf` decide, where the file can be read.
pub(super) fn rules(sides: &Sides<'_>, user: &str) -> Point {
    let Some((path, text)) = sides.server.and_then(hba_file) else {
        return Point {
            topic: Topic::Hba,
            code: PointCode::HbaNotReadable,
            outcome: Outcome::Unknown,
            what: "the file was not found, or may not be read".to_owned(),
            how: "looked in the server's data folder and beside its configuration".to_owned(),
            next: Some("run it as root, or look at SELECT * FROM pg_hba_file_rules".to_owned()),
        };
    };
    let database = sides.address.database.as_deref().unwrap_or(user);
    let how = format!("read {path}, as the file is now");
    postgres_rules(
        &Hba::parse(&text),
        database,
        user,
        sides.tcp.ip(),
        &sides.client.user,
        &how,
    )
}

/// The file beside the configuration that the server was started with, else in its data folder.
pub fn hba_file(server: &Server) -> Option<(String, String)> {
    const NAME: &str = "pg_hba.conf";
    let configured = server.process.arguments().into_iter().find_map(|argument| {
        let path = argument.strip_prefix("config_file=")?.to_owned();
        Some(Path::new(&path).with_file_name(NAME))
    });
    let outside =
        configured.map(|path| (path.display().to_string(), server.process.outside(&path)));
    let own = (
        format!("{NAME} of the data folder"),
        server.process.file("cwd").join(NAME),
    );
    outside
        .into_iter()
        .chain([own])
        .find_map(|(name, path)| Some((name, read(&path)?)))
}

/// Up to a limit: a process in a container may have anything in its folder.
fn read(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
