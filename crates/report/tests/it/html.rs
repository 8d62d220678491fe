//! Tests of the page: it has the same texts and digits as the terminal, and no string of a record becomes markup.

use looptax_model::record::{
    Comparison, CpuTicks, Epoch, Figure, Latency, Placement, Pooled, Raw, Reason, Record, Slice, Verdict,
};
use looptax_report::html::{Detail, Distribution, EpochShown, PercentileShown, Shown, page};
use looptax_report::terminal::{Style, compare};

use crate::VERBOSE;
use crate::made_up::{arm, comparison, look, record, tax};

pub(crate) const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{202e}\u{1b}[2J&\"'<!--";

pub(crate) fn shown(record: &Record) -> Shown<'_> {
    Shown {
        record,
        name: "run.json",
        details: record.comparisons.iter().map(detail).collect(),
        no_samples: None,
        hdr_log: String::new(),
    }
}

fn page_of(record: &Record) -> String {
    page(&[shown(record)])
}

fn detail(comparison: &Comparison) -> Detail {
    let percentiles =
        [50.0, 99.0, 99.99].map(|pct| PercentileShown { pct, us: pct, lo_us: None, hi_us: Some(2.0 * pct) });
    let distribution = Distribution { n: 100_000, percentiles: percentiles.to_vec() };
    let epochs = comparison.raw.epochs.iter().enumerate();
    Detail {
        epochs: epochs
            .map(|(epoch_idx, epoch)| EpochShown {
                epoch_idx,
                pair: epoch.pair,
                effect_pct: Some(16.25),
                cost_ns: [Some(10_000.0), None],
                steal_pct: Some(3.0),
                foreign_pct: None,
                is_noisy: true,
            })
            .collect(),
        distributions: vec![Some(distribution), None],
        chains: Vec::new(),
    }
}

fn raw() -> Raw {
    let slice = |arm_idx| Slice {
        arm_idx,
        start_ns: 1_000_000_000,
        active_ns: 50_000_000,
        completions: 4_000,
        ..Slice::default()
    };
    let epoch = Epoch {
        pair: [0, 1],
        order: "obboboob".to_owned(),
        reconnect_us: 1,
        prime_us: 1,
        client_cores: Vec::new(),
        server_cores: Vec::new(),
        // The second slice belongs to an arm that does not exist, and the third slice has no length.
        follows: None,
        slices: vec![slice(0), slice(7), Slice::default()],
        answers_agree: true,
        cpu_ticks: Some(CpuTicks::default()),
        own_ticks: None,
        server_ticks: None,
        cpu_pressure_us: None,
        n_throttled: None,
        lag_p99_ns: [None, None],
        samples: [None, None],
    };
    Raw { epochs: vec![epoch] }
}

/// Makes a record with infinite bounds, no p99.9, an invalid arm, a comparison that was broken off, and a glimpse.
fn awkward() -> Record {
    let mut infinite = comparison(1, Placement::Same, [94_900.0, 79_800.0]);
    infinite.tax[0].throughput_pct = Figure::new(15.9, f64::NEG_INFINITY, f64::INFINITY, 1);
    infinite.tax[0].latency_us.mean = Figure::new(2.0, 1.9, f64::INFINITY, 1);
    infinite.raw = raw();
    let mut invalid = comparison(16, Placement::Same, [150_000.0, 120_000.0]);
    invalid.tax[0].verdict = Verdict::Invalid;
    invalid.tax[0].direction = None;
    invalid.tax[0].reason = Reason::Invalid { reasons: vec!["a request failed".to_owned()] };
    let mut pooled = comparison(64, Placement::Same, [150_000.0, 120_000.0]);
    pooled.arms.push(arm("tls", 80_000.0, 800.0));
    pooled.tax.push(tax("tls", 46.7, 373.0));
    pooled.arms[0].latency_pooled_us = Some(Pooled {
        p50: Figure::new(400.25, 400.0, 401.0, 9),
        p90: Figure::new(500.0, 499.0, 501.0, 9),
        p99: Figure::new(900.0, 800.0, f64::INFINITY, 9),
        p999: Figure::missing("needs about 40 s"),
    });
    pooled.arms[1].latency_us =
        Latency { p99: Figure::new(12_345.0, 12_000.0, 13_000.0, 9), ..pooled.arms[1].latency_us.clone() };
    let mut broken_off = comparison(128, Placement::Same, [1.0, 1.0]);
    broken_off.tax.clear();
    broken_off.warnings = vec!["the server was restarted".to_owned()];
    let looks = vec![look(16, [(50e3, 105e3), (45e3, 90e3)])];
    let mut record = record(vec![infinite, invalid, pooled, broken_off], looks);
    record.problems = vec!["no redis-server here".to_owned()];
    record.interrupted = true;
    record.command = vec!["/usr/bin/looptax".to_owned(), "compare".to_owned()];
    record
}

