//! The command `dsn`: writes a connection over the socket in the form of each driver.

use std::path::Path;

use looptax_advise::{Dialect, Fields, MongodbOptions, dialects};
use looptax_host::discover::survey;
use looptax_model::dsn::{Address, Kind, MASK, Protocol, Secret, Unspoken, masked};
use looptax_model::failure::Failure;
use looptax_model::record::{Proved, Spelling, Takes};

use crate::diagnose::own_address;
use crate::diagnose::socket_of::{self, Near};
use crate::diagnose::unspoken;

#[derive(Debug)]
pub struct Spelled {
    /// One spelling for each requested dialect.
    pub spellings: Vec<Spelling>,
    /// The socket's path and how looptax found it, for a person.
    pub socket: String,
}

/// The options of the command `dsn`, apart from the address.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Dialects, by name or language; `all` means every dialect.
    pub dialects: &'a [String],
    pub socket: Option<&'a Path>,
    pub shows_password: bool,
}

/// Writes the address in each of the wanted dialects.
pub fn spell(address: &Address, wanted: Wanted<'_>) -> Result<Spelled, Failure> {
    let own = dialects_of(address.protocol.kind(), wanted.dialects)?;
    let survey = survey(None);
    let socket = socket_of::find(address, wanted.socket, Near::around_us(&survey))?;
    let options = options(address.options.as_ref(), false);
    let fields = Fields { options: options.kept, ..socket.fields(address, revealed(address.password.as_ref())) };
    let traps: Vec<String> = options.traps.into_iter().chain(left_out(address)).chain(conditions(address)).collect();
    let takes = |it: &Dialect| it.takes(address);
    Ok(Spelled { spellings: spellings(&own, &takes, (&fields, &traps), wanted), socket: socket.words })
}

/// Writes the address of a server whose protocol looptax does not speak, like [`spell`].
pub fn spell_unspoken(address: &Unspoken, wanted: Wanted<'_>) -> Result<Spelled, Failure> {
    let own = dialects_of(address.kind, wanted.dialects)?;
    let survey = survey(None);
    let socket = unspoken::find(address, wanted.socket, Near::around_us(&survey))?;
    let password = revealed(address.password.as_ref());
    let options = options(address.options.as_ref(), address.is_one_of_several);
    let fields = Fields { options: options.kept, ..unspoken::fields(&socket, address, password) };
    let takes = |it: &Dialect| match address.socket {
        Some(_) => Takes::Unix,
        None => it.takes_host(address.host.as_deref()),
    };
    Ok(Spelled { spellings: spellings(&own, &takes, (&fields, &options.traps), wanted), socket: socket.words })
}

/// Returns the parts of the address that the spellings do not contain.
fn left_out(address: &Address) -> Option<String> {
    // MongoDB's drivers share the same option names, so the spellings keep these options.
    let unread = if address.protocol == Protocol::Mongodb { &[][..] } else { &address.unread };
    // A password that is not percent-encoded may look like an option's name.
    let is_name = |it: &&String| it.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    let is_of_tls =
        |name: &str| { address.tls.iter().chain(&address.no_tls) }.any(|it| it.contains(&format!("{name}=")));
    let is_condition = |name: &str| address.conditions.iter().any(|it| it.written.starts_with(&format!("{name}=")));
    let names = unread.iter().filter(is_name).filter(|it| !is_of_tls(it) && !is_condition(it)).cloned();
    let tls = address.tls.iter().chain(&address.no_tls).filter(|it| !it.ends_with("://")).cloned();
    let names: Vec<String> = names.chain(tls).map(|it| format!("`{it}`")).collect();
    let n_hidden = unread.iter().filter(|it| !is_name(it)).count();
    let hidden = (n_hidden > 0).then(|| "a parameter that is not shown, because it may contain a password".to_owned());
    let all: Vec<String> = names.into_iter().chain(hidden).collect();
    (!all.is_empty()).then(|| {
        format!(
            "left out of this text: {}; if you need these parameters, write them in this driver's form",
            all.join(", ")
        )
    })
}

