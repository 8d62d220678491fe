//! The client of a check: a process, a user, a systemd unit's user, or looptax's own user.

use std::path::Path;

use looptax_advise::check::Confinement;
use looptax_host::discover::{NamespaceId, Survey, process};
use looptax_host::kernel;
use looptax_host::read::system_text as read;
use looptax_model::failure::Failure;

use super::rights::Rights;
use super::site::workers_of;
use super::unit::{Unit, unit_of};
use crate::diagnose::socket_of::Near;

#[derive(Debug)]
pub struct Client {
    /// The client's process, if it is running.
    pub pid: Option<u32>,
    /// A running process that represents the client, if the client is not one particular process.
    pub worker: Option<u32>,
    /// The access rights with which looptax tries the socket; `None` if looptax itself is the client.
    pub rights: Option<Rights>,
    pub user: String,
    pub shown: String,
    /// The network namespace in which the client's 127.0.0.1 is. If the client is not a running process, looptax's own
    /// namespace.
    pub network: Option<NamespaceId>,
    pub confinement: Confinement,
    /// The unit that starts the client, if the checked file is a systemd unit.
    pub unit: Option<Unit>,
}

/// The lowest user id that systemd uses when it creates a user for a unit. Such a user has only the rights that all
/// users have.
///
/// # Source
/// systemd.exec(5), `DynamicUser=`.
const DYNAMIC_USER: u32 = 61_184;

impl Client {
    pub fn find(pid: Option<u32>, user: Option<&str>) -> Result<Self, Failure> {
        let passwd = read("/etc/passwd");
        if let Some(pid) = pid {
            let Some(found) = process(pid) else {
                return Err(Failure::usage(
                    format!("process {pid} does not exist, or you may not inspect it"),
                    "`looptax find` lists the clients",
                ));
            };
            let user = name_of(&passwd, found.uid);
            return Ok(Self {
                pid: Some(pid),
                worker: None,
                shown: format!("{} {pid} ({user})", found.program_name()),
                network: found.network,
                user,
                rights: Some(Rights { uid: found.uid, gid: found.gid, groups: found.groups }),
                confinement: confinement(&pid.to_string()),
                unit: None,
            });
        }
        if let Some(name) = user {
            let Some(rights) = rights_of(&passwd, &read("/etc/group"), name) else {
                return Err(Failure::usage(
                    format!("there is no user `{name}` in /etc/passwd"),
                    "pass the client's process instead: --pid PID",
                ));
            };
            return Ok(Self {
                pid: None,
                worker: None,
                rights: Some(rights),
                user: name.to_owned(),
                shown: name.to_owned(),
                network: own_network(),
                confinement: match confinement("self") {
                    // The kernel has no security module.
                    Confinement::Absent => Confinement::Absent,
                    // The confinement of looptax's shell does not apply to a service.
                    _ => Confinement::Unknown,
                },
                unit: None,
            });
        }
        let user = name_of(&passwd, rustix::process::geteuid().as_raw());
        Ok(Self {
            pid: None,
            worker: None,
            rights: None,
            shown: format!("{user} (you; pass another client with --user or --pid)"),
            network: own_network(),
            user,
            confinement: confinement("self"),
            unit: None,
        })
    }

    /// Finds the client of a file: the process or user that the caller passed, else the user that a systemd unit sets,
    /// else the user whose PHP workers serve the file's site.
    ///
    /// # Errors
    /// If the process or user that the caller passed does not exist.
    pub fn for_file(path: &Path, pid: Option<u32>, user: Option<&str>) -> Result<Self, Failure> {
        let Some(mut unit) = unit_of(path) else {
            let is_named = pid.is_some() || user.is_some();
            return match workers_of(path).filter(|_| !is_named && rustix::process::geteuid().is_root()) {
                Some((rights, worker)) => {
                    let name = user_name(rights.uid);
                    Ok(Self {
                        shown: format!("{name} (PHP-FPM's workers, as {worker})"),
                        worker: Some(worker),
                        confinement: confinement(&worker.to_string()),
                        rights: Some(rights),
                        user: name,
                        ..Self::find(None, None)?
                    })
                }
                None => Self::find(pid, user),
            };
        };
        let mut client = if pid.is_some() || user.is_some() {
            Self::find(pid, user)?
        } else {
            let (passwd, group) = (read("/etc/passwd"), read("/etc/group"));
            if let Some((rights, name)) = user_of(&unit, &passwd, &group) {
                Self {
                    shown: format!("{name} (User= of the unit)"),
                    rights: Some(rights),
                    user: name,
                    ..Self::find(None, None)?
                }
            } else {
                unit.unknown_user.clone_from(&unit.settings.user);
                Self::find(None, None)?
            }
        };
        if client.pid.is_none() && client.confinement != Confinement::Absent {
            // The confinement of looptax's shell does not apply to a service.
            client.confinement = Confinement::Unknown;
        }
        client.unit = Some(unit);
        Ok(client)
    }

    /// Whether the client is a process, a user or a unit's user, and not looptax itself.
    pub fn is_named(&self) -> bool {
        self.pid.is_some() || self.rights.is_some()
    }

    /// Returns the option that passes this client to another `check`, such as ` --pid 812`. The text begins with a
    /// space; it is empty if the client is looptax's own process.
    pub fn option(&self) -> String {
        match (self.pid, &self.rights) {
            (Some(pid), _) => format!(" --pid {pid}"),
            (None, Some(_)) => format!(" --user {}", self.user),
            (None, None) => String::new(),
        }
    }

