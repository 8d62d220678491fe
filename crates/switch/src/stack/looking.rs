//! What speaks against a socket between nginx and its pool: the way there gone as nginx's workers, who else needs the
//! port, and whom the socket would keep out. Writes nothing.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use looptax_advise::app::PoolSection;
use looptax_advise::check::{End, reach as point_of};
use looptax_diagnose::check::Client;
use looptax_diagnose::check::reach::reach;
use looptax_discover::{Home, Place, Process, SocketFile, listens_on};
use looptax_failure::Failure;
use looptax_record::{Outcome, Point, PointCode, Topic};

use super::fpm::{Wanted, access, opening};
use super::nginx::Front;
use super::rights::{Access, User};
use super::{FRONT, connections};

/// What is looked at before anything is written.
pub(super) struct Looking<'a> {
    pub(super) front: &'a Front,
    pub(super) master: &'a Process,
    pub(super) socket: &'a Path,
    /// The port that is given up, where the pool's file changes.
    pub(super) tcp: Option<SocketAddr>,
    /// nginx's file.
    pub(super) site: &'a Path,
    /// The pool's, as it was named.
    pub(super) file: &'a Path,
    /// The pool's name.
    pub(super) pool: &'a str,
}

/// What was found: points of the way, and lines that open the socket.
pub(super) struct Found {
    pub(super) points: Vec<Point>,
    pub(super) wanted: Vec<Wanted>,
}

