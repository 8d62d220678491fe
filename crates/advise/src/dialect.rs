//! The table of dialects, and the facts in each row.

use std::sync::LazyLock;

use looptax_model::dsn::{Address, Kind};
use looptax_model::record::Takes;
use serde::Deserialize;

use crate::cannot::Cannot;
use crate::packed::{packed, unpack};
use crate::proof::{self, Proof};
use crate::template::{Fields, filled};

const TABLE: &[u8] = packed!("dialects");

/// How one driver, framework or application writes a connection over the socket.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialect {
    /// The name of the dialect: `mysqli`, `go-redis`, `wordpress`.
    pub name: String,
    pub language: String,
    pub kind: Kind,
    /// The place for the text: a call, a file or a setting.
    pub place: String,
    text: String,
    /// The transport that the driver uses for the host name `localhost`.
    pub localhost: Takes,
    nowhere: Option<Takes>,
    loopback: Option<Takes>,
    pub why: String,
    #[serde(default)]
    traps: Vec<String>,
    /// Values that the text cannot contain.
    #[serde(default)]
    cannot: Vec<Cannot>,
}

#[derive(Deserialize)]
struct Table {
    dialect: Vec<Dialect>,
}

/// All dialects, in the order in which they are shown.
pub fn dialects() -> &'static [Dialect] {
    static DIALECTS: LazyLock<Vec<Dialect>> = LazyLock::new(|| {
        let table: Table = unpack(TABLE);
        table.dialect
    });
    &DIALECTS
}

impl Dialect {
    /// The text to write at [`Dialect::place`].
    ///
    /// # Panics
    /// If the table has a mistake; a test finds such mistakes.
    pub fn text(&self, fields: &Fields) -> String {
        let text = filled(&self.text, fields);
        text.expect("a test fills in every template").trim_matches('\n').to_owned()
    }

    /// Returns the reasons why the text would be wrong with these fields; empty if it is right. `fields` must contain
    /// the real password.
    pub fn cannot(&self, fields: &Fields) -> Vec<&str> {
        let apply = self.cannot.iter().filter(|it| it.applies(fields));
        apply.map(Cannot::why).collect()
    }

    /// The warnings about a text, without each warning whose remedy (the words after `: add `) the text already
    /// contains.
    pub fn traps_of<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a String> {
        let is_open = |trap: &&String| {
            let added = trap.rsplit_once(": add ");
            added.is_none_or(|(_, what)| !text.contains(what))
        };
        self.traps.iter().filter(is_open)
    }

    /// The driver that has connected with the texts of this dialect; `None` if no driver was tried.
    pub fn proof(&self) -> Option<&'static Proof> {
        Proof::find(self.kind, &self.name, &self.text(&proof::sample()))
    }

    /// Whether `word` is the name or the language of the dialect.
    pub fn is_called(&self, word: &str) -> bool {
        let word = usual(word);
        self.name.eq_ignore_ascii_case(word) || self.language.eq_ignore_ascii_case(word)
    }

    /// The transport that the driver uses for this address.
    pub fn takes(&self, address: &Address) -> Takes {
        if address.socket.is_some() {
            return Takes::Unix;
        }
        self.takes_host(address.host.as_deref())
    }

    /// The transport that the driver uses for this host if the address names no socket.
    pub fn takes_host(&self, host: Option<&str>) -> Takes {
        match host {
            None => self.nowhere.unwrap_or(self.localhost),
            Some("localhost") => self.localhost,
            Some(host) if is_loopback(host) => self.loopback.unwrap_or(Takes::Tcp),
            Some(_) => Takes::Tcp,
        }
    }
}

