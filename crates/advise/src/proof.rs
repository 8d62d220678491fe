//! The dialects with which real drivers have connected. `cargo lab dialects --write` writes this data.
//!
//! Each proof contains a text of its dialect. A test compares this text with the dialect and so detects later changes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use looptax_model::dsn::Kind;
use serde::Deserialize;

use crate::Fields;
use crate::packed::{packed, unpack};

const TABLE: &[u8] = packed!("proved");

/// A driver that has connected with the texts of a dialect, as the server confirmed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The driver with its version: `PyMySQL 1.2.4`.
    pub driver: String,
    pub language: String,
    pub servers: Vec<String>,
    /// The day of the proof: `2026-11-21`.
    pub date: String,
    /// The number of URLs with special characters in their values that were tried.
    pub urls: u32,
    pub connected: u32,
    /// The number of these URLs that the dialect itself declares impossible.
    pub refused: u32,
    sample: String,
}

/// Proofs by kind of server, then by name of the dialect.
type Proofs = BTreeMap<String, BTreeMap<String, Proof>>;

fn proofs() -> &'static Proofs {
    static PROOFS: LazyLock<Proofs> = LazyLock::new(|| unpack(TABLE));
    &PROOFS
}

impl Proof {
    /// Finds the proof of a dialect. `text` is the dialect's text for [`sample`]; a proof for another text is ignored.
    pub(crate) fn find(kind: Kind, name: &str, text: &str) -> Option<&'static Self> {
        let proof = proofs().get(kind.name())?.get(name)?;
        (proof.sample == text).then_some(proof)
    }
}

/// The fields of the sample texts. `cargo lab dialects` uses the same fields.
pub(crate) fn sample() -> Fields {
    Fields {
        user: Some("u'\"\\ü".to_owned()),
        password: Some("p@/:%?#;$'\"\\ü".to_owned()),
        database: Some("7".to_owned()),
        socket: "/run/a b/.s.PGSQL.5432".to_owned(),
        folder: "/run/a b".to_owned(),
        port: 5432,
        options: None,
        page: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialects;

    #[test]
    fn each_proof_is_of_a_dialect_that_has_not_changed_since() {
        for (kind, proofs) in proofs() {
            for (name, proof) in proofs {
                let is_it = |it: &&crate::Dialect| it.kind.name() == kind && it.name == *name;
                let dialect = dialects().iter().find(is_it);
                let dialect = dialect.unwrap_or_else(|| panic!("no dialect {kind} {name}"));
                assert_eq!(
                    dialect.text(&sample()),
                    proof.sample,
                    "{kind} {name} has changed: cargo lab dialects {name} --write"
                );
                assert!(proof.connected > 0 && proof.connected + proof.refused == proof.urls);
            }
        }
    }
}
