//! Tests of the whole report about one small record, on wide and narrow terminals.
//!
//! Change a snapshot only if the output is meant to change for users.

use looptax_model::record::{Placement, Record, Stall};
use looptax_report::terminal::{Beside, Style, compare};

use crate::made_up::{comparison, look, record};
use crate::{VERBOSE, verbose};

fn small() -> Record {
    let mut many = comparison(16, Placement::Same, [150_000.0, 128_000.0]);
    many.stalls.push(Stall { arm: "tcp".to_owned(), epoch_idx: 2, slice_idx: 1, drain_ms: 31.46 });
    many.warnings.push("steal 1.2 % of the CPU time".to_owned());
    let comparisons = vec![
        comparison(16, Placement::Split, [36_000.0, 37_000.0]),
        many,
        comparison(1, Placement::Same, [94_900.0, 79_800.0]),
    ];
    record(comparisons, vec![look(16, [(50_000.0, 105_000.0), (57_000.0, 106_000.0)])])
}

#[test]
fn on_a_wide_terminal() {
    let style = Style { width: 130, color: false, unicode: true };
    insta::assert_snapshot!(compare(&small(), verbose("looptax-1.json"), style), @r"
    MariaDB 10.11.19, point select, prepared, private server on this machine

      client poll (waits as libmariadb: mysqlclient, sysbench, Ruby mysql2)
      connections  placement  unix              tcp               tax (tcp vs unix)                verdict
      1            same       94.9K/s 10.5 µs   79.8K/s 12.5 µs   15.9 % [15.4, 16.4]   +2.0 µs    tcp is slower
                              CPU time per request: +1.0 µs [0.9, 1.1]
      16           same       150K/s 107 µs     128K/s 125 µs     14.7 % [14.2, 15.2]   +18.3 µs   tcp is slower
                              CPU time per request: +9.2 µs [9.1, 9.3]
      16           split      36.0K/s 444 µs    37.0K/s 432 µs    -2.8 % [-3.3, -2.3]   -12.0 µs   tcp is faster
                              CPU time per request: -6.0 µs [-6.1, -5.9]
      16           free       50-105K/s         57-106K/s         not judged in 10 s: the rate varied by 2.1 times (--placement free)
      placement matters more than transport here: same has 4.2 times the rate of split at 16 connections

      at 1 connection, with both ends on one core (pinned), client waits as libmariadb does: against unix, tcp costs
        15.9 % [15.4, 16.4] of throughput, +2.0 µs [1.9, 2.1] per request, +1.0 µs [0.9, 1.1] CPU time per request
      at 16 connections, with both ends on one core (pinned), client waits as libmariadb does: against unix, tcp costs
        +9.2 µs [9.1, 9.3] CPU time per request, 14.7 % [14.2, 15.2] of throughput, +18.3 µs [18.2, 18.4] per request
      at 16 connections, with the two ends on different cores (pinned), client waits as libmariadb does: tcp serves more than unix: a
        tax of -2.8 % [-3.3, -2.3] of throughput, -12.0 µs [-12.1, -11.9] per request, -6.0 µs [-6.1, -5.9] CPU time per request
      16 connections, same, tcp: 1 stall, the longest 31.5 ms
      warning: 16 connections, same: steal 1.2 % of the CPU time

    3 verdicts, each with its own chance of 5 % for a false alarm; the chance of at least one false alarm is up to 14 %
    `same` pins both ends of a connection to one core, which shows the transport's own cost; --placement free measures the machine as
    it is, without pinning, and takes some minutes
    record: looptax-1.json
    ");
}

#[test]
fn on_a_narrow_terminal_in_ascii() {
    let style = Style { width: 60, color: false, unicode: false };
    insta::assert_snapshot!(compare(&small(), VERBOSE, style), @r"
    MariaDB 10.11.19, point select, prepared, private server on
      this machine

      client poll (waits as libmariadb: mysqlclient, sysbench,
        Ruby mysql2)
      1 connection, same
        unix  94.9K/s 10.5 us
        tcp   79.8K/s 12.5 us
        CPU time per request: +1.0 us [0.9, 1.1]
        tax   15.9 % [15.4, 16.4]  +2.0 us
        tcp is slower
      16 connections, same
        unix  150K/s 107 us
        tcp   128K/s 125 us
        CPU time per request: +9.2 us [9.1, 9.3]
        tax   14.7 % [14.2, 15.2]  +18.3 us
        tcp is slower
      16 connections, split
        unix  36.0K/s 444 us
        tcp   37.0K/s 432 us
        CPU time per request: -6.0 us [-6.1, -5.9]
        tax   -2.8 % [-3.3, -2.3]  -12.0 us
        tcp is faster
      16 connections, free
        unix  50-105K/s
        tcp   57-106K/s
        not judged in 10 s: the rate varied by 2.1 times
        (--placement free)
      placement matters more than transport here: same has
      4.2 times the rate of split at 16 connections

      at 1 connection, with both ends on one core (pinned),
        client waits as libmariadb does: against unix, tcp costs
        15.9 % [15.4, 16.4] of throughput, +2.0 us [1.9, 2.1]
        per request, +1.0 us [0.9, 1.1] CPU time per request
      at 16 connections, with both ends on one core (pinned),
        client waits as libmariadb does: against unix, tcp costs
        +9.2 us [9.1, 9.3] CPU time per request,
        14.7 % [14.2, 15.2] of throughput, +18.3 us [18.2, 18.4]
        per request
      at 16 connections, with the two ends on different cores
        (pinned), client waits as libmariadb does: tcp serves
        more than unix: a tax of -2.8 % [-3.3, -2.3] of
        throughput, -12.0 us [-12.1, -11.9] per request,
        -6.0 us [-6.1, -5.9] CPU time per request
      16 connections, same, tcp: 1 stall, the longest 31.5 ms
      warning: 16 connections, same: steal 1.2 % of the CPU time

    3 verdicts, each with its own chance of 5 % for a false
    alarm; the chance of at least one false alarm is up to 14 %
    `same` pins both ends of a connection to one core, which
    shows the transport's own cost; --placement free measures
    the machine as it is, without pinning, and takes some
    minutes
    ");
}

#[test]
fn in_short_each_warning_is_said_once_and_what_is_left_out_is_counted() {
    let mut record = small();
    let mut again = record.comparisons[1].clone();
    again.connections = 32;
    again.warnings = vec!["steal 4.5 % of the CPU time".to_owned()];
    record.comparisons.push(again);
    let beside = Beside { record: Some("20260102-030405-7"), at_per_s: Some(800.0), is_verbose: false };
    let style = Style { width: 130, color: false, unicode: true };
    let text = compare(&record, beside, style);
    let (_, end) = text.split_once("\n  at 800 requests/s").unwrap();
    insta::assert_snapshot!(end, @r"
     TCP adds this share of one core: MariaDB 10.11.19 -0.48 % [-0.49, -0.47]: not worth it

    warning: 16 connections, same: steal 1.2 % of the CPU time (and at 1 comparison more)
    --verbose shows 3 notes on single comparisons

    4 verdicts, each with its own chance of 5 % for a false alarm; the chance of at least one false alarm is up to 19 %
    record: 20260102-030405-7
    ");
    assert!(!text.contains("stall"), "{text}");
}
