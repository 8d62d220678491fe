//! `cargo xtask eyes`: compiles the programs for the kernel with clang; the results are checked in.
//!
//! So building looptax needs no clang. Hashes show whether an object file was made from the present source. If the
//! clang that made it is installed, the check also compiles the source again.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::stale::EYES;
use crate::workspace::{root, run_to_success};

const FOLDER: &str = "crates/host/src/eyes/kernel";
/// The only version of clang to use, since other versions compile the same source to other bytes. Debian 12 has it.
const CLANG: &str = "clang-14";
const STRIP: &str = "llvm-strip-14";

/// The programs of `watch`, then those of `watch -w`.
const NAMES: [&str; 2] = ["turns.bpf", "bytes.bpf"];

/// Compiles the programs, or checks that the object files were made from the present sources.
pub(crate) fn run(is_check: bool) -> Result<()> {
    let root = root()?;
    let folder = root.join(FOLDER);
    if !is_check {
        NAMES.iter().try_for_each(|name| compile(&root, name, &folder.join(format!("{name}.o"))))?;
        return EYES.write(&root);
    }
    EYES.check(&root)?;
    if Command::new(CLANG).arg("--version").output().is_err() {
        println!("only hashes were compared: {CLANG} is not installed");
        return Ok(());
    }
    let again = tempfile::tempdir()?;
    for name in NAMES {
        let object = format!("{name}.o");
        let compiled = again.path().join(&object);
        compile(&root, name, &compiled)?;
        if fs::read(&compiled)? != fs::read(folder.join(&object)).context("cannot read the object")? {
            bail!("{CLANG} makes a different {object} from {FOLDER}: run `cargo xtask eyes`");
        }
    }
    Ok(())
}

/// Compiles in the folder of the sources, so that the object file contains no path of this machine.
fn compile(root: &Path, name: &str, object: &Path) -> Result<()> {
    let mut clang = Command::new(CLANG);
    clang.args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-D__TARGET_ARCH_x86", "-Wall", "-Werror"]);
    clang.args(["-fdebug-compilation-dir=.", "-c", &format!("{name}.c"), "-o"]).arg(object);
    run_to_success(clang.current_dir(root.join(FOLDER)))?;
    run_to_success(Command::new(STRIP).arg("-g").arg(object))
}
