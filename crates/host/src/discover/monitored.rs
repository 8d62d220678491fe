//! Finds the name of a container. For Podman, the name is in the command line of the container's monitor, a parent of
//! all the container's processes. For Docker, the name is in the file in which the daemon keeps the container's
//! settings.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::discover::home::Home;
use crate::discover::process::{Process, process};
use crate::read;

/// A container's name, and who chose it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Monitored {
    /// The program that runs the container: `docker` or `podman`.
    pub runtime: &'static str,
    pub name: String,
    /// The user who runs the container's monitor or daemon.
    pub uid: u32,
    /// The Compose file that describes the container, if Docker's Compose created it from a single file.
    pub compose_file: Option<PathBuf>,
    /// The project and the service, if Docker's Compose created the container to run the service.
    pub service: Option<ComposeService>,
}

/// A service of a Compose project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComposeService {
    pub project: String,
    pub name: String,
}

/// The program that monitors a container of Podman.
const MONITOR: &str = "conmon";
/// The maximum number of ancestors that are followed.
const MOST_PARENTS: usize = 32;
/// Docker's settings file, and the data folder that Docker uses if the settings name no folder.
const DOCKER_SETTINGS: &str = "/etc/docker/daemon.json";
const DOCKER_DATA: &str = "/var/lib/docker";
/// The maximum number of bytes of a container's settings that are read; real settings are shorter.
const MOST_BYTES: u64 = 1 << 20;

/// Finds the name of the container in which a process runs, if Podman or Docker runs that container. Only root can read
/// Docker's files.
pub fn monitored(inside: &Process) -> Option<Monitored> {
    if let Home::Container { runtime: "docker", name } = &inside.home {
        return of_docker(&docker_data(), name);
    }
    let parents = std::iter::successors(process(inside.parent), |it| process(it.parent));
    let monitor = parents.take(MOST_PARENTS).find(|it| it.name == MONITOR)?;
    let name = monitored_name(&monitor.arguments())?;
    Some(Monitored { runtime: "podman", name, uid: monitor.uid, compose_file: None, service: None })
}

/// Finds the name `shop-db` in a command line such as `conmon … -n shop-db … --exit-command /usr/bin/podman …`.
fn monitored_name(arguments: &[String]) -> Option<String> {
    let is_podmans = arguments.iter().any(|it| it.rsplit('/').next() == Some("podman"));
    let place = arguments.iter().position(|it| it == "-n" || it == "--name")?;
    arguments.get(place + 1).filter(|it| is_podmans && is_name(it)).cloned()
}

/// Whether a text may be a container's name: a person may copy the name into a command.
///
/// # Source
/// moby, `daemon/names/names.go`; podman has the same pattern.
fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|it| it.is_ascii_alphanumeric())
        && bytes.all(|it| it.is_ascii_alphanumeric() || b"_.-".contains(&it))
}

/// The folder in which Docker keeps its data.
fn docker_data() -> PathBuf {
    #[derive(Deserialize)]
    struct Settings {
        #[serde(rename = "data-root")]
        data_root: Option<PathBuf>,
    }
    let settings = serde_json::from_str::<Settings>(&read::system_text(DOCKER_SETTINGS)).ok();
    settings.and_then(|it| it.data_root).unwrap_or_else(|| DOCKER_DATA.into())
}

