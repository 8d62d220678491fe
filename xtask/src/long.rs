//! Tests that measure for so long that only `make test-all` runs them. They are listed in tests/long.toml.

use std::fs;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::workspace::root;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    long: Vec<Long>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Long {
    test: String,
    #[allow(dead_code, reason = "read by people; here only held to be there")]
    seconds: u32,
    #[allow(dead_code, reason = "read by people; here only held to be there")]
    instead: String,
}

pub(crate) fn list() -> Result<Vec<String>> {
    read(&fs::read_to_string(root()?.join("tests/long.toml"))?)
}

fn read(text: &str) -> Result<Vec<String>> {
    let list: List = toml::from_str(text).context("tests/long.toml is invalid")?;
    Ok(list.long.into_iter().map(|it| it.test).collect())
}

/// Prints which tests were left out; fails if a listed test does not exist.
pub(crate) fn tell(long: &[String], n_left_out: usize) -> Result<()> {
    if n_left_out != long.len() {
        bail!(
            "tests/long.toml lists {} tests, but only {n_left_out} of these names were found: remove or correct names \
             without a test",
            long.len()
        );
    }
    for test in long {
        println!("left to `make test-all`: {test}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_test_has_a_time_and_a_shorter_one_in_its_place() {
        let whole = "[[long]]\ntest = 'a::b'\nseconds = 50\ninstead = 'a::c'";
        assert_eq!(read(whole).unwrap(), ["a::b"]);
        assert!(read("[[long]]\ntest = 'a::b'").is_err());
    }

    #[test]
    fn a_name_that_is_no_test_is_an_error() {
        let long = ["a::b".to_owned()];
        assert!(tell(&long, 1).is_ok());
        assert!(tell(&long, 0).is_err());
    }
}
