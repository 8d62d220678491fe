//! What a server's program says of itself.
//!
//! Asked of the file, never of the server: a login would leave traces in its log and its counters.
//! A file is only run when nobody but root (or ourselves) could have put it there and when it is the
//! one that we would run too, not a container's; else the version is unknown, except where a file of
//! the server's tells it.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use looptax_dsn::Kind;

use crate::process::Process;

/// Longest that a program may take to print its version.
const PATIENCE: Duration = Duration::from_secs(3);
/// More than any version.
const MOST_BYTES: u64 = 4 << 10;
/// Permission bits that let others than the owner write.
const OTHERS_WRITE: u32 = 0o022;

/// What the server's program prints for `--version`, or what else tells.
pub(crate) fn version_text(kind: Kind, process: &Process) -> Option<String> {
    process
        .program
        .as_deref()
        .filter(|program| is_to_be_trusted(program, process))
        .and_then(printed)
        .or_else(|| postgres_major(kind, process))
}

/// The first word that starts with a digit, after an optional `v=`, without what follows it.
pub(crate) fn version_in(text: &str) -> Option<String> {
    text.split_whitespace()
        .map(|word| word.strip_prefix("v=").unwrap_or(word))
        .map(|word| word.strip_prefix('v').unwrap_or(word))
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()))
        .map(|word| word.trim_end_matches([',', ')', ';']).to_owned())
}

fn is_to_be_trusted(program: &Path, process: &Process) -> bool {
    let (Ok(ours), Ok(theirs)) = (fs::metadata(program), fs::metadata(process.file("exe"))) else {
        return false;
    };
    let is_same = (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino());
    let own_uid = rustix::process::geteuid().as_raw();
    let is_owner_fine = ours.uid() == 0 || ours.uid() == own_uid;
    is_same && is_owner_fine && ours.mode() & OTHERS_WRITE == 0
}

/// The name to call it by: one file is server and checker of dumps, and looks what it is called. By its
/// other name Valkey 9.1 takes `--version` for a dump.
fn called(program: &Path) -> OsString {
    let name = program.as_os_str().to_string_lossy();
    match name.strip_suffix("-check-rdb") {
        Some(start) => format!("{start}-server").into(),
        None => program.as_os_str().to_owned(),
    }
}

/// What it prints in time; the program is ended either way.
fn printed(program: &Path) -> Option<String> {
    let mut child = Command::new(program)
        .arg0(called(program))
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let output = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        let _ = output.take(MOST_BYTES).read_to_end(&mut text);
        // Nobody listens any more when it took too long.
        let _ = sender.send(text);
    });
    let text = receiver.recv_timeout(PATIENCE);
    let _ = child.kill();
    let _ = child.wait();
    let text = String::from_utf8_lossy(&text.ok()?).into_owned();
    (!text.trim().is_empty()).then_some(text)
}

/// PostgreSQL works in its data folder, which says the major version.
fn postgres_major(kind: Kind, process: &Process) -> Option<String> {
    if kind != Kind::Postgres {
        return None;
    }
    let mut text = String::new();
    let file = fs::File::open(process.file("cwd/PG_VERSION")).ok()?;
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_version_in_what_each_server_prints() {
        let check = |text, expected| assert_eq!(version_in(text).as_deref(), Some(expected));
        check(
            "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu",
            "10.11.19-MariaDB-0+deb12u1",
        );
        check(
            "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)",
            "15.18",
        );
        check("Redis server v=7.0.15 sha=00000000:0", "7.0.15");
        check("memcached 1.6.18\n", "1.6.18");
        check("PgBouncer 1.18.0\nlibevent 2.1.12", "1.18.0");
        check("db version v7.0.5\nBuild Info: {", "7.0.5");
        check("dragonfly v1.21.2-abc", "1.21.2-abc");
        check("15\n", "15");
        assert_eq!(version_in("no digits at all"), None);
    }

    #[test]
    fn a_checker_of_dumps_is_called_by_its_server_s_name() {
        let check = |program: &str, expected| assert_eq!(called(Path::new(program)), expected);
        check("/usr/bin/valkey-check-rdb", "/usr/bin/valkey-server");
        check("/usr/bin/redis-check-rdb", "/usr/bin/redis-server");
        check("/usr/sbin/mysqld", "/usr/sbin/mysqld");
    }

    #[test]
    fn a_program_that_hangs_or_floods_is_ended() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("looptax-version-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let script = |name: &str, body: &str| {
            let path = folder.join(name);
            std::fs::File::create(&path)
                .and_then(|mut file| std::io::Write::write_all(&mut file, body.as_bytes()))
                .unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let flood = script("flood", "#!/bin/sh\nexec yes 1.2.3\n");
        let silent = script("silent", "#!/bin/sh\nexec 1>&-\nexec sleep 60\n");
        let (flooded, silenced) = (printed(&flood), printed(&silent));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(flooded.unwrap().len() as u64, MOST_BYTES);
        assert_eq!(silenced, None);
    }
}
