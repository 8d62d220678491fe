//! Follows the path to the socket as the client would, in a child process that has the client's rights and view of
//! folders.
//!
//! looptax tries the path instead of reading permission bits, because the kernel's answer also depends on access lists,
//! capabilities and security modules. The child has one thread, because rights and views belong to threads.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use looptax_advise::check::{End, Reach, Step};
use looptax_host::discover::process;
use looptax_host::{children, kernel, read};
use rustix::fs::{Access, FileType, Stat};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::{chroot, fchdir};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::client::{Client, name_of};
use super::rights::Rights;
use super::socket_handle::abstract_name;

/// The longest path of a socket: the last of the kernel's 108 bytes is a zero.
const MOST_PATH_BYTES: usize = 107;

/// The time limit for following the whole path; the child only looks up names.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn reach(socket: &Path, client: &Client) -> Reach {
    let failed = |why: String| Reach { steps: Vec::new(), end: End::Failed { why } };
    let told = |view| match run(socket, client, view) {
        Ok(output) => serde_json::from_slice(&output).unwrap_or_else(|error| failed(error.to_string())),
        Err(error) => failed(error.to_string()),
    };
    let first = told(client.pid);
    match client.pid {
        // The client, a short command, has ended. The check continues with the rights of the client's user, in
        // looptax's own folders.
        Some(pid) if matches!(first.end, End::Failed { .. }) && process(pid).is_none() => told(None),
        _ => first,
    }
}

fn run(socket: &Path, client: &Client, view: Option<u32>) -> io::Result<Vec<u8>> {
    #[allow(clippy::disallowed_methods, reason = "looptax itself, which gives up its rights")]
    let mut command = Command::new(std::env::current_exe()?);
    // The child takes on the rights of the client's user, who must not see anything of looptax's environment.
    command.env_clear();
    command.args(["internal", "reach", "--socket"]).arg(socket);
    if let Some(pid) = view {
        command.args(["--view", &pid.to_string()]);
    }
    if let Some(rights) = &client.rights {
        command.args(["--uid", &rights.uid.to_string()]);
        command.args(["--gid", &rights.gid.to_string()]);
        let groups: Vec<String> = rights.groups.iter().map(u32::to_string).collect();
        if !groups.is_empty() {
            command.args(["--groups", &groups.join(",")]);
        }
    }
    // The time limit is needed because the client's user can stop the child, or make it wait for a file system.
    let output = children::output(&mut command, PATIENCE)?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
    }
}

/// The client, and the socket whose path is followed.
#[derive(Debug, Clone)]
pub struct ReachRequest {
    pub socket: PathBuf,
    pub view: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub groups: Vec<u32>,
}

/// Runs in the child process: takes on the client's rights and view, and follows the path.
pub fn child(args: &ReachRequest) -> Reach {
    match become_client(args) {
        Ok(()) => walk(&args.socket),
        Err(error) => Reach {
            steps: Vec::new(),
            end: End::Failed { why: format!("cannot run as the client's user ({error}); run looptax as root") },
        },
    }
}

fn become_client(args: &ReachRequest) -> io::Result<()> {
    if let Some(pid) = args.view {
        enter_view(pid)?;
    }
    let (Some(uid), Some(gid)) = (args.uid, args.gid) else {
        return Ok(());
    };
    let groups = args.groups.clone();
    Rights { uid, gid, groups }.take()
}

/// Enters a process's view of the folders; does nothing if looptax has the same view.
fn enter_view(pid: u32) -> io::Result<()> {
    let folder = format!("/proc/{pid}");
    let link = |name: &str| kernel::link(format!("{folder}/{name}"));
    let is_ours =
        link("ns/mnt")? == kernel::link("/proc/self/ns/mnt")? && link("root")? == kernel::link("/proc/self/root")?;
    if is_ours {
        return Ok(());
    }
    let mounts = kernel::open(format!("{folder}/ns/mnt"))?;
    let root = kernel::open(format!("{folder}/root"))?;
    move_into_link_name_space(mounts.as_fd(), Some(LinkNameSpaceType::Mount))?;
    fchdir(&root)?;
    chroot(".")?;
    Ok(())
}

/// Follows the path from `/` to the socket, component by component, and connects.
fn walk(socket: &Path) -> Reach {
    let mut steps = Vec::new();
    let end = go(socket, &mut steps);
    Reach { steps, end }
}

fn go(socket: &Path, steps: &mut Vec<Step>) -> End {
    if abstract_name(socket).is_some() {
        return connected(socket);
    }
    let mut ancestors: Vec<&Path> = socket.ancestors().collect();
    ancestors.reverse();
    for path in ancestors {
        let found = match read::look(path) {
            Ok(Some(found)) => found,
            Ok(None) => {
                return End::Missing { path: path.to_string_lossy().into_owned() };
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return End::Denied,
            Err(error) => return failed(&error),
        };
        steps.push(step(path, &found));
        let is_last = path == socket;
        if is_last && FileType::from_raw_mode(found.st_mode) != FileType::Socket {
            return End::NotASocket;
        }
        let wanted = if is_last { Access::WRITE_OK } else { Access::EXEC_OK };
        if read::may(path, wanted).is_err() {
            return End::Denied;
        }
    }
    connected(socket)
}

fn connected(socket: &Path) -> End {
    let bytes = socket.as_os_str().as_bytes().len();
    if bytes > MOST_PATH_BYTES {
        return End::TooLong { bytes, most: MOST_PATH_BYTES };
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let address = abstract_name(socket).map_or_else(|| SocketAddrUnix::new(socket), SocketAddrUnix::new_abstract_name);
    let tried = address.and_then(|address| {
        let client = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&client, &address)
    });
    match tried {
        Ok(()) => End::Connected,
        Err(rustix::io::Errno::AGAIN) => End::Full,
        Err(rustix::io::Errno::CONNREFUSED) => End::Refused,
        Err(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => End::Confined,
        Err(errno) => failed(&errno.into()),
    }
}

fn failed(error: &io::Error) -> End {
    End::Failed { why: error.to_string() }
}

fn step(path: &Path, found: &Stat) -> Step {
    Step {
        path: path.to_string_lossy().into_owned(),
        owner: name_of(&read::system_text("/etc/passwd"), found.st_uid),
        group: name_of(&read::system_text("/etc/group"), found.st_gid),
        mode: found.st_mode & 0o7777,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn the_way_ends_where_it_ends() {
        let folder = std::env::temp_dir().join(format!("looptax-reach-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("s.sock");
        let missing = walk(&path).end;
        let listener = UnixListener::bind(&path).unwrap();
        let connected = walk(&path);
        drop(listener);
        let refused = walk(&path).end;
        let no_socket = walk(&folder).end;
        fs::remove_dir_all(&folder).unwrap();
        let path = path.to_string_lossy().into_owned();
        assert_eq!(missing, End::Missing { path: path.clone() });
        assert_eq!(connected.end, End::Connected);
        assert_eq!(connected.steps.last().unwrap().path, path);
        assert_eq!(refused, End::Refused);
        assert_eq!(no_socket, End::NotASocket);
    }
}
