//! Tests of single rules of the report, each on a record that is made for the test.
//!
//! The terminal is so wide that no line is broken, so that a test can search for a whole sentence.

use looptax_model::record::{
    Client, ClientLike, ClientLimit, ClientLimitCause, Comparison, Direction, Disturbance, Figure, Meetings, Parts,
    Placement, RateModes, Reason, Record, Sampling, SizeCause, Syscalls, UncertainSize, Verdict, Why,
};
use looptax_report::terminal::{Style, compare};

use crate::made_up::{arm, comparison, look, record, target, tax};

const WIDE: Style = Style { width: 1_000, color: false, unicode: true };
use crate::{VERBOSE, verbose};

fn one() -> Comparison {
    comparison(1, Placement::Same, [94_900.0, 79_800.0])
}

/// Makes a comparison with this verdict.
fn judged(verdict: Verdict, reason: Reason) -> Comparison {
    let mut comparison = one();
    comparison.tax[0].verdict = verdict;
    comparison.tax[0].direction = match verdict {
        Verdict::Difference | Verdict::Negligible => Some(Direction::OtherSlower),
        _ => None,
    };
    comparison.tax[0].reason = reason;
    comparison
}

fn text_of(comparisons: Vec<Comparison>) -> String {
    compare(&record(comparisons, Vec::new()), VERBOSE, WIDE)
}

