//! Reads the sources of connections: a configuration file, a process's environment and files, a process's open
//! connections.
//!
//! Only reads, and only up to limits, because any user may have written the files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use looptax_advise::app::{self, Found, Included, Inside, Reading, Source, Unit, Whole};
use looptax_host::discover::{Process, Survey};
use looptax_host::{Folder, kernel, read};
use looptax_model::dsn::{Address, Protocol};
use looptax_model::failure::{Failure, nearest};
use looptax_model::record::{CheckedConnection, Outcome, Point, PointCode, SwitchVerdict, Topic};
use rustix::fs::FileType;

use super::bounded_read::Files;
use super::client::user_name;
pub(crate) use super::container::is_container_unit;
use super::container::{COMPOSE_FILES, Service, services};
use crate::diagnose::find::may_be;

/// The maximum number of files that are read besides a program's own file.
const MOST_INCLUDED: usize = 64;

/// The names of the files that Kustomize looks for in a folder.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The maximum number of units that are read from the same folder.
const MOST_UNITS: usize = 64;

/// How many folders above an application's folder looptax looks for a Compose file.
const MOST_LEVELS: usize = 4;

/// A file or environment that looptax has read.
#[derive(Debug)]
pub(super) struct Looked {
    /// The source's name for a person: a path, or `the environment of php-fpm 123`.
    pub name: String,
    /// The contents of a file, with the files from which its containers get variables; empty for an environment.
    pub whole: Whole,
    pub reading: Reading,
    /// The containers to which host names in this source may refer: the services of its own Compose file, or of a
    /// Compose file in its folder.
    pub services: Vec<Service>,
    pub neighbours: Vec<String>,
    /// Names and texts of the other `.container` units in the folder, if this source is such a unit.
    pub units: Vec<(String, String)>,
}

impl Looked {
    /// Whether another unit in the same folder has a volume of this name.
    pub(super) fn has_it_beside(&self, volume: &str) -> bool {
        self.units.iter().any(|it| app::has_volume(&it.1, volume))
    }
}

/// A file's text, as the code that will write the file has read it.
#[derive(Debug, Clone, Copy)]
pub struct FileText<'a> {
    /// The file's path, as the application sees it.
    pub path: &'a Path,
    pub text: &'a str,
    /// The process that reads the file and whose environment counts.
    pub pid: Option<u32>,
    /// The application's name in the table of applications; `None` if the file's own name and text show the
    /// application.
    pub application: Option<&'a str>,
    /// The values that other files set for the file's variables. A process's own variables override these values.
    pub environment: &'a BTreeMap<String, String>,
    /// Whether looptax reads the file container by container.
    pub by_container: bool,
    /// The unit of the server's container, if it is a separate unit: the unit's name without `.container`, and its
    /// text.
    pub server_unit: Option<Unit<'a>>,
}

/// Returns the name by which other units refer to a `.container` unit.
pub(crate) fn unit_name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[derive(Debug, Clone, Copy, Default)]
struct Manner<'a> {
    environment: Option<&'a BTreeMap<String, String>>,
    application: Option<&'a str>,
    by_container: bool,
    /// Whether to follow the variables that containers get from other files.
    follows: bool,
}

/// Returns the environment variables on which a file's connections depend, and for each variable whether it sets a
/// destination.
///
/// # Errors
/// If the process's environment cannot be read.
pub fn variables(file: &FileText<'_>) -> Result<BTreeMap<String, bool>, Failure> {
    let looked = text(file)?;
    let mut all = BTreeMap::new();
    for (name, says_where) in looked.reading.found.iter().flat_map(Found::variables) {
        *all.entry(name).or_default() |= says_where;
    }
    Ok(all)
}

/// Returns a file in the same folder with a similar name, for a person who mistyped the name.
fn meant(path: &Path) -> Option<PathBuf> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names = Folder::open(folder).ok()?.names().ok()?;
    let names = names.iter().filter_map(|it| it.to_str());
    nearest(path.file_name()?.to_str()?, names).map(|it| path.with_file_name(it))
}