/// Returns a note about the conditions that libpq has to enforce, because a connection over a socket might not meet
/// them. `None` if the address has no such conditions.
fn conditions(address: &Address) -> Option<String> {
    let all: Vec<String> = address.conditions.iter().map(|it| format!("`{}`", it.written)).collect();
    let what = || {
        format!(
            "left out of this text: {}; with these parameters libpq may refuse the socket, and looptax check shows \
            which parameters libpq refuses",
            all.join(", ")
        )
    };
    (!all.is_empty()).then(what)
}

fn revealed(password: Option<&Secret>) -> Option<String> {
    password.map(|it| it.reveal().to_owned())
}

/// Parses the options of a `MongoDB` URL; other URLs do not have such options.
fn options(written: Option<&Secret>, is_one_of_several: bool) -> MongodbOptions {
    MongodbOptions::on_a_socket(written.map(Secret::reveal).unwrap_or_default(), is_one_of_several)
}

/// Returns the options with their secrets masked.
fn options_shown(options: &str) -> String {
    let shown = masked(&format!("?{options}"));
    shown.trim_start_matches('?').to_owned()
}

/// Writes the address in each dialect. `traps` are the warnings about the address, which apply to every dialect.
fn spellings(
    own: &[&'static Dialect],
    takes: &dyn Fn(&Dialect) -> Takes,
    (fields, traps): (&Fields, &[String]),
    wanted: Wanted<'_>,
) -> Vec<Spelling> {
    let shown = Fields {
        password: match &fields.password {
            Some(_) if !wanted.shows_password => Some(MASK.to_owned()),
            password => password.clone(),
        },
        options: match &fields.options {
            Some(options) if !wanted.shows_password => Some(options_shown(options)),
            options => options.clone(),
        },
        ..fields.clone()
    };
    let spellings = own.iter().map(|it| {
        let mut spelling = spelling(it, takes(it), fields, &shown);
        spelling.traps.splice(0..0, traps.iter().cloned());
        spelling
    });
    spellings.collect()
}

/// Returns the URL's host if it is another machine.
pub fn other_machine(host: Option<&str>) -> Option<&str> {
    let host = host.filter(|host| *host != "localhost")?;
    own_address(host).is_none().then_some(host)
}

/// Returns the requested dialects for this kind of server.
fn dialects_of(kind: Kind, wanted: &[String]) -> Result<Vec<&'static Dialect>, Failure> {
    let fitting: Vec<&Dialect> = dialects().iter().filter(|it| it.kind == kind).collect();
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
            format!("looptax does not know `{unknown}` for {kind}"),
            format!("languages: {}; by name: {}", languages.join(", "), names.join(", ")),
        ));
    }
    let is_wanted = |it: &&Dialect| wanted.iter().any(|word| it.is_called(word));
    Ok(fitting.into_iter().filter(is_wanted).collect())
}

/// Writes the address in one dialect. `fields` contains the real password, which decides whether the dialect can
/// express the address; `shown` may hide the password.
fn spelling(dialect: &Dialect, takes_now: Takes, fields: &Fields, shown: &Fields) -> Spelling {
    let text = dialect.text(shown);
    Spelling {
        name: dialect.name.clone(),
        language: dialect.language.clone(),
        place: dialect.place.clone(),
        // The mask must keep its stars, even in a dialect that writes a password's characters as %XX.
        text: text.replace("%2A%2A%2A%2A", MASK),
        takes_now,
        localhost: dialect.localhost,
        why: dialect.why.clone(),
        traps: dialect.traps_of(&text).cloned().collect(),
        cannot: dialect.cannot(fields).into_iter().map(str::to_owned).collect(),
        proved: dialect.proof().map(|it| Proved {
            driver: it.driver.clone(),
            language: it.language.clone(),
            date: it.date.clone(),
        }),
    }
}
