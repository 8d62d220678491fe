//! Addresses to which looptax does not log in: uWSGI, whose protocol looptax does not speak, and `MongoDB` addresses
//! with several servers or with a replica set. looptax only rewrites such addresses in each driver's form.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use crate::dsn::{AddressError, Kind, Query, Secret};

/// An address to which looptax does not log in, and the account in it.
#[derive(Debug, Clone)]
pub struct Unspoken {
    pub kind: Kind,
    /// Host as it was written (the first host if there are several); `None` if there is no host, and for a socket.
    pub host: Option<String>,
    pub port: u16,
    pub user: Option<String>,
    pub password: Option<Secret>,
    pub database: Option<String>,
    /// The socket, if the URL names a socket.
    pub socket: Option<PathBuf>,
    /// `MongoDB`'s options: the URL's query as it is written. One of the options may be secret.
    pub options: Option<Secret>,
    /// Whether the address names several servers, or a server of a replica set. A replica set redirects its clients to
    /// hosts and ports.
    pub is_one_of_several: bool,
}

impl Unspoken {
    /// Makes an address that holds only the kind.
    pub const fn bare(kind: Kind) -> Self {
        Self {
            kind,
            host: None,
            port: kind.port(),
            user: None,
            password: None,
            database: None,
            socket: None,
            options: None,
            is_one_of_several: false,
        }
    }

    /// Parses `uwsgi://host:port`. Also parses `mongodb://user:password@host:port,host:port/database`, if the URL names
    /// several servers or a replica set. Returns `None` for all other addresses: [`crate::dsn::Address`] parses them.
    ///
    /// # Errors
    /// See [`AddressError`].
    pub fn parse(text: &str) -> Option<Result<Self, AddressError>> {
        let (scheme, body) = text.trim().split_once("://")?;
        let kind = match scheme {
            "mongodb" => Kind::Mongodb,
            "uwsgi" => Kind::Uwsgi,
            _ => return None,
        };
        let hosts = hosts_in(body);
        let mut options = Query::from_text(&body[hosts.end..]).pairs();
        let names_set = options.any(|pair| pair.name().eq_ignore_ascii_case("replicaSet"));
        let is_one_of_several = body[hosts].contains(',') || names_set;
        let is_ours = kind != Kind::Mongodb || is_one_of_several;
        is_ours.then(|| Self::read(kind, body, is_one_of_several))
    }

    fn read(kind: Kind, body: &str, is_one_of_several: bool) -> Result<Self, AddressError> {
        let hosts = hosts_in(body);
        let login = body[..hosts.start].strip_suffix('@');
        let (user, password) = match login.map(|it| it.split_once(':').unwrap_or((it, ""))) {
            Some((user, password)) => (decoded("user", user)?, decoded("password", password)?),
            None => Default::default(),
        };
        let hosts_text = &body[hosts.clone()];
        let first = decoded("host", hosts_text.split(',').next().unwrap_or_default())?;
        let behind = &body[hosts.end..];
        let (path, options) = behind.split_once('?').unwrap_or((behind, ""));
        let some = |text: String| (!text.is_empty()).then_some(text);
        let is_hostless = kind == Kind::Uwsgi && first.is_empty() && path.len() > 1;
        let first = if is_hostless { decoded("path", path)? } else { first };
        let path = if is_hostless { "" } else { path };
        let is_socket = first.starts_with('/');
        let (host, port) = match first.rsplit_once(':').filter(|_| !is_socket) {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                let port = port.parse().map_err(|_| AddressError::Port)?;
                (host.to_owned(), port)
            }
            _ => (first.clone(), kind.port()),
        };
        Ok(Self {
            kind,
            host: some(host).filter(|_| !is_socket),
            port,
            user: some(user),
            password: some(password).map(Secret::new),
            database: some(decoded("path", path.trim_start_matches('/'))?),
            socket: is_socket.then(|| PathBuf::from(&first)),
            options: some(options.to_owned()).filter(|_| kind == Kind::Mongodb).map(Secret::new),
            is_one_of_several,
        })
    }

    /// Returns the URL with its host replaced and everything else kept; `None` if [`Self::parse`] does not accept the
    /// URL.
    pub fn with_host(text: &str, host: &str) -> Option<String> {
        Self::parse(text)?.ok()?;
        let (scheme, body) = text.split_once("://")?;
        let hosts = hosts_in(body);
        let (login, behind) = (&body[..hosts.start], &body[hosts.end..]);
        Some(format!("{scheme}://{login}{host}{behind}"))
    }
}

/// Returns the range of the hosts in the URL after its scheme.
fn hosts_in(body: &str) -> std::ops::Range<usize> {
    let end = body.find(['/', '?']).unwrap_or(body.len());
    let start = body[..end].rfind('@').map_or(0, |at| at + 1);
    start..end
}

fn decoded(part: &'static str, text: &str) -> Result<String, AddressError> {
    let text = percent_decode_str(text).decode_utf8();
    let text = text.map_err(|_| AddressError::Encoding { part })?;
    Ok(text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let it = Unspoken::parse(text).unwrap().unwrap();
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let shown = [
            it.kind.to_string(),
            or_dash(it.host),
            it.port.to_string(),
            or_dash(it.user),
            or_dash(it.password.map(|it| it.reveal().to_owned())),
            or_dash(it.database),
            or_dash(it.socket.map(|it| it.display().to_string())),
            it.is_one_of_several.to_string(),
        ];
        assert_eq!(shown.join(" "), expected, "{text}");
    }

    #[test]
    fn hosts_sockets_and_sets_are_read() {
        check("mongodb://u:p%40@127.0.0.1,127.0.0.1:27018/app?w=1", "mongodb 127.0.0.1 27017 u p@ app - true");
        check(
            "mongodb://u:p@%2Ftmp%2Fmongodb-27017.sock/app?replicaSet=rs",
            "mongodb - 27017 u p app /tmp/mongodb-27017.sock true",
        );
        check("mongodb://[::1]:27018,b:27019/", "mongodb [::1] 27018 - - - - true");
        check("mongodb://h/d?replicaSet=rs", "mongodb h 27017 - - d - true");
        check("uwsgi://127.0.0.1:3031", "uwsgi 127.0.0.1 3031 - - - - false");
        check("uwsgi:///s.sock", "uwsgi - 0 - - - /s.sock false");
        assert!(Unspoken::parse("mysql://h").is_none());
        assert!(Unspoken::parse("mongodb://h:1/d").is_none());
        assert!(Unspoken::parse("mongodb://h:x,i").unwrap().is_err());
    }

    #[test]
    fn options_are_kept_as_they_are_written() {
        for (text, expected) in [
            ("mongodb://u:p@h,i/d?authSource=%24external&w=1", Some("authSource=%24external&w=1")),
            ("mongodb://h/?replicaset=rs", Some("replicaset=rs")),
            ("mongodb://h,i", None),
        ] {
            let found = Unspoken::parse(text).unwrap().unwrap().options;
            assert_eq!(found.as_ref().map(Secret::reveal), expected, "{text}");
        }
        assert!(Unspoken::parse("mongodb://h/d?appName=replicaSet%3Drs").is_none());
    }

    #[test]
    fn another_host_leaves_the_rest_as_it_is() {
        let new = Unspoken::with_host("mongodb://u:p@h:1,i/d?w=1", "%2Fs.sock");
        assert_eq!(new.as_deref(), Some("mongodb://u:p@%2Fs.sock/d?w=1"));
        assert_eq!(Unspoken::with_host("redis://h", "x"), None);
    }
}
