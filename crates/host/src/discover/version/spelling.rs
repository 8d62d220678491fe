//! Finds the version of a server among the constants of its program.
//!
//! This module contains the search; the facts of each kind of server contain the forms in which a version is written
//! (spellings). A constant ends with a zero byte. A version is a separate constant, or it follows words in a longer
//! constant. The spellings were seen in the programs of Debian 12 and of Debian unstable of October 2026. For programs
//! that Debian does not package, the spellings come from the sources.

use std::ops::RangeInclusive;

use looptax_model::dsn::{Form, Kind};
use memchr::memmem;

use super::leading::leading_version;

/// Returns the kind of server that a program with these constants is, and its version. A `mysqld` may be MariaDB or
/// Percona Server, and a `redis-server` may be Valkey.
pub(super) fn found_in(kind: Kind, constants: &[u8]) -> (Kind, Option<String>) {
    for spelling in kind.facts().spellings {
        let is_marked = memmem::find(constants, spelling.mark.as_bytes()).is_some();
        if !is_marked {
            continue;
        }
        let version = match spelling.form {
            Form::After(words) => after(constants, words.as_bytes()),
            Form::With(words) => with(constants, words.as_bytes()),
            Form::Alone((low, high), is_built) => alone(constants, low..=high, is_built),
        };
        if let Some(version) = version {
            return (spelling.kind, Some(version));
        }
    }
    (kind, None)
}

fn after(constants: &[u8], words: &[u8]) -> Option<String> {
    let mut places = memmem::find_iter(constants, words);
    places.find_map(|at| leading_version(&constants[at + words.len()..]).map(str::to_owned))
}

fn with(constants: &[u8], words: &[u8]) -> Option<String> {
    let mut places = memmem::find_iter(constants, words);
    places.find_map(|at| {
        let before = &constants[at.saturating_sub(32)..at];
        let start = before.iter().rposition(|it| *it == 0)? + 1;
        let digits = &before[start..];
        let is_version = !digits.is_empty() && digits.iter().all(|it| is_of_number(*it));
        let from = at - digits.len();
        let version = is_version.then(|| leading_version(&constants[from..]));
        version.flatten().map(str::to_owned)
    })
}

fn is_of_number(byte: u8) -> bool {
    byte == b'.' || byte.is_ascii_digit()
}

type Numbers = [u32; 3];

fn alone(constants: &[u8], majors: RangeInclusive<u32>, is_built: bool) -> Option<String> {
    let mut all: Vec<(Numbers, &str)> = Vec::new();
    for at in memchr::memchr_iter(b'.', constants) {
        // The search starts at the first dot of a constant that begins with a number.
        let before = &constants[at.saturating_sub(4)..at];
        let n_digits = { before.iter().rev() }.take_while(|it| it.is_ascii_digit()).count();
        let start = at - n_digits;
        let is_start = n_digits > 0 && start.checked_sub(1).is_none_or(|it| constants[it] == 0);
        let Some(text) = is_start.then(|| leading_version(&constants[start..])).flatten() else {
            continue;
        };
        let ends = constants.get(start + text.len()).is_none_or(|it| *it == 0);
        let numbers = ends.then(|| numbers_of(text)).flatten();
        let numbers = numbers.filter(|it| majors.contains(&it[0]));
        all.extend(numbers.map(|it| (it, text)));
    }
    all.sort_unstable();
    let mut best = all.iter().rev().filter(|(_, text)| {
        let followed = memmem::find_iter(constants, text).any(|at| {
            let next = constants.get(at + text.len());
            next.is_some_and(u8::is_ascii_alphanumeric)
        });
        followed || !is_built
    });
    best.next().map(|(_, text)| (*text).to_owned())
}

/// Returns the three numbers of a version such as `7.0.15` or `2.0.21-debian`; a text with more or fewer numbers is not
/// a version of these programs.
fn numbers_of(text: &str) -> Option<Numbers> {
    let numbers = text.split('-').next()?;
    let mut parts = numbers.split('.').map(str::parse);
    let mut next = || parts.next()?.ok();
    let found = [next()?, next()?, next()?];
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: Kind, constants: &[&str], expected: (Kind, Option<&str>)) {
        let constants = format!("\0{}\0", constants.join("\0"));
        let (refined, version) = found_in(kind, constants.as_bytes());
        assert_eq!((refined, version.as_deref()), expected);
    }

    #[test]
    fn look_alikes_are_told_apart_by_their_own_words() {
        let mariadb = ["-0+deb12u1", "10.11.19-MariaDB", "MariaDB 10.11.19"];
        for kind in [Kind::Mysql, Kind::Mariadb] {
            check(kind, &mariadb, (Kind::Mariadb, Some("10.11.19-MariaDB")));
        }
        let mysql = ["1.3.2", "MySQL 9.7.4", "ndb-9.7.4"];
        check(Kind::Mysql, &mysql, (Kind::Mysql, Some("9.7.4")));
        let percona = ["Percona Server (GPL), Release 28", "MySQL 8.0.36-28"];
        check(Kind::Mysql, &percona, (Kind::Percona, Some("8.0.36-28")));
        let redis = ["7.0.3", "7.0.15", "Redis server v=%s", "A7.0.151790282056"];
        check(Kind::Redis, &redis, (Kind::Redis, Some("7.0.15")));
        let valkey = ["7.2.4", "9.1.2", "16.2.0", "ValkeyModule_Alloc", "valkey9.1.21789"];
        check(Kind::Redis, &valkey, (Kind::Valkey, Some("9.1.2")));
    }

    #[test]
    fn a_program_without_a_version_has_none() {
        for kind in [Kind::Mysql, Kind::Redis, Kind::Postgres, Kind::Mongodb] {
            check(kind, &["nothing", "1.2", "127.0.0.1", "-MariaDB"], (kind, None));
            check(kind, &[], (kind, None));
        }
    }

    #[test]
    fn a_version_of_something_else_does_not_count() {
        let uwsgi = ["1.2.13", "12.2.0", "2.0.21-debian"];
        check(Kind::Uwsgi, &uwsgi, (Kind::Uwsgi, Some("2.0.21-debian")));
        let redis = ["Redis server v=%s", "127.0.0.1", "255.255.255.255", "7.0.3"];
        check(Kind::Redis, &redis, (Kind::Redis, None));
    }
}
