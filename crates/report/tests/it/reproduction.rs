//! Tests of published figures next to measured ones, on a made-up reproduction.

use std::collections::BTreeMap;

use looptax_model::record::{
    Article, Figure, Host, HotFunction, Published, REPRODUCTION_SCHEMA_VERSION, Reproduction, ReproductionFinding,
    ReproductionPart, ReproductionPoint, ReproductionProof, ReproductionReason, ReproductionRow, ReproductionSide,
    ReproductionStep, ReproductionTrial, ReproductionUnit, ReproductionVerdict, ServerCount, SideUnit,
};
use looptax_report::html::reproduction_page;
use looptax_report::reproduction_markdown;
use looptax_report::terminal::{Style, reproduction};

/// A name that was chosen to do harm.
const HOSTILE: &str = "<script>alert(1)</script>\u{1b}[2J | x";

const STYLE: Style = Style { width: 110, color: false, unicode: true };

fn figure(value: f64, lo: f64, hi: f64) -> Figure {
    Figure::new(value, lo, hi, 12)
}

fn row(what: &str, verdict: Option<ReproductionVerdict>) -> ReproductionRow {
    let side =
        |value: f64| ReproductionSide { figure: figure(value, value * 0.99, value * 1.01), unit: SideUnit::PerS };
    ReproductionRow {
        claim: "made_up".to_owned(),
        what: what.to_owned(),
        arms: ["unix".to_owned(), "tcp".to_owned()],
        unit: ReproductionUnit::TaxPct,
        published: verdict.map(|_| Published {
            words: "TCP 35 % below the socket".to_owned(),
            value: 35.0,
            lo: 34.5,
            hi: 35.5,
        }),
        measured: figure(16.0, 15.4, 16.4),
        sides: [side(94_000.0), side(79_000.0)],
        verdict,
        proof: ReproductionProof {
            rows: Some(100_000),
            requests: 1_234,
            server_count: Some(ServerCount { counter: "Com_select".to_owned(), sent: 1_300, counted: 1_301 }),
            ..ReproductionProof::default()
        },
        reasons: vec![ReproductionReason::Known {
            words: "both ends share one core here".to_owned(),
            figures: BTreeMap::new(),
        }],
        step_idx: 0,
    }
}

fn point(connections: u32) -> ReproductionPoint {
    ReproductionPoint {
        connections,
        per_s: [figure(111e3, 110e3, 112e3), figure(92e3, 91e3, 93e3)],
        tax_pct: figure(16.3, 11.0, 19.9),
        hottest: vec![HotFunction { name: "finish_task_switch".to_owned(), is_kernel: true, share_pct: 29.4 }],
    }
}

fn made_up(name: &str) -> Reproduction {
    let us = |us: f64| figure(us, us * 0.9, us * 1.1);
    let part = ReproductionPart {
        name: name.to_owned(),
        article: Article {
            url: None,
            title: "A title".to_owned(),
            author: "Somebody, 2020".to_owned(),
            system: "a machine".to_owned(),
            workload: "lookups".to_owned(),
        },
        steps: vec![ReproductionStep {
            what: "lookups: socket, loopback".to_owned(),
            command: "looptax compare private:mariadb -c 1".to_owned(),
            run: Some("20261122-120000-1-x".to_owned()),
            path: None,
        }],
        rows: vec![
            row("lookups", Some(ReproductionVerdict::Smaller)),
            row("others", Some(ReproductionVerdict::NotSeen)),
            row("a part", None),
        ],
        points: vec![point(4)],
        trials: vec![ReproductionTrial {
            what: "two writes, one answer".to_owned(),
            mean_us: [us(2.9), us(14_900.0)],
            n_messages: 100,
            is_near: false,
        }],
        findings: vec![ReproductionFinding::MostServed { per_s: [111_000.0, 92_000.0], connections: [4, 4] }],
        smaller: vec!["dumped 1000 rows".to_owned()],
        missing: vec!["the dump: mysqldump is not on PATH".to_owned()],
    };
    Reproduction {
        schema_version: REPRODUCTION_SCHEMA_VERSION,
        looptax_version: "0.1.0".to_owned(),
        started_at: "2026-11-22T12:00:00Z".to_owned(),
        finished_at: None,
        command: ["looptax", "reproduce", "x"].map(str::to_owned).to_vec(),
        quick: true,
        scale: None,
        host: Host { kernel: "6.18".to_owned(), cpus: 2, ..Host::default() },
        parts: vec![part],
        problems: Vec::new(),
        interrupted: false,
    }
}

