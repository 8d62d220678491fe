//! PostgreSQL's `pg_hba.conf`: which line lets a connection in over either transport.
//!
//! The first line that fits in type, database, user and address decides; there is no second try.
//!
//! # Source
//! postgresql.org/docs/current/auth-pg-hba-conf.html

use std::net::IpAddr;

use super::{Outcome, Point};

/// A line that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HbaLine {
    /// Its number in the file.
    pub number: u32,
    kind: String,
    databases: Vec<Name>,
    users: Vec<Name>,
    address: Option<String>,
    mask: Option<String>,
    /// Its method: `peer`, `scram-sha-256`.
    pub method: String,
}

/// A name in a list; in quotes it is no keyword.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Name {
    text: String,
    is_quoted: bool,
}

/// What stands between white space: names with commas between them.
type Word = Vec<Name>;

/// The lines of a file, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hba {
    lines: Vec<HbaLine>,
    /// Lines that were not understood; what they say is not known.
    pub n_unread: usize,
}

/// Whether a line fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Yes,
    No,
    /// It depends on roles that cannot be seen from outside.
    Maybe,
}

impl Hba {
    /// Reads the text of a file. Files that it includes are not followed and count as unread.
    pub fn parse(text: &str) -> Self {
        let mut found = Self::default();
        let mut number = 0;
        let mut joined = String::new();
        for line in text.lines() {
            number += 1;
            // A backslash at the end joins the next line.
            if let Some(start) = line.strip_suffix('\\') {
                joined.push_str(start);
                continue;
            }
            joined.push_str(line);
            let words = words(&std::mem::take(&mut joined));
            if words.is_empty() {
                continue;
            }
            match line_of(number, &words) {
                Some(line) => found.lines.push(line),
                None => found.n_unread += 1,
            }
        }
        found
    }

    /// The line for a connection over the socket (`address` is `None`) or over TCP without TLS; the
    /// flag says that an earlier line may fit as well.
    fn decides(
        &self,
        database: &str,
        user: &str,
        address: Option<IpAddr>,
    ) -> (Option<&HbaLine>, bool) {
        let mut is_unsure = false;
        for line in &self.lines {
            match line.fits(database, user, address) {
                Fit::Yes => return (Some(line), is_unsure),
                Fit::Maybe => is_unsure = true,
                Fit::No => {}
            }
        }
        (None, is_unsure)
    }
}

impl HbaLine {
    fn fits(&self, database: &str, user: &str, address: Option<IpAddr>) -> Fit {
        let by_kind = match (&*self.kind, address) {
            ("local", None) => Fit::Yes,
            ("host" | "hostnossl" | "hostnogssenc", Some(address)) => self.fits_address(address),
            _ => Fit::No,
        };
        [
            by_kind,
            fits_database(&self.databases, database, user),
            fits_user(&self.users, user),
        ]
        .into_iter()
        .fold(Fit::Yes, Fit::and)
    }

    fn fits_address(&self, address: IpAddr) -> Fit {
        let Some(own) = self.address.as_deref() else {
            return Fit::No;
        };
        match own {
            // An address of this machine is in its own network.
            "all" | "samehost" | "samenet" => return Fit::Yes,
            _ => {}
        }
        let (network, bits) = own.split_once('/').unwrap_or((own, ""));
        let Ok(network) = network.parse::<IpAddr>() else {
            // A name: `localhost` is what loopback addresses are called.
            return if own == "localhost" {
                Fit::Yes
            } else {
                Fit::Maybe
            };
        };
        let width = if network.is_ipv4() { 32 } else { 128 };
        let bits = match (bits.parse::<u32>(), self.mask.as_deref()) {
            (Ok(bits), _) => bits.min(width),
            (Err(_), Some(mask)) => match mask.parse::<IpAddr>() {
                Ok(mask) => value(mask).count_ones(),
                Err(_) => return Fit::No,
            },
            (Err(_), None) => return Fit::No,
        };
        let is_same = network.is_ipv4() == address.is_ipv4()
            && (bits == 0 || value(network) >> (width - bits) == value(address) >> (width - bits));
        if is_same { Fit::Yes } else { Fit::No }
    }

    /// As it stands in the file, but for spaces.
    fn shown(&self) -> String {
        let address = self.address.as_ref();
        let address = address.map(|it| format!(" {it}")).unwrap_or_default();
        let list = |names: &[Name]| {
            let names = names.iter().map(|name| {
                if name.is_quoted {
                    format!("\"{}\"", name.text)
                } else {
                    name.text.clone()
                }
            });
            names.collect::<Vec<_>>().join(",")
        };
        format!(
            "line {}: {} {} {}{address} {}",
            self.number,
            self.kind,
            list(&self.databases),
            list(&self.users),
            self.method
        )
    }
}

impl Fit {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Maybe, _) | (_, Self::Maybe) => Self::Maybe,
            _ => Self::Yes,
        }
    }
}

