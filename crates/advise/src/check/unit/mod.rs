//! Whether a systemd unit prevents its program from using a socket: the lines that hide or forbid the socket, and the
//! change that gives access.
//!
//! The lines come from the files of the unit and its drop-ins, not from systemd itself. Takes facts, and returns
//! points.

mod read;

use looptax_model::record::{Outcome, Point, PointCode, Topic};

pub use read::{Home, UnitSettings};

const HOW: &str = "read the unit and its drop-ins";

/// Makes the points about a socket at this path; empty if the unit does not prevent the use of the socket.
pub fn unit_points(unit: &UnitSettings, socket: &str) -> Vec<Point> {
    let point = |code, what: String, next: String| {
        Point::new(Topic::Confinement, code, Outcome::Fail, what, HOW).with_next(next)
    };
    let mut points = Vec::new();
    if let Some(line) = &unit.without_unix {
        let what = format!("`{line}` in the unit: its program cannot open a Unix socket (EAFNOSUPPORT)");
        let next = if line.contains('~') {
            "remove AF_UNIX from RestrictAddressFamilies=, then systemctl daemon-reload and restart the unit".to_owned()
        } else {
            "add AF_UNIX to RestrictAddressFamilies=, then systemctl daemon-reload and restart the unit".to_owned()
        };
        points.push(point(PointCode::UnitForbidsSockets, what, next));
    }
    // A bind mount is visible even if another line hides its folder.
    let is_bound = unit.bound.iter().any(|(_, target)| is_below(socket, target.trim_start_matches('+')));
    let folder = socket.rsplit_once('/').map_or("/", |it| it.0);
    if let Some(line) = hiding(unit, socket).filter(|_| !is_bound) {
        let what = format!("`{line}` in the unit hides {socket} from its program");
        let is_temporary = line.starts_with("PrivateTmp") || line.starts_with("DynamicUser");
        let next = if is_temporary {
            "configure the server to make its socket below /run, which the server and the client both see".to_owned()
        } else {
            format!(
                "add BindPaths={folder} to the unit, or configure the server to make its socket in another \
                folder below /run"
            )
        };
        points.push(point(PointCode::UnitHidesSocket, what, next));
    }
    points
}

/// The line that hides the path of the socket; `None` if no line does.
fn hiding(unit: &UnitSettings, socket: &str) -> Option<String> {
    if let Some(root) = unit.root.as_ref().filter(|root| !is_below(socket, root)) {
        return Some(format!("RootDirectory={root}"));
    }
    let is_temporary = ["/tmp", "/var/tmp"].iter().any(|it| is_below(socket, it));
    if unit.has_private_tmp && is_temporary && !unit.joins_namespace {
        return Some(if unit.is_dynamic { "DynamicUser=yes".to_owned() } else { "PrivateTmp=yes".to_owned() });
    }
    let is_home = ["/home", "/root", "/run/user"].iter().any(|it| is_below(socket, it));
    if unit.home == Home::Hidden && is_home {
        return Some("ProtectHome=yes".to_owned());
    }
    // Before a path, a minus means "if it exists", and a plus means "relative to the unit's root".
    let covers =
        |it: &&String| is_below(socket, it.trim_start_matches(['-', '+']).split(':').next().unwrap_or_default());
    let inaccessible = unit.inaccessible.iter().find(covers).map(|it| format!("InaccessiblePaths={it}"));
    inaccessible.or_else(|| unit.temporary.iter().find(covers).map(|it| format!("TemporaryFileSystem={it}")))
}

/// Whether a path is the folder or is below it; `/var/run` is treated as `/run`.
fn is_below(path: &str, folder: &str) -> bool {
    let plain = |it: &str| match it.strip_prefix("/var/run") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("/run{rest}"),
        _ => it.trim_end_matches('/').to_owned(),
    };
    let (path, folder) = (plain(path), plain(folder));
    path.strip_prefix(&*folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected` has the codes of the points, and the lines that they name.
    #[track_caller]
    fn check(lines: &str, socket: &str, expected: &[(PointCode, &str)]) {
        let unit = UnitSettings::read([&*format!("[Service]\n{lines}")]);
        let points = unit_points(&unit, socket);
        let codes: Vec<PointCode> = points.iter().map(|it| it.code).collect();
        assert_eq!(codes, expected.iter().map(|it| it.0).collect::<Vec<_>>(), "{lines}{points:?}");
        for (point, (_, words)) in points.iter().zip(expected) {
            let said = format!("{} {}", point.what, point.next.as_deref().unwrap_or_default());
            assert!(said.contains(words), "{words} in {said}");
            assert_eq!(point.outcome, Outcome::Fail);
        }
    }

    const RUN: &str = "/run/mysqld/mysqld.sock";

    #[test]
    fn lines_that_hide_the_folder_are_named_with_what_gives_it_back() {
        use PointCode::UnitHidesSocket as Hides;
        check("PrivateTmp=yes\n", RUN, &[]);
        check("PrivateTmp=yes\n", "/tmp/s", &[(Hides, "below /run")]);
        check("PrivateTmp=no\n", "/tmp/s", &[]);
        check("PrivateTmp=yes\nJoinsNamespaceOf=db.service\n", "/tmp/s", &[]);
        check("DynamicUser=yes\n", "/var/tmp/s", &[(Hides, "DynamicUser=yes")]);
        check("ProtectHome=true\n", "/run/user/1000/s", &[(Hides, "ProtectHome=yes")]);
        check("ProtectHome=read-only\n", "/run/user/1000/s", &[]);
        check("InaccessiblePaths=-/var/run/mysqld\n", RUN, &[(Hides, "BindPaths=/run/mysqld")]);
        check("InaccessiblePaths=/run/mysql\n", RUN, &[]);
        check("TemporaryFileSystem=/run:ro\n", RUN, &[(Hides, "TemporaryFileSystem=/run:ro")]);
        check("TemporaryFileSystem=/run:ro\nBindPaths=/run/mysqld\n", RUN, &[]);
        check("RootDirectory=/srv/tree\n", RUN, &[(Hides, "RootDirectory=/srv/tree")]);
        check("RootDirectory=/srv/tree\nBindReadOnlyPaths=/run/mysqld:/run/mysqld\n", RUN, &[]);
        check("RootDirectory=/\n", RUN, &[]);
    }

    #[test]
    fn a_list_of_address_families_without_unix_sockets_is_named() {
        use PointCode::UnitForbidsSockets as Forbids;
        check("RestrictAddressFamilies=AF_INET AF_INET6\n", RUN, &[(Forbids, "add AF_UNIX")]);
        check("RestrictAddressFamilies=~AF_UNIX AF_PACKET\n", RUN, &[(Forbids, "remove AF_UNIX")]);
        check("RestrictAddressFamilies=AF_INET AF_UNIX\n", RUN, &[]);
    }
}
