//! An application with its connection's settings, as `bind` finds them and `lookup` and `change` use them.

use std::collections::BTreeMap;

use looptax_model::dsn::Condition;

use super::setting::Setting;
use super::table::{App, Role};

/// An application with the settings that are its connection.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    pub(crate) app: &'static App,
    pub(crate) roles: BTreeMap<Role, Setting>,
    /// The values of those settings that are variables, if the environment is known.
    pub(crate) resolved: BTreeMap<Role, String>,
    pub(crate) is_environment: bool,
    /// The carrier of the environment that it was found in: a unit, a container.
    pub(crate) carrier: Option<&'static App>,
    /// Conditions that other settings make libpq insist on.
    pub(super) conditions: Vec<Condition>,
    /// Why another connection may count instead.
    pub(super) doubt: Option<String>,
    /// Whether another setting gives the kind of its server.
    pub(super) is_kind_said: bool,
    /// Whether any setting gives the kind of its server.
    pub(super) is_kind_known: bool,
    /// Its place: its line, and its number among the settings of this line.
    pub(super) anchor: usize,
    pub(super) label: String,
}
