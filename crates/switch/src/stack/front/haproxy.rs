//! Controls `HAProxy`: the files in its `-f` options, the test of these files, and the reload by its master, if there
//! is one.

use std::path::PathBuf;

use looptax_host::discover::Process;
use looptax_host::program::Variables;
use looptax_host::{kernel, read};
use looptax_model::failure::Failure;

use super::super::program::{reload, unread, workers};
use super::known::{Files, FrontProgram};
use crate::line::{Line, Question};
use crate::reload::reload_of_unit;

#[derive(Debug)]
pub(super) struct Haproxy;

impl FrontProgram for Haproxy {
    fn name(&self) -> &'static str {
        "haproxy"
    }

    fn title(&self) -> &'static str {
        "HAProxy"
    }

    fn applications(&self) -> &'static [&'static str] {
        &["haproxy_http", "haproxy_fastcgi"]
    }

    fn files(&self, master: &Process) -> Result<Files, Failure> {
        let folder = kernel::link(master.file("cwd")).unwrap_or_default();
        let mut found = Files::new();
        for named in named(master) {
            let path = folder.join(named);
            let mut paths = vec![path.clone()];
            if let Ok(entries) = read::list(&path) {
                paths = entries;
                paths.retain(|it| it.extension().is_some_and(|it| it == "cfg"));
            }
            for path in paths {
                let text = read::config(&path);
                let text = text.map_err(|error| unread(&path, &error))?;
                found.push((path, text));
            }
        }
        Ok(found)
    }

    fn is_serving(&self, worker: &Process) -> bool {
        worker.program_name() == self.name()
    }

    /// looptax may run the program of every `HAProxy`. A `HAProxy` without a master process runs as a separate user,
    /// and looptax runs the program as that user.
    fn is_ours(&self, _: &Process) -> bool {
        true
    }

    fn test(&self, master: &Process) -> Line {
        let mut words = vec!["-c".to_owned(), "-q".to_owned()];
        let folder = kernel::link(master.file("cwd")).unwrap_or_default();
        for named in named(master) {
            let path = folder.join(named).display().to_string();
            words.extend(["-f".to_owned(), path]);
        }
        let question = Question {
            process: master.clone(),
            name: None,
            words,
            // The master's own variables would make the program wait and read no file.
            variables: Variables::None,
        };
        question.into()
    }

    fn reload(&self, master: &Process) -> Result<Line, String> {
        if let Some(command) = reload_of_unit(master) {
            return Ok(Line::from(&*command));
        }
        if workers(master).iter().any(|it| self.is_serving(it)) {
            return Ok(Line::from(&*reload(master, "USR2")));
        }
        Err(format!(
            "HAProxy {} was started without -W or -Ws, so there is no master process that can reload the file",
            master.pid
        ))
    }
}

/// Returns `HAProxy`'s files and folders that are in its command line.
fn named(master: &Process) -> Vec<PathBuf> {
    let arguments = master.arguments();
    let mut is_file = false;
    let mut found = Vec::new();
    for word in &arguments[1.min(arguments.len())..] {
        if word.starts_with('-') {
            is_file = word == "-f" || word == "--";
        } else if is_file {
            found.push(PathBuf::from(word));
        }
    }
    found
}
