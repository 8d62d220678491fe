//! The socket that a server gets: where, and who may use it.

use std::path::{Path, PathBuf};

use looptax_advise::check::{End, is_powerful_group};
use looptax_advise::serving::ServerFile;
use looptax_host::discover::{Process, process};
use looptax_host::read;
use looptax_model::dsn::{Address, Protocol};
use looptax_model::failure::Failure;
use looptax_model::record::{FileRemark, FileRemarkCode, Outcome, Point, PointCode, Topic};
use rustix::fs::FileType;

use crate::diagnose::check::reach::reach;
use crate::diagnose::check::{Client, Rights, group_name, user_name};
use crate::remark::remark;
use crate::stack::rights;

const WITH_GROUP: u32 = 0o770;
const OPEN_TO_ALL: u32 = 0o777;
const SETGID: u32 = 0o2000;
/// Write and search.
const MAY_MAKE: u32 = 0o3;

/// What a user joins a group by, and leaves it again.
#[derive(Debug, Clone)]
pub(super) struct Joins {
    user: String,
    group: String,
    gid: u32,
    /// `None` if it is listed there already, and only runs without the group until it is started anew: then nothing is
    /// taken back either.
    pub(super) join: Option<String>,
    pub(super) leave: Option<String>,
}

/// Who may use a socket that is yet to be made.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) mode: u32,
    has_mode: bool,
    joins: Option<Joins>,
    /// Why the socket cannot be there, or the client cannot come to it.
    problem: Option<String>,
    client: String,
}

/// Where the server's socket is to be: as named, as its file says or proposes, or at its usual place.
///
/// # Errors
/// Its folder does not exist, or the path is relative.
pub(super) fn socket(file: &ServerFile, text: &str, named: Option<&Path>, port: u16) -> Result<PathBuf, Failure> {
    let whole = |path: PathBuf| {
        if !file.is_folder && read::is_folder(&path) {
            return path.join(Path::new(file.usual_socket).file_name().unwrap_or_default());
        }
        if !file.is_folder || path.file_name().is_some_and(|it| it.to_string_lossy().starts_with(".s.PGSQL.")) {
            return path;
        }
        let address = Address { socket: Some(path), port, ..Address::bare(Protocol::Postgres) };
        address.socket_file().unwrap_or_default()
    };
    if let Some(named) = named {
        return if named.is_absolute() {
            Ok(whole(named.to_owned()))
        } else {
            Err(Failure::usage(format!("`{}` is no whole path", named.display()), "name the socket from / on"))
        };
    }
    let set = file.socket(text).and_then(|it| it.split(',').next().map(|it| it.trim().to_owned()));
    let told = [set, file.proposed(text)].into_iter().flatten().filter(|it| it.starts_with('/'));
    let mut places = told.map(PathBuf::from).chain([PathBuf::from(file.usual_socket)]).map(whole);
    places.find(|it| it.parent().is_some_and(read::is_folder)).ok_or_else(|| {
        let folder = Path::new(file.usual_socket);
        let folder = if file.is_folder { folder } else { folder.parent().unwrap_or(folder) };
        Failure::usage(
            format!("there is no {} for the server's socket", folder.display()),
            "name a place in a folder that the server may write to and that is there after a boot: --socket PATH",
        )
    })
}

impl Access {
    pub(super) fn find(file: &ServerFile, text: &str, server: &Process, socket: &Path, client: &Client) -> Self {
        let folder = socket.parent().unwrap_or(socket);
        let mut found = Self {
            mode: OPEN_TO_ALL,
            has_mode: file.has_mode(),
            joins: None,
            problem: None,
            client: client.shown.clone(),
        };
        let Some(stat) = read::look(folder).ok().flatten() else {
            found.problem = Some(format!("there is no folder {}", folder.display()));
            return found;
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            found.problem = Some(format!("{} is no folder", folder.display()));
            return found;
        }
        let server_user = rights::User::of(server);
        let of_folder = rights::Access { uid: stat.st_uid, gid: stat.st_gid, mode: stat.st_mode };
        if !of_folder.allows(&server_user, MAY_MAKE) {
            let (user, folder) = (user_name(server.uid), folder.display());
            found.problem = Some(format!("{user}, as whom the server runs, may not make a socket in {folder}"));
            return found;
        }
        match reach(socket, client).end {
            End::Missing { path } if Path::new(&path) == socket => {}
            // A socket of an earlier start: servers replace it.
            End::Refused | End::Denied if read::is_socket(socket) => {}
            End::Missing { path } => found.problem = Some(format!("{} does not see {path}", client.shown)),
            End::Denied => found.problem = Some(format!("{} may not go through {}", client.shown, folder.display())),
            End::Connected => found.problem = Some(format!("another process listens on {}", socket.display())),
            End::NotASocket => found.problem = Some(format!("{} is there already, and is no socket", socket.display())),
            End::TooLong { bytes, most } => {
                found.problem = Some(format!("the path has {bytes} bytes, and the kernel takes {most}"));
            }
            end => found.problem = Some(format!("the way to {} was not tried to its end: {end:?}", socket.display())),
        }
        if found.has_mode && found.problem.is_none() {
            let gid = if stat.st_mode & SETGID == 0 { server.gid } else { stat.st_gid };
            found.let_in(server.uid, gid, file.mode(text), client);
        }
        found
    }

