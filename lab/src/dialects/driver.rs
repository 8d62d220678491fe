//! The list of drivers, and a driver at work: it gets connection texts, and returns what the server reports about each
//! connection.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::dialogue::{Answer, Job, Versions};
use super::judge;
use super::program::{self, Program};
use super::server::Server;
use crate::workspace;

const KNOWN: &str = "clients/dialects/drivers.toml";
/// Time limit for one answer: long enough for a connection that reaches each time limit of its driver.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Driver {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) program: String,
    /// Whether the driver's text contains only the socket.
    #[serde(default)]
    pub(crate) socket: bool,
    #[serde(default)]
    pub(crate) each: bool,
    plain: String,
    nowhere: Option<String>,
}

/// Returns all drivers, or the named drivers; fails if a name is unknown.
pub(crate) fn drivers(names: &[String]) -> Result<Vec<Driver>> {
    #[derive(Deserialize)]
    struct Known {
        driver: Vec<Driver>,
    }
    let path = workspace::root()?.join(KNOWN);
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {KNOWN}"))?;
    let known: Known = toml::from_str(&text).with_context(|| format!("{KNOWN} is invalid"))?;
    let is_called = |driver: &Driver, name: &String| driver.name == *name || driver.kind == *name;
    if let Some(name) = names.iter().find(|name| !known.driver.iter().any(|it| is_called(it, name))) {
        bail!("no driver `{name}` in {KNOWN}");
    }
    let is_wanted = |it: &Driver| names.is_empty() || names.iter().any(|name| is_called(it, name));
    Ok(known.driver.into_iter().filter(is_wanted).collect())
}

impl Driver {
    /// Returns the text of an ordinary connection to a host; `None` leaves the host out.
    pub(crate) fn plain(&self, host: Option<&str>, server: &Server) -> Result<String> {
        let login = judge::plain_login(server);
        self.text_for(host, server.port(), [&login.user, &login.password, &login.database])
    }

    /// Returns the text of a connection to this host and port, with this user, password and database.
    pub(crate) fn text_for(&self, host: Option<&str>, port: u16, login: [&str; 3]) -> Result<String> {
        let (head, rest) = self.plain.split_once("[[").unwrap_or((&self.plain, ""));
        let text = match (rest.split_once("]]"), host) {
            (Some((inside, tail)), Some(host)) => {
                format!("{head}{}{tail}", inside.replace("localhost", host))
            }
            (Some((_, tail)), None) => match &self.nowhere {
                Some(text) => text.clone(),
                None => format!("{head}{tail}"),
            },
            (None, Some(host)) => self.plain.replace("localhost", host),
            (None, None) => bail!("it always names a host"),
        };
        let [user, password, database] = login;
        Ok(text
            .replace("{PORT}", &port.to_string())
            .replace("{USER}", user)
            .replace("{PASSWORD}", password)
            .replace("{DATABASE}", database))
    }

    /// Makes the driver connect with each text, in one process or in several.
    pub(crate) fn ask(&self, server: &Server, jobs: &[Job]) -> Result<(Versions, Vec<Answer>)> {
        if !self.each {
            return self.ask_at_once(server, jobs);
        }
        let mut found = None;
        let mut answers = Vec::new();
        for job in jobs {
            let (versions, answer) = self.ask_at_once(server, std::slice::from_ref(job))?;
            found = Some(versions);
            answers.extend(answer);
        }
        Ok((found.context("it got no question")?, answers))
    }

    fn ask_at_once(&self, server: &Server, jobs: &[Job]) -> Result<(Versions, Vec<Answer>)> {
        let mut program = Program::start(&mut self.command(server)?, PATIENCE)?;
        let mut answers = Vec::new();
        for job in jobs {
            match program.ask(job)? {
                Some(answer) => answers.push(answer),
                None => break,
            }
        }
        if answers.len() < jobs.len() {
            answers.resize(jobs.len(), Answer::Error(program.ended()));
        }
        Ok((program.versions.clone(), answers))
    }

    fn command(&self, server: &Server) -> Result<Command> {
        let mut command = program::command(&self.program, &format!("{}.{}", self.kind, self.name))?;
        command.env("DIALECT_QUERY", judge::query(server.kind)).env("DIALECT_SCRATCH", server.scratch());
        let socket = server.socket();
        match self.kind.as_str() {
            // The socket that the C libraries and PHP use if the text does not contain one.
            "mysql" => {
                command.env("MYSQL_UNIX_PORT", socket);
                command.env("DIALECT_DEFAULT_SOCKET", socket);
            }
            "redis" => {
                command.env("DIALECT_ADMINS", server.administrators());
            }
            _ => {}
        }
        Ok(command)
    }
}
