//! The machine's files and programs: how looptax opens, writes and starts them without trusting a name.
//!
//! looptax often runs as root and inspects folders, files and processes of other users. A name that another user
//! controls can lead to another file each time. Every other crate therefore opens files and starts programs through
//! this crate. This crate opens folders component by component, holds them open, and uses a file by the descriptor that
//! was checked. If another user could have written a program, this crate does not execute the program with rights that
//! this user lacks. All waits use [`waiting`], so that a signal ends them.
#![allow(clippy::disallowed_methods, reason = "this crate opens files and starts programs for all other crates")]

pub mod children;
mod control;
pub mod cpu;
pub mod discover;
pub mod entrance;
pub mod eyes;
mod folder;
pub mod kernel;
pub mod lent;
pub mod output;
pub mod own;
pub mod processes;
pub mod program;
pub mod read;
pub mod readers;
mod refusal;
pub mod rights;
pub mod seccomp;
mod source_tree;
mod user;
mod view;
mod viewer;
pub mod waiting;
mod walk;

pub use control::{Stranger, is_ours, is_privileged, is_writable_by_us_alone};
pub use folder::{FileId, Folder, plain, read_whole};
pub use refusal::{Refusal, refusal};
pub use source_tree::{SourceTree, source_tree};
pub use view::View;
pub use viewer::Viewer;
pub use walk::{Last, Link, Links, Walk, Walked};
