//! An application together with the settings of its connection, as `bind` finds them and `lookup` and `change` use
//! them.

use std::collections::BTreeMap;

use looptax_model::dsn::Condition;

use super::setting::Setting;
use super::table::{App, Role};

/// An application together with the settings of its connection.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    pub(crate) app: &'static App,
    pub(crate) roles: BTreeMap<Role, Setting>,
    /// The values of settings that are variables, if the environment is known.
    pub(crate) resolved: BTreeMap<Role, String>,
    pub(crate) is_environment: bool,
    /// The carrier that provides the environment (a unit or a container), if the settings are variables of one.
    pub(crate) carrier: Option<&'static App>,
    /// Conditions on which libpq insists because of other settings.
    pub(super) conditions: Vec<Condition>,
    /// Why another connection may be used instead.
    pub(super) doubt: Option<String>,
    /// Whether another setting shows the kind of the server.
    pub(super) is_kind_said: bool,
    /// Whether any setting shows the kind of the server.
    pub(super) is_kind_known: bool,
    /// Sort key for its place in the file: the line of the setting that anchors it, and the number of that setting.
    pub(super) anchor: usize,
    pub(super) label: String,
}
