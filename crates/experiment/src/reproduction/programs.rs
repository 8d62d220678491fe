//! Checks which programs of other projects are installed.

use std::env;

use looptax_host::read;

pub(crate) fn on_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| read::is_file(&folder.join(program)))
}
