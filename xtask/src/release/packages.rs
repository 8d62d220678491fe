//! The packages for Debian and Ubuntu, and for distributions related to Fedora and openSUSE.
//!
//! The manifest of the package `looptax` defines the contents and names of both packages, because the packaging
//! programs read them there.

use anyhow::Result;

use super::place::Place;
use super::tools;
use crate::workspace::run_to_success;

/// Builds the deb from the files that other steps have made.
pub(super) fn build_deb(place: &Place) -> Result<()> {
    let mut command = tools::DEB.command(place)?;
    command.args(["--quiet", "--no-build", "--no-strip", "--locked", "--package=looptax"]);
    run_to_success(command.arg("--output").arg(&place.artefacts))
}

/// Builds the rpm from the same files.
pub(super) fn build_rpm(place: &Place) -> Result<()> {
    let mut command = tools::RPM.command(place)?;
    command.args(["--package", "crates/cli", "--payload-compress", "xz"]);
    command.args(["--target", &place.target]);
    command.arg("--source-date").arg(&place.epoch);
    run_to_success(command.arg("--output").arg(&place.artefacts))
}
