//! Determines to which container or service a process belongs, from its control group.
//!
//! Container runtimes name a control group after its container, and systemd writes the unit into the path. This module
//! only parses text and asks no runtime.

/// The container or service to which a process belongs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Home {
    /// A container, such as `docker 3f2a9c1b7d20` or `lxc web`.
    Container {
        /// The program that created the container: `docker`, `podman`, `containerd`, `cri-o`, `lxc` or `nspawn`.
        runtime: &'static str,
        /// The container's name, or the first twelve digits of its number.
        name: String,
    },
    /// A systemd service, such as `mariadb.service`.
    Unit(String),
    /// A user's session, or a process that belongs neither to a known container nor to a service.
    #[default]
    Elsewhere,
}

/// The prefixes of the names of containers' control groups, and the programs that create these names.
const PREFIXES: [(&str, &str); 4] =
    [("docker-", "docker"), ("libpod-", "podman"), ("cri-containerd-", "containerd"), ("crio-", "cri-o")];
/// Folders that contain the control groups of containers.
const FOLDERS: [(&str, &str); 3] = [("docker", "docker"), ("lxc", "lxc"), ("libpod_parent", "podman")];
/// How many digits of a container's number people use.
const SHORT_ID: usize = 12;

/// Returns the container or service that the text of `/proc/PID/cgroup` shows.
pub(crate) fn home_of(cgroup: &str) -> Home {
    let paths = || cgroup.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    paths().find_map(container).or_else(|| paths().find_map(unit)).unwrap_or_default()
}

/// Returns the innermost container in a path.
fn container(path: &str) -> Option<Home> {
    let parts: Vec<&str> = path.split('/').collect();
    let home = |runtime, name: &str| Some(Home::Container { runtime, name: name.to_owned() });
    for (idx, part) in parts.iter().enumerate().rev() {
        let bare = part.strip_suffix(".scope").unwrap_or(part);
        for (prefix, runtime) in PREFIXES {
            if let Some(id) = bare.strip_prefix(prefix).filter(|id| is_id(id)) {
                return home(runtime, &id[..SHORT_ID]);
            }
        }
        if let Some(name) = part.strip_prefix("lxc.payload.") {
            return home("lxc", name);
        }
        if let Some(name) = bare.strip_prefix("machine-").filter(|_| *part != bare) {
            return home("nspawn", name);
        }
        let parent = idx.checked_sub(1).map(|before| parts[before]);
        for (folder, runtime) in FOLDERS {
            if parent == Some(folder) && !bare.is_empty() {
                let name = if is_id(bare) { &bare[..SHORT_ID] } else { bare };
                return home(runtime, name);
            }
        }
        // Kubernetes without systemd puts the container's number below the pod's number.
        if is_id(part) && parent.is_some_and(|parent| parent.starts_with("pod")) {
            return home("containerd", &part[..SHORT_ID]);
        }
    }
    None
}

/// Returns the innermost service in a path. The service manager of a single user, and this manager's services, do not
/// count, because the system's manager does not know them.
fn unit(path: &str) -> Option<Home> {
    let mut services = path.split('/').filter(|part| part.ends_with(".service"));
    let service = services.next_back()?;
    if service.starts_with("user@") || services.any(|it| it.starts_with("user@")) {
        return None;
    }
    Some(Home::Unit(service.to_owned()))
}

/// Whether a text is a container's number: at least 32 hexadecimal digits.
fn is_id(text: &str) -> bool {
    text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f2a9c1b7d20aa11bb22cc33dd44ee55ff6677889900aabbccddeeff00112233";

    #[track_caller]
    fn check(cgroup: &str, expected: &str) {
        let found = match home_of(&cgroup.replace("ID", ID)) {
            Home::Container { runtime, name } => format!("{runtime} {name}"),
            Home::Unit(name) => name,
            Home::Elsewhere => String::new(),
        };
        assert_eq!(found, expected, "{cgroup}");
    }

    #[test]
    fn containers_are_known_by_their_runtime() {
        check("0::/system.slice/docker-ID.scope\n", "docker 3f2a9c1b7d20");
        check("12:cpu:/docker/ID\n0::/docker/ID\n", "docker 3f2a9c1b7d20");
        check("0::/machine.slice/libpod-ID.scope/container\n", "podman 3f2a9c1b7d20");
        check(
            "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1.slice/cri-containerd-ID.scope",
            "containerd 3f2a9c1b7d20",
        );
        check("0::/kubepods/besteffort/pod77/ID", "containerd 3f2a9c1b7d20");
        check("0::/kubepods.slice/crio-ID.scope", "cri-o 3f2a9c1b7d20");
        check("0::/lxc.payload.web/system.slice/mariadb.service", "lxc web");
        check("0::/lxc/web", "lxc web");
        check("0::/machine.slice/machine-web.scope", "nspawn web");
    }

    #[test]
    fn services_are_known_by_their_unit_and_sessions_are_none() {
        check("0::/system.slice/mariadb.service\n", "mariadb.service");
        check("0::/system.slice/system-postgresql.slice/postgresql@15-main.service", "postgresql@15-main.service");
        check("0::/user.slice/user-1000.slice/session-2.scope", "");
        check("0::/user.slice/user-1000.slice/user@1000.service/app.slice/run.scope", "");
        check("0::/user.slice/user-1000.slice/user@1000.service/app.slice/gunicorn.service", "");
        check("0::/\n", "");
        check("", "");
        check("nonsense", "");
    }
}
