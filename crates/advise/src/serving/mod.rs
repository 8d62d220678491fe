//! A server's own configuration file: the setting with which the server listens on a socket, and the bytes that write
//! this setting.
//!
//! `ALL` has a row for each family of servers. `lines` reads and writes the settings in each syntax. Called by
//! `switch`. Examines nothing on the machine.

mod lines;
#[cfg(test)]
mod tests;

pub use lines::Written;
use lines::{Form, Lines, Setting};
use looptax_model::dsn::Kind;

/// The configuration files of a family of servers.
#[derive(Debug)]
pub struct ServerFile {
    pub kinds: &'static [Kind],
    form: Form,
    /// The names of the setting for the socket or its folder. If there are several, the first is written.
    socket: &'static [&'static str],
    /// The setting for the socket's mode; `None` if the server has no such setting.
    mode: Option<Mode>,
    /// Whether the setting holds the folder of the socket.
    pub is_folder: bool,
    /// Whether a server that listens on a socket listens on no port.
    pub is_exclusive: bool,
    /// Settings that show that a file is of this family. The file must have two of them, or one of them and a matching
    /// name.
    marks: &'static [&'static str],
    names: &'static [&'static str],
    backlog: Backlog,
    /// The usual path of the socket (or of its folder) in packages.
    pub usual_socket: &'static str,
    /// The usual paths of the file in packages. A server reads these files by default.
    pub usual_places: &'static [&'static str],
    /// Options of the server's command line that name another file.
    pub elsewhere: &'static [&'static str],
}

#[derive(Debug, Clone, Copy)]
struct Mode {
    key: &'static str,
    form: ModeForm,
}

/// How the number of connections that may wait on the socket is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backlog {
    /// By a setting, which also applies to the port.
    Setting(&'static [&'static str]),
    /// The number is the same as at the port, and there is no separate setting: PostgreSQL uses twice its
    /// `max_connections`, `FerretDB` the kernel's limit.
    AsAtPort,
    /// A number in the server's source. Pgpool-II uses 10,000 for the socket, and has settings only for the port (seen
    /// with 4.3.5).
    Fixed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModeForm {
    /// `770`
    Bare,
    /// `0770`
    Padded,
    /// `0007`: the bits that the server's process removes from the mode of each file that it makes.
    Mask,
}

