//! `looptax find` with whole stacks of real programs: the chains are compared with lists made by hand.
//!
//! Every page keeps its connections open until the test ends, so that a snapshot contains all of them. If a program is
//! not installed, its test is skipped with a message.

mod containers;
mod many;
mod passing;
mod stacks;

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;

use looptax_testkit::patience;
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::application::{Group, PATIENCE, Place, skip_without};

/// Configuration of nginx for one site: one worker, run by the user that starts it, with all its files in one folder.
const NGINX: &str = "\
daemon off;
worker_processes 1;
«account»
pid «folder»/nginx.pid;
error_log «folder»/log;
events {}
http {
  access_log off;
  client_body_temp_path «folder»/body;
  proxy_temp_path «folder»/proxy;
  fastcgi_temp_path «folder»/fastcgi;
  uwsgi_temp_path «folder»/uwsgi;
  scgi_temp_path «folder»/scgi;
  server {
    listen «listen»;
    fastcgi_read_timeout 600; proxy_read_timeout 600; uwsgi_read_timeout 600;
    location / { «upstream» }
  }
}
";

/// Starts nginx at an address; the directives `upstream` say where nginx passes requests on.
fn nginx(place: &Place, listen: &str, upstream: &str) -> Group {
    place.start("nginx", &nginx_words(place, listen, upstream))
}

/// Writes the configuration of nginx, and returns its arguments.
fn nginx_words(place: &Place, listen: &str, upstream: &str) -> [&'static str; 4] {
    let is_root = rustix::process::geteuid().is_root();
    let text = { NGINX.replace("«listen»", listen) }
        .replace("«upstream»", upstream)
        .replace("«account»", if is_root { "user root;" } else { "" });
    place.write(&[("nginx.conf", &text)]);
    ["-p", "«folder»", "-c", "«folder»/nginx.conf"]
}

/// Whether all these programs are on PATH; prints a message if one is missing.
fn are_there(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let missing = programs.iter().find(|it| !is_there(it));
    if let Some(program) = missing {
        skip_without(program);
    }
    missing.is_none()
}

/// Whether Python can load these modules; prints a message if not.
fn python_has(modules: &str) -> bool {
    let script = format!("import {modules}");
    let done = Command::new("/usr/bin/python3").args(["-c", &script]).output();
    let has = done.is_ok_and(|it| it.status.success());
    if !has {
        skip_without(&format!("Python with {modules}"));
    }
    has
}

/// Returns the connection of a visitor that has requested a page and has not received all of it.
fn visitor(at: SocketAddr) -> TcpStream {
    let mut stream = patience::wait_for("the web server", PATIENCE, || TcpStream::connect(at).ok());
    let ask = format!("GET /index.php HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
    stream.write_all(ask.as_bytes()).unwrap();
    stream
}

/// The pages of a site; dropping this value ends them.
struct Pages {
    done: PathBuf,
    folder: PathBuf,
}

impl Pages {
    /// Returns the pages of a place. Each page writes a file `up-…` into the folder as soon as it has all of its
    /// connections.
    fn of(place: &Place) -> Self {
        Self { done: place.path("done"), folder: place.scratch.work() }
    }

    /// Returns `n` visitors, each of which has requested a page that is running now. A visitor that gets an answer
    /// immediately came before the application had started, so the visitor comes again.
    #[track_caller]
    fn visitors(&self, at: SocketAddr, n: usize) -> Vec<TcpStream> {
        let mut visitors: Vec<TcpStream> = Vec::new();
        let are_up = patience::wait(PATIENCE, || {
            visitors.retain(|it| !is_answered(it));
            if visitors.len() < n {
                visitors.push(visitor(at));
            }
            (self.n_up() >= n).then_some(())
        });
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        assert!(are_up.is_some(), "{} of {n} pages are up\n{log}", self.n_up());
        visitors
    }

    fn n_up(&self) -> usize {
        let entries = std::fs::read_dir(&self.folder).unwrap().flatten();
        let names = entries.map(|it| it.file_name().to_string_lossy().into_owned());
        names.filter(|it| it.starts_with("up-")).count()
    }
}

/// Whether a part of the page has arrived, or the connection has ended.
fn is_answered(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let is_answered = stream.peek(&mut [0]).is_ok();
    stream.set_nonblocking(false).unwrap();
    is_answered
}

impl Drop for Pages {
    fn drop(&mut self) {
        std::fs::File::create(&self.done).ok();
    }
}

/// Returns the chains that begin at a process. Each hop is written like `nginx unix 2/1 php-fpm`: the number of
/// connections and of the processes that hold them. For a server the kind replaces the name of the program.
fn chains(found: &Value, first: u32) -> Vec<Vec<String>> {
    let all = found["chains"].as_array().unwrap().iter();
    let own = all.filter(|it| it["hops"][0]["client_pid"] == first);
    let mut chains: Vec<Vec<String>> = own.map(|it| hops(it, found)).collect();
    chains.sort();
    chains
}

fn hops(chain: &Value, found: &Value) -> Vec<String> {
    let hops = chain["hops"].as_array().unwrap().iter();
    hops.map(|hop| {
        format!(
            "{} {} {}/{} {}",
            name(found, hop["client_pid"].as_u64(), hop["client"].as_str()),
            hop["way"].as_str().unwrap(),
            hop["n_connections"],
            hop["n_processes"],
            name(found, hop["server_pid"].as_u64(), hop["server"].as_str()),
        )
    })
    .collect()
}

fn name(found: &Value, pid: Option<u64>, program: Option<&str>) -> String {
    let Some(pid) = pid else {
        return "?".to_owned();
    };
    let servers = found["servers"].as_array().unwrap();
    let kind = servers.iter().find(|it| it["pid"] == pid).map(|it| it["kind"].as_str().unwrap());
    match kind {
        Some("http") | None => program.unwrap().to_owned(),
        Some(kind) => kind.to_owned(),
    }
}

/// Repeats `find` until the chains match the list, since a proxy decides itself when it connects onward.
#[track_caller]
fn expect_chains(scratch: &Scratch, first: u32, expected: &[&[&str]]) -> Value {
    let mut seen = Vec::new();
    let mut last = Value::Null;
    let is_so = (0..20).any(|_| {
        last = crate::find::found(scratch);
        let chains = chains(&last, first);
        let is_so = chains == expected;
        if !seen.contains(&chains) {
            seen.push(chains);
        }
        is_so
    });
    let (notes, all, servers) = (&last["notes"], &last["chains"], &last["servers"]);
    assert!(
        is_so,
        "expected {expected:#?} from {first}, found one after another {seen:#?}\n{notes:#}\n{all:#}\n{servers:#}"
    );
    last
}

/// Lets every account search the site's folder and write there, because workers run as separate accounts.
fn open_folder(place: &Place) {
    give_all(&place.scratch.work());
}

fn give_all(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
}
