//! Apache: all files that it reads, by `apache2 -t -D DUMP_INCLUDES`, and the test of them.
//!
//! Debian's file wants variables that `apachectl` sets, so that one is asked where it lies beside the program and nothing
//! else was named at the start.

use std::fs;
use std::path::{Path, PathBuf};

use looptax_discover::Process;

use super::super::program::{Line, file_of, line, reload, said};
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
        let (program, mut words) = asked(master);
        words.extend(["-t", "-D", "DUMP_INCLUDES"].map(str::to_owned));
        let found = said(&program, words)?;
        let paths = { found.lines() }.filter_map(|it| it.split_once(") ").map(|it| it.1.trim()));
        let paths = paths.filter(|it| it.starts_with('/')).map(PathBuf::from);
        let text = |path: PathBuf| fs::read_to_string(&path).ok().map(|text| (path, text));
        Ok(paths.filter_map(text).collect())
    }

    fn is_serving(&self, _: &Process) -> bool {
        true
    }

    fn test(&self, master: &Process) -> Line {
        let (program, mut words) = asked(master);
        words.push("-t".to_owned());
        Line::from(line(&program, &words))
    }

    fn reload(&self, master: &Process) -> Result<Line, String> {
        Ok(reload(master, "USR1").into())
    }
}

/// What is run, and the options that the running one was started with.
fn asked(master: &Process) -> (PathBuf, Vec<String>) {
    let words = options(&master.arguments());
    let program = file_of(master);
    let control = program.parent().unwrap_or(Path::new("/")).join("apachectl");
    if !words.iter().any(|it| it == "-f") && control.is_file() {
        return (control, Vec::new());
    }
    (program, words)
}

fn options(arguments: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for pair in arguments.windows(2) {
        // That it stays before the terminal is for nothing but a start.
        let is_own = OPTIONS.contains(&&*pair[0]) && pair[1] != "FOREGROUND";
        if is_own {
            found.extend_from_slice(pair);
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
    }
}
