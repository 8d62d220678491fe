//! The path to the socket, component by component, as the client sees the path.

use looptax_model::dsn::Protocol;
use looptax_model::record::{Outcome, Point, PointCode, StepPlace, Topic};

/// One component of a path, as the client sees it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Step {
    pub path: String,
    /// The owner of the component: a name, or a number.
    pub owner: String,
    pub group: String,
    pub mode: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum End {
    Connected,
    /// The client lacks a permission at the last step: to search a folder, or to write to the socket.
    Denied,
    /// A component of the path does not exist.
    Missing {
        path: String,
    },
    /// The file at the path is not a socket.
    NotASocket,
    /// No process listens on the socket.
    Refused,
    /// The queue of the socket is full.
    Full,
    /// The path is longer than the kernel accepts.
    TooLong {
        bytes: usize,
        /// Maximum number of bytes that the kernel accepts.
        most: usize,
    },
    /// The permissions allow the connection, but a security module denied it.
    Confined,
    /// Another error, as the kernel reports it.
    Failed {
        why: String,
    },
}

/// How far a client gets on the path to the socket.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reach {
    /// Each component that could be examined, up to the component at which the attempt ended.
    pub steps: Vec<Step>,
    pub end: End,
}

/// Groups that no user should join only to reach a database.
const POWERFUL_GROUPS: [&str; 9] = ["root", "wheel", "sudo", "adm", "docker", "lxd", "disk", "shadow", "kvm"];

/// Whether members of a group may do far more than use a database.
pub fn is_powerful_group(name: &str) -> bool {
    POWERFUL_GROUPS.contains(&name)
}

/// Makes the point about whether the client can connect to the socket. `client` describes the client; `user` is the
/// name of the user that it runs as.
pub fn reach(reach: &Reach, socket: &str, client: &str, user: &str) -> Point {
    way(reach, socket, (client, user), None)
}

/// Like `reach`. Adds the lines of the server's own file that allow a client, if servers of this protocol have such
/// lines.
pub fn reach_server(reach: &Reach, socket: &str, (client, user): (&str, &str), protocol: Protocol) -> Point {
    way(reach, socket, (client, user), Some(protocol))
}

fn way(reach: &Reach, socket: &str, (client, user): (&str, &str), protocol: Option<Protocol>) -> Point {
    let how = format!("tried to connect as {client}");
    let point = |code, outcome, what: String| Point::new(Topic::Path, code, outcome, what, how.clone());
    match &reach.end {
        End::Connected => point(PointCode::SocketReachable, Outcome::Pass, format!("{client} can connect to {socket}")),
        End::Denied => denied(reach, socket, (client, user), protocol, &how),
        End::Missing { path } => point(
            PointCode::SocketNotVisible,
            Outcome::Fail,
            format!("{client} does not see `{path}`"),
        )
        .with_next(if is_temporary(socket) {
            "a service with PrivateTmp=true has its own /tmp: configure the server to make its socket below /run \
             (RuntimeDirectory= of its unit), which the server and the client both see; `looptax find` shows for \
             each program what hides the socket"
        } else {
            "if the server does not listen on that socket yet, change the server's configuration and restart the \
             server; otherwise the client sees other folders (container, chroot, PrivateTmp): make the socket's folder \
             visible to the client; `looptax find` shows for each program what hides the socket"
        }),
        End::NotASocket => point(PointCode::NotASocket, Outcome::Fail, format!("`{socket}` is not a socket"))
            .with_next("pass the server's socket with --socket"),
        End::Refused => point(PointCode::SocketDeserted, Outcome::Fail, format!("no process listens on `{socket}`"))
            .with_next("start the server; a socket left behind by a crash is replaced when the server starts"),
        End::Full => point(
            PointCode::BacklogFull,
            Outcome::Fail,
            format!(
                "the connection queue of `{socket}` is full at the moment: a client that does not wait gets EAGAIN"
            ),
        )
        .with_next(
            "raise the server's backlog and net.core.somaxconn, or configure the client to keep its connections open",
        ),
        End::TooLong { bytes, most } => point(
            PointCode::PathTooLong,
            Outcome::Fail,
            format!("the path has {bytes} bytes, but the kernel accepts at most {most}"),
        )
        .with_next("use a symbolic link to the socket in a folder with a short name"),
        End::Confined => point(
            PointCode::ConfinementDenies,
            Outcome::Fail,
            format!("the permissions allow the connection, but SELinux or AppArmor denied it to {client}"),
        )
        .with_next("look for the denial: ausearch -m avc -ts recent, or dmesg | grep -i apparmor"),
        End::Failed { why } => point(
            PointCode::PathNotTried,
            Outcome::Unknown,
            format!("the path to `{socket}` could not be tried: {why}"),
        )
        .with_next("try `test -w` on the socket as the client's user, inside its container if it has one"),
    }
}