#[track_caller]
fn check(comparison: Comparison, expected: &[&str]) {
    let text = text_of(vec![comparison]);
    for words in expected {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
}

/// Checks the text about a comparison whose client is the bottleneck on the arm `unix`.
#[track_caller]
fn check_limit(cause: ClientLimitCause, expected: &str) {
    let mut limited = one();
    limited.tax[0].diagnostics.client_limits = vec![ClientLimit { arm: "unix".to_owned(), cause }];
    let end = format!("CPU time per request; on unix, {expected}");
    check(limited, &[&end]);
}

#[test]
fn a_verdict_says_that_the_client_is_the_bottleneck() {
    check_limit(
        ClientLimitCause::OwnCode { share_pct: 61.7 },
        "the client's own code takes 62 % of all CPU time per request",
    );
    check_limit(
        ClientLimitCause::BusyCores { busy_pct: 97.2 },
        "the cores that the client has for itself are 97 % busy",
    );
    check_limit(ClientLimitCause::Late { by_us: 41.0 }, "requests are sent late: the p99 of the delay is 41.0 µs");
}

#[test]
fn every_verdict_has_its_words() {
    check(one(), &["tcp is slower", "against unix, tcp costs 15.9 % [15.4, 16.4] of throughput"]);
    let mut just = one();
    just.tax[0].latency_us.mean = Figure::new(2.0, -0.1, 4.1, 10);
    check(just, &["tcp is just slower"]);
    check(
        comparison(4, Placement::Split, [30_000.0, 36_000.0]),
        &["tcp is faster", "tcp serves more than unix: a tax of -20.0 % [-20.5, -19.5] of throughput"],
    );
    check(
        judged(Verdict::Negligible, Reason::ExcludesZero),
        &["real but negligible", "tcp differs from unix, by less than 1 %"],
    );
    check(
        judged(Verdict::Equivalent, Reason::InsideDelta),
        &["no difference that matters (within ±1 %)", "serve alike, within ±1 %"],
    );
}

#[test]
fn cpu_time_is_told_where_throughput_tells_nothing_and_where_the_two_disagree() {
    let wide = Reason::TooWide { half_width_pct: 3.0, lo_pct: -2.0, hi_pct: 4.0, n_epochs_needed: 90 };
    let mut open = judged(Verdict::Inconclusive, wide);
    open.tax[0].dearer_by_cpu = Some(Direction::OtherSlower);
    let more = "CPU time shows more: tcp takes more CPU time, a difference of +1.0 µs [0.9, 1.1] per request";
    check(open.clone(), &["inconclusive; tcp takes more CPU time", more]);
    open.tax[0].dearer_by_cpu = Some(Direction::OtherFaster);
    check(open, &["inconclusive; unix takes more CPU time"]);
    let mut waits = one();
    waits.tax[0].cpu_us.both = Figure::new(0.1, -0.2, 0.4, 10);
    check(
        waits.clone(),
        &["; at most 0.40 µs of this difference can be CPU time: the rest is waiting, with unmeasured causes"],
    );
    waits.tax[0].cpu_us.both = Figure::new(1.9, -0.1, 4.0, 10);
    check(
        waits,
        &["; the run does not show whether CPU time is a part of the difference (+1.9 µs [-0.1, 4.0] per request)"],
    );
    let mut alike = judged(Verdict::Equivalent, Reason::InsideDelta);
    alike.tax[0].starred = vec!["cpu_us.both".to_owned()];
    check(alike, &["the CPU time differs nevertheless (+1.0 µs [0.9, 1.1] per request)"]);
}

#[test]
fn where_a_servers_own_clients_run_is_told_and_mixes_both_placements() {
    let at = |placement, rates| {
        let mut it = comparison(1, placement, rates);
        it.target.meetings = Some(Meetings { programs: vec!["php-fpm8.2".to_owned()], n_looks: 800, n_same: 200 });
        it
    };
    let same = at(Placement::Same, [94_900.0, 79_800.0]);
    let split = at(Placement::Split, [25_000.0, 20_000.0]);
    let seen = "the server's own clients (php-fpm8.2) were on the server's core in 25 % of 800 readings before the \
        measurement: ";
    let text = text_of(vec![same.clone(), split]);
    assert!(
        text.contains(&format!("{seen}if their requests are spread like these readings, the difference is 19.7 %")),
        "{text}"
    );
    check(same, &[seen, "the readings show both placements; --placement same,split measures both"]);
}

#[test]
fn an_open_verdict_says_what_would_help() {
    let wide = Reason::TooWide { half_width_pct: 3.0, lo_pct: -2.0, hi_pct: 4.0, n_epochs_needed: 90 };
    // 43 s: 90 epochs of 8 slices of 60 ms each.
    let help = "a tax of -2.0 to 4.0 % is possible; about 90 epochs (43 s) may help (--fixed)";
    check(judged(Verdict::Inconclusive, wide.clone()), &["inconclusive", help]);
    let mut free = judged(Verdict::Inconclusive, wide);
    free.placement.asked = Placement::Free;
    check(free, &["with the cores left to the scheduler", "and so may --placement same"]);
    // Only one in three epochs of `why` counts, so three times as many epochs are needed.
    let few = Reason::TooFewEpochs { have: 4, need: 6 };
    let mut sampled = judged(Verdict::Inconclusive, few);
    sampled.why = vec![Why::unmeasured([0, 1], Sampling::default(), Vec::new())];
    check(sampled, &["4 epochs of at least 6; about 18 epochs (9 s) may help (--fixed)"]);
    let few = Reason::TooFewEpochs { have: 1, need: 9 };
    check(judged(Verdict::Inconclusive, few), &["1 epoch of at least 9"]);
    let guard = Reason::GuardTransient { ratios: [0.994, 0.81], verdict: Verdict::Negligible };
    check(
        judged(Verdict::Inconclusive, guard),
        &["would be \"real but negligible\", but", "unix runs at 99 % of its later rate, tcp at 81 %"],
    );
}

fn disturbance(steal_pct: f64, foreign_pct: f64) -> Disturbance {
    Disturbance { n_epochs: 10, is_throughout: true, steal_pct, foreign_pct }
}

#[test]
fn a_verdict_says_under_which_disturbance_it_was_measured() {
    let while_others = |disturbance| {
        let mut busy = one();
        busy.tax[0].disturbance = Some(disturbance);
        busy
    };
    let steal = "CPU time per request; measured while the hypervisor took 2.5 % of the time\n";
    check(while_others(disturbance(2.5, 1.0)), &[steal]);
    let both = "; measured while the hypervisor took 2.5 % and other work took 20.0 % of the time\n";
    check(while_others(disturbance(2.5, 20.0)), &[both]);
    // If there were undisturbed epochs too, they have shown the same result, so the disturbance is not mentioned.
    let in_part = Disturbance { is_throughout: false, ..disturbance(2.5, 1.0) };
    let text = text_of(vec![while_others(in_part)]);
    assert!(!text.contains("measured while"), "{text}");
}

#[test]
fn who_loses_is_said_where_only_the_size_is_uncertain() {
    let parts_differ = |parts| Reason::PartsDiffer {
        parts,
        n_epochs: [8, 12],
        tax_pct: [14.2, 0.6],
        verdicts: [Verdict::Difference, Verdict::Negligible],
        directions: [Some(Direction::OtherSlower); 2],
        p_value: 0.001,
        verdict: Verdict::Difference,
    };
    let mut busy = judged(Verdict::Inconclusive, parts_differ(Parts::Disturbed));
    check(
        busy.clone(),
        &[
            "other programs or the hypervisor took CPU time in 8 of 20 epochs",
            "the tax differed: 14.2 % (\"tcp is slower\") in these epochs, 0.6 % (\"real but negligible\") in the \
             others",
        ],
    );
    let drifted = judged(Verdict::Inconclusive, parts_differ(Parts::Halves));
    check(drifted, &["the effect drifted during the run: a tax of 14.2 % (\"tcp is slower\") in the first half"]);
    busy.tax[0].direction = Some(Direction::OtherSlower);
    busy.tax[0].disturbance = Some(disturbance(0.1, 20.0));
    let mut because = |cause, words: &str| {
        busy.tax[0].uncertain_size = Some(UncertainSize { cause, lo_pct: 0.4, hi_pct: 15.0 });
        let sentence = "against unix, tcp is slower";
        let expected = format!("{sentence}{words}; CPU time in this run: +1.0 µs [0.9, 1.1] per request\n");
        check(busy.clone(), &["tcp is slower, size uncertain", &expected]);
    };
    let busy_words =
        ", by 0.4 to 15.0 % while the machine was busy (20.0 % other work); the size on a quiet machine is not known";
    because(SizeCause::Disturbed, busy_words);
    because(SizeCause::Drifted, "; the size is uncertain (0.4 to 15.0 %): the difference changed during the run");
    because(
        SizeCause::UnevenStart,
        "; the size is uncertain (0.4 to 15.0 %): a part of the difference appears right after each change between \
         the arms",
    );
    // If only some epochs were disturbed, the share is that of these epochs.
    busy.tax[0].disturbance = Some(Disturbance { is_throughout: false, ..disturbance(0.1, 22.0) });
    busy.tax[0].uncertain_size = Some(UncertainSize { cause: SizeCause::Disturbed, lo_pct: 0.4, hi_pct: 15.0 });
    check(busy, &["the machine was busy in 10 epochs (22.0 % other work)"]);
}

#[test]
fn stalls_that_make_another_answer_of_it_stand_beside_the_answer() {
    let with = |total| {
        let mut it = one();
        it.tax[0].diagnostics.totals_disagree = Some(true);
        it.tax[0].total_throughput_pct = total;
        text_of(vec![it])
    };
    let far = with(Figure::new(4.0, -78.0, 48.0, 20));
    assert!(far.contains("; with all stalls counted the tax is 4.0 % [-78.0, 48.0]: inspect the stalls"), "{far}");
    let near = with(Figure::new(14.9, 13.9, 16.9, 20));
    assert!(!near.contains("inspect the stalls"), "{near}");
}

#[test]
fn an_invalid_measurement_shows_no_tax() {
    let reasons = vec!["two servers".to_owned(), "3 errors".to_owned()];
    let comparison = judged(Verdict::Invalid, Reason::Invalid { reasons });
    check(comparison.clone(), &["invalid", "tcp against unix cannot be used: two servers; 3 errors"]);
    let text = text_of(vec![comparison]);
    assert!(!text.contains("15.9 %") && !text.contains("+2.0"), "{text}");
}

#[test]
fn arms_that_lead_to_processes_of_their_own_are_told_under_the_heading() {
    let mut memcached = one();
    memcached.target = target("memcached", "1.6.18");
    memcached.target.processes_per_arm = Some(2);
    let expected = [
        "memcached 1.6.18, ",
        "\n  unix and tcp are separate processes, because memcached serves a socket or TCP, not both; each has 2 \
         processes with",
        "for every epoch a coin picks one process of unix and one process of tcp\n",
    ];
    check(memcached, &expected);
    let text = text_of(vec![one()]);
    assert!(!text.contains("separate processes"), "{text}");
}

#[test]
fn a_verdict_names_who_waits_like_that_for_this_server() {
    let mut redis = one();
    redis.target = target("redis", "7.0.15");
    redis.client = Client::Block;
    redis.placement.asked = Placement::ClientPinned;
    let expected = ["Redis 7.0.15, ", "client block (waits as hiredis)", "with only the client pinned"];
    check(redis, &expected);
    let mut echo = one();
    echo.target = target("echo", "");
    check(echo, &["echo (no database), ", "tries to receive, polls, receives"]);
}

#[test]
fn a_real_client_that_was_asked_for_is_named_with_what_it_does_besides() {
    let like = |library: &str, models: [Client; 2], differs: &str| ClientLike {
        name: "x".to_owned(),
        library: library.to_owned(),
        models: models.to_vec(),
        differs: differs.to_owned(),
    };
    let mut php = one();
    php.client_like = Some(like("PHP's mysqlnd", [Client::PollFirst; 2], ""));
    let expected = ["client poll-first (as PHP's mysqlnd waits)", "client waits as PHP's mysqlnd does"];
    check(php.clone(), &expected);
    assert!(!text_of(vec![php]).contains("itself"));
    let mut java = one();
    let models = [Client::Block, Client::Poll];
    java.client_like = Some(like("pgjdbc", models, "asks twice"));
    let expected = [
        "client block over unix, poll over tcp (much as pgjdbc waits)",
        "client waits much as pgjdbc does",
        "pgjdbc itself asks twice",
    ];
    check(java, &expected);
}

#[test]
fn a_running_server_is_called_by_its_name() {
    let mut running = one();
    running.target.private = false;
    running.target.name = "mysql://root@db".to_owned();
    check(running, &["running server mysql://root@db"]);
}

#[test]
fn several_arms_have_a_tax_each_and_name_both_sides() {
    let mut three = one();
    three.arms.push(arm("tls", 60_000.0, 16.7));
    three.tax.push(tax("tls", 36.8, 6.1));
    let text = text_of(vec![three]);
    assert!(text.contains("tcp vs unix  15.9 % [15.4, 16.4]"), "{text}");
    assert!(text.contains("tls vs unix  36.8 % [36.3, 37.3]"), "{text}");
    assert_eq!(text.matches("94.9K/s").count(), 1, "{text}");
    assert!(text.contains("2 verdicts, each with its own chance of 5 %"), "{text}");
}

#[test]
fn counts_modes_and_totals_stand_beside_the_verdict() {
    let mut it = one();
    it.arms[0].syscalls_per_query = Some(Syscalls { send: 1.0, receive: 1.9, wait: 0.9 });
    it.client = Client::Block; // the counts of a single client are shown only if they explain something
    let found = &mut it.tax[0].diagnostics;
    found.modes.push(RateModes { arm: "unix".to_owned(), low_per_s: 5e4, high_per_s: 1.05e5 });
    found.totals_disagree = Some(true);
    check(
        it,
        &[
            "unix 1.00 send, 1.90 receive, 0.90 wait, 1.00 [0.98, 1.02] switches",
            "the rate of unix jumps between 50.0K/s and 105K/s",
            "with all stalls counted, the tax of tcp differs: 15.9 % [13.9, 17.9]",
        ],
    );
}

#[test]
fn a_blocked_client_that_is_woken_in_vain_is_explained() {
    let calls = Syscalls { send: 1.0, receive: 1.0, wait: 0.0 };
    let mut it = one();
    it.client = Client::Block;
    it.arms[0].proof.family = "AF_UNIX".to_owned();
    it.arms[0].syscalls_per_query = Some(calls);
    it.arms[0].context_switches_per_query = Figure::new(1.65, 1.6, 1.7, 20);
    check(it.clone(), &["on unix a client that blocks in receive leaves its core 1.6 times per request"]);
    it.arms[0].context_switches_per_query = Figure::new(1.0, 0.9, 1.1, 20);
    let text = compare(&record(vec![it], Vec::new()), VERBOSE, WIDE);
    assert!(!text.contains("wake"), "{text}");
}

#[test]
fn what_was_not_measured_is_not_shown() {
    let mut it = one();
    it.tax[0].latency_us.mean = Figure::missing("broken off");
    it.tax[0].cpu_us.both = Figure::missing("not readable");
    it.arms[1].throughput_per_s = Figure::missing("nothing answered");
    it.arms[1].latency_us.mean = Figure::missing("nothing answered");
    let text = text_of(vec![it.clone()]);
    assert!(text.contains("n/a") && !text.contains("CPU time"), "{text}");
    it.tax.clear();
    check(it, &["stopped before there was a verdict", "no verdict in this run"]);
}

#[track_caller]
fn check_look(ranges: [(f64, f64); 2], expected: &str) {
    let text = compare(&record(Vec::new(), vec![look(16, ranges)]), VERBOSE, WIDE);
    assert!(text.contains(expected), "{text}");
    assert!(!text.contains('['), "a look has no interval:\n{text}");
}

#[test]
fn a_look_shows_what_was_seen_and_no_verdict() {
    let moved = "not judged in 10 s: the rate varied by 2.1 times (--placement free)";
    check_look([(50e3, 105e3), (57e3, 106e3)], moved);
    check_look([(100e3, 105e3), (90e3, 100e3)], "these rates were seen");
    check_look([(0.0, 105e3), (90e3, 100e3)], "at times the server did not answer");
}

#[track_caller]
fn check_placement(split_per_s: f64, says_so: bool) {
    let same = comparison(16, Placement::Same, [150_000.0, 128_000.0]);
    let split = comparison(16, Placement::Split, [split_per_s, split_per_s * 0.9]);
    // A comparison at another number of connections must not be used.
    let one = comparison(1, Placement::Split, [10_000.0, 9_000.0]);
    let text = text_of(vec![same, split, one]);
    assert_eq!(text.contains("placement matters more than transport here"), says_so, "{text}");
}

#[test]
fn placement_is_named_when_it_matters_more() {
    check_placement(36_000.0, true);
    check_placement(140_000.0, false);
}

#[test]
fn a_hostile_server_cannot_steer_the_terminal() {
    let evil = "\u{1b}[2J\u{202e}\r\n\u{9b}1m";
    let mut it = one();
    it.target.version = evil.to_owned();
    it.target.private = false;
    for field in [&mut it.target.name, &mut it.workload.name, &mut it.arms[1].name, &mut it.tax[0].arm] {
        field.push_str(evil);
    }
    it.workload.protocol = Some(evil.to_owned());
    it.warnings.push(evil.to_owned());
    let mut bad = judged(Verdict::Invalid, Reason::Invalid { reasons: vec![evil.to_owned()] });
    bad.target.kind = evil.to_owned();
    let mut seen = look(1, [(1.0, 2.0), (1.0, 2.0)]);
    seen.reason = Some(evil.to_owned());
    let mut all: Record = record(vec![it, bad], vec![seen]);
    all.problems.push(evil.to_owned());
    for width in [60, 1_000] {
        let text = compare(&all, verbose(evil), Style { width, ..WIDE });
        let is_bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(is_bad), "{text:?}");
        assert!(text.contains(r"\u{1b}[2J\u{202e}"), "{text}");
    }
}

