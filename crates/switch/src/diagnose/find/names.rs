//! Finds names of users, groups and containers.
//!
//! A process with another root folder has its own names for users and groups. looptax reads these names from
//! `/etc/passwd` and `/etc/group` in that folder, if the process's user may read the two files. A process in another
//! user namespace also has its own numbers. Its user may have chosen any names, so looptax also prints this machine's
//! name for the account.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use looptax_host::discover::{Home, Process, host_name, monitored, process};
use looptax_host::{kernel, read};

/// The maximum number of bytes read from a file of accounts; the files of containers are shorter.
const MOST_BYTES: u64 = 1 << 20;
/// The maximum number of characters of an account's name that are used.
const MOST_NAME: usize = 64;
/// How many digits of a container's number are shown.
const NUMBER: usize = 12;

#[derive(Debug)]
pub(super) struct Names {
    here: Accounts,
    own: Option<Process>,
    /// The accounts of each process that was looked up; `None` for a process that uses this machine's accounts.
    elsewhere: RefCell<HashMap<u32, Option<Elsewhere>>>,
    homes: RefCell<HashMap<u32, Option<String>>>,
}

#[derive(Debug, Default)]
struct Accounts {
    users: HashMap<u32, String>,
    groups: HashMap<u32, String>,
}

/// The accounts of a process with another root folder; empty if they cannot be read.
#[derive(Debug, Default)]
struct Elsewhere {
    accounts: Accounts,
    /// The lines of `uid_map` and `gid_map`, if the process is in another user namespace.
    maps: Option<[String; 2]>,
}

impl Names {
    pub(super) fn new() -> Self {
        let text = read::system_text;
        Self {
            here: Accounts { users: table(&text("/etc/passwd")), groups: table(&text("/etc/group")) },
            own: process(std::process::id()),
            elsewhere: RefCell::default(),
            homes: RefCell::default(),
        }
    }

    pub(super) fn user_of(&self, process: &Process) -> String {
        self.user(process.uid, Some(process))
    }

    /// Returns the name that a user has for the process `of`; without a process, the name that the user has on this
    /// machine.
    pub(super) fn user(&self, uid: u32, of: Option<&Process>) -> String {
        self.named(uid, of, |it| &it.users, 0)
    }

    pub(super) fn group(&self, gid: u32, of: Option<&Process>) -> String {
        self.named(gid, of, |it| &it.groups, 1)
    }

    fn named(
        &self,
        id: u32,
        of: Option<&Process>,
        table: fn(&Accounts) -> &HashMap<u32, String>,
        map: usize,
    ) -> String {
        let here = || table(&self.here).get(&id).map_or_else(|| id.to_string(), Clone::clone);
        let Some(of) = of else { return here() };
        let mut known = self.elsewhere.borrow_mut();
        let Some(elsewhere) = known.entry(of.pid).or_insert_with(|| elsewhere(of)) else { return here() };
        let name = |id| table(&elsewhere.accounts).get(&id);
        match &elsewhere.maps {
            None => name(id).map_or_else(|| id.to_string(), Clone::clone),
            Some(maps) => {
                let inside = inside(id, &maps[map]).and_then(name);
                inside.map_or_else(here, |it| format!("{it} ({})", here()))
            }
        }
    }

    /// Returns the container or service of a process, by its control group, by Docker's files or Podman's monitor, or by
    /// the host's name inside the container.
    pub(super) fn home_of(&self, process: &Process) -> Option<String> {
        let mut homes = self.homes.borrow_mut();
        homes.entry(process.pid).or_insert_with(|| self.found_home(process)).clone()
    }

    fn found_home(&self, process: &Process) -> Option<String> {
        if matches!(process.home, Home::Unit(_)) || self.own.as_ref().is_none_or(|own| own.mounts == process.mounts) {
            return home(&process.home);
        }
        let monitored = || {
            let it = monitored(process)?;
            let of = if it.uid == 0 { String::new() } else { format!(" of {}", self.user(it.uid, None)) };
            Some(format!("{} {}{of}", it.runtime, it.name))
        };
        match &process.home {
            Home::Container { name, .. } if !is_number(name) => home(&process.home),
            Home::Container { runtime, name } => monitored().or_else(|| {
                let host = host_name(process).filter(|it| !it.starts_with(name));
                Some(host.map_or_else(|| format!("{runtime} {name}"), |it| format!("{runtime} {name}, host {it}")))
            }),
            _ => monitored().or_else(|| Some(format!("host {}", host_name(process)?))),
        }
    }
}

