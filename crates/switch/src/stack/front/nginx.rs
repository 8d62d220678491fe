//! Controls nginx: lists all files that it reads, with `nginx -T`, and tests them with the options of the running
//! process.

use std::path::PathBuf;

use looptax_host::discover::Process;
use looptax_host::program::Variables;
use looptax_model::failure::Failure;

use super::super::program::{reload, said};
use super::known::{Files, FrontProgram, number};
use crate::diagnose::check::Count;
use crate::line::{Line, Question};

/// The beginning of the line that `nginx -T` writes before each file.
const HEAD: &str = "# configuration file ";
/// The number of connections of a worker if nginx's files do not set it.
///
/// # Source
/// nginx.org, `worker_connections`.
const USUAL_CONNECTIONS: u32 = 512;
/// The options with a value that decide which files nginx reads.
const OPTIONS: [&str; 4] = ["-c", "-p", "-e", "-g"];

#[derive(Debug)]
pub(in crate::stack) struct Nginx;

impl FrontProgram for Nginx {
    fn name(&self) -> &'static str {
        "nginx"
    }

    fn title(&self) -> &'static str {
        "nginx"
    }

    fn applications(&self) -> &'static [&'static str] {
        &["nginx_fastcgi", "nginx_proxy", "nginx_uwsgi"]
    }

    fn files(&self, master: &Process) -> Result<Files, Failure> {
        said(self.title(), &question(master, "-T")).map(|it| files(&it))
    }

    fn is_serving(&self, worker: &Process) -> bool {
        let words = worker.arguments().join(" ");
        words.trim_end().ends_with("worker process")
    }

    /// A page also needs a connection to its client. Over HTTP/1.1 half of the connections lead to the upstream (31 of
    /// 64, seen with nginx 1.22.1 in front of a stopped pool), over HTTP/2 nearly all of them.
    fn at_once(&self, files: &Files, n_workers: u32) -> Option<Count> {
        let (n, place) = match number(files, "worker_connections") {
            Some((n, path)) => (n, format!(", {}", path.display())),
            None => (USUAL_CONNECTIONS, " (its default)".to_owned()),
        };
        let whose = match n_workers {
            1 => "of nginx's only worker".to_owned(),
            _ => format!("of each of {n_workers} workers of nginx"),
        };
        let words = format!("worker_connections {n}{place}, {whose}");
        Some(Count { n: n.saturating_mul(n_workers), words })
    }

    fn test(&self, master: &Process) -> Line {
        question(master, "-t").into()
    }

    fn reload(&self, master: &Process) -> Result<Line, String> {
        Ok(Line::from(&*reload(master, "HUP")))
    }
}

/// Returns a command that runs nginx's program with the options of the running process.
fn question(master: &Process, what: &str) -> Question {
    let words = [what, "-q"].map(str::to_owned).into_iter();
    Question {
        process: master.clone(),
        name: None,
        words: words.chain(options(&master.arguments().join(" "))).collect(),
        variables: Variables::None,
    }
}

/// Reads the options with which nginx was started, from the title that it shows in place of its command line: `nginx:
/// master process /usr/sbin/nginx -c /etc/nginx/nginx.conf`.
pub(in crate::stack) fn options(shown: &str) -> Vec<String> {
    let words: Vec<&str> = shown.split_whitespace().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if !OPTIONS.contains(&words[at]) {
            at += 1;
            continue;
        }
        // The title shows a value with several words without its quotes, as in `-g daemon off;`.
        let rest = &words[at + 1..];
        let n_words = rest.iter().position(|it| it.starts_with('-'));
        let value = &rest[..n_words.unwrap_or(rest.len())];
        found.extend([words[at].to_owned(), value.join(" ")]);
        at += 1 + value.len();
    }
    found
}

fn files(dump: &str) -> Files {
    let mut found = Files::new();
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
        let check = |shown: &str, expected: &[&str]| assert_eq!(options(shown), expected, "{shown}");
        check("nginx: master process /usr/sbin/nginx", &[]);
        check(
            "nginx: master process nginx -g daemon on; master_process on; -c /a.conf -p /b",
            &["-g", "daemon on; master_process on;", "-c", "/a.conf", "-p", "/b"],
        );
    }

    #[test]
    fn a_dump_is_taken_apart_into_its_files() {
        let found = files("# configuration file /a:\nx;\n\n# configuration file /b:\n# y\nz;\n");
        let expected = [("/a", "x;\n\n"), ("/b", "# y\nz;\n")];
        assert_eq!(found, expected.map(|(path, text)| (PathBuf::from(path), text.to_owned())));
    }
}