/// Returns the text of the page as a reader sees it, without markup, and with ordinary spaces only.
pub(crate) fn text_of(page: &str) -> String {
    let body = page.split_once("<main").unwrap().1;
    let mut text = String::new();
    let mut rest = body;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        let (tag, after) = after.split_once('>').unwrap();
        text.push(' ');
        rest = if tag.starts_with("script") { after.split_once("</script").unwrap().1 } else { after };
    }
    let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    let text = names.iter().fold(text, |text, (name, sign)| text.replace(name, sign));
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// Checks that everything which the terminal shows of a record is in the page, with the same digits.
#[track_caller]
fn check_says_the_same(record: &Record) {
    let wide = Style { width: 2_000, color: false, unicode: true };
    let text = text_of(&page_of(record)).to_lowercase();
    // The terminal's bars are left out, because the page has a chart instead.
    let is_bar = |cell: &str| cell.chars().all(|c| ('▉'..='▏').contains(&c) || c == '█');
    for line in compare(record, VERBOSE, wide).lines() {
        let cells = line.split("  ").map(str::trim);
        for cell in cells.filter(|it| !it.is_empty() && !is_bar(it)) {
            assert!(text.contains(&cell.to_lowercase()), "no {cell:?} in\n{text}");
        }
    }
}

#[test]
fn the_page_says_what_the_terminal_says_to_the_shown_digit() {
    check_says_the_same(&awkward());
    check_says_the_same(&record(Vec::new(), Vec::new()));
    let sweep = (0..8).map(|power| {
        let rate = 100e3 / f64::from(power + 1);
        comparison(1 << power, Placement::Same, [rate, 0.8 * rate])
    });
    check_says_the_same(&record(sweep.collect(), Vec::new()));
}

#[test]
fn a_percentile_of_the_record_is_shown_and_not_its_reconstruction() {
    let text = text_of(&page_of(&awkward()));
    // The p50 of arm unix in the third comparison: 400.25 in the record, 50.0 in the data made from the samples.
    assert!(text.contains("p50 400 µs [400, 401]"), "{text}");
    assert!(text.contains("p99 900 µs [800, ∞]"), "{text}");
    assert!(text.contains("p99.99 100 µs [-∞, 200]"), "{text}");
}

#[test]
fn the_bill_adds_up_to_the_shown_digit() {
    let mut paid = comparison(1, Placement::Same, [66_666.0, 55_555.0]);
    for arm in &mut paid.arms {
        arm.cpu_us_per_query.client = Figure::new(3.149, 3.0, 3.3, 10);
        arm.cpu_us_per_query.server = Figure::new(9.949, 9.0, 10.0, 10);
    }
    let text = text_of(&page_of(&record(vec![paid], Vec::new())));
    // The parts add up: 15.0 = 3.1 + 9.9 + 2.0, and 18.0 = 3.1 + 9.9 + 5.0.
    for row in [
        "client's CPU time 3.1 µs 3.1 µs",
        "server's CPU time 9.9 µs 9.9 µs",
        "not CPU time of client or server 2.0 µs 5.0 µs",
        "mean latency 15.0 µs 18.0 µs",
    ] {
        assert!(text.contains(row), "no {row:?} in\n{text}");
    }
}

#[test]
fn no_string_of_a_record_becomes_markup() {
    let mut record = awkward();
    let hostile = || HOSTILE.to_owned();
    record.started_at = hostile();
    record.looptax_version = hostile();
    record.problems = vec![hostile()];
    record.command = vec!["looptax".to_owned(), hostile()];
    record.host.kernel = hostile();
    record.host.governor = Some(hostile());
    record.host.mitigations.insert(hostile(), hostile());
    for it in &mut record.comparisons {
        it.target.version = hostile();
        it.target.settings.insert(hostile(), hostile());
        it.workload.name = hostile();
        it.placement.real = hostile();
        it.warnings = vec![hostile()];
        for arm in &mut it.arms {
            arm.name.push_str(HOSTILE);
            arm.endpoint = hostile();
            arm.proof.server_view = Some(hostile());
        }
        for tax in &mut it.tax {
            tax.arm.push_str(HOSTILE);
            tax.baseline.push_str(HOSTILE);
            tax.diagnostics.client_limits.clear();
        }
    }
    let own = page_of(&awkward()).matches("</script").count();
    let mut hostile = shown(&record);
    hostile.name = HOSTILE;
    hostile.no_samples = Some(HOSTILE.to_owned());
    let page = page(&[hostile]);
    assert_eq!(page.matches("</script").count(), own);
    // Only the text before the page's own script is checked, because the script may contain these strings.
    let before = page.split_once("<script>").unwrap().0;
    for forbidden in ["<img", "<!--", "\u{202e}", "\u{1b}"] {
        assert!(!before.contains(forbidden), "{forbidden:?}");
    }
}

