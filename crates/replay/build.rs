//! Writes the files of `data/`, which people write as TOML, as JSON: the program reads that anyway.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

const FILES: [&str; 5] = ["percona", "dimitri", "moonen", "wordpress", "kawin"];

#[allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a build script talks to cargo on its standard output, and writes what is made anew"
)]
fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    for name in FILES {
        let source = format!("data/{name}.toml");
        println!("cargo::rerun-if-changed={source}");
        let data: toml::Value = toml::from_str(&fs::read_to_string(&source)?)?;
        let made = Path::new(&folder).join(format!("{name}.json"));
        fs::write(made, serde_json::to_vec(&data)?)?;
    }
    Ok(())
}
