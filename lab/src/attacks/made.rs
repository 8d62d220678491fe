//! The files that are made before the attacks begin: root's programs that every user may run, and the file for marks.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::ground::{Ground, write};
use crate::workspace::run_to_success;

/// Names by which looptax recognises servers. Root's programs with these names, which every user may run, imitate the
/// servers.
pub(super) const SERVERS: [&str; 6] = ["redis-server", "mariadbd", "postgres", "memcached", "pgbouncer", "php-fpm8.2"];

const SOURCE: &str = include_str!("../../data/attacks/marker.rs");

/// Builds the programs in their folders.
pub(super) fn build(ground: &Ground) -> Result<()> {
    let own = std::env::current_exe().context("the lab's own program has no path")?;
    fs::copy(own, ground.program("lab")).context("cannot copy the lab's own program")?;
    let source = ground.at("judge").join("marker.rs");
    write(&source, SOURCE.as_bytes(), 0o644)?;
    write(&ground.at("judge").join("ink"), b"", 0o222)?;
    let compile = |name: &str, words: &[&str]| compile(ground, &source, name, words);
    compile("stand-in", &[])?;
    for name in SERVERS {
        fs::copy(ground.program("stand-in"), ground.program(name))?;
    }
    compile("marker", &["--cfg=marks"])?;
    compile("libmarker.so", &["--crate-type=cdylib", "--cfg=loaded"])?;
    let library = format!("-L{}", ground.at("programs").display());
    compile(
        "needs-library",
        &["--cfg=needs", "-Clink-arg=-Wl,--no-as-needed,-rpath,$ORIGIN", &library, "-ldylib=marker"],
    )
}

fn compile(ground: &Ground, source: &Path, name: &str, words: &[&str]) -> Result<()> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command
        .args(["--edition=2024", "--crate-name=marker", "-Copt-level=1"])
        .args(["-Cpanic=abort", "-Cstrip=symbols", "-Awarnings"])
        .args(words)
        .arg("-o")
        .arg(ground.program(name))
        .arg(source)
        .env("LOOPTAX_INK", ground.at("judge").join("ink"));
    run_to_success(&mut command)
}