#[test]
fn colour_adds_codes_and_nothing_else() {
    let record = record(vec![one()], vec![look(1, [(1e3, 2e3), (1e3, 2e3)])]);
    for width in [60, 80, 130] {
        let plain = compare(&record, VERBOSE, Style { width, ..WIDE });
        let colored = compare(&record, VERBOSE, Style { width, color: true, ..WIDE });
        assert!(colored.contains("\u{1b}[31mtcp is slower\u{1b}[0m"), "{colored}");
        let codes = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[31m"];
        let stripped = codes.iter().fold(colored, |text, code| text.replace(code, ""));
        assert_eq!(stripped, plain);
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let both = vec![one(), judged(Verdict::Equivalent, Reason::InsideDelta)];
    let record = record(both, vec![look(16, [(50e3, 105e3), (57e3, 106e3)])]);
    for width in 60..140 {
        let text = compare(&record, VERBOSE, Style { width, ..WIDE });
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(width), "{width}:\n{text}");
    }
}

#[test]
fn ascii_is_enough_when_nothing_else_is_shown() {
    let equivalent = judged(Verdict::Equivalent, Reason::InsideDelta);
    let record = record(vec![one(), equivalent], Vec::new());
    let text = compare(&record, verbose("Größe.json"), Style { unicode: false, ..WIDE });
    assert!(text.is_ascii(), "{text}");
    assert!(text.contains("(within +/-1 %)"), "{text}");
}

#[test]
fn comparisons_of_one_server_stand_together() {
    let mut redis = one();
    redis.target = target("redis", "7.0.15");
    let mut block = one();
    block.client = Client::Block;
    let text = text_of(vec![one(), redis, block]);
    assert_eq!(text.matches("MariaDB 10.11.19").count(), 1, "{text}");
    let place = |words: &str| text.find(words).unwrap();
    assert!(place("client poll") < place("client block") && place("client block") < place("Redis"));
}

#[test]
fn a_sweep_is_drawn_on_one_scale() {
    let at = |connections, per_s| comparison(connections, Placement::Same, per_s);
    let sweep = record(
        vec![at(1, [100_000.0, 50_000.0]), at(2, [200_000.0, 100_000.0]), at(4, [400_000.0, 100_000.0])],
        Vec::new(),
    );
    let style = |unicode| Style { width: 72, color: false, unicode };
    let text = compare(&sweep, VERBOSE, style(true));
    let picture: Vec<&str> = text.lines().filter(|line| line.contains('█')).collect();
    assert_eq!(picture.len(), 6, "{text}");
    let longest = picture.iter().map(|line| line.chars().count()).max();
    assert!(longest.is_some_and(|it| (66..=72).contains(&it)), "{text}");
    let n_blocks = |line: &str| line.matches('█').count();
    assert_eq!(n_blocks(picture[4]), 2 * n_blocks(picture[2]), "{text}");
    assert!(compare(&sweep, VERBOSE, style(false)).is_ascii());
}
