//! Pages by their URLs: their address on this machine, and streams to it, with or without TLS.
//!
//! The caller resolves names; this file does not query name servers. Called by the proof of `switch` and by the trial.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use looptax_wire::Stream;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use url::{Host, Position, Url};

use crate::path::TlsClient;
use crate::path::link::{connect_tcp, part_of, patiently};
use crate::path::tls::invalid;

/// Returns the address of a host, if the host is this machine.
pub type Resolve<'a> = &'a dyn Fn(&str) -> Option<IpAddr>;

/// The address at which a web server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAddress {
    pub at: SocketAddr,
    /// The server name for TLS, if the URL is https.
    pub tls_name: Option<String>,
}

/// A page of this machine, named by a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebPage {
    /// The address of its web server.
    pub address: WebAddress,
    /// The value of the header `Host`.
    pub authority: String,
    pub target: String,
}

impl WebAddress {
    /// Connects. `limit` applies to each single wait: the wait for the connection, and each wait to send or to receive
    /// bytes. A signal ends each wait.
    ///
    /// # Errors
    /// Any error of the system. TLS errors come with the first bytes, as [`io::ErrorKind::InvalidData`].
    pub fn open(&self, tls: &TlsClient, limit: Duration) -> io::Result<Box<dyn Stream + Send>> {
        let stream = WebStream::open(self.at, limit)?;
        Ok(match &self.tls_name {
            Some(name) => Box::new(tls.stream(stream, name).map_err(invalid)?),
            None => Box::new(stream),
        })
    }
}

/// A connection to a web server.
struct WebStream {
    fd: OwnedFd,
    limit: Duration,
}

impl WebStream {
    fn open(at: SocketAddr, limit: Duration) -> io::Result<Self> {
        // `TCP_NODELAY`: a request is sent immediately, even if earlier bytes are not acknowledged yet.
        let fd = connect_tcp(at, limit)?;
        for timeout in [Timeout::Recv, Timeout::Send] {
            set_socket_timeout(&fd, timeout, Some(part_of(limit)))?;
        }
        Ok(Self { fd, limit })
    }
}

impl Read for WebStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let receive = || recv(&self.fd, &mut *buffer, RecvFlags::empty());
        patiently(self.limit, receive, || Ok(())).map(|(n_bytes, _)| n_bytes)
    }
}

