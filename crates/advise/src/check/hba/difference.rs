//! Whether the rules treat every login over the socket in the same way as over TCP.
//!
//! Two ordered lists are compared: the lines for sockets, and the lines for TCP connections. The TCP connections are
//! those from the addresses of the clients that a switch would move. The comparison is made for each kind of encryption
//! that a program may choose. The lists are the same if, for every database, user and kind of session, the first
//! matching lines of the two lists have the same method with the same options, or both lists reject the login. A line
//! distinguishes only the names that it contains, so it is enough to try the names in the file and one name that is in
//! no line. A line that looptax does not understand counts as a difference.

use std::collections::BTreeSet;

use super::Hba;
use super::address::Origin;
use super::line::{HbaLine, Kind, Session, Wrap};
use super::name::{Fit, Name};

/// Methods with the same requirements over the socket as over TCP, if their options are the same. The client's system
/// user makes no difference to these methods. `reject` is handled separately, because it accepts no login. `pam` is not
/// in the list, because PAM modules get to know where a connection comes from.
const SAME_EVERYWHERE: [&str; 6] = ["trust", "password", "md5", "scram-sha-256", "ldap", "radius"];

/// Maximum number of comparisons of names.
const MAX_STEPS: usize = 50_000_000;

/// Names that no line can contain.
const ANY: &str = "\n";
const ANY_OTHER: &str = "\n\n";

/// Why a login over the socket may have another result than a login over TCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference<'a> {
    /// The number of a line that looptax does not understand.
    Unread(u32),
    /// The file has no line. A server rejects such a file, and keeps its earlier rules.
    Empty,
    /// Whether this line matches depends on facts that looptax cannot see.
    Open(&'a HbaLine),
    /// Different lines decide a login over the socket and over TCP.
    Lines {
        whose: String,
        /// The line for TCP; `None` if no line matches, so that the server rejects the login over TCP.
        tcp: Option<&'a HbaLine>,
        local: Option<&'a HbaLine>,
    },
    /// The file has more names than looptax can compare.
    Long,
}

impl Hba {
    /// The first difference between logins over the socket and logins over TCP from one of these origins.
    pub fn difference(&self, origins: &[Origin]) -> Option<Difference<'_>> {
        self.first(origins, is_same)
    }

    /// The first login that the server may accept over the socket although it may reject the login over TCP from one of
    /// these origins. A login does not count if the server rejects it over the socket, or if its requirements over the
    /// socket are higher than over TCP.
    pub fn surplus(&self, origins: &[Origin]) -> Option<Difference<'_>> {
        self.first(origins, |tcp, local| {
            let lets_in_all = |line: &HbaLine| line.method == "trust" && line.options.is_empty();
            let is_refused = local.is_none_or(|line| line.method == "reject");
            is_refused || tcp.is_some_and(lets_in_all) || is_same(tcp, local)
        })
    }

    fn first(&self, origins: &[Origin], is_fine: IsFine) -> Option<Difference<'_>> {
        if let Some(number) = self.unread.first() {
            return Some(Difference::Unread(*number));
        }
        if self.lines.is_empty() {
            return Some(Difference::Empty);
        }
        let local = self.lines.iter().filter(|it| it.kind == Kind::Local);
        let local: Vec<_> = local.map(|line| (line, Fit::Yes)).collect();
        for origin in origins {
            for wrap in [Wrap::None, Wrap::Tls, Wrap::Gss] {
                let lines = self.lines.iter();
                let tcp = lines.map(|line| (line, line.fits_tcp(wrap, *origin)));
                let tcp: Vec<_> = tcp.filter(|(_, fit)| *fit != Fit::No).collect();
                let lists = Lists { tcp, local: &local, wrap, is_fine };
                if let Some(difference) = lists.difference() {
                    return Some(difference);
                }
            }
        }
        None
    }
}

/// Whether the second line (for the socket) may decide a login instead of the first line (for TCP).
type IsFine = fn(Option<&HbaLine>, Option<&HbaLine>) -> bool;

