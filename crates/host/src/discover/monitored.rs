//! Reads a container's name from the command line of its monitor. With Podman, the monitor is an ancestor of all
//! processes of the container.

use crate::discover::process::{Process, process};

/// A container's name, from the process that monitors the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Monitored {
    pub name: String,
    /// The monitor's user, who chose the name.
    pub uid: u32,
}

/// The program that monitors a container of Podman.
const MONITOR: &str = "conmon";
/// The maximum number of ancestors that are followed.
const MOST_PARENTS: usize = 32;

/// Returns the name of the container in which a process runs, if Podman runs the container.
pub fn monitored(inside: &Process) -> Option<Monitored> {
    let parents = std::iter::successors(process(inside.parent), |it| process(it.parent));
    let monitor = parents.take(MOST_PARENTS).find(|it| it.name == MONITOR)?;
    let name = monitored_name(&monitor.arguments())?;
    Some(Monitored { name, uid: monitor.uid })
}

/// Finds the name `shop-db` in a command line such as `conmon … -n shop-db … --exit-command /usr/bin/podman …`.
fn monitored_name(arguments: &[String]) -> Option<String> {
    let is_podmans = arguments.iter().any(|it| it.rsplit('/').next() == Some("podman"));
    let place = arguments.iter().position(|it| it == "-n" || it == "--name")?;
    arguments.get(place + 1).filter(|_| is_podmans).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn podmans_monitor_has_the_name() {
        let check = |line: &str, expected: Option<&str>| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(monitored_name(&arguments).as_deref(), expected, "{line}");
        };
        // The command line with which Podman 4.3 starts conmon 2.1.6, shortened.
        let podmans = "/usr/bin/conmon --api-version 1 -c 3f2a -u 3f2a -r /usr/bin/crun -n shop-db --exit-dir /run/x \
             --exit-command /usr/bin/podman --exit-command-arg container";
        check(podmans, Some("shop-db"));
        check("/usr/bin/conmon -c 3f2a -n k8s_db_shop --exit-dir /var/run/crio", None);
        check("conmon -n", None);
    }
}
