//! Determines which of two files is a server's own, and collects the evidence that the server to which the application
//! connects reads that file.

use std::net::SocketAddr;
use std::path::Path;

use looptax_advise::serving::ServerFile;
use looptax_bench::path::BeforeRestart;
use looptax_host::discover::{Home, Server, Survey};
use looptax_host::{kernel, read};
use looptax_model::dsn::Address;
use looptax_model::failure::Failure;
use looptax_model::record::SwitchVerdict;

use crate::diagnose::check::{Client, ask};
use crate::plan::{FileToSwitch, Wish};
use crate::text::Text;

/// A server's own file, and the server to which an application's connections lead.
pub(super) struct Meeting<'a> {
    pub(super) file: &'static ServerFile,
    pub(super) text: Text,
    pub(super) application: FileToSwitch<'a>,
    pub(super) server: &'a Server,
    /// The address to which the application connects at present.
    pub(super) tcp: SocketAddr,
    /// The same address, with the login.
    pub(super) address: Address,
    /// The evidence that the server reads the file.
    pub(super) evidence: String,
    /// The server's report about itself; empty if it rejects the application's login.
    pub(super) asked: BeforeRestart,
}

pub(super) enum Meets<'a> {
    There(Box<Meeting<'a>>),
    /// One file is a server's own, and the connections in the other file already use a socket.
    OnSocket,
    /// One file is a server's own, but no connection in the other file leads to a server that was seen to read the
    /// first file.
    Apart(Failure),
    NoServersFile,
}

impl<'a> Meeting<'a> {
    /// Finds out how the two files belong together.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(super) fn find(wish: Wish<'a>, own: &Path, survey: &'a Survey) -> Result<Meets<'a>, Failure> {
        let text = Text::read(own)?;
        let name = own.file_name().unwrap_or_default().to_string_lossy();
        let files: Vec<&'static ServerFile> = ServerFile::of(&name, &text.content).collect();
        if files.is_empty() {
            return Ok(Meets::NoServersFile);
        }
        let client = Client::for_file(wish.path, wish.pid, wish.user)?;
        let near = client.near(survey);
        let (mut strange, mut is_on_socket) = (None, false);
        let application = FileToSwitch::read(wish)?;
        for (_, it) in application.for_socket(Path::new("/"))? {
            let protocol = it.address.as_ref().map(|it| it.protocol);
            is_on_socket |= it.checked.verdict == SwitchVerdict::AlreadyThere
                && files.iter().flat_map(|it| it.kinds).any(|it| it.protocol() == protocol);
            let (Some(address), Some(tcp)) = (it.address, it.tcp) else { continue };
            let Some(server) = near.server(&address) else { continue };
            let Some(file) = files.iter().find(|it| it.kinds.contains(&server.kind)) else { continue };
            let asked = ask(&address, tcp);
            if let Some(evidence) = evidence(server, file, &text, &asked) {
                return Ok(Meets::There(Box::new(Self {
                    file,
                    text,
                    application,
                    server,
                    tcp,
                    address,
                    evidence,
                    asked,
                })));
            }
            strange = Some(server);
        }
        if is_on_socket && strange.is_none() {
            return Ok(Meets::OnSocket);
        }
        let (app, own) = (wish.path.display(), own.display());
        Ok(Meets::Apart(match strange {
            Some(server) => Failure::usage(
                format!("nothing shows that {} {} reads {own}", server.name(), server.process.pid),
                "pass the file that the server was started with",
            ),
            None => Failure::usage(
                format!(
                    "{own} is a server's own file, but no connection in {app} uses TCP to a server of that kind on \
                     this machine"
                ),
                format!(
                    "`looptax check {app}` shows the server of each connection; only root can see a server of another \
                     user"
                ),
            ),
        }))
    }
}

/// Returns the evidence that a server reads a file; `None` if no evidence was found.
fn evidence(server: &Server, file: &ServerFile, text: &Text, asked: &BeforeRestart) -> Option<String> {
    let process = &server.process;
    let path = text.original.path();
    let arguments = process.arguments();
    let folder = kernel::link(process.file("cwd")).unwrap_or_default();
    // Compares the server's path of a file with looptax's path. A service sees the same folders as looptax, except that
    // it may have its own `/tmp`.
    let is_it = |name: &str| read::real_path(&folder.join(name)).is_ok_and(|it| it == *path);
    if asked.config_file.as_deref().is_some_and(is_it) {
        return Some("asked the server for the file that it was started with".to_owned());
    }
    let values = arguments.iter().skip(1).flat_map(|it| [&**it, it.split_once('=').map_or("", |(_, value)| value)]);
    if values.filter(|it| !it.is_empty()).any(is_it) {
        return Some("the server's command line contains the file".to_owned());
    }
    let is_its_unit = matches!(&process.home, Home::Unit(unit) if path.file_name().is_some_and(|it| it == &**unit));
    if file.is_unit() && is_its_unit {
        return Some("the server runs as the service of that name".to_owned());
    }
    let options = file.options(&text.content);
    if !options.is_empty() && arguments.get(1..).is_some_and(|it| it == options) {
        return Some("the server's command line has all options of the file, and no other".to_owned());
    }
    let of_data = path.file_name().is_some_and(|name| is_it(&name.to_string_lossy()));
    if file.is_folder && of_data {
        return Some("the file is in the server's data folder".to_owned());
    }
    let is_elsewhere = |it: &String| file.elsewhere.iter().any(|own| it.split('=').next() == Some(own));
    let is_usual = file.usual_places.iter().any(|it| path.starts_with(it));
    (is_usual && !arguments.iter().any(is_elsewhere)).then(|| {
        "servers of this kind read this file by default, and this server's command line contains no other file"
            .to_owned()
    })
}