    /// Chooses the mode: what the file says if that lets the client in, its group if the client is in it or may join it,
    /// else everybody.
    fn let_in(&mut self, uid: u32, gid: u32, set: Option<u32>, client: &Client) {
        let is_root = rustix::process::geteuid().is_root();
        let us = || process(std::process::id()).map(|it| rights::User::of(&it));
        let its = |it: &Rights| {
            let groups = [it.gid].into_iter().chain(it.groups.iter().copied()).collect();
            rights::User::new(client.user.clone(), it.uid, groups)
        };
        let Some(user) = client.rights.as_ref().map(its).or_else(us) else {
            return;
        };
        let lets_in = |mode: &u32| rights::Access { uid, gid, mode: *mode }.lets_in(&user);
        if let Some(mode) = set.into_iter().chain([WITH_GROUP]).find(lets_in) {
            self.mode = mode;
            return;
        }
        let may_be_joined = |it: &String| is_root && is_plain(it) && is_plain(&user.name) && !is_powerful_group(it);
        let Some(group) = group_name(gid).filter(may_be_joined) else {
            return;
        };
        self.mode = WITH_GROUP;
        let listed = Client::find(None, Some(&user.name)).ok().and_then(|it| it.rights);
        let is_listed = listed.is_some_and(|it| it.groups.contains(&gid));
        self.joins = Some(Joins {
            join: (!is_listed).then(|| format!("usermod -aG {group} {}", user.name)),
            leave: (!is_listed).then(|| format!("gpasswd -d {} {group}", user.name)),
            user: user.name,
            group,
            gid,
        });
    }

    pub(super) fn point(&self, socket: &Path) -> Point {
        let how = "looked at its folder, and went the way there as the client";
        let point = |code, outcome, what: String| Point::new(Topic::Path, code, outcome, what, how);
        if let Some(problem) = &self.problem {
            let point = point(PointCode::FolderUnfit, Outcome::Fail, problem.clone());
            return point.with_next("name another place for the socket: --socket PATH");
        }
        let what = format!("the server may make {}, and {} comes through to it", socket.display(), self.client);
        point(PointCode::SocketToBeMade, Outcome::Pass, what)
    }

    pub(super) fn remarks(&self) -> Vec<FileRemark> {
        let joins = self.joins.as_ref().map(|Joins { user, group, join, .. }| {
            let words = match join {
                Some(join) => format!(
                    "{user} joins the group {group} (`{join}`), which may use the socket, and reads what else that group may read; it counts from the application's restart on"
                ),
                None => format!(
                    "{user} is in the group {group}, which may use the socket, and the application runs without it: it counts from the application's restart on"
                ),
            };
            remark(FileRemarkCode::JoinsGroup, words)
        });
        let is_open = self.has_mode && self.mode & 0o002 != 0;
        let words = "every user of this machine may use the socket, as the port now; passwords count as before";
        joins.into_iter().chain(is_open.then(|| remark(FileRemarkCode::OpenToAll, words))).collect()
    }

    pub(super) fn joins(&self) -> Option<Joins> {
        self.joins.clone()
    }

    /// The client as it is once it has joined.
    pub(super) fn client_then(&self, mut client: Client) -> Client {
        if let (Some(joins), Some(Rights { groups, .. })) = (&self.joins, &mut client.rights) {
            groups.push(joins.gid);
        }
        client
    }
}

/// Whether a shell takes a name as it is.
fn is_plain(name: &str) -> bool {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    !name.starts_with('-') && !name.is_empty() && name.chars().all(is_fine)
}