/// The lines that may apply to a connection. The [`Fit`] of a line shows whether the transport matches.
type Lines<'a> = Vec<(&'a HbaLine, Fit)>;

struct Lists<'a, 'b> {
    tcp: Lines<'a>,
    local: &'b Lines<'a>,
    wrap: Wrap,
    is_fine: IsFine,
}

impl<'a> Lists<'a, '_> {
    fn lines(&self) -> impl Iterator<Item = &'a HbaLine> {
        self.tcp.iter().chain(self.local).map(|(line, _)| *line)
    }

    fn difference(&self) -> Option<Difference<'a>> {
        let mut databases: BTreeSet<&str> = names(self.lines().map(|it| &it.databases));
        let mut users: BTreeSet<&str> = names(self.lines().map(|it| &it.users));
        let n_names = self.lines().map(|it| it.databases.len() + it.users.len());
        let n_names: usize = n_names.sum();
        let has_same = |line: &HbaLine| {
            let mut names = line.databases.iter();
            names.any(|it| it.keyword() == Some("sameuser"))
        };
        users.insert(ANY);
        databases.insert(ANY);
        if self.lines().any(has_same) {
            // A database may have the same name as a user, but not every user has such a database.
            databases.extend(&users);
            users.extend(&databases);
            users.insert(ANY_OTHER);
        }
        let n_logins = databases.len().saturating_mul(users.len());
        if n_logins.saturating_mul(n_names) > MAX_STEPS {
            return Some(Difference::Long);
        }
        let sessions = databases.iter().map(|it| Session::Database(it));
        let mut sessions = sessions.chain([Session::Replication]);
        sessions.find_map(|session| {
            let mut users = users.iter();
            users.find_map(|user| self.difference_for(session, user))
        })
    }

    fn difference_for(&self, session: Session<'_>, user: &str) -> Option<Difference<'a>> {
        let tcp = match first(&self.tcp, session, user) {
            Ok(line) => line,
            Err(line) => return Some(Difference::Open(line)),
        };
        let local = match first(self.local, session, user) {
            Ok(line) => line,
            Err(line) => return Some(Difference::Open(line)),
        };
        (!(self.is_fine)(tcp, local)).then(|| Difference::Lines { whose: whose(session, user, self.wrap), tcp, local })
    }
}

/// The names in these lists. Keywords are included, and treated as names of databases.
fn names<'a>(lists: impl Iterator<Item = &'a Vec<Name>>) -> BTreeSet<&'a str> {
    lists.flatten().map(|name| &*name.text).collect()
}

/// The first line that matches. `Err` has an earlier line that may match.
fn first<'a>(lines: &Lines<'a>, session: Session<'_>, user: &str) -> Result<Option<&'a HbaLine>, &'a HbaLine> {
    for (line, fit) in lines {
        match fit.and(line.fits_login(session, user)) {
            Fit::Yes => return Ok(Some(line)),
            Fit::Maybe => return Err(line),
            Fit::No => {}
        }
    }
    Ok(None)
}

fn is_same(tcp: Option<&HbaLine>, local: Option<&HbaLine>) -> bool {
    let lets_in = |line: &&HbaLine| line.method != "reject";
    match (tcp.filter(lets_in), local.filter(lets_in)) {
        (None, None) => true,
        (Some(tcp), Some(local)) => {
            SAME_EVERYWHERE.contains(&&*tcp.method) && (&tcp.method, &tcp.options) == (&local.method, &local.options)
        }
        _ => false,
    }
}

fn whose(session: Session<'_>, user: &str, wrap: Wrap) -> String {
    let user = match user {
        ANY | ANY_OTHER => "a user that no line names".to_owned(),
        user => format!("user `{user}`"),
    };
    let what = match session {
        Session::Replication => "replication".to_owned(),
        Session::Database(ANY) => "a database that no line names".to_owned(),
        Session::Database(name) => format!("database `{name}`"),
    };
    let wrap = match wrap {
        Wrap::None => "",
        Wrap::Tls => " with TLS",
        Wrap::Gss => " with GSSAPI's encryption",
    };
    format!("{what} and {user}{wrap}")
}

