//! Tests of the report about whole commands, on wide and narrow terminals.
//!
//! Change a snapshot only if the output is meant to change for users.

use looptax_model::record::{Client, CommandLine, Commands, Figure, Placement, Record, Sightings, Verdict};
use looptax_report::terminal::{Style, compare};

use crate::made_up::{comparison, record};
use crate::{VERBOSE, verbose};

fn figure(us: f64) -> Figure {
    Figure::new(us, 0.98 * us, 1.02 * us, 10)
}

/// Makes a record of `mysqldump`, which takes 312 and 330 ms.
fn dump() -> Record {
    let mut it = comparison(1, Placement::Free, [1e3 / 312.0, 1e3 / 330.0]);
    it.client = Client::Command;
    "command".clone_into(&mut it.workload.name);
    it.workload.protocol = None;
    it.commands = Some(Commands {
        template: Some("mysqldump --single-transaction {transport} looptax".to_owned()),
        lines: Vec::new(),
        timeout_s: 600,
    });
    let [unix, tcp] = it.arms.as_mut_slice() else {
        panic!("two arms");
    };
    for (arm, own_ms, server_ms) in [(unix, 120e3, 150e3), (tcp, 131e3, 160e3)] {
        arm.cpu_us_per_query.client = figure(own_ms);
        arm.cpu_us_per_query.server = figure(server_ms);
        let is_unix = arm.name == "unix";
        arm.proof.seen =
            Some(Sightings { n_runs: 41, n_unix: if is_unix { 40 } else { 0 }, n_tcp: if is_unix { 0 } else { 41 } });
    }
    let tax = &mut it.tax[0];
    tax.throughput_pct = Figure::new(5.45, 4.92, 6.07, 10);
    tax.latency_us.mean = Figure::new(18e3, 16.2e3, 20.1e3, 10);
    tax.cpu_us.client = Figure::new(11e3, 10e3, 12.1e3, 10);
    tax.cpu_us.server = Figure::new(10e3, 9e3, 11.2e3, 10);
    tax.cpu_us.both = Figure::new(21e3, 20e3, 22e3, 10);
    record(vec![it], Vec::new())
}

fn style(width: usize) -> Style {
    Style { width, color: false, unicode: true }
}

#[test]
fn on_a_wide_terminal() {
    insta::assert_snapshot!(compare(&dump(), verbose("looptax-1.json"), style(120)), @r"
    MariaDB 10.11.19, whole command, private server on this machine

      mysqldump --single-transaction {transport} looptax
                     unix     tcp      tax (tcp vs unix)                          verdict
      time per run   312 ms   330 ms   5.5 % [4.9, 6.1]   +18.0 ms [16.2, 20.1]   tcp is slower
      CPU, command   120 ms   131 ms                      +11.0 ms [10.0, 12.1]
      CPU, server    150 ms   160 ms                      +10.0 ms [9.0, 11.2]

      whole runs of the command, with the cores left to the scheduler: against unix, tcp costs 5.5 % [4.9, 6.1] of
        throughput, +18.0 ms [16.2, 20.1] per run, +21.0 ms [20.0, 22.0] CPU time per run
      the time per run comes from one arm at a time, but the tax compares both arms within each epoch; so the tax need not
        be the ratio of the times (all these figures are medians of the epochs' means)
      connections seen while the command ran: unix in 40 of 41 runs, tcp in 41 of 41 runs

    1 verdict, with a chance of 5 % for a false alarm
    record: looptax-1.json
    ");
}

#[test]
fn on_a_narrow_terminal() {
    insta::assert_snapshot!(compare(&dump(), VERBOSE, style(60)), @r"
    MariaDB 10.11.19, whole command, private server on this
      machine

      mysqldump --single-transaction {transport} looptax
      time per run
        unix  312 ms
        tcp   330 ms
        tax   5.5 % [4.9, 6.1]  +18.0 ms [16.2, 20.1]
        tcp is slower
      CPU, command
        unix  120 ms
        tcp   131 ms
        tax   +11.0 ms [10.0, 12.1]
      CPU, server
        unix  150 ms
        tcp   160 ms
        tax   +10.0 ms [9.0, 11.2]

      whole runs of the command, with the cores left to the
        scheduler: against unix, tcp costs 5.5 % [4.9, 6.1] of
        throughput, +18.0 ms [16.2, 20.1] per run,
        +21.0 ms [20.0, 22.0] CPU time per run
      the time per run comes from one arm at a time, but the tax
        compares both arms within each epoch; so the tax need
        not be the ratio of the times (all these figures are
        medians of the epochs' means)
      connections seen while the command ran: unix in 40 of
        41 runs, tcp in 41 of 41 runs

    1 verdict, with a chance of 5 % for a false alarm
    ");
}

#[test]
fn without_a_server_of_ours() {
    let mut record = dump();
    let it = &mut record.comparisons[0];
    it.target.kind = "none".to_owned();
    let commands = it.commands.as_mut().unwrap();
    commands.template = None;
    commands.lines = ["unix", "tcp"]
        .map(|arm| CommandLine {
            arm: arm.to_owned(),
            line: format!("./page.sh --{arm} \u{1b}[2J"),
            variables: Vec::new(),
        })
        .to_vec();
    let gone = || Figure::missing("could not be read");
    let tax = &mut it.tax[0];
    tax.verdict = Verdict::Invalid;
    (tax.cpu_us.server, tax.cpu_us.both) = (gone(), gone());
    insta::assert_snapshot!(compare(&record, VERBOSE, style(120)), @r"
    whole command, on the server that the command chooses

      unix: ./page.sh --unix \u{1b}[2J
      tcp: ./page.sh --tcp \u{1b}[2J
                     unix     tcp      tax (tcp vs unix)   verdict
      time per run   312 ms   330 ms   n/a   n/a           invalid
      CPU, command   120 ms   131 ms         n/a

      whole runs of the command, with the cores left to the scheduler: tcp against unix cannot be used: the record gives no
        reason
      connections seen while the command ran: unix in 40 of 41 runs, tcp in 41 of 41 runs

    no verdict in this run
    ");
}
