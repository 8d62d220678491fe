//! The kinds of attacks: a file each, and the list of them.
//!
//! A kind prepares what is hers once, and plays one round at a time: what is hers is as before at its start, looptax is
//! run once as root, and the judge looks afterwards.

mod finish;
mod hba;
mod home;
mod journal;
pub(super) mod kind;
mod moved;
mod names;
mod output;
mod password;
mod reading;
mod scene;
mod spool;
mod stack;
mod stop;
mod undo;
mod version;
mod view;
mod why;

use kind::Kind;

pub(super) const KINDS: &[Kind] = &[
    version::LINK,
    version::FOLDER,
    undo::UNDO,
    finish::FINISH,
    finish::PUT_BACK,
    output::OPENMETRICS,
    journal::JOURNAL,
    hba::HBA,
    names::NAMES,
    view::VIEW,
    reading::READING,
    password::PASSWORD,
    output::OUTPUTS,
    output::COMPARE,
    home::HOME,
    spool::SPOOL,
    stack::GUNICORN,
    stack::TITLE,
    stack::MODULES,
    moved::RUN,
    moved::TRIAL,
    why::WHY,
    stop::STOP,
];
