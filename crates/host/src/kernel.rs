//! Opens files that the kernel provides: below `/proc`, `/sys` and `/dev`.
//!
//! In `/proc` and `/sys` no process can make a link. But some links in `/proc` lead to a place that a process chooses
//! (`root`, `cwd`, `fd/3`). This module follows such a link only at the end of a path, and refuses a path that goes on
//! behind it, such as `/proc/1/root/etc`; see [`crate::View`].

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

/// The file that limits the queue of every listening socket in the network namespace of the process that opens it.
pub const SOMAXCONN: &str = "/proc/sys/net/core/somaxconn";
/// The maximum number of bytes that are read. Files of the kernel are smaller, except for files that contain text
/// chosen by processes, which may have any length.
const MOST_BYTES: u64 = 64 << 20;

/// Reads a file of the kernel.
///
/// # Errors
/// The kernel's error; `InvalidInput` for a path outside these folders.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    read_up_to(path, MOST_BYTES)
}

/// Reads up to `most_bytes` from the beginning of a file of the kernel.
///
/// # Errors
/// As [`read`].
pub fn read_up_to(path: impl AsRef<Path>, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file of the kernel as text.
///
/// # Errors
/// As [`read`], and `InvalidData` for bytes that are not UTF-8.
pub fn text(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Opens a file of the kernel for reading; the last component may be a link such as `/proc/1/exe`.
///
/// # Errors
/// As [`read`].
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    File::open(checked(path.as_ref())?)
}

/// Opens a device for reading and writing.
///
/// # Errors
/// As [`read`].
pub fn open_both(path: impl AsRef<Path>) -> io::Result<File> {
    let path = checked(path.as_ref())?;
    OpenOptions::new().read(true).write(true).open(path)
}

/// Writes to a file of the kernel in one call.
///
/// # Errors
/// As [`read`].
pub fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let path = checked(path.as_ref())?;
    let mut file = OpenOptions::new().write(true).open(path)?;
    let n_bytes = file.write(bytes.as_ref())?;
    if n_bytes < bytes.as_ref().len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    Ok(())
}

/// Whether processes have other pids for looptax than for the machine.
///
/// # Source
/// `PID_NS_INIT_INO` in Linux' include/uapi/linux/nsfs.h: the number that the first namespace always has.
pub(crate) fn is_contained() -> bool {
    let ours = link("/proc/self/ns/pid");
    ours.is_ok_and(|it| it.as_os_str() != "pid:[4026531836]")
}

/// Returns the target of a link in the kernel's folders.
///
/// # Errors
/// As [`read`].
pub fn link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    fs::read_link(checked(path.as_ref())?)
}

/// Returns the names in a folder of the kernel; leaves out entries that cannot be read.
///
/// # Errors
/// As [`read`].
pub fn names(path: impl AsRef<Path>) -> io::Result<impl Iterator<Item = OsString>> {
    let entries = fs::read_dir(checked(path.as_ref())?)?;
    Ok(entries.flatten().map(|it| it.file_name()))
}

/// Returns the metadata of a file. If the last component of the path is a link, returns the metadata of the link's
/// target.
///
/// # Errors
/// As [`read`].
pub fn metadata(path: impl AsRef<Path>) -> io::Result<fs::Metadata> {
    fs::metadata(checked(path.as_ref())?)
}

/// Makes a folder in the kernel's folders, such as a control group's folder.
///
/// # Errors
/// As [`read`].
pub fn make_folder(path: impl AsRef<Path>) -> io::Result<()> {
    fs::create_dir(checked(path.as_ref())?)
}

/// Removes a folder in the kernel's folders.
///
/// # Errors
/// As [`read`].
pub fn remove_folder(path: impl AsRef<Path>) -> io::Result<()> {
    fs::remove_dir(checked(path.as_ref())?)
}

fn checked(path: &Path) -> io::Result<&Path> {
    let mut parts = path.components();
    let starts = parts.next() == Some(Component::RootDir);
    let first = parts.next();
    let is_kernels = ["proc", "sys", "dev"].iter().any(|it| first == Some(Component::Normal(it.as_ref())));
    let rest: Vec<Component<'_>> = parts.collect();
    let inner = rest.split_last().map_or(&[][..], |(_, inner)| inner);
    let is_elsewhere = first == Some(Component::Normal("proc".as_ref()))
        && inner.iter().enumerate().any(|(idx, it)| leads_elsewhere(it, idx.checked_sub(1).map(|above| &inner[above])));
    let goes_up = rest.contains(&Component::ParentDir);
    if starts && is_kernels && !is_elsewhere && !goes_up {
        return Ok(path);
    }
    let words = format!("`{}` is not in a file system of the kernel, such as /proc", path.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, words))
}

/// Whether this component of a path leads to files that the kernel does not provide.
fn leads_elsewhere(part: &Component<'_>, above: Option<&Component<'_>>) -> bool {
    let Component::Normal(name) = part else {
        return true;
    };
    let is_of_fd = above.is_some_and(|it| *it == Component::Normal("fd".as_ref()));
    *name == "root" || *name == "cwd" || is_of_fd
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_kernels_own_files_are_read() {
        let check = |path: &str, is_fine| assert_eq!(checked(Path::new(path)).is_ok(), is_fine, "{path}");
        check("/proc/self/status", true);
        check("/proc/1/root", true);
        check("/proc/1/fd/3", true);
        check("/sys/kernel/tracing/events", true);
        check("/dev/tty", true);
        check("/proc/1/root/etc/passwd", false);
        check("/proc/1/cwd/PG_VERSION", false);
        check("/proc/1/fd/3/x", false);
        check("/proc/1/task/2/cwd/x", false);
        check("/proc/../etc/passwd", false);
        check("proc/self/status", false);
        check("/etc/passwd", false);
    }
}
