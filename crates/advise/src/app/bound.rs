//! A connection of an application, with its settings. `bind` makes it, and `lookup` and `change` use it.

use std::collections::BTreeMap;

use looptax_model::dsn::Condition;

use super::setting::Setting;
use super::table::{App, Role};

/// An application together with the settings of its connection.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    pub(crate) app: &'static App,
    pub(crate) roles: BTreeMap<Role, Setting>,
    /// For each setting that is a variable, the value of the variable, if the environment is known.
    pub(crate) resolved: BTreeMap<Role, String>,
    pub(crate) is_environment: bool,
    /// The unit or container that provides the environment, if the settings are variables of a unit or container.
    pub(crate) carrier: Option<&'static App>,
    /// Conditions that libpq requires because of other settings.
    pub(super) conditions: Vec<Condition>,
    /// Why another connection may be used instead.
    pub(super) doubt: Option<String>,
    /// Whether another setting shows the kind of the server.
    pub(super) is_kind_said: bool,
    /// Whether any setting shows the kind of the server.
    pub(super) is_kind_known: bool,
    /// Sort key for the connection's place in the file: combines the line and the index of the setting that identifies
    /// the connection.
    pub(super) anchor: usize,
    pub(super) label: String,
}
