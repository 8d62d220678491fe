//! The static binary, and its debug information in a separate file.
//!
//! Static means: it starts on every Linux whose kernel is new enough, whatever its C library is, or without one. The
//! paths of this machine are replaced by fixed ones, so that the folder of the checkout leaves no trace.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::place::Place;
use crate::workspace::{cargo, run_to_success};

/// The download stays small: a megabyte is a second on a slow line.
const MAX_BYTES: u64 = 12_000_000;
/// The linker's part: an id that binary and debug file share, tables that are packed, and functions and texts that are
/// alike only once.
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

/// Folders of this machine with the names that the binary has for them.
fn renamed_folders(place: &Place) -> Result<[(PathBuf, &'static str); 2]> {
    let cargo_home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".cargo")))
        .context("neither CARGO_HOME nor a home folder is set")?;
    Ok([(place.root.clone(), "/looptax"), (cargo_home.join("registry/src"), "/crates")])
}

/// The compiler's words, in the form that cargo takes without splitting at spaces.
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

/// C is built without tables for unwinding: no panic goes through it, and a debugger has its own.
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

/// Writes the program without what only a debugger reads, and a second file with it; the build-id is in both.
fn split(whole: &Path, program: &Path, debug: &Path) -> Result<()> {
    let mut keep = Command::new("objcopy");
    run_to_success(keep.arg("--only-keep-debug").arg(whole).arg(debug))?;
    let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
    link.push(debug);
    let mut strip = Command::new("objcopy");
    run_to_success(strip.arg("--strip-all").arg(link).arg(whole).arg(program))
}
