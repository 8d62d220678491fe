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
    /// What those of them that are variables have as their values, where the environment is known.
    pub(crate) resolved: BTreeMap<Role, String>,
    pub(crate) is_environment: bool,
    /// What carries the environment that it was found in.
    pub(crate) carrier: Option<&'static App>,
    /// What libpq is told to insist on, in settings beside these.
    pub(super) conditions: Vec<Condition>,
    /// Why it may not be this connection that counts.
    pub(super) doubt: Option<String>,
    /// Whether a setting beside it says of which kind its server is.
    pub(super) is_kind_said: bool,
    /// Whether the kind of its server is said anywhere.
    pub(super) is_kind_known: bool,
    /// Where it stands: its line, and of settings in one line which.
    pub(super) anchor: usize,
    pub(super) label: String,
}
