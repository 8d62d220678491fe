//! A page of the application, asked before and after: status, and the lines that two requests before had in common.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use looptax_failure::Failure;
use url::{Position, Url};

/// A page is waited for so long.
const PATIENCE: Duration = Duration::from_secs(15);
/// Longest answer that is compared.
const MOST_BYTES: u64 = 4 << 20;
/// Pause between the two requests before: a clock on the page has moved on.
const APART: Duration = Duration::from_millis(1100);

/// A page as it was before.
#[derive(Debug, Clone)]
pub struct Page {
    url: String,
    status: u16,
    /// Its lines; `None` for one that differed between two requests.
    lines: Vec<Option<String>>,
    /// Its lines at the last request.
    last: Vec<String>,
    /// Whether two requests had another number of lines: then status and size of the page count alone.
    is_unsteady: bool,
}

struct Answer {
    status: u16,
    body: String,
}

impl Page {
    /// Asks twice.
    ///
    /// # Errors
    /// That it is no address of HTTP, does not answer, or answers with an error already.
    pub fn before(url: &str) -> Result<Self, Failure> {
        if !url.starts_with("http://") {
            let hint = "name the page by http://, at this machine's own address: its certificate would prove nothing here";
            return Err(Failure::usage(
                format!("`{url}`: --url takes http:// alone"),
                hint,
            ));
        }
        let answer = || ask(url).map_err(|why| not_answering(url, &why));
        let first = answer()?;
        std::thread::sleep(APART);
        let second = answer()?;
        if first.status >= 400 || second.status != first.status {
            let what = format!(
                "{url} answers with status {} and {} before anything is changed",
                first.status, second.status
            );
            return Err(Failure::usage(what, "name a page that works now"));
        }
        let (one, other) = (lines(&first.body), lines(&second.body));
        let is_unsteady = one.len() != other.len();
        let both = one.into_iter().zip(other);
        Ok(Self {
            url: url.to_owned(),
            status: first.status,
            lines: both
                .map(|(one, other)| (one == other).then(|| one.to_owned()))
                .collect(),
            last: Vec::new(),
            is_unsteady,
        })
    }

    /// Asks again; says how it differs. A line that changes from one request to the next counts no more.
    pub(crate) fn differs(&mut self) -> Option<String> {
        let answer = match ask(&self.url) {
            Err(why) => return Some(format!("{} does not answer: {why}", self.url)),
            Ok(answer) => answer,
        };
        if answer.status != self.status {
            return Some(format!(
                "{} answers with status {}, before it was {}: {}",
                self.url,
                answer.status,
                self.status,
                first_words(&answer.body)
            ));
        }
        if self.is_unsteady {
            return None;
        }
        let now: Vec<String> = answer.body.lines().map(str::to_owned).collect();
        let last = std::mem::replace(&mut self.last, now);
        let is_alike = self.lines.len() == self.last.len() && self.forgets_what_moves(&last);
        (!is_alike).then(|| {
            format!(
                "{} is another page than before: {}",
                self.url,
                first_words(&answer.body)
            )
        })
    }

    /// Whether each line is as it was before; those that differ from the last request's, too, are let go.
    fn forgets_what_moves(&mut self, last: &[String]) -> bool {
        let mut is_alike = true;
        for (idx, (line, now)) in self.lines.iter_mut().zip(&self.last).enumerate() {
            if line.as_ref().is_none_or(|it| it == now) {
                continue;
            }
            if self.last.len() == last.len() && last[idx] != *now {
                *line = None;
            } else {
                is_alike = false;
            }
        }
        is_alike
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// Asks in the words of HTTP/1.0, to which an answer comes in one piece. Names are looked up in this machine's own list:
/// what a name server says is nobody's business here, and a static program cannot ask the system's library.
fn ask(url: &str) -> Result<Answer, String> {
    let parsed = Url::parse(url).map_err(|error| error.to_string())?;
    let host = parsed.host_str().unwrap_or_default();
    let port = parsed.port_or_known_default().unwrap_or(80);
    let ip = match host.trim_start_matches('[').trim_end_matches(']') {
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        bare => looptax_diagnose::own_address(bare).ok_or_else(|| {
            format!("`{bare}` is no address of this machine, as /etc/hosts has them")
        })?,
    };
    let path = &parsed[Position::BeforePath..Position::AfterQuery];
    let whole = &parsed[Position::BeforeHost..Position::AfterPort];
    let request = format!(
        "GET {path} HTTP/1.0\r\nHost: {whole}\r\nUser-Agent: looptax/{}\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n",
        env!("CARGO_PKG_VERSION")
    );
    let answer =
        exchange(SocketAddr::new(ip, port), &request).map_err(|error| error.to_string())?;
    read_answer(&answer).ok_or_else(|| "what came is no answer of HTTP".to_owned())
}

fn exchange(to: SocketAddr, request: &str) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MOST_BYTES).read_to_end(&mut answer)?;
    Ok(answer)
}

fn read_answer(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut words = head.lines().next()?.split(' ');
    let is_http = words.next()?.starts_with("HTTP/1.");
    let status = words.next()?.parse().ok().filter(|_| is_http)?;
    Some(Answer {
        status,
        body: String::from_utf8_lossy(&bytes[end + 4..]).into_owned(),
    })
}

fn not_answering(url: &str, why: &str) -> Failure {
    Failure::usage(
        format!("{url} does not answer before anything is changed: {why}"),
        "name a page that works now, or leave --url out",
    )
}

fn lines(body: &str) -> Vec<&str> {
    body.lines().collect()
}

/// What a page says, without its tags.
fn first_words(body: &str) -> String {
    let mut text = String::new();
    let mut rest = body;
    while let Some(at) = rest.find('<') {
        text += &rest[..at];
        text.push(' ');
        let is_hidden = ["style", "script", "title"]
            .iter()
            .find(|tag| rest[at + 1..].starts_with(**tag));
        let end = match is_hidden {
            Some(tag) => rest[at..].find(&format!("</{tag}")).map(|it| at + it + 1),
            None => Some(at),
        };
        let Some(end) = end.and_then(|end| Some(end + rest[end..].find('>')?)) else {
            rest = "";
            break;
        };
        rest = &rest[end + 1..];
    }
    text += rest;
    let words: Vec<&str> = text.split_whitespace().take(30).collect();
    if words.is_empty() {
        return "it is empty".to_owned();
    }
    format!("\u{201c}{}\u{201d}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_a_status_and_a_body() {
        let read = |text: &str| read_answer(text.as_bytes()).map(|it| (it.status, it.body));
        let page = "HTTP/1.1 200 OK\r\nServer: x\r\n\r\nline\r\n\r\nmore";
        assert_eq!(read(page), Some((200, "line\r\n\r\nmore".to_owned())));
        assert_eq!(
            read("HTTP/1.0 500 Oh no\r\n\r\n"),
            Some((500, String::new()))
        );
        for text in [
            "",
            "HTTP/1.1 200 OK\r\n",
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 x\r\n\r\n",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn the_words_of_a_page_are_those_a_person_reads() {
        let page = "<html><head><title>x</title><style>a { b }</style></head><body><h1>Error establishing</h1>\n<p>a database connection</p>";
        assert_eq!(
            first_words(page),
            "\u{201c}Error establishing a database connection\u{201d}"
        );
        assert_eq!(first_words("<p"), "it is empty");
        assert_eq!(first_words(""), "it is empty");
    }
}
