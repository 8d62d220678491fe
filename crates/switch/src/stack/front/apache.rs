//! Apache: all files that it reads, by `apache2 -t -D DUMP_INCLUDES`, and the test of them.
//!
//! Debian's file wants variables that `apachectl` sets, so that one is asked where it lies beside the program and nothing
//! was named at the start; else the program itself, with the options and the variables of the running one.

use std::path::{Path, PathBuf};

use looptax_discover::Process;
use looptax_host::read;

use super::super::program::{Line, file_of, line, reload, said, said_like};
use super::known::{Files, FrontProgram};

/// Its options that have a word behind them and say which files it reads.
const OPTIONS: [&str; 5] = ["-f", "-d", "-D", "-c", "-C"];

/// Apache as Debian calls it, or as others do.
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

    fn files(&self, master: &Process) -> Result<Files, String> {
        let list = ["-t", "-D", "DUMP_INCLUDES"].map(str::to_owned);
        let found = match asked(master) {
            Asked::Control(program) => said(&program, list)?,
            Asked::Itself(program, words) => {
                said_like(master, &program, words.into_iter().chain(list))?
            }
        };
        let paths = { found.lines() }.filter_map(|it| it.split_once(") ").map(|it| it.1.trim()));
        let paths = paths.filter(|it| it.starts_with('/')).map(PathBuf::from);
        let text = |path: PathBuf| read::config(&path).ok().map(|text| (path, text));
        Ok(paths.filter_map(text).collect())
    }

    fn is_serving(&self, _: &Process) -> bool {
        true
    }

    fn test(&self, master: &Process) -> Line {
        let test = "-t".to_owned();
        match asked(master) {
            Asked::Control(program) => Line::from(line(&program, &[test])),
            Asked::Itself(program, mut words) => {
                words.push(test);
                Line {
                    text: line(&program, &words),
                    like: Some(master.clone()),
                }
            }
        }
    }

    fn reload(&self, master: &Process) -> Result<Line, String> {
        Ok(reload(master, "USR1").into())
    }
}

/// What is run.
enum Asked {
    Control(PathBuf),
    /// With the options that the running one was started with.
    Itself(PathBuf, Vec<String>),
}

fn asked(master: &Process) -> Asked {
    let words = options(&master.arguments());
    let program = file_of(master);
    let control = program.parent().unwrap_or(Path::new("/")).join("apachectl");
    if words.is_empty() && read::is_file(&control) {
        return Asked::Control(control);
    }
    Asked::Itself(program, words)
}

fn options(arguments: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Some(option) = OPTIONS.iter().find(|it| word.starts_with(**it)) else {
            continue;
        };
        // Its word may be in one with it: -DSSL.
        let value = match &word[option.len()..] {
            "" => words.next().map(|it| &**it),
            value => Some(value),
        };
        // That it stays before the terminal is for nothing but a start.
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
