//! The meta commands: their names, and the errors for other names.
//!
//! `parse` reads the arguments.

use std::ops::Range;

use looptax_model::failure::nearest;

use crate::script::error::ScriptError;
use crate::script::fault::{ParseFault, SUPPORTED};
use crate::script::place::word;
use crate::script::symbols::Source;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    Set,
    If,
    Elif,
    Else,
    Endif,
    Sleep,
    StartPipeline,
    EndPipeline,
    SyncPipeline,
}

/// Finds the command `found`, whose backslash and name are at `span`.
pub(crate) fn find(source: Source<'_>, found: &str, span: Range<usize>) -> Result<Command, ScriptError> {
    let is = |name: &str| found.eq_ignore_ascii_case(name);
    let commands = [
        Command::Set,
        Command::If,
        Command::Elif,
        Command::Else,
        Command::Endif,
        Command::Sleep,
        Command::StartPipeline,
        Command::EndPipeline,
        Command::SyncPipeline,
    ];
    if let Some((_, command)) = SUPPORTED.iter().zip(commands).find(|(name, _)| is(name)) {
        return Ok(command);
    }
    let (what, because, instead) = match found {
        _ if is("gset") || is("aset") => (
            if is("gset") { "\\gset" } else { "\\aset" },
            "looptax counts and checks answers, but does not store their values",
            "end the statement with `;` and set the variable with an expression",
        ),
        _ if is("shell") || is("setshell") => (
            if is("shell") { "\\shell" } else { "\\setshell" },
            "looptax starts no programs while it measures",
            "run the program first, and pass its result as a definition",
        ),
        _ => {
            let fault = ParseFault::UnknownCommand { found: word(found), nearest: nearest(found, SUPPORTED) };
            return Err(source.error(span, fault));
        }
    };
    let fault = ParseFault::Refused { what, because, instead };
    Err(source.error(span, fault))
}
