//! The pages that an application is asked for: what `--url`, `--urls` and `--from-log` name.
//!
//! Text in, pages out, with what could not be read; only addresses of this machine are taken, as the caller's resolver
//! knows them. [`Page::for_load`] makes the load engine's page of one. No file is opened here.

mod list;
mod log;

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use looptax_bench::pages as load;
use looptax_wire::WireError;
use looptax_wire::http::Request;
use url::{Host, Position, Url};

pub use list::from_list;
pub use log::from_log;

use crate::Address;

/// Gives the address of a host that is this machine.
pub type Resolve<'a> = &'a dyn Fn(&str) -> Option<IpAddr>;

/// A page to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its address, as it may be shown.
    pub url: String,
    /// `GET`, where nothing else was said.
    pub method: String,
    /// Sent besides those that every request has, or in their place.
    pub headers: Vec<(String, String)>,
    /// Sent with it.
    pub body: Vec<u8>,
    /// How often it is asked for, against the others.
    pub weight: u64,
    /// Where.
    address: Address,
    /// As the header `Host` has it.
    authority: String,
    /// Path and query.
    target: String,
}

/// What could not be read, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its line, from 1; `None` where it is about the whole.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl Page {
    /// Reads a URL of this machine.
    ///
    /// # Errors
    /// What is wrong with it: no URL, neither http:// nor https://, an account in it, another machine.
    pub fn parse(text: &str, resolve: Resolve<'_>) -> Result<Self, String> {
        // An account in it has a password.
        let shown = text.rsplit_once('@').map_or(text, |(_, rest)| rest);
        let url = Url::parse(text).map_err(|error| format!("`{shown}` is no URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("`{shown}` is neither http:// nor https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(format!(
                "{} names an account, which belongs into a header",
                &url[Position::BeforeHost..Position::AfterPort]
            ));
        }
        let host = url
            .host()
            .ok_or_else(|| format!("`{shown}` names no host"))?;
        let ip = own_ip(&host, resolve)
            .ok_or_else(|| format!("`{host}` is no address of this machine"))?;
        let port = url.port_or_known_default().unwrap_or(80);
        let is_tls = url.scheme() == "https";
        Ok(Self {
            url: url[..Position::AfterQuery].to_owned(),
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            weight: 1,
            address: Address {
                at: SocketAddr::new(ip, port),
                tls_name: is_tls.then(|| host.to_string()),
            },
            authority: url[Position::BeforeHost..Position::AfterPort].to_owned(),
            target: url[Position::BeforePath..Position::AfterQuery].to_owned(),
        })
    }

    /// Another page of the same site, asked for in the same way.
    fn sibling(&self, target: String, weight: u64) -> Self {
        let scheme = match self.address.tls_name {
            Some(_) => "https",
            None => "http",
        };
        Self {
            url: format!("{scheme}://{}{target}", self.authority),
            target,
            weight,
            ..self.clone()
        }
    }

    /// Where it is asked for.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The page as the load engine asks for it; its address is added to `addresses` where it is not among them.
    ///
    /// # Errors
    /// [`WireError::Request`] for a method, target or header that HTTP does not allow.
    pub fn for_load(&self, addresses: &mut Vec<Address>) -> Result<load::Page, WireError> {
        let known = addresses.iter().position(|it| *it == self.address);
        let address_idx = known.unwrap_or_else(|| {
            addresses.push(self.address.clone());
            addresses.len() - 1
        });
        let mut headers = self.headers.clone();
        let usual = [
            ("user-agent", concat!("looptax/", env!("CARGO_PKG_VERSION"))),
            ("accept", "*/*"),
        ];
        for (name, value) in usual {
            if !headers.iter().any(|it| it.0.eq_ignore_ascii_case(name)) {
                headers.push((name.to_owned(), value.to_owned()));
            }
        }
        let (authority, target) = (&self.authority, &self.target);
        Ok(load::Page {
            request: Request::new(&self.method, authority, target, &headers, &self.body)?,
            address_idx,
            weight: self.weight,
            expected: None,
        })
    }
}

