//! Options for making tables and views.

use super::destination::is_identifier;
use crate::FleetError;

/// The current version of the tables and views.
pub(super) const VERSION: u32 = 1;

#[derive(Debug, Clone, Default)]
pub struct InitOptions {
    /// ClickHouse's cluster, on whose machines the tables are replicated and distributed.
    pub cluster: Option<String>,
    /// Number of days after which rows are deleted.
    pub keep_days: Option<u32>,
}

impl InitOptions {
    /// # Errors
    /// [`FleetError::Destination`] for a cluster whose name cannot be written into SQL.
    pub(super) fn check(&self) -> Result<(), FleetError> {
        let is_fine = self.cluster.as_deref().is_none_or(is_identifier);
        is_fine.then_some(()).ok_or_else(|| FleetError::Destination {
            what: "a cluster's name can only have letters, digits and `_`".to_owned(),
        })
    }
}
