//! Chooses the socket that a server gets: its path, and which users may use it.

use std::path::{Path, PathBuf};

use looptax_advise::check::{End, is_powerful_group};
use looptax_advise::serving::ServerFile;
use looptax_host::discover::{Process, process};
use looptax_host::{FileId, read};
use looptax_model::dsn::{Address, Protocol};
use looptax_model::failure::Failure;
use looptax_model::record::{FileRemark, FileRemarkCode, Outcome, Point, PointCode, Topic};
use rustix::fs::{FileType, Stat};

use crate::diagnose::check::reach::reach;
use crate::diagnose::check::{Client, Rights, group_name, user_name};
use crate::reload::main_unit_of;
use crate::remark::remark;
use crate::stack::rights;

const WITH_GROUP: u32 = 0o770;
const OPEN_TO_ALL: u32 = 0o777;
const SETGID: u32 = 0o2000;
/// The permission bits with which a user may create files in a folder: write and search.
const MAY_MAKE: u32 = 0o3;
const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;
/// Folders that are emptied when the machine boots.
const FORGETFUL: [&str; 2] = ["/run", "/var/run"];

/// The commands that add a user to a group and remove it again.
#[derive(Debug, Clone)]
pub(super) struct Joins {
    user: String,
    group: String,
    gid: u32,
    /// The command with which the user joins the group. `None` if the user is already listed in the group; in this case
    /// only the client has to be restarted, and nothing has to be undone.
    pub(super) join: Option<String>,
    pub(super) leave: Option<String>,
}

/// Which users may use a socket that does not exist yet.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) mode: u32,
    has_mode: bool,
    joins: Option<Joins>,
    /// The reason why the socket cannot be at this path, or why the client cannot reach it.
    problem: Option<Unfit>,
    client: String,
}

/// The reason why a path does not suit the socket, and what to do.
#[derive(Debug)]
struct Unfit {
    why: String,
    next: String,
}

impl Unfit {
    fn elsewhere(why: String) -> Self {
        Self { why, next: "choose another place for the socket: --socket PATH".to_owned() }
    }
}

/// Chooses the path of the server's socket: the given path, else the path that the server's file sets or proposes, or
/// the usual path. If several paths are possible, chooses the first one in a suitable folder.
///
/// # Errors
/// If the path is relative.
pub(super) fn socket(
    file: &ServerFile,
    text: &str,
    named: Option<&Path>,
    port: u16,
    server: &Process,
) -> Result<PathBuf, Failure> {
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
            Err(Failure::usage(
                format!("`{}` is not an absolute path", named.display()),
                "pass the socket's absolute path, beginning with /",
            ))
        };
    }
    let set = file.socket(text).and_then(|it| it.split(',').next().map(|it| it.trim().to_owned()));
    let told = [set, file.proposed(text)].into_iter().flatten().filter(|it| it.starts_with('/'));
    let places = told.map(PathBuf::from).chain([PathBuf::from(file.usual_socket)]).map(whole);
    let mut places: Vec<PathBuf> = places.collect();
    let fit = places.iter().position(|it| fit_folder(it, file, server).is_ok());
    Ok(places.swap_remove(fit.unwrap_or_default()))
}

/// Checks the folder of a socket: the server has to be able to create the socket in it, and no other user may be able
/// to replace the socket.
fn fit_folder(socket: &Path, file: &ServerFile, server: &Process) -> Result<Stat, Unfit> {
    let folder = socket.parent().unwrap_or(socket);
    let shown = folder.display();
    let Some(stat) = read::look(folder).ok().flatten() else {
        return Err(Unfit { why: format!("there is no folder {shown}"), next: how_to_make(folder, server) });
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Err(Unfit::elsewhere(format!("{shown} is not a folder")));
    }
    let is_open = |path: &Path| {
        let stat = if path == folder { Some(stat) } else { read::look(path).ok().flatten() };
        let is_safe = |mode: u32| mode & OTHERS_WRITE == 0 || path != folder && mode & STICKY != 0;
        stat.is_none_or(|it| !is_safe(it.st_mode))
    };
    if let Some(open) = folder.ancestors().find(|it| is_open(it)) {
        let usual = Path::new(file.usual_socket);
        let usual = if file.is_folder { usual } else { usual.parent().unwrap_or(usual) };
        return Err(Unfit {
            why: format!(
                "every user may write to {}: another program can take the socket's path before the server does; also, \
                 a service with PrivateTmp= has its own /tmp",
                open.display()
            ),
            next: format!(
                "choose a place in a folder that only root and the server write to, such as {}",
                usual.display()
            ),
        });
    }
    let of_folder = rights::Access { uid: stat.st_uid, gid: stat.st_gid, mode: stat.st_mode };
    if !of_folder.allows(&rights::User::of(server), MAY_MAKE) {
        let user = user_name(server.uid);
        return Err(Unfit::elsewhere(format!(
            "{user}, the user that the server runs as, may not create a socket in {shown}"
        )));
    }
    let seen = server.view().and_then(|it| it.look(folder));
    if seen.is_ok_and(|it| it.as_ref().map(FileId::from) != Some(FileId::from(&stat))) {
        return Err(Unfit::elsewhere(format!(
            "the server sees a different {shown} than looptax does (chroot, PrivateTmp=)"
        )));
    }
    Ok(stat)
}

