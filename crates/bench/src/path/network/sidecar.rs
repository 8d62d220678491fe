//! A client in a container next to the server's container; the two share only a folder.

use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::thread::UnshareFlags;

use crate::path::Endpoint;

/// The mount point of the shared folder: a folder that every system has for mounts.
const SHARED: &str = "/mnt";

/// Moves the calling thread, and the processes that it starts afterwards, to new network and mount namespaces, in which
/// `folder` is mounted at another path.
///
/// # Errors
/// The kernel's refusal.
pub fn move_to_sidecar(folder: &Path) -> io::Result<()> {
    // Only a thread that does not share its working folder with others can have separate mounts.
    let flags = UnshareFlags::FS | UnshareFlags::NEWNS | UnshareFlags::NEWNET;
    // SAFETY: the table of open files stays shared.
    unsafe { rustix::thread::unshare_unsafe(flags) }?;
    // Mounts in this namespace must not appear outside.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    Ok(mount_bind(folder, SHARED)?)
}

/// Returns the path inside the sidecar for a socket in `folder`, and any other endpoint unchanged.
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