#[test]
fn published_and_measured_stand_side_by_side_with_why_they_differ() {
    let text = reproduction(&made_up("x"), Some("out/reproduce.json"), STYLE);
    insta::assert_snapshot!(text, @r#"
    x: "A title", Somebody, 2020
      published on: a machine
      workload: lookups

               arms         published    measured here                  verdict
      lookups  tcp vs unix  35.0 % lost  16.0 % lost [15.4, 16.4] n=12  smaller here
      others   tcp vs unix  35.0 % lost  16.0 % lost [15.4, 16.4] n=12  not seen here
      a part   tcp vs unix  -            16.0 % lost [15.4, 16.4] n=12  -

      the highest rates: 111000/s on the socket at 4 connections, 92000/s over TCP at 4

      connections  unix    tcp      tax (tcp vs unix)
      4            111K/s  92.0K/s  16.3 % [11.0, 19.9]

      connections  where the server spends its time
      4            29 % finish_task_switch (kernel)

      attempt                 unix               tcp                   near?
      two writes, one answer  2.9 µs [2.6, 3.2]  14.9 ms [13.4, 16.4]  no

      lookups (tcp vs unix)
        published: TCP 35 % below the socket
        measured: unix 94.0K/s [93.1, 94.9], tcp 79.0K/s [78.2, 79.8]
        also: both ends share one core here
        proof: 100000 rows, 1234 requests counted here, 1301 by the server's own count (Com_select), 1300 sent
          over all arms including the warm-up
      others (tcp vs unix)
        published: TCP 35 % below the socket
        measured: unix 94.0K/s [93.1, 94.9], tcp 79.0K/s [78.2, 79.8]
        also: as above
        proof: 100000 rows, 1234 requests counted here, 1301 by the server's own count (Com_select), 1300 sent
          over all arms including the warm-up
      a part (tcp vs unix)
        measured: unix 94.0K/s [93.1, 94.9], tcp 79.0K/s [78.2, 79.8]
        note: as above
        proof: 100000 rows, 1234 requests counted here, 1301 by the server's own count (Com_select), 1300 sent
          over all arms including the warm-up
      dumped 1000 rows
      not measured: the dump: mysqldump is not on PATH
      to repeat: lookups: socket, loopback (run 20261122-120000-1-x)
        looptax compare private:mariadb -c 1

    2 CPUs, unknown processor, Linux 6.18
    looptax reproduce x, begun 2026-11-22T12:00:00Z
    the measured figure compares the arms epoch by epoch; the figures of each arm by itself may give another ratio
    result: out/reproduce.json
    "#);
}

#[test]
fn a_hostile_name_steers_no_terminal_and_becomes_no_markup() {
    let hostile = made_up(HOSTILE);
    let text = reproduction(&hostile, None, STYLE);
    assert!(!text.contains('\u{1b}'), "{text}");
    let page = reproduction_page(&hostile);
    assert!(page.contains("&lt;script&gt;"), "{page}");
    assert!(!page.contains("<script"), "{page}");
    assert!(!page.contains("http://") && !page.contains("https://"));
    let markdown = reproduction_markdown(&hostile);
    assert!(!markdown.contains("<script"), "{markdown}");
}

#[test]
fn the_page_begins_with_all_claims_in_one_table() {
    let page = reproduction_page(&made_up("x"));
    assert!(!page.contains("<svg"), "one point is no line");
    for words in [
        "All claims",
        "smaller here",
        "not seen here",
        "both ends share one core here",
        "looptax compare private:mariadb -c 1",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let all = page.split("</table>").next().unwrap_or_default();
    assert!(all.contains("both ends share one core here"), "no other difference in the first table: {page}");
}

#[test]
fn several_publications_end_with_all_claims() {
    let mut two = made_up("x");
    two.parts.extend(made_up("y").parts);
    let text = reproduction(&two, None, STYLE);
    let (_, all) = text.split_once("all claims\n").unwrap();
    for words in ["x: lookups ", "y: others ", "smaller here", "not seen here"] {
        assert!(all.contains(words), "{words}: {text}");
    }
    assert!(!all.contains("a part"), "{text}");
}

#[test]
fn a_sweep_is_drawn_above_its_table() {
    let mut reproduction = made_up("x");
    reproduction.parts[0].points = [1, 2, 4].map(point).to_vec();
    let page = reproduction_page(&reproduction);
    let [drawing, table] = ["<svg", "Throughput by number of connections</caption>"]
        .map(|words| page.find(words).unwrap_or_else(|| panic!("{words}: {page}")));
    assert!(drawing < table);
}
