//! The bundled script and style: built from web/ by `cargo xtask web`, checked in, embedded here.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// Draws the charts.
pub(super) const SCRIPT: &str = include_str!("../../assets/page.js");
/// How the page looks.
pub(super) const STYLE: &str = include_str!("../../assets/page.css");
/// The notices of what is in the script.
pub(super) const NOTICES: &str = include_str!("../../assets/LICENSES.txt");

/// What the page may do: run its own script, use its own style, and nothing from anywhere.
///
/// # Source
/// Content Security Policy Level 3, <https://www.w3.org/TR/CSP3/>, accessed 2026-11-21.
pub(super) fn policy() -> String {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    )
}

fn hash(source: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(source)))
}
