//! Configuration files of applications: the servers to which they connect, and the new text for a switch to the socket.
//!
//! Takes texts, and returns connections. Opens and runs nothing. Every text is untrusted, and is read only up to
//! limits. `blocks`, `code`, `command`, `lines`, `shell`, `web`, `xml` and `yaml` turn a file into settings with their
//! places. `bind` groups the settings into connections by the table (`data/apps.toml`), `lookup` and `place` find the
//! transport of each connection, and `change` makes the lines to write. `drivers` finds connections in the driver calls
//! of a program's text. Called by the command line.

mod bind;
mod blocks;
mod bound;
mod branches;
mod change;
mod code;
mod command;
mod containers;
mod drivers;
mod format;
mod found;
mod guess;
mod included;
mod inside;
mod keys;
mod kind_words;
mod kinds;
mod library;
mod line_parts;
mod line_sections;
mod lines;
mod lists;
mod lookup;
mod manifest;
mod pattern;
mod place;
mod placed;
mod placeholder;
mod pool;
mod provider;
mod quotes;
mod read;
mod rewrite;
mod section;
mod setting;
mod share;
mod shell;
mod signs;
mod source;
mod sqlite;
mod table;
mod text_of_dsn;
mod url;
mod url_form;
mod web;
mod whole;
mod xml;
mod yaml;

pub use change::SET_ELSEWHERE;
pub use code::Included;
pub use containers::services;
pub use found::{Credentials, Found, Reading};
pub use included::included;
pub use inside::{Brought, Inside, Loopback, Neighbour, handed_to, has_volume, is_loopback};
pub use manifest::libraries;
pub use pool::Pool;
pub use provider::{Assigned, Provider, assign, assigned, drop_in};
pub use read::{
    is_configuration, is_manifest, is_worth_reading, may_name_a_server, named_ports, names, read, read_as, usual_files,
    variables,
};
pub use rewrite::{Moves, Rewrite, Variable, rewritten};
pub use section::Section;
pub use setting::Problem;
pub use share::{
    Beside, Share, Unit, by_hand, follow, publish_by_hand, read_services, resources, shares, shares_of_units,
    usual_folder,
};
pub use source::Source;
pub use table::{NOTHING_TO_DO, texts_beside};
pub use text_of_dsn::address_of;
pub use web::{NamedPort, Statement, statements};
pub use whole::Whole;
