//! Tests of the parts of a request's CPU time, as the page shows them.

use looptax_model::record::{Arm, Comparison, Figure, Placement, Record, SampledPart, Sampling, Stacks, Why, WhyRow};
use looptax_report::html::{ChainsShown, FrameShown, page};
use looptax_report::terminal::{self, Style};

use crate::VERBOSE;

use crate::html::{HOSTILE, shown, text_of};
use crate::made_up::{comparison, record};

fn row(name: &str, us: [f64; 2]) -> WhyRow {
    let around = |us: f64| Figure::new(us, us - 0.1, us + 0.1, 10);
    WhyRow { name: name.to_owned(), arms: us.map(around), difference: around(us[1] - us[0]), p: None }
}

fn why(name: &str) -> Why {
    let sampling = Sampling {
        event: "cpu-clock".to_owned(),
        period_ns: 111_111,
        cores: 1,
        sees_kernel: true,
        n_samples: 86_000,
        n_of_others: 12,
        n_lost: 3,
        notes: vec![format!("{name} is not seen")],
    };
    Why {
        stacks: Stacks { requests: [1_000, 2_000], left_out_ns: [50_000, 0], ..Stacks::default() },
        rows: vec![row(name, [1.5, 12.25])],
        sum: Some(row("sum", [1.5, 12.25])),
        sampled: Some(row("by samples", [1.6, 12.4])),
        by_clocks: Some(row("by the kernel's clocks", [1.25, 12.5])),
        without_sampler: Some(row("without the sampler", [1.0, 12.0])),
        idle: None,
        sampler_pct: Some(Figure::new(2.0, 1.5, 2.5, 10)),
        counts: vec![row("wake-ups", [2.0, 1.5])],
        invalid: vec![format!("{name} was lost")],
        ..Why::unmeasured([0, 1], sampling, vec![name.to_owned()])
    }
}

fn chains(name: &str) -> ChainsShown {
    let frame = |depth, name, ns| FrameShown { depth, name, ns };
    ChainsShown {
        names: vec!["all processes".to_owned(), name.to_owned()],
        frames: vec![frame(0, 0, [50_000, 0]), frame(1, 1, [1_450_000, 24_500_000])],
    }
}

fn sampled(why: Why) -> Record {
    let mut sampled = comparison(1, Placement::Same, [94_900.0, 79_800.0]);
    sampled.why = vec![why];
    record(vec![sampled], Vec::new())
}

fn page_of(record: &Record, chains: Option<Result<ChainsShown, String>>) -> String {
    let mut shown = shown(record);
    shown.details[0].chains = chains.into_iter().collect();
    page(&[shown])
}

