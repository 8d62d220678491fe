//! The lab itself as a load generator, for requests that no other load generator sends over both transports: pages, and
//! memcached's `get`.
//!
//! Each connection has a thread, which waits for the answer before it sends the next request; or each request has its
//! own connection.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use looptax_model::dsn::Arm;
use serde_json::{Value, json};

use super::output::quantile;
use crate::peers::tool::{Ask, BOTH, Effort, Length, Report, Tool};
use crate::peers::work::Work;

/// The key that is requested from memcached.
pub(crate) const KEY: &str = "looptax_scratch_peers";

pub(crate) const OWN: Tool = Tool {
    name: "lab",
    install: "cargo build -p lab",
    version: || Ok(format!("lab {}", env!("CARGO_PKG_VERSION"))),
    command,
    read,
    length: Length::Requests,
    arms: BOTH,
    can_count: true,
    server: None,
};

/// The requests, and how they are sent.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The socket; without it, the port of 127.0.0.1
    #[arg(long)]
    socket: Option<PathBuf>,
    #[arg(long)]
    port: u16,
    /// A page by HTTP; without it, memcached's `get`
    #[arg(long)]
    page: Option<String>,
    #[arg(long)]
    connections: u32,
    #[arg(long)]
    requests: u64,
    /// Open a new connection for each request
    #[arg(long)]
    reconnects: bool,
}

fn command(ask: &Ask<'_>) -> Result<Command> {
    let Effort::Requests(n) = ask.effort else { bail!("the lab takes no length in seconds") };
    let itself = std::env::current_exe().context("cannot find itself")?;
    let mut command = Command::new(itself);
    command
        .args(["peers-ask", "--port", &ask.at.port.to_string()])
        .args(["--connections", &ask.connections.to_string()])
        .args(["--requests", &n.to_string()]);
    if ask.reconnects {
        command.arg("--reconnects");
    }
    // For PHP pages, the arm is the transport from nginx to PHP-FPM; the lab connects to nginx over TCP.
    let has_socket = ask.arm == Arm::Unix && ask.work != Work::PhpPage;
    if has_socket {
        command.arg("--socket").arg(&ask.at.socket);
    }
    match ask.work {
        Work::Cached => {}
        Work::Page => drop(command.args(["--page", "/hello"])),
        Work::PhpPage => drop(command.args(["--page", &format!("/{}", ask.arm)])),
        other => bail!("the lab does no {}", other.words()),
    }
    Ok(command)
}

fn read(report: &str, ask: &Ask<'_>) -> Result<Report> {
    let report: Value = serde_json::from_str(report).context("the lab prints no JSON")?;
    let number = |name: &str| report[name].as_f64().with_context(|| format!("the lab reports no {name}"));
    // For PHP pages, the lab's times do not belong to the transport that is compared; nginx measures that wait.
    let is_of_way = ask.work != Work::PhpPage;
    let (n_requests, seconds) = (number("n_requests")?, number("seconds")?);
    Ok(Report {
        n_requests: n_requests as u64,
        rate_per_s: n_requests / seconds,
        rates_1s: Vec::new(),
        p50_us: is_of_way.then(|| number("p50_us")).transpose()?,
        p99_us: is_of_way.then(|| number("p99_us")).transpose()?,
    })
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// Sends the requests, and prints the results as JSON.
pub(crate) fn run(options: &Options) -> Result<()> {
    let start = Instant::now();
    let each = (options.requests / u64::from(options.connections)).max(1);
    let mut times_us = thread::scope(|scope| {
        let workers: Vec<_> = (0..options.connections).map(|_| scope.spawn(|| work(options, each))).collect();
        let done = workers.into_iter().map(|it| it.join().expect("a worker does not panic"));
        done.collect::<Result<Vec<_>>>()
    })?
    .concat();
    let seconds = start.elapsed().as_secs_f64();
    times_us.sort_unstable_by(f64::total_cmp);
    let [p50_us, p99_us] = [0.5, 0.99].map(|it| quantile(&times_us, it));
    println!("{}", json!({"n_requests": times_us.len(), "seconds": seconds, "p50_us": p50_us, "p99_us": p99_us}));
    Ok(())
}

/// Sends the requests of one connection; returns their times in µs, without the time to connect.
fn work(options: &Options, n: u64) -> Result<Vec<f64>> {
    let question = match &options.page {
        Some(page) => format!("GET {page} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        None => format!("get {KEY}\r\n"),
    };
    let is_whole = if options.page.is_some() { is_whole_page } else { |answer: &[u8]| answer.ends_with(b"END\r\n") };
    let mut stream = connect(options)?;
    let mut times_us = Vec::with_capacity(n as usize);
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    for idx in 0..n {
        if options.reconnects && idx > 0 {
            drop(stream);
            stream = connect(options)?;
        }
        answer.clear();
        let start = Instant::now();
        stream.write_all(question.as_bytes()).context("cannot ask")?;
        while !is_whole(&answer) {
            let n_bytes = stream.read(&mut piece).context("no answer")?;
            if n_bytes == 0 {
                bail!("the answer is incomplete: {}", String::from_utf8_lossy(&answer));
            }
            answer.extend_from_slice(&piece[..n_bytes]);
        }
        times_us.push(start.elapsed().as_secs_f64() * 1e6);
        let is_right = if options.page.is_some() { answer.starts_with(b"HTTP/1.1 200") } else { answer.len() > 5 };
        if !is_right {
            bail!("not the requested answer: {}", String::from_utf8_lossy(&answer));
        }
    }
    Ok(times_us)
}

fn connect(options: &Options) -> Result<Box<dyn Stream>> {
    if let Some(path) = &options.socket {
        return Ok(Box::new(UnixStream::connect(path).context("cannot connect to the socket")?));
    }
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, options.port)).context("cannot connect to the port")?;
    stream.set_nodelay(true).context("cannot set an option")?;
    Ok(Box::new(stream))
}

/// Checks whether an answer is complete, by its length or its last chunk.
fn is_whole_page(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse::<usize>().ok());
    length.map_or_else(|| body.ends_with("0\r\n\r\n"), |length| body.len() >= length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_end_of_a_page() {
        assert!(is_whole_page(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"));
        assert!(!is_whole_page(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na"));
        assert!(is_whole_page(b"HTTP/1.1 200 OK\r\n\r\n2\r\nab\r\n0\r\n\r\n"));
        assert!(!is_whole_page(b"HTTP/1.1 200 OK\r\n"));
    }
}
