//! The point about a server in a container whose host name comes from a Compose file: the name is not valid outside the
//! containers.
//!
//! Reads Compose files, up to a size limit. Called by `sources` and `answer`.

use std::path::Path;

use looptax_advise::app;
use looptax_model::dsn::Address;
use looptax_model::record::{Outcome, Point, PointCode, Topic};

use super::bounded_read::Files;

/// The names of the files that Compose looks for in a folder.
pub(super) const COMPOSE_FILES: [&str; 4] =
    ["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"];

#[derive(Debug)]
pub(super) struct Service {
    pub(super) name: String,
    /// The name of the Compose file that defines the service.
    pub(super) file: String,
}

/// Whether the file is a `.container` unit of Podman.
pub(crate) fn is_container_unit(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "container")
}

/// Returns the services of a file and of the Compose files in its folder. A file that cannot be read has no services. A
/// Pod and a unit do not have services either, because the names in a Compose file of the same folder are not valid in
/// their containers.
pub(super) fn services(path: &Path, bytes: &[u8], neighbours: &[String], files: Files<'_>) -> Vec<Service> {
    if is_container_unit(path) || app::is_manifest(&String::from_utf8_lossy(bytes)) {
        return Vec::new();
    }
    let own = path.file_name().map(|name| name.to_string_lossy());
    let compose = COMPOSE_FILES.into_iter().filter(|it| neighbours.iter().any(|name| name == it));
    let mut names: Vec<&str> = own.iter().map(|it| &**it).chain(compose).collect();
    names.dedup();
    let of_file = |name: &str| {
        let path = path.with_file_name(name);
        let bytes = files.read(&path).ok();
        let found = bytes.map(|bytes| app::services(&bytes));
        let file = name.to_owned();
        let service = move |name| Service { name, file: file.clone() };
        found.unwrap_or_default().into_iter().map(service)
    };
    names.into_iter().flat_map(of_file).collect()
}

/// Returns the point about a host that has the name of one of these services; `None` for any other host.
pub(super) fn point(address: &Address, services: &[Service]) -> Option<Point> {
    let host = address.host.as_deref()?;
    let service = services.iter().find(|it| it.name == host)?;
    Some(Point::new(Topic::Server, PointCode::ServerInContainer, Outcome::Fail, format!(
            "`{host}` is the name of a container: {} has a service of that name, and only the containers in this file \
             know the name",
            service.file
        ), format!("read the services of {}", service.file)).with_next(app::by_hand(host, address.protocol, false)))
}
