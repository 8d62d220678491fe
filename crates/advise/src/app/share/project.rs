//! The facts that a form of file shows about its containers, and the ways to write lines into it.
//!
//! Implemented by `compose`, `pods` and `quadlet`; used by `share`.

use std::ops::Range;

use super::container::Container;
use super::image::Socket;
use super::line::Inserted;
use crate::app::found::Found;

/// The words that describe a server to a person.
pub(super) struct Named {
    /// Its relation to the application.
    pub(super) is: String,
    /// The kind of volume that holds the folder.
    pub(super) volume: &'static str,
    pub(super) restart: String,
}

/// The containers in one file or in two units, and how lines are written into them.
pub(super) trait Project {
    fn containers(&self) -> &[Container];

    /// The container to which a connection's settings belong.
    fn own(&self, found: &Found) -> Option<usize>;

    /// The container to which a connection of `own` leads, or why there is no such container; `None` if the connection
    /// leads elsewhere.
    fn server(&self, own: usize, found: &Found) -> Option<Result<usize, String>>;

    /// Why a new volume cannot have that name.
    fn is_taken(&self, server: usize, volume: &str) -> Option<String>;

    /// Whether the application may also mount the volume that the server mounts at the folder.
    fn may_take(&self, server: usize, volume: &str) -> Result<(), String>;

    fn volume_for(&self, server: usize) -> String {
        format!("sockets-{}", self.containers()[server].title)
    }

    fn mount(&self, container: usize, volume: &str, folder: &str) -> Result<Inserted, String>;

    /// The lines that declare the volume; `None` if it needs no declaration.
    fn declare(&self, server: usize, volume: &str, is_new: bool) -> Result<Option<Inserted>, String>;

    fn command(&self, server: usize, program: &str, options: &[String]) -> Result<Inserted, String>;

    /// The lines that add a variable to a container's own environment; `value` must not need quotes.
    fn variable(&self, container: usize, name: &str, value: &str) -> Result<Inserted, String>;

    /// The lines in the server's own files that make it listen on the socket, if that can be set only there: PHP-FPM.
    fn listening(&self, _: usize, _: usize, _: &Socket) -> Result<Vec<Inserted>, String> {
        Err("looptax does not know which of the server's own files applies".to_owned())
    }

    /// The places of a container's variables: its own variables, and those in files that no other container uses.
    fn environment(&self, container: usize) -> Result<Vec<Range<usize>>, String>;

    /// Whether the content of the folder is lost with the container.
    fn loses(&self, server: usize, folder: &str) -> bool {
        self.containers()[server].mounts_at(folder).next().is_none()
    }

    /// The beginning of a command that runs another command in a container.
    fn within(&self, container: usize) -> String;

    /// Whether a container is in another file than the application.
    fn is_beside(&self, _: usize) -> bool {
        false
    }

    /// The words about the server; `volume` is the name of a new volume.
    fn named(&self, own: usize, server: usize, volume: Option<&str>) -> Named;
}