pub(super) fn file(path: &Path, pid: Option<u32>, application: Option<&str>) -> Result<Looked, Failure> {
    let shown = path.display();
    let found = read::look(path).and_then(|it| it.ok_or_else(|| rustix::io::Errno::NOENT.into()));
    let found = found.map_err(|error| {
        let meant = meant(path).map_or_else(String::new, |it| format!("did you mean `{}`? ", it.display()));
        Failure::usage(
            format!("cannot read `{shown}`: {error}"),
            format!("{meant}pass a configuration file, or the URL of a server: mysql://user@127.0.0.1:3306/db"),
        )
    })?;
    let kind = FileType::from_raw_mode(found.st_mode);
    if kind != FileType::RegularFile {
        return Err(Failure::usage(
            format!("`{shown}` is not an ordinary file"),
            "pass a configuration file, or the URL of a server: mysql://user@127.0.0.1:3306/db",
        ));
    }
    let environment = pid.map(environment).transpose()?;
    let bytes = Files::Ours.read(path).map_err(|error| {
        let hint = "run looptax as a user who may read the file, for example root";
        Failure::usage(format!("cannot read `{shown}`: {error}"), hint)
    })?;
    let manner = Manner { environment: environment.as_ref(), application, by_container: false, follows: true };
    looked((path, path), &bytes, manner, Files::Ours)
}

/// For the kinds of server for which an edit of this Laravel `.env` is not enough: returns the connections of
/// `config/database.php` that depend on the `.env`, and removes the connections of these kinds from `of_dotenv`.
pub(super) fn laravel(dotenv: &Path, of_dotenv: &mut Looked) -> Option<Looked> {
    let is_dotenv = dotenv.file_name().is_some_and(|it| it == ".env");
    let root = dotenv.parent().filter(|_| is_dotenv && of_dotenv.neighbours.iter().any(|it| it == "artisan"))?;
    let variables = app::variables(&Files::Ours.read(dotenv).ok()?);
    let mut looked = file(&root.join("config/database.php"), None, None).ok()?;
    let has_lines = |kind: &str| of_dotenv.reading.found.iter().any(|it| it.kind == kind && !it.has_no_lines());
    looked.reading.found.retain(|it| {
        let names = it.variables();
        let hangs_on_it = names.iter().any(|(name, says_where)| *says_where && variables.contains_key(name));
        hangs_on_it && !has_lines(it.kind)
    });
    let found = &looked.reading.found;
    of_dotenv.reading.found.retain(|it| !found.iter().any(|own| own.kind == it.kind));
    (!found.is_empty()).then_some(looked)
}

/// Reads the connections from a file whose text has been read already.
pub(super) fn text(file: &FileText<'_>) -> Result<Looked, Failure> {
    text_with(file, true)
}

/// Does the same as [`text`], without the variables that containers get from other files.
pub(super) fn text_alone(file: &FileText<'_>) -> Result<Looked, Failure> {
    text_with(file, false)
}

fn text_with(file: &FileText<'_>, follows: bool) -> Result<Looked, Failure> {
    let own = file.pid.map(environment).transpose()?;
    let is_known = own.is_some() || !file.environment.is_empty();
    let mut environment = file.environment.clone();
    environment.extend(own.unwrap_or_default());
    let manner = Manner {
        environment: Some(&environment).filter(|_| is_known),
        application: file.application,
        by_container: file.by_container || file.server_unit.is_some(),
        follows,
    };
    let both = (file.path, file.path);
    looked(both, file.text.as_bytes(), manner, Files::Ours)
}

/// Returns the file's owner, for a hint about `--user`, unless the owner is root or the user that runs looptax.
pub fn owner(path: &Path) -> Option<String> {
    let uid = read::look(path).ok()??.st_uid;
    let is_ours = uid == rustix::process::geteuid().as_raw();
    (uid != 0 && !is_ours).then(|| user_name(uid))
}

