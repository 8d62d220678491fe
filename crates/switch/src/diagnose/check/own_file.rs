//! Finds the configuration file of a running server: the file in the server's command line, the file that the server
//! reports, or the file that servers of this kind usually read.
//!
//! Reads the files that it finds. Called when a check advises a server's setting, and when a switch changes both sides.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use looptax_advise::serving::ServerFile;
use looptax_bench::path::{BeforeRestart, Conversation, Endpoint, Limits, Sealing};
use looptax_host::discover::Server;
use looptax_host::{kernel, read};
use looptax_model::dsn::Address;

use super::logins::login;

/// Returns the server's file, with its family: the file in the command line, else the file that the server at `address`
/// reports, else the only file that servers of this kind usually read. `None` if looptax finds no file.
pub(super) fn own_file(
    server: &Server,
    address: Option<(&Address, SocketAddr)>,
) -> Option<(&'static ServerFile, PathBuf)> {
    let folder = kernel::link(server.process.file("cwd")).unwrap_or_default();
    let arguments = server.process.arguments();
    let words = arguments.iter().skip(1).map(|it| it.split_once('=').map_or(&**it, |(_, value)| value));
    let fits = |path: PathBuf| family(server, &path).map(|it| (it, path));
    let by_line = words.filter(|it| !it.is_empty()).find_map(|it| fits(folder.join(it)));
    let told = || ask(address?.0, address?.1).config_file.and_then(|it| fits(folder.join(it)));
    by_line.or_else(told).or_else(|| usual(server, &arguments))
}

/// Asks a server about its file and settings; the result is empty if the server rejects the login.
pub(crate) fn ask(address: &Address, tcp: SocketAddr) -> BeforeRestart {
    let limits = Limits::default();
    let (protocol, login) = (address.protocol, login(address));
    let opened = Conversation::open_as_wanted(protocol, &Endpoint::Tcp(tcp), &login, Sealing::IfRefused, limits);
    let Ok(mut conversation) = opened else {
        return BeforeRestart::default();
    };
    let asked = conversation.before_restart().unwrap_or_default();
    conversation.leave();
    asked
}

/// Returns the family of server files to which a file belongs, if this server reads files of that family.
fn family(server: &Server, path: &Path) -> Option<&'static ServerFile> {
    let text = read::config(path).ok().filter(|_| read::is_file(path))?;
    let name = path.file_name()?.to_string_lossy();
    ServerFile::of(&name, &text).find(|it| it.kinds.contains(&server.kind))
}

/// Returns the file that servers of this kind usually read, if exactly one exists; `None` if an option of the server's
/// command line names another file.
fn usual(server: &Server, arguments: &[String]) -> Option<(&'static ServerFile, PathBuf)> {
    let file = ServerFile::family_of(server.kind)?;
    let is_elsewhere = |it: &String| file.elsewhere.iter().any(|own| it.split('=').next() == Some(own));
    if arguments.iter().any(is_elsewhere) {
        return None;
    }
    let below = |folder: &Path| read::list(folder).unwrap_or_default();
    let places = file.usual_places.iter().map(PathBuf::from);
    let in_places = places.flat_map(|it| if read::is_folder(&it) { below(&it) } else { vec![it] });
    let all = in_places.flat_map(|it| if read::is_folder(&it) { below(&it) } else { vec![it] });
    let mut own: Vec<PathBuf> = all.filter(|it| family(server, it).is_some()).collect();
    own.retain(|it| read::real_path(it).is_ok_and(|real| real == *it));
    let [only] = &*own else { return None };
    Some((file, only.clone()))
}
