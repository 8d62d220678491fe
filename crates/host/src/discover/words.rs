//! Finds the addresses in a server's command line.
//!
//! Every user may read the command line. If a server is configured in a file, its command line contains no address.

use std::ffi::OsStr;
use std::path::Path;

/// The words of a command line. Some programs replace their command line with a single word.
#[derive(Debug, Default)]
pub(crate) struct Words {
    words: Vec<String>,
    ports: Vec<u16>,
}

impl Words {
    pub(crate) fn new(arguments: &[String]) -> Self {
        let words = arguments.iter().flat_map(|it| it.split_whitespace());
        let words: Vec<String> = words.map(str::to_owned).collect();
        let before = std::iter::once("").chain(words.iter().map(String::as_str));
        let ports = { before.zip(&words) }.filter_map(|(before, word)| port_in(before, word));
        Self { ports: ports.collect(), words }
    }

    pub(crate) fn name_ports(&self) -> bool {
        !self.ports.is_empty()
    }

    pub(crate) fn name_port(&self, port: u16) -> bool {
        self.ports.contains(&port)
    }

    /// Whether the command line contains a socket's path or abstract name; for PostgreSQL, the folder of the socket.
    pub(crate) fn name_path(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let folder = path.parent().filter(|_| name.starts_with(".s.PGSQL."));
        let is_it = |word: &str| !word.is_empty() && (Path::new(word) == path || Some(Path::new(word)) == folder);
        self.words.iter().any(|word| {
            // The word may be `--socket=PATH`, `unixsocket:PATH` or `-kPATH`.
            let value = word.find(['/', '@']).map_or("", |at| &word[at..]);
            is_it(word) || is_it(value)
        })
    }
}

/// Reads the port in `--port=3307`, `--port 3307`, `-p 5433`, `-p5433`, `port=5433` or `127.0.0.1:6380`.
fn port_in(before: &str, word: &str) -> Option<u16> {
    let value = word.rsplit(['=', ':']).next()?;
    let name = word.strip_suffix(value)?;
    let is_option = |it: &str| it == "-p" || it.trim_end_matches('=').ends_with("port");
    match word.strip_prefix("-p") {
        Some(port) if !port.is_empty() => port.parse().ok(),
        _ if name.is_empty() => value.parse().ok().filter(|_| is_option(before)),
        _ if name.ends_with(':') || is_option(name) => value.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &[&str], expected: &[u16]) {
        let arguments: Vec<String> = line.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(Words::new(&arguments).ports, expected, "{line:?}");
    }

    #[test]
    fn r20_a_command_line_names_ports_in_the_ways_that_servers_have() {
        check(&["redis-server 127.0.0.1:6380"], &[6380]);
        check(&["redis-server *:6380 [cluster]"], &[6380]);
        check(&["mariadbd", "--port=3307", "--socket=/tmp/3308"], &[3307]);
        check(&["mysqld", "--port", "3307", "--server-id=3309"], &[3307]);
        check(&["postgres", "-p", "5433", "-c", "port=5434"], &[5433, 5434]);
        check(&["memcached", "-m", "64", "-p11212", "-u", "memcache"], &[11_212]);
        check(&["mysqld", "--pid-file=/run/1.pid"], &[]);
    }

    #[test]
    fn r20_a_command_line_names_sockets_and_postgres_folder() {
        let names = |line: &str, path: &str| Words::new(&[line.to_owned()]).name_path(Path::new(path));
        assert!(names("mariadbd --socket=/run/a.sock", "/run/a.sock"));
        assert!(names("redis-server unixsocket:/run/a.sock", "/run/a.sock"));
        assert!(names("postgres -k /run/pg", "/run/pg/.s.PGSQL.5433"));
        assert!(names("postgres -c unix_socket_directories=/run/pg", "/run/pg/.s.PGSQL.5433"));
        assert!(!names("mariadbd --datadir=/run", "/run/a.sock"));
        assert!(!names("mariadbd", "/run/a.sock"));
    }
}
