//! The pages to request from an application, as given by `--url`, `--urls` and `--from-log`.
//!
//! Parses text into pages, and reports the parts that it cannot parse. Accepts only addresses of this machine; the
//! caller's resolver determines these addresses. [`Page::for_load`] converts a page for the load engine. No file is
//! opened in this module.

mod list;
mod log;

use std::collections::HashMap;
use std::fmt;

use looptax_bench::pages as load;
use looptax_bench::path::{Resolve, WebAddress, WebPage};
use looptax_wire::WireError;
use looptax_wire::http::Request;

pub use list::from_list;
pub use log::from_log;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The page's URL, without secrets.
    pub url: String,
    /// The HTTP method; `GET` unless another one is given.
    pub method: String,
    /// Headers that are added to the usual headers of a request, or that replace them.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// How often the page is requested, relative to the other pages.
    pub weight: u64,
    /// The address from which the page is requested, and the target of the request.
    at: WebPage,
}

/// A part of the text that could not be parsed, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The number of the line, starting from 1; `None` if the problem is about the whole text.
    pub line: Option<usize>,
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
    /// Parses a URL of this machine.
    ///
    /// # Errors
    /// The fault in the text: it is not a URL, the scheme is neither http nor https, the URL contains an account, or it
    /// names another machine.
    pub fn parse(text: &str, resolve: Resolve<'_>) -> Result<Self, String> {
        let at = WebPage::parse(text, resolve)?;
        Ok(Self { url: at.url(), method: "GET".to_owned(), headers: Vec::new(), body: Vec::new(), weight: 1, at })
    }

    /// Makes another page of the same site, which is requested in the same way.
    fn sibling(&self, target: String, weight: u64) -> Self {
        let at = WebPage { target, ..self.at.clone() };
        Self { url: at.url(), weight, at, ..self.clone() }
    }

    pub fn address(&self) -> &WebAddress {
        &self.at.address
    }

    /// Converts the page for the load engine. Adds the page's address to `addresses` if the list does not contain this
    /// address yet.
    ///
    /// # Errors
    /// [`WireError::Request`] for a method, target or header that HTTP does not allow.
    pub fn for_load(&self, addresses: &mut Vec<WebAddress>) -> Result<load::Page, WireError> {
        let known = addresses.iter().position(|it| it == self.address());
        let address_idx = known.unwrap_or_else(|| {
            addresses.push(self.address().clone());
            addresses.len() - 1
        });
        let mut headers = self.headers.clone();
        let usual = [("user-agent", concat!("looptax/", env!("CARGO_PKG_VERSION"))), ("accept", "*/*")];
        for (name, value) in usual {
            if !headers.iter().any(|it| it.0.eq_ignore_ascii_case(name)) {
                headers.push((name.to_owned(), value.to_owned()));
            }
        }
        let (authority, target) = (&self.at.authority, &self.at.target);
        Ok(load::Page {
            request: Request::new(&self.method, authority, target, &headers, &self.body)?,
            address_idx,
            weight: self.weight,
            expected: None,
        })
    }
}

/// Pages without duplicates, in the order in which they first occurred.
#[derive(Default)]
struct Counted {
    pages: Vec<Page>,
    places: HashMap<(String, String), usize>,
}

impl Counted {
    /// Adds a page. If the page is already in the list, adds its weight.
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
    use std::net::IpAddr;
    use std::time::Duration;

    use looptax_bench::path::TlsClient;

    use super::*;
    use crate::trial::Opener;

    /// Resolves names on a machine that has no name itself.
    pub(super) fn resolve(host: &str) -> Option<IpAddr> {
        host.parse().ok().filter(IpAddr::is_loopback)
    }

    #[test]
    fn pages_of_one_address_share_it() {
        let mut addresses = Vec::new();
        let mut load = |url: &str| {
            let page = Page::parse(url, &resolve).unwrap();
            page.for_load(&mut addresses).unwrap().address_idx
        };
        let urls = ["http://localhost/a", "https://localhost:80/", "http://127.0.0.1/b"];
        assert_eq!(urls.map(&mut load), [0, 1, 0]);
        let mut page = Page::parse("http://localhost/", &resolve).unwrap();
        page.headers = vec![("a b".to_owned(), String::new())];
        assert!(page.for_load(&mut addresses).is_err());
        let opener = Opener { addresses, tls: TlsClient::trusting_anybody().unwrap(), limit: Duration::from_secs(1) };
        assert_eq!(opener.addresses.len(), 2);
    }
}
