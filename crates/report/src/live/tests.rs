//! Tests of the display in windows of several sizes.

use looptax_model::record::Estimate;

use super::*;

const PLAIN: Style = Style { width: 80, color: false, unicode: true };

/// Draws the view in an area of this size, and returns its text line by line.
fn drawn(view: &View, style: Style, width: u16, height: u16) -> Vec<String> {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    draw(view, style, area, &mut buffer);
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| row(y).trim_end().to_owned()).collect()
}

fn pair() -> Pair {
    let mut pair = Pair::new("unix, tcp, poll", ["unix", "tcp"]);
    pair.is_warming_up = false;
    pair.n_epochs = 14;
    pair.n_epochs_at_most = 120;
    pair.next_look = Some(20);
    pair.tax_pct = Some(Estimate { value: 15.66, lo: Some(14.9), hi: Some(16.4), n: 14 });
    pair.taxes_pct = (0..14).map(|idx| 14.0 + f64::from(idx % 4)).collect();
    for (arm, (per_s, ns)) in pair.arms.iter_mut().zip([(52_310.0, 18_000), (44_120.0, 22_000)]) {
        arm.rates_per_s = vec![per_s; 14];
        for step in 0..1_000 {
            arm.latencies_ns.saturating_record(ns + step * 20);
        }
    }
    pair
}

fn view() -> View {
    let step = |label: &str| Step { label: label.to_owned(), at_most_s: Some(60.0) };
    View {
        steps: vec![
            step("private:mariadb, 1 connection, same"),
            step("private:mariadb, 16 connections, same"),
            step("private:redis, 1 connection, same"),
        ],
        at: 1,
        title: "private MariaDB 10.11, 16 connections, same, point-select".to_owned(),
        pairs: vec![pair()],
        left_s: Some(79.2),
        has_keys: true,
        ..View::default()
    }
}

#[test]
fn arms_interval_latencies_dots_and_what_comes_next() {
    insta::assert_snapshot!(drawn(&view(), PLAIN, 80, 28).join("\n"));
}

#[test]
fn a_terminal_without_signs_gets_ascii() {
    let style = Style { unicode: false, ..PLAIN };
    let lines = drawn(&view(), style, 80, 28).join("\n");
    assert!(lines.is_ascii(), "{lines}");
    insta::assert_snapshot!(lines);
}

#[test]
fn a_small_window_keeps_the_numbers_and_the_key() {
    for height in 1..40 {
        for width in [20, 60, 200] {
            let lines = drawn(&view(), PLAIN, width, height);
            assert!(lines.last().is_some_and(|line| line.starts_with("q ends the run")));
        }
    }
    let lines = drawn(&view(), PLAIN, 60, 10).join("\n");
    assert!(lines.contains("tax   15.7 % [14.9, 16.4] so far"), "{lines}");
    assert!(lines.contains("44.1K/s"), "{lines}");
}

#[test]
fn before_the_first_epoch_there_is_nothing_to_see_and_nothing_falls_over() {
    let view = View { pairs: vec![Pair::new("unix, tcp, poll", ["unix", "tcp"])], ..view() };
    let lines = drawn(&view, PLAIN, 80, 20).join("\n");
    assert!(lines.contains("nothing yet"), "{lines}");
    drawn(&View::default(), PLAIN, 0, 0);
    drawn(&View::default(), PLAIN, 80, 5);
}

#[test]
fn whole_commands_show_how_long_a_run_takes() {
    let mut view = view();
    view.unit = Unit::Runs;
    view.pairs[0].arms[0].rates_per_s = vec![0.5];
    let lines = drawn(&view, PLAIN, 80, 20).join("\n");
    assert!(lines.contains("2.00 s a run") || lines.contains("2000 ms a run"), "{lines}");
    assert!(!lines.contains("p99"), "{lines}");
}

#[test]
fn a_hostile_name_cannot_steer_the_terminal() {
    let mut view = view();
    view.title = "My\u{1b}[2JSQL\u{202e}".to_owned();
    view.pairs[0].name = "unix\u{7}".to_owned();
    let lines = drawn(&view, PLAIN, 80, 20).join("\n");
    assert!(lines.contains("\\u{1b}[2JSQL\\u{202e}"), "{lines}");
    assert!(!lines.contains('\u{7}'));
}