/// Reads the name of a container from Docker's files; `short_id` is the beginning of the container's number.
///
/// # Source
/// moby, `container/container.go`: `config.v2.json`, whose names begin with `/`; Compose's labels
/// `com.docker.compose.project.config_files` (paths with commas between them), `.project`, `.service` and `.oneoff`.
fn of_docker(data: &Path, short_id: &str) -> Option<Monitored> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Settings {
        name: String,
        #[serde(default)]
        config: Config,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Config {
        labels: Option<Labels>,
    }
    #[derive(Default, Deserialize)]
    struct Labels {
        #[serde(rename = "com.docker.compose.project.config_files")]
        files: Option<String>,
        #[serde(rename = "com.docker.compose.project.working_dir")]
        folder: Option<PathBuf>,
        #[serde(rename = "com.docker.compose.project")]
        project: Option<String>,
        #[serde(rename = "com.docker.compose.service")]
        service: Option<String>,
        #[serde(rename = "com.docker.compose.oneoff")]
        oneoff: Option<String>,
    }
    let folders = read::list(&data.join("containers")).ok()?;
    let is_it = |it: &PathBuf| it.file_name().is_some_and(|name| name.to_string_lossy().starts_with(short_id));
    let folder = folders.into_iter().find(is_it)?;
    let text = read::text(&folder.join("config.v2.json"), MOST_BYTES).ok()?;
    let settings: Settings = serde_json::from_str(&text).ok()?;
    let name = Some(settings.name.trim_start_matches('/').to_owned()).filter(|it| is_name(it))?;
    let Labels { files, folder, project, service, oneoff } = settings.config.labels.unwrap_or_default();
    let file = files.filter(|it| !it.contains(','));
    // Compose 1 writes only the file's name, without the folder.
    let compose_file = file.map(|it| folder.unwrap_or_default().join(it)).filter(|it| it.is_absolute());
    let is_oneoff = oneoff.is_some_and(|it| it.eq_ignore_ascii_case("true"));
    let service = project.zip(service).filter(|_| !is_oneoff).map(|(project, name)| ComposeService { project, name });
    let service = service.filter(|it| is_name_of(&name, it));
    Some(Monitored { runtime: "docker", name, uid: 0, compose_file, service })
}

/// Whether Compose gives this name to a container of the service. An image may have any label, but it does not choose
/// the container's name.
fn is_name_of(container: &str, service: &ComposeService) -> bool {
    let parts = |separator: char| {
        let rest = container.strip_prefix(&*service.project)?.strip_prefix(separator)?;
        rest.strip_prefix(&*service.name)?.strip_prefix(separator)
    };
    let number = parts('-').or_else(|| parts('_'));
    number.is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
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
        check("conmon -n x;reboot --exit-command /usr/bin/podman", None);
    }

    #[test]
    fn docker_keeps_a_container_s_name_and_its_compose_file() {
        let scratch = tempfile::tempdir().unwrap();
        let id = "3f2a9c1b7d20".repeat(5);
        let folder = scratch.path().join("containers").join(&id);
        std::fs::create_dir_all(&folder).unwrap();
        let check = |settings: &str, expected: Option<(&str, Option<&str>)>| {
            std::fs::write(folder.join("config.v2.json"), settings).unwrap();
            let found = of_docker(scratch.path(), &id[..12]);
            let found = found.as_ref().map(|it| (&*it.name, it.compose_file.as_deref()));
            assert_eq!(found, expected.map(|(name, file)| (name, file.map(Path::new))), "{settings}");
        };
        let labelled = |files: &str| {
            format!(
                r#"{{"ID":"x","Config":{{"Labels":{{"com.docker.compose.project.config_files":"{files}",
                "com.docker.compose.project.working_dir":"/srv/shop"}}}},"Name":"/shop_db_1"}}"#
            )
        };
        check(r#"{"Config":{"Labels":{}},"Name":"/db"}"#, Some(("db", None)));
        check(r#"{"Config":{"Labels":null},"Name":"/db"}"#, Some(("db", None)));
        check(&labelled("/srv/a/compose.yaml"), Some(("shop_db_1", Some("/srv/a/compose.yaml"))));
        check(&labelled("compose.yaml"), Some(("shop_db_1", Some("/srv/shop/compose.yaml"))));
        check(&labelled("compose.yaml,more.yaml"), Some(("shop_db_1", None)));
        let of = |oneoff: &str, name: &str| {
            let settings = format!(
                r#"{{"Config":{{"Labels":{{"com.docker.compose.project":"shop","com.docker.compose.service":"db",
                "com.docker.compose.oneoff":"{oneoff}"}}}},"Name":"/{name}"}}"#
            );
            check(&settings, Some((name, None)));
            of_docker(scratch.path(), &id[..12]).unwrap().service
        };
        let db = ComposeService { project: "shop".to_owned(), name: "db".to_owned() };
        assert_eq!(of("False", "shop_db_1"), Some(db.clone()));
        assert_eq!(of("False", "shop-db-2"), Some(db));
        assert_eq!(of("True", "shop-db-2"), None);
        assert_eq!(of("False", "other"), None);
        check(r#"{"Name":"/$(reboot)"}"#, None);
        check("no JSON", None);
        assert_eq!(of_docker(scratch.path(), "000000000000"), None);
    }
}
