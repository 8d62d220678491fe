//! An arm with its proof, before its speed is judged.
//!
//! Made by the live run, or from a record. Read by `judged` and by the modules that `judged` calls.

use crate::record::{Arm, Proof};

/// An arm before its speed is judged: its address, and how its transport was proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvedArm {
    /// `unix`, `tcp`, ….
    pub name: String,
    /// Socket path or `ip:port`.
    pub endpoint: String,
    /// Whether every connection was proved; `false` makes the comparison invalid.
    pub verified: bool,
    pub proof: Proof,
}

impl From<&Arm> for ProvedArm {
    fn from(arm: &Arm) -> Self {
        Self {
            name: arm.name.clone(),
            endpoint: arm.endpoint.clone(),
            verified: arm.verified,
            proof: arm.proof.clone(),
        }
    }
}
