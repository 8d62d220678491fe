//! Compresses the page's script: as plain text it would be a twentieth of the whole program.
#![allow(clippy::disallowed_methods, reason = "reads the files that it builds in")]

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;

const SCRIPT: &str = "assets/page.js";

#[allow(clippy::print_stdout, reason = "a build script talks to cargo on its standard output")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={SCRIPT}");
    let folder = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    let packed = File::create(Path::new(&folder).join("page.js.deflate"))?;
    let mut packer = DeflateEncoder::new(packed, Compression::best());
    packer.write_all(&fs::read(SCRIPT)?)?;
    packer.finish()?;
    Ok(())
}
