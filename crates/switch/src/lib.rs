//! Moves applications to the socket: replaces their files as a whole, keeps a journal, and can undo each switch.
//!
//! Only this crate writes files that looptax did not create. `plan` and `stack` decide what to write; `carry` writes
//! the files, makes programs read them, and either proves that the switch works or puts the old files back. [`Work`]
//! stores the planned text first, and records each step in a journal on disk before the step is done. After an
//! interruption the stored text and the journal show the state of the files ([`Switch::standing`]), and the switch can
//! be finished or undone.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests create files and start programs"))]

mod before;
mod burst;
mod by_text;
mod carry;
mod clock;
mod create;
mod data_folder;
pub mod diagnose;
mod digest;
mod error;
mod fallen;
mod file;
pub mod fix;
mod follow;
mod journal;
mod line;
mod list;
mod plan;
mod proof;
mod reload;
mod remark;
mod replace;
mod server;
mod settle;
mod stack;
mod step;
mod subject;
mod taken_out;
mod text;
mod visits;
mod work;

pub use burst::Burst;
pub use by_text::{MOST_FILE_BYTES, look_by_text};
pub use carry::{Carried, Order, Undo, Unproved, carry_out, undo};
pub use data_folder::Kept;
pub use error::SwitchError;
pub use fallen::{Fallen, fallen_back};
pub use file::Original;
pub use journal::{End, Fix, MovedFrom, ProgramOf, ServerOf, StackOf, Step};
pub use line::{Commands, Line, ServerCommands};
pub use list::{ComingBack, Switch, coming_back, list, open};
pub use plan::{FileToSwitch, Plan, Planned, Restart, Subject, Wish};
pub use proof::{Application, Judged, Judgement, Kin, Page, Proof, Watch, Watched, Watches};
pub use reload::usual_reload;
pub use remark::remarks;
pub use stack::{CopyPage, CopyWish, SiteCopy, pool_tests};
pub use step::Tell;
pub use subject::{files_of, look_at};
pub use work::{Edited, Named, Work};
