//! Requests a page of the application before and after the switch. Compares the page's status, and the lines that were
//! the same in two requests before the switch.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_bench::path::{TlsClient, WebAddress, WebPage};
use looptax_host::waiting;
use looptax_model::failure::{Failure, with_causes};
use looptax_wire::WireError;
use looptax_wire::http::{Buffers, HttpError, Limited, Limits, Request, exchange, first_words};

use crate::clock::Since;

/// The time limit for connecting, and for each wait for the server.
const PATIENCE: Duration = Duration::from_secs(15);
/// The time limit for a whole page. A page that takes longer, such as an endless stream of events, cannot be compared.
const WHOLE: Duration = Duration::from_secs(30);
/// The maximum number of bytes of a page that are compared.
const COMPARED_BYTES: usize = 4 << 20;
/// A flag that is never set, for requests that no caller interrupts.
static GOING_ON: AtomicBool = AtomicBool::new(false);
/// The pause between the two requests before the switch. It is long enough for a clock on the page to change.
const APART: Duration = Duration::from_millis(1100);

/// A page as it was before the switch.
#[derive(Debug, Clone)]
pub struct Page {
    url: String,
    address: WebAddress,
    tls: TlsClient,
    request: Request,
    status: u16,
    /// The page's lines; `None` for a line that differed between two requests.
    lines: Vec<Option<String>>,
    /// The page's lines at the last request.
    last: Vec<String>,
    /// The time limit for connecting, and for each wait for the server.
    patience: Duration,
    /// The time limit for each whole request.
    whole: Duration,
    /// Whether two requests gave different numbers of lines. If so, only the page's status and size are compared.
    is_unsteady: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Differs {
    pub(crate) how: String,
    /// Whether the request failed: no answer, or an error.
    pub(crate) is_failure: bool,
}

struct Answer {
    status: u16,
    body: String,
}

impl Page {
    /// Requests the page twice.
    ///
    /// # Errors
    /// If the page is not on this machine, does not answer, or already answers with an error.
    pub fn before(url: &str) -> Result<Self, Failure> {
        let mut page =
            Self::parse(url).map_err(|why| Failure::usage(format!("--url: {why}"), "pass a page of this machine"))?;
        let first = page.ask(&GOING_ON).map_err(|why| page.not_answering(why))?;
        waiting::pause(APART);
        let second = page.ask(&GOING_ON).map_err(|why| page.not_answering(why))?;
        if first.status >= 400 || second.status != first.status {
            let what = format!(
                "before the change, {url} answers with status {} and then with status {}",
                first.status, second.status
            );
            return Err(Failure::usage(what, "pass a page that works now"));
        }
        let (one, other) = (lines(&first.body), lines(&second.body));
        page.status = first.status;
        page.is_unsteady = one.len() != other.len();
        let both = one.into_iter().zip(other);
        page.lines = { both }.map(|(one, other)| (one == other).then(|| one.to_owned())).collect();
        Ok(page)
    }