/// # Source
/// redis.conf of Redis 8 and Valkey 9; memcached(1); mariadb.com and dev.mysql.com, option files; postgresql.org,
/// `unix_socket_directories`; pgbouncer.org, config; pgpool.net, connection settings; `FerretDB` 1.24, `--help`.
static ALL: [ServerFile; 7] = [
    ServerFile {
        kinds: &[Kind::Redis, Kind::Valkey, Kind::Keydb],
        form: Form::Words,
        socket: &["unixsocket"],
        mode: Some(Mode { key: "unixsocketperm", form: ModeForm::Bare }),
        is_folder: false,
        is_exclusive: false,
        marks: &["port", "bind", "save", "appendonly", "dir", "dbfilename", "tcp-backlog", "protected-mode"],
        names: &["redis", "valkey", "keydb"],
        backlog: Backlog::Setting(&["tcp-backlog"]),
        usual_socket: "/run/redis/redis-server.sock",
        usual_places: &[],
        elsewhere: &[],
    },
    ServerFile {
        kinds: &[Kind::Memcached],
        form: Form::Options,
        socket: &["-s", "--unix-socket"],
        mode: Some(Mode { key: "-a", form: ModeForm::Padded }),
        is_folder: false,
        is_exclusive: true,
        marks: &["-m", "-p", "-u", "-l", "-c", "-P", "-d"],
        names: &["memcached"],
        backlog: Backlog::Setting(&["-b", "--listen-backlog"]),
        usual_socket: "/run/memcached/memcached.sock",
        usual_places: &[],
        elsewhere: &[],
    },
    ServerFile {
        kinds: &[Kind::Mariadb, Kind::Mysql, Kind::Percona],
        form: Form::Sections(&["mysqld", "mariadbd", "mariadb", "server"]),
        socket: &["socket"],
        mode: None,
        is_folder: false,
        is_exclusive: false,
        marks: &[
            "bind-address",
            "bind_address",
            "datadir",
            "pid-file",
            "pid_file",
            "user",
            "port",
            "socket",
            "basedir",
        ],
        names: &["my.cnf", "mysqld.cnf", "server.cnf", "mariadb.cnf"],
        backlog: Backlog::Setting(&["back_log", "back-log"]),
        usual_socket: "/run/mysqld/mysqld.sock",
        usual_places: &["/etc/my.cnf", "/etc/my.cnf.d", "/etc/mysql"],
        elsewhere: &["--defaults-file", "--no-defaults"],
    },
    ServerFile {
        kinds: &[Kind::Postgres],
        form: Form::Assignments,
        socket: &["unix_socket_directories"],
        mode: None,
        is_folder: true,
        is_exclusive: false,
        marks: &["listen_addresses", "shared_buffers", "max_connections", "data_directory", "hba_file", "wal_level"],
        names: &["postgresql.conf"],
        backlog: Backlog::AsAtPort,
        usual_socket: "/run/postgresql",
        usual_places: &[],
        elsewhere: &[],
    },
    ServerFile {
        kinds: &[Kind::Pgbouncer],
        form: Form::Sections(&["pgbouncer"]),
        socket: &["unix_socket_dir"],
        mode: None,
        is_folder: true,
        is_exclusive: false,
        marks: &["listen_addr", "listen_port", "auth_type", "auth_file", "pool_mode", "logfile", "pidfile"],
        names: &["pgbouncer.ini"],
        backlog: Backlog::Setting(&["listen_backlog"]),
        usual_socket: "/run/postgresql",
        usual_places: &[],
        elsewhere: &[],
    },
    ServerFile {
        kinds: &[Kind::Pgpool],
        form: Form::Assignments,
        socket: &["unix_socket_directories", "socket_dir"],
        mode: None,
        is_folder: true,
        is_exclusive: false,
        marks: &["backend_hostname0", "backend_port0", "num_init_children", "pcp_port", "pool_passwd"],
        names: &["pgpool.conf"],
        backlog: Backlog::Fixed,
        usual_socket: "/run/postgresql",
        usual_places: &["/etc/pgpool2/pgpool.conf", "/etc/pgpool-II/pgpool.conf"],
        elsewhere: &["-f", "--config-file"],
    },
    ServerFile {
        kinds: &[Kind::Ferretdb],
        form: Form::Unit,
        socket: &["FERRETDB_LISTEN_UNIX"],
        mode: Some(Mode { key: "UMask", form: ModeForm::Mask }),
        is_folder: false,
        is_exclusive: false,
        marks: &["ExecStart"],
        names: &["ferretdb"],
        backlog: Backlog::AsAtPort,
        usual_socket: "/run/ferretdb/ferretdb.sock",
        usual_places: &[],
        elsewhere: &[],
    },
];

