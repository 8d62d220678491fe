//! Requests one of the site's scripts from PHP, and reads the figures at the end of the script's output.
//!
//! `php/answer.php` writes the figures. This module does not measure time: its caller reads the clock before and after
//! a request.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use looptax_wire::{WireError, fastcgi};
use serde::Deserialize;

use super::{Site, Transport, WordPress};
use crate::servers::ServerError;
use crate::servers::stopping::Stoppable;

/// Time limit without any data from PHP. Installing a site takes a second or two; a page takes a hundredth of this
/// time.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// The first word of the line with the figures.
const MARK: &str = "looptax ";

/// The figures that a page reports about itself.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Page {
    /// Time from the start of the request to PHP's shutdown, in µs.
    pub page_us: f64,
    /// Sum of the times that `$wpdb` measured for its queries, in µs.
    pub query_us: f64,
    /// Number of queries that `$wpdb` counted.
    pub queries: u32,
    /// Number of queries that `$wpdb` timed.
    pub timed: u32,
    /// Number of statements that the server counted on the page's connection: the statements for connecting, the page's
    /// queries, and the query for this number.
    pub questions: u32,
    /// The origin of the connection, as the server reports it: `localhost` for a socket, otherwise an address.
    pub peer: String,
    /// The connection, as PHP describes it: `127.0.0.1 via TCP/IP`.
    pub host_info: String,
    /// Whether a cache outside PHP's process keeps WordPress's objects.
    pub has_object_cache: bool,
    pub has_opcache: bool,
    /// Time that the queries of the proof took after the clocks had been read, in µs.
    pub proof_us: f64,
}

impl Page {
    /// Whether the connection used the socket, according to the server.
    pub fn came_over_socket(&self) -> bool {
        self.peer == "localhost"
    }

    /// Whether the connection used a socket, according to PHP.
    pub fn went_to_socket(&self) -> bool {
        self.host_info.ends_with("via UNIX socket")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Page,
    Connection,
    Install,
}

impl Script {
    fn name(self) -> &'static str {
        match self {
            Self::Page => "page.php",
            Self::Connection => "connection.php",
            Self::Install => "install.php",
        }
    }
}

impl WordPress {
    /// Loads the front page of a site, and returns its figures.
    ///
    /// # Errors
    /// [`ServerError::PageRequest`] and [`ServerError::Page`].
    pub fn load(&self, site: Site, transport: Transport) -> Result<Page, ServerError> {
        self.ask(Script::Page, site, transport)
    }

    /// Connects to the database as a page does, but without the page's queries. The server counts the statements for
    /// connecting on each page's connection, but they are not queries of the page.
    ///
    /// # Errors
    /// The same as those of [`WordPress::load`].
    pub fn connect(&self, site: Site, transport: Transport) -> Result<Page, ServerError> {
        self.ask(Script::Connection, site, transport)
    }

    /// Installs a site. Returns the versions of WordPress and PHP.
    pub(super) fn install(&self, site: Site) -> Result<(String, String), ServerError> {
        let script = Script::Install;
        let body = self.request(script, site, Transport::Unix)?;
        let words = marked(&body).and_then(|line| line.strip_prefix("installed ")?.split_once(' '));
        let (wordpress, php) = words.ok_or_else(|| self.wrong(script, "does not show an installation".to_owned()))?;
        Ok((wordpress.to_owned(), php.to_owned()))
    }

    /// Runs a script whose output ends with the figures.
    fn ask(&self, script: Script, site: Site, transport: Transport) -> Result<Page, ServerError> {
        let body = self.request(script, site, transport)?;
        if script == Script::Page && !body.contains("</html>") {
            return Err(self.wrong(script, "is not a whole page".to_owned()));
        }
        let line = marked(&body).ok_or_else(|| self.wrong(script, "has no figures at its end".to_owned()))?;
        serde_json::from_slice(line.as_bytes())
            .map_err(|error| self.wrong(script, format!("has invalid figures ({error})")))
    }

    fn request(&self, script: Script, site: Site, transport: Transport) -> Result<String, ServerError> {
        let answer = self
            .exchange(script, site, transport)
            .map_err(|source| ServerError::PageRequest { script: script.name(), source })?;
        let output = String::from_utf8_lossy(&answer.output).into_owned();
        let (head, body) = output.split_once("\r\n\r\n").unwrap_or_default();
        let state = head.lines().find_map(|line| line.strip_prefix("Status: "));
        let complaint = String::from_utf8_lossy(&answer.errors);
        match state {
            Some(state) if !state.starts_with("200") => Err(self.wrong(script, format!("has status {state}"))),
            _ if !complaint.trim().is_empty() => {
                let complaint = complaint.replace(char::is_control, " ");
                Err(self.wrong(script, format!("comes with an error message: {}", complaint.trim())))
            }
            _ => Ok(body.to_owned()),
        }
    }

    fn exchange(&self, script: Script, site: Site, transport: Transport) -> Result<fastcgi::Answer, WireError> {
        let [plain, moved] = &self.sockets;
        let socket = if transport.is_under_run() { moved } else { plain };
        let socket = socket
            .as_ref()
            .ok_or_else(|| WireError::Request { what: "no php-fpm runs for this transport".to_owned() })?;
        let connect = |source| WireError::Io { action: "connect to php-fpm", source };
        let stream = UnixStream::connect(socket).map_err(connect)?;
        stream.set_read_timeout(Some(ANSWER_LIMIT)).map_err(connect)?;
        stream.set_write_timeout(Some(ANSWER_LIMIT)).map_err(connect)?;
        let folder = self.server.scratch().path("site");
        let file = folder.join(script.name()).display().to_string();
        let db_host = self.db_host(transport);
        let params = [
            ("SCRIPT_FILENAME", file.as_str()),
            ("SCRIPT_NAME", "/index.php"),
            ("REQUEST_METHOD", "GET"),
            ("REQUEST_URI", "/"),
            ("QUERY_STRING", ""),
            ("SERVER_PROTOCOL", "HTTP/1.1"),
            ("SERVER_NAME", "looptax.invalid"),
            ("HTTP_HOST", "looptax.invalid"),
            ("REMOTE_ADDR", "127.0.0.1"),
            ("LOOPTAX_SITE", site.name()),
            ("LOOPTAX_DB_HOST", &db_host),
        ];
        let limit = ANSWER_LIMIT;
        fastcgi::request(&mut Stoppable { stream, limit }, &params, limit)
    }

    fn wrong(&self, script: Script, how: String) -> ServerError {
        ServerError::Page { script: script.name(), how, log_tail: self.server.log_tail() }
    }
}

/// Returns the text after the mark in the last line.
fn marked(body: &str) -> Option<&str> {
    body.trim_end().lines().next_back()?.strip_prefix(MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_line_holds_the_numbers() {
        assert_eq!(marked("<p>\nlooptax {\"a\":1}\n</html>\n"), None);
        assert_eq!(marked("</html>\nlooptax {\"a\":1}\n"), Some("{\"a\":1}"));
        assert_eq!(marked(""), None);
    }
}
