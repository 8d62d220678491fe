//! Tests of the output of `looptax` without arguments, on made-up results and records.

use looptax_model::record::{
    Direction, EndpointTransport, Figure, FoundListener, Placement, Reason, SizeCause, UncertainSize, Verdict,
};
use looptax_report::terminal::{AtRate, Minute, Style, kinds_in_use};

use crate::found::look;
use crate::found_chains::shop;
use crate::made_up::{arm, comparison, record, tax};

fn minute() -> Minute {
    Minute::new(Style { width: 110, color: false, unicode: true })
}

#[test]
fn who_is_here_and_who_pays_is_said_first() {
    insta::assert_snapshot!(minute().found(&look()), @r"
    here      mariadbd 10.11.19 (127.0.0.1:3306, /run/mysqld/mysqld.sock)
    paying    php-fpm8.2 (2 processes) -> mariadbd over TCP, 9.01K requests/s    looptax check 8
    ");
    let mut measuring = look();
    for client in &mut measuring.clients {
        client.peer.program = Some("looptax".to_owned());
    }
    // The kind of the paying program, and then the kind of the running server.
    assert_eq!(kinds_in_use(&look()), ["mariadb", "mariadb"]);
    assert_eq!(kinds_in_use(&measuring), ["mariadb"], "another looptax is not an application");
    let mut none = look();
    none.servers.clear();
    assert_eq!(minute().found(&none), "");
}

#[test]
fn a_server_without_a_socket_and_too_many_to_name_are_said() {
    let mut found = look();
    found.servers[0].endpoints.truncate(1);
    found.servers = vec![found.servers[0].clone(); 6];
    found.clients.clear();
    insta::assert_snapshot!(minute().found(&found), @r"
    here      mariadbd 10.11.19 (127.0.0.1:3306, no socket), mariadbd 10.11.19 (127.0.0.1:3306, no socket),
              mariadbd 10.11.19 (127.0.0.1:3306, no socket), mariadbd 10.11.19 (127.0.0.1:3306, no socket), 2 more
              (looptax find)
    ");
}

#[test]
fn a_row_says_what_a_request_takes_longer_or_why_there_is_no_answer() {
    let clear = comparison(1, Placement::Same, [94_900.0, 79_800.0]);
    let mut equal = comparison(1, Placement::Same, [94_900.0, 94_800.0]);
    (equal.tax[0].verdict, equal.tax[0].direction) = (Verdict::Equivalent, None);
    let mut open = comparison(1, Placement::Same, [94_900.0, 79_800.0]);
    (open.tax[0].verdict, open.tax[0].direction) = (Verdict::Inconclusive, None);
    let mut faster = comparison(1, Placement::Same, [79_800.0, 94_900.0]);
    faster.tax[0].direction = Some(Direction::OtherFaster);
    let mut invalid = comparison(1, Placement::Same, [94_900.0, 79_800.0]);
    invalid.tax[0].verdict = Verdict::Invalid;
    invalid.tax[0].reason = Reason::Invalid { reasons: vec!["2 requests failed".to_owned()] };
    let mut unsure = comparison(1, Placement::Same, [94_900.0, 79_800.0]);
    unsure.tax[0].uncertain_size = Some(UncertainSize { cause: SizeCause::Disturbed, lo_pct: 4.9, hi_pct: 19.3 });
    let all = [clear, equal, open, faster, unsure, invalid];
    let rows: String = all.iter().map(|it| minute().row(it)).collect();
    let left_out = minute().not_measured("postgres", "the minute was over");
    insta::assert_snapshot!(format!("{}{rows}{left_out}", minute().head()), @r"
    measuring private copies, one connection each, both ends on one core, half a minute in total
                          over TCP a request takes
      MariaDB 10.11.19    +2.0 µs [1.9, 2.1]     15.9 % [15.4, 16.4] fewer requests per second
      MariaDB 10.11.19    +0.01 µs [-0.09, 0.11] no difference that matters (within ±1 %): 0.1 % [-0.4, 0.6]
      MariaDB 10.11.19    n/a                    inconclusive: 15.9 % [15.4, 16.4] fewer requests per second
      MariaDB 10.11.19    -2.0 µs [-2.1, -1.9]   tcp is faster: -18.9 % [-19.4, -18.4]
      MariaDB 10.11.19    n/a                    tcp is slower, size uncertain: 4.9 to 19.3 %
      MariaDB 10.11.19    invalid
      postgres            not measured: the minute was over
    ");
}

#[test]
fn the_end_says_what_it_comes_to_and_what_to_type_next() {
    let mut measured = comparison(1, Placement::Same, [94_900.0, 79_800.0]);
    measured.tax[0].cpu_us.both = Figure::new(4.0, 3.0, 5.0, 12);
    measured.tax[0].diagnostics.foreign_pct = Some(23.4);
    let record = record(vec![measured], Vec::new());
    let seen = AtRate::seen(Some(&look()));
    insta::assert_snapshot!(minute().end(&record, &seen, 48.2, Some("20260102-030405-7")), @r"
      at the 9.01K requests/s of php-fpm8.2 TCP adds this share of one core: MariaDB 10.11.19 3.6 % [2.7, 4.5]:
        worth it if the change costs nothing
      other programs took up to 23 % of the CPU time, which may make intervals wide: try again when the machine is
        quiet
    48 s in total.  More: looptax compare (minutes: 1 and 16 connections), looptax compare private:http (between
      web servers and their upstreams), looptax find (programs that pay)
    record: 20260102-030405-7
    ");
    let asked = [800.0, 100_000.0].map(AtRate::asked);
    let text = minute().end(&record, &asked, 48.2, None);
    assert!(
        text.contains("at 800 requests/s TCP adds this share of one core: MariaDB 10.11.19 0.32 % [0.24, 0.40]: not"),
        "{text}"
    );
    assert!(text.contains("40.0 % [30.0, 50.0]: worth it"), "{text}");
    let text = minute().end(&record, &AtRate::seen(None), 48.2, None);
    assert!(
        text.contains("looptax saw no request over TCP in its short snapshot; for example at 1,000 requests/s"),
        "{text}"
    );
    assert!(text.contains("0.4 % [0.3, 0.5]: not worth it"), "{text}");
    let mut closing = look();
    closing.clients.clear();
    closing.chains = vec![shop(), shop()];
    let text = minute().end(&record, &AtRate::seen(Some(&closing)), 48.2, None);
    assert_eq!(
        text.matches("31.0 connections/s that php-fpm8.2 closes, if each has one request,").count(),
        1,
        "{text}"
    );
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("this share does not cover the 31.0 new connections/s"), "{text}");
    assert!(!text.contains("worth it"), "{text}");
    let mut short = look();
    for client in &mut short.clients {
        client.peer.opened_per_s = client.peer.requests_per_s.map(|it| it / 3.0);
    }
    let text = minute().end(&record, &AtRate::seen(Some(&short)), 48.2, None);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("this share does not cover the 3.00K new connections/s: looptax compare private:mariadb"),
        "{text}"
    );
}

#[test]
fn programs_that_encrypt_see_what_that_adds() {
    let mut measured = comparison(1, Placement::Same, [94_900.0, 79_800.0]);
    measured.tax[0].cpu_us.both = Figure::new(4.0, 3.0, 5.0, 12);
    measured.arms.push(arm("tls", 60_000.0, 16.7));
    let mut with_tls = tax("tls", 36.8, 6.1);
    with_tls.cpu_us.both = Figure::new(20.0, 19.0, 21.0, 12);
    measured.tax.push(with_tls);
    let text = minute().end(&record(vec![measured], Vec::new()), &[AtRate::asked(1_000.0)], 48.2, None);
    assert!(text.contains("MariaDB 10.11.19 0.4 % [0.3, 0.5]: not worth it"), "{text}");
    assert!(text.contains("MariaDB 10.11.19 with TLS 2.0 % [1.9, 2.1]: worth it"), "{text}");
}

#[test]
fn r20_sockets_without_a_process_are_named_and_a_hidden_server_is_not_said_to_have_none() {
    let mut found = look();
    found.sees_all = false;
    found.servers[0].is_hidden = true;
    found.servers[0].endpoints.clear();
    found.clients.clear();
    found.listeners = vec![FoundListener {
        transport: EndpointTransport::Tcp,
        address: "127.0.0.1:6379".to_owned(),
        user: Some("redis".to_owned()),
        likely: Some("redis or valkey".to_owned()),
        server_pids: Vec::new(),
        web_servers: Vec::new(),
        n_connections: 0,
        clients: Vec::new(),
        n_closed_last_minute: 0,
    }];
    let text = minute().found(&found);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!text.contains("no socket"), "{text}");
    assert!(text.contains("127.0.0.1:6379 (redis or valkey by its usual place, of user redis)"), "{text}");
    found.servers.clear();
    assert!(minute().found(&found).contains("127.0.0.1:6379"));
}

#[test]
fn a_row_that_is_too_long_goes_on_below_its_own_beginning() {
    let narrow = Minute::new(Style { width: 60, color: true, unicode: true });
    let why = "the half minute was over; measure it with looptax compare private:postgres";
    let text = narrow.not_measured("postgres", why);
    let plain = text.replace("\u{1b}[33m", "").replace("\u{1b}[0m", "");
    let expected = [
        "  postgres            not measured: the half minute was\n",
        "                      over; measure it with looptax compare\n",
        "                      private:postgres\n",
    ];
    assert_eq!(plain, expected.concat());
    assert_eq!(text.matches("\u{1b}[33m").count(), 3, "{text:?}");
    // A name may be longer than the terminal is wide; the text is then broken into lines.
    assert!(narrow.not_measured(&"x".repeat(99), why).lines().count() > 1);
}
