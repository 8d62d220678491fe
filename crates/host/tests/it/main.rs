//! The room's public behaviour, on this machine's own files and programs.

mod program;