/// The address of a host, where it is this machine. That `localhost` is, everybody knows.
fn own_ip(host: &Host<&str>, resolve: Resolve<'_>) -> Option<IpAddr> {
    match host {
        Host::Domain("localhost") => Some(Ipv4Addr::LOCALHOST.into()),
        Host::Domain(name) => resolve(name),
        Host::Ipv4(ip) => resolve(&ip.to_string()),
        Host::Ipv6(ip) => resolve(&ip.to_string()),
    }
}

/// Pages in the order in which they were first named, each once.
#[derive(Default)]
struct Counted {
    pages: Vec<Page>,
    places: HashMap<(String, String), usize>,
}

impl Counted {
    /// A page that was named before has more weight.
    fn add(&mut self, page: Page) {
        let key = (page.method.clone(), page.url.clone());
        let place = *self.places.entry(key).or_insert(self.pages.len());
        match self.pages.get_mut(place) {
            Some(known) => known.weight += page.weight,
            None => self.pages.push(page),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use looptax_path::TlsClient;

    use super::*;
    use crate::Opener;

    /// A machine whose name is `shop.test`.
    pub(super) fn resolve(host: &str) -> Option<IpAddr> {
        let ip: IpAddr = match host {
            "shop.test" => Ipv4Addr::new(127, 0, 1, 1).into(),
            other => other.parse().ok()?,
        };
        ip.is_loopback().then_some(ip)
    }

    #[test]
    fn a_url_is_an_address_a_host_and_a_path() {
        for (text, at, tls_name, authority, target) in [
            (
                "http://127.0.0.1:8080",
                "127.0.0.1:8080",
                None,
                "127.0.0.1:8080",
                "/",
            ),
            (
                "http://localhost/a?b=c#d",
                "127.0.0.1:80",
                None,
                "localhost",
                "/a?b=c",
            ),
            (
                "https://shop.test/ä b",
                "127.0.1.1:443",
                Some("shop.test"),
                "shop.test",
                "/%C3%A4%20b",
            ),
            ("HTTP://[::1]:80/", "[::1]:80", None, "[::1]", "/"),
            (
                "https://LOCALHOST:8443/?",
                "127.0.0.1:8443",
                Some("localhost"),
                "localhost:8443",
                "/?",
            ),
        ] {
            let page = Page::parse(text, &resolve).unwrap();
            assert_eq!(page.address.at, at.parse().unwrap(), "{text}");
            assert_eq!(page.address.tls_name.as_deref(), tls_name, "{text}");
            assert_eq!(
                (page.authority.as_str(), page.target.as_str()),
                (authority, target)
            );
            assert_eq!(page.sibling(page.target.clone(), 1), page, "{text}");
        }
    }

    #[test]
    fn what_is_no_page_of_this_machine_is_refused() {
        for (text, words) in [
            ("/path", "is no URL"),
            ("ftp://localhost/", "neither http:// nor https://"),
            ("localhost:8080", "neither http:// nor https://"),
            ("http://a:secret@localhost/", "localhost names an account"),
            (
                "http://example.org/",
                "`example.org` is no address of this machine",
            ),
            ("http://192.0.2.1/", "no address of this machine"),
            ("http://a:secret@x y/", "`x y/` is no URL"),
            ("ftp://a:secret@localhost/", "`localhost/` is neither"),
        ] {
            let what = Page::parse(text, &resolve).unwrap_err();
            assert!(what.contains(words), "{what}");
            assert!(!what.contains("secret"), "{what}");
        }
    }

    #[test]
    fn pages_of_one_address_share_it() {
        let mut addresses = Vec::new();
        let mut load = |url: &str| {
            let page = Page::parse(url, &resolve).unwrap();
            page.for_load(&mut addresses).unwrap().address_idx
        };
        let urls = [
            "http://localhost/a",
            "https://localhost:80/",
            "http://127.0.0.1/b",
        ];
        assert_eq!(urls.map(&mut load), [0, 1, 0]);
        let mut page = Page::parse("http://localhost/", &resolve).unwrap();
        page.headers = vec![("a b".to_owned(), String::new())];
        assert!(page.for_load(&mut addresses).is_err());
        let opener = Opener {
            addresses,
            tls: TlsClient::trusting_anybody().unwrap(),
            limit: Duration::from_secs(1),
        };
        assert_eq!(opener.addresses.len(), 2);
    }
}