/// Whether the socket is in a folder of which a service may have its own copy, such as `/tmp`.
fn is_temporary(socket: &str) -> bool {
    ["/tmp/", "/var/tmp/"].iter().any(|it| socket.starts_with(it))
}

/// The lines of the server's own file that allow a user, for a server behind a web server.
fn own_lines(protocol: Protocol, user: &str) -> Option<String> {
    match protocol {
        Protocol::Fastcgi => Some(format!(
            "write `listen.owner = {user}` and `listen.mode = 0660` into the pool and restart PHP-FPM: a reload does \
             not change the socket, and a chmod lasts only until the restart"
        )),
        Protocol::Http => Some(format!(
            "configure the server to create its socket for a group that {user} is in (Gunicorn: `umask = 0o007` and \
             `group`; Puma: `?umask=0007` after the path; uWSGI: `chmod-socket = 660` and `chown-socket`), and restart \
             the server; a chmod lasts only until the restart"
        )),
        _ => None,
    }
}

fn denied(reach: &Reach, socket: &str, (client, user): (&str, &str), protocol: Option<Protocol>, how: &str) -> Point {
    let Some(step) = reach.steps.last() else {
        let what = format!("{client} is denied");
        return Point::new(Topic::Path, PointCode::SocketDenied, Outcome::Fail, what, how);
    };
    let is_socket = step.path == socket;
    let (code, wants, bits) = if is_socket {
        (PointCode::SocketDenied, "write permission on the socket", 0o020)
    } else {
        (PointCode::FolderDenied, "search permission (x) on the folder", 0o010)
    };
    let what = format!("{client} has no {wants} `{}` ({}:{} {:04o})", step.path, step.owner, step.group, step.mode);
    // If the group already has the permission, the smallest change is that the user joins the group. But members of
    // some groups may do far more than use a socket.
    let point = Point::new(Topic::Path, code, Outcome::Fail, what, how);
    if step.owner == user && !is_socket {
        let mend = format!("chmod u+x {}", quoted(&step.path));
        return point
            .with_next("the folder belongs to the client's user, so the permissions of its group do not apply")
            .with_steps(StepPlace::Shell, [mend]);
    }
    let own_lines = protocol.and_then(|it| own_lines(it, user));
    let is_powerful = is_powerful_group(&step.group);
    let may_join = !is_powerful && step.mode & bits != 0 && step.owner != user;
    if let Some(lines) = own_lines.as_ref().filter(|_| is_socket && !may_join) {
        point.with_next(lines)
    } else if is_powerful && !is_socket {
        point.with_next(format!(
            "configure the server to make its socket in a separate folder below /run; do not add a user to the \
            group {} for this",
            step.group
        ))
    } else if is_powerful && own_lines.is_none() {
        point.with_next(format!(
            "configure the server to make `{}` with a group that has no other purpose{}, and add {user} to that group; \
             do not add a user to the group {} for this",
            step.path,
            by_setting(protocol),
            step.group
        ))
    } else if may_join {
        point
            .with_next(format!(
                "join the group below and restart the client (a reload is not enough: a process gets its groups \
                 when it starts); every program of {user} then gets all rights of {}",
                step.group
            ))
            .with_steps(StepPlace::Shell, [format!("usermod -aG {} {user}", step.group)])
    } else if is_socket {
        point.with_next(format!(
            "configure the server to make its socket with mode 0770 and a group that {user} is in; a chmod lasts \
             only until the server restarts"
        ))
    } else {
        point
            .with_next(
                "give the client search permission as below, or move the socket to a folder that every user may search",
            )
            .with_steps(StepPlace::Shell, [format!("setfacl -m u:{user}:x {}", quoted(&step.path))])
    }
}

