//! Names of users and groups, from this machine's `/etc/passwd` and `/etc/group`.
//!
//! A container has names of its own; there, and for users of a directory service, the number is
//! shown.

use std::collections::HashMap;

use looptax_host::discover::{Home, Process};
use looptax_host::read;

#[derive(Debug, Default)]
pub(super) struct Names {
    users: HashMap<u32, String>,
    groups: HashMap<u32, String>,
}

impl Names {
    pub(super) fn new() -> Self {
        Self { users: table("/etc/passwd"), groups: table("/etc/group") }
    }

    pub(super) fn user_of(&self, process: &Process) -> String {
        self.user(process.uid, &process.home)
    }

    /// The owner of something that lives there.
    pub(super) fn user(&self, uid: u32, home: &Home) -> String {
        named(&self.users, uid, home)
    }

    pub(super) fn group(&self, gid: u32, home: &Home) -> String {
        named(&self.groups, gid, home)
    }
}

fn named(names: &HashMap<u32, String>, id: u32, home: &Home) -> String {
    let name = names.get(&id).filter(|_| !matches!(home, Home::Container { .. }));
    name.map_or_else(|| id.to_string(), Clone::clone)
}

/// `name:x:number:…`, a line each; the first name of a number wins.
fn table(path: &str) -> HashMap<u32, String> {
    let text = read::system_text(path);
    let mut names = HashMap::new();
    for line in text.lines() {
        let mut fields = line.split(':');
        if let (Some(name), Some(Ok(id))) = (fields.next(), fields.nth(1).map(str::parse)) {
            names.entry(id).or_insert_with(|| name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_names_here_and_none_in_a_container() {
        let names = Names::new();
        assert_eq!(names.user(0, &Home::Elsewhere), "root");
        assert_eq!(names.group(0, &Home::Elsewhere), "root");
        let home = Home::Container { runtime: "docker", name: "3f2a9c1b7d20".to_owned() };
        assert_eq!(names.user(0, &home), "0");
        assert_eq!(names.user(4_000_000_000, &Home::Elsewhere), "4000000000");
    }
}
