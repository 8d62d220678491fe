//! `--workload script:FILE`: reads and checks a user's own transaction, and runs it on each connection.

mod codec;
mod dry;

use std::io;
use std::path::Path;
use std::sync::Arc;

use looptax_bench::script::{Definition, Dialect, Script, ScriptError, ScriptSet, SetError, parse_spec};
use looptax_host::read;
use looptax_model::dsn::Protocol;
use looptax_model::failure::Failure;
use looptax_wire::Sent;

use crate::spec::Requests;
pub(crate) use codec::ScriptCodec;

/// The prefix of the value of `--workload`.
const WORD: &str = "script:";
/// Maximum size of a script in bytes; a larger file is probably not a script.
const MOST_BYTES: u64 = 1 << 20;

/// Reads the requested scripts; `None` if the workload does not consist of scripts.
///
/// # Errors
/// A usage failure with the file, line and column of the error.
pub(crate) fn read(protocol: Protocol, requests: &Requests) -> Result<Option<Arc<ScriptSet>>, Failure> {
    let Some(spec) = requests.workload.as_deref().and_then(|word| word.strip_prefix(WORD)) else {
        if requests.defined.is_empty() {
            return Ok(None);
        }
        return Err(Failure::usage(
            "--define sets variables of a script, but no script is given",
            "for example --workload script:my.sql --define n=5",
        ));
    };
    let dialect = match protocol {
        Protocol::Mysql => Dialect::Mysql,
        Protocol::Postgres => Dialect::Postgres,
        other => {
            return Err(Failure::usage(
                format!("scripts are SQL, which {} does not understand", other.name()),
                "use MySQL, MariaDB or PostgreSQL for a script",
            ));
        }
    };
    let definitions: Result<Vec<Definition>, SetError> =
        requests.defined.iter().map(|given| Definition::parse(given)).collect();
    let mut scripts = Vec::new();
    for weighted in parse_spec(spec).map_err(refused)? {
        let text = text_of(&weighted.file)?;
        let script = Script::parse(&weighted.file, &text, dialect).map_err(wrong)?;
        check_pipeline(&script, dialect, requests.sent).map_err(wrong)?;
        scripts.push((script, weighted.weight));
    }
    let set = ScriptSet::new(scripts, definitions.map_err(refused)?).map_err(refused)?;
    let set = Arc::new(set);
    dry::run(&set)?;
    Ok(Some(set))
}

fn text_of(file: &str) -> Result<String, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::usage(
            format!("cannot read the script `{file}`: {error}"),
            "pass a path as script:FILE, or several as script:a.sql@3,b.sql@1",
        )
    };
    read::text(Path::new(file), MOST_BYTES).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => unreadable(&"the file is larger than 1 MiB"),
        _ => unreadable(&error),
    })
}

fn check_pipeline(script: &Script, dialect: Dialect, sent: Sent) -> Result<(), ScriptError> {
    match (dialect, sent) {
        (Dialect::Mysql, _) => script.without_pipeline("MySQL has no pipelines"),
        (_, Sent::Text) => script.without_pipeline("--protocol text has no pipelines"),
        _ => Ok(()),
    }
}

fn wrong(error: ScriptError) -> Failure {
    refused(SetError::Script(error))
}

fn refused(error: SetError) -> Failure {
    let hint = error.hint();
    Failure::usage(error, hint.unwrap_or_else(|| "scripts use the script language of pgbench".to_owned()))
}
