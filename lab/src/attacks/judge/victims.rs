//! Root's files that the attacks target: this file creates them, compares them with their original state, and restores
//! them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::super::ground::{Ground, clear, write};

/// The victims: name, mode and content; `SECRET` is replaced by the secret.
const FILES: [(&str, u32, &str); 11] = [
    ("shadow", 0o600, "root:SECRET:20000:0:99999:7:::\n"),
    ("motd", 0o644, "welcome\n"),
    ("cron.d/daily", 0o644, "# nothing to do\n"),
    ("admin/.ssh/authorized_keys", 0o600, "ssh-ed25519 SECRET root\n"),
    ("app.env", 0o600, "# SECRET\nREDIS_URL=redis://SECRET:SECRET@127.0.0.1:6379/0\nDB_SECRET=SECRET\n"),
    (
        "my.cnf",
        0o600,
        "[client]\nuser=SECRET\npassword=SECRET\nsocket=/run/SECRET.sock\n[mysqld]\nsocket=/run/SECRET.sock\n",
    ),
    ("pg_hba.conf", 0o600, "local all SECRET peer\nhost SECRET SECRET 127.0.0.1/32 md5 # SECRET\n"),
    ("lines.json", 0o600, "{\"host\":\"SECRET\",\"at\":\"SECRET\"}\n"),
    ("PG_VERSION", 0o600, "SECRET\n"),
    ("value", 0o644, "1\n"),
    ("owned", 0o640, "SECRET\n"),
];
/// Folders that only root may enter.
const CLOSED: [&str; 2] = ["admin", "admin/.ssh"];

/// The original state of a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Was {
    mode: u32,
    owner: (u32, u32),
    /// Time of the last change in seconds and nanoseconds.
    written: (i64, i64),
    bytes: Vec<u8>,
}

/// The victims, and all of root's other files on the ground that must not change.
pub(super) struct Victims {
    folder: PathBuf,
    /// The folder of root's programs. Its files are checked without their content.
    programs: PathBuf,
    secret: String,
    before: BTreeMap<PathBuf, Was>,
}

impl Victims {
    pub(super) fn lay_out(ground: &Ground) -> Result<Self> {
        let mut victims = Self {
            folder: ground.at("victims"),
            programs: ground.at("programs"),
            secret: ground.secret.clone(),
            before: BTreeMap::new(),
        };
        victims.restore()?;
        Ok(victims)
    }

    /// Creates the victims again; later changes are compared with this state.
    pub(super) fn restore(&mut self) -> Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            clear(&entry?.path())?;
        }
        for (name, mode, text) in FILES {
            let path = self.folder.join(name);
            fs::create_dir_all(path.parent().context("it lies in a folder")?)?;
            write(&path, text.replace("SECRET", &self.secret).as_bytes(), mode)?;
        }
        let closed = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        for name in CLOSED {
            fs::set_permissions(self.folder.join(name), fs::Permissions::clone(&closed))?;
        }
        self.before = self.now()?;
        Ok(())
    }

    /// Returns a description of a difference from the restored state.
    pub(super) fn changed(&self) -> Result<Option<String>> {
        let now = self.now()?;
        let names = self.before.keys().chain(now.keys());
        let mut differs = names.filter(|path| self.before.get(*path) != now.get(*path));
        // A folder changes if a file in it changes; the name of the file is more useful.
        let first = differs.clone().find(|path| !path.is_dir()).or_else(|| differs.next());
        Ok(first.map(|path| {
            let words = how(self.before.get(path), now.get(path));
            let shown = path.strip_prefix(&self.folder).unwrap_or(path);
            format!("{}: {words}", shown.display())
        }))
    }

    fn now(&self) -> Result<BTreeMap<PathBuf, Was>> {
        let mut found = BTreeMap::new();
        add(&self.folder, true, &mut found)?;
        add(&self.programs, false, &mut found)?;
        Ok(found)
    }
}

fn add(path: &Path, is_read: bool, found: &mut BTreeMap<PathBuf, Was>) -> Result<()> {
    let is = fs::symlink_metadata(path)?;
    let bytes = match () {
        () if is.is_file() && is_read => fs::read(path)?,
        () if is.is_symlink() => fs::read_link(path)?.into_os_string().into_encoded_bytes(),
        () => Vec::new(),
    };
    found.insert(
        path.to_owned(),
        Was { mode: is.mode(), owner: (is.uid(), is.gid()), written: (is.mtime(), is.mtime_nsec()), bytes },
    );
    if is.is_dir() {
        for entry in fs::read_dir(path)? {
            add(&entry?.path(), is_read, found)?;
        }
    }
    Ok(())
}

fn how(before: Option<&Was>, now: Option<&Was>) -> String {
    match (before, now) {
        (None, _) => "it did not exist before".to_owned(),
        (_, None) => "it was deleted".to_owned(),
        (Some(before), Some(now)) => {
            let mut words = Vec::new();
            if before.bytes != now.bytes {
                let text = String::from_utf8_lossy(&now.bytes);
                let text: String = text.chars().take(60).collect();
                words.push(format!("holds {text:?} now"));
            }
            if before.mode != now.mode {
                words.push(format!("mode {:o} became {:o}", before.mode, now.mode));
            }
            if before.owner != now.owner {
                words.push(format!("owner {:?} became {:?}", before.owner, now.owner));
            }
            if words.is_empty() {
                words.push("it was written".to_owned());
            }
            words.join(", ")
        }
    }
}
