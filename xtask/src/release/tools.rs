//! Packaging programs from crates.io, each in a fixed version, in a separate folder.
//!
//! A program that is missing in the folder is built; none is put on PATH.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::place::Place;
use crate::workspace::{cargo, run_to_success};

pub(super) struct Tool {
    name: &'static str,
    version: &'static str,
}

pub(super) const DEB: Tool = Tool { name: "cargo-deb", version: "3.8.0" };
pub(super) const RPM: Tool = Tool { name: "cargo-generate-rpm", version: "0.21.1" };
pub(super) const BILL: Tool = Tool { name: "cargo-cyclonedx", version: "0.5.9" };

impl Tool {
    /// Returns a command that starts the tool in the workspace, with the time of the commit as the time of its files.
    pub(super) fn command(&self, place: &Place) -> Result<Command> {
        let path = self.installed(place)?;
        let mut command = Command::new(path);
        command.current_dir(&place.root).env("SOURCE_DATE_EPOCH", &place.epoch);
        Ok(command)
    }

    fn installed(&self, place: &Place) -> Result<PathBuf> {
        let path = place.tools.join("bin").join(self.name);
        if !path.exists() {
            let tools = place.tools.to_str().context("the path of the tools' folder is not UTF-8")?;
            let Self { name, version } = self;
            run_to_success(&mut cargo(&[
                "install",
                "--quiet",
                "--locked",
                "--root",
                tools,
                name,
                "--version",
                version,
            ])?)?;
        }
        Ok(path)
    }
}