/// Returns the container of a process by the name that people use; `a container` if looptax does not know the name.
pub(crate) fn container_of(process: &Process) -> String {
    let monitored = monitored(process).map(|it| format!("{} {}", it.runtime, it.name));
    let known = monitored.or_else(|| home(&process.home).filter(|_| matches!(process.home, Home::Container { .. })));
    known.unwrap_or_else(|| "a container".to_owned())
}

/// Returns the container or service, by the control group only.
pub(super) fn home(home: &Home) -> Option<String> {
    match home {
        Home::Container { runtime, name } => Some(format!("{runtime} {name}")),
        Home::Unit(name) => Some(name.clone()),
        Home::Elsewhere => None,
    }
}

/// Whether a container's name is only its number.
fn is_number(name: &str) -> bool {
    name.len() == NUMBER && name.bytes().all(|it| it.is_ascii_hexdigit())
}

/// Returns the accounts of a process; `None` if the process uses this machine's accounts.
fn elsewhere(process: &Process) -> Option<Elsewhere> {
    let is_contained = matches!(process.home, Home::Container { .. });
    let Ok(view) = process.view() else {
        return is_contained.then(Elsewhere::default);
    };
    let root = |it: std::io::Result<Option<rustix::fs::Stat>>| it.ok().flatten().map(|it| (it.st_dev, it.st_ino));
    let (its, ours) = (root(view.look(Path::new("/"))), root(read::look(Path::new("/"))));
    if its == ours && !is_contained {
        return None;
    }
    let file = |name: &str| {
        let bytes = view.read(Path::new(name), MOST_BYTES).unwrap_or_default();
        table(&String::from_utf8_lossy(&bytes))
    };
    let accounts = Accounts { users: file("/etc/passwd"), groups: file("/etc/group") };
    let namespace = |file: std::path::PathBuf| kernel::link(file).ok();
    let is_other = namespace(process.file("ns/user")) != namespace("/proc/self/ns/user".into());
    let map = |name| kernel::text(process.file(name)).unwrap_or_default();
    Some(Elsewhere { accounts, maps: is_other.then(|| [map("uid_map"), map("gid_map")]) })
}

/// Maps a number of this machine to the number inside a user namespace. Each line of the map has three fields: the
/// first number inside, the first number outside, how many numbers.
fn inside(id: u32, map: &str) -> Option<u32> {
    map.lines().find_map(|line| {
        let mut fields = line.split_whitespace().map(str::parse::<u32>);
        let (Some(Ok(inside)), Some(Ok(outside)), Some(Ok(n))) = (fields.next(), fields.next(), fields.next()) else {
            return None;
        };
        let offset = id.checked_sub(outside).filter(|it| *it < n)?;
        inside.checked_add(offset)
    })
}

/// Parses lines such as `name:x:number:…`; if a number occurs several times, its first name counts.
fn table(text: &str) -> HashMap<u32, String> {
    let mut names = HashMap::new();
    for line in text.lines() {
        let mut fields = line.split(':');
        if let (Some(name), Some(Ok(id))) = (fields.next(), fields.nth(1).map(str::parse))
            && name.len() <= MOST_NAME
        {
            names.entry(id).or_insert_with(|| name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_names_of_this_machine() {
        let names = Names::new();
        assert_eq!(names.user(0, None), "root");
        assert_eq!(names.group(0, None), "root");
        assert_eq!(names.user(4_000_000_000, None), "4000000000");
        let own = process(std::process::id()).unwrap();
        assert_eq!(names.user(0, Some(&own)), "root");
    }

    #[test]
    fn numbers_are_others_in_a_user_namespace() {
        let map = "         0       1000          1\n         1     100000      65536\n";
        assert_eq!(inside(1000, map), Some(0));
        assert_eq!(inside(100_998, map), Some(999));
        assert_eq!(inside(0, map), None);
        assert_eq!(inside(165_536, map), None);
        assert_eq!(inside(7, "nonsense"), None);
    }
}
