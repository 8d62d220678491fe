//! Makes JSON of the table of layers, which people write as TOML: the program reads JSON anyway.
#![allow(
    clippy::disallowed_methods,
    reason = "reads the files that it builds in"
)]

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::path::Path;

#[allow(
    clippy::print_stdout,
    reason = "a build script talks to cargo on its standard output"
)]
fn main() -> Result<(), Box<dyn Error>> {
    const SOURCE: &str = "data/layers.toml";
    println!("cargo::rerun-if-changed={SOURCE}");
    let folder = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    let table: toml::Value = toml::from_str(&fs::read_to_string(SOURCE)?)?;
    let file = File::create(Path::new(&folder).join("layers.json"))?;
    serde_json::to_writer(file, &table)?;
    Ok(())
}
