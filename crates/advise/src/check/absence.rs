//! Explains why a client finds no socket: no server made the socket, or the client cannot see it.

use looptax_model::dsn::Protocol;
use looptax_model::record::{Outcome, Point, PointCode, Topic};

/// The facts about a socket that a client does not find at its path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Absence {
    /// The first part of the path that does not exist.
    pub missing: String,
    /// Whether looptax sees the socket, but the client does not.
    pub is_there_for_us: bool,
    pub listener: Listener,
    /// Names of other sockets in the same folder.
    pub others: Vec<String>,
    /// Whether looptax itself is the client. If not, the client is another process, and looptax may not see all that
    /// this process sees.
    pub is_us: bool,
}

/// The process that listens on the socket's path, according to the kernel's list of sockets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Listener {
    /// No process on this machine listens on the path.
    #[default]
    Nobody,
    /// No visible process listens on the path, and looptax could not read some namespaces.
    NobodySeen,
    /// This process listens on the path: `mariadbd, pid 812`.
    Process(String),
}

/// Makes the point for a client that finds no socket at the path.
pub fn absent(absence: &Absence, socket: &str, client: &str, protocol: Protocol) -> Point {
    let how = format!("tried to connect as {client}; asked the kernel for all listening sockets");
    let missing = &absence.missing;
    let point = |code, what: String| Point::new(Topic::Path, code, Outcome::Fail, what, how.clone());
    match &absence.listener {
        _ if absence.is_there_for_us && !absence.is_us => {
            point(PointCode::SocketNotVisible, format!("{client} does not see `{missing}`, but other processes do"))
                .with_next(hidden(socket))
        }
        Listener::Process(name) if is_temporary(socket) => {
            let what = format!(
                "{name} listens on `{socket}`, but {client} does not see `{missing}`; the server may have its own \
                 temporary folder"
            );
            point(PointCode::SocketNotVisible, what).with_next(
                "if the server's unit has PrivateTmp=true, configure the server to make its socket below /run \
                 (RuntimeDirectory= of its unit); if the file was deleted while the server was running, restart the \
                 server",
            )
        }
        Listener::Process(name) => {
            let what = format!("{name} listens on `{socket}`, but {client} does not see `{missing}`");
            point(PointCode::SocketNotVisible, what).with_next(
                "if the file was deleted while the server was running, restart the server; if the server runs in a \
                 container or a chroot, make the socket's folder visible to the client",
            )
        }
        Listener::Nobody | Listener::NobodySeen => {
            let whom = match absence.listener {
                Listener::Nobody => "no process on this machine listens",
                _ => "no process that looptax can see listens",
            };
            let what = format!("{whom} on `{socket}`, and {client} does not see `{missing}`{}", beside(absence));
            point(PointCode::SocketAbsent, what).with_next(instead(absence, socket, protocol))
        }
    }
}

fn hidden(socket: &str) -> &'static str {
    if is_temporary(socket) {
        "a service with PrivateTmp=true has its own /tmp: configure the server to make its socket below /run \
         (RuntimeDirectory= of its unit), which the server and the client both see; `looptax find` shows for each \
         program what hides the socket"
    } else {
        "the client sees other folders (container, chroot, a mount namespace): make the socket's folder visible to \
         the client; `looptax find` shows for each program what hides the socket"
    }
}

/// Whether the socket is in a folder of which a service may have its own copy, such as `/tmp`.
fn is_temporary(socket: &str) -> bool {
    ["/tmp/", "/var/tmp/"].iter().any(|it| socket.starts_with(it))
}

/// Describes the other sockets in the folder.
fn beside(absence: &Absence) -> String {
    if absence.others.is_empty() {
        return String::new();
    }
    let names: Vec<String> = absence.others.iter().map(|it| format!("`{it}`")).collect();
    let them = if names.len() == 1 { "the socket" } else { "the sockets" };
    format!("; its folder has {them} {}", names.join(", "))
}

/// Describes the next step: to pass another socket, or to start the server.
fn instead(absence: &Absence, socket: &str, protocol: Protocol) -> String {
    let ports: Vec<&str> = absence.others.iter().filter_map(|it| it.strip_prefix(".s.PGSQL.")).collect();
    if protocol == Protocol::Postgres
        && let [first, ..] = ports[..]
    {
        let wanted = socket.rsplit_once(".s.PGSQL.").map_or("", |it| it.1);
        return format!(
            "the port is part of the socket's name: you passed port `{wanted}`, but the folder has a socket for port \
             {}; write port {first} if you mean the server on that port",
            ports.join(" or ")
        );
    }
    if !absence.others.is_empty() {
        return "pass the socket that you mean: `looptax find` shows the server of each socket".to_owned();
    }
    "start the server, or find out which socket it creates: `looptax find` lists the sockets of all servers".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(absence: &Absence, socket: &str, code: PointCode, words: &[&str], never: &str) {
        let point = absent(absence, socket, "www-data", Protocol::Postgres);
        assert_eq!(point.code, code, "{point:?}");
        let said = format!("{} {}", point.what, point.next.unwrap());
        for word in words {
            assert!(said.contains(word), "{word} in {said}");
        }
        assert!(never.is_empty() || !said.contains(never), "{never} in {said}");
    }

    #[test]
    fn another_port_is_told_before_any_theory() {
        let socket = "/tmp/pg/.s.PGSQL.6432";
        let absence =
            Absence { missing: socket.to_owned(), others: vec![".s.PGSQL.25432".to_owned()], ..Absence::default() };
        let words = ["no process on this machine listens", "`.s.PGSQL.25432`", "a socket for port 25432"];
        check(&absence, socket, PointCode::SocketAbsent, &words, "PrivateTmp");
        let nothing = Absence { others: Vec::new(), ..absence.clone() };
        check(&nothing, socket, PointCode::SocketAbsent, &["start the server"], "PrivateTmp");
        let unsure = Absence { listener: Listener::NobodySeen, ..nothing };
        check(&unsure, socket, PointCode::SocketAbsent, &["that looptax can see"], "PrivateTmp");
    }

    #[test]
    fn a_tmp_of_its_own_is_named_where_it_can_be_the_cause() {
        let seen = |socket: &str| Absence { missing: socket.to_owned(), is_there_for_us: true, ..Absence::default() };
        check(&seen("/tmp/s"), "/tmp/s", PointCode::SocketNotVisible, &["does not see `/tmp/s`", "PrivateTmp"], "");
        check(&seen("/run/s"), "/run/s", PointCode::SocketNotVisible, &["container, chroot"], "PrivateTmp");
        let held = Listener::Process("mariadbd, pid 812".to_owned());
        let of_server =
            |socket: &str| Absence { missing: socket.to_owned(), listener: held.clone(), ..Absence::default() };
        check(&of_server("/tmp/s"), "/tmp/s", PointCode::SocketNotVisible, &["mariadbd, pid 812", "PrivateTmp"], "");
        check(&of_server("/run/s"), "/run/s", PointCode::SocketNotVisible, &["deleted"], "PrivateTmp");
    }
}
