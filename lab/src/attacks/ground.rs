//! The ground of the attacks: a scratch folder with a part for root, a part for the attacker, a part for all users, and
//! the victims.
//!
//! Nothing outside this folder is written. When the ground is dropped, every process that runs as the attacker ends; no
//! other user has the attacker's user id.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::coin::Coin;
use crate::servers::Ours;

/// Range of the user ids from which the attacker's id is chosen; no distribution assigns these ids by itself.
const FIRST_UID: u32 = 50_000;
const N_UIDS: u32 = 9_000;
/// The search path of the attacker's programs and of root's programs.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The scratch folder with everything that the attacks use.
pub(super) struct Ground {
    scratch: TempDir,
    pub(super) looptax: PathBuf,
    pub(super) uid: u32,
    /// The secret that only root may read; also in the environment of each looptax run. It begins like a version
    /// number.
    pub(super) secret: String,
}

impl Ground {
    pub(super) fn make(looptax: &Path, coin: &mut Coin) -> Result<Self> {
        if !rustix::process::geteuid().is_root() {
            bail!("attacks on root's looptax need root: run this as root");
        }
        // The path must not contain a link, because the judge does not follow links.
        let above = fs::canonicalize(std::env::temp_dir())?;
        let scratch =
            tempfile::Builder::new().prefix("looptax-attacks-").tempdir_in(above).context("cannot make a folder")?;
        fs::set_permissions(scratch.path(), Permissions::from_mode(0o755))?;
        let uid = nobodys_uid(coin)?;
        let ground = Self {
            looptax: looptax.to_owned(),
            uid,
            secret: format!("7Zq{:016x}{:016x}", coin.number(), coin.number()),
            scratch,
        };
        for (name, mode) in [
            ("ours", 0o700),
            ("programs", 0o755),
            ("judge", 0o711),
            ("victims", 0o755),
            ("hers", 0o755),
            ("tmp", 0o1777),
        ] {
            fs::create_dir(ground.at(name))?;
            fs::set_permissions(ground.at(name), Permissions::from_mode(mode))?;
        }
        chown(ground.hers(), Some(uid), Some(uid))?;
        Ok(ground)
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    pub(super) fn hers(&self) -> PathBuf {
        self.at("hers")
    }

    /// Returns the path of one of root's programs, which every user may run.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.at("programs").join(name)
    }

    pub(super) fn victim(&self, name: &str) -> PathBuf {
        self.at("victims").join(name)
    }

    /// Makes a new folder of the attacker, in the attacker's part; replaces any file, folder or link of this name.
    pub(super) fn folder_of_hers(&self, name: &str) -> Result<PathBuf> {
        let path = self.hers().join(name);
        clear(&path)?;
        DirBuilder::new().mode(0o755).create(&path)?;
        self.give(&path)?;
        Ok(path)
    }

    /// Makes a file of the attacker; replaces any file, folder or link of this name.
    pub(super) fn file_of_hers(&self, path: &Path, text: &[u8], mode: u32) -> Result<()> {
        clear(path)?;
        write(path, text, mode)?;
        self.give(path)
    }

    /// Makes a link of the attacker; replaces any file, folder or link of this name.
    pub(super) fn link_of_hers(&self, path: &Path, leads_to: &Path) -> Result<()> {
        clear(path)?;
        std::os::unix::fs::symlink(leads_to, path)?;
        self.give(path)
    }

    /// Makes the attacker the owner of a path, without following links.
    pub(super) fn give(&self, path: &Path) -> Result<()> {
        std::os::unix::fs::lchown(path, Some(self.uid), Some(self.uid))
            .with_context(|| format!("cannot give {} away", path.display()))
    }

    /// Makes the attacker the owner of everything below a folder.
    pub(super) fn give_all(&self, path: &Path) -> Result<()> {
        self.give(path)?;
        if fs::symlink_metadata(path)?.is_dir() {
            for entry in fs::read_dir(path)? {
                self.give_all(&entry?.path())?;
            }
        }
        Ok(())
    }

    /// Makes a script or program of the attacker that leaves a mark.
    pub(super) fn marking_script(&self, path: &Path) -> Result<()> {
        let text = format!("#!{}\n", self.program("marker").display());
        self.file_of_hers(path, text.as_bytes(), 0o755)
    }

    pub(super) fn her(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(self.program("lab"));
        command
            .args(["attacks-part", "under", "--"])
            .arg(program.as_ref())
            .uid(self.uid)
            .gid(self.uid)
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", self.hers())
            .current_dir(self.hers())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Returns a command that runs a part of the lab's own program as the attacker.
    pub(super) fn part(&self, words: &[&str]) -> Command {
        let mut command = self.her(self.program("lab"));
        command.arg("attacks-part").args(words);
        command
    }

    /// Exchanges two of the attacker's names repeatedly, until the result is dropped.
    pub(super) fn exchange(&self, one: &Path, other: &Path) -> Result<Ours> {
        Ours::start(self.part(&["exchange"]).arg(one).arg(other))
    }

    /// Replaces each new name that appears in one of the attacker's folders by a link to `target`.
    pub(super) fn snatch(&self, folder: &Path, target: &Path) -> Result<Ours> {
        Ours::start(self.part(&["snatch"]).arg(folder).arg(target))
    }

    /// Waits until a process opens a file in one of the attacker's folders, and exchanges the file with the file
    /// `evil-NAME` beside it.
    pub(super) fn pounce(&self, folder: &Path) -> Result<Ours> {
        Ours::start(self.part(&["pounce"]).arg(folder))
    }

    pub(super) fn end_hers(&self) {
        const MOST_SWEEPS: u32 = 100;
        for _ in 0..MOST_SWEEPS {
            let pids = processes_of(self.uid);
            if pids.is_empty() {
                return;
            }
            for pid in pids {
                // The process may have ended already.
                kill_process(pid, Signal::KILL).ok();
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        self.end_hers();
    }
}

/// Removes the file, folder or link of this name; the target of a link stays.
pub(super) fn clear(path: &Path) -> Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    let done = if found.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    done.with_context(|| format!("cannot remove {}", path.display()))
}

/// Writes a new file with this mode, whatever the umask is.
pub(super) fn write(path: &Path, text: &[u8], mode: u32) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(fs::set_permissions(path, Permissions::from_mode(mode))?)
}

/// Returns a user id that is not in any list of users and has no process.
fn nobodys_uid(coin: &mut Coin) -> Result<u32> {
    let mut taken = BTreeSet::new();
    for list in ["/etc/passwd", "/etc/group"] {
        let text = fs::read_to_string(list).unwrap_or_default();
        let numbers = text.lines().filter_map(|line| line.split(':').nth(2)?.parse::<u32>().ok());
        taken.extend(numbers);
    }
    for _ in 0..N_UIDS {
        let uid = FIRST_UID + (coin.number() % u64::from(N_UIDS)) as u32;
        if !taken.contains(&uid) && processes_of(uid).is_empty() {
            return Ok(uid);
        }
    }
    bail!("every number of a user is taken")
}

/// Returns the processes whose real user has this id.
fn processes_of(uid: u32) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|it| it.file_name().to_str()?.parse::<i32>().ok());
    let is_of = |pid: &i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let mut lines = status.lines();
        let line = lines.find_map(|line| line.strip_prefix("Uid:"));
        line.is_some_and(|it| it.split_whitespace().next() == Some(&uid.to_string()))
            // A zombie, which waits for its parent to read its status, cannot be ended any more.
            && !status.contains("State:\tZ")
    };
    numbers.filter(is_of).filter_map(Pid::from_raw).collect()
}