impl Write for WebStream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let send = || send(&self.fd, buffer, SendFlags::NOSIGNAL);
        patiently(self.limit, send, || Ok(()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WebPage {
    /// Reads a URL.
    ///
    /// # Errors
    /// A message that explains the fault: the text is not a URL, is neither http:// nor https://, contains an account,
    /// or names another machine. The message does not repeat a password.
    pub fn parse(text: &str, resolve: Resolve<'_>) -> Result<Self, String> {
        let shown = text.rsplit_once('@').map_or(text, |(_, rest)| rest);
        let url = Url::parse(text).map_err(|error| format!("`{shown}` is not a URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("`{shown}` is neither http:// nor https://"));
        }
        let authority = &url[Position::BeforeHost..Position::AfterPort];
        if !url.username().is_empty() || url.password().is_some() {
            return Err(format!("`{authority}` contains an account: pass it in a header instead"));
        }
        let host = { url.host() }.ok_or_else(|| format!("`{shown}` has no host"))?;
        let ip = own_ip(&host, resolve)
            .ok_or_else(|| format!("`{host}` is not an address of this machine (looked up in /etc/hosts)"))?;
        let port = url.port_or_known_default().unwrap_or(80);
        let is_tls = url.scheme() == "https";
        Ok(Self {
            address: WebAddress { at: SocketAddr::new(ip, port), tls_name: is_tls.then(|| host.to_string()) },
            authority: authority.to_owned(),
            target: url[Position::BeforePath..Position::AfterQuery].to_owned(),
        })
    }

    pub fn url(&self) -> String {
        let scheme = match self.address.tls_name {
            Some(_) => "https",
            None => "http",
        };
        format!("{scheme}://{}{}", self.authority, self.target)
    }
}

/// Returns the address of a host, if the host is this machine. The host `localhost` is always this machine.
fn own_ip(host: &Host<&str>, resolve: Resolve<'_>) -> Option<IpAddr> {
    match host {
        Host::Domain("localhost") => Some(Ipv4Addr::LOCALHOST.into()),
        Host::Domain(name) => resolve(name),
        Host::Ipv4(ip) => resolve(&ip.to_string()),
        Host::Ipv6(ip) => resolve(&ip.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::thread;

    use looptax_wire::http::{Buffers, Limits, Request, exchange};
    use rustls::pki_types::PrivateKeyDer;
    use rustls::{ServerConfig, ServerConnection, StreamOwned};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    /// Resolves names on a machine that is called `shop.test`.
    fn resolve(host: &str) -> Option<IpAddr> {
        let ip: IpAddr = match host {
            "shop.test" => Ipv4Addr::new(127, 0, 1, 1).into(),
            other => other.parse().ok()?,
        };
        ip.is_loopback().then_some(ip)
    }

    #[test]
    fn a_url_is_an_address_a_host_and_a_path() {
        let shop = Some("shop.test");
        for (text, at, tls_name, authority, target) in [
            ("http://127.0.0.1:8080", "127.0.0.1:8080", None, "127.0.0.1:8080", "/"),
            ("http://localhost/a?b=c#d", "127.0.0.1:80", None, "localhost", "/a?b=c"),
            ("https://shop.test/ä b", "127.0.1.1:443", shop, "shop.test", "/%C3%A4%20b"),
            ("HTTP://[::1]:80/", "[::1]:80", None, "[::1]", "/"),
            ("https://SHOP.test:8443/?", "127.0.1.1:8443", shop, "shop.test:8443", "/?"),
        ] {
            let page = WebPage::parse(text, &resolve).unwrap();
            assert_eq!(page.address.at, at.parse().unwrap(), "{text}");
            assert_eq!(page.address.tls_name.as_deref(), tls_name, "{text}");
            assert_eq!((page.authority.as_str(), page.target.as_str()), (authority, target));
            assert_eq!(WebPage::parse(&page.url(), &resolve), Ok(page));
        }
    }

    #[test]
    fn what_is_no_page_of_this_machine_is_refused() {
        for (text, words) in [
            ("/path", "is not a URL"),
            ("http://a:secret@x y/", "`x y/` is not a URL"),
            ("ftp://a:secret@localhost/", "`localhost/` is neither http:// nor https://"),
            ("localhost:8080", "neither http:// nor https://"),
            ("http://a:secret@localhost/", "`localhost` contains an account"),
            ("http://example.org/", "`example.org` is not an address of this machine"),
            ("http://192.0.2.1/", "not an address of this machine"),
        ] {
            let what = WebPage::parse(text, &resolve).unwrap_err();
            assert!(what.contains(words), "{what}");
            assert!(!what.contains("secret"), "{what}");
        }
    }

    /// Answers one connection over TLS with the server name that the client requested.
    fn serve_tls(listener: &TcpListener) {
        let made = rcgen::generate_simple_self_signed(["elsewhere".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(crate::path::tls::provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let (stream, _) = listener.accept().unwrap();
        let connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut stream = StreamOwned::new(connection, stream);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).unwrap();
        }
        let name = stream.conn.server_name().unwrap_or("nobody").to_owned();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{name}", name.len());
        // Answers without waiting for the end of the request, because every request gets the same answer.
        std::io::Write::write_all(&mut stream, answer.as_bytes()).unwrap();
        let mut asked = [0; 4096];
        while std::io::Read::read(&mut stream, &mut asked).is_ok_and(|n| n > 0) {}
    }

    #[test]
    fn a_page_is_asked_for_over_tls_by_its_name_whatever_the_certificate_says() {
        for (host, name) in [("shop.test", "shop.test"), ("127.0.1.1", "nobody")] {
            let listener = TcpListener::bind("127.0.1.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let server = thread::spawn(move || serve_tls(&listener));
            let page = WebPage::parse(&format!("https://{host}:{port}/"), &resolve).unwrap();
            let tls = TlsClient::trusting_anybody().unwrap();
            let mut stream = page.address.open(&tls, LIMIT).unwrap();
            let request = Request::new("GET", &page.authority, &page.target, &[], b"").unwrap();
            let mut buffers = Buffers::new(Limits { kept_bytes: 100, ..Limits::new(LIMIT) });
            let answer = exchange(&mut stream, &request, &mut buffers).unwrap();
            assert_eq!((answer.status, buffers.body()), (200, name.as_bytes()));
            drop(stream);
            server.join().unwrap();
        }
    }
}
