//! `dsn`: one connection over the socket, in each driver's own words.

use std::path::Path;

use looptax_advise::{Dialect, Fields, dialects};
use looptax_discover::survey;
use looptax_dsn::{Address, MASK};
use looptax_failure::Failure;
use looptax_record::{Proved, Spelling};

use crate::own_address;
use crate::socket_of::{self, Near};

/// The spellings of one address.
#[derive(Debug)]
pub struct Spelled {
    /// One for each dialect that was asked for.
    pub spellings: Vec<Spelling>,
    /// Which socket it is and how it was found, for a person.
    pub socket: String,
}

/// Spells the address for the dialects that `wanted` names, by name or language; `all` names every one.
pub fn spell(
    address: &Address,
    wanted: &[String],
    socket: Option<&Path>,
    shows_password: bool,
) -> Result<Spelled, Failure> {
    let wanted = dialects_of(address, wanted)?;
    let socket = socket_of::find(address, socket, Near::us(&survey(None).servers))?;
    let password = address.password.as_ref().map(|it| it.reveal().to_owned());
    let fields = socket.fields(address, password);
    let shown = Fields {
        password: match &fields.password {
            Some(_) if !shows_password => Some(MASK.to_owned()),
            password => password.clone(),
        },
        ..fields.clone()
    };
    let spellings = wanted
        .iter()
        .map(|it| spelling(it, address, &fields, &shown));
    Ok(Spelled {
        spellings: spellings.collect(),
        socket: socket.words,
    })
}

/// The URL's host where it is another machine.
pub fn other_machine(address: &Address) -> Option<&str> {
    let host = address
        .host
        .as_deref()
        .filter(|host| *host != "localhost")?;
    own_address(host).is_none().then_some(host)
}

/// The dialects that were asked for, of this product alone.
fn dialects_of(address: &Address, wanted: &[String]) -> Result<Vec<&'static Dialect>, Failure> {
    let fitting: Vec<&Dialect> = dialects()
        .iter()
        .filter(|it| it.kind == address.protocol)
        .collect();
    if wanted.iter().any(|word| word == "all") {
        return Ok(fitting);
    }
    let is_known = |word: &&String| fitting.iter().any(|it| it.is_called(word));
    if let Some(unknown) = wanted.iter().find(|word| !is_known(word)) {
        let names: Vec<&str> = fitting.iter().map(|it| &*it.name).collect();
        let mut languages: Vec<&str> = fitting.iter().map(|it| &*it.language).collect();
        languages.sort_unstable();
        languages.dedup();
        return Err(Failure::usage(
            format!(
                "nothing called `{unknown}` is known for {}",
                address.protocol
            ),
            format!(
                "languages: {}; by name: {}",
                languages.join(", "),
                names.join(", ")
            ),
        ));
    }
    let is_wanted = |it: &&Dialect| wanted.iter().any(|word| it.is_called(word));
    Ok(fitting.into_iter().filter(is_wanted).collect())
}

/// What cannot be written follows from the real password, which `shown` may hide.
fn spelling(dialect: &Dialect, address: &Address, fields: &Fields, shown: &Fields) -> Spelling {
    Spelling {
        name: dialect.name.clone(),
        language: dialect.language.clone(),
        place: dialect.place.clone(),
        // The stars are shown as they are, also where a password would be written as %XX.
        text: dialect.text(shown).replace("%2A%2A%2A%2A", MASK),
        takes_now: dialect.takes(address),
        localhost: dialect.localhost,
        why: dialect.why.clone(),
        traps: dialect.traps.clone(),
        cannot: dialect
            .cannot(fields)
            .into_iter()
            .map(str::to_owned)
            .collect(),
        proved: dialect.proof().map(|it| Proved {
            driver: it.driver.clone(),
            language: it.language.clone(),
            date: it.date.clone(),
        }),
    }
}