/// Names the settings of a server that decide who may use its socket, in parentheses.
fn by_setting(protocol: Option<Protocol>) -> &'static str {
    match protocol {
        Some(Protocol::Redis) => " (Redis: unixsocketperm 770, and Group= of its unit)",
        Some(Protocol::Mongodb) => " (mongod: net.unixDomainSocket.filePermissions 0770, and Group= of its unit)",
        _ => "",
    }
}

/// Quotes a path as one word of a shell command.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,".contains(c);
    if path.chars().all(is_plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(path: &str, mode: u32) -> Step {
        Step { path: path.to_owned(), owner: "redis".to_owned(), group: "redis".to_owned(), mode }
    }

    #[track_caller]
    fn check(steps: Vec<Step>, end: End, outcome: Outcome, words: &[&str]) {
        let found = Reach { steps, end };
        let point = reached(&found, "/run/redis/r.sock", Protocol::Redis);
        assert_eq!(point.outcome, outcome, "{point:?}");
        for word in words {
            assert!(format!("{point:?}").contains(word), "{word} in {point:?}");
        }
    }

    #[test]
    fn the_component_that_stops_the_client_is_named_with_the_least_change() {
        let folder = step("/run/redis", 0o750);
        check(vec![folder], End::Denied, Outcome::Fail, &["folder `/run/redis`", "usermod -aG redis www-data"]);
        let closed = step("/run/redis", 0o700);
        check(vec![closed], End::Denied, Outcome::Fail, &["setfacl -m u:www-data:x /run/redis"]);
        let socket = step("/run/redis/r.sock", 0o770);
        check(vec![socket], End::Denied, Outcome::Fail, &["on the socket", "usermod -aG redis"]);
        let mut roots = step("/run/redis/r.sock", 0o770);
        roots.group = "root".to_owned();
        check(vec![roots], End::Denied, Outcome::Fail, &["a group that has no other purpose"]);
        let private = step("/run/redis/r.sock", 0o700);
        check(vec![private], End::Denied, Outcome::Fail, &["mode 0770"]);
    }

    fn reached(found: &Reach, socket: &str, protocol: Protocol) -> Point {
        reach_server(found, socket, ("www-data", "www-data"), protocol)
    }

    #[test]
    fn a_server_behind_a_web_server_is_told_its_own_lines_and_nothing_of_databases() {
        let mut socket = step("/run/php.sock", 0o660);
        for (group, mode) in [("root", 0o660), ("redis", 0o600)] {
            (socket.group, socket.mode) = (group.to_owned(), mode);
            let found = Reach { steps: vec![socket.clone()], end: End::Denied };
            for (protocol, words) in
                [(Protocol::Fastcgi, "`listen.owner = www-data`"), (Protocol::Http, "`umask = 0o007`")]
            {
                let next = reached(&found, "/run/php.sock", protocol).next.unwrap();
                assert!(next.contains(words), "{next}");
                assert!(!next.contains("Redis"), "{next}");
            }
        }
    }

    #[test]
    fn every_end_has_its_own_words() {
        check(vec![], End::Connected, Outcome::Pass, &["can connect"]);
        check(vec![], End::Refused, Outcome::Fail, &["no process listens"]);
        check(vec![], End::Full, Outcome::Fail, &["EAGAIN", "somaxconn"]);
        check(vec![], End::TooLong { bytes: 120, most: 107 }, Outcome::Fail, &["120", "107"]);
        check(vec![], End::Confined, Outcome::Fail, &["SELinux or AppArmor"]);
        check(vec![], End::NotASocket, Outcome::Fail, &["is not a socket"]);
        let missing = End::Missing { path: "/run/redis".to_owned() };
        check(vec![], missing, Outcome::Fail, &["does not see `/run/redis`"]);
        let hidden = Reach { steps: Vec::new(), end: End::Missing { path: "/tmp/r.sock".to_owned() } };
        let point = reached(&hidden, "/tmp/r.sock", Protocol::Redis);
        assert!(point.next.unwrap().contains("PrivateTmp=true has its own /tmp"));
        let failed = End::Failed { why: "ENXIO".to_owned() };
        let point = reached(&Reach { steps: vec![], end: failed }, "/run/r.sock", Protocol::Redis);
        assert_eq!(point.outcome, Outcome::Unknown);
        assert!(point.what.contains("ENXIO"));
        assert!(point.next.unwrap().contains("test -w"));
    }
}
