//! A real WordPress on a private MariaDB, whose pages can be loaded over one transport or the other.
//!
//! WordPress's own files are read where the distribution put them; configuration, what is uploaded and
//! the numbers behind each page are in the server's scratch folder. `find` looks for what is needed,
//! `pool` runs php-fpm beside the server, `page` asks it for pages; `php` holds the site's own files.
//! The processes are companions of the [`PrivateServer`], so that whatever ends it ends them too.
//! Nothing leaves the machine. cli calls it, and measures.

mod find;
mod page;
mod pool;

use std::path::PathBuf;

pub use find::{Installed, find};
pub(crate) use find::{is_php_fpm, php_fpm};
pub use page::Page;

use looptax_model::dsn::Kind;
use serde::Serialize;

use crate::servers::pooler::PoolMode;
use crate::servers::{Config, Listening, PrivateServer, Reaper, ServerError};

/// The site's own files, by their names in its folder.
const FILES: [(&str, &str); 7] = [
    ("config.php", include_str!("php/config.php")),
    ("answer.php", include_str!("php/answer.php")),
    ("page.php", include_str!("php/page.php")),
    ("connection.php", include_str!("php/connection.php")),
    ("install.php", include_str!("php/install.php")),
    ("content.php", include_str!("php/content.php")),
    ("content/mu-plugins/settings.php", include_str!("php/settings.php")),
];

/// PHP's connections at the same time: one of each pool, and one that is being closed.
const CONNECTIONS: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Site {
    /// Thirty posts and nothing else.
    Bare,
    /// The same posts with comments, categories, tags, menus, widgets and a plugin's options.
    Full,
}

impl Site {
    pub const ALL: [Self; 2] = [Self::Bare, Self::Full];

    /// Its name, which its tables begin with: `bare`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Full => "full",
        }
    }
}

/// The transport of a page's queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Transport {
    /// `DB_HOST` is `localhost:` and the socket's path.
    Unix,
    /// `DB_HOST` is 127.0.0.1 with the port.
    Tcp,
    /// The same, in a php-fpm that `looptax run` started.
    Redirect,
    /// The socket by its own name in that php-fpm: what the process differs in without what is moved.
    UnixBeside,
}

impl Transport {
    pub const ALL: [Self; 4] = [Self::Unix, Self::Tcp, Self::Redirect, Self::UnixBeside];

    /// Whether `DB_HOST` names the socket.
    pub const fn names_socket(self) -> bool {
        matches!(self, Self::Unix | Self::UnixBeside)
    }

    /// Whether `looptax run` started its php-fpm.
    pub const fn is_under_run(self) -> bool {
        matches!(self, Self::Redirect | Self::UnixBeside)
    }
}

/// A running site; stops and leaves nothing when dropped.
#[derive(Debug)]
pub struct WordPress {
    pub installed: Installed,
    /// WordPress's version: `6.1.9`.
    pub version: String,
    /// PHP's version: `8.2.36`.
    pub php_version: String,
    server: PrivateServer,
    self_exe: PathBuf,
    /// The sockets of php-fpm and of the one under `looptax run`.
    sockets: [Option<PathBuf>; 2],
}

impl WordPress {
    /// Starts MariaDB and php-fpm, and installs both sites.
    ///
    /// Call it from a thread that lives as long as the site, as for [`PrivateServer::start`].
    ///
    /// # Errors
    /// [`ServerError::SiteMissing`] when something is not installed; all that
    /// [`PrivateServer::start`] gives; [`ServerError::Pool`], [`ServerError::PageRequest`] and
    /// [`ServerError::Page`] when PHP or WordPress does not work. Nothing is left behind in any case.
    pub fn start(self_exe: PathBuf, scratch_root: PathBuf, reaper: &Reaper) -> Result<Self, ServerError> {
        let installed = find()?;
        let config = Config {
            kind: Kind::Mariadb,
            self_exe: self_exe.clone(),
            scratch_root,
            max_connections: CONNECTIONS,
            rows: 0,
            listening: Listening::default(),
            pool_mode: PoolMode::default(),
        };
        let server = PrivateServer::start(&config, reaper)?;
        let mut site = Self {
            installed,
            version: String::new(),
            php_version: String::new(),
            server,
            self_exe,
            sockets: [None, None],
        };
        site.lay_out()?;
        site.sockets[0] = Some(pool::start(&mut site.server, &site.installed, None)?);
        for kind in Site::ALL {
            (site.version, site.php_version) = site.install(kind)?;
        }
        Ok(site)
    }

    /// Starts a second php-fpm by `looptax run`, with which [`Transport::Redirect`] and
    /// [`Transport::UnixBeside`] can be had.
    ///
    /// # Errors
    /// [`ServerError::Pool`], with what `looptax run` says, where it cannot work; the site goes on.
    pub fn add_redirect(&mut self) -> Result<(), ServerError> {
        let socket = pool::start(&mut self.server, &self.installed, Some(&self.self_exe))?;
        self.sockets[1] = Some(socket);
        Ok(())
    }

    pub fn server(&self) -> &PrivateServer {
        &self.server
    }

    /// The part of it that has ended by itself, with the end of the log; `None` while all of it runs.
    pub fn has_exited(&mut self) -> Option<String> {
        self.server.has_exited()
    }

    /// Ends all of it and removes its folder.
    ///
    /// # Errors
    /// As [`PrivateServer::stop`].
    pub fn stop(self) -> Result<(), ServerError> {
        self.server.stop()
    }

    fn lay_out(&self) -> Result<(), ServerError> {
        let scratch = self.server.scratch();
        for folder in ["site", "site/content", "site/content/mu-plugins"] {
            scratch.create_folder(folder)?;
        }
        for (name, text) in FILES {
            scratch.write(&format!("site/{name}"), text)?;
        }
        scratch.link("site/content/themes", &self.installed.themes)?;
        // Letters, digits and what a path may hold: nothing that PHP's quotes would end at.
        let login = &self.server.login;
        let account = format!(
            "<?php\nreturn array( 'database' => '{}', 'user' => '{}', 'password' => '{}', 'wordpress' => '{}' );\n",
            login.database.as_deref().unwrap_or_default(),
            login.user,
            login.password.reveal(),
            self.installed.wordpress.display(),
        );
        scratch.write("site/account.php", &account).map(drop)
    }

    /// The value of `DB_HOST`.
    fn db_host(&self, transport: Transport) -> String {
        if transport.names_socket() {
            format!("localhost:{}", self.server.socket.display())
        } else {
            self.server.tcp.to_string()
        }
    }
}