    /// Parses a URL into a page that has not been requested yet. Names are looked up only in `/etc/hosts`: a name
    /// server's answer does not matter for a page of this machine, and a static program cannot use the system's
    /// resolver.
    fn parse(url: &str) -> Result<Self, String> {
        let page = WebPage::parse(url, &crate::diagnose::own_address)?;
        let headers = [
            ("User-Agent", concat!("looptax/", env!("CARGO_PKG_VERSION"))),
            ("Cache-Control", "no-cache"),
            ("Connection", "close"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let request =
            Request::new("GET", &page.authority, &page.target, &headers, b"").map_err(|error| error.to_string())?;
        Ok(Self {
            url: page.url(),
            address: page.address,
            tls: TlsClient::trusting_anybody().map_err(|error| error.to_string())?,
            request,
            status: 0,
            lines: Vec::new(),
            last: Vec::new(),
            patience: PATIENCE,
            whole: WHOLE,
            is_unsteady: false,
        })
    }

    /// Requests the page; stops if the caller sets `is_over`.
    fn ask(&self, is_over: &AtomicBool) -> Result<Answer, HttpError> {
        let start = Since::now();
        let opened = self.address.open(&self.tls, self.patience);
        let stream = opened.map_err(|source| WireError::Io { action: "connect", source })?;
        let goes_on = || !is_over.load(Ordering::Relaxed) && start.elapsed() <= self.whole;
        let mut stream = Limited::new(stream, goes_on);
        let mut buffers = Buffers::new(Limits { kept_bytes: COMPARED_BYTES, ..Limits::new(self.patience) });
        let answer = exchange(&mut stream, &self.request, &mut buffers)?;
        Ok(Answer { status: answer.status, body: String::from_utf8_lossy(buffers.body()).into_owned() })
    }

    fn not_answering(&self, why: HttpError) -> Failure {
        let what = format!("before the change, {} does not answer", self.url);
        let failure = Failure::from(why);
        let hint = { failure.hint() }.unwrap_or("pass a page that works now, or leave --url out");
        let hint = hint.to_owned();
        Failure::usage(format!("{what}: {failure:#}"), hint)
    }

    /// Requests the page again and returns the difference; `None` if it is as before. A line that changes between two
    /// requests is no longer compared.
    pub(crate) fn differs(&mut self) -> Option<Differs> {
        self.differs_until(&GOING_ON)
    }

    /// Does the same as [`Self::differs`], but stops if the caller sets `is_over`, so that an endless page does not
    /// delay the caller.
    pub(crate) fn differs_until(&mut self, is_over: &AtomicBool) -> Option<Differs> {
        let failed = |how: String| Some(Differs { how, is_failure: true });
        let answer = match self.ask(is_over) {
            Err(why) => {
                return failed(format!("{} does not answer: {}", self.url, with_causes(&why)));
            }
            Ok(answer) => answer,
        };
        if answer.status != self.status {
            let how = format!(
                "{} answers with status {} instead of {}: {}",
                self.url,
                answer.status,
                self.status,
                words(&answer.body)
            );
            return Some(Differs { how, is_failure: answer.status >= 400 });
        }
        if self.is_unsteady {
            return None;
        }
        let now: Vec<String> = answer.body.lines().map(str::to_owned).collect();
        let last = std::mem::replace(&mut self.last, now);
        let is_alike = self.lines.len() == self.last.len() && self.forgets_what_moves(&last);
        (!is_alike).then(|| Differs {
            how: format!("{} is a different page than before: {}", self.url, words(&answer.body)),
            is_failure: false,
        })
    }

    /// Whether each compared line is as before. If a line is not as before, and also changed since the previous
    /// request, the line is no longer compared.
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

    /// Sets both time limits for all later requests.
    pub(crate) fn hurry(&mut self, limit: Duration) {
        (self.patience, self.whole) = (limit, limit);
    }

    pub fn url(&self) -> &str {
        &self.url
    }
}

fn lines(body: &str) -> Vec<&str> {
    body.lines().collect()
}

/// Returns the beginning of a page, for a person.
fn words(body: &str) -> String {
    match first_words(body.as_bytes()) {
        words if words.is_empty() => "it is empty".to_owned(),
        words => format!("\u{201c}{words}\u{201d}"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Starts a server that gives these answers, one to each connection; returns its URL.
    fn serve(answers: Vec<String>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/page", listener.local_addr().unwrap());
        thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut asked = Vec::new();
                while !asked.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte).unwrap();
                    asked.extend(byte);
                }
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        url
    }

    fn answer(status: &str, body: &str) -> String {
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn a_page_is_the_same_but_for_what_moves() {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let url = serve(vec![
            answer("200 OK", "<h1>Shop</h1>\nat 1\nend"),
            answer("200 OK", "<h1>Shop</h1>\nat 2\nend"),
            format!("{chunked}e\r\n<h1>Shop</h1>\n\r\n8\r\nat 3\nend\r\n0\r\n\r\n"),
            answer("200 OK", "<h1>Oh</h1>\nno\nat 4\nend"),
            answer("500 Oh", "<h1>Error establishing</h1> a connection"),
            "SSH-2.0\r\n".to_owned(),
        ]);
        let mut page = Page::before(&url).unwrap();
        assert_eq!(page.differs(), None);
        let mut differs = || page.differs().unwrap().how;
        assert!(differs().ends_with("is a different page than before: \u{201c}Oh no at 4 end\u{201d}"));
        let words = "status 500 instead of 200: \u{201c}Error establishing a connection\u{201d}";
        assert!(differs().ends_with(words));
        assert!(differs().contains("does not answer: the answer is not HTTP: `SSH"));
    }

    #[track_caller]
    fn check_refused(url: &str, words: &str, hint: &str) {
        let failure = Page::before(url).unwrap_err();
        assert!(failure.to_string().contains(words), "{failure}");
        assert!(failure.hint().unwrap().contains(hint), "{failure}");
    }

    #[test]
    fn a_page_that_does_not_work_before_is_none_to_compare_with() {
        let own = "pass a page of this machine";
        check_refused("http://203.0.113.9/", "not an address of this machine", own);
        check_refused("shop", "`shop` is not a URL", own);
        let tls = serve(vec!["\x15\x03\x01\0\x02\x02\x28".to_owned()]);
        check_refused(&tls, "speaks TLS", "https://");
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", nobody.local_addr().unwrap());
        drop(nobody);
        check_refused(&url, "refused", "leave --url out");
    }

    #[test]
    fn a_page_without_end_is_left_after_its_time_or_once_nobody_waits_for_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/events", listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
                stream.write_all(head).unwrap();
                while stream.write_all(b"data: x\n\n").is_ok() {
                    thread::sleep(Duration::from_millis(5));
                }
            }
        });
        let mut page = Page::parse(&url).unwrap();
        page.whole = Duration::from_millis(50);
        assert!(page.ask(&GOING_ON).is_err());
        page.whole = Duration::from_secs(3600);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let asking = scope.spawn(|| page.ask(&is_over).is_err());
            thread::sleep(Duration::from_millis(50));
            is_over.store(true, Ordering::Relaxed);
            assert!(asking.join().unwrap());
        });
    }

    #[test]
    fn an_empty_page_is_said_to_be_empty() {
        assert_eq!(words("<p"), "it is empty");
        assert_eq!(words("<p>a</p> b"), "\u{201c}a b\u{201d}");
    }
}