/// Returns the table's word for a synonym.
fn usual(word: &str) -> &str {
    const OTHERS: [(&str, &str); 11] = [
        ("nodejs", "Node"),
        ("node.js", "Node"),
        ("js", "Node"),
        ("javascript", "Node"),
        ("golang", "Go"),
        ("dotnet", ".NET"),
        ("c#", ".NET"),
        ("psql", "libpq"),
        ("psycopg2", "psycopg"),
        ("psycopg3", "psycopg"),
        ("jdbc", "Java"),
    ];
    let other = OTHERS.iter().find(|(other, _)| other.eq_ignore_ascii_case(word));
    other.map_or(word, |(_, usual)| usual)
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_can_be_filled_with_everything_and_with_nothing() {
        let nothing = Fields::default();
        for dialect in dialects() {
            for fields in [&proof::sample(), &nothing] {
                let text = dialect.text(fields);
                assert!(!text.contains(['«', '»', '‹', '›']), "{}: {text}", dialect.name);
            }
        }
    }

    #[test]
    fn every_driver_of_mongodb_is_told_its_options_and_no_trap_that_they_end() {
        let fields = |options: &str| Fields {
            socket: "/s.sock".to_owned(),
            database: Some("d".to_owned()),
            options: Some(options.to_owned()),
            ..Fields::default()
        };
        let drivers = dialects().iter().filter(|it| it.kind == Kind::Mongodb);
        for dialect in drivers {
            let text = dialect.text(&fields("authSource=$external&appName=it's%20\"me\""));
            let query = "/d?authSource=%24external&appName=it%27s%20%22me%22";
            assert!(text.contains(query), "{text}");
            let n_traps = dialect.traps_of(&text).count();
            assert_eq!(n_traps, dialect.traps.len(), "{text}");
            let direct = dialect.text(&fields("directConnection=true"));
            let mut traps = dialect.traps_of(&direct);
            assert!(!traps.any(|it| it.contains("directConnection")), "{direct}");
        }
    }

    #[test]
    fn every_dialect_says_where_it_goes_and_why_and_has_a_name_of_its_own() {
        for (idx, dialect) in dialects().iter().enumerate() {
            assert!(!dialect.place.is_empty() && !dialect.why.is_empty(), "{}", dialect.name);
            let is_twin = |it: &Dialect| (&it.name, it.kind) == (&dialect.name, dialect.kind);
            assert!(!dialects()[..idx].iter().any(is_twin), "{} twice", dialect.name);
        }
    }

    #[test]
    fn a_dialect_is_known_by_what_people_call_it() {
        let named = |word: &str| dialects().iter().filter(|it| it.is_called(word)).count();
        for (word, same) in
            [("nodejs", "Node"), ("golang", "go"), ("C#", ".NET"), ("psql", "libpq"), ("psycopg2", "psycopg")]
        {
            assert!(named(word) > 0, "{word}");
            assert_eq!(named(word), named(same), "{word}");
        }
        assert_eq!(named("perl"), 0);
    }

    #[track_caller]
    fn check(url: &str, name: &str, expected: Takes) {
        let address = Address::parse(url).unwrap();
        let dialect = dialects().iter().find(|it| it.name == name && it.kind == address.protocol.kind());
        assert_eq!(dialect.unwrap().takes(&address), expected, "{name} {url}");
    }

    #[test]
    fn localhost_means_what_each_driver_makes_of_it() {
        check("mysql://u@localhost/d", "mysqli", Takes::Unix);
        check("mysql://u@localhost/d", "pymysql", Takes::Tcp);
        check("mysql://u@127.0.0.1/d", "mysqli", Takes::Tcp);
        check("mysql://u@127.0.0.1/d", "mysql-rs", Takes::TcpThenUnix);
        check("postgres://u@localhost/d", "psycopg", Takes::Tcp);
        check("postgres:///d", "psycopg", Takes::Unix);
        check("postgres:///d", "pgx", Takes::Probe);
        check("postgres:///d", "pg", Takes::Tcp);
        check("postgres:///d", "tokio-postgres", Takes::Nothing);
        check("postgres:///d?host=/run/postgresql", "pg", Takes::Unix);
    }
}
