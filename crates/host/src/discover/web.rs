//! Recognises the programs between a browser and a database by their names.
//!
//! Compares the process with lists of names. An application that answers HTTP has no known name: `upstreams` finds it
//! by the web server that is connected to it.

use looptax_model::dsn::Kind;

use crate::discover::process::Process;

/// Web servers, and proxies that speak HTTP.
const WEB_SERVERS: [&str; 12] = [
    "nginx",
    "openresty",
    "angie",
    "apache2",
    "httpd",
    "caddy",
    "haproxy",
    "lighttpd",
    "traefik",
    "envoy",
    "varnishd",
    "h2o",
];

/// Programs that pass connections on. Poolers that are also a kind of server are in the list of servers.
const PROXIES: [&str; 16] = [
    "docker-proxy",
    "rootlessport",
    "slirp4netns",
    "pasta",
    "pasta.avx2",
    "passt",
    "passt.avx2",
    "haproxy",
    "envoy",
    "mysqlrouter",
    "maxscale",
    "socat",
    "stunnel4",
    "pgcat",
    "odyssey",
    "twemproxy",
];

/// Servers that run an application behind a web server. They are recognised by the script or module with which they
/// were started.
const APPLICATION_SERVERS: [&str; 8] =
    ["gunicorn", "uvicorn", "hypercorn", "daphne", "waitress-serve", "waitress", "puma", "unicorn"];

/// The interpreters of such scripts; a version may follow their names.
const INTERPRETERS: [&str; 4] = ["python", "pypy", "ruby", "jruby"];

/// Whether a program with this name answers browsers or other web servers.
pub(crate) fn is_web_server(program: &str) -> bool {
    WEB_SERVERS.contains(&program)
}

/// Whether a program with this name passes connections on.
pub(crate) fn is_proxy(program: &str) -> bool {
    PROXIES.contains(&program)
}

/// Returns the name that people use for a process, such as `gunicorn` for an interpreter that runs Gunicorn.
pub fn known_as(process: &Process) -> String {
    application_server(process).map_or_else(|| process.program_name(), str::to_owned)
}

/// Whether a process uses only server addresses from files (its own files, or the files of the pages that it runs), and
/// no server address from its environment.
pub fn asks_by_its_files(process: &Process) -> bool {
    let program = process.program_name();
    let kind = Kind::of_program(&program).or_else(|| Kind::of_program(&process.name));
    let is_between = is_web_server(&program) || is_proxy(&program);
    is_between || kind.is_some_and(|it| it.is_pooler() || it == Kind::PhpFpm)
}

/// Returns the name of the application server that runs in a process, such as `gunicorn`, according to the script or
/// module with which the process was started.
pub(crate) fn application_server(process: &Process) -> Option<&'static str> {
    let program = process.program_name();
    if let Some(name) = named(&program).or_else(|| named(&process.name)) {
        return Some(name);
    }
    let is_interpreter = INTERPRETERS.iter().any(|it| program.starts_with(it));
    let words = is_interpreter.then(|| process.arguments())?;
    started_as(&words)
}

/// Returns the application server in an interpreter's command line: the script or module, or the title that the process
/// has set.
fn started_as(words: &[String]) -> Option<&'static str> {
    let title = words.first()?.split([' ', ':']).next()?;
    let script = words[1..].iter().find(|it| !it.starts_with('-'));
    let name = |word: &String| named(word.rsplit('/').next()?);
    named(title).or_else(|| script.and_then(name))
}

fn named(word: &str) -> Option<&'static str> {
    { APPLICATION_SERVERS.into_iter() }.find(|it| *it == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &[&str], expected: Option<&str>) {
        let words: Vec<String> = line.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(started_as(&words), expected, "{line:?}");
    }

    #[test]
    fn application_servers_are_known_by_script_module_and_title() {
        let python = "/usr/bin/python3";
        check(&[python, "/usr/bin/gunicorn", "-w", "2"], Some("gunicorn"));
        check(&[python, "-m", "uvicorn", "app:app"], Some("uvicorn"));
        check(&["gunicorn: worker [shop]"], Some("gunicorn"));
        check(&["puma: cluster worker 0: 77 [app]"], Some("puma"));
        check(&["puma 5.6.5 (tcp://127.0.0.1:3000) [app]"], Some("puma"));
        check(&["unicorn master -c unicorn.rb"], Some("unicorn"));
    }

    #[test]
    fn a_script_that_only_gets_such_a_name_is_none() {
        check(&["python3", "report.py", "gunicorn"], None);
        check(&["python3", "/srv/gunicorn/report.py"], None);
        check(&["python3"], None);
        check(&[], None);
    }
}
