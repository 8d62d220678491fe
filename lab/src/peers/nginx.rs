//! A private nginx, with its own page or in front of PHP-FPM. It counts its requests itself (`stub_status`).

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use looptax_wire::site;
use tempfile::TempDir;

use super::counter::Counts;
use super::port::{free_port, is_listening};
use super::tool::Address;
use crate::servers::{Ours, wait_until};

/// The PHP-FPM from which nginx gets its pages.
pub(super) struct Upstream<'a> {
    /// The server's address; its database is the folder of the scripts.
    pub(super) at: &'a Address,
    pub(super) stays_open: bool,
}

/// A running nginx; it ends when this is dropped.
pub(super) struct Nginx {
    pub(super) port: u16,
    process: Ours,
    folder: TempDir,
    /// Number of our own requests for nginx's counts; each has its own connection.
    n_asked: u64,
}

impl Nginx {
    pub(super) fn start(upstream: Option<&Upstream<'_>>) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let port = free_port()?;
        let config = folder.path().join("nginx.conf");
        std::fs::write(&config, configuration(&folder, port, upstream)).context("cannot write nginx's settings")?;
        let mut command = Command::new("nginx");
        command.arg("-p").arg(folder.path()).arg("-c").arg(&config);
        command.args(["-e", "stderr", "-g", "daemon off;"]);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        let process = Ours::start(quiet)?;
        wait_until("nginx does not listen", || Ok(is_listening(port)))?;
        Ok(Self { port, process, folder, n_asked: 0 })
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.0.id()
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.folder.path().join("s.sock")
    }

    /// Returns nginx's counts without our own requests.
    pub(super) fn counts(&mut self) -> Result<Counts> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).context("nginx is not running")?;
        stream.write_all(b"GET /status HTTP/1.0\r\n\r\n").context("cannot ask nginx")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).context("nginx does not answer")?;
        self.n_asked += 1;
        let [accepted, requests] = read(&answer).with_context(|| format!("not a status of nginx: {answer}"))?;
        Ok(Counts { requests: Some(requests - self.n_asked), opened: Some(accepted - self.n_asked) })
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // If only the master process is killed, nginx's worker continues to run.
        let pid = rustix::process::Pid::from_child(&self.process.0);
        if rustix::process::kill_process(pid, rustix::process::Signal::TERM).is_ok() {
            self.process.0.wait().ok();
        }
    }
}

/// Parses the line after `server accepts handled requests`: accepted connections and requests.
fn read(status: &str) -> Option<[u64; 2]> {
    let line = status.split_once("server accepts handled requests")?.1.lines().nth(1)?;
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|it| it.parse().ok()).collect();
    Some([*numbers.first()?, *numbers.get(2)?])
}

fn configuration(folder: &TempDir, port: u16, upstream: Option<&Upstream<'_>>) -> String {
    let root = folder.path().display();
    let page = "x".repeat(site::HELLO_BYTES as usize);
    let [pools, locations] = upstream.map_or_else(<[String; 2]>::default, php);
    format!(
        "user root;
worker_processes 1;
worker_rlimit_nofile 8192;
pid {root}/pid;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {root}/body;
  proxy_temp_path {root}/proxy;
  fastcgi_temp_path {root}/fastcgi;
  uwsgi_temp_path {root}/uwsgi;
  scgi_temp_path {root}/scgi;
  keepalive_requests 1000000000;
{pools}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    listen unix:{root}/s.sock backlog=4096;
    location = /status {{ stub_status; }}
    location = /hello {{ return 200 \"{page}\"; }}
{locations}
  }}
}}
"
    )
}

/// Returns the upstreams, and the locations; the first folder of a location is the name of the arm.
fn php(upstream: &Upstream<'_>) -> [String; 2] {
    let at = upstream.at;
    let script = site::script(&at.database, site::HELLO);
    let ways = [("unix", format!("unix:{}", at.socket.display())), ("tcp", format!("127.0.0.1:{}", at.port))];
    let stays_open = if upstream.stays_open { "keepalive 512; keepalive_requests 1000000000;" } else { "" };
    let keep = if upstream.stays_open { "on" } else { "off" };
    let pools = ways.iter().map(|(way, pool)| format!("  upstream {way} {{ server {pool}; {stays_open} }}\n"));
    let locations = ways.iter().map(|(way, _)| {
        format!(
            "    location = /{way} {{ fastcgi_pass {way}; fastcgi_keep_conn {keep}; fastcgi_param REQUEST_METHOD GET; \
             fastcgi_param SCRIPT_FILENAME {script}; fastcgi_param SCRIPT_NAME /hello.php; }}\n"
        )
    });
    [pools.collect(), locations.collect()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_connections_and_requests() {
        let status = "Active connections: 1 \nserver accepts handled requests\n 291 291 7034 \nReading: 0 Writing: 1";
        assert_eq!(read(status), Some([291, 7034]));
        assert_eq!(read(""), None);
    }
}