impl Difference<'_> {
    /// Describes the difference, for the file at `path`.
    pub fn words(&self, path: &str) -> String {
        match self {
            Self::Unread(number) => format!("looptax cannot parse line {number} of {path}"),
            Self::Empty => format!("{path} has no rules, and no server accepts such a file"),
            Self::Open(line) => format!(
                "line {} of {path} is `{}`, and looptax cannot determine from outside the server which users match \
                this line",
                line.number,
                line.shown()
            ),
            Self::Lines { whose, tcp, local } => {
                let side = |line: Option<&HbaLine>| match line {
                    Some(line) => format!("line {} applies (`{}`)", line.number, line.shown()),
                    None => "no line allows a login".to_owned(),
                };
                let (tcp, local) = (side(*tcp), side(*local));
                format!(
                    "in {path}, for {whose}: over TCP {tcp}, and over the socket {local}; so the result of a login may \
                     differ"
                )
            }
            Self::Long => format!("{path} has too many names to compare"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    fn origin(ip: impl Into<std::net::IpAddr>) -> Origin {
        Origin::Known { ip: ip.into(), is_localhost: true }
    }

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let hba = Hba::parse(text);
        let found = hba.difference(&[origin(Ipv4Addr::LOCALHOST)]);
        let found = found.map(|it| it.words("F"));
        match (&found, expected) {
            (None, None) => {}
            (Some(found), Some(words)) if found.contains(words) => {}
            _ => panic!("{expected:?}, but {found:?}: {text}"),
        }
    }

    const HOST: &str = "host all all 127.0.0.1/32 scram-sha-256\n";

    #[test]
    fn the_same_rules_in_other_words_are_the_same() {
        for text in [
            "local all all scram-sha-256",
            "local all,x a,all scram-sha-256",
            "local x all scram-sha-256\nlocal all +staff,all scram-sha-256",
            "local replication all reject\nlocal all all scram-sha-256",
            "local all all scram-sha-256\nlocal x /pattern trust\nhost all +r 10.0.0.0/8 trust",
            "local sameuser all scram-sha-256\nlocal all all scram-sha-256",
        ] {
            check(&format!("{text}\n{HOST}"), None);
        }
        check("local all all trust\nhost all all localhost trust\nhost all all ::1/128 md5", None);
        check("local all all trust\nhost all all 127.0.0.1 255.0.0.0 trust", None);
        check("hostssl all all samehost reject", None);
        check("# nothing", Some("has no rules"));
    }

    #[test]
    fn the_lines_that_differ_are_named() {
        check(
            HOST,
            Some(
                "over TCP line 1 applies (`host all all 127.0.0.1/32 scram-sha-256`), and over the socket no line \
                 allows",
            ),
        );
        check(
            &format!("local shop all scram-sha-256\n{HOST}"),
            Some("for a database that no line names and a user that no line names: over TCP line 2"),
        );
        check(
            &format!("local all all scram-sha-256\n{HOST}host replication all 127.0.0.1/8 md5"),
            Some("for replication and a user that no line names: over TCP line 3"),
        );
        check(
            "local all all trust\nhost all bob samehost reject\nhost all all 0.0.0.0/0 trust",
            Some("user `bob`: over TCP line 2 applies (`host all bob samehost reject`), and over the socket line 1"),
        );
        check(
            &format!(
                "local all all scram-sha-256\nhostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n{HOST}"
            ),
            Some(
                "with TLS: over TCP line 2 applies (`hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca`)",
            ),
        );
        check(
            &format!("local all all scram-sha-256\nhostgssenc all all 127.0.0.1/32 gss\n{HOST}"),
            Some("with GSSAPI's encryption"),
        );
        check(
            &format!("local sameuser all md5\nlocal all all scram-sha-256\n{HOST}"),
            Some("`local sameuser all md5`"),
        );
        check("local all all ident\nhost all all all ident", Some("`local all all ident`"));
    }

    #[test]
    fn what_is_not_understood_is_not_the_same() {
        for line in [
            "local all +staff scram-sha-256",
            "local all /^a scram-sha-256",
            "local samerole all scram-sha-256",
            "host all all db.example.org scram-sha-256",
        ] {
            let text = format!("{line}\nlocal all all scram-sha-256\n{HOST}");
            check(&text, Some("cannot determine from outside"));
        }
        for line in [
            "include other.conf",
            "local @names all scram-sha-256",
            "host all all 127.1 scram-sha-256",
            "local all all scram-sha-257",
            "local all all trust map=a",
            "host all all 127.0.0.1/33 trust",
            "host all all 127.0.0.1 trust",
            "local all all , trust",
            "local \"all all trust",
            "local al\"l\" all trust",
            "# \\\nlocal all all trust",
        ] {
            let text = format!("{line}\nlocal all all scram-sha-256\n{HOST}");
            check(&text, Some("looptax cannot parse line 1 of F"));
        }
    }

    #[test]
    fn r18_whom_the_socket_refuses_or_asks_for_more_has_no_surplus() {
        for (local, tcp, words) in [
            ("reject", "scram-sha-256", None),
            ("scram-sha-256", "trust", None),
            ("peer", "trust", None),
            ("md5", "md5", None),
            ("trust", "scram-sha-256", Some("`local all all trust`")),
            ("md5", "scram-sha-256", Some("`local all all md5`")),
            ("peer", "scram-sha-256", Some("`local all all peer`")),
            ("trust", "reject", Some("`local all all trust`")),
            ("ldap", "trust", Some("looptax cannot parse line 1 of F")),
        ] {
            let text = format!("local all all {local}\nhost all all samehost {tcp}");
            let hba = Hba::parse(&text);
            let found = hba.surplus(&[origin(Ipv4Addr::LOCALHOST)]);
            let found = found.map(|it| it.words("F"));
            let is_so = match (&found, words) {
                (Some(found), Some(words)) => found.contains(words),
                (found, words) => found.is_none() && words.is_none(),
            };
            assert!(is_so, "{text}: {found:?}");
        }
    }

    #[test]
    fn connections_through_a_container_come_from_anywhere() {
        let official = "local all all trust\nhost all all 127.0.0.1/32 trust\nhost all all all trust";
        let hba = Hba::parse(official);
        assert!(matches!(hba.difference(&[Origin::Unknown]), Some(Difference::Open(line)) if line.number == 2));
        let open = Hba::parse("local all all md5\nhost all all all md5");
        assert_eq!(open.difference(&[Origin::Unknown]), None);
    }

    #[test]
    fn every_address_that_is_moved_counts() {
        let text = "local all all md5\nhost all all 127.0.0.1/32 md5";
        let hba = Hba::parse(text);
        let both = [origin(Ipv4Addr::LOCALHOST), origin(Ipv6Addr::LOCALHOST)];
        assert_eq!(hba.difference(&both[..1]), None);
        assert!(hba.difference(&both).is_some());
        let elsewhere = Origin::Known { ip: Ipv4Addr::LOCALHOST.into(), is_localhost: false };
        let named = Hba::parse("local all all md5\nhost all all localhost md5");
        assert!(matches!(named.difference(&[elsewhere]), Some(Difference::Open(_))));
    }

    #[test]
    fn too_many_names_are_not_compared() {
        let line = |idx| format!("local db{idx} u{idx} md5\n");
        let text: String = (0..2_000).map(line).collect();
        assert_eq!(Hba::parse(&text).difference(&[origin(Ipv4Addr::LOCALHOST)]), Some(Difference::Long));
    }
}
