//! The rows that private servers are filled with, and the value that each must have.
//!
//! Table and sizes are those of sysbench's OLTP tests, so that figures compare; the content follows
//! from the id alone, so that any answer can be checked. Nothing here opens a connection: the caller
//! hands in what executes a statement.
//!
//! # Source
//! sysbench 1.0 manual and `oltp_common.lua`: table `sbtest1` with `c` of ten and `pad` of five
//! groups of eleven digits.

use std::fmt::Write as _;

use looptax_wire::WireError;

use crate::ServerError;

/// The table in the servers that speak SQL.
pub const TABLE: &str = "sbtest1";

/// What a Redis key starts with; 12 digits follow.
pub const KEY_PREFIX: &str = "looptax:";

/// Bytes of a Redis value.
pub const REDIS_VALUE_BYTES: usize = 64;

/// Size of one INSERT in bytes. MariaDB and MySQL take 16 MiB and more; from some 64 KiB on larger
/// ones are no faster, and half a mebibyte keeps the peer's memory small.
const INSERT_BYTES: usize = 512 * 1024;

/// Commands per Redis pipeline: about 110 KiB, within any socket's buffers.
const N_PIPELINED: u32 = 1000;

const C_GROUPS: u64 = 10;
const PAD_GROUPS: u64 = 5;

/// The column `c` of the row with this id: 119 characters.
pub fn value_for(id: u64) -> String {
    digit_groups(id, 0, C_GROUPS)
}

/// The column `pad` of the row with this id: 59 characters.
pub fn pad_for(id: u64) -> String {
    digit_groups(id, C_GROUPS, PAD_GROUPS)
}

/// The column `k` of the row with this id: between 1 and `n_rows`, evenly.
pub fn k_for(id: u64, n_rows: u32) -> u64 {
    1 + number(id, C_GROUPS + PAD_GROUPS) % u64::from(n_rows.max(1))
}

/// The Redis key with this id: `looptax:000000000042`.
pub fn redis_key_for(id: u64) -> String {
    format!("{KEY_PREFIX}{id:012}")
}

/// The value under [`redis_key_for`] the same id: [`REDIS_VALUE_BYTES`] hexadecimal digits.
pub fn redis_value_for(id: u64) -> String {
    let mut value = String::with_capacity(REDIS_VALUE_BYTES);
    for position in 0..4 {
        write!(value, "{:016x}", number(id, position)).expect("writing to a String cannot fail");
    }
    value
}

/// Creates and fills the table in MariaDB or MySQL with the ids 1 to `n_rows`.
///
/// `execute` runs one statement. The table must not be there yet: nothing is ever dropped here.
///
/// # Errors
/// [`ServerError::Fill`] with the statement that failed.
pub fn populate_mysql(
    execute: impl FnMut(&str) -> Result<u64, WireError>,
    n_rows: u32,
) -> Result<(), ServerError> {
    let table = "CREATE TABLE sbtest1 (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
                 c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) \
                 ENGINE=InnoDB DEFAULT CHARSET=latin1";
    let mut filling = Filling { execute };
    filling.run("create the table", table)?;
    filling.insert_all(n_rows)?;
    filling.run("create the index", "CREATE INDEX k_1 ON sbtest1 (k)")
}

/// Creates and fills the table in PostgreSQL with the ids 1 to `n_rows`, and vacuums it once.
///
/// `execute` runs one statement. The table must not be there yet: nothing is ever dropped here.
///
/// # Errors
/// [`ServerError::Fill`] with the statement that failed.
pub fn populate_postgres(
    execute: impl FnMut(&str) -> Result<u64, WireError>,
    n_rows: u32,
) -> Result<(), ServerError> {
    let table = "CREATE TABLE sbtest1 (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, \
                 c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))";
    let mut filling = Filling { execute };
    filling.run("create the table", table)?;
    filling.insert_all(n_rows)?;
    filling.run("create the index", "CREATE INDEX k_1 ON sbtest1 (k)")?;
    // Autovacuum is off. Without this, the first read of each page would write to it.
    filling.run("vacuum the table", "VACUUM (ANALYZE) sbtest1")
}

/// Sets the keys with the ids 1 to `n_rows` in Redis or Valkey.
///
/// `pipeline` sends some commands at once and reads their replies.
///
/// # Errors
/// [`ServerError::Fill`] with the keys that failed.
pub fn populate_redis<R>(
    mut pipeline: impl FnMut(&[Vec<Vec<u8>>]) -> Result<R, WireError>,
    n_rows: u32,
) -> Result<(), ServerError> {
    let mut first = 1;
    while first <= n_rows {
        let last = n_rows.min(first.saturating_add(N_PIPELINED - 1));
        let commands: Vec<Vec<Vec<u8>>> = (first..=last)
            .map(u64::from)
            .map(|id| {
                vec![
                    b"SET".to_vec(),
                    redis_key_for(id).into_bytes(),
                    redis_value_for(id).into_bytes(),
                ]
            })
            .collect();
        pipeline(&commands).map_err(|source| ServerError::Fill {
            action: format!("set keys {first} to {last}"),
            source,
        })?;
        let Some(next) = last.checked_add(1) else {
            break;
        };
        first = next;
    }
    Ok(())
}

/// What runs the statements, with what was being done in its errors.
struct Filling<E> {
    execute: E,
}

