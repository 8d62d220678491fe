//! Tests one driver against one server: first all cases, then how the driver interprets a host.

use looptax_model::dsn::Kind;

use std::path::Path;

use anyhow::{Context, Result};

use super::case::{CASES, Case, PLAIN, WRONG};
use super::dialogue::{Answer, Job, Versions};
use super::driver::Driver;
use super::dsn::{self, Entry};
use super::judge;
use super::server::Server;

/// A connection whose text is kept with the proof. A test of looptax compares the kept text with the text that looptax
/// prints now, to find out whether the dialect has changed since the proof.
const SAMPLE_PASSWORD: &str = "p%40%2F%3A%25%3F%23%3B%24%27%22%5C%C3%BC";
const SAMPLE_SOCKET: &str = "/run/a b/.s.PGSQL.5432";

/// The texts that looptax prints for all dialects of a kind of server.
pub(crate) struct Printed {
    cases: Vec<(&'static Case, Vec<Entry>)>,
    /// The transport that looptax claims for each host, and for a text without a host.
    hosts: Vec<(Option<&'static str>, Vec<Entry>)>,
    samples: Vec<Entry>,
    wrong: Vec<Entry>,
}

impl Printed {
    pub(crate) fn by(looptax: &Path, server: &Server) -> Result<Self> {
        let kind = server.kind;
        let mut cases = Vec::new();
        for case in CASES {
            let path = server.path_for(case)?;
            cases.push((case, dsn::entries(looptax, &case.url(kind), &path)?));
        }
        let scheme = PLAIN.url(kind);
        let scheme = scheme.split(':').next().unwrap_or_default();
        let mut hosts = Vec::new();
        for host in [Some("localhost"), Some("127.0.0.1"), None] {
            let url = format!("{scheme}://{}/", host.unwrap_or_default());
            hosts.push((host, dsn::entries(looptax, &url, server.socket())?));
        }
        let url = format!("{scheme}://u%27%22%5C%C3%BC:{SAMPLE_PASSWORD}@localhost/7");
        let samples = dsn::entries(looptax, &url, Path::new(SAMPLE_SOCKET))?;
        let (url, path) = (WRONG.url(kind), server.path_for(&WRONG)?);
        let wrong = dsn::entries(looptax, &url, &path)?;
        Ok(Self { cases, hosts, samples, wrong })
    }
}

pub(crate) struct Trial {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) server: String,
    pub(crate) versions: Versions,
    pub(crate) n_connected: usize,
    /// Number of texts that do not work and that looptax itself reports as impossible.
    pub(crate) n_refused: usize,
    pub(crate) n_cases: usize,
    pub(crate) sample: String,
    /// Whether the server uses utf8mb4 by default. Some texts that looptax reports as impossible work with it, because
    /// they fail only with another character set of the server.
    has_utf8mb4: bool,
    objections: Vec<String>,
}

impl Trial {
    pub(crate) fn run(driver: &Driver, server: &Server, printed: &Printed) -> Result<Self> {
        let is_wanted = |case: &Case| {
            let counts_socket = driver.socket || server.kind == Kind::Memcached;
            // FerretDB does not accept a login without a password.
            let has_account = server.kind != Kind::Ferretdb || case.password.is_some();
            has_account && (!counts_socket || case.is_about_the_socket())
        };
        let mut cases = Vec::new();
        for (case, entries) in printed.cases.iter().filter(|(case, _)| is_wanted(case)) {
            let login = if driver.socket { &PLAIN } else { *case };
            cases.push((*case, login, dsn::named(entries, &driver.name)?));
        }
        let mut jobs: Vec<Job> = cases.iter().map(|(_, login, entry)| job(server, login, entry.text.clone())).collect();
        // If a server accepts a wrong password, a login with the right password proves nothing.
        let wrong = dsn::named(&printed.wrong, &driver.name)?;
        jobs.push(job(server, &WRONG, wrong.text.clone()));
        let mut hosts = Vec::new();
        for (host, entries) in &printed.hosts {
            if let Ok(text) = driver.plain(*host, server) {
                jobs.push(job(server, &PLAIN, text));
                hosts.push((*host, dsn::named(entries, &driver.name)?));
            }
        }
        let (versions, answers) =
            driver.ask(server, &jobs).with_context(|| format!("the driver of {}.{}", driver.kind, driver.name))?;
        let mut trial = Self {
            kind: driver.kind.clone(),
            name: driver.name.clone(),
            server: server.name(),
            versions,
            n_connected: 0,
            n_refused: 0,
            n_cases: cases.len(),
            sample: dsn::named(&printed.samples, &driver.name)?.text.clone(),
            has_utf8mb4: server.kind == Kind::Mysql,
            objections: Vec::new(),
        };
        let (of_cases, of_hosts) = answers.split_at(cases.len());
        for ((case, login, entry), answer) in cases.into_iter().zip(of_cases) {
            let objection = judge::objection(server.kind, login, answer);
            trial.judge(case.name, entry, objection);
        }
        let (of_wrong, of_hosts) = of_hosts.split_at(1);
        let is_let_in = judge::objection(server.kind, &WRONG, &of_wrong[0]).is_none();
        if is_let_in && server.kind != Kind::Memcached {
            trial.object("a wrong password works like the right one");
        }
        for ((host, entry), answer) in hosts.into_iter().zip(of_hosts) {
            trial.judge_host(server, host, entry, answer);
        }
        Ok(trial)
    }

    fn judge(&mut self, case: &str, entry: &Entry, objection: Option<String>) {
        match (objection, entry.cannot.is_empty()) {
            (None, true) => self.n_connected += 1,
            (None, false) if self.has_utf8mb4 => self.n_connected += 1,
            (Some(_), false) => self.n_refused += 1,
            (None, false) => self.object(&format!("{case}: works, though looptax says `{}`", entry.cannot.join("; "))),
            (Some(words), true) => self.object(&format!("{case}: {words}\n    {}", entry.text)),
        }
    }

    fn judge_host(&mut self, server: &Server, host: Option<&str>, entry: &Entry, answer: &Answer) {
        let claimed = entry.takes_now.as_str();
        let is_right = match judge::transport(server.kind, answer) {
            None => host.is_none() && claimed.starts_with("nothing"),
            Some(_) if claimed.starts_with("a socket if") => true,
            Some(transport) => {
                transport == claimed || (transport == "the socket" && claimed.ends_with("then the socket"))
            }
        };
        if !is_right {
            let host = host.unwrap_or("no host");
            self.object(&format!("{host} should mean {claimed}: {answer:?}"));
        }
    }

    fn object(&mut self, words: &str) {
        let objection =
            format!("{}.{} with {} on {}: {words}", self.kind, self.name, self.versions.driver, self.server);
        self.objections.push(objection);
    }

    /// Returns the results that disagree with the output of looptax.
    pub(crate) fn objections(&self) -> Vec<String> {
        self.objections.clone()
    }

    /// Returns whether every text works, or looptax reports that it does not.
    pub(crate) fn is_proved(&self) -> bool {
        self.objections.is_empty() && self.n_connected > 0
    }
}

fn job(server: &Server, case: &Case, text: String) -> Job {
    let owned = |part: Option<&str>| part.map(str::to_owned);
    Job {
        text,
        user: owned(case.user(server.kind)),
        password: owned(case.password(server.kind)),
        database: owned(case.database(server.kind)),
    }
}
