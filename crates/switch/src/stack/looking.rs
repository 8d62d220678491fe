//! Finds the objections to a socket between a web server and its upstream: problems with the path as the web server's
//! workers follow it, other clients of the port, and users that the socket would exclude. Writes nothing.

use std::path::{Path, PathBuf};

use crate::diagnose::check::reach::reach;
use crate::diagnose::check::{AT_PORT, Client, Count, Length};
use looptax_advise::app::Rewrite;
use looptax_advise::check::{End, reach as point_of};
use looptax_advise::{Connects, connects};
use looptax_host::discover::{Home, Place, Process, SocketFile, listens_on, somaxconn};
use looptax_host::{FileId, kernel, read};
use looptax_model::failure::Failure;
use looptax_model::record::{Edit, Outcome, Point, PointCode, Topic};
use rustix::fs::Stat;

use super::back::{BackProgram, Backlog, Own, Wanted};
use super::front::Front;
use super::pair::Pair;
use super::port::Port;
use super::rights::{Access, User};

/// The facts that looptax checks before it writes anything.
pub(super) struct Looking<'a> {
    pub(super) front: &'a Front,
    pub(super) pair: &'a Pair,
    pub(super) socket: &'a Path,
    /// The port on which the upstream will no longer listen, if the upstream's file changes.
    pub(super) port: Option<&'a Port>,
    pub(super) site: &'a Path,
    /// The upstream's file, and the process that reads it.
    pub(super) own: Own<'a>,
    /// How many connections the web server opens at the same time.
    pub(super) counted: Option<Count>,
    /// Whether `counted` is the largest number that the web server's files allow, and not a number that a person typed.
    pub(super) is_limit: bool,
}

/// The findings: points about the path, and the edits that give access to the socket, both as bytes and as lines.
#[derive(Default)]
pub(super) struct Found {
    pub(super) points: Vec<Point>,
    pub(super) rewrites: Vec<Rewrite>,
    pub(super) edits: Vec<Edit>,
}