impl Looking<'_> {
    /// Everything, for a pool's file with this text.
    pub(super) fn look(&self, text: &str) -> Result<Found, Failure> {
        let section = PoolSection::find(text, self.pool);
        let client = Client::find(Some(self.front.worker.pid), None)?;
        let mut found = Found {
            points: Vec::new(),
            wanted: Vec::new(),
        };
        found.points.extend(self.same_folder());
        if let Some(tcp) = self.tcp {
            found.points.extend(self.others(tcp));
            found.points.push(self.folder(&client));
            let (point, wanted) = self.rights(section.as_ref());
            found.points.push(point);
            found.wanted = wanted;
        } else {
            found.points.push(self.tried(&client, section.as_ref()));
        }
        Ok(found)
    }

    fn user(&self) -> User {
        User::of(&self.front.worker)
    }

    /// Whether both programs see the socket's folder as we do.
    fn same_folder(&self) -> Option<Point> {
        let folder = self.socket.parent().unwrap_or(self.socket);
        let seen = |it: &Process| {
            fs::metadata(it.outside(folder))
                .ok()
                .map(|it| (it.dev(), it.ino()))
        };
        let ours = fs::metadata(folder).ok().map(|it| (it.dev(), it.ino()));
        let strange = [&self.front.master, self.master].into_iter().find(|it| {
            let is_elsewhere = it.is_in_chroot || matches!(it.home, Home::Container { .. });
            is_elsewhere || seen(it) != ours
        })?;
        let what = format!(
            "{} {} has folders of its own (container, chroot, PrivateTmp), and sees another {}",
            strange.program_name(),
            strange.pid,
            folder.display()
        );
        Some(
            fails(
                PointCode::SocketNotVisible,
                what,
                "looked at the folder as each of both sees it",
            )
            .with_next("name a socket in a folder that both see, below /run: --socket PATH"),
        )
    }

    /// Other files of nginx that go to the same port, where nobody would be any more.
    fn others(&self, tcp: SocketAddr) -> Option<Point> {
        let others = self
            .front
            .files
            .iter()
            .filter(|(path, _)| fs::canonicalize(path).is_ok_and(|it| it != *self.site));
        let goes_there = |(path, text): &(PathBuf, String)| {
            let all = connections(path, text, FRONT, self.socket).unwrap_or_default();
            let one = all
                .iter()
                .find(|it| it.tcp.is_some_and(|it| it.port() == tcp.port()))?;
            Some(match one.checked.line {
                Some(line) => format!("{} line {line}", path.display()),
                None => path.display().to_string(),
            })
        };
        let all: Vec<String> = others.filter_map(goes_there).collect();
        if all.is_empty() {
            return None;
        }
        let what = format!(
            "{} goes to {tcp} too, where nobody would listen any more",
            all.join(", ")
        );
        Some(
            fails(
                PointCode::PortUsedByOthers,
                what,
                "read every file that nginx reads",
            )
            .with_next(
                "give those pages a pool of their own first, or move them by hand with these lines",
            ),
        )
    }

    /// Whether the workers get into the folder of a socket that is not there yet.
    fn folder(&self, client: &Client) -> Point {
        let how = format!("went there as {}", client.shown);
        let folder = self.socket.parent().unwrap_or(self.socket);
        let lies = fs::symlink_metadata(self.socket).is_ok();
        let probe = folder.join(".looptax-is-not-there");
        let shown = self.socket.display();
        if lies && reach(self.socket, client).end != End::Refused {
            let what = format!("there is a {shown} already");
            return fails(PointCode::PathTaken, what, &how)
                .with_next("name another with --socket PATH");
        }
        let found = reach(&probe, client);
        match &found.end {
            End::Missing { path } if Path::new(path) == probe => Point::new(
                Topic::Path,
                PointCode::SocketWillLetIn,
                Outcome::Pass,
                format!("{} gets into {}", client.shown, folder.display()),
                how,
            ),
            End::Missing { path } => fails(
                PointCode::SocketNotVisible,
                format!("there is no {path}"),
                &how,
            )
            .with_next("make the folder, or name a socket in another with --socket PATH"),
            _ => point_of(
                &found,
                &self.socket.to_string_lossy(),
                &client.shown,
                &client.user,
            ),
        }
    }

    /// Whether the socket that will be made lets the workers in, and the lines that have it do so.
    fn rights(&self, section: Option<&PoolSection<'_>>) -> (Point, Vec<Wanted>) {
        let user = self.user();
        let how = "read listen.owner, listen.group and listen.mode of the pool";
        let now = match section.map(|it| access(it, self.master)) {
            Some(Ok(now)) => now,
            Some(Err(why)) => {
                let point = Point::new(
                    Topic::Path,
                    PointCode::PathNotTried,
                    Outcome::Unknown,
                    why,
                    how,
                );
                let next = format!(
                    "write these lines by hand: looptax check --app {}",
                    self.file.display()
                );
                return (point.with_next(next), Vec::new());
            }
            None => {
                let what = "the pool's section was not found";
                return (
                    fails(PointCode::PathNotTried, what.to_owned(), how),
                    Vec::new(),
                );
            }
        };
        let Some(wanted) = opening(now, &user, self.master) else {
            let what = format!(
                "PHP-FPM does not run as root, so its socket is its own, and keeps {} out",
                user.name
            );
            let next = "listen.group = a group that both are in, and listen.mode = 0660";
            return (
                fails(PointCode::SocketDenied, what, how).with_next(next),
                Vec::new(),
            );
        };
        let what = if wanted.is_empty() {
            format!("the socket will let {} in", user.name)
        } else {
            format!(
                "with these lines the socket will let {} in, and without would not",
                user.name
            )
        };
        let point = Point::new(
            Topic::Path,
            PointCode::SocketWillLetIn,
            Outcome::Pass,
            what,
            how,
        );
        (point, wanted)
    }

    /// The socket that is there, tried as a worker; the line that mends it.
    fn tried(&self, client: &Client, section: Option<&PoolSection<'_>>) -> Point {
        let found = reach(self.socket, client);
        let shown = self.socket.to_string_lossy();
        let point = point_of(&found, &shown, &client.shown, &client.user);
        let is_socket = found.steps.last().is_some_and(|it| it.path == shown);
        if found.end != End::Denied || !is_socket {
            return point;
        }
        let now = real_access(self.master, self.socket);
        let wanted = now.and_then(|now| opening(now, &self.user(), self.master));
        let lines = wanted.zip(section).and_then(|(wanted, section)| {
            let (_, edits) = section.written(&wanted)?;
            let lines: Vec<String> = edits.into_iter().filter_map(|it| it.after).collect();
            Some(lines.join(", "))
        });
        match lines.filter(|it| !it.is_empty()) {
            Some(lines) => point.with_next(format!(
                "write {lines} into [{}] of {}, and restart PHP-FPM: a reload keeps its socket as it is",
                self.pool,
                self.file.display()
            )),
            None => point,
        }
    }
}

fn real_access(master: &Process, socket: &Path) -> Option<Access> {
    listens_on(master)
        .into_iter()
        .find_map(|it| match it.place {
            Place::Path {
                path,
                file: SocketFile::Present { uid, gid, mode },
            } if path == socket => Some(Access { uid, gid, mode }),
            _ => None,
        })
}

fn fails(code: PointCode, what: String, how: &str) -> Point {
    Point::new(Topic::Path, code, Outcome::Fail, what, how)
}
