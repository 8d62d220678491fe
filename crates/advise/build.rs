//! Packs the tables of `data/` for the program. People write them as TOML. The program gets JSON, which it reads
//! anyway, so that it does not need another format for its own tables.
#![allow(clippy::disallowed_methods, reason = "reads the files that it builds in")]

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;

const TABLES: [&str; 6] = ["apps", "calls", "clients", "connects", "dialects", "proved"];

#[allow(clippy::print_stdout, reason = "a build script talks to cargo on its standard output")]
fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    for name in TABLES {
        let source = format!("data/{name}.toml");
        println!("cargo::rerun-if-changed={source}");
        let table: toml::Value = toml::from_str(&fs::read_to_string(&source)?)?;
        let packed = File::create(Path::new(&folder).join(format!("{name}.json.deflate")))?;
        let mut packer = DeflateEncoder::new(packed, Compression::best());
        serde_json::to_writer(&mut packer, &table)?;
        packer.finish()?;
    }
    Ok(())
}
