//! The commands, one file for each: from its settings to its exit code.

pub(crate) mod begin;
pub(crate) mod capture;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod documents;
pub(crate) mod dsn;
pub(crate) mod features;
pub(crate) mod find;
pub(crate) mod fleet;
pub(crate) mod gate;
pub(crate) mod help;
pub(crate) mod internal;
pub(crate) mod mcp;
pub(crate) mod minute;
mod program;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod storm;
pub(crate) mod switch;
pub(crate) mod trial;
pub(crate) mod watch;
pub(crate) mod why;
