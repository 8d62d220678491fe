//! A real WordPress on a private MariaDB; its pages can be loaded over each transport.
//!
//! WordPress's own files are read in the folder where the distribution installed them; the configuration, the uploads
//! and the figures of each page are in the server's scratch folder. `find` finds the parts, `pool` runs php-fpm next to
//! the server, `page` requests pages from php-fpm, and `php` has the files that looptax adds to the site. The processes
//! are companions of the [`PrivateServer`], so they always end with it. No data leave the machine. Called by
//! `reproduction::pages`, which measures.

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

/// The files that looptax adds to a site, by their names in the site's folder.
const FILES: [(&str, &str); 7] = [
    ("config.php", include_str!("php/config.php")),
    ("answer.php", include_str!("php/answer.php")),
    ("page.php", include_str!("php/page.php")),
    ("connection.php", include_str!("php/connection.php")),
    ("install.php", include_str!("php/install.php")),
    ("content.php", include_str!("php/content.php")),
    ("content/mu-plugins/settings.php", include_str!("php/settings.php")),
];

/// Number of simultaneous connections that the server must accept from PHP. Each pool has one connection, and one more
/// may still be closing.
const CONNECTIONS: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Site {
    /// Thirty posts and nothing else.
    Bare,
    /// The same posts, with comments, categories, tags, menus, widgets and the options of a plugin.
    Full,
}

impl Site {
    pub const ALL: [Self; 2] = [Self::Bare, Self::Full];

    /// Returns the site's name, which is also the prefix of its tables: `bare`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Full => "full",
        }
    }
}

/// The transport over which a page sends its queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Transport {
    /// `DB_HOST` is `localhost:` and the socket's path.
    Unix,
    /// `DB_HOST` is 127.0.0.1 with the port.
    Tcp,
    /// The same as `Tcp`, in a php-fpm that was started by `looptax run`.
    Redirect,
    /// The socket, named in `DB_HOST`, in the same php-fpm as `Redirect`: shows how `looptax run` affects the process,
    /// apart from the moved connection.
    UnixBeside,
}

impl Transport {
    pub const ALL: [Self; 4] = [Self::Unix, Self::Tcp, Self::Redirect, Self::UnixBeside];

    /// Whether `DB_HOST` names the socket.
    pub const fn names_socket(self) -> bool {
        matches!(self, Self::Unix | Self::UnixBeside)
    }

    /// Whether the transport's php-fpm was started by `looptax run`.
    pub const fn is_under_run(self) -> bool {
        matches!(self, Self::Redirect | Self::UnixBeside)
    }
}

/// A running site. When dropped, it is stopped and leaves nothing behind.
#[derive(Debug)]
pub struct WordPress {
    pub installed: Installed,
    /// WordPress's version: `6.1.9`.
    pub version: String,
    /// PHP's version: `8.2.36`.
    pub php_version: String,
    server: PrivateServer,
    self_exe: PathBuf,
    /// The sockets of the usual php-fpm and of the php-fpm under `looptax run`.
    sockets: [Option<PathBuf>; 2],
}

impl WordPress {
    /// Starts MariaDB and php-fpm, and installs both sites.
    ///
    /// Call this function from a thread that lives as long as the site, for the same reason as
    /// [`PrivateServer::start`].
    ///
    /// # Errors
    /// [`ServerError::SiteMissing`] if something is not installed; the errors of [`PrivateServer::start`];
    /// [`ServerError::Pool`], [`ServerError::PageRequest`] and [`ServerError::Page`] if PHP or WordPress does not work.
    /// Nothing is left behind in any case.
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

    /// Starts a second php-fpm through `looptax run`, for [`Transport::Redirect`] and [`Transport::UnixBeside`].
    ///
    /// # Errors
    /// [`ServerError::Pool`], with the message of `looptax run`, if the second php-fpm cannot be started; the site
    /// keeps running.
    pub fn add_redirect(&mut self) -> Result<(), ServerError> {
        let socket = pool::start(&mut self.server, &self.installed, Some(&self.self_exe))?;
        self.sockets[1] = Some(socket);
        Ok(())
    }

    pub fn server(&self) -> &PrivateServer {
        &self.server
    }

    /// Returns which part of the site has ended by itself, with the end of the log; `None` while all parts run.
    pub fn has_exited(&mut self) -> Option<String> {
        self.server.has_exited()
    }

    /// Ends all parts of the site and removes its folder.
    ///
    /// # Errors
    /// The same as those of [`PrivateServer::stop`].
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
        // The values contain only letters, digits and characters of paths, so none of them ends a quoted string in PHP.
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

    fn db_host(&self, transport: Transport) -> String {
        if transport.names_socket() {
            format!("localhost:{}", self.server.socket.display())
        } else {
            self.server.tcp.to_string()
        }
    }
}