/// Reads a file's connections. The arguments are its path for looptax, its path for the application, and its contents.
fn looked((path, seen): (&Path, &Path), bytes: &[u8], manner: Manner<'_>, files: Files<'_>) -> Result<Looked, Failure> {
    // A person may pass only `database.yml` from within the folder `config`, but the patterns match whole paths.
    let whole = std::path::absolute(seen).unwrap_or_else(|_| seen.to_owned());
    let mut neighbours = files.names(path.parent().unwrap_or(path));
    neighbours.extend(texts_beside(path, files));
    neighbours.extend(libraries(path, files.owner(path), files));
    let of_laravel = laravel_environment(path, manner.environment, files);
    let included = included(path, bytes, &neighbours, files);
    let source = Source {
        path: Some(&whole.to_string_lossy()),
        bytes,
        included: &included,
        neighbours: &neighbours,
        program: None,
        environment: of_laravel.as_ref().or(manner.environment),
    };
    let reading = match manner.application {
        _ if manner.by_container => {
            let reading = app::read_services(&source, manner.application);
            let reading = reading.ok_or_else(|| without_containers(seen, &source))?;
            if let ([], Some(problem)) = (&*reading.found, reading.problems.first()) {
                return Err(Failure::usage(
                    format!("`{}`: {problem}", seen.display()),
                    "`looptax check FILE` shows what looptax knows about this file, and about files that its \
                    containers use",
                ));
            }
            match manner.application.filter(|_| reading.found.is_empty()) {
                Some(name) => return Err(no_variables_of(name, &source)),
                None => reading,
            }
        }
        None => {
            let mut reading = app::read(&source);
            if manner.follows {
                app::follow(&mut reading, &source);
            }
            reading
        }
        Some(name) => app::read_as(&source, name).ok_or_else(|| unknown_application(name))?,
    };
    let mut reading = reading;
    let units = if is_container_unit(path) { units_beside(path, &neighbours, files) } else { Vec::new() };
    if let Some(inside) = handed_to_a_container(&whole, files) {
        for found in reading.found.iter_mut().filter(|it| it.inside.is_none()) {
            found.inside = Some(inside.clone());
        }
    }
    Ok(Looked {
        whole: Whole::new(&String::from_utf8_lossy(bytes), &included),
        name: seen.display().to_string(),
        reading,
        services: services(path, bytes, &neighbours, files),
        neighbours,
        units,
    })
}

/// Returns the container to which a Compose file passes this file. The Compose file may be in the file's folder or a
/// folder above. The Compose file has to belong to the file's owner, the folder's owner or root, because other users
/// may write to folders such as `/tmp`. Returns `None` for the files of a running process, which has its own view.
fn handed_to_a_container(path: &Path, files: Files<'_>) -> Option<Inside> {
    let is_ours = matches!(files, Files::Ours);
    let owner = files.owner(path)?;
    let folders = path.ancestors().skip(1).take(MOST_LEVELS).filter(|_| is_ours);
    folders.flat_map(|folder| COMPOSE_FILES.iter().map(|it| folder.join(it))).find_map(|compose| {
        let of_folder = || files.read_if_of(read::look(compose.parent()?).ok()??.st_uid, &compose);
        let bytes = files.read_if_of(owner, &compose).or_else(of_folder)?;
        app::handed_to(path, &compose, &String::from_utf8_lossy(&bytes))
    })
}

/// The table of applications lists texts that other files in the same folder may contain. Returns the texts that are
/// there.
fn texts_beside(path: &Path, files: Files<'_>) -> Vec<String> {
    let mut read: BTreeMap<&str, Option<String>> = BTreeMap::new();
    let asked = app::texts_beside().iter().filter(|(file, text)| {
        let held = read.entry(file).or_insert_with(|| {
            let bytes = files.read(&path.with_file_name(file)).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        });
        held.as_ref().is_some_and(|it| it.contains(text))
    });
    asked.map(|(file, text)| format!("{file}:{text}")).collect()
}

