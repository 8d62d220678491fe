//! Starts the static binary in an empty root folder: without a C library, `/etc/passwd` or any other program.
//!
//! The root folder has `/proc` and `/dev` from the kernel, and an empty `/tmp`. It is in separate namespaces, so the
//! trial needs no rights.

use std::fs;
use std::process::Command;

use anyhow::{Result, bail};

use super::place::{Place, ask};

/// Makes its first argument the root folder and starts looptax there, without this machine's environment.
const ENTER: &str = "mount --rbind /dev \"$1/dev\" && mount -t proc proc \"$1/proc\" && root=$1 && shift && \
                     exec env -i \"$(command -v chroot)\" \"$root\" /looptax \"$@\"";
/// This command ends with a verdict or with an error.
const COMPARE: &str = "compare echo --connections 1 --placement same --quick --yes --quiet --no-history";

/// Fails unless the program prints its version and measures in an empty root folder.
pub(super) fn run(place: &Place) -> Result<()> {
    let root = tempfile::tempdir()?;
    for folder in ["dev", "proc", "tmp"] {
        fs::create_dir(root.path().join(folder))?;
    }
    fs::copy(place.tree.join("looptax"), root.path().join("looptax"))?;
    let ask_inside = |words: &str| {
        let mut command = Command::new("unshare");
        command.args("--user --map-root-user --mount --pid --fork sh -c".split(' '));
        command.args([ENTER, "sh"]).arg(root.path());
        ask(command.args(words.split(' ')).current_dir("/"))
    };
    let version = ask_inside("--version")?;
    if version != format!("looptax {}", place.version) {
        bail!("in an empty root folder the program prints a wrong version: `{version}`");
    }
    println!("{}", ask_inside(COMPARE)?);
    Ok(())
}
