//! Tests of the report about an application that was tried over both transports.
//!
//! Change a snapshot only if the output is meant to change for users.

use looptax_model::record::{
    Client, Direction, Figure, Load, Placement, Record, Trial, TrialArm, TrialBill, TrialConnections, TrialCount,
    TrialDesign, TrialPage, TrialPart, TrialServer, Verdict,
};
use looptax_report::terminal::{Beside, Style, compare};

use crate::made_up::{comparison, record};

fn figure(us: f64) -> Figure {
    Figure::new(us, 0.98 * us, 1.02 * us, 20)
}

fn arm(n_moved: u64, n_left: u64, supervisor_us_per_page: f64) -> TrialArm {
    let connections = TrialConnections { n_moved, n_left, n_not_moved: 0, n_slices: 400 };
    TrialArm { n_slices: 400, n_pages: 400, n_failed: 0, connections: vec![connections; 2], supervisor_us_per_page }
}

fn server(kind: &str, port: u16, socket: &str) -> TrialServer {
    TrialServer { kind: kind.to_owned(), from: vec![format!("127.0.0.1:{port}")], socket: socket.to_owned(), pid: None }
}

/// Makes a record of pages that take 41.8 and 40.6 ms.
fn trial() -> Record {
    let mut it = comparison(1, Placement::Free, [1e3 / 40.6, 1e3 / 41.8]);
    it.client = Client::Command;
    "application".clone_into(&mut it.target.kind);
    "http://127.0.0.1:8080/".clone_into(&mut it.target.name);
    "page".clone_into(&mut it.workload.name);
    it.trial = Some(Trial {
        command: "php -S 127.0.0.1:8080 -t /var/www/html".to_owned(),
        design: TrialDesign::Flip,
        pages: vec![TrialPage { url: "http://127.0.0.1:8080/".to_owned(), status: 200, body_bytes: [61_000, 61_012] }],
        n_pages: 1,
        load_command: None,
        servers: vec![server("mysql", 3306, "/run/mysqld/mysqld.sock"), server("redis", 6379, "/run/redis/redis.sock")],
        only: None,
        arms: [arm(400, 0, 210.0), arm(0, 400, 61.0)],
        p95_us: [Figure::new(45e3, 44e3, 46e3, 9), Figure::new(46e3, 45e3, 47e3, 9)],
        p95_added_us: Figure::new(1_210.0, 310.0, 2_400.0, 9),
        added_by_configuration_us: Figure::new(1_350.0, 540.0, 2_150.0, 20),
        counted: vec![TrialCount {
            server: 0,
            counter: "Questions".to_owned(),
            requests_per_page: 54.0,
            us_per_page: Some(5_200.0),
        }],
        bill: None,
    });
    for (arm, us) in it.arms.iter_mut().zip([40_600.0, 41_800.0]) {
        arm.latency_us.mean = figure(us);
        arm.latency_us.p50 = figure(0.98 * us);
        arm.latency_us.p90 = figure(1.1 * us);
        arm.latency_us.p99 = Figure::missing("needs more pages");
        arm.cpu_us_per_query.client = figure(0.9 * us);
        arm.cpu_us_per_query.server = figure(0.1 * us);
    }
    let tax = &mut it.tax[0];
    tax.throughput_pct = Figure::new(2.9, 1.0, 4.8, 20);
    tax.latency_us.mean = Figure::new(1_200.0, 400.0, 2_000.0, 20);
    tax.latency_us.p50 = Figure::new(1_180.0, 390.0, 1_980.0, 20);
    tax.latency_us.p90 = Figure::new(1_300.0, 300.0, 2_500.0, 20);
    tax.latency_us.p99 = Figure::missing("needs more pages");
    tax.cpu_us.client = Figure::new(1_500.0, 1_100.0, 1_900.0, 20);
    tax.cpu_us.server = Figure::new(300.0, 200.0, 400.0, 20);
    tax.cpu_us.both = Figure::new(1_800.0, 1_300.0, 2_300.0, 20);
    record(vec![it], Vec::new())
}

fn shown(record: &Record, width: usize) -> String {
    let style = Style { width, color: false, unicode: true };
    compare(record, Beside::default(), style)
}

