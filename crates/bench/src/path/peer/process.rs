//! Finds out whether the listening process of an account is a server, by the name of the process's program.
//!
//! For a person's process the name proves nothing, so names are checked only for the system's accounts.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use looptax_host::kernel;
use looptax_model::dsn::{Kind, Protocol};

use super::accounts;
use super::rule::Process;

/// Further poolers that pass logins on to servers; looptax knows only their names.
const POOLERS: [(&str, Protocol); 3] =
    [("mysqlrouter", Protocol::Mysql), ("odyssey", Protocol::Postgres), ("pgcat", Protocol::Postgres)];

/// The account under which servers without their own account run, and many other programs.
const ANYBODY: &str = "nobody";

/// Sockets that belong to a server, as earlier checks found. While a socket is open, the kernel does not reuse its
/// inode number, so an equal number means the same socket.
static KNOWN: Mutex<Vec<(u64, Protocol)>> = Mutex::new(Vec::new());

/// Returns the kind of process with this pid.
pub(super) fn of_pid(pid: Option<u32>, protocol: Protocol) -> Process {
    let Some(folder) = pid.map(|pid| format!("/proc/{pid}")) else {
        return Process::Unseen;
    };
    match is_server(Path::new(&folder), protocol) {
        Some(true) => Process::Server,
        Some(false) => Process::Other,
        None => Process::Unseen,
    }
}

/// Returns the kind of the account's process that holds one of these sockets. If we may not inspect the open files of
/// processes, any process of the account that is a server of the protocol is accepted.
pub(super) fn of_sockets(inodes: &[u64], uid: u32, protocol: Protocol) -> Process {
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_known = |inode: &u64| known().contains(&(*inode, protocol));
    if inodes.iter().any(is_known) {
        return Process::Server;
    }
    let found = search(inodes, uid, protocol);
    if found == Process::Server {
        known().extend(inodes.iter().map(|inode| (*inode, protocol)));
    }
    found
}

fn search(inodes: &[u64], uid: u32, protocol: Protocol) -> Process {
    let links: Vec<String> = inodes.iter().map(|it| format!("socket:[{it}]")).collect();
    let mut is_seen = false;
    let mut is_named = false;
    for name in kernel::names("/proc").into_iter().flatten() {
        let folder = Path::new("/proc").join(&name);
        let is_process = name.as_encoded_bytes()[0].is_ascii_digit();
        if !is_process || uid_of(&folder) != Some(uid) {
            continue;
        }
        is_seen = true;
        let is_server = is_server(&folder, protocol).unwrap_or_default();
        match holds(&folder, &links) {
            Some(true) if is_server => return Process::Server,
            Some(true) => return Process::Other,
            Some(false) => {}
            None => is_named |= is_server,
        }
    }
    match (is_named, is_seen) {
        (true, _) => Process::Server,
        (false, true) => Process::Other,
        (false, false) => Process::Unseen,
    }
}

/// Returns whether the process holds one of the sockets; `None` if we may not inspect its open files.
fn holds(process: &Path, links: &[String]) -> Option<bool> {
    let folder = process.join("fd");
    for file in kernel::names(&folder).ok()? {
        match kernel::link(folder.join(file)) {
            Ok(target) if links.iter().any(|link| target.as_os_str() == link.as_str()) => {
                return Some(true);
            }
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return None,
            _ => {}
        }
    }
    Some(false)
}

