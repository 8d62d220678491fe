//! The facts that a form of files shows about its containers, and the ways to write into it.
//!
//! Implemented by `compose`, `pods` and `quadlet`; asked by `share`.

use std::ops::Range;

use super::container::Container;
use super::image::Socket;
use super::line::Inserted;
use crate::app::found::Found;

/// The words that describe a server to a person.
pub(super) struct Named {
    /// Its relation to the application.
    pub(super) is: String,
    /// The kind of volume that the folder becomes.
    pub(super) volume: &'static str,
    pub(super) restart: String,
}

/// The containers in one file, or in two units, and the ways to write into them.
pub(super) trait Project {
    fn containers(&self) -> &[Container];

    /// The container whose setting a connection is.
    fn own(&self, found: &Found) -> Option<usize>;

    /// The container that a connection of `own` leads to, or why there is no such container; `None` if it leads
    /// elsewhere.
    fn server(&self, own: usize, found: &Found) -> Option<Result<usize, String>>;

    /// Why a new volume cannot have that name.
    fn is_taken(&self, server: usize, volume: &str) -> Option<String>;

    /// Whether the application may also mount the volume that the server has at the folder.
    fn may_take(&self, server: usize, volume: &str) -> Result<(), String>;

    fn volume_for(&self, server: usize) -> String {
        format!("sockets-{}", self.containers()[server].title)
    }

    fn mount(&self, container: usize, volume: &str, folder: &str) -> Result<Inserted, String>;

    /// The lines that declare the volume; `None` if it needs no declaration.
    fn declare(&self, server: usize, volume: &str, is_new: bool) -> Result<Option<Inserted>, String>;

    fn command(&self, server: usize, program: &str, options: &[String]) -> Result<Inserted, String>;

    /// The lines that add a variable to a container's own environment; `value` needs no quotes.
    fn variable(&self, container: usize, name: &str, value: &str) -> Result<Inserted, String>;

    /// The lines of the server's own files that make it listen on the socket, if only those can: PHP-FPM.
    fn listening(&self, _: usize, _: usize, _: &Socket) -> Result<Vec<Inserted>, String> {
        Err("looptax does not know which of the server's own files takes effect".to_owned())
    }

    /// The places of a container's variables: its own, and those in files that only it uses.
    fn environment(&self, container: usize) -> Result<Vec<Range<usize>>, String>;

    /// Whether the content of that folder is lost with the container.
    fn loses(&self, server: usize, folder: &str) -> bool {
        self.containers()[server].mounts_at(folder).next().is_none()
    }

    /// The beginning of a command that runs another command in a container.
    fn within(&self, container: usize) -> String;

    /// Whether a container is in another file than the application.
    fn is_beside(&self, _: usize) -> bool {
        false
    }

    /// `volume` is the name of a new volume.
    fn named(&self, own: usize, server: usize, volume: Option<&str>) -> Named;
}
