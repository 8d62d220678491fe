//! Removes obstacles to a switch: an account that clients on the socket lack, a missing line of `pg_hba.conf`.
//!
//! The points of a check name the statements to run or the lines to write. Each fix is a separate switch in the
//! journal; its way back is known before anything is done. This module asks no questions and shows nothing; a password
//! is never in the journal, nor in an error.

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

/// Takes a switch back, whatever it changed; `admin` is an administrator's login on the server, if the switch changed a
/// server.
///
/// # Errors
/// [`FixError::NoAdmin`] if that login is needed and missing; nothing is done then. [`FixError::AccountChanged`] if
/// somebody has changed the account since, and [`FixError::Switch`] for files.
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
