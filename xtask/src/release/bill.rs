//! The bill of materials: `looptax.cdx.json` lists every package in the binary.

use std::fs;

use anyhow::{Context, Result};

use super::place::Place;
use super::tools;
use crate::workspace::{metadata, run_to_success};

/// The name that the tool gives to its files, which it writes next to every manifest of the workspace.
const SCRATCH: &str = "looptax-release-bill";

/// Writes the bill to the files of the packages, without the path of the checkout.
pub(super) fn write(place: &Place) -> Result<()> {
    let mut command = tools::BILL.command(place)?;
    command.args(["cyclonedx", "--quiet", "--format", "json", "--target", &place.target]);
    command.args(["--spec-version", "1.5", "--override-filename", SCRATCH]);
    run_to_success(&mut command)?;
    for package in metadata()?.workspace_packages() {
        let path = package.manifest_path.with_file_name(SCRATCH.to_owned() + ".json");
        if *package.name == "looptax" {
            let text = fs::read_to_string(&path).context("no bill was written")?;
            let root = place.root.display().to_string();
            fs::write(place.tree.join("looptax.cdx.json"), text.replace(&root, ""))?;
        }
        fs::remove_file(&path)?;
    }
    Ok(())
}
