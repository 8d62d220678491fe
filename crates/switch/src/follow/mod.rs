//! Finds the files that set the variables on which a file's connections depend, and makes the edits of these files.
//!
//! Searches `.env` files in the file's folder and above, the systemd unit of the process with its drop-ins and
//! `EnvironmentFile=`s, and PHP-FPM's pools. If the process is known, a value counts only if the process has the same
//! value. Called by `plan`; writes nothing.

mod dotenv;
mod place;
mod pool;
#[cfg(test)]
mod tests;
mod unit;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use place::{Followed, Reader};
pub(crate) use unit::{drop_in_of, is_unit, restart_of};

/// Finds the files that set variables. `names` contains for each variable whether it sets the destination of a
/// connection.
pub(crate) fn find(reader: Reader<'_>, names: &BTreeMap<String, bool>) -> Followed {
    let mut followed = Followed::default();
    if let Some((process, environment)) = reader.process {
        unit::find(reader, process, environment, names, &mut followed);
        pool::find(reader, Some(process), names, &mut followed);
    }
    let is_own = |name: &String| reader.process.is_none_or(|(_, environment)| !environment.contains_key(name));
    let rest = names.keys().filter(|name| is_own(name));
    let rest: BTreeSet<String> = rest.filter(|it| !followed.sets(it)).cloned().collect();
    if !rest.is_empty() {
        dotenv::find(reader, &rest, &mut followed);
    }
    let rest: BTreeMap<String, bool> = { names.iter() }
        .filter(|(name, _)| !followed.sets(name))
        .map(|(name, says_where)| (name.clone(), *says_where))
        .collect();
    if reader.process.is_none() && !rest.is_empty() {
        pool::find(reader, None, &rest, &mut followed);
    }
    // A file that sets only a password does not show where the other variables are set.
    let says_where = names.iter().any(|(name, says)| *says && followed.sets(name));
    if says_where { followed } else { Followed::default() }
}