impl Looking<'_> {
    pub(super) fn look(&self) -> Result<Found, Failure> {
        let client = Client::find(Some(self.front.worker.pid), None)?;
        let mut found = Found::default();
        found.points.extend(self.same_folder());
        if let Some(port) = self.port {
            found.points.extend(self.objection());
            found.points.extend(self.others(port));
            found.points.push(self.folder(&client));
            found.points.extend(self.may_not_listen());
            let (of_rights, mut wanted) = self.rights();
            found.points.push(of_rights);
            let (of_queue, longer) = self.queue(true).unzip();
            found.points.extend(of_queue);
            wanted.extend(longer.flatten());
            let written = { !wanted.is_empty() }.then(|| self.program().written(&self.own, &wanted)).flatten();
            (found.rewrites, found.edits) = written.unwrap_or_default();
        } else {
            found.points.push(self.tried(&client));
            found.points.extend(self.queue(false).map(|it| it.0));
        }
        Ok(found)
    }

    fn program(&self) -> &'static dyn BackProgram {
        self.pair.back
    }

    fn user(&self) -> User {
        User::of(&self.front.worker)
    }

    /// Returns a point if one of the programs does not see the socket's folder as looptax does.
    fn same_folder(&self) -> Option<Point> {
        let folder = self.socket.parent().unwrap_or(self.socket);
        let id = |it: &Stat| FileId::from(it);
        let seen = |it: &Process| it.view().ok()?.look(folder).ok()?.as_ref().map(id);
        let ours = read::look(folder).ok().flatten().as_ref().map(id);
        let strange = [&self.front.master, &self.front.worker, self.own.master].into_iter().find(|it| {
            let is_elsewhere = it.is_in_chroot || matches!(it.home, Home::Container { .. });
            is_elsewhere || seen(it) != ours
        })?;
        let what = format!(
            "{} {} has separate folders (container, chroot, PrivateTmp), and sees a different {}",
            strange.program_name(),
            strange.pid,
            folder.display()
        );
        let jail = { strange.is_in_chroot && !matches!(strange.home, Home::Container { .. }) }
            .then(|| kernel::link(strange.file("root")).ok());
        let next = match jail.flatten() {
            Some(jail) => in_chroot(&strange.program_name(), &jail, self.socket),
            None => "choose a socket in a folder that both programs see, below /run: --socket PATH".to_owned(),
        };
        let how = "read the folder as each of the two programs sees it";
        Some(fails(PointCode::SocketNotVisible, what, how).with_next(next))
    }

    /// Returns the point about other lines in the web server's files that lead to the same port, on which no server
    /// would listen any more.
    fn others(&self, port: &Port) -> Option<Point> {
        let lines = |(path, text): &(PathBuf, String)| {
            let is_site = read::real_path(path).is_ok_and(|it| it == *self.site);
            let application = self.pair.applications[0];
            let lines = port.other_lines((path, text), application, is_site);
            let shown = path.display().to_string();
            lines.into_iter().map(move |it| format!("{shown} line {it}"))
        };
        let all: Vec<String> = self.front.files.iter().flat_map(lines).collect();
        if all.is_empty() {
            return None;
        }
        let what = format!(
            "{} leads to {} too; after the switch, no process would listen at that address",
            all.join(", "),
            port.tcp
        );
        Some(
            fails(
                PointCode::PortUsedByOthers,
                what,
                &format!("read every file that {} reads", self.front.program.title()),
            )
            .with_next("configure a separate server for those pages first, or move the pages by hand with these lines"),
        )
    }

    /// Returns the reason why a change in the upstream's file would have no effect.
    fn objection(&self) -> Option<Point> {
        let closed = self.program().objection(&self.own)?;
        let how = "read the program's command line and file";
        Some(fails(PointCode::PathNotTried, closed.what, how).with_next(closed.next))
    }

    /// Returns a point if the upstream may not create a socket in the folder.
    fn may_not_listen(&self) -> Option<Point> {
        let folder = self.socket.parent().unwrap_or(self.socket);
        let found = read::look(folder).ok()??;
        let access = Access { uid: found.st_uid, gid: found.st_gid, mode: found.st_mode };
        let user = User::of(self.own.master);
        if access.lets_in(&user) {
            return None;
        }
        let (title, name) = (self.program().title(), user.name);
        let what = format!("{title} runs as {name}, which may not create a socket in {}", folder.display());
        let point = fails(PointCode::SocketDenied, what, "read the folder's owner and mode");
        Some(point.with_next(format!(
            "create a separate folder: install -d -o {name} /run/NAME, and RuntimeDirectory=NAME in the program's \
             unit; or choose another folder with --socket PATH"
        )))
    }

    /// Checks whether the workers can enter the folder of a socket that does not exist yet.
    fn folder(&self, client: &Client) -> Point {
        let how = format!("tried the path as {}", client.shown);
        let folder = self.socket.parent().unwrap_or(self.socket);
        let lies = !matches!(read::look_at_link(self.socket), Ok(None));
        let probe = folder.join(".looptax-is-not-there");
        let shown = self.socket.display();
        if lies && reach(self.socket, client).end != End::Refused {
            let what = format!("{shown} exists already");
            return fails(PointCode::PathTaken, what, &how).with_next("choose another path with --socket PATH");
        }
        let found = reach(&probe, client);
        match &found.end {
            End::Missing { path } if Path::new(path) == probe => Point::new(
                Topic::Path,
                PointCode::SocketWillLetIn,
                Outcome::Pass,
                format!("{} can enter {}", client.shown, folder.display()),
                how,
            ),
            End::Missing { path } => fails(PointCode::SocketNotVisible, format!("there is no {path}"), &how)
                .with_next("create the folder, or choose a socket in another folder with --socket PATH"),
            _ => point_of(&found, &self.socket.to_string_lossy(), &client.shown, &client.user),
        }
    }

    /// Checks whether the workers will have access to the socket that will be created; returns the settings that give
    /// access.
    fn rights(&self) -> (Point, Vec<Wanted>) {
        let (user, program) = (self.user(), self.program());
        let how = format!("read {}", program.rights());
        let point = |code, outcome, what| Point::new(Topic::Path, code, outcome, what, &*how);
        let now = match program.access(&self.own) {
            Ok(now) => now,
            Err(why) => {
                let next = format!("write these lines by hand: looptax check {}", self.own.file.display());
                return (point(PointCode::PathNotTried, Outcome::Unknown, why).with_next(next), Vec::new());
            }
        };
        let wanted = match program.opening(now, &user, &self.own) {
            Ok(wanted) => wanted,
            Err(closed) => {
                let point = point(PointCode::SocketDenied, Outcome::Fail, closed.what);
                return (point.with_next(closed.next), Vec::new());
            }
        };
        let what = if wanted.is_empty() {
            format!("{} will have access to the socket", user.name)
        } else {
            format!("{} will have access to the socket only with these lines", user.name)
        };
        (point(PointCode::SocketWillLetIn, Outcome::Pass, what), wanted)
    }

    /// Checks whether the socket's queue is long enough for the connections that the web server may open at the same
    /// time. If the socket is created (`is_new`), also returns the setting that makes the queue longer. `None` if the
    /// length is not known.
    fn queue(&self, is_new: bool) -> Option<(Point, Option<Wanted>)> {
        let (own, program) = (&self.own, self.program());
        let Backlog { kind, key, of_file } = program.backlog(own)?;
        let is_there = |place: &Place| match place {
            Place::Path { path, .. } => !is_new && path == self.socket,
            place => is_new && self.port.is_some_and(|it| place.takes(it.tcp)),
        };
        let by_kernel = || listens_on(own.master).into_iter().find(|it| is_there(&it.place)).map(|it| it.queue.backlog);
        let said = of_file.filter(|_| is_new).map(|it| (it, "read the pool's file"));
        let how = if is_new { AT_PORT } else { "asked the kernel for the socket's queue" };
        let (now, how) = said.or_else(|| by_kernel().map(|it| (it, how)))?;
        let word = Some(self.front.program.name());
        let is_meant = |it: &&Connects| word.is_some_and(|word| it.is_meant(word, kind.name()));
        let clients: Vec<&Connects> = connects().iter().filter(is_meant).collect();
        let length = Length { now, how, is_written: is_new, process: own.master, kind, clients: &clients };
        let (mut point, longer) = length.for_burst(self.counted.as_ref());
        if point.code != PointCode::BacklogShort {
            return Some((point, longer.map(|n| (key, n.to_string()))));
        }
        let n = self.counted.as_ref().map_or(0, |it| it.n);
        let is_kernels = somaxconn(own.master).is_some_and(|most| now >= most || longer.is_some() && most < n);
        if is_kernels && self.is_limit {
            // This is only a note: the web server may open this many connections, but nothing shows that it ever does,
            // and over TCP these connections would have to wait too.
            point.outcome = Outcome::Note;
        }
        if !is_new && !is_kernels {
            point.next = Some(program.by_hand(own, &format!("{key} = {n}")));
        }
        Some((point, longer.map(|n| (key, n.to_string()))))
    }

    /// Tries the existing socket as a worker; the point contains the line that would give the worker access.
    fn tried(&self, client: &Client) -> Point {
        let found = reach(self.socket, client);
        let shown = self.socket.to_string_lossy();
        let point = point_of(&found, &shown, &client.shown, &client.user);
        let is_socket = found.steps.last().is_some_and(|it| it.path == shown);
        if found.end != End::Denied || !is_socket {
            return point;
        }
        let (own, program) = (&self.own, self.program());
        let now = real_access(own.master, self.socket);
        let wanted = now.and_then(|now| program.opening(now, &self.user(), own).ok());
        let lines = wanted.and_then(|wanted| {
            let (_, edits) = program.written(own, &wanted)?;
            let lines: Vec<String> = edits.into_iter().filter_map(|it| it.after).collect();
            Some(lines.join(", "))
        });
        match lines.filter(|it| !it.is_empty()) {
            Some(lines) => point.with_next(program.by_hand(own, &lines)),
            None => point,
        }
    }
}

