//! Points about a server in a container whose port is published on this machine, and the server's socket as this machine
//! sees it.
//!
//! Looks at processes and at mount tables; connects to nothing. Called by `points`.

use std::path::Path;

use looptax_advise::app;
use looptax_model::dsn::Address;
use looptax_model::record::{Outcome, Point, PointCode, Topic};

use crate::diagnose::find::container_of;
use crate::diagnose::socket_of::{self, Behind, SocketOf};

/// Returns the point that names the server and its container.
pub(super) fn listening((published, server): Behind<'_>, address: &Address) -> Point {
    let version = server.version.as_deref().unwrap_or("of unknown version");
    let proxy = &published.proxy;
    let what = format!(
        "port {} leads through {}, pid {}, to {} {version}, pid {}, in {}",
        address.port,
        proxy.program_name(),
        proxy.pid,
        server.name(),
        server.process.pid,
        container_of(&server.process)
    );
    let how = "looked at the listening sockets of every process, and at the proxy's command line";
    Point::new(Topic::Server, PointCode::ServerListens, Outcome::Pass, what, how)
}

/// Returns the server's socket at a path of this machine; otherwise the point that explains why there is none.
pub(super) fn socket((published, server): Behind<'_>, address: &Address) -> Result<SocketOf, Box<Point>> {
    let whose = container_of(&server.process);
    let next = |folder: &Path, has_socket| {
        let name = whose.rsplit(' ').next().unwrap_or_default();
        app::publish_by_hand(name, (server.process.uid, server.process.gid), folder, (address.protocol, has_socket))
    };
    if let Some(found) = socket_of::behind((published, server), address) {
        return Ok(found);
    }
    let point = match server.socket(published.server_port) {
        None => {
            let what = format!("{} in {whose} has no socket", server.name());
            let how = "looked at its listening sockets";
            Point::new(Topic::Socket, PointCode::SocketMissing, Outcome::Fail, what, how)
                .with_next(next(Path::new(app::usual_folder(address.protocol)), false))
        }
        Some((path, _)) => {
            let what = format!("the server's socket {} is in a folder that only {whose} has", path.display());
            let how = "compared the mounts of the container with those of this machine";
            Point::new(Topic::Path, PointCode::SocketInContainer, Outcome::Fail, what, how)
                .with_next(next(path.parent().unwrap_or(path), true))
        }
    };
    Err(Box::new(point))
}
