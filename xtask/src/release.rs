//! `cargo xtask release`: makes every file of a release, in `target/release-artefacts`.
//!
//! All steps are in one list; each step is a separate file below `release`. The release workflow adds the steps that
//! need a network: signatures and the upload. The same commit gives the same bytes in every folder, so that everybody
//! with the same compiler and C library can check the published files.

mod bill;
mod binary;
mod changes;
mod image;
mod notices;
mod packages;
mod place;
mod sums;
mod tools;
mod tree;
mod trial;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};

use place::Place;

use crate::{docs, workspace};

type Step = (&'static str, fn(&Place) -> Result<()>);

const STEPS: &[Step] = &[
    ("static binary", binary::build),
    ("empty root", trial::run),
    ("third-party notices", notices::write),
    ("bill of materials", bill::write),
    ("documents", |_| docs::run(&workspace::looptax()?)),
    ("files of the packages", tree::fill),
    ("tarball", tree::pack),
    ("compressed documents", tree::compress_docs),
    ("deb", packages::build_deb),
    ("rpm", packages::build_rpm),
    ("container image", image::build),
    ("checksums", sums::write),
    ("release notes", changes::write),
    ("names in README", sums::check_readme),
];

/// Makes all artefacts. Unless `is_dry_run` is true, the checkout must be clean, and its commit must have the version's
/// tag.
///
/// `tools` is the folder of the packaging programs; missing programs are installed there.
pub(crate) fn run(is_dry_run: bool, tools: Option<PathBuf>) -> Result<()> {
    let place = Place::find(tools)?;
    if !is_dry_run {
        place.refuse_untagged()?;
    }
    for folder in [&place.artefacts, &place.tree, &place.gzipped, &place.image] {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder)?;
    }
    for (name, step) in STEPS {
        let start = Instant::now();
        step(&place).with_context(|| format!("step {name} failed"))?;
        println!("== {name}: {:.1} s", start.elapsed().as_secs_f64());
    }
    print!("{}", sums::list(&place)?);
    Ok(())
}