/// Returns the command that makes a socket's folder, and how to keep the folder when the machine boots.
fn how_to_make(folder: &Path, server: &Process) -> String {
    let (user, shown) = (user_name(server.uid), folder.display());
    let group = group_name(server.gid).unwrap_or_else(|| server.gid.to_string());
    // The folder's mode lets all users in, because the socket's own mode keeps other users out.
    let make = format!(
        "create the folder (`install -d -o {user} -g {group} -m 755 {shown}`), or choose another place: --socket PATH"
    );
    let Some(above) = folder.parent().filter(|it| FORGETFUL.iter().any(|run| it.starts_with(run))) else {
        return make;
    };
    let by_unit = main_unit_of(server).filter(|_| FORGETFUL.iter().any(|run| above == Path::new(run))).map(|unit| {
        let name = folder.file_name().unwrap_or_default().display();
        format!("RuntimeDirectory={name} in [Service] of {unit}, or ")
    });
    format!(
        "{make}; a folder below /run disappears at each boot unless there is {}a line in /etc/tmpfiles.d: `d {shown} \
         0755 {user} {group}`",
        by_unit.unwrap_or_default()
    )
}

impl Access {
    pub(super) fn find(file: &ServerFile, text: &str, server: &Process, socket: &Path, client: &Client) -> Self {
        let mut found = Self {
            mode: OPEN_TO_ALL,
            has_mode: file.has_mode(),
            joins: None,
            problem: None,
            client: client.shown.clone(),
        };
        let stat = match fit_folder(socket, file, server) {
            Ok(stat) => stat,
            Err(unfit) => {
                found.problem = Some(unfit);
                return found;
            }
        };
        let folder = socket.parent().unwrap_or(socket).display();
        let why = match reach(socket, client).end {
            End::Missing { path } if Path::new(&path) == socket => None,
            // The file is the socket of an earlier start, and servers replace such a socket.
            End::Refused | End::Denied if read::is_socket(socket) => None,
            End::Missing { path } => Some(format!("{} does not see {path}", client.shown)),
            End::Denied => Some(format!("{} may not go through {folder}", client.shown)),
            End::Connected => Some(format!("another process listens on {}", socket.display())),
            End::TooLong { bytes, most } => {
                Some(format!("the path has {bytes} bytes, and the kernel accepts at most {most}"))
            }
            End::Full => Some(format!("the connection queue of {} is full", socket.display())),
            End::Confined => Some(format!("a security module does not let {} connect", client.shown)),
            End::Failed { why } => Some(format!("looptax could not try the path to {}: {why}", socket.display())),
            End::NotASocket | End::Refused => Some(format!("{} exists already, and is not a socket", socket.display())),
        };
        found.problem = why.map(Unfit::elsewhere);
        if found.has_mode && found.problem.is_none() {
            let gid = if stat.st_mode & SETGID == 0 { server.gid } else { stat.st_gid };
            found.let_in(server.uid, gid, file.mode(text), client);
            if file.is_mode_of_all() && found.mode == OPEN_TO_ALL {
                let group = group_name(gid).unwrap_or_else(|| gid.to_string());
                found.problem = Some(Unfit::elsewhere(format!(
                    "{} is not in the group {group}, and a mask that opens the socket to every user also opens the \
                     server's own files",
                    client.user
                )));
            }
        }
        found
    }

    /// Chooses the socket's mode: the mode in the server's file if it admits the client; else the mode for the group if
    /// the client is in the group or may join it; else the mode that admits all users.
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
        let how = "read the rights of the socket's folder, and tried the path as the client";
        let point = |code, outcome, what: String| Point::new(Topic::Path, code, outcome, what, how);
        if let Some(problem) = &self.problem {
            let point = point(PointCode::FolderUnfit, Outcome::Fail, problem.why.clone());
            return point.with_next(problem.next.clone());
        }
        let what = format!("the server may create {}, and {} can reach this socket", socket.display(), self.client);
        point(PointCode::SocketToBeMade, Outcome::Pass, what)
    }

    pub(super) fn remarks(&self) -> Vec<FileRemark> {
        let joins = self.joins.as_ref().map(|Joins { user, group, join, .. }| {
            let words = match join {
                Some(join) => format!(
                    "{user} joins the group {group} (`{join}`), which may use the socket; {user} can then also read \
                     and change everything that this group may read and change. The new group takes effect when the \
                     application restarts"
                ),
                None => format!(
                    "{user} is in the group {group}, which may use the socket, but the application runs without that \
                     group: the group takes effect when the application restarts"
                ),
            };
            remark(FileRemarkCode::JoinsGroup, words)
        });
        let is_open = self.has_mode && self.mode & 0o002 != 0;
        let words = "every user of this machine may use the socket, as every user may use the port now; passwords \
                     apply as before";
        joins.into_iter().chain(is_open.then(|| remark(FileRemarkCode::OpenToAll, words))).collect()
    }

    pub(super) fn joins(&self) -> Option<Joins> {
        self.joins.clone()
    }

    /// Returns the client with the rights that it has after it has joined the group.
    pub(super) fn client_then(&self, mut client: Client) -> Client {
        if let (Some(joins), Some(Rights { groups, .. })) = (&self.joins, &mut client.rights) {
            groups.push(joins.gid);
        }
        client
    }
}

/// Whether a shell accepts the name without quotes.
fn is_plain(name: &str) -> bool {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    !name.starts_with('-') && !name.is_empty() && name.chars().all(is_fine)
}