impl<E: FnMut(&str) -> Result<u64, WireError>> Filling<E> {
    fn run(&mut self, action: &str, statement: &str) -> Result<(), ServerError> {
        (self.execute)(statement)
            .map(drop)
            .map_err(|source| ServerError::Fill {
                action: action.to_owned(),
                source,
            })
    }

    /// Inserts all rows, as many per statement as fit into [`INSERT_BYTES`].
    fn insert_all(&mut self, n_rows: u32) -> Result<(), ServerError> {
        const ROW_BYTES: usize = 256;
        let mut statement = String::with_capacity(INSERT_BYTES + ROW_BYTES);
        let mut first = 1;
        for id in 1..=u64::from(n_rows) {
            if statement.is_empty() {
                statement.push_str("INSERT INTO sbtest1 (id, k, c, pad) VALUES ");
                first = id;
            } else {
                statement.push(',');
            }
            let (k, c, pad) = (k_for(id, n_rows), value_for(id), pad_for(id));
            write!(statement, "({id},{k},'{c}','{pad}')").expect("writing to a String cannot fail");
            if statement.len() >= INSERT_BYTES || id == u64::from(n_rows) {
                self.run(&format!("insert rows {first} to {id}"), &statement)?;
                statement.clear();
            }
        }
        Ok(())
    }
}

/// `n` groups of eleven digits with a dash between, from the numbers at `first` and after.
fn digit_groups(id: u64, first: u64, n: u64) -> String {
    const ELEVEN_DIGITS: u64 = 100_000_000_000;
    let mut text = String::with_capacity(12 * n as usize);
    for position in first..first + n {
        if position > first {
            text.push('-');
        }
        write!(text, "{:011}", number(id, position) % ELEVEN_DIGITS)
            .expect("writing to a String cannot fail");
    }
    text
}

/// The number at a position of an id's own sequence. An id has fewer than 32 positions.
fn number(id: u64, position: u64) -> u64 {
    splitmix64(id.wrapping_mul(32).wrapping_add(position))
}

/// The n-th output of `SplitMix64` with seed 0, for n = `index` + 1.
///
/// # Source
/// Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014; the constants
/// are those of Vigna's public reference implementation.
fn splitmix64(index: u64) -> u64 {
    const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut z = index.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_gives_the_published_sequence_for_seed_0() {
        // First outputs of the public reference implementation with seed 0.
        assert_eq!(splitmix64(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(splitmix64(1), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(splitmix64(2), 0x06c4_5d18_8009_454f);
    }

    #[track_caller]
    fn check_groups(text: &str, n_groups: usize) {
        let groups: Vec<&str> = text.split('-').collect();
        assert_eq!(groups.len(), n_groups, "{text}");
        assert!(
            groups
                .iter()
                .all(|group| group.len() == 11 && group.bytes().all(|b| b.is_ascii_digit())),
            "{text}"
        );
    }

    #[test]
    fn values_have_the_shape_of_sysbench_and_differ() {
        check_groups(&value_for(1), 10);
        check_groups(&pad_for(u64::MAX), 5);
        assert_ne!(value_for(1), value_for(2));
        assert_ne!(redis_value_for(1), redis_value_for(2));
        assert_eq!(redis_value_for(7).len(), REDIS_VALUE_BYTES);
        assert_eq!(redis_key_for(42), "looptax:000000000042");
        assert!((1..1000).all(|id| (1..=50).contains(&k_for(id, 50))));
    }

    #[test]
    fn every_row_is_inserted_once_in_statements_of_bounded_size() {
        let mut statements = Vec::new();
        let execute = |sql: &str| {
            statements.push(sql.to_owned());
            Ok(0)
        };
        populate_postgres(execute, 5000).unwrap();
        assert!(statements.iter().all(|sql| sql.len() < INSERT_BYTES + 1024));
        let inserts: Vec<&String> = statements
            .iter()
            .filter(|sql| sql.starts_with("INSERT"))
            .collect();
        assert!(inserts.len() > 1);
        assert_eq!(
            inserts
                .iter()
                .map(|sql| sql.matches('(').count() - 1)
                .sum::<usize>(),
            5000
        );
        assert!(inserts[0].contains(&format!(
            "VALUES (1,{},'{}','{}'),(2,",
            k_for(1, 5000),
            value_for(1),
            pad_for(1)
        )));
        assert!(inserts.last().unwrap().contains("(5000,"));
    }

    #[test]
    fn redis_gets_every_key_once() {
        let mut keys = Vec::new();
        let pipeline = |commands: &[Vec<Vec<u8>>]| {
            keys.extend(commands.iter().map(|command| command[1].clone()));
            Ok(())
        };
        populate_redis(pipeline, 2500).unwrap();
        assert_eq!(keys.len(), 2500);
        assert_eq!(keys.last().unwrap(), b"looptax:000000002500");
    }

    #[test]
    fn a_failed_statement_is_named() {
        let execute = |sql: &str| {
            if sql.starts_with("INSERT") {
                Err(WireError::Closed {
                    action: "read the reply",
                })
            } else {
                Ok(0)
            }
        };
        let error = populate_mysql(execute, 10).unwrap_err();
        assert!(error.to_string().contains("insert rows 1 to 10"), "{error}");
    }
}
