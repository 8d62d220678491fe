//! The real client that the load generator imitated: the load generator waited for answers as this client does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Client;

/// The real client that the user selected, and the client models that are most similar to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientLike {
    /// The client's name in commands: `mysqlnd`.
    pub name: String,
    /// The client's name in a sentence: "PHP's mysqlnd".
    pub library: String,
    /// The client model of each arm, in the order of the arms.
    pub models: Vec<Client>,
    /// Actions of the real client that the model leaves out; empty if there are none.
    #[serde(default)]
    pub differs: String,
}