#[test]
fn on_a_wide_terminal() {
    insta::assert_snapshot!(shown(&trial(), 120), @r"
    your application, http://127.0.0.1:8080/

      http://127.0.0.1:8080/
      php -S 127.0.0.1:8080 -t /var/www/html; mysql at 127.0.0.1:3306 -> /run/mysqld/mysqld.sock; redis at 127.0.0.1:6379 ->
        /run/redis/redis.sock
                          over TCP   over the socket   the socket saves                           verdict
      page time           41.8 ms    40.6 ms           2.9 % [1.0, 4.8]   +1.20 ms [0.40, 2.00]   the socket is faster
        median            41.0 ms    39.8 ms                              +1.18 ms [0.39, 1.98]
        p95               46.0 ms    45.0 ms                              +1.21 ms [0.31, 2.40]
        without looptax                                                   +1.35 ms [0.54, 2.15]
      CPU, application    37.6 ms    36.5 ms                              +1.50 ms [1.10, 1.90]
      CPU, servers        4.18 ms    4.06 ms                              +0.30 ms [0.20, 0.40]
      CPU, all of it      41.8 ms    40.6 ms                              +1.80 ms [1.30, 2.30]
      pages               23.9/s     24.6/s

      with 1 client requesting pages: against unix, tcp costs 2.9 % [1.0, 4.8] of a page's time, +1.20 ms [0.40, 2.00] per
        page, +1.80 ms [1.30, 2.30] CPU time per page
      connections per page: mysql 1, redis 1; moved: 800 of 800 in the socket's turns, 0 of 800 in TCP's turns
      looptax itself took 210 µs of a page's time when it moved connections, and 61.0 µs when it left them on TCP; without
        looptax's part the difference is +1.35 ms [0.54, 2.15] per page, an estimate for an application that is configured
        for the socket
      requests per page, as the servers counted: mysql 54 (Questions), 5200 µs in these requests, 12 % of the page's time

    1 verdict, with a chance of 5 % for a false alarm
    ");
}

#[test]
fn a_page_that_nothing_was_seen_of_says_what_could_have_been_seen() {
    let mut record = trial();
    let it = &mut record.comparisons[0];
    it.load = Load { rate_per_s: Some(20.0), arrivals: Some("poisson".to_owned()), ..Load::default() };
    it.connections = 4;
    let trial = it.trial.as_mut().unwrap();
    trial.only = Some(1);
    trial.design = TrialDesign::Restart;
    trial.arms[1].n_failed = 1;
    let tax = &mut it.tax[0];
    tax.verdict = Verdict::Inconclusive;
    tax.direction = None;
    tax.throughput_pct = Figure::new(0.4, -1.6, 2.4, 20);
    insta::assert_snapshot!(shown(&record, 80), @r"
    your application, http://127.0.0.1:8080/

      http://127.0.0.1:8080/
      php -S 127.0.0.1:8080 -t /var/www/html; mysql at 127.0.0.1:3306 ->
        /run/mysqld/mysqld.sock; redis at 127.0.0.1:6379 -> /run/redis/redis.sock
      the arms differ only in the transport of redis; the transports of the other
        servers were drawn at random for each epoch
      page time
        over TCP          41.8 ms
        over the socket   40.6 ms
        the socket saves  +1.20 ms [0.40, 2.00]
      median
        over TCP          41.0 ms
        over the socket   39.8 ms
        the socket saves  0.4 % [-1.6, 2.4]  +1.18 ms [0.39, 1.98]
        inconclusive
      p95
        over TCP          46.0 ms
        over the socket   45.0 ms
        the socket saves  +1.21 ms [0.31, 2.40]
      without looptax
        over TCP
        over the socket
        the socket saves  +1.35 ms [0.54, 2.15]
      CPU, application
        over TCP          37.6 ms
        over the socket   36.5 ms
        the socket saves  +1.50 ms [1.10, 1.90]
      CPU, servers
        over TCP          4.18 ms
        over the socket   4.06 ms
        the socket saves  +0.30 ms [0.20, 0.40]
      CPU, all of it
        over TCP          41.8 ms
        over the socket   40.6 ms
        the socket saves  +1.80 ms [1.30, 2.30]

      with 4 clients requesting pages at 20.0/s (poisson gaps), only redis in turns:
        no answer for tcp against unix: the record gives no reason
      only redis: connections per start: mysql 1, redis 1; moved: 400 of 400 in the
        socket's turns, 0 of 400 in TCP's turns
      only redis: looptax itself took 210 µs of a page's time when it moved
        connections, and 61.0 µs when it left them on TCP; without looptax's part
        the difference is +1.35 ms [0.54, 2.15] per page, an estimate for an
        application that is configured for the socket
      requests per page, as the servers counted: mysql 54 (Questions), 5200 µs in
        these requests, 12 % of the page's time
      1 page of 801 differed from the first pages; no figure includes such pages
      half the interval is 2 %, 800 µs per page: the trial cannot show much smaller
        differences

    no verdict in this run: 1 comparison undecided
    ");
}

#[test]
fn nothing_of_the_application_steers_the_terminal() {
    let mut record = trial();
    let trial = record.comparisons[0].trial.as_mut().unwrap();
    trial.command = "x\u{1b}[2J".to_owned();
    trial.pages[0].url = "http://\u{202e}".to_owned();
    trial.servers[0].kind = "\u{7}".to_owned();
    trial.servers[0].socket = "\u{1b}]0;".to_owned();
    trial.load_command = Some("\u{1b}c".to_owned());
    let shown = shown(&record, 120);
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown}");
}

/// Makes a record with three contrasts and a bill in the first of them.
fn each(left_over: [f64; 3]) -> Record {
    let mut record = trial();
    let part = |server, us: f64| TrialPart {
        server,
        time_us: Figure::new(us, us - 20.0, us + 20.0, 20),
        cpu_us: Figure::missing("CPU time could not be read"),
    };
    let [value, lo, hi] = left_over;
    let whole = record.comparisons[0].clone();
    for only in [0, 1] {
        let mut it = whole.clone();
        it.trial.as_mut().unwrap().only = Some(only);
        record.comparisons.push(it);
    }
    record.comparisons[0].trial.as_mut().unwrap().bill = Some(TrialBill {
        without_supervisor: true,
        parts: vec![part(0, 900.0), part(1, 450.0)],
        in_all_us: Figure::new(1_350.0, 540.0, 2_150.0, 20),
        in_all_cpu_us: Figure::missing("CPU time could not be read"),
        left_over_us: Figure::new(value, lo, hi, 20),
    });
    record
}

#[test]
fn the_bill_of_a_page_adds_up_or_not() {
    let shown_bill = |left_over| {
        let shown = shown(&each(left_over), 120);
        let (_, bill) = shown.split_once("  the bill").unwrap();
        let (bill, _) = bill.split_once("\n\n").unwrap();
        bill.to_owned()
    };
    insta::assert_snapshot!(shown_bill([0.0, -50.0, 50.0]), @r"
    : what TCP adds to a page, by server, without looptax's own part
                                    time                    CPU
        + mysql at 127.0.0.1:3306   +0.90 ms [0.88, 0.92]   n/a
        + redis at 127.0.0.1:6379   +0.45 ms [0.43, 0.47]   n/a
        all together, measured      +1.35 ms [0.54, 2.15]   n/a
        the parts add up to the measured total: the rest is +0.00 ms [-0.05, 0.05]
    ");
    let other = shown_bill([300.0, 100.0, 500.0]);
    assert!(other.contains("the parts do not add up to the measured total: the rest is +0.30 ms"), "{other}");
    let all = shown(&each([0.0, -50.0, 50.0]), 120);
    assert!(all.contains("requesting pages, only redis in turns"), "{all}");
    assert!(all.contains("only redis: connections per page"), "{all}");
}

#[test]
fn a_page_that_is_slower_by_looptax_itself_is_no_verdict_on_the_socket() {
    let mut record = trial();
    let tax = &mut record.comparisons[0].tax[0];
    tax.direction = Some(Direction::OtherFaster);
    tax.throughput_pct = Figure::new(-20.0, -25.0, -15.0, 20);
    let told = |added: [f64; 3]| {
        let mut record = record.clone();
        let trial = record.comparisons[0].trial.as_mut().unwrap();
        let [value, lo, hi] = added;
        trial.added_by_configuration_us = Figure::new(value, lo, hi, 20);
        shown(&record, 120)
    };
    // Without the supervisor's time the socket may be slower or faster (first case), or is still known to be slower
    // (second case).
    assert!(told([-100.0, -490.0, 528.0]).contains("open: looptax's own part"));
    let known = told([-400.0, -600.0, -200.0]);
    assert!(!known.contains("own part"), "{known}");
    assert!(known.contains("the socket is slower"), "{known}");
}
