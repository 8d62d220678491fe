//! Tests of the text of `looptax watch`.

use looptax_model::record::{
    Figure, WATCHED_SCHEMA_VERSION, Watched, WatchedChange, WatchedCpu, WatchedDiff, WatchedEnd, WatchedHop,
    WatchedLook, WatchedQueue, WatchedSide, WatchedSpan, WatchedTimes, Way,
};
use looptax_report::terminal::{Style, before_and_after, watched, watched_diff};
use looptax_report::{WatchedTotals, watched_openmetrics};

fn end(program: &str, pid: u32) -> WatchedEnd {
    WatchedEnd { program: program.to_owned(), pid: Some(pid), user: Some("www-data".to_owned()), home: None }
}

fn hop(way: Way, n_overlapping: u64) -> WatchedHop {
    let times = WatchedTimes { mean_us: 90.0, p50_us: 81.0, p90_us: 200.0, p99_us: 402.0 };
    WatchedHop {
        client: Some(end("gunicorn", 4711)),
        n_processes: 1,
        server: Some(end("redis-server", 812)),
        kind: Some("redis".to_owned()),
        version: Some("7.0.15".to_owned()),
        way,
        address: "127.0.0.1:6379".to_owned(),
        n_requests: 1_000,
        requests_per_s: 500.0,
        n_overlapping,
        times: Some(times),
        served: Some(WatchedTimes { p50_us: 9.1, ..times }),
        server_cpu: Some(WatchedCpu { us_per_request: Some(7.5), cpu_s: 0.03, n_requests: 4_000, na: None }),
        client_cpu: Some(WatchedCpu { us_per_request: None, cpu_s: 0.0, n_requests: 0, na: Some("gone".to_owned()) }),
        accept_wait: Some(WatchedTimes { p99_us: 900.0, ..times }),
        n_opened: 2,
        opened_per_s: 1.0,
        n_closed: None,
        n_bytes_asked: 0,
        n_bytes_answered: 0,
        looks: Vec::new(),
    }
}

fn look(hops: Vec<WatchedHop>) -> Watched {
    Watched {
        schema_version: WATCHED_SCHEMA_VERSION,
        looptax_version: "0.1.0".to_owned(),
        at: "2026-11-28T00:00:00+00:00".to_owned(),
        over_s: 2.0,
        busy_pct: None,
        hops,
        queues: vec![WatchedQueue {
            server: "redis-server".to_owned(),
            pid: 812,
            address: "0.0.0.0:6379".to_owned(),
            n_waiting: 0,
            backlog: 511,
        }],
        notes: Vec::new(),
    }
}

fn style() -> Style {
    Style { width: 150, color: false, unicode: true }
}

#[test]
fn who_asks_whom_is_told_with_times_and_a_next_step_over_tcp_alone() {
    let text = watched(&look(vec![hop(Way::Loopback, 0), hop(Way::Unix, 0)]), style());
    assert!(text.contains("gunicorn 4711  redis-server 812  loopback"), "{text}");
    assert!(text.contains("the client's own send"), "{text}");
    assert!(text.contains("9.1 µs     7.5 µs   1.00/s"), "{text}");
    assert_eq!(text.matches("looptax check 4711").count(), 1, "{text}");
    assert!(!text.contains("(*)") && !text.contains("accept"), "{text}");
    let mut late = look(vec![hop(Way::Unix, 0)]);
    late.hops[0].accept_wait = late.hops[0].times.map(|it| WatchedTimes { p99_us: 200_400.0, ..it });
    late.queues[0].n_waiting = 3;
    let text = watched(&late, style());
    assert!(text.contains("1.00/s  200.4 ms"), "{text}");
    assert!(
        text.contains("redis-server 812 at 0.0.0.0:6379: 3 connections wait to be accepted (at most 512 may wait)"),
        "{text}"
    );
}

