//! The bundled script and style, which `cargo xtask web` builds from web/. The script and the style are checked in, and
//! this file embeds them.

use std::io::Read;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::DeflateDecoder;
use sha2::{Digest, Sha256};

/// The script that draws the charts. The build script compresses it, and the program contains the compressed form.
pub(super) static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let packed = include_bytes!(concat!(env!("OUT_DIR"), "/page.js.deflate"));
    let mut script = String::new();
    DeflateDecoder::new(packed.as_slice())
        .read_to_string(&mut script)
        .expect("the build script compressed a valid text");
    script
});
pub(super) const STYLE: &str = include_str!("../../assets/page.css");
/// The licence notices of the packages in the script.
pub(super) const NOTICES: &str = include_str!("../../assets/LICENSES.txt");

/// Returns the page's policy: the page may run its own script and use its own style, and may not load anything.
///
/// # Source
/// Content Security Policy Level 3, <https://www.w3.org/TR/CSP3/>, accessed 2026-11-21.
pub(super) fn policy() -> String {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(&SCRIPT),
        hash(STYLE)
    )
}

fn hash(source: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(source)))
}
