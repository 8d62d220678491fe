//! The workloads by their names: what each name means on a server.
//!
//! `catalogue` has the names, `sending` checks the options, and `fill` makes the data.

mod catalogue;
mod fill;
mod sending;

use crate::servers::dataset;
use looptax_bench::path::{Collection, Oltp, SitePage, TPCB_ACCOUNTS, Workload, system_row};
use looptax_model::dsn::Protocol;
use looptax_model::failure::Failure;
use looptax_wire::site;

use crate::spec::Requests;
pub use catalogue::list;
use catalogue::unknown;
pub(crate) use fill::fill;

/// Default size of a list's element, in bytes. The element is small because a list grows with every request.
const ELEMENT_BYTES: usize = 3;

/// Default size of a dumped value, in bytes; values of this size are commonly called large.
const DUMPED_VALUE_BYTES: usize = 1 << 20;
/// Size of a row of sysbench's table in bytes, as the sum of its columns: two numbers, and 120 and 60 characters.
const DUMPED_ROW_BYTES: u64 = 188;

/// Default size of a value, in bytes.
pub(crate) const VALUE_BYTES: usize = dataset::KEY_VALUE_BYTES;

/// Where the data of a workload are on a server.
pub(crate) struct Place {
    /// The prefix of a table's name: empty, or a schema or database with its dot.
    pub schema: String,
    pub prefix: String,
    /// Lifetime of written keys in seconds; `None` if they do not expire.
    pub ttl_s: Option<u32>,
    pub rows: u32,
    /// Whether the pages are looptax's own pages, and not those of another user's application.
    pub has_own_site: bool,
}

impl Place {
    pub(crate) fn private(rows: u32) -> Self {
        Self { schema: String::new(), prefix: dataset::KEY_PREFIX.to_owned(), ttl_s: None, rows, has_own_site: true }
    }

    fn table(&self) -> String {
        format!("{}{}", self.schema, dataset::TABLE)
    }
}

/// Returns the name of a private server's default workload.
pub(crate) fn default_word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Mysql | Protocol::Postgres => "point-select",
        Protocol::Redis | Protocol::Memcached => "get",
        Protocol::Mongodb => "find-one",
        Protocol::Fastcgi | Protocol::Http => "hello",
        Protocol::Echo => "ping",
    }
}

/// Returns the workload that a name means on a server.
///
/// # Errors
/// A usage failure if the protocol does not have this workload, or if it cannot be sent in the requested way.
pub(crate) fn make(protocol: Protocol, requests: &Requests, place: &Place) -> Result<Workload, Failure> {
    let word = requests.workload.as_deref();
    let word = word.unwrap_or(default_word(protocol));
    let workload = match protocol {
        Protocol::Mysql | Protocol::Postgres if word == "system-row" => {
            system_row(protocol).map(|sql| Workload::SystemRow { sql })
        }
        Protocol::Mysql | Protocol::Postgres => sql(word, place),
        Protocol::Redis => redis(word, requests, place)?,
        Protocol::Memcached => keyed(word, requests, place)?,
        Protocol::Mongodb => documents(word, place),
        Protocol::Fastcgi | Protocol::Http => page(word, place)?.map(Workload::Page),
        Protocol::Echo if word == "connect" => Some(Workload::Connect),
        Protocol::Echo => requests.echo.workload(word)?.map(Workload::Echo),
    };
    let workload = workload.ok_or_else(|| unknown(word, protocol))?;
    sending::check(&workload, protocol, requests)?;
    Ok(workload)
}

fn sql(word: &str, place: &Place) -> Option<Workload> {
    let table = place.table();
    let schema = place.schema.clone();
    Some(match word {
        "point-select" => Workload::PointSelect { table },
        "ping" => Workload::Ping,
        "connect" => Workload::Connect,
        "dump" => Workload::Dump { table, rows: u64::from(place.rows) },
        "tpcb" => Workload::Tpcb { schema, scale: scale(place.rows) },
        "select-only" => Workload::SelectOnly { schema },
        word if word.starts_with("script:") => {
            Workload::Script { files: word.trim_start_matches("script:").to_owned() }
        }
        word => Workload::Oltp { oltp: Oltp::ALL.into_iter().find(|oltp| oltp.name() == word)?, table },
    })
}

/// Returns a workload on documents, whose collection has the same name as sysbench's table.
fn documents(word: &str, place: &Place) -> Option<Workload> {
    let database = place.schema.strip_suffix('.');
    let collection = Collection { database: database.map(str::to_owned), name: dataset::TABLE.to_owned() };
    Some(match word {
        "ping" => Workload::Ping,
        "find-one" => Workload::FindOne { collection },
        "insert-one" => Workload::InsertOne { collection, value: dataset::value_for(0) },
        _ => return None,
    })
}

