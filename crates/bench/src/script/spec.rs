//! The options about scripts on the command line: files with weights, and definitions of variables.
//!
//! Pure text; the caller reads the files.

use crate::script::error::SetError;
use crate::script::symbols::is_name;

/// A script's file, and how often it is chosen relative to the other scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighted {
    pub file: String,
    /// A script with the weight 0 is never chosen.
    pub weight: u32,
}

/// Parses `a.sql@3,b.sql`: files separated by commas, each with its weight after the last `@`. Without `@` the weight
/// is 1.
///
/// # Errors
/// [`SetError::NoFile`], [`SetError::Weight`], and [`SetError::NothingToRun`] if all weights are 0.
pub fn parse_spec(spec: &str) -> Result<Vec<Weighted>, SetError> {
    let list: Vec<Weighted> = spec.split(',').map(|part| weighted(part, spec)).collect::<Result<_, _>>()?;
    if list.iter().all(|script| script.weight == 0) {
        return Err(SetError::NothingToRun);
    }
    Ok(list)
}

fn weighted(part: &str, spec: &str) -> Result<Weighted, SetError> {
    let (file, weight) = part.rsplit_once('@').unwrap_or((part, "1"));
    if file.is_empty() {
        let spec = spec.to_owned();
        return Err(SetError::NoFile { spec });
    }
    // Without this check `parse` would accept a plus sign.
    let is_number = weight.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = weight.parse().ok().filter(|_| is_number);
    let weight = parsed.ok_or_else(|| SetError::Weight { file: file.to_owned(), found: weight.to_owned() })?;
    let file = file.to_owned();
    Ok(Weighted { file, weight })
}

/// A variable that is set on the command line, like pgbench's `-D name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Definition {
    /// Parses `name=value`.
    ///
    /// # Errors
    /// [`SetError::Definition`] if there is no `=`, or if the name contains characters other than letters, digits and
    /// underscores.
    pub fn parse(given: &str) -> Result<Self, SetError> {
        match given.split_once('=') {
            Some((name, text)) if is_name(name) && !text.contains('\0') => {
                Ok(Self { name: name.to_owned(), text: text.to_owned() })
            }
            _ => {
                let found = crate::script::place::word(given);
                Err(SetError::Definition { found })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(spec: &str, wanted: &[(&str, u32)]) {
        let found = parse_spec(spec).unwrap();
        let found: Vec<_> = found.iter().map(|s| (s.file.as_str(), s.weight)).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn splits_files_and_weights() {
        check("a.sql", &[("a.sql", 1)]);
        check("a.sql@3,b.sql@1", &[("a.sql", 3), ("b.sql", 1)]);
        check("a.sql@0,dir/b@home.sql@2", &[("a.sql", 0), ("dir/b@home.sql", 2)]);
    }

    #[test]
    fn refuses_what_is_no_file_or_weight() {
        for spec in ["", "a.sql,", "@3", ",", "a.sql@0", "a.sql@0,b.sql@0"] {
            assert!(parse_spec(spec).is_err(), "{spec}");
        }
        for spec in ["a@b", "a@", "a@-1", "a@+1", "a@1.5", "a@99999999999"] {
            assert!(matches!(parse_spec(spec), Err(SetError::Weight { .. })), "{spec}");
        }
    }

    #[test]
    fn reads_definitions() {
        let definition = Definition::parse("naïve_1=a=b").unwrap();
        assert_eq!((definition.name.as_str(), definition.text.as_str()), ("naïve_1", "a=b"));
        assert!(Definition::parse("empty=").is_ok());
        for given in ["x", "=1", "a b=1", ":x=1", ""] {
            assert!(Definition::parse(given).is_err(), "{given}");
        }
    }
}
