//! Programs that another user controls: looptax executes none of them with root's rights.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use looptax_experiment::servers::find_binary;
use looptax_model::dsn::Kind;
use looptax_testkit::programs;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;

use crate::fixture::{exe, is_root};

/// A user id without an account.
const MALLORY: u32 = 61_235;

/// A folder of this user with a script that leaves a mark when it is executed.
struct Trap {
    folder: tempfile::TempDir,
}

impl Trap {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let trap = Self { folder };
        let mark = trap.mark();
        let text = format!("#!/bin/sh\nid -u >> {}\necho v=6.6.6\n", mark.display());
        programs::write(trap.path(name), &text);
        fs::set_permissions(trap.folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        chown(trap.folder.path(), Some(MALLORY), Some(MALLORY)).unwrap();
        trap
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn mark(&self) -> PathBuf {
        self.path("executed")
    }

    #[track_caller]
    fn was_not_entered(&self) {
        let found = fs::read_to_string(self.mark());
        assert!(found.is_err(), "executed as user {found:?}");
    }
}

struct Alive(Child);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Starts a program from this path. The test then puts another file at the path.
fn started_by(path: &Path, program: &str) -> Alive {
    fs::remove_file(path).ok();
    programs::copy(program, path);
    let child = Command::new(path).arg("600").stdin(Stdio::null()).spawn();
    let alive = Alive(child.unwrap());
    let link = format!("/proc/{}/exe", alive.0.id());
    while fs::read_link(&link).is_ok_and(|it| it != path) {}
    alive
}

#[test]
fn r44_a_server_s_program_is_not_executed_for_its_version() {
    // As root, looptax executed the path of another user's server to get its version; the file could be exchanged
    // between the check and the execution.
    if !is_root() {
        return;
    }
    let trap = Trap::new("script");
    let server = trap.path("redis-server");
    let _running = started_by(&server, "/bin/sleep");
    for swapped in ["script", "link"] {
        let place = trap.path("place");
        if swapped == "link" {
            symlink(trap.path("script"), &place).unwrap();
        } else {
            programs::copy(trap.path("script"), &place);
        }
        fs::rename(&place, &server).unwrap();
        let scratch = Scratch::new();
        Looptax::new(exe(), &scratch).args(["find", "--once"]).run();
        trap.was_not_entered();
    }
}

#[test]
fn r44_a_program_on_path_that_another_user_controls_is_passed_over_as_root() {
    // If a valkey-server is in the system's folders, looptax would start that one instead.
    if !is_root() || find_binary(Kind::Valkey).is_some() {
        return;
    }
    let trap = Trap::new("valkey-server");
    for name in ["mysqld", "memcached", "keydb-server", "nft"] {
        programs::copy(trap.path("valkey-server"), trap.path(name));
    }
    let scratch = Scratch::new();
    let path = trap.folder.path();
    let run = Looptax::new(exe(), &scratch).env("PATH", path).args(["compare", "private:valkey"]).run();
    trap.was_not_entered();
    run.expect_error(2, &["looptax does not start", &path.display().to_string()]);
}
