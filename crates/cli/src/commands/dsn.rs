//! `dsn`: the same connection over the socket, in each driver's own words.

use std::fmt::Write;

use looptax_advise::{Dialect, Fields, dialects};
use looptax_diagnose::own_address;
use looptax_diagnose::socket_of::{self, Near, SocketOf};
use looptax_discover::survey;
use looptax_dsn::{Address, MASK};
use looptax_failure::Failure;
use looptax_report::terminal::cleaned;
use serde::Serialize;

use crate::args::DsnArgs;
use crate::failure::Exit;
use crate::terminal::{self, Terminal};

/// Runs `dsn`.
pub(crate) fn run(args: &DsnArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let address = Address::parse(&args.url).map_err(|error| {
        Failure::usage(
            error,
            "for example mysql://user@127.0.0.1:3306/db; what is no letter or digit in a password is written %XX",
        )
    })?;
    let wanted = wanted(args, &address)?;
    let socket = socket_of::find(
        &address,
        args.socket.as_deref(),
        Near::us(&survey(None).servers),
    )?;
    let fields = fields(&address, &socket);
    let answers: Vec<Answer> = wanted
        .iter()
        .map(|dialect| Answer::new(dialect, &address, &fields, args.show_password))
        .collect();
    if args.json {
        terminal::json(&answers)?;
        return Ok(Exit::Done);
    }
    let text = if args.explain {
        explained(&answers, &address)
    } else {
        elsewhere(&address) + &spelled(&answers, &socket)
    };
    terminal::data(&cleaned(&text, terminal.style()))?;
    Ok(Exit::Done)
}

/// A warning where the URL's host is another machine.
fn elsewhere(address: &Address) -> String {
    match address.host.as_deref().filter(|host| *host != "localhost") {
        Some(host) if own_address(host).is_none() => {
            format!(
                "beware: `{host}` is not this machine, and a Unix socket ends where the machine does\n"
            )
        }
        _ => String::new(),
    }
}

/// The dialects that were asked for, of this product alone.
fn wanted(args: &DsnArgs, address: &Address) -> Result<Vec<&'static Dialect>, Failure> {
    let fitting: Vec<&Dialect> = dialects()
        .iter()
        .filter(|it| it.kind == address.protocol)
        .collect();
    if args.wanted.iter().any(|word| word == "all") {
        return Ok(fitting);
    }
    let is_known = |word: &&String| fitting.iter().any(|it| it.is_called(word));
    if let Some(unknown) = args.wanted.iter().find(|word| !is_known(word)) {
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
    let is_wanted = |it: &&Dialect| args.wanted.iter().any(|word| it.is_called(word));
    Ok(fitting.into_iter().filter(is_wanted).collect())
}

fn fields(address: &Address, socket: &SocketOf) -> Fields {
    let password = address.password.as_ref().map(|it| it.reveal().to_owned());
    socket.fields(address, password)
}

/// The same with the password hidden.
fn hidden(fields: &Fields) -> Fields {
    Fields {
        password: fields.password.as_ref().map(|_| MASK.to_owned()),
        ..fields.clone()
    }
}

/// What is said for one dialect.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    name: &'a str,
    language: &'a str,
    place: &'a str,
    text: String,
    takes_now: &'static str,
    localhost: &'static str,
    why: &'a str,
    traps: &'a [String],
    /// Why the text is wrong for this connection.
    cannot: Vec<&'a str>,
    proved: Option<Proved<'a>>,
}

/// The driver that has connected with such texts, and when.
#[derive(Debug, Serialize)]
struct Proved<'a> {
    driver: &'a str,
    language: &'a str,
    date: &'a str,
}

impl<'a> Answer<'a> {
    fn new(dialect: &'a Dialect, address: &Address, fields: &Fields, shows_password: bool) -> Self {
        let shown = if shows_password {
            fields.clone()
        } else {
            hidden(fields)
        };
        Self {
            name: &dialect.name,
            language: &dialect.language,
            place: &dialect.place,
            // The stars are shown as they are, also where a password would be written as %XX.
            text: dialect.text(&shown).replace("%2A%2A%2A%2A", MASK),
            takes_now: dialect.takes(address).words(),
            localhost: dialect.localhost.words(),
            why: &dialect.why,
            traps: &dialect.traps,
            cannot: dialect.cannot(fields),
            proved: dialect.proof().map(|it| Proved {
                driver: &it.driver,
                language: &it.language,
                date: &it.date,
            }),
        }
    }
}

/// What to write, dialect by dialect.
fn spelled(answers: &[Answer<'_>], socket: &SocketOf) -> String {
    let mut text = format!("{}\n", socket.words);
    for answer in answers {
        let _ = write!(
            text,
            "\n{} ({}), in {}:\n",
            answer.name, answer.language, answer.place
        );
        for line in answer.text.lines() {
            let _ = writeln!(text, "    {line}");
        }
        for why in &answer.cannot {
            let _ = writeln!(text, "  does not work here: {why}");
        }
        let _ = writeln!(
            text,
            "  localhost means {}: {}",
            answer.localhost, answer.why
        );
        for trap in answer.traps {
            let _ = writeln!(text, "  beware: {trap}");
        }
        let _ = match &answer.proved {
            Some(proved) => writeln!(text, "  proved with {} on {}", proved.driver, proved.date),
            None => writeln!(text, "  not proved: no driver was tried with it"),
        };
    }
    text
}

/// Which transport each takes, and why.
fn explained(answers: &[Answer<'_>], address: &Address) -> String {
    let host = address.host.as_deref().unwrap_or("(none)");
    let mut text = format!("host {host}, port {}\n", address.port);
    let widest = |of: fn(&Answer<'_>) -> usize| answers.iter().map(of).max().unwrap_or(0);
    let name_columns = widest(|it| it.name.len() + it.language.len() + 3);
    let takes_columns = widest(|it| it.takes_now.len());
    for answer in answers {
        let name = format!("{} ({})", answer.name, answer.language);
        let _ = writeln!(
            text,
            "  {name:name_columns$}  {:takes_columns$}  {}",
            answer.takes_now, answer.why
        );
    }
    text
}
