//! A real client whose way of waiting the load generator imitated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Client;

/// The real client that the user selected, and the client models that come closest to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientLike {
    /// `mysqlnd`.
    pub name: String,
    /// Its name as used in a sentence: "PHP's mysqlnd".
    pub library: String,
    /// The client model of each arm, in the order of the arms.
    pub models: Vec<Client>,
    /// Actions of the real client that the model leaves out; empty if there are none.
    #[serde(default)]
    pub differs: String,
}
