//! The static binary, and its debug information in a separate file.
//!
//! A static binary starts on every Linux whose kernel is new enough, with any C library or none. The paths of this
//! machine are replaced by fixed paths, so that the binary does not depend on the folder of the checkout.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::place::Place;
use crate::workspace::{cargo, run_to_success};

/// Limit that keeps the download small: a megabyte takes a second on a slow line.
const MAX_BYTES: u64 = 12_000_000;
/// Options of the linker: an id that is in both the binary and the debug file, packed tables, and only one copy of
/// identical functions and texts.
const LINK: [&str; 5] =
    ["--build-id=sha1", "--icf=all", "-O2", "-z,pack-relative-relocs", "--compress-debug-sections=zlib"];

/// Builds `looptax` and splits it into the program and its debug information.
pub(super) fn build(place: &Place) -> Result<()> {
    let mut command =
        cargo(&["build", "--quiet", "--locked", "--package=looptax", "--profile=dist", "--target", &place.target])?;
    let renamed = renamed_folders(place)?;
    command
        .env("CARGO_INCREMENTAL", "0")
        .env("SOURCE_DATE_EPOCH", &place.epoch)
        .env("CARGO_ENCODED_RUSTFLAGS", encode_rustc_flags(&renamed))
        .env("CFLAGS", encode_c_flags(&renamed));
    run_to_success(&mut command)?;
    split(
        &place.built.join("looptax"),
        &place.tree.join("looptax"),
        &place.artefacts.join(format!("{}.debug", place.stem())),
    )?;
    let n_bytes = fs::metadata(place.tree.join("looptax"))?.len();
    if n_bytes > MAX_BYTES {
        bail!("the binary has {n_bytes} bytes, more than {MAX_BYTES}");
    }
    Ok(())
}

/// Returns folders of this machine, each with the name that replaces it in the binary.
fn renamed_folders(place: &Place) -> Result<[(PathBuf, &'static str); 2]> {
    let cargo_home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".cargo")))
        .context("neither CARGO_HOME nor a home folder is set")?;
    Ok([(place.root.clone(), "/looptax"), (cargo_home.join("registry/src"), "/crates")])
}

/// Returns the compiler's options, in the form that cargo accepts without splitting them at spaces.
fn encode_rustc_flags(renamed: &[(PathBuf, &str)]) -> String {
    let mut words = vec!["-Ctarget-feature=+crt-static".to_owned()];
    words.extend(LINK.map(|word| format!("-Clink-arg=-Wl,{word}")));
    let remap = |(from, to): &(PathBuf, &str)| {
        let from = from.display();
        format!("--remap-path-prefix={from}={to}")
    };
    words.extend(renamed.iter().map(remap));
    words.join("\x1f")
}

/// Returns the options for C code. It needs no tables for unwinding: no panic passes through C code, and a debugger has
/// its own tables.
fn encode_c_flags(renamed: &[(PathBuf, &str)]) -> String {
    let tables = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"];
    let map = |(from, to): &(PathBuf, &str)| {
        let from = from.display();
        format!("-ffile-prefix-map={from}={to}")
    };
    let words = tables.map(str::to_owned).into_iter();
    let words: Vec<String> = words.chain(renamed.iter().map(map)).collect();
    words.join(" ")
}

/// Writes the program without the parts that only a debugger reads, and a second file with these parts. The build-id is
/// in both.
fn split(whole: &Path, program: &Path, debug: &Path) -> Result<()> {
    let mut keep = Command::new("objcopy");
    run_to_success(keep.arg("--only-keep-debug").arg(whole).arg(debug))?;
    let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
    link.push(debug);
    let mut strip = Command::new("objcopy");
    run_to_success(strip.arg("--strip-all").arg(link).arg(whole).arg(program))
}