/// Returns the libraries of the project to which a file belongs. The libraries are listed in manifests; looptax reads
/// the manifests of the nearest folder above the file that has any. Only manifests of the file's owner and of root
/// count, because other users may write to folders such as `/tmp`.
fn libraries(path: &Path, owner: Option<u32>, files: Files<'_>) -> Vec<String> {
    let Some(owner) = owner else { return Vec::new() };
    let folders = path.ancestors().skip(1).take(MOST_LEVELS);
    let in_folder = |folder: &Path| app::libraries(|name| files.read_if_of(owner, &folder.join(name)));
    folders.map(in_folder).find(|it| !it.is_empty()).unwrap_or_default()
}

/// Returns the other `.container` units in a folder.
fn units_beside(path: &Path, neighbours: &[String], files: Files<'_>) -> Vec<(String, String)> {
    let own = path.file_name().unwrap_or_default();
    let others = neighbours.iter().filter(|it| is_container_unit(Path::new(it)) && OsStr::new(it) != own);
    let read = others.take(MOST_UNITS).filter_map(|it| {
        let bytes = files.read(&path.with_file_name(it)).ok()?;
        Some((it.clone(), String::from_utf8_lossy(&bytes).into_owned()))
    });
    read.collect()
}

/// Returns the files that a program reads besides its own file; does not follow files that these files include.
fn included(path: &Path, bytes: &[u8], neighbours: &[String], files: Files<'_>) -> Vec<Included> {
    let text = String::from_utf8_lossy(bytes);
    let is_manifest = app::is_manifest(&text);
    let read = |file: &str| {
        let bytes = files.read(&path.parent()?.join(file)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned())
    };
    // If the folder has a Kustomize file, only the files that the Kustomize file lists count.
    let kustomization = KUSTOMIZATIONS.iter().find(|it| is_manifest && neighbours.iter().any(|name| name == *it));
    let listed = kustomization.map(|it| read(it).and_then(|it| app::resources(&it)).unwrap_or_default());
    let named = app::included(&path.to_string_lossy(), &text, listed.as_deref().unwrap_or(neighbours)).into_iter();
    let read = named.take(MOST_INCLUDED).filter_map(|(words, file)| Some(Included { words, text: read(&file)? }));
    read.filter(|it| !is_manifest || app::is_manifest(&it.text)).collect()
}

pub(crate) fn no_containers(path: &Path) -> Failure {
    let shown = path.display();
    if is_container_unit(path) {
        return Failure::usage(
            format!("`{shown}` is the unit of one container, but a switch changes both sides of a socket"),
            format!("pass the unit of the server's container too: looptax switch {shown} SERVER.container"),
        );
    }
    Failure::usage(
        format!("`{shown}` describes no containers: it has neither services nor a Pod"),
        "--containers needs a Compose file, a Kubernetes manifest or the rendered text of a chart",
    )
}

/// Returns the error for a file that defines no containers; its variables may be meant for containers of another file.
fn without_containers(path: &Path, source: &Source<'_>) -> Failure {
    if app::read(source).found.is_empty() || is_container_unit(path) {
        return no_containers(path);
    }
    let shown = path.display();
    Failure::usage(
        format!(
            "`{shown}` has variables but no container that uses them: the container and its server are in another file"
        ),
        format!("pass the manifest of the Pod that uses this file; `looptax check {shown}` shows the variables"),
    )
}

fn no_variables_of(name: &str, source: &Source<'_>) -> Failure {
    let found = app::read_services(source, None).map(|it| it.found).unwrap_or_default();
    let mut titles: Vec<&String> =
        found.iter().flat_map(|it| if it.is_guessed { &it.may_be } else { &it.titles }).collect();
    titles.sort_unstable();
    titles.dedup();
    let titles: Vec<String> = titles.into_iter().map(|it| format!("--as '{it}'")).collect();
    let hint = match &*titles {
        [] => "no container in the file has the variables of an application that looptax knows".to_owned(),
        titles => format!("its variables suggest {}", titles.join(", ")),
    };
    Failure::usage(format!("no container has the variables of the application `{name}`"), hint)
}

