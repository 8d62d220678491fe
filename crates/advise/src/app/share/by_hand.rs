//! Instructions for a person who has to write the lines with which two containers share the folder of a socket. The
//! volumes and modes are those that `--containers` would write.
//!
//! Called by the check, which shows the instructions as the next step if the server runs in a container.

use std::path::Path;

use looptax_model::dsn::Protocol;

use super::compose::OPTIONS;
use super::image::{MODE, MYSQL, PHP, POSTGRES, REDIS};

/// The folder in which the usual images have their socket, or can have one.
pub fn usual_folder(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Mysql => MYSQL.0,
        Protocol::Postgres => POSTGRES.0,
        Protocol::Redis => REDIS.0,
        Protocol::Memcached => "/run/memcached",
        Protocol::Fastcgi => PHP.0,
        Protocol::Mongodb => "/tmp",
        Protocol::Http | Protocol::Echo => "/run",
    }
}

/// Explains how `server` and its application can share a socket: as two containers of a Pod, or as two services of a
/// Compose file.
pub fn by_hand(server: &str, protocol: Protocol, is_in_pod: bool) -> String {
    let folder = usual_folder(protocol);
    let volume = format!("sockets-{server}");
    let shared = if is_in_pod {
        format!("volumeMounts: [{{name: {volume}, mountPath: {folder}}}], and {volume} is an emptyDir of the Pod")
    } else {
        format!("volumes: ['{volume}:{folder}'], and {volume}: {{{OPTIONS}}} below the file's own `volumes`")
    };
    let turned_on = turned_on(protocol);
    format!(
        "share the folder of the server's socket: mount the same volume at that folder in `{server}` and in the \
         application ({shared}), but never mount the socket file itself;{turned_on} configure the socket in the \
         application; then run `looptax check` with --socket PATH and the container's address"
    )
}

/// The step that makes a server open its socket, with a blank before it and a semicolon after it; empty if the usual
/// image opens the socket by itself.
fn turned_on(protocol: Protocol) -> String {
    let folder = usual_folder(protocol);
    match protocol {
        Protocol::Mysql | Protocol::Postgres | Protocol::Mongodb | Protocol::Http | Protocol::Echo => String::new(),
        Protocol::Fastcgi => " set `listen` of the PHP-FPM pool to a path in that folder;".to_owned(),
        Protocol::Redis => format!(" start the server with --unixsocket {} --unixsocketperm {MODE};", REDIS.1),
        Protocol::Memcached => {
            format!(
                " start the server with -s {folder}/memcached.sock -a {MODE} (the server then no longer listens on \
                 TCP);"
            )
        }
    }
}

/// Explains how a server in the container `name` gets a socket that this machine's programs reach: a folder of this
/// machine, which belongs to the server's user and group `owner`, is mounted at `folder` of the container.
pub fn publish_by_hand(
    name: &str,
    owner: (u32, u32),
    folder: &Path,
    (protocol, has_socket): (Protocol, bool),
) -> String {
    let (uid, gid) = owner;
    let here = format!("/srv/{name}-socket");
    let volume = format!("{here}:{}", folder.display());
    let turned_on = if has_socket { String::new() } else { turned_on(protocol) };
    // Other users may have chosen the names of the container and of its folder, and a person may copy the commands into
    // a shell.
    let [here, volume] = [&here, &volume].map(|it| shell_words::quote(it));
    format!(
        "create a folder on this machine: `install -d -o {uid} -g {gid} {here}`; create the container again with \
         `--volume {volume}` (in a Compose file: volumes: [{volume}]), but never mount only the socket's \
         file;{turned_on} run this check again"
    )
}
