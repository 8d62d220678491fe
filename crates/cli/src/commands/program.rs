//! A check of the program that `run` or `trial` will start.

use std::ffi::OsString;

use looptax_model::failure::Failure;

/// Refuses a program name that begins with a dash: it is a mistyped option of `command`.
///
/// # Errors
/// A usage failure that names the mistyped option.
pub(super) fn check_name(command: &str, words: &[OsString]) -> Result<(), Failure> {
    let name = words.first().map(|it| it.to_string_lossy());
    match name.filter(|it| it.starts_with('-')) {
        None => Ok(()),
        Some(name) => Err(Failure::usage(
            format!("`{command}` has no option `{name}`"),
            format!("`looptax {command} --help` lists the options; put them before the program and its arguments"),
        )),
    }
}