    /// Returns the servers on this machine with their clients, as this client sees them.
    pub fn near<'a>(&self, survey: &'a Survey) -> Near<'a> {
        let Survey { servers, clients, published, .. } = survey;
        Near { servers, network: self.network, clients, published }
    }

    /// Returns the file that leads to the client's network namespace, if this is not looptax's own namespace.
    pub fn other_network(&self) -> Option<String> {
        let pid = self.pid?;
        (self.network != own_network()).then(|| format!("/proc/{pid}/ns/net"))
    }
}

fn own_network() -> Option<NamespaceId> {
    process(std::process::id()).and_then(|own| own.network)
}

/// Returns a user's name, or the number if the user has no name.
pub(crate) fn user_name(uid: u32) -> String {
    name_of(&read("/etc/passwd"), uid)
}

/// Returns a group's name, if the group has one.
pub(crate) fn group_name(gid: u32) -> Option<String> {
    let groups = read("/etc/group");
    let line = groups.lines().find(|line| line.split(':').nth(2) == Some(&*gid.to_string()))?;
    line.split(':').next().map(str::to_owned)
}

/// Returns a user's name from `/etc/passwd`, or the user's number if that file does not list the user.
pub(super) fn name_of(passwd: &str, uid: u32) -> String {
    let has_id = |line: &&str| line.split(':').nth(2) == Some(&*uid.to_string());
    let line = passwd.lines().find(has_id);
    let name = line.and_then(|line| line.split(':').next());
    name.map_or_else(|| uid.to_string(), str::to_owned)
}

fn rights_of(passwd: &str, group: &str, name: &str) -> Option<Rights> {
    let fields: Vec<&str> =
        passwd.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields.first() == Some(&name))?;
    let (uid, gid) = (fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?);
    let groups = group.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let is_member = fields.get(3)?.split(',').any(|member| member == name);
        is_member.then(|| fields[2].parse().ok())?
    });
    Some(Rights { uid, gid, groups: groups.collect() })
}

/// Returns the name and the rights of a unit's user; `None` if this machine does not have that user.
fn user_of(unit: &Unit, passwd: &str, group: &str) -> Option<(Rights, String)> {
    let settings = &unit.settings;
    let group_id = |name: &String| {
        let number = || name.parse().ok();
        let line = group.lines().find(|it| it.split(':').next() == Some(name));
        line.and_then(|it| it.split(':').nth(2)?.parse().ok()).or_else(number)
    };
    let name = settings.user.clone().unwrap_or_else(|| "root".to_owned());
    let (mut rights, name) = if settings.is_dynamic {
        let name = settings.user.clone().unwrap_or_else(|| unit.name.clone());
        (Rights { uid: DYNAMIC_USER, gid: DYNAMIC_USER, groups: Vec::new() }, name)
    } else {
        let by_number = || {
            let uid: u32 = name.parse().ok()?;
            rights_of(passwd, group, &name_of(passwd, uid)).or(Some(Rights { uid, gid: uid, groups: Vec::new() }))
        };
        (rights_of(passwd, group, &name).or_else(by_number)?, name.clone())
    };
    if let Some(gid) = settings.group.as_ref().and_then(group_id) {
        rights.gid = gid;
    }
    rights.groups.extend(settings.supplementary_groups.iter().filter_map(group_id));
    Some((rights, name))
}

/// Returns the security label that confines a process; the label `unconfined` counts as no confinement.
fn confinement(process: &str) -> Confinement {
    match kernel::text(format!("/proc/{process}/attr/current")) {
        Ok(label) => {
            let label = label.trim_end_matches(['\0', '\n']).to_owned();
            // SELinux puts the unconfined domain into the third part of the label.
            let is_free = label.is_empty()
                || label.starts_with("unconfined")
                || label.split(':').nth(2).is_some_and(|it| it.starts_with("unconfined"));
            if is_free { Confinement::None } else { Confinement::Label(label) }
        }
        // The kernel refuses this read if it has no security module.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error()) => Confinement::Absent,
        Err(_) => Confinement::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use looptax_advise::check::UnitSettings;

    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\nwww-data:x:33:33:w:/var/www:/bin/sh\n";
    const GROUP: &str = "root:x:0:\nredis:x:110:www-data,other\nmail:x:8:other\n";

    #[test]
    fn a_user_has_the_groups_that_list_it() {
        let rights = rights_of(PASSWD, GROUP, "www-data").unwrap();
        let expected = Rights { uid: 33, gid: 33, groups: vec![110] };
        assert_eq!(rights, expected);
        assert_eq!(rights_of(PASSWD, GROUP, "nobody-there"), None);
        assert_eq!((name_of(PASSWD, 33), name_of(PASSWD, 99)), ("www-data".to_owned(), "99".to_owned()));
    }

    #[test]
    fn a_unit_names_its_user_and_groups() {
        let user = |lines: &str| {
            let settings = UnitSettings::read([&*format!("[Service]\n{lines}")]);
            let unit = Unit { settings, name: "shop".to_owned(), unknown_user: None };
            user_of(&unit, PASSWD, GROUP).map(|(it, name)| (it.uid, it.gid, it.groups, name))
        };
        let who = |uid, gid, groups: &[u32], name: &str| Some((uid, gid, groups.to_vec(), name.to_owned()));
        assert_eq!(user("User=www-data\n"), who(33, 33, &[110], "www-data"));
        assert_eq!(user("User=www-data\nGroup=mail\nSupplementaryGroups=redis\n"), who(33, 8, &[110, 110], "www-data"));
        assert_eq!(user("User=33\n"), who(33, 33, &[110], "33"));
        assert_eq!(user(""), who(0, 0, &[], "root"));
        assert_eq!(user("User=gone\n"), None);
        assert_eq!(user("DynamicUser=yes\n"), who(DYNAMIC_USER, DYNAMIC_USER, &[], "shop"));
    }
}
