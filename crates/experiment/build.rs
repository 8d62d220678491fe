//! Converts the files of `data/`, which are written by hand in TOML, to JSON, because the program has a JSON reader
//! anyway. Also lists the files that have an `article`.
#![allow(
    clippy::disallowed_methods,
    reason = "reads the files that become part of the program, and writes the generated files"
)]

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

#[allow(clippy::print_stdout, reason = "a build script talks to cargo on its standard output")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=data");
    let folder = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    let mut publications = Vec::new();
    for entry in fs::read_dir("data")? {
        let source = entry?.path();
        let data: toml::Value = toml::from_str(&fs::read_to_string(&source)?)?;
        let name = source.with_extension("json");
        let name = name.file_name().ok_or("it has a name")?;
        let made = Path::new(&folder).join(name);
        fs::write(&made, serde_json::to_vec(&data)?)?;
        if data.get("article").is_some() {
            publications.push(made);
        }
    }
    publications.sort();
    let included: Vec<String> =
        publications.iter().map(|it| format!("include_bytes!({:?})", it.to_string_lossy())).collect();
    let list = format!("&[{}]", included.join(", "));
    fs::write(Path::new(&folder).join("publications.rs"), list)?;
    Ok(())
}
