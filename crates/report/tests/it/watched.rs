//! The text of `looptax watch`.

use looptax_model::record::{WATCHED_SCHEMA_VERSION, Watched, WatchedEnd, WatchedHop, WatchedTimes, Way};
use looptax_report::terminal::{Style, watched};
use looptax_report::watched_openmetrics;

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
        n_opened: 2,
        opened_per_s: 1.0,
        n_closed: None,
        n_bytes_asked: 0,
        n_bytes_answered: 0,
    }
}

fn look(hops: Vec<WatchedHop>) -> Watched {
    Watched {
        schema_version: WATCHED_SCHEMA_VERSION,
        looptax_version: "0.1.0".to_owned(),
        at: "2026-11-28T00:00:00+00:00".to_owned(),
        over_s: 2.0,
        hops,
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
    assert_eq!(text.matches("looptax check --pid 4711").count(), 1, "{text}");
    assert!(!text.contains("(*)"), "{text}");
}

#[test]
fn requests_that_overlap_are_marked_and_an_empty_look_says_so() {
    let text = watched(&look(vec![hop(Way::Unix, 20)]), style());
    assert!(text.contains("(*) several requests were on the way at once"), "{text}");
    assert_eq!(watched(&look(Vec::new()), style()).trim_end(), "no request to a server of this machine within 2 s");
}

#[test]
fn gauges_have_the_transport_as_a_label() {
    let text = watched_openmetrics(&look(vec![hop(Way::Unix, 0)]));
    let labels = "{client=\"gunicorn\",server=\"redis\",network_transport=\"unix\",address=\"127.0.0.1:6379\"}";
    assert!(text.contains(&format!("looptax_watch_requests_per_second{labels} 500\n")), "{text}");
    assert!(text.ends_with("# EOF\n"));
}
