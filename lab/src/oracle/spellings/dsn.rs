//! The texts that `looptax dsn` prints for each driver: tests them with every socket of the ground, and tests how a
//! driver interprets a host.
//!
//! `cargo lab dialects` tests awkward logins on real servers; this oracle tests all awkward paths.

use anyhow::{Context, Result};
use looptax_advise::{Dialect, Fields, Takes, dialects};
use looptax_model::dsn::{Kind, Protocol};

use super::claim::{self, Ending};
use super::driven::{Done, Driven};
use super::ground::{AWKWARD, Ground, NAME, OLD, Place, RIGHT};
use super::table::{Fault, FaultKind, Outcome};
use crate::dialects::dialogue::Job;
use crate::dialects::driver::Driver;

const USER: &str = "app";
const PASSWORD: &str = "secret";
/// Hosts in an ordinary connection; `None` for a text without a host.
const HOSTS: [Option<&str>; 4] = [None, Some("localhost"), Some("127.0.0.1"), Some(NAME)];

struct Trial<'a> {
    driver: &'a Driver,
    dialect: &'static Dialect,
    ground: Ground,
    driven: Driven,
    outcome: Outcome,
}

/// Tries one driver.
///
/// # Errors
/// If the driver's program does not start, or there is no such dialect.
pub(super) fn run(driver: &Driver) -> Result<Outcome> {
    let kind = Kind::ALL.into_iter().find(|it| it.name() == driver.kind).context("no such kind")?;
    let ground = Ground::of(kind.protocol().context("no driver supports it")?);
    let dialect = dialects().iter().find(|it| it.kind == kind && it.name == driver.name);
    let name = format!("{}.{}", driver.kind, driver.name);
    let driven = Driven::start(ground, &driver.program, &name, driver.each)?;
    let outcome = Outcome::new(&format!("dsn {name}"), driven.versions());
    let dialect = dialect.context("no such dialect")?;
    let mut trial = Trial { driver, dialect, ground, driven, outcome };
    for fields in all_fields(ground) {
        trial.socket(&fields)?;
    }
    for host in HOSTS {
        trial.host(host)?;
    }
    Ok(trial.outcome)
}

impl Trial<'_> {
    /// Checks that a text connects only over its socket, or that looptax reports that the text cannot be written.
    fn socket(&mut self, fields: &Fields) -> Result<()> {
        let text = self.dialect.text(fields);
        let cannot = self.dialect.cannot(fields);
        let done = self.driven.drive(&job(text.clone(), self.ground))?;
        let is_there = done.is_only(&claim::of_socket(fields.socket.as_ref()));
        let said = if cannot.is_empty() { fields.socket.clone() } else { format!("cannot: {}", cannot.join("; ")) };
        self.judge(is_there == cannot.is_empty(), text, said, &done);
        Ok(())
    }

    /// Checks that the driver interprets a host as looptax reports.
    fn host(&mut self, host: Option<&str>) -> Result<()> {
        let login = [USER, PASSWORD, database(self.ground).unwrap_or_default()];
        let Ok(text) = self.driver.text_for(host, self.ground.usual_port, login) else {
            return Ok(());
        };
        let done = self.driven.drive(&job(text.clone(), self.ground))?;
        let takes = self.dialect.takes_host(host);
        let is_right = match (takes, done.reached.first()) {
            (Takes::Nothing, first) => first.is_none(),
            (_, None) => false,
            (Takes::Unix, Some(first)) => matches!(first, Place::Socket(_)),
            (Takes::Probe, Some(_)) => true,
            (Takes::Tcp | Takes::TcpThenUnix, Some(first)) => {
                let mut places = Ground::addresses(host).into_iter().map(|ip| Place::Tcp(ip, self.ground.usual_port));
                places.any(|it| it == *first)
            }
        };
        self.judge(is_right, text, format!("{}: {}", host.unwrap_or("no host"), takes.words()), &done);
        Ok(())
    }

    fn judge(&mut self, is_right: bool, text: String, said: String, done: &Done) {
        self.outcome.count(&[if is_right { Ending::Right } else { Ending::False }], 0);
        if !is_right {
            let kind = if done.reached.is_empty() { FaultKind::Nowhere } else { FaultKind::Elsewhere };
            let (sign, edited) = (text.clone(), String::new());
            self.outcome.add(Fault { kind, text, said, done: done.words(), edited, sign, number: 0 });
        }
    }
}

fn database(ground: Ground) -> Option<&'static str> {
    match ground.protocol {
        Protocol::Memcached => None,
        Protocol::Redis => Some("3"),
        _ => Some("shop"),
    }
}

/// Returns the fields for every socket, of the servers at both ports.
fn all_fields(ground: Ground) -> Vec<Fields> {
    let fields = |socket: String, folder: &str, port: u16| Fields {
        user: has_user(ground).then(|| USER.to_owned()),
        password: (ground.protocol != Protocol::Memcached).then(|| PASSWORD.to_owned()),
        database: database(ground).map(str::to_owned),
        socket,
        folder: folder.to_owned(),
        port,
        options: None,
        page: None,
    };
    let mut all = Vec::new();
    for port in ground.ports() {
        for folder in [RIGHT, OLD].into_iter().chain(AWKWARD) {
            all.push(fields(ground.file_for(folder, port).display().to_string(), folder, port));
        }
        let name = ground.abstract_name();
        let file = match ground.protocol {
            Protocol::Postgres => ground.file_for(&name, port).display().to_string(),
            _ => name.clone(),
        };
        all.push(fields(file, &name, port));
    }
    all
}

fn has_user(ground: Ground) -> bool {
    !matches!(ground.protocol, Protocol::Redis | Protocol::Memcached)
}

fn job(text: String, ground: Ground) -> Job {
    Job {
        text,
        user: has_user(ground).then(|| USER.to_owned()),
        password: Some(PASSWORD.to_owned()),
        database: database(ground).map(str::to_owned),
    }
}
