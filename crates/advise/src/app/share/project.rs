//! The parts of `share` that each form of file implements: facts about the containers, and functions that write lines.
//!
//! Implemented by `compose`, `pods` and `quadlet`; used by `share`.

use std::ops::Range;

use super::container::Container;
use super::image::Socket;
use super::line::Inserted;
use crate::app::found::Found;

/// Words that describe a server to a person.
pub(super) struct Named {
    /// The server's place in the files, as seen from the application.
    pub(super) is: String,
    /// The kind of volume that holds the folder.
    pub(super) volume: &'static str,
    pub(super) restart: String,
}

/// The containers in one file or in two units, and functions that write lines for them.
pub(super) trait Project {
    fn containers(&self) -> &[Container];

    /// The container to which a connection's settings belong.
    fn own(&self, found: &Found) -> Option<usize>;

    /// The container to which a connection of `own` leads, or the reason why that container is not known; `None` if the
    /// connection leads elsewhere.
    fn server(&self, own: usize, found: &Found) -> Option<Result<usize, String>>;

    /// Returns the reason if a new volume cannot have this name.
    fn is_taken(&self, server: usize, volume: &str) -> Option<String>;

    /// Checks that the application may also mount the volume that the server mounts at the folder.
    fn may_take(&self, server: usize, volume: &str) -> Result<(), String>;

    fn volume_for(&self, server: usize) -> String {
        format!("sockets-{}", self.containers()[server].title)
    }

    fn mount(&self, container: usize, volume: &str, folder: &str) -> Result<Inserted, String>;

    /// Writes the lines that declare the volume; `None` if it needs no declaration.
    fn declare(&self, server: usize, volume: &str, is_new: bool) -> Result<Option<Inserted>, String>;

    fn command(&self, server: usize, program: &str, options: &[String]) -> Result<Inserted, String>;

    /// Writes the lines that add a variable to a container's own environment. `value` must not need quotes.
    fn variable(&self, container: usize, name: &str, value: &str) -> Result<Inserted, String>;

    /// Adds lines to the server's own files so that the server listens on the socket. Needed for PHP-FPM, because only
    /// its files can set the socket.
    fn listening(&self, _: usize, _: usize, _: &Socket) -> Result<Vec<Inserted>, String> {
        Err("looptax does not know which of the server's own files applies".to_owned())
    }

    /// The places of a container's variables: its own variables, and the files from which it may take variables.
    fn environment(&self, container: usize) -> Result<Vec<Range<usize>>, String>;

    /// Whether the content of the folder is lost when the container is recreated.
    fn loses(&self, server: usize, folder: &str) -> bool {
        self.containers()[server].mounts_at(folder).next().is_none()
    }

    /// The beginning of the command line that runs a command inside a container.
    fn within(&self, container: usize) -> String;

    /// Whether a container and the application's container are in different files.
    fn is_beside(&self, _: usize) -> bool {
        false
    }

    /// Returns the words that describe the server; `volume` is the name of a new volume.
    fn named(&self, own: usize, server: usize, volume: Option<&str>) -> Named;
}
