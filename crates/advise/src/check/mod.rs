//! Whether a switch to the socket would work, as points. Each point has a result, and describes how it was found.
//!
//! Takes facts, and returns points; the command line gathers the facts. A point that fails shows the necessary change,
//! if possible as a statement or a line to write.

mod absence;
mod account;
mod grants;
mod hba;
mod libpq;
mod path;
mod server;
mod tls;
mod unit;
mod verdict;

pub use absence::{Absence, Listener, absent};
pub use account::{
    ASKS_SYSTEM_CODE, AccountState, AccountStatement, Effective, MysqlAccount, MysqlLogin, Refusal, Undo,
    mysql_account, system_is_asked, with_password,
};
pub use grants::{Lacking, Rights, Server};
pub use hba::{Difference, Hba, HbaLine, Insertion, Known, Origin, SocketLine, postgres_logins, postgres_rules};
pub use libpq::conditions;
pub use path::{End, Reach, Step, is_powerful_group, reach, reach_server};
pub use server::{Burst, Confinement, backlog, confinement, losses, same_server};
pub use tls::{
    SealedSession, demanded_tls, ends_tls, measures, measures_proxy, measures_tls, sealed_sessions, secure_transport,
};
pub use unit::{Home, UnitSettings, unit_points};
pub use verdict::verdict;
