//! Returns the URL at which the copy answers a page of the original.

use super::SiteCopy;
use super::site::Listen;

/// A page of the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyPage {
    pub url: String,
    /// The site's name, for the header `Host`; `None` if neither the page nor the site has a name.
    pub host: Option<String>,
}

impl SiteCopy {
    /// Returns the copy's page for a page of the original; for `None`, the front page.
    pub fn page(&self, original: Option<&str>) -> CopyPage {
        page(&self.site.listens, self.site.name.as_deref(), original.unwrap_or("/"))
    }
}

fn page(listens: &[Listen], name: Option<&str>, url: &str) -> CopyPage {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let n = if scheme.is_empty() { 0 } else { rest.find(['/', '?', '#']).unwrap_or(rest.len()) };
    let (authority, path) = rest.split_at(n);
    let authority = authority.rsplit_once('@').map_or(authority, |it| it.1);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
        _ => (authority, None),
    };
    let usual = match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    };
    let listen = port.or(usual).and_then(|port| listens.iter().find(|it| it.original == port));
    // If a site has TLS, its visitors use TLS, so a port with TLS is preferred.
    let with_pages = |has_tls: bool| listens.iter().find(|it| it.has_pages && it.has_tls == has_tls);
    let listen = listen.or_else(|| with_pages(true)).or_else(|| with_pages(false)).or(listens.first());
    let is_name = host.contains(|c: char| c.is_ascii_alphabetic()) && host != "localhost" && !host.contains(':');
    let host = is_name.then_some(host).or(name).map(str::to_owned);
    let slash = if path.starts_with('/') { "" } else { "/" };
    CopyPage { url: format!("http://127.0.0.1:{}{slash}{path}", listen.map_or(0, |it| it.private)), host }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_its_path_and_is_asked_for_at_the_port_that_stands_for_its_own() {
        let listen = |original, has_tls, private, has_pages| Listen { original, has_tls, private, has_pages };
        let listens = [listen(80, false, 1, false), listen(443, true, 2, true), listen(8080, false, 3, true)];
        let check = |name, url: &str, expected: (&str, Option<&str>)| {
            let found = page(&listens, name, url);
            assert_eq!((&*found.url, found.host.as_deref()), expected, "{url}");
        };
        check(Some("shop.test"), "/", ("http://127.0.0.1:2/", Some("shop.test")));
        check(Some("shop.test"), "http://127.0.0.1/a?b=c", ("http://127.0.0.1:1/a?b=c", Some("shop.test")));
        check(Some("shop.test"), "https://www.shop.test", ("http://127.0.0.1:2/", Some("www.shop.test")));
        check(None, "http://[::1]:8080/x", ("http://127.0.0.1:3/x", None));
        check(None, "http://localhost:81?q", ("http://127.0.0.1:2/?q", None));
    }
}
