//! The kinds of attacks: one file for each kind, and the list of all kinds.
//!
//! A kind prepares the attacker's files once, and then runs one round at a time: at the start of a round the attacker's
//! files are restored, looptax runs once as root, and then the judge checks the result.

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