#[test]
fn a_narrow_terminal_has_columns_too_and_the_next_step_below_them() {
    let mut tcp = hop(Way::Loopback, 0);
    if let Some(client) = &mut tcp.client {
        client.program = "a-service-with-a-long-name".to_owned();
        client.home = Some("a-service-with-a-long-name.service".to_owned());
    }
    let text = watched(&look(vec![tcp, hop(Way::Unix, 0)]), Style { width: 80, ..style() });
    insta::assert_snapshot!(text, @r"
      client                server            by        requests  p50      p99
      a-servic...name 4711  redis-server 812  loopback  500/s     81.0 µs  402 µs
      gunicorn 4711         redis-server 812  unix      500/s     81.0 µs  402 µs

    counted for 2 s; several requests sent together count as one; a login counts as
      one or two
    p50, p99: time from the request's arrival at the server until the client has the
      answer; this time excludes the client's own send, which takes a few
      microseconds (over TCP more than over a socket)
    next: looptax check 4711 shows whether the socket would work for the busiest
      client over TCP
    left out at this width: where, in server, new, cpu/req; --json has them
    ");
    assert!(text.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn requests_that_overlap_are_marked_and_an_empty_look_says_so() {
    let text = watched(&look(vec![hop(Way::Unix, 20)]), style());
    assert!(text.contains("(*) several requests were open at the same time"), "{text}");
    assert_eq!(watched(&look(Vec::new()), style()).trim_end(), "no request to a server of this machine within 2 s");
}

#[test]
fn gauges_have_the_transport_as_a_label() {
    let text = watched_openmetrics(&look(vec![hop(Way::Unix, 0)]));
    let labels = "{client=\"gunicorn\",server=\"redis\",network_transport=\"unix\",address=\"127.0.0.1:6379\"}";
    assert!(text.contains(&format!("looptax_watch_requests_per_second{labels} 500\n")), "{text}");
    assert!(text.contains(&format!("looptax_watch_server_cpu_seconds_per_request{labels} 0.0000075\n")), "{text}");
    assert!(!text.contains("client_cpu_seconds_per_request{"), "{text}");
    let queue = "{server=\"redis-server\",pid=\"812\",address=\"0.0.0.0:6379\"}";
    assert!(text.contains(&format!("looptax_watch_accept_queue_limit{queue} 511\n")), "{text}");
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn counters_grow_from_look_to_look_and_keep_their_series() {
    let mut totals = WatchedTotals::default();
    let mut hop = hop(Way::Unix, 0);
    let times = serde_json::from_str(r#"{"sum_ns":90000,"buckets":[[20,2],[200,1]]}"#).unwrap();
    hop.looks = vec![WatchedLook { over_s: 2.0, n_requests: 3, n_bytes_asked: 6, n_bytes_answered: 9, times }];
    totals.add(&look(vec![hop.clone()]));
    totals.add(&look(vec![hop.clone()]));
    let text = totals.openmetrics();
    let labels = "client=\"gunicorn\",server=\"redis\",network_transport=\"unix\",address=\"127.0.0.1:6379\"";
    for line in [
        format!("looptax_requests_total{{{labels}}} 2000"),
        format!("looptax_connections_opened_total{{{labels}}} 4"),
        // Bucket 20 begins at 1.3 µs, bucket 200 at 1.6 ms.
        format!("looptax_request_duration_seconds_bucket{{{labels},le=\"0.000008192\"}} 4"),
        format!("looptax_request_duration_seconds_bucket{{{labels},le=\"+Inf\"}} 6"),
        format!("looptax_request_duration_seconds_count{{{labels}}} 6"),
        format!("looptax_request_duration_seconds_sum{{{labels}}} 0.00018"),
        "looptax_server_cpu_seconds_total{server=\"redis\"} 0.06".to_owned(),
        "looptax_server_cpu_requests_total{server=\"redis\"} 8000".to_owned(),
    ] {
        assert!(text.contains(&format!("{line}\n")), "{line}\n{text}");
    }
    // The number of series is limited, even if there are more and more clients.
    for idx in 0..1_000 {
        hop.client = Some(end(&format!("job{idx}"), 7));
        totals.add(&look(vec![hop.clone()]));
    }
    let text = totals.openmetrics();
    assert_eq!(text.matches("looptax_requests_total{").count(), 201);
    assert!(text.contains(
        "looptax_requests_total{client=\"(others)\",server=\"\",network_transport=\"\",address=\"\"} 801000\n"
    ));
}

/// Makes a comparison in which a client has moved to the socket: `mean_pct` is the change of its mean, and its median
/// changed by −20 %.
fn moved(mean_pct: Figure, p: f64, busy_pct: f64) -> WatchedDiff {
    let span = |busy_pct| WatchedSpan {
        name: Some("before".to_owned()),
        at: "2026-11-28T00:00:00+00:00".to_owned(),
        over_s: 60.0,
        busy_pct: Some(busy_pct),
    };
    let side = |way, address: &str, us: f64| WatchedSide {
        way,
        address: address.to_owned(),
        n_requests: 1_000,
        requests_per_s: 412.0,
        opened_per_s: 3.0,
        mean_us: Figure::new(us, us - 1.0, us + 1.0, 20),
        p50_us: Figure::new(us - 5.0, us - 6.0, us - 4.0, 20),
        p99_us: Figure::missing("few"),
    };
    let change = WatchedChange {
        client: Some(end("php-fpm (pool www)", 7)),
        server: Some(end("mariadbd", 9)),
        kind: Some("mariadb".to_owned()),
        before: side(Way::Loopback, "127.0.0.1:3306", 200.0),
        after: side(Way::Unix, "/run/mysqld/mysqld.sock", 160.0),
        mean_pct,
        p50_pct: Figure::new(-20.0, -30.0, -10.0, 20),
        p99_pct: Figure::missing("few"),
        p: Some(p),
        notes: vec!["9 % of the requests in the later count went over TCP".to_owned()],
    };
    WatchedDiff { before: span(40.0), after: span(busy_pct), hops: vec![change], notes: Vec::new() }
}

#[test]
fn a_change_is_told_with_its_interval_and_with_what_else_changed() {
    let text = watched_diff(&moved(Figure::new(-20.0, -22.0, -18.0, 20), 0.001, 41.0), style());
    assert!(
        text.contains("php-fpm (pool www) -> mariadbd: loopback 127.0.0.1:3306, then unix /run/mysqld/mysqld.sock"),
        "{text}"
    );
    assert!(text.contains("200 µs  160 µs  -20.0 % [-22.0, -18.0]  shorter\n"), "{text}");
    assert!(text.contains("9 % of the requests in the later count went over TCP"), "{text}");
    let busier = watched_diff(&moved(Figure::new(-20.0, -22.0, -18.0, 20), 0.001, 80.0), style());
    assert!(busier.contains("shorter, other load"), "{busier}");
    assert!(busier.contains("busy for 40 % of the time before and for 80 % after"), "{busier}");
    // If there are many hops, one of them seems to change by chance.
    let by_chance = watched_diff(&moved(Figure::new(-20.0, -39.0, -1.0, 20), 0.2, 41.0), style());
    assert!(by_chance.contains("-20.0 % [-39.0, -1.0]   no change shown"), "{by_chance}");
}

#[test]
fn before_and_after_are_one_sentence() {
    let of = |diff: &WatchedDiff| before_and_after(&diff.hops[0], diff, style());
    let less = of(&moved(Figure::new(-20.0, -22.0, -18.0, 20), 0.001, 41.0));
    assert_eq!(
        less,
        "php-fpm (pool www) -> mariadbd: a request took 200 µs over loopback in the 60 s before and 160 µs over \
         unix in the 60 s after: 20.0 % less [18.0, 22.0]; this time excludes the client's own send, which takes \
         longer over TCP"
    );
    // The direction of the mean is not certain, the direction of the median is.
    let by_half = of(&moved(Figure::new(-20.0, -50.0, 30.0, 20), 0.4, 41.0));
    assert!(by_half.contains("half of the requests took less than 195 µs"), "{by_half}");
    let mut still = moved(Figure::new(-2.0, -5.0, 3.0, 20), 0.4, 41.0);
    still.hops[0].p50_pct = Figure::new(0.0, -7.0, 7.0, 20);
    assert!(of(&still).contains("no change shown, -2.0 % [-5.0, +3.0]"), "{}", of(&still));
    still.hops[0].mean_pct = Figure::new(30.0, 10.0, 50.0, 20);
    still.hops[0].p = Some(0.01);
    assert!(of(&still).contains("30.0 % more [10.0, 50.0]"), "{}", of(&still));
}