fn unknown_application(name: &str) -> Failure {
    Failure::usage(
        format!("looptax does not know an application called `{name}`"),
        format!("pass one of these names with --as: {}", app::names().join(", ")),
    )
}

/// Returns the environment of a file below Laravel's `config`: a process's variables override the variables in `.env`.
fn laravel_environment(
    path: &Path,
    environment: Option<&BTreeMap<String, String>>,
    files: Files<'_>,
) -> Option<BTreeMap<String, String>> {
    let folder = std::path::absolute(path).ok()?;
    let folder = folder.parent().filter(|it| it.ends_with("config"))?;
    let root = folder.parent().filter(|it| files.has(&it.join("artisan")))?;
    let mut variables = app::variables(&files.read(&root.join(".env")).ok()?);
    variables.extend(environment.cloned().unwrap_or_default());
    Some(variables)
}

/// Returns the environment with which a process was started; later changes by the process are not included.
///
/// # Errors
/// If the environment cannot be read.
pub fn environment(pid: u32) -> Result<BTreeMap<String, String>, Failure> {
    let bytes = kernel::read(format!("/proc/{pid}/environ")).map_err(|error| {
        Failure::usage(
            format!("cannot read the environment of process {pid}: {error}"),
            "run looptax as root, or as the user of that process",
        )
    })?;
    let text = String::from_utf8_lossy(&bytes);
    let pairs = text.split('\0').filter_map(|it| it.split_once('='));
    Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// Returns the sources of a process: its environment, and the files in its working folder that looptax can read.
pub(super) fn process(process: &Process) -> Result<Vec<Looked>, Failure> {
    let environment = environment(process.pid)?;
    let cwd = kernel::link(process.file("cwd")).unwrap_or_default();
    let view = process.view();
    let files = view.as_ref().ok().map(Files::Of);
    let mut neighbours = files.map_or_else(Vec::new, |it| it.names(Path::new(".")));
    neighbours.extend(files.iter().flat_map(|it| libraries(Path::new(".env"), Some(process.uid), *it)));
    // A value with several lines would be read as several settings.
    let lines = environment
        .iter()
        .filter(|(_, value)| !value.contains('\n'))
        .map(|(name, value)| format!("{name}={}\n", quoted(value)));
    let text: String = lines.collect();
    let mut looked = vec![Looked {
        name: format!("the environment of {} {}", process.program_name(), process.pid),
        whole: Whole::new("", &[]),
        reading: app::read(&Source {
            path: None,
            bytes: text.as_bytes(),
            included: &[],
            neighbours: &neighbours,
            program: Some(&process.program_name()),
            environment: Some(&environment),
        }),
        services: Vec::new(),
        neighbours: Vec::new(),
        units: Vec::new(),
    }];
    for name in app::usual_files() {
        let path = PathBuf::from(name);
        let manner = Manner { environment: Some(&environment), application: None, by_container: false, follows: false };
        if let Some(files) = files
            && let Ok(bytes) = files.read(&path)
        {
            let both = (&*path, &*cwd.join(name));
            looked.push(self::looked(both, &bytes, manner, files)?);
        }
    }
    Ok(looked)
}

/// Puts a value in double quotes. Inside the quotes, only `\` and `"` have a special meaning for the code that reads
/// the value.
fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns the addresses of the servers to which a process is connected over TCP. The addresses contain no user.
pub(super) fn connected(pid: u32, survey: &Survey) -> Vec<Address> {
    let mut found: Vec<Address> = Vec::new();
    let own = { survey.clients.iter() }.filter(|it| it.peer.way.is_tcp() && it.peer.is_of(pid));
    for client in own {
        let Some(protocol) = survey.servers[client.server_idx].kind.protocol() else {
            continue;
        };
        for (_, _, remote) in client.peer.connections.iter().filter_map(|it| it.tcp) {
            let address = bare(protocol, remote);
            if !found.iter().any(|it| is_same(it, &address)) {
                found.push(address);
            }
        }
    }
    found
}

/// A connection whose process at the other end is not visible to looptax.
#[derive(Debug)]
pub(super) struct Unseen {
    pub(super) to: SocketAddr,
    /// The visible facts about the other end, such as `of user mysql; may be mariadbd 812`.
    seen: String,
}

impl Unseen {
    /// Returns a text such as `127.0.0.1:3306 (of user mysql; may be mysql or mariadb)`.
    pub(super) fn words(&self) -> String {
        format!("{} ({})", self.to, self.seen)
    }

    /// Reports on the connection: its destination, and how to find out more.
    pub(super) fn answer(&self) -> CheckedConnection {
        let what = format!("connected over TCP to {}; only root can see which process listens there", self.words());
        let next = "run looptax as root, or check the address itself: looptax check URL";
        let how = "looked at the listening sockets and their users";
        let (code, outcome) = (PointCode::ServerListens, Outcome::Unknown);
        CheckedConnection {
            source: "its current connections".to_owned(),
            applications: Vec::new(),
            label: String::new(),
            product: "a server that looptax cannot see".to_owned(),
            place: self.to.to_string(),
            line: None,
            verdict: SwitchVerdict::Open,
            points: vec![Point::new(Topic::Server, code, outcome, what, how).with_next(next)],
            changes: Vec::new(),
        }
    }
}

/// Returns the TCP connections of a process within this machine, if looptax cannot see the process at the other end.
pub(super) fn connected_to_unseen(pid: u32, survey: &Survey) -> Vec<Unseen> {
    let mut found: Vec<Unseen> = Vec::new();
    for listener in &survey.listeners {
        let own = listener.clients.iter().filter(|it| it.is_of(pid));
        for (_, _, to) in own.flat_map(|it| &it.connections).filter_map(|it| it.tcp) {
            if found.iter().any(|it| it.to == to) {
                continue;
            }
            let user = listener.uid.map(|uid| format!("of user {}", user_name(uid)));
            let may_be = listener.may_be_a_server().then(|| may_be(listener, survey));
            let may_be = may_be.map(|it| format!("may be {it}"));
            let facts: Vec<String> = user.into_iter().chain(may_be).collect();
            found.push(Unseen { to, seen: facts.join("; ") });
        }
    }
    found
}

/// Reports that a process already uses a socket; `None` if the process uses none.
pub fn on_sockets(pid: u32, survey: &Survey) -> Option<String> {
    let mut servers = survey
        .clients
        .iter()
        .filter(|it| it.peer.way == looptax_model::record::Way::Unix && it.peer.is_of(pid))
        .map(|it| &survey.servers[it.server_idx])
        .map(|server| format!("{} {}", server.name(), server.process.pid))
        .peekable();
    servers.peek()?;
    let servers: Vec<String> = servers.collect();
    let unseen = connected_to_unseen(pid, survey);
    let unseen = unseen.iter().map(Unseen::words).map(|to| {
        format!("; the process is also connected over TCP to {to}, and only root can see what listens there")
    });
    Some(format!("process {pid} is on the socket already: {}{}", servers.join(", "), unseen.collect::<String>()))
}

fn bare(protocol: Protocol, remote: SocketAddr) -> Address {
    Address {
        host: Some(match remote {
            SocketAddr::V4(it) => it.ip().to_string(),
            SocketAddr::V6(it) => format!("[{}]", it.ip()),
        }),
        port: remote.port(),
        ..Address::bare(protocol)
    }
}

/// Whether two addresses lead to the same server, as far as looptax can tell: they have the same port and protocol.
pub(super) fn is_same(one: &Address, other: &Address) -> bool {
    one.protocol == other.protocol && one.port == other.port
}
