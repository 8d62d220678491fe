//! The applications whose files are drawn: `clients/dialects/spellings.toml`.

use std::fs;

use anyhow::{Context, Result, bail};
use looptax_model::dsn::{Kind, Protocol};
use serde::Deserialize;

use super::escape::Escape;
use super::template::Template;
use crate::workspace;

const KNOWN: &str = "clients/dialects/spellings.toml";

/// One application and one of its files.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) protocol: Protocol,
    /// The program of `clients/dialects` that connects as it does.
    pub(crate) program: String,
    /// The path of the file, below the application's folder; empty if the text is the one that `check` takes itself.
    pub(crate) file: String,
    /// The files beside it.
    pub(crate) beside: Vec<String>,
    /// Its name for `--as`, when looptax asks whose file it is.
    pub(crate) application: String,
    pub(crate) quotes: Escape,
    pub(crate) template: Template,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    kind: String,
    program: String,
    file: String,
    #[serde(default)]
    beside: Vec<String>,
    #[serde(rename = "as")]
    application: String,
    quotes: Escape,
    text: String,
}

/// All of them, or those with these names or of these kinds.
pub(crate) fn subjects(names: &[String]) -> Result<Vec<Subject>> {
    #[derive(Deserialize)]
    struct Known {
        spelling: Vec<Row>,
    }
    let path = workspace::root()?.join(KNOWN);
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {KNOWN}"))?;
    let known: Known = toml::from_str(&text).with_context(|| format!("{KNOWN} is invalid"))?;
    let is_called = |it: &Row, name: &String| it.name == *name || it.kind == *name;
    if let Some(name) = names.iter().find(|name| !known.spelling.iter().any(|it| is_called(it, name))) {
        bail!("no spelling `{name}` in {KNOWN}");
    }
    let is_wanted = |it: &Row| names.is_empty() || names.iter().any(|name| is_called(it, name));
    known.spelling.into_iter().filter(is_wanted).map(Subject::new).collect()
}

impl Subject {
    fn new(row: Row) -> Result<Self> {
        let kind = Kind::ALL.into_iter().find(|it| it.name() == row.kind);
        let protocol = kind.and_then(Kind::protocol);
        let protocol = protocol.with_context(|| format!("{}: no kind `{}`", row.name, row.kind))?;
        let template = Template::parse(row.text.trim_start_matches('\n'));
        Ok(Self {
            protocol,
            template: template.with_context(|| format!("the text of {}", row.name))?,
            name: row.name,
            program: row.program,
            file: row.file,
            beside: row.beside,
            application: row.application,
            quotes: row.quotes,
        })
    }
}