fn value(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn fits_database(names: &[Name], database: &str, user: &str) -> Fit {
    any(names.iter().map(|name| match name.keyword() {
        Some("all") => Fit::Yes,
        Some("sameuser") => yes(database == user),
        Some("samerole" | "samegroup") => Fit::Maybe,
        // Replication connections, and no database of that name.
        Some("replication") => Fit::No,
        _ => name.is(database),
    }))
}

fn fits_user(names: &[Name], user: &str) -> Fit {
    any(names.iter().map(|name| match name.keyword() {
        Some("all") => Fit::Yes,
        Some(role) if role.starts_with('+') => Fit::Maybe,
        _ => name.is(user),
    }))
}

impl Name {
    fn keyword(&self) -> Option<&str> {
        (!self.is_quoted).then_some(&*self.text)
    }

    /// `/pattern` is a regular expression and `@file` a list elsewhere: neither is followed.
    fn is(&self, wanted: &str) -> Fit {
        if self
            .keyword()
            .is_some_and(|text| text.starts_with(['/', '@']))
        {
            return Fit::Maybe;
        }
        yes(self.text == wanted)
    }
}

fn yes(is_so: bool) -> Fit {
    if is_so { Fit::Yes } else { Fit::No }
}

fn any(fits: impl Iterator<Item = Fit>) -> Fit {
    fits.fold(Fit::No, |best, fit| match (best, fit) {
        (Fit::Yes, _) | (_, Fit::Yes) => Fit::Yes,
        (Fit::Maybe, _) | (_, Fit::Maybe) => Fit::Maybe,
        _ => Fit::No,
    })
}

fn line_of(number: u32, words: &[Word]) -> Option<HbaLine> {
    let [kind, databases, users, rest @ ..] = words else {
        return None;
    };
    let rest: Vec<&str> = rest.iter().map(|word| one(word)).collect::<Option<_>>()?;
    let kind = one(kind)?;
    let (address, mask, method) = match (kind, &rest[..]) {
        ("local", [method, ..]) => (None, None, method),
        (
            "host" | "hostssl" | "hostnossl" | "hostgssenc" | "hostnogssenc",
            [address, rest @ ..],
        ) => {
            // The mask may stand in a column of its own.
            let has_mask = !address.contains('/') && address.parse::<IpAddr>().is_ok();
            match (has_mask, rest) {
                (true, [mask, method, ..]) => (Some(*address), Some(*mask), method),
                (false, [method, ..]) => (Some(*address), None, method),
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(HbaLine {
        number,
        kind: kind.to_owned(),
        databases: databases.clone(),
        users: users.clone(),
        address: address.map(str::to_owned),
        mask: mask.map(str::to_owned),
        method: (*method).to_owned(),
    })
}

/// A word of one name.
fn one(word: &Word) -> Option<&str> {
    match &word[..] {
        [name] => Some(&name.text),
        _ => None,
    }
}

/// The words of a line: by white space, but for what is in double quotes; `#` begins a comment.
fn words(line: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut name = Name::default();
    let mut is_open = false;
    // After a comma the list goes on, also behind white space.
    let mut goes_on = false;
    let mut end = |name: &mut Name, goes_on: bool| {
        let name = std::mem::take(name);
        if name.text.is_empty() && !name.is_quoted {
            return;
        }
        match words.last_mut() {
            Some(word) if goes_on => word.push(name),
            _ => words.push(vec![name]),
        }
    };
    for c in line.chars() {
        match c {
            '"' => {
                is_open = !is_open;
                name.is_quoted = true;
            }
            '#' if !is_open => break,
            ',' if !is_open => {
                end(&mut name, goes_on);
                goes_on = true;
            }
            c if c.is_whitespace() && !is_open => {
                let is_name = !name.text.is_empty() || name.is_quoted;
                end(&mut name, goes_on);
                goes_on &= !is_name;
            }
            c => name.text.push(c),
        }
    }
    end(&mut name, goes_on);
    words
}

const TOPIC: &str = "pg_hba.conf";

/// Which line lets the account in over the socket, and how that differs from TCP. `tcp` is the address
/// that the client comes from today, `system_user` the name of the user it runs as.
pub fn postgres_rules(
    hba: &Hba,
    database: &str,
    user: &str,
    tcp: IpAddr,
    system_user: &str,
    how: &str,
) -> Point {
    let point = |outcome, what: String| Point::new(TOPIC, outcome, what, how);
    let wanted = format!("local  {database}  {user}  scram-sha-256");
    let add = format!("put `{wanted}` above the other local lines, then SELECT pg_reload_conf()");
    let (today, _) = hba.decides(database, user, Some(tcp));
    let (local, is_unsure) = hba.decides(database, user, None);
    let Some(local) = local else {
        let what = format!("no local line is for user `{user}` and database `{database}`");
        let outcome = if is_unsure {
            Outcome::Unknown
        } else {
            Outcome::Fail
        };
        return point(outcome, what).with_next(add);
    };
    let shown = local.shown();
    if is_unsure {
        let what = format!("{shown}, unless an earlier line with roles, patterns or files fits");
        return point(Outcome::Unknown, what);
    }
    match &*local.method {
        "reject" => point(Outcome::Fail, format!("the socket is refused by {shown}")).with_next(add),
        "peer" if system_user != user => point(
            Outcome::Fail,
            format!("{shown}: peer lets only the system user `{user}` in, and the client runs as `{system_user}`"),
        )
        .with_next(add),
        "peer" => point(Outcome::Pass, format!("{shown}: the client runs as `{user}`")),
        "trust" => point(
            Outcome::Note,
            format!("{shown}: everybody on this machine who reaches the socket is `{user}` without a password"),
        )
        .with_next(add),
        method => {
            let today = today.map_or_else(|| "no line".to_owned(), HbaLine::shown);
            point(Outcome::Pass, format!("{shown} (today {today}): {method}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "
# comment
local   all             postgres                                peer
local   all             all                                     peer
host    all             all             127.0.0.1/32            scram-sha-256
host    all             all             ::1/128                 scram-sha-256
local   replication     all                                     peer
";

    #[track_caller]
    fn check(text: &str, user: &str, system_user: &str, outcome: Outcome, words: &str) {
        let tcp = IpAddr::from([127, 0, 0, 1]);
        let point = postgres_rules(&Hba::parse(text), "shop", user, tcp, system_user, "read");
        assert_eq!(point.outcome, outcome, "{point:?}");
        assert!(format!("{point:?}").contains(words), "{words} in {point:?}");
    }

    #[test]
    fn debians_own_file_lets_only_the_user_of_the_same_name_in() {
        check(
            DEBIAN,
            "app",
            "www-data",
            Outcome::Fail,
            "line 4: local all all peer",
        );
        check(DEBIAN, "app", "app", Outcome::Pass, "runs as `app`");
        check(
            DEBIAN,
            "app",
            "www-data",
            Outcome::Fail,
            "local  shop  app  scram-sha-256",
        );
    }

    #[test]
    fn the_first_line_that_fits_decides() {
        let text = "local shop app scram-sha-256\nlocal all all reject\n";
        check(
            text,
            "app",
            "www-data",
            Outcome::Pass,
            "line 1: local shop app scram-sha-256",
        );
        check(
            text,
            "other",
            "www-data",
            Outcome::Fail,
            "refused by line 2",
        );
        check(
            "local all all trust",
            "app",
            "x",
            Outcome::Note,
            "without a password",
        );
        check(
            "host all all 127.0.0.1/32 md5",
            "app",
            "x",
            Outcome::Fail,
            "no local line",
        );
        check("local shop \"a b\" md5", "a b", "x", Outcome::Pass, "md5");
        check(
            "local all \\\n app, b md5",
            "b",
            "x",
            Outcome::Pass,
            "local all app,b md5",
        );
        // In quotes it is a database of that name.
        check(
            "local \"all\" app md5",
            "app",
            "x",
            Outcome::Fail,
            "no local line",
        );
    }

    #[test]
    fn lines_with_roles_patterns_or_files_leave_it_open() {
        let text = "local all +staff peer\nlocal all all scram-sha-256";
        check(text, "app", "x", Outcome::Unknown, "unless an earlier line");
        check(
            "local all /^app md5",
            "app",
            "x",
            Outcome::Unknown,
            "no local line",
        );
    }

    #[test]
    fn networks_and_masks_are_compared_by_their_bits() {
        let fits = |line: &str, address: &str| {
            let hba = Hba::parse(line);
            let (found, _) = hba.decides("d", "u", Some(address.parse().unwrap()));
            found.is_some()
        };
        assert!(fits("host all all 127.0.0.0/8 md5", "127.9.9.9"));
        assert!(fits(
            "host all all 127.0.0.1 255.255.255.255 md5",
            "127.0.0.1"
        ));
        assert!(!fits(
            "host all all 127.0.0.1 255.255.255.255 md5",
            "127.0.0.2"
        ));
        assert!(fits("host all all ::1/128 md5", "::1"));
        assert!(!fits("host all all 0.0.0.0/0 md5", "::1"));
        assert!(fits("host all all 0.0.0.0/0 md5", "10.0.0.1"));
        assert!(fits("host all all localhost md5", "127.0.0.1"));
        assert!(!fits("hostssl all all 127.0.0.1/32 md5", "127.0.0.1"));
    }

    #[test]
    fn what_is_not_understood_is_counted() {
        let hba = Hba::parse("include other.conf\nlocal all\nhost all all 10.0.0.1\n");
        assert_eq!((hba.lines.len(), hba.n_unread), (0, 3));
    }
}
