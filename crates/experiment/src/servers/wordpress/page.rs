//! Asking PHP for one of the site's scripts, and reading the numbers behind what it prints.
//!
//! `php/answer.php` writes them. Looks at no clock: cli measures around a request.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use looptax_wire::{WireError, fastcgi};
use serde::Deserialize;

use super::{Site, Transport, WordPress};
use crate::servers::ServerError;
use crate::servers::stopping::Stoppable;

/// How long PHP may be silent: installing a site takes a second or two, a page a hundredth of that.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// The first word of the line with the numbers.
const MARK: &str = "looptax ";

/// A page's own figures.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Page {
    /// From the request's start to its shutdown, µs.
    pub page_us: f64,
    /// The sum of what `$wpdb` timed of its queries, µs.
    pub query_us: f64,
    /// Queries that `$wpdb` counted.
    pub queries: u32,
    /// Queries that `$wpdb` timed.
    pub timed: u32,
    /// Statements that the server counted on the page's connection: those of connecting, the page's
    /// queries, and the question for this number.
    pub questions: u32,
    /// Whence the server says that the connection comes: `localhost` for a socket, else an address.
    pub peer: String,
    /// PHP's description of the connection: `127.0.0.1 via TCP/IP`.
    pub host_info: String,
    /// Whether something outside PHP's process keeps WordPress's objects.
    pub has_object_cache: bool,
    pub has_opcache: bool,
    /// Time that the questions to the server took after the clocks had been read, µs.
    pub proof_us: f64,
}

impl Page {
    /// Whether the server says that the connection came over its socket.
    pub fn came_over_socket(&self) -> bool {
        self.peer == "localhost"
    }

    /// Whether PHP's side says that it connected to a socket.
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
    /// Loads the front page of a site, and says what it took.
    ///
    /// # Errors
    /// [`ServerError::PageRequest`] and [`ServerError::Page`].
    pub fn load(&self, site: Site, transport: Transport) -> Result<Page, ServerError> {
        self.ask(Script::Page, site, transport)
    }

    /// Connects to the database as a page does, and does nothing else: what the server counts of that
    /// belongs to each page's connection, not to its queries.
    ///
    /// # Errors
    /// As [`WordPress::load`].
    pub fn connect(&self, site: Site, transport: Transport) -> Result<Page, ServerError> {
        self.ask(Script::Connection, site, transport)
    }

    /// Installs a site: WordPress's version and PHP's.
    pub(super) fn install(&self, site: Site) -> Result<(String, String), ServerError> {
        let script = Script::Install;
        let body = self.request(script, site, Transport::Unix)?;
        let words = marked(&body).and_then(|line| line.strip_prefix("installed ")?.split_once(' '));
        let (wordpress, php) = words.ok_or_else(|| self.wrong(script, "does not show an installation".to_owned()))?;
        Ok((wordpress.to_owned(), php.to_owned()))
    }

    /// Runs a script that answers with numbers.
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

/// The text behind the mark in the last line.
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
