//! Addresses of databases: the kinds of server, the arms, and the parts of a URL or keyword string, some of which are
//! secret.
//!
//! The code here turns text into values: it does not connect, read a file or look at the machine. All code that handles
//! an address calls this module.

mod address;
mod arm;
mod keywords;
mod kind;
mod libpq;
mod mask;
mod query;
mod scheme;
mod secret;
mod secret_names;
mod service;
mod shown;
mod unspoken;

pub use address::{Address, AddressError, is_address, libpq_parameters};
pub use arm::Arm;
pub use keywords::without_secrets;
pub use kind::{Facts, Form, Kind, LoginSetting, Private, Protocol, Spelling, Usual};
pub use libpq::{Condition, OverSocket, PARAMETERS, Parameter, parameter_of};
pub use mask::{MASK, masked, secrets_in};
pub use query::{Pair, Query};
pub use secret::Secret;
pub use service::{ServiceError, service_in};
pub use shown::shown;
pub use unspoken::Unspoken;
