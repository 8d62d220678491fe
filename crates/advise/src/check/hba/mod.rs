//! PostgreSQL's `pg_hba.conf`: which line decides a login over each transport.
//!
//! The first line that matches the type, the database, the user and the address decides. Later lines are not tried.
//!
//! # Source
//! postgresql.org/docs/current/auth-pg-hba-conf.html

mod address;
mod difference;
mod insertion;
mod line;
mod logins;
mod method;
mod name;
mod read;
mod settle;
mod socket_line;
mod verdict;

use std::net::IpAddr;

pub use address::Origin;
pub use difference::Difference;
pub use insertion::Insertion;
pub use line::HbaLine;
pub use logins::postgres_logins;
pub use settle::Known;
pub use socket_line::SocketLine;
pub use verdict::postgres_rules;

use line::{Kind, Session, Wrap};
use name::{Fit, yes};

/// The rules in a file, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hba {
    lines: Vec<HbaLine>,
    /// The numbers of the lines that looptax does not understand. The effect of these lines is not known.
    pub unread: Vec<u32>,
}

impl Hba {
    /// The line that decides a login over the socket (if `tcp` is `None`), or over TCP with this encryption. The flag
    /// is set if an earlier line may match too, or is not understood.
    fn decides(&self, database: &str, user: &str, tcp: Option<(IpAddr, Wrap)>) -> (Option<&HbaLine>, bool) {
        let session = Session::Database(database);
        // Loopback addresses are resolved as `localhost`.
        let is_localhost = true;
        let mut is_unsure = false;
        for line in &self.lines {
            let by_transport = match tcp {
                None => yes(line.kind == Kind::Local),
                Some((ip, wrap)) => line.fits_tcp(wrap, Origin::Known { ip, is_localhost }),
            };
            match by_transport.and(line.fits_login(session, user)) {
                Fit::Yes => {
                    let is_after_unread = self.unread.iter().any(|it| *it < line.number);
                    return (Some(line), is_unsure || is_after_unread);
                }
                Fit::Maybe => is_unsure = true,
                Fit::No => {}
            }
        }
        (None, is_unsure || !self.unread.is_empty())
    }
}
