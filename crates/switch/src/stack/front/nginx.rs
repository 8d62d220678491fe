//! nginx: the master that reads a file, all files that it reads, its workers, the test of its files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use looptax_discover::Process;
use looptax_failure::Failure;

use super::program::{file_of, line, masters, workers};

/// What `nginx -T` writes before each file.
const HEAD: &str = "# configuration file ";
/// Its options that have a word behind them and say which files it reads.
const OPTIONS: [&str; 4] = ["-c", "-p", "-e", "-g"];

/// An nginx that runs.
#[derive(Debug)]
pub(super) struct Front {
    pub(super) master: Process,
    /// One of those that connect.
    pub(super) worker: Process,
    /// Every file that it reads, with its text.
    pub(super) files: Vec<(PathBuf, String)>,
}

/// Finds the one that reads this file.
///
/// # Errors
/// That none does, or that its files are wrong already.
pub(super) fn find(file: &Path) -> Result<Front, Failure> {
    let mut wrong = None;
    for master in masters(|it| it == "nginx") {
        let files = match dump(&master) {
            Ok(files) => files,
            Err(why) => {
                wrong = Some(why);
                continue;
            }
        };
        let is_it =
            |(path, _): &(PathBuf, String)| fs::canonicalize(path).is_ok_and(|it| it == file);
        if !files.iter().any(is_it) {
            continue;
        }
        let own = workers(&master).into_iter();
        let mut own = own.filter(|it| it.arguments().join(" ").contains("worker process"));
        let Some(worker) = own.next() else {
            return Err(Failure::usage(
                format!("nginx {} has no workers", master.pid),
                "look into its error log",
            ));
        };
        return Ok(Front {
            master,
            worker,
            files,
        });
    }
    let shown = file.display();
    Err(match wrong {
        Some(why) => Failure::usage(
            format!("nginx's files are wrong already, or not ours to read: {why}"),
            "run it as root, and mend them first: nginx -t",
        ),
        None => Failure::usage(
            format!("no nginx that runs here reads {shown}"),
            "start it, or name the file that it reads: nginx -T lists them",
        ),
    })
}

/// Whether others serve than before: those of before take no more requests.
pub(super) fn has_new_workers(master: &Process, before: &[Process]) -> bool {
    let is_old = |it: &Process| before.iter().any(|old| old.pid == it.pid);
    let all = workers(master).into_iter();
    let serving = all.filter(|it| {
        it.arguments()
            .join(" ")
            .trim_end()
            .ends_with("worker process")
    });
    let mut serving = serving.peekable();
    serving.peek().is_some() && serving.all(|it| !is_old(&it))
}

/// The line of a shell that tests the files of a master.
pub(super) fn test(master: &Process) -> String {
    let mut words = vec!["-t".to_owned(), "-q".to_owned()];
    words.extend(options(&master.arguments().join(" ")));
    line(&file_of(master), &words)
}

/// The options that it was started with, by what it shows in the place of its command line:
/// `nginx: master process /usr/sbin/nginx -c /etc/nginx/nginx.conf`.
fn options(shown: &str) -> Vec<String> {
    let words: Vec<&str> = shown.split_whitespace().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if !OPTIONS.contains(&words[at]) {
            at += 1;
            continue;
        }
        // A value of several words has lost its quotes: -g 'daemon off;'.
        let rest = &words[at + 1..];
        let n_words = rest.iter().position(|it| it.starts_with('-'));
        let value = &rest[..n_words.unwrap_or(rest.len())];
        found.extend([words[at].to_owned(), value.join(" ")]);
        at += 1 + value.len();
    }
    found
}

/// Every file that it reads now; why it would not, in its own words.
fn dump(master: &Process) -> Result<Vec<(PathBuf, String)>, String> {
    let output = Command::new(file_of(master))
        .args(["-T", "-q"])
        .args(options(&master.arguments().join(" ")))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(files(&String::from_utf8_lossy(&output.stdout)))
}

fn files(dump: &str) -> Vec<(PathBuf, String)> {
    let mut found: Vec<(PathBuf, String)> = Vec::new();
    for whole in dump.split_inclusive('\n') {
        let head = whole.strip_prefix(HEAD);
        let path = head.and_then(|it| it.trim_end().strip_suffix(':'));
        match (path, found.last_mut()) {
            (Some(path), _) => found.push((PathBuf::from(path), String::new())),
            (None, Some((_, text))) => text.push_str(whole),
            (None, None) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_a_master_are_those_that_say_what_it_reads() {
        let check =
            |shown: &str, expected: &[&str]| assert_eq!(options(shown), expected, "{shown}");
        check("nginx: master process /usr/sbin/nginx", &[]);
        check(
            "nginx: master process nginx -g daemon on; master_process on; -c /a.conf -p /b",
            &[
                "-g",
                "daemon on; master_process on;",
                "-c",
                "/a.conf",
                "-p",
                "/b",
            ],
        );
    }

    #[test]
    fn a_dump_is_taken_apart_into_its_files() {
        let found = files("# configuration file /a:\nx;\n\n# configuration file /b:\n# y\nz;\n");
        let expected = [("/a", "x;\n\n"), ("/b", "# y\nz;\n")];
        assert_eq!(
            found,
            expected.map(|(path, text)| (PathBuf::from(path), text.to_owned()))
        );
    }
}