/// Explains what to do if a program resolves paths within a folder (`chroot`): `HAProxy` connects after it has entered
/// that folder (2.6). The two programs then have different paths for the socket, and no switch writes two paths.
fn in_chroot(name: &str, jail: &Path, socket: &Path) -> String {
    let inside = socket.strip_prefix(jail).or(socket.strip_prefix("/"));
    let inside = inside.unwrap_or(socket);
    format!(
        "by hand: configure the program behind {name} to listen at {}, and write /{} into {name}'s file; inside \
         {name}'s chroot, this is the same path. Or remove chroot from {name}'s file, and restart {name}",
        jail.join(inside).display(),
        inside.display()
    )
}

fn real_access(master: &Process, socket: &Path) -> Option<Access> {
    listens_on(master).into_iter().find_map(|it| match it.place {
        Place::Path { path, file: SocketFile::Present { uid, gid, mode } } if path == socket => {
            Some(Access { uid, gid, mode })
        }
        _ => None,
    })
}

fn fails(code: PointCode, what: String, how: &str) -> Point {
    Point::new(Topic::Path, code, Outcome::Fail, what, how)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_for_a_chroot_has_a_path_outside_and_one_inside() {
        for socket in ["/run/app.sock", "/var/lib/haproxy/run/app.sock"] {
            let said = in_chroot("haproxy", Path::new("/var/lib/haproxy"), Path::new(socket));
            let words = "listen at /var/lib/haproxy/run/app.sock, and write /run/app.sock into haproxy's file";
            assert!(said.contains(words), "{said}");
        }
    }
}
