//! Removes the secrets from an address, so that it may be shown. Also rewrites two forms of URL that URL parsers
//! cannot read.

use std::borrow::Cow;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use crate::dsn::keywords::{self, keywords};
use crate::dsn::{Query, masked};

/// Returns an address without its secrets; the result may be shown and saved, and can be read again.
pub fn shown(text: &str) -> String {
    if let Some(pairs) = keywords(text) {
        return keywords::without_secrets(&pairs);
    }
    let (with_host, is_hostless) = with_host(text);
    let without = |mut url: Url| {
        url.set_password(None).ok()?;
        let query = Query::new(url.query().unwrap_or_default());
        let kept: Vec<&str> = { query.pairs() }.filter(|pair| !pair.is_secret()).map(|pair| pair.text).collect();
        let kept = kept.join("&");
        url.set_query(Some(&*kept).filter(|kept| !kept.is_empty()));
        url.set_fragment(None);
        Some(url.to_string())
    };
    // If a password has an unencoded `/` or `?`, the URL parser treats the rest of the password as a part of the path
    // or of the query.
    let is_clear = |url: &Url| {
        let query = url.query().unwrap_or_default();
        !is_hostless && !url.path().contains('@') && !query.replace("=@", "").contains('@')
    };
    let url = Url::parse(&with_host).ok().filter(is_clear);
    url.and_then(without).unwrap_or_else(|| masked(text))
}

/// Rewrites a URL that the URL parser refuses. `unix://user:password@/path` has a user but no host: a host is
/// inserted, and the returned flag is true. In nginx's `http://unix:/path:/page`, the socket's path becomes the host.
pub(crate) fn with_host(text: &str) -> (Cow<'_, str>, bool) {
    if let Some(rest) = text.strip_prefix("http://unix:").filter(|it| is_path(it)) {
        let (path, page) = rest.split_once(':').unwrap_or((rest, ""));
        let host = utf8_percent_encode(path, NON_ALPHANUMERIC);
        return (format!("http+unix://{host}{page}").into(), false);
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return (text.into(), false);
    };
    let authority_bytes = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(authority_bytes);
    if !authority.ends_with('@') {
        return (text.into(), false);
    }
    (format!("{scheme}://{authority}none{path}").into(), true)
}

/// Returns whether the text is a socket: a path, or the name of an abstract socket.
pub(crate) fn is_path(text: &str) -> bool {
    text.starts_with(['/', '@'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read_again_and_has_no_password() {
        for (text, expected) in [
            ("mysql://wp:p%40@localhost/blog", "mysql://wp@localhost/blog"),
            ("postgres://u@[::1]:1/d?password=x#y", "postgres://u@[::1]:1/d"),
            ("mysql://h/d?password=x&socket=/s", "mysql://h/d?socket=/s"),
            ("redis://h?socket=@s", "redis://h?socket=@s"),
            ("unix://u:p@/s?db=1", "unix://u:****@/s?db=1"),
            ("http://unix:/s:/p?x=1", "http+unix://%2Fs/p?x=1"),
            ("host=h password=x dbname='a b'", "host=h dbname='a b'"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }
}
