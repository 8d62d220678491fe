//! Finds the pool of a running PHP-FPM that answers a site's pages.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use looptax_advise::app::Section;
use looptax_host::discover::{Place, Process};
use looptax_host::{kernel, read};

use super::super::back::BackProgram;
use super::super::back::fpm::Fpm;
use super::super::connections;
use super::super::program::masters;
use super::glob;
use crate::diagnose::check::{Switchable, main_file_of_fpm};

/// The name of PHP-FPM's pool files in the table of applications.
const APPLICATION: &str = "php_fpm_pool";
/// The largest depth of files that include each other; no real PHP-FPM configuration is deeper.
const MOST_DEPTH: usize = 8;

pub(super) struct FoundPool {
    pub(super) master: Process,
    /// All files of PHP-FPM, joined into one text.
    pub(super) text: String,
    pub(super) label: String,
    /// The file that defines the pool.
    pub(super) file: PathBuf,
    at: At,
}

/// The address of a pool, or the address to which a site passes its pages.
enum At {
    Tcp(SocketAddr),
    Socket(PathBuf),
}

impl At {
    fn of(found: &Switchable, label: &str) -> Option<Self> {
        let socket = found.address.as_ref().and_then(|it| it.socket.clone());
        let named = |path: PathBuf| PathBuf::from(path.to_string_lossy().replace("$pool", label));
        found.tcp.map(Self::Tcp).or_else(|| socket.map(|it| Self::Socket(real(&named(it)))))
    }

    fn takes(&self, to: &Self) -> bool {
        match (self, to) {
            (Self::Tcp(own), Self::Tcp(to)) => Place::Tcp(*own).takes(*to),
            (Self::Socket(own), Self::Socket(to)) => own == to,
            _ => false,
        }
    }
}

/// Returns a socket's path with its links resolved. This is needed because `/var/run` is a link to `/run`.
fn real(path: &Path) -> PathBuf {
    read::real_path(path).unwrap_or_else(|_| path.to_owned())
}

impl FoundPool {
    /// Finds the pool to which a site passes its pages.
    ///
    /// # Errors
    /// The reason why there is no such pool.
    pub(super) fn find(of_site: &[Switchable]) -> Result<Self, String> {
        let targets: Vec<At> = of_site.iter().filter_map(|it| At::of(it, "")).collect();
        let masters = masters(|it| Fpm.is_it(it));
        for master in &masters {
            let Some(main) = main_file_of_fpm(master).map(PathBuf::from) else { continue };
            let folder = kernel::link(master.file("cwd")).unwrap_or_default();
            let main = folder.join(main);
            let mut files = Vec::new();
            let Ok(text) = expanded(&main, 0, &mut files) else { continue };
            for pool in connections(&main, &text, APPLICATION, Path::new("/")).unwrap_or_default() {
                let label = pool.checked.label.clone();
                let Some(at) = At::of(&pool, &label) else { continue };
                if targets.iter().any(|it| at.takes(it)) {
                    let file = files.into_iter().find(|it| Section::find(&it.1, &label).is_some());
                    let file = file.map_or(main, |it| it.0);
                    return Ok(Self { master: master.clone(), text, label, file, at });
                }
            }
        }
        let mut places: Vec<&str> = of_site.iter().map(|it| &*it.checked.place).collect();
        places.dedup();
        let places = places.join(", ");
        Err(if masters.is_empty() {
            format!("the site passes its pages to {places}, but neither root nor this user runs PHP-FPM")
        } else {
            format!(
                "the site passes its pages to {places}, but no pool in the files of the running PHP-FPM listens there"
            )
        })
    }

    /// Whether the pool listens on a socket. If so, the pool's copy must not listen on a port, because every user of
    /// the machine could run PHP through that port as the pool's user.
    pub(super) fn is_on_socket(&self) -> bool {
        matches!(self.at, At::Socket(_))
    }

    /// Whether a line of the site passes pages to the pool.
    pub(super) fn is_asked_by(&self, line: &Switchable) -> bool {
        At::of(line, "").is_some_and(|it| self.at.takes(&it))
    }
}

/// Returns the text of a PHP-FPM file in which each `include` is replaced by the text of the included files. Adds the
/// files to `files`.
fn expanded(path: &Path, depth: usize, files: &mut Vec<(PathBuf, String)>) -> std::io::Result<String> {
    let own = read::config(path)?;
    let mut text = String::new();
    for line in own.lines() {
        let included = line.split_once('=').filter(|it| it.0.trim() == "include");
        let pattern = included.map(|it| it.1.split(';').next().unwrap_or_default().trim().trim_matches(['"', '\'']));
        match pattern {
            Some(pattern) if depth < MOST_DEPTH => {
                for it in named(pattern) {
                    text += &expanded(&it, depth + 1, files)?;
                }
            }
            _ => {
                text += line;
                text.push('\n');
            }
        }
    }
    files.push((path.to_owned(), own));
    Ok(text)
}

fn named(pattern: &str) -> Vec<PathBuf> {
    let path = Path::new(pattern);
    if !glob::is_pattern(pattern) {
        return vec![path.to_owned()];
    }
    let all = path.parent().and_then(|it| read::list(it).ok()).unwrap_or_default();
    let mut found: Vec<PathBuf> = all.into_iter().filter(|it| glob::fits(pattern, it)).collect();
    found.sort();
    found
}