/// Returns a page of looptax's own site, or the page in a running server's URL.
fn page(word: &str, place: &Place) -> Result<Option<SitePage>, Failure> {
    let (name, size) = word.split_once(':').unwrap_or((word, ""));
    if !place.has_own_site {
        return Ok((word == site::SIZED).then_some(SitePage::Named));
    }
    let bytes = || {
        let bytes = size.parse().ok().filter(|bytes| *bytes <= site::MOST_BYTES);
        bytes.ok_or_else(|| {
            Failure::usage(
                format!("`{word}` contains no valid size"),
                format!(
                    "write the number of bytes after a colon, for example {name}:10000; at most {}",
                    site::MOST_BYTES
                ),
            )
        })
    };
    Ok(match name {
        site::HELLO if size.is_empty() => Some(SitePage::Hello),
        site::SIZED => Some(SitePage::Sized { bytes: bytes()? }),
        site::UPLOAD => Some(SitePage::Upload { bytes: bytes()? }),
        _ => None,
    })
}

pub(crate) fn scale(n_accounts: u32) -> u32 {
    n_accounts.div_ceil(TPCB_ACCOUNTS)
}

fn redis(word: &str, requests: &Requests, place: &Place) -> Result<Option<Workload>, Failure> {
    let prefix = &place.prefix;
    Ok(Some(match word {
        "incr" => Workload::Incr { prefix: format!("{prefix}counter:") },
        "lpush" => Workload::Lpush {
            prefix: format!("{prefix}list:"),
            value_bytes: requests.value_bytes.unwrap_or(ELEMENT_BYTES),
        },
        word => return keyed(word, requests, place),
    }))
}

/// Returns a workload that both Redis and memcached have.
fn keyed(word: &str, requests: &Requests, place: &Place) -> Result<Option<Workload>, Failure> {
    let prefix = place.prefix.clone();
    let ttl_s = place.ttl_s;
    let value_bytes = requests.value_bytes.unwrap_or(VALUE_BYTES);
    Ok(Some(match word {
        "get" => Workload::Get { prefix },
        "ping" => Workload::Ping,
        "connect" => Workload::Connect,
        "dump" => dump_values(requests, place),
        "set" => Workload::Set { prefix, value_bytes, ttl_s },
        word => match word.strip_prefix("mixed") {
            None => return Ok(None),
            Some(proportion) => {
                Workload::Mixed { reads_and_writes: reads_and_writes(proportion)?, prefix, value_bytes, ttl_s }
            }
        },
    }))
}

/// Returns a dump of large values. Together the values are as large as a table with `place.rows` rows.
fn dump_values(requests: &Requests, place: &Place) -> Workload {
    let value_bytes = requests.value_bytes.unwrap_or(DUMPED_VALUE_BYTES);
    let total_bytes = u64::from(place.rows) * DUMPED_ROW_BYTES;
    Workload::DumpValues {
        prefix: format!("{}dump:", place.prefix),
        n_keys: total_bytes.div_ceil(value_bytes.max(1) as u64).max(1),
        value_bytes,
    }
}

/// Parses `:9:1` (reads and writes); an empty text means half reads and half writes.
fn reads_and_writes(typed: &str) -> Result<[u32; 2], Failure> {
    let numbers: Option<Vec<u32>> = typed.split(':').skip(1).map(|number| number.parse().ok()).collect();
    match numbers.as_deref() {
        Some([]) if typed.is_empty() => Ok([1, 1]),
        Some(&[reads @ ..=1_000_000, writes @ ..=1_000_000]) if reads + writes > 0 => Ok([reads, writes]),
        _ => Err(Failure::usage(
            format!("`mixed{typed}` contains no valid proportion"),
            "pass the proportion of reads to writes, for example mixed:9:1",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, wanted: Option<[u32; 2]>) {
        assert_eq!(reads_and_writes(typed).ok(), wanted, "{typed}");
    }

    #[test]
    fn proportions_are_two_numbers_of_which_one_is_more_than_nothing() {
        check("", Some([1, 1]));
        check(":9:1", Some([9, 1]));
        check(":1:0", Some([1, 0]));
        check(":0:0", None);
        check(":9", None);
        check(":9:1:1", None);
        check(":a:b", None);
        check("9:1", None);
    }

    #[test]
    fn every_word_of_the_list_makes_a_workload() {
        let place = Place::private(1);
        for entry in catalogue::CATALOGUE {
            for protocol in entry.protocols {
                let requests = Requests {
                    workload: Some(entry.word.replace("R:W", "9:1").replace("BYTES", "10")),
                    ..Requests::default()
                };
                let workload = make(*protocol, &requests, &place);
                let workload = workload.unwrap_or_else(|_| panic!("{}", entry.word));
                assert!(entry.word.starts_with(workload.name()), "{}", entry.word);
            }
        }
    }
}