#[test]
fn layers_sum_checks_and_counts_stand_on_the_page_without_its_script() {
    let record = sampled(why("TCP, IP"));
    let text = text_of(&page_of(&record, Some(Ok(chains("tcp_sendmsg")))));
    for words in [
        "CPU time of a request by layer, tcp vs unix",
        "TCP, IP was lost",
        "TCP, IP 1.5 µs [1.4, 1.6] 12.2 µs [12.2, 12.3] +10.8 µs [10.7, 10.8]",
        "without the sampler 1.0 µs [0.9, 1.1] 12.0 µs [11.9, 12.1] +11.0 µs [10.9, 11.1]",
        "wake-ups 2.00 [1.90, 2.10] 1.50 [1.40, 1.60] -0.50 [-0.60, -0.40]",
        "86000 samples in 0 epochs, 3 lost, 12 of other processes; with it a request takes 2.0 % [1.5, 2.5] more CPU time",
        "TCP, IP is not seen",
        "The flame graph needs the page's script",
        "Rare chains are left out to save space: 0.05 µs per request on unix, 0.00 µs on tcp.",
        "Frames include the sampler's own part, but the layers above exclude it",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
}

#[test]
fn the_script_gets_each_nanosecond_and_the_requests_that_it_belongs_to() {
    let record = sampled(why("TCP, IP"));
    let html = page_of(&record, Some(Ok(chains("tcp_sendmsg"))));
    let drawn = r#""chains":{"requests":[1000,2000],"names":["all processes","tcp_sendmsg"],"depth":[0,1],"name":[0,1],"ns":[[50000,1450000],[0,24500000]]}"#;
    assert!(html.contains(drawn), "{html}");
}

#[test]
fn why_there_is_no_flame_graph_is_said() {
    let no_requests = || {
        let mut why = why("TCP, IP");
        why.stacks.requests = [0, 5];
        sampled(why)
    };
    for (record, chains, reason) in [
        (sampled(why("a")), None, "the record holds no call chains"),
        (sampled(why("a")), Some(Err("broken".to_owned())), "broken"),
        (sampled(why("a")), Some(Ok(ChainsShown::default())), "the record holds no call chains"),
        (no_requests(), Some(Ok(chains("f"))), "the record holds no call chains"),
    ] {
        let html = page_of(&record, chains);
        let said = format!("Not shown: {reason}.");
        assert!(text_of(&html).contains(&said), "no {said:?}");
        assert!(!html.contains("data-flame "), "{reason}");
    }
}

#[test]
fn no_name_of_a_frame_or_a_layer_becomes_markup() {
    let names = ["std::vector<int>::operator[](&)", HOSTILE];
    let page = |name: &str| page_of(&sampled(why(name)), Some(Ok(chains(name))));
    let own = page("plain").matches("</script").count();
    for name in names {
        let html = page(name);
        assert_eq!(html.matches("</script").count(), own);
        let before = html.split_once("<script>").unwrap().0;
        for forbidden in ["<img", "<int", "<!--", "\u{202e}", "\u{1b}"] {
            assert!(!before.contains(forbidden), "{forbidden:?}");
        }
    }
    let html = page(names[0]);
    assert!(html.contains(r#""std::vector\u003cint\u003e::operator[](\u0026)""#));
    assert!(html.contains("std::vector&lt;int&gt;::operator[](&amp;)</th>"));
}

fn wide() -> Style {
    Style { width: 1_000, color: false, unicode: true }
}

#[test]
fn of_several_pairs_each_table_and_note_says_of_which_it_is() {
    let mut sampled = comparison(1, Placement::Same, [94_900.0, 79_800.0]);
    let nat = Arm { name: "nat".to_owned(), ..sampled.arms[1].clone() };
    sampled.arms.push(nat);
    let with_nat = Why { pair: [0, 2], sampler_pct: Some(Figure::new(-3.0, -4.5, 0.5, 10)), ..why("TCP, IP") };
    sampled.why = vec![why("TCP, IP"), with_nat];
    let one = terminal::compare(&record(vec![sampled.clone()], Vec::new()), VERBOSE, wide());
    for words in [
        "client and server together: 1 connection, same, tcp vs unix",
        "client and server together: 1 connection, same, nat vs unix",
        "counted per request: 1 connection, same, nat vs unix",
        "tcp vs unix: with the sampler a request takes 2.0 % [1.5, 2.5] more CPU time, on average for both arms",
        "nat vs unix: with the sampler a request takes 3.0 % [-0.5, 4.5] less CPU time, on average for both arms",
        "nat vs unix: with the sampler on, samples and the kernel's clocks show",
    ] {
        assert!(one.contains(words), "no {words:?} in\n{one}");
    }
    for once in ["sampled by cpu-clock", "TCP, IP is not seen"] {
        assert_eq!(one.matches(once).count(), 1, "{once:?} in\n{one}");
    }
    let many = Comparison { connections: 16, ..sampled.clone() };
    let both = record(vec![sampled, many], Vec::new());
    let both = terminal::compare(&both, VERBOSE, wide());
    for words in
        ["16 connections, same: sampled by cpu-clock", "16 connections, same, nat vs unix: with the sampler a request"]
    {
        assert!(both.contains(words), "no {words:?} in\n{both}");
    }
    assert_eq!(both.matches("TCP, IP is not seen").count(), 1, "{both}");
}

#[test]
fn rows_of_nothing_but_zeros_are_left_out_in_every_view() {
    let zero = |name: &str, half: f64| WhyRow {
        name: name.to_owned(),
        arms: [0.001, 0.0].map(|us| Figure::new(us, us, us, 10)),
        difference: Figure::new(-0.001, -half, half, 10),
        p: None,
    };
    let mut with_zeros = why("TCP, IP");
    with_zeros.rows.push(zero("page faults", 0.002));
    with_zeros.rows.push(zero("interrupts", 0.02));
    with_zeros.counts.push(WhyRow { arms: [0.0; 2].map(|it| Figure::new(it, it, it, 10)), ..zero("softirqs", 0.0) });
    let record = sampled(with_zeros);
    let html = page_of(&record, None);
    for view in [terminal::compare(&record, VERBOSE, wide()), html] {
        assert!(view.contains("interrupts"), "as far as is known, it may be more");
        for words in ["page faults", "softirqs"] {
            assert!(!view.contains(words), "{words:?} in\n{view}");
        }
    }
}

#[test]
fn the_fold_of_the_layers_is_named_and_stands_first_and_the_run_has_its_name() {
    let mut record = sampled(why("TCP, IP"));
    record.id = "20261124-202701-25003".to_owned();
    let text = text_of(&page_of(&record, None));
    assert!(text.contains("run 20261124-202701-25003"), "{text}");
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("no {words:?} in\n{text}"));
    assert!(at("layers and flame graph, latency") < at("sampled by cpu-clock"));
    assert!(at("CPU time of a request by layer") < at("client poll"));
}

/// Removes the intervals.
fn few(mut why: Why) -> Why {
    let open = |figure: &mut Figure| {
        let value = figure.known().unwrap().value;
        *figure = Figure::new(value, f64::NEG_INFINITY, f64::INFINITY, 2);
    };
    let rows = why.rows.iter_mut().chain(&mut why.sum);
    let rows = rows.chain(&mut why.sampled).chain(&mut why.by_clocks);
    for row in rows.chain(&mut why.without_sampler).chain(&mut why.counts) {
        row.arms.iter_mut().for_each(open);
        open(&mut row.difference);
    }
    open(why.sampler_pct.as_mut().unwrap());
    why.invalid.clear();
    why
}

#[test]
fn figures_of_too_few_epochs_stand_without_intervals_and_add_up_to_nothing() {
    let record = sampled(few(why("TCP, IP")));
    let terminal = terminal::compare(&record, VERBOSE, wide());
    let page = text_of(&page_of(&record, None));
    for (view, words) in [
        (&terminal, "with it a request takes 2.0 % more CPU time"),
        (&terminal, "samples and the kernel's clocks show +10.8 µs and +11.2 µs;"),
        (&page, "TCP, IP 1.5 µs 12.2 µs +10.8 µs"),
        (&page, "wake-ups 2.00 1.50 -0.50"),
    ] {
        assert!(view.contains(words), "no {words:?} in\n{view}");
    }
    for view in [&terminal, &page] {
        let words = "figures without an interval are from too few epochs: 0 with the sampler, 2 without it";
        assert!(view.contains(words), "no {words:?} in\n{view}");
        for words in ["∞", "add up"] {
            let of_layers = view.split("CPU time of a request by layer").nth(1);
            let of_layers = of_layers.and_then(|it| it.split("record").next());
            assert!(!of_layers.unwrap_or_default().contains(words), "{words:?} in\n{view}");
        }
    }
}

/// Makes a comparison whose server spends its time in these functions: the name, whether it is a kernel function, and
/// the time in µs on each arm.
fn hot(connections: u32, functions: &[(&str, bool, [f64; 2])]) -> Comparison {
    let part = |function: Option<&str>, is_kernel, us| SampledPart {
        process: "server".to_owned(),
        function: function.map(str::to_owned),
        is_kernel,
        ns: Vec::new(),
        row: Some(row(function.unwrap_or("server"), us)),
    };
    let functions = functions.iter();
    let why = Why {
        processes: vec![part(None, false, [10.0, 20.0])],
        functions: functions.map(|(name, is_kernel, us)| part(Some(name), *is_kernel, *us)).collect(),
        ..why("TCP, IP")
    };
    Comparison { why: vec![why], ..comparison(connections, Placement::Same, [94_900.0, 79_800.0]) }
}

#[test]
fn functions_over_connections_have_a_row_for_each_arm_and_the_difference_in_every_view() {
    let one = hot(1, &[("memcpy", false, [1.0, 1.5]), ("memcpy", true, [0.2, 0.2])]);
    let many = hot(64, &[("memcpy", false, [2.0, 1.0]), (HOSTILE, false, [0.4, 0.5])]);
    let alone = record(vec![one.clone()], Vec::new());
    let both = record(vec![many, one], Vec::new());
    let style = Style { width: 120, color: false, unicode: true };
    let terminal = |record: &Record| terminal::compare(record, VERBOSE, style);
    assert!(!terminal(&alone).contains("hottest functions"));
    let plain = |text: &str| {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        words.replace(" ]", "]")
    };
    let views = [
        plain(&terminal(&both)),
        plain(&looptax_report::markdown(&both).replace(['|', '\\'], " ")),
        plain(&text_of(&page_of(&both, None))),
    ];
    for view in views {
        for words in [
            "the server's hottest functions by number of connections, same: CPU time per request in µs, and share of \
             the server's CPU time",
            "function 1 connection 64",
            "memcpy unix 1.00 10.0 % 2.00 20.0 %",
            "tcp 1.50 7.5 % 1.00 5.0 %",
            "difference +0.50 [0.40, 0.60] -1.00 [-1.10, -0.90]",
            "[k] memcpy unix 0.20 2.0 % - tcp 0.20 1.0 % - difference +0.00 [-0.10, 0.10] -",
            "unix - 0.40 4.0 % tcp - 0.50 2.5 % difference - +0.10 [0.00, 0.20]",
        ] {
            assert!(view.contains(words), "no {words:?} in\n{view}");
        }
    }
    let html = page_of(&both, None);
    let before = html.split_once("<script>").unwrap().0;
    assert!(!before.contains("<img"));
}