/// Returns the effective user of a process. If other users may not inspect the process, its folder in `/proc` belongs
/// to root; the user is then read from its `status`.
fn uid_of(process: &Path) -> Option<u32> {
    let owner = kernel::metadata(process).ok()?.uid();
    if owner != 0 {
        return Some(owner);
    }
    let status = kernel::text(process.join("status")).ok()?;
    let line = status.lines().find_map(|it| it.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Returns whether the process's program is a server of the protocol. This is decided by the file name of the program
/// or, if we may not see the file, by the process's own name. `None` if we can see neither.
///
/// An account that is not reserved for servers can give its own program the name of a server; then the name proves
/// nothing.
fn is_server(process: &Path, protocol: Protocol) -> Option<bool> {
    let file = kernel::link(process.join("exe")).ok();
    let Some(name) = file.as_deref().and_then(Path::file_name) else {
        let name = kernel::text(process.join("comm")).ok()?;
        return Some(serves(name.trim_end(), protocol));
    };
    let name = name.to_string_lossy();
    let owner = kernel::metadata(process.join("exe")).ok()?.uid();
    let is_its_own = owner != 0 && uid_of(process) == Some(owner);
    let is_genuine = !is_its_own || accounts::name(owner).is_some_and(|it| is_for_servers(&it, protocol));
    Some(is_genuine && serves(name.trim_end_matches(" (deleted)"), protocol))
}

/// Returns whether an account of this name is reserved for servers of the protocol.
fn is_for_servers(account: &str, protocol: Protocol) -> bool {
    let mut kinds = Kind::ALL.into_iter().filter(|it| it.protocol() == Some(protocol));
    let private = kinds.find_map(|it| it.facts().private.as_ref().filter(|it| it.accounts.contains(&account)));
    private.is_some() && account != ANYBODY
}

/// Returns whether a program of this name answers logins of the protocol.
fn serves(name: &str, protocol: Protocol) -> bool {
    let kind = Kind::of_program(name);
    kind.is_some_and(|it| it.protocol() == Some(protocol)) || POOLERS.contains(&(name, protocol))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_server_is_one_of_the_protocol() {
        assert!(serves("mariadbd", Protocol::Mysql));
        assert!(serves("pgbouncer", Protocol::Postgres));
        assert!(serves("pgcat", Protocol::Postgres));
        assert!(!serves("pgcat", Protocol::Mysql));
        assert!(!serves("php-fpm8.2", Protocol::Mysql));
        assert!(!serves("python3", Protocol::Mysql));
    }

    #[test]
    fn an_account_is_for_the_servers_that_are_named_for_it() {
        assert!(is_for_servers("mysql", Protocol::Mysql));
        assert!(is_for_servers("valkey", Protocol::Redis));
        assert!(!is_for_servers("www-data", Protocol::Mysql));
        assert!(!is_for_servers("redis", Protocol::Mysql));
        assert!(!is_for_servers("nobody", Protocol::Mysql));
    }

    #[test]
    fn a_program_of_an_account_s_own_is_no_server_by_its_name() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mysqld");
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::copy("/bin/sleep", &file).unwrap();
        let found = |owner: u32| {
            std::os::unix::fs::chown(&file, Some(owner), None).unwrap();
            let mut child = Command::new(&file).arg("60").uid(33).spawn().unwrap();
            let found = is_server(Path::new(&format!("/proc/{}", child.id())), Protocol::Mysql);
            child.kill().unwrap();
            child.wait().unwrap();
            found
        };
        assert_eq!(found(0), Some(true));
        assert_eq!(found(33), Some(false));
    }

    #[test]
    fn the_holder_of_a_socket_is_found_and_this_program_is_no_server() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let link = kernel::link(format!("/proc/self/fd/{}", listener.as_raw_fd())).unwrap();
        let link = link.to_string_lossy().into_owned();
        assert_eq!(holds(Path::new("/proc/self"), std::slice::from_ref(&link)), Some(true));
        assert_eq!(holds(Path::new("/proc/self"), &["socket:[0]".to_owned()]), Some(false));
        let inode = link.trim_matches(|it: char| !it.is_ascii_digit());
        let inode = inode.parse().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        assert_eq!(of_sockets(&[inode], uid, Protocol::Mysql), Process::Other);
        let own = Some(std::process::id());
        assert_eq!(of_pid(own, Protocol::Mysql), Process::Other);
        assert_eq!(of_pid(None, Protocol::Mysql), Process::Unseen);
        assert_eq!(of_pid(Some(u32::MAX >> 1), Protocol::Mysql), Process::Unseen);
    }
}
