//! Removes obstacles to a switch: adds an account that clients on the socket need, or a missing line of `pg_hba.conf`.
//!
//! The points of a check contain the statements to run or the lines to write. Each fix is a separate switch in the
//! journal, and looptax knows how to undo it before it does anything. This module asks no questions and prints nothing.
//! It writes a password neither to the journal nor into an error.

mod account;
mod admin;
mod error;
mod hba;

use looptax_model::dsn::Address;

use crate::journal::Fix;
use crate::{End, Work};
pub use account::AccountFix;
pub use error::FixError;
pub use hba::{HbaFix, HbaWish};

/// Undoes a switch, whatever the switch changed. `admin` is an administrator's login, needed if the switch changed a
/// server.
///
/// # Errors
/// [`FixError::NoAdmin`] if the administrator's login is needed and missing; in this case nothing is done.
/// [`FixError::AccountChanged`] if somebody has changed the account since. [`FixError::Switch`] for files.
pub fn undo(work: &mut Work, admin: Option<&Address>, why: &str, how: End) -> Result<(), FixError> {
    match work.fix().cloned() {
        None => Ok(work.put_back(why, how)?),
        Some(Fix::Account { server }) => {
            let admin = admin.ok_or(FixError::NoAdmin { server })?;
            account::undo(work, admin, why, how)
        }
        Some(Fix::Hba { data }) => hba::undo(work, &data, admin, why, how),
    }
}