#[test]
fn a_page_names_nothing_outside_itself() {
    let page = page_of(&awkward());
    for attribute in ["href=\"", "src=\"", "action=\""] {
        for (at, _) in page.match_indices(attribute) {
            let target = &page[at + attribute.len()..];
            assert!(target.starts_with('#'), "{:.60}", &page[at..]);
        }
    }
    assert!(page.contains("default-src &#39;none&#39;; script-src &#39;sha256-"));
    assert!(page.contains("Copyright"), "the notices travel with the code");
}

#[test]
fn a_page_without_data_is_under_two_megabytes() {
    let bytes = page_of(&record(Vec::new(), Vec::new())).len();
    assert!(bytes < 2_000_000, "{bytes}");
}

#[test]
fn the_same_records_give_the_same_bytes() {
    let record = awkward();
    let twice = [(); 2].map(|()| page(&[shown(&record), shown(&record)]));
    assert_eq!(twice[0], twice[1]);
    assert!(twice[0].contains("href=\"#record-1\""), "a list of records");
}

#[test]
fn what_there_is_none_of_is_said() {
    let mut bare = record(vec![comparison(1, Placement::Same, [10.0, 9.0])], Vec::new());
    bare.comparisons[0].arms.clear();
    let text = text_of(&page(&[Shown {
        record: &bare,
        name: "run.json",
        details: Vec::new(),
        no_samples: Some("the latencies of single requests were not recorded".to_owned()),
        hdr_log: String::new(),
    }]));
    for words in [
        "Not shown: the record holds no percentiles of single requests.",
        "Not shown: the record holds no whole epochs.",
        "Not shown: the record holds no slices.",
        "There is no log of latencies: the latencies of single requests were not recorded.",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
}

#[test]
fn r20_the_page_has_its_answer_per_server_before_statistics_and_says_what_it_is_about() {
    let mut redis = comparison(1, Placement::Same, [94_900.0, 94_000.0]);
    redis.target.kind = "redis".to_owned();
    redis.target.version = "7.0.15".to_owned();
    let mariadb = |connections| comparison(connections, Placement::Same, [94_900.0, 79_800.0]);
    let record = record(vec![mariadb(1), mariadb(16), redis], Vec::new());
    let html = page_of(&record);
    let about = "MariaDB 10.11.19, Redis 7.0.15: TCP and socket";
    assert!(html.contains(&format!("<title>{about} - looptax</title>")), "{html}");
    assert!(html.contains(&format!("<h1>{about}</h1>")), "{html}");
    let at = |words: &str| html.find(words).unwrap_or_else(|| panic!("no `{words}`: {html}"));
    let answers = at("class=\"answers\"");
    assert!(answers < at("chance of 5 %") && answers < at("interval of 95 %") && answers < at("<table>"));
    let summary = &html[answers..answers + html[answers..].find("</ul>").unwrap()];
    assert_eq!(summary.matches("<li>").count(), 2, "a line per server: {summary}");
    for words in ["MariaDB 10.11.19", "1 connection, same: tcp is slower", "16 connections, same", "Redis 7.0.15"] {
        assert!(summary.replace('\u{a0}', " ").contains(words), "{words}: {summary}");
    }
}

#[test]
fn r20_each_cell_of_a_verdict_says_its_column_where_rows_are_blocks() {
    let html = page_of(&record(vec![comparison(1, Placement::Same, [94_900.0, 79_800.0])], Vec::new()));
    for label in ["connections", "placement", "unix", "tcp", "tax (tcp vs unix)", "per request", "verdict"] {
        assert!(html.contains(&format!("data-label=\"{label}\"")), "{label}: {html}");
    }
    // On screens up to 900 px wide the rows become blocks, so that no verdict is cut off at the side.
    assert!(html.contains("class=\"wide judged\""));
    let narrow = html.split("(max-width:900px)").nth(1).unwrap();
    let rules = narrow.split("@media").next().unwrap();
    assert!(rules.contains(".judged thead{display:none}"), "{rules}");
}