impl ServerFile {
    /// The families to which a configuration file may belong, by its name and its settings.
    pub fn of(name: &str, text: &str) -> impl Iterator<Item = &'static Self> {
        let name = name.to_lowercase();
        ALL.iter().filter(move |it| {
            let lines = Lines::read(it.form, text);
            let n_marks = it.marks.iter().filter(|mark| lines.active(&[mark]).is_some()).count();
            let fits = it.names.iter().any(|own| name.contains(own));
            n_marks >= 2 || n_marks == 1 && fits
        })
    }

    /// The family of a kind of server; `None` if looptax does not know its configuration file.
    pub fn family_of(kind: Kind) -> Option<&'static Self> {
        ALL.iter().find(|it| it.kinds.contains(&kind))
    }

    /// The value of a setting in the file.
    pub fn value(&self, text: &str, key: &str) -> Option<String> {
        Lines::read(self.form, text).active(&[key]).map(|it| it.value.clone())
    }

    /// The socket that the file sets, as written in the file; empty if the file switches it off.
    pub fn socket(&self, text: &str) -> Option<String> {
        Lines::read(self.form, text).active(self.socket).map(|it| it.value.clone())
    }

    /// The socket that a comment in the file proposes, as in packages.
    pub fn proposed(&self, text: &str) -> Option<String> {
        let lines = Lines::read(self.form, text);
        let proposed = lines.commented(self.socket).map(|it| it.value.clone());
        proposed.filter(|it| it.starts_with('/'))
    }

    /// The mode that the file sets for the socket; `None` if the file sets no mode, or if the server has no such
    /// setting.
    pub fn mode(&self, text: &str) -> Option<u32> {
        let Mode { key, form } = self.mode?;
        let value = u32::from_str_radix(&self.value(text, key)?, 8).ok()?;
        Some(if form == ModeForm::Mask { 0o777 & !value } else { value })
    }

    /// Whether the setting for the mode also applies to all other files that the server makes.
    pub fn is_mode_of_all(&self) -> bool {
        self.mode.is_some_and(|it| it.form == ModeForm::Mask)
    }

    /// Whether a setting in the file decides the mode of the socket. If not, every user who can reach the folder may
    /// connect.
    pub fn has_mode(&self) -> bool {
        self.mode.is_some()
    }

    /// Command-line words with which a server's program tests its file and exits; empty if the server has no such test.
    ///
    /// # Source
    /// mariadbd(8), `--help --verbose`; dev.mysql.com, "Server Configuration Validation"; postgres(1), `-C`. Each
    /// program exits with an error code if the file contains an unknown setting (seen with 10.11, 9.7 and 15).
    pub fn test_words(kind: Kind) -> &'static [&'static str] {
        match kind {
            Kind::Mariadb => &["--help", "--verbose"],
            Kind::Mysql | Kind::Percona => &["--validate-config"],
            Kind::Postgres => &["-C", "unix_socket_directories"],
            _ => &[],
        }
    }

    /// How many connections may wait on the socket, according to the file; `None` if the file does not set the number.
    pub fn backlog(&self, text: &str) -> Option<u32> {
        let Backlog::Setting(keys) = self.backlog else { return None };
        let own: u32 = Lines::read(self.form, text).active(keys)?.value.parse().ok()?;
        Some(own).filter(|it| *it > 0)
    }

    /// Whether a file of this family can set how many connections may wait.
    pub fn has_backlog(&self) -> bool {
        matches!(self.backlog, Backlog::Setting(_))
    }

    /// Whether the same number of connections may wait on the socket as at the port.
    pub fn has_one_backlog(&self) -> bool {
        self.backlog != Backlog::Fixed
    }

    /// The changes after which `n` connections may wait; empty if a file of this family has no such setting.
    pub fn waiting(&self, text: &str, n: u32) -> Written {
        let mut written = Written::default();
        if let Backlog::Setting(keys) = self.backlog {
            Lines::read(self.form, text).set(keys, &n.to_string(), &mut written);
        }
        written
    }

    /// The changes after which the server listens on this socket or in this folder. If the server has a setting for the
    /// mode, the socket also gets this mode.
    pub fn listening(&self, text: &str, socket: &str, mode: u32) -> Written {
        let lines = Lines::read(self.form, text);
        let mut written = Written::default();
        let old = lines.active(self.socket);
        let is_set = |it: &Setting<'_>| it.value.split(',').any(|it| it.trim() == socket);
        if !old.is_some_and(is_set) {
            let is_kept = |it: &&Setting<'_>| self.is_folder && self.form == Form::Assignments && !it.value.is_empty();
            let value = match old.filter(is_kept) {
                Some(old) => format!("{}, {socket}", old.value),
                None => socket.to_owned(),
            };
            lines.set(self.socket, &value, &mut written);
        }
        if let Some(Mode { key, form }) = self.mode
            && self.mode(text) != Some(mode)
        {
            let value = match form {
                ModeForm::Bare => format!("{mode:o}"),
                ModeForm::Padded => format!("0{mode:o}"),
                ModeForm::Mask => format!("{:04o}", 0o777 & !mode),
            };
            lines.set(&[key], &value, &mut written);
        }
        written
    }

    /// Whether the file is a systemd unit, which systemd reads instead of the server.
    pub fn is_unit(&self) -> bool {
        self.form == Form::Unit
    }

    /// The words of the command line in a file of options or a unit; empty for other syntaxes.
    pub fn options(&self, text: &str) -> Vec<String> {
        if self.is_unit() {
            let started = self.value(text, "ExecStart").unwrap_or_default();
            return started.split_whitespace().skip(1).map(str::to_owned).collect();
        }
        if self.form != Form::Options {
            return Vec::new();
        }
        let all = Lines::read(self.form, text);
        let words = all.settings().filter(|it| it.key.starts_with('-') && !matches!(it.key, "-d" | "-h"));
        words
            .flat_map(|it| std::iter::once(it.key.to_owned()).chain(it.value.split_whitespace().map(str::to_owned)))
            .collect()
    }
}
