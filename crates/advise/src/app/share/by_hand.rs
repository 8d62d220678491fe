//! Instructions for a person who writes the lines with which two containers share the folder of a socket: the volumes
//! and modes that `--containers` would write.
//!
//! Called for files that looptax does not write, and along with the command that writes the others.

use looptax_model::dsn::Protocol;

use super::compose::OPTIONS;
use super::image::{MODE, MYSQL, PHP, POSTGRES, REDIS};

/// The folder in which the usual images have their socket, or may have one.
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

/// Explains how `server` and its application share a socket: two containers of a Pod, or two services of a Compose
/// file.
pub fn by_hand(server: &str, protocol: Protocol, is_in_pod: bool) -> String {
    let folder = usual_folder(protocol);
    let volume = format!("sockets-{server}");
    let shared = if is_in_pod {
        format!("volumeMounts: [{{name: {volume}, mountPath: {folder}}}], and {volume} is an emptyDir of the Pod")
    } else {
        format!("volumes: ['{volume}:{folder}'], and {volume}: {{{OPTIONS}}} below the file's own `volumes`")
    };
    let turned_on = match protocol {
        Protocol::Mysql | Protocol::Postgres | Protocol::Mongodb | Protocol::Http | Protocol::Echo => String::new(),
        Protocol::Fastcgi => " set `listen` of its pool to a path in that folder,".to_owned(),
        Protocol::Redis => format!(" start the server with --unixsocket {} --unixsocketperm {MODE},", REDIS.1),
        Protocol::Memcached => {
            format!(
                " start the server with -s {folder}/memcached.sock -a {MODE} (the server then no longer listens \
                on TCP),"
            )
        }
    };
    format!(
        "share the folder of the server's socket: mount the same volume at that folder in `{server}` and in the \
         application ({shared}; never the socket file itself),{turned_on} and configure the socket in the \
         application; then run `looptax check` with --socket PATH and the container's address"
    )
}
