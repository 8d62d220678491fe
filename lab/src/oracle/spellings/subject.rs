//! The applications whose files are tested: `clients/dialects/spellings.toml`.

use std::fs;

use anyhow::{Context, Result, bail};
use looptax_model::dsn::{Kind, Protocol};
use serde::Deserialize;

use super::escape::Escape;
use super::template::Template;
use crate::workspace;

const KNOWN: &str = "clients/dialects/spellings.toml";

/// An application, and one of its files.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) protocol: Protocol,
    /// The program in `clients/dialects` that connects as the application does.
    pub(crate) program: String,
    /// The path of the file in the application's folder; empty if the text is passed to `check` as an argument.
    pub(crate) file: String,
    /// The other files in the application's folder.
    pub(crate) beside: Vec<String>,
    /// The application's name for `--as`, for files that several applications may read.
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

/// Returns all subjects, or those with these names or kinds.
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
