//! Pages of a scripted web server: the requests that it received are compared with the results that the load reports.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use looptax_wire::http::Request;

use super::deal::Deal;
use super::*;
use crate::clock::now_ns;

/// A time limit that no page of these tests reaches. Tests of the time limit use a shorter one.
const PATIENCE: Duration = Duration::from_secs(60);
static GO_ON: AtomicBool = AtomicBool::new(false);

/// The server's reaction to a request.
enum Reply {
    Send(String),
    /// Sends these bytes, then closes the connection.
    Last(Vec<u8>),
    /// Sends nothing until the client gives up.
    Hang,
    /// Sends one byte at a time, slowly, until the client gives up.
    Drip,
}

fn page(body: &str) -> Reply {
    Reply::Send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

fn error(status: u16, body: &str) -> Reply {
    Reply::Send(format!("HTTP/1.1 {status} Oh\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

/// A web server that follows its script and records the requests.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server. `reply` gets the path, and how many requests the connection has had.
    fn start(reply: impl Fn(&str, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (log, over) = (Arc::clone(&asked), Arc::clone(&is_over));
        let thread = thread::spawn(move || {
            thread::scope(|scope| {
                for stream in listener.incoming() {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    let (stream, reply, log) = (stream.unwrap(), &reply, &log);
                    // A client that closes the connection in the middle of an answer is not an error for this server.
                    scope.spawn(move || serve(stream, reply, log).ok());
                }
            });
        });
        Self { address, asked, is_over, thread: Some(thread) }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns a load that requests pages of these paths with `n_clients` clients.
    fn load(&self, paths: &[&str], n_clients: usize, answer_limit: Duration) -> PageLoad {
        let opener: Arc<dyn PageOpener> = Arc::new(Opener(self.address, answer_limit));
        let plan = PageLoadPlan { seed: 7, n_clients, answer_limit };
        PageLoad::start(plan, pages(paths), &opener).unwrap()
    }
}

/// Waits until every connection has ended: a client that has ended must leave no connection open.
impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        TcpStream::connect(self.address).unwrap();
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || thread::panicking());
    }
}

fn serve(stream: TcpStream, reply: &impl Fn(&str, usize) -> Reply, log: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    for n_before in 0.. {
        let mut first = String::new();
        if reader.read_line(&mut first)? == 0 {
            return Ok(());
        }
        let path = first.split(' ').nth(1).unwrap().to_owned();
        let mut line = String::new();
        while reader.read_line(&mut line)? > 2 {
            line.clear();
        }
        log.lock().unwrap().push(path.clone());
        let stream = reader.get_mut();
        match reply(&path, n_before) {
            Reply::Send(text) => stream.write_all(text.as_bytes())?,
            Reply::Last(bytes) => return stream.write_all(&bytes),
            Reply::Hang => {}
            Reply::Drip => loop {
                stream.write_all(b"HTTP/1.1 103 Early\r\n\r\n")?;
                thread::sleep(Duration::from_millis(1));
            },
        }
    }
    Ok(())
}

struct Opener(SocketAddr, Duration);

impl PageOpener for Opener {
    fn open(&self, _address_idx: usize) -> io::Result<Box<dyn PageStream + Send>> {
        let stream = TcpStream::connect(self.0)?;
        stream.set_read_timeout(Some(self.1))?;
        Ok(Box::new(stream))
    }
}

fn pages(paths: &[&str]) -> Vec<Page> {
    let pages = paths.iter().map(|path| Page {
        request: Request::new("GET", "localhost", path, &[], b"").unwrap(),
        address_idx: 0,
        weight: 1,
        expected: None,
    });
    pages.collect()
}

fn closed(n_pages: usize) -> PageSlice {
    PageSlice { epoch: 0, rank: 0, n_pages, rate_per_s: None, inject: None }
}

fn failures(loaded: &PagesLoaded) -> Vec<(usize, FailureKind, u64, &str)> {
    { loaded.failures.iter() }.map(|failed| (failed.page_idx, failed.kind, failed.n, failed.words.as_str())).collect()
}

#[test]
fn the_server_sees_the_pages_of_the_deal_in_its_order() {
    let server = Server::start(|path, _| page(path));
    let paths = ["/a", "/bb", "/ccc"];
    let mut load = server.load(&paths, 1, PATIENCE);
    let first = load.slice(&closed(30), &GO_ON).unwrap();
    let deal = Deal::new(7, &closed(30), &pages(&paths));
    let dealt = std::iter::from_fn(|| deal.next()).map(|dealt| paths[dealt.page_idx].to_owned());
    assert_eq!(server.asked(), dealt.collect::<Vec<_>>());
    assert_eq!((first.n_opened, first.n_stale), (1, 0));
    assert_eq!(first.latencies_ns.len(), 30);
    assert!(first.latencies_ns.iter().sum::<u64>() <= first.active_ns);
    assert_eq!(first.lag_p99_ns, None);
    for (path, facts) in paths.iter().zip(&first.facts) {
        assert_eq!((facts.n_asked, facts.n_right), (10, 10));
        assert_eq!(facts.statuses, [(200, 10)]);
        assert_eq!(facts.body_bytes, Some([path.len() as u64; 2]));
        assert_eq!(facts.checksums.len(), 1);
    }
    // The connection is kept from slice to slice, and slices of the same rank request the same pages.
    let again = load.slice(&closed(30), &GO_ON).unwrap();
    assert_eq!(again.n_opened, 0);
    assert_eq!(server.asked()[30..], server.asked()[..30]);
    let other = PageSlice { rank: 1, ..closed(30) };
    load.slice(&other, &GO_ON).unwrap();
    assert_ne!(server.asked()[60..], server.asked()[..30]);
}

#[test]
fn all_clients_have_a_page_in_flight() {
    // The server answers only when it has four requests: with fewer in flight, the slice would never end.
    let (together, in_flight, most) = (Barrier::new(4), AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let server = Server::start(move |path, _| {
        seen.fetch_max(1 + in_flight.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
        together.wait();
        in_flight.fetch_sub(1, Ordering::SeqCst);
        page(path)
    });
    let mut load = server.load(&["/a", "/b"], 4, PATIENCE);
    let loaded = load.slice(&closed(40), &GO_ON).unwrap();
    assert_eq!((loaded.n_asked(), loaded.n_failed(), loaded.n_opened), (40, 0, 4));
    let mut seen = BTreeMap::new();
    for path in server.asked() {
        *seen.entry(path).or_insert(0) += 1;
    }
    assert_eq!(seen.into_values().collect::<Vec<_>>(), [20, 20]);
    assert_eq!(most.load(Ordering::SeqCst), 4);
}

#[test]
fn connections_are_opened_as_often_as_the_server_ends_them() {
    let server = Server::start(|_, _| {
        Reply::Last(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok".to_vec())
    });
    let loaded = server.load(&["/"], 2, PATIENCE).slice(&closed(20), &GO_ON);
    let loaded = loaded.unwrap();
    assert_eq!((loaded.n_opened, loaded.n_stale, loaded.n_failed()), (20, 0, 0));
}

#[test]
fn a_kept_connection_that_the_server_closed_is_no_failure() {
    let silently = |_: &str, _| Reply::Last(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec());
    let with_408 = |_: &str, n_before| match n_before {
        0 => page("ok"),
        _ => Reply::Last(b"HTTP/1.1 408 Late\r\nConnection: close\r\n\r\n".to_vec()),
    };
    for server in [Server::start(silently), Server::start(with_408)] {
        let mut load = server.load(&["/"], 1, PATIENCE);
        let loaded = load.slice(&closed(10), &GO_ON).unwrap();
        assert_eq!((loaded.n_opened, loaded.n_stale), (10, 9));
        assert_eq!((loaded.latencies_ns.len(), loaded.n_failed()), (10, 0));
        assert_eq!(loaded.facts[0].statuses, [(200, 10)]);
    }
}

#[test]
fn pages_that_are_not_right_are_counted_and_have_no_latency() {
    let server = Server::start(|path, _| match path {
        "/error" => error(500, "<h1>Oh no</h1> no database"),
        "/other" => error(404, "gone"),
        "/size" => page("a page of another size"),
        _ => page("right"),
    });
    let mut load = server.load(&["/ok", "/error", "/other", "/size"], 2, PATIENCE);
    // As long as no right answer is known, every answer except an error is right.
    let first = load.slice(&closed(40), &GO_ON).unwrap();
    assert_eq!(first.latencies_ns.len(), 20);
    for (page_idx, status, body_bytes) in [(0, 200, 4..=6), (2, 404, 4..=4), (3, 200, 1..=4)] {
        load.expect(page_idx, ExpectedPage { status, body_bytes });
    }
    let loaded = load.slice(&closed(40), &GO_ON).unwrap();
    assert_eq!(loaded.latencies_ns.len(), 20);
    let expected =
        [(1, FailureKind::Status, 10, "Oh no no database"), (3, FailureKind::Size, 10, "a page of another size")];
    assert_eq!(failures(&loaded), expected);
    let right: Vec<u64> = loaded.facts.iter().map(|facts| facts.n_right).collect();
    assert_eq!(right, [10, 0, 10, 0]);
    assert_eq!(loaded.facts[1].statuses, [(500, 10)]);
    assert_eq!(loaded.n_failed(), 20);
}

#[track_caller]
fn check_failures(server: &Server, paths: &[&str], limit: Duration, expected: &[FailureKind]) {
    let mut load = server.load(paths, 1, limit);
    let loaded = load.slice(&closed(paths.len()), &GO_ON).unwrap();
    let kinds: Vec<_> = loaded.failures.iter().map(|failed| failed.kind).collect();
    assert_eq!(kinds, expected, "{:?}", loaded.failures);
    assert_eq!(loaded.n_asked(), paths.len() as u64);
    assert_eq!(loaded.latencies_ns.len(), paths.len() - expected.len());
}

#[test]
fn whatever_comes_in_place_of_a_page_is_named() {
    let server = Server::start(|path, _| match path {
        "/closes" => Reply::Last(Vec::new()),
        "/cut" => Reply::Last(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec()),
        "/http2" => Reply::Last(b"\0\0\0\x04\0\0\0\0\0".to_vec()),
        "/tls" => Reply::Last(b"\x15\x03\x01\0\x02\x02\x28".to_vec()),
        "/smtp" => Reply::Last(b"220 mail\r\n".to_vec()),
        "/broken" => Reply::Last(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n".to_vec()),
        "/hangs" => Reply::Hang,
        "/drips" => Reply::Drip,
        _ => page("right"),
    });
    let paths = ["/closes", "/cut", "/http2", "/tls", "/smtp", "/broken", "/ok"];
    let expected = [
        FailureKind::Closed,
        FailureKind::Closed,
        FailureKind::Http2,
        FailureKind::Tls,
        FailureKind::NoHttp,
        FailureKind::Broken,
    ];
    check_failures(&server, &paths, PATIENCE, &expected);
    let late = Duration::from_millis(50);
    check_failures(&server, &["/hangs", "/drips"], late, &[FailureKind::Timeout; 2]);
}

#[test]
fn an_address_where_nobody_listens_is_named() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let opener: Arc<dyn PageOpener> = Arc::new(Opener(address, PATIENCE));
    let plan = PageLoadPlan { seed: 1, n_clients: 2, answer_limit: PATIENCE };
    let mut load = PageLoad::start(plan, pages(&["/"]), &opener).unwrap();
    let loaded = load.slice(&closed(6), &GO_ON).unwrap();
    assert_eq!(loaded.latencies_ns, [0; 0]);
    let [(0, FailureKind::Connect, 6, words)] = failures(&loaded)[..] else {
        panic!("{loaded:?}");
    };
    assert!(words.contains("refused"), "{words}");
}

#[test]
fn latencies_of_an_open_loop_count_from_when_pages_were_due() {
    let stalled_until = Arc::new(Mutex::new(0));
    let until = Arc::clone(&stalled_until);
    let server = Server::start(move |path, n_before| {
        if n_before == 0 {
            thread::sleep(Duration::from_millis(80));
            *until.lock().unwrap() = now_ns();
        }
        page(path)
    });
    let slice = PageSlice { rate_per_s: Some(1000.0), ..closed(30) };
    let loaded = server.load(&["/"], 1, PATIENCE).slice(&slice, &GO_ON);
    let loaded = loaded.unwrap();
    let deal = Deal::new(7, &slice, &pages(&["/"]));
    let due: Vec<u64> = std::iter::from_fn(|| deal.next()?.due_ns).collect();
    let stalled_until = *stalled_until.lock().unwrap();
    let mut n_stalled = 0;
    // With one client, the answers are in order.
    for (due_ns, latency_ns) in due.iter().zip(&loaded.latencies_ns) {
        let due_ns = loaded.start_ns + due_ns - due[0];
        if due_ns < stalled_until {
            n_stalled += 1;
            assert!(*latency_ns >= stalled_until - due_ns, "{latency_ns}");
        }
    }
    assert_eq!(loaded.latencies_ns.len(), 30);
    assert!(n_stalled > 5, "{n_stalled}");
    // The 99th percentile of 30 values is the largest value. The second page waited for the first page, and other pages
    // may have waited longer.
    let second_ns = loaded.start_ns + due[1] - due[0];
    assert!(loaded.lag_p99_ns.unwrap() >= stalled_until - second_ns);
    assert!(loaded.active_ns >= stalled_until - loaded.start_ns);
}

#[test]
fn what_is_injected_is_part_of_each_page_and_is_counted() {
    let server = Server::start(|path, _| page(path));
    let mut load = server.load(&["/"], 2, PATIENCE);
    let inject = Duration::from_millis(2);
    for time in [Duration::ZERO, inject] {
        let slice = PageSlice { inject: Some(time), ..closed(10) };
        let loaded = load.slice(&slice, &GO_ON).unwrap();
        let least_ns = time.as_nanos() as u64;
        assert!(loaded.injected_ns >= 10 * least_ns);
        assert!(loaded.latencies_ns.iter().sum::<u64>() >= loaded.injected_ns);
        assert!(loaded.latencies_ns.iter().all(|latency| *latency > least_ns));
    }
    assert_eq!(load.slice(&closed(10), &GO_ON).unwrap().injected_ns, 0);
}

#[test]
fn a_wish_to_stop_ends_a_slice_between_two_pages() {
    let stop = Arc::new(AtomicBool::new(false));
    let wish = Arc::clone(&stop);
    let server = Server::start(move |path, n_before| {
        wish.fetch_or(n_before == 3, Ordering::Relaxed);
        page(path)
    });
    let endless = 1_000_000;
    let mut load = server.load(&["/"], 2, PATIENCE);
    for rate_per_s in [None, Some(0.001)] {
        let slice = PageSlice { rate_per_s, n_pages: if rate_per_s.is_some() { 10 } else { endless }, ..closed(0) };
        let loaded = load.slice(&slice, &stop).unwrap();
        assert_eq!(loaded.n_asked(), loaded.latencies_ns.len() as u64);
        assert!(loaded.n_asked() < slice.n_pages as u64);
        assert_eq!(loaded.n_failed(), 0);
    }
    assert_eq!(load.slice(&closed(0), &GO_ON).unwrap().n_asked(), 0);
}
