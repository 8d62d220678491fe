//! A client in a container beside the server's: it shares a folder with it and nothing else.

use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::thread::UnshareFlags;

use crate::path::Endpoint;

/// Where the shared folder is seen: a folder that every system has for this.
const SHARED: &str = "/mnt";

/// Moves the calling thread, and what it starts from then on, to its own network and mount namespaces, in which
/// `folder` is at another place.
///
/// # Errors
/// The kernel's refusal.
pub fn move_to_sidecar(folder: &Path) -> io::Result<()> {
    // A thread that shares its working folder with others cannot have its own mounts.
    let flags = UnshareFlags::FS | UnshareFlags::NEWNS | UnshareFlags::NEWNET;
    // SAFETY: no table of open files is unshared.
    unsafe { rustix::thread::unshare_unsafe(flags) }?;
    // Nothing that is mounted here shall be seen outside.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    Ok(mount_bind(folder, SHARED)?)
}

/// A socket in `folder` as it is named there; any other endpoint as it is.
pub fn in_sidecar(endpoint: &Endpoint, folder: &Path) -> Endpoint {
    let Endpoint::Unix(path) = endpoint else {
        return endpoint.clone();
    };
    match path.strip_prefix(folder) {
        Ok(name) => Endpoint::Unix(PathBuf::from(SHARED).join(name)),
        Err(_) => endpoint.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_in_the_folder_has_another_name() {
        let seen = |path: &str| {
            let endpoint = Endpoint::Unix(path.into());
            in_sidecar(&endpoint, Path::new("/run/db")).to_string()
        };
        assert_eq!(seen("/run/db/s.sock"), "/mnt/s.sock");
        assert_eq!(seen("/run/dbx/s.sock"), "/run/dbx/s.sock");
    }
}
