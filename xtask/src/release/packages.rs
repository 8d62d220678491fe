//! The packages for Debian, Ubuntu and for the families of Fedora and openSUSE.
//!
//! The contents and names of the packages are in the package's own manifest, where the packagers look for them.

use anyhow::Result;

use super::place::Place;
use super::tools;
use crate::workspace::run_to_success;

/// Builds the deb of the files that are there.
pub(super) fn build_deb(place: &Place) -> Result<()> {
    let mut command = tools::DEB.command(place)?;
    command.args(["--quiet", "--no-build", "--no-strip", "--locked", "--package=looptax"]);
    run_to_success(command.arg("--output").arg(&place.artefacts))
}

/// Builds the rpm of the same files.
pub(super) fn build_rpm(place: &Place) -> Result<()> {
    let mut command = tools::RPM.command(place)?;
    command.args(["--package", "crates/cli", "--payload-compress", "xz"]);
    command.args(["--target", &place.target]);
    command.arg("--source-date").arg(&place.epoch);
    run_to_success(command.arg("--output").arg(&place.artefacts))
}
