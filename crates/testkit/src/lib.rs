//! For tests only: fake servers, scratch folders, a runner for the command line.

pub mod replay;
