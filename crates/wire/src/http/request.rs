//! A request as bytes. It is made and checked once, then sent any number of times.

use ureq_proto::client::Call;
use ureq_proto::http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderValue};
use ureq_proto::http::{self, Method, Version};

use crate::WireError;

/// Number of bytes that are enough for the fixed parts of a line: a request's first line without its method and target,
/// or a header without its name and value.
const LINE_BYTES: usize = 16;

/// One request, ready to be sent.
#[derive(Debug, Clone)]
pub struct Request {
    method: Method,
    /// The parts of the request that determine how its answer is read.
    gist: http::Request<()>,
    bytes: Vec<u8>,
}

impl Request {
    /// Makes a request to `authority` (the value of the header `Host`) for `target`, a path with its query.
    ///
    /// `headers` are sent unchanged; a `Host` among them replaces `authority`. The length of the body is sent if the
    /// body is not empty, or if the method usually has a body.
    ///
    /// # Errors
    /// [`WireError::Request`] for a method, target or header that HTTP does not allow, and for `CONNECT`.
    pub fn new(
        method: &str,
        authority: &str,
        target: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<Self, WireError> {
        let refused = |what: String| WireError::Request { what };
        let method = Method::from_bytes(method.as_bytes())
            .ok()
            .filter(|method| *method != Method::CONNECT)
            .ok_or_else(|| refused(format!("`{method}` is not a method that requests a page")))?;
        if !target.starts_with('/') {
            return Err(refused(format!("`{target}` is not a path")));
        }
        let names_host = { headers.iter() }.any(|(name, _)| name.eq_ignore_ascii_case("host"));
        let mut builder = http::Request::builder().method(&method).uri(target).version(Version::HTTP_11);
        if !names_host {
            builder = builder.header(HOST, authority);
        }
        for (name, value) in headers {
            builder = builder.header(name, value);
        }
        let is_expected = [Method::POST, Method::PUT, Method::PATCH].contains(&method);
        if is_expected || !body.is_empty() {
            builder = builder.header(CONTENT_LENGTH, body.len());
        }
        let head = builder.body(()).map_err(|error| refused(format!("cannot request `{target}`: {error}")))?;
        let gist = gist(&head);
        let mut bytes = write_head(head, !body.is_empty())
            .map_err(|error| refused(format!("cannot request `{target}`: {error}")))?;
        bytes.extend_from_slice(body);
        Ok(Self { method, gist, bytes })
    }

    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns a request that has only the parts that determine how its answer is read: whether the answer has a body,
    /// and whether the connection stays open.
    pub(super) fn gist(&self) -> http::Request<()> {
        self.gist.clone()
    }
}

fn gist(head: &http::Request<()>) -> http::Request<()> {
    let mut gist = http::Request::new(());
    if *head.method() == Method::HEAD {
        *gist.method_mut() = Method::HEAD;
    }
    let values = head.headers().get_all(CONNECTION).iter();
    let mut words =
        { values.filter_map(|value| value.to_str().ok()) }.flat_map(|value| value.split(',').map(str::trim));
    if words.any(|word| word.eq_ignore_ascii_case("close")) {
        gist.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    gist
}

fn write_head(head: http::Request<()>, has_body: bool) -> Result<Vec<u8>, ureq_proto::Error> {
    let n_bytes = longest(&head);
    let mut call = Call::new(head)?;
    call.allow_non_standard_methods(true);
    if has_body {
        call.force_send_body();
    }
    let mut bytes = vec![0; n_bytes];
    let n_written = call.proceed().write(&mut bytes)?;
    bytes.truncate(n_written);
    Ok(bytes)
}

/// Returns an upper bound for the length of a head in bytes.
fn longest(head: &http::Request<()>) -> usize {
    let headers: &HeaderMap = head.headers();
    let lines = { headers.iter() }.map(|(name, value)| name.as_str().len() + value.len());
    let first = head.method().as_str().len() + head.uri().to_string().len();
    lines.chain([first]).map(|line| line + LINE_BYTES).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> String {
        let headers: Vec<_> =
            { headers.iter() }.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        match Request::new(method, "localhost:8080", target, &headers, body) {
            Ok(request) => String::from_utf8_lossy(request.bytes()).into_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_request_is_its_line_its_headers_and_its_body() {
        let start = "HTTP/1.1\r\nhost: localhost:8080\r\n";
        for (found, expected) in [
            (sent("GET", "/a?b=c%20d", &[], b""), format!("GET /a?b=c%20d {start}\r\n")),
            (sent("HEAD", "/", &[("Cookie", "a=b")], b""), format!("HEAD / {start}cookie: a=b\r\n\r\n")),
            (sent("GET", "/", &[("HOST", "shop.test")], b""), "GET / HTTP/1.1\r\nhost: shop.test\r\n\r\n".to_owned()),
            (sent("POST", "/", &[], b"a=1"), format!("POST / {start}content-length: 3\r\n\r\na=1")),
            (sent("POST", "/", &[], b""), format!("POST / {start}content-length: 0\r\n\r\n")),
            (sent("GET", "/", &[], b"odd"), format!("GET / {start}content-length: 3\r\n\r\nodd")),
            (sent("PURGE", "/", &[], b""), format!("PURGE / {start}\r\n")),
        ] {
            assert_eq!(found, expected);
        }
        let long = format!("/{}", "x".repeat(30_000));
        assert!(sent("GET", &long, &[("a", &long)], b"").len() > 60_000);
    }

    #[test]
    fn what_http_does_not_allow_is_refused() {
        for (method, target, header, words) in [
            ("G T", "/", ("a", "b"), "not a method"),
            ("CONNECT", "/", ("a", "b"), "not a method"),
            ("GET", "a", ("a", "b"), "not a path"),
            ("GET", "", ("a", "b"), "not a path"),
            ("GET", "/a b", ("a", "b"), "cannot request `/a b`"),
            ("GET", "/", ("a b", "b"), "cannot request `/`"),
            ("GET", "/", ("a", "b\r\nc: d"), "cannot request `/`"),
            ("GET", "/", ("content-length", "x"), "cannot request `/`"),
        ] {
            let found = sent(method, target, &[header], b"");
            assert!(found.contains(words), "{found}");
        }
        let twice = [("host", "a"), ("Host", "b")];
        assert!(sent("GET", "/", &twice, b"").contains("more than one host"));
    }
}
