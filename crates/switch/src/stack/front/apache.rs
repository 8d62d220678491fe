//! Controls Apache: lists all files that it reads, with `apache2 -t -D DUMP_INCLUDES`, and tests these files.
//!
//! looptax runs the program with the options and the variables of the running process: Debian's main file needs the
//! variables that `apachectl` sets.

use std::path::PathBuf;

use looptax_host::discover::Process;
use looptax_host::program::Variables;
use looptax_host::read;
use looptax_model::failure::Failure;

use super::super::program::{reload, said};
use super::known::{Files, FrontProgram, number};
use crate::diagnose::check::Count;
use crate::line::{Line, Question};

/// The options with a value that decide which files Apache reads.
const OPTIONS: [&str; 5] = ["-f", "-d", "-D", "-c", "-C"];

/// Apache, under Debian's name for the program or the usual one.
#[derive(Debug)]
pub(super) struct Apache(pub(super) &'static str);

impl FrontProgram for Apache {
    fn name(&self) -> &'static str {
        self.0
    }

    fn title(&self) -> &'static str {
        "Apache"
    }

    fn applications(&self) -> &'static [&'static str] {
        &["apache_fastcgi", "apache_proxy", "apache_uwsgi"]
    }

    fn files(&self, master: &Process) -> Result<Files, Failure> {
        let found = said(self.title(), &question(master, &["-t", "-D", "DUMP_INCLUDES"]))?;
        let paths = { found.lines() }.filter_map(|it| it.split_once(") ").map(|it| it.1.trim()));
        let paths = paths.filter(|it| it.starts_with('/')).map(PathBuf::from);
        let text = |path: PathBuf| read::config(&path).ok().map(|text| (path, text));
        Ok(paths.filter_map(text).collect())
    }

    fn is_serving(&self, _: &Process) -> bool {
        true
    }

    /// Each worker has one connection to the upstream. `None` if Apache loads HTTP/2, whose streams have additional
    /// workers.
    fn at_once(&self, files: &Files, _: u32) -> Option<Count> {
        let has_streams = files.iter().any(|(_, text)| text.contains("http2_module"));
        let (n, path) = number(files, "MaxRequestWorkers").filter(|_| !has_streams)?;
        Some(Count { n, words: format!("MaxRequestWorkers of {}", path.display()) })
    }

    fn test(&self, master: &Process) -> Line {
        question(master, &["-t"]).into()
    }

    fn reload(&self, master: &Process) -> Result<Line, String> {
        Ok(Line::from(&*reload(master, "USR1")))
    }
}

/// Returns a command that runs Apache's program with the options of the running process.
fn question(master: &Process, what: &[&str]) -> Question {
    let mut words = options(&master.arguments());
    words.extend(what.iter().map(|it| (*it).to_owned()));
    Question { process: master.clone(), name: None, words, variables: Variables::Own(&["APACHE_"]) }
}

fn options(arguments: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Some(option) = OPTIONS.iter().find(|it| word.starts_with(**it)) else {
            continue;
        };
        // The value may be part of the same word, as in `-DSSL`.
        let value = match &word[option.len()..] {
            "" => words.next().map(|it| &**it),
            value => Some(value),
        };
        // An option to stay in the foreground is only needed for a start.
        if let Some(value) = value.filter(|it| *it != "FOREGROUND" && *it != "NO_DETACH") {
            found.extend([(*option).to_owned(), value.to_owned()]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_are_those_that_say_what_it_reads() {
        let words = "apache2 -D FOREGROUND -f /a.conf -k start -D SSL".split(' ');
        let words: Vec<String> = words.map(str::to_owned).collect();
        assert_eq!(options(&words), ["-f", "/a.conf", "-D", "SSL"]);
        let words = ["httpd", "-DFOREGROUND", "-d/srv/web", "-DSSL"].map(str::to_owned);
        assert_eq!(options(&words), ["-d", "/srv/web", "-D", "SSL"]);
    }
}
