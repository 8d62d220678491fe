//! What a form of files can tell of its containers, and how it is written into.
//!
//! Implemented by `compose`, `pods` and `quadlet`; asked by `share`.

use std::ops::Range;

use super::container::Container;
use super::image::Socket;
use super::line::Inserted;
use crate::app::found::Found;

/// How a server is named to a person.
pub(super) struct Named {
    /// What it is to the application.
    pub(super) is: String,
    /// What the folder becomes.
    pub(super) volume: &'static str,
    pub(super) restart: String,
}

/// Containers that one file, or two units, describe, and how they are written into.
pub(super) trait Project {
    fn containers(&self) -> &[Container];

    /// The container that a connection is of.
    fn own(&self, found: &Found) -> Option<usize>;

    /// The container that a connection of `own` leads to, or why none can; `None` if it goes elsewhere.
    fn server(&self, own: usize, found: &Found) -> Option<Result<usize, String>>;

    /// Why a new volume cannot have that name.
    fn is_taken(&self, server: usize, volume: &str) -> Option<String>;

    /// Whether a volume that the server has at the folder may be the application's too.
    fn may_take(&self, server: usize, volume: &str) -> Result<(), String>;

    fn volume_for(&self, server: usize) -> String {
        format!("sockets-{}", self.containers()[server].title)
    }

    fn mount(&self, container: usize, volume: &str, folder: &str) -> Result<Inserted, String>;

    /// The lines that make the volume known; `None` if that takes none.
    fn declare(&self, server: usize, volume: &str, is_new: bool) -> Result<Option<Inserted>, String>;

    fn command(&self, server: usize, program: &str, options: &[String]) -> Result<Inserted, String>;

    /// The lines that give a container's own environment a variable more; `value` needs no quotes.
    fn variable(&self, container: usize, name: &str, value: &str) -> Result<Inserted, String>;

    /// The lines of the server's own files that have it listen on the socket, where nothing else says so: PHP-FPM.
    fn listening(&self, _: usize, _: usize, _: &Socket) -> Result<Vec<Inserted>, String> {
        Err("looptax does not know which of the server's own files takes effect".to_owned())
    }

    /// Where a container's variables are: its own, and in files that only it takes.
    fn environment(&self, container: usize) -> Result<Vec<Range<usize>>, String>;

    /// Whether what is in that folder goes with the container.
    fn loses(&self, server: usize, folder: &str) -> bool {
        self.containers()[server].mounts_at(folder).next().is_none()
    }

    /// Whether a container is another file's than the application's.
    fn is_beside(&self, _: usize) -> bool {
        false
    }

    /// With the name of the volume that is new.
    fn named(&self, own: usize, server: usize, volume: Option<&str>) -> Named;
}
