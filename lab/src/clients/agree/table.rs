//! The results of real clients and models as a Markdown table that shows whether they agree.
//!
//! This file does no I/O. Each figure is the Hodges-Lehmann estimate over the rounds with its 95 % interval, which is
//! open for fewer than six rounds; the difference is computed within each round.

use std::fmt::Write;

use looptax_model::stats::{Estimate, hodges_lehmann};

use super::rates::{Measured, Rates, Round};

/// Largest allowed difference between the taxes, in percentage points.
const MOST_APART_POINTS: f64 = 3.0;
const ALPHA: f64 = 0.05;

/// Returns the table, with one line for each client.
pub(super) fn render_table(measured: &[Measured]) -> String {
    let mut text = String::from(
        "| client | model, unix and tcp | real unix /s | real tcp /s | real tax % | model unix /s | model tcp /s \
         | model tax % | difference, points | agree within 3 points | real tax, µs | model tax, µs \
         | difference, µs | client CPU per request over unix, µs, real and model |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for it in measured {
        text += &row(it);
    }
    text
}

fn row(it: &Measured) -> String {
    let over = |figure: &dyn Fn(&Round) -> f64| {
        let values: Vec<f64> = it.rounds.iter().map(figure).collect();
        hodges_lehmann::estimate(&values, ALPHA)
    };
    let apart = over(&|round| round.real.tax_pct() - round.model.tax_pct());
    let unix_cpu = |rates: fn(&Round) -> Rates| over(&|round| rates(round).cpu_us[0]);
    let cells = [
        format!("{} ({})", it.client.name, it.versions),
        format!("{}, {}", it.client.model.unix, it.client.model.tcp),
        shown(over(&|round| round.real.per_s[0]), 0),
        shown(over(&|round| round.real.per_s[1]), 0),
        shown(over(&|round| round.real.tax_pct()), 1),
        shown(over(&|round| round.model.per_s[0]), 0),
        shown(over(&|round| round.model.per_s[1]), 0),
        shown(over(&|round| round.model.tax_pct()), 1),
        shown(apart, 1),
        agreement(apart).to_owned(),
        shown(over(&|round| round.real.tax_us()), 2),
        shown(over(&|round| round.model.tax_us()), 2),
        shown(over(&|round| round.real.tax_us() - round.model.tax_us()), 2),
        format!("{}, {}", shown(unix_cpu(|round| round.real), 1), shown(unix_cpu(|round| round.model), 1)),
    ];
    let mut text = String::new();
    let _ = writeln!(text, "| {} |", cells.join(" | "));
    text
}

/// Returns "yes" if the whole interval is within the limit, "no" if the whole interval is outside it.
fn agreement(apart: Option<Estimate>) -> &'static str {
    match apart {
        Some(apart) if apart.lies_within(-MOST_APART_POINTS, MOST_APART_POINTS) => "yes",
        Some(Estimate { lo, hi, .. }) if lo > MOST_APART_POINTS || hi < -MOST_APART_POINTS => "no",
        Some(Estimate { value, .. }) if value.abs() <= MOST_APART_POINTS => "by its centre",
        _ => "open",
    }
}

fn shown(estimate: Option<Estimate>, n_decimals: usize) -> String {
    let Some(Estimate { value, lo, hi, .. }) = estimate else {
        return "n/a".to_owned();
    };
    if lo.is_finite() && hi.is_finite() {
        format!("{value:.n_decimals$} [{lo:.n_decimals$}, {hi:.n_decimals$}]")
    } else {
        format!("{value:.n_decimals$} [open]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::data::{Client, Models};

    fn measured(real_tcp: f64, n_rounds: usize) -> Measured {
        let rates = |tcp: f64| Rates { per_s: [100_000.0, tcp], cpu_us: [5.0, 6.0] };
        let round = Round { real: rates(real_tcp), model: rates(80_000.0) };
        let model = Models { unix: "block".to_owned(), tcp: "poll".to_owned() };
        Measured {
            client: Client {
                name: "jedis".to_owned(),
                library: "Jedis".to_owned(),
                users: String::new(),
                like: Vec::new(),
                servers: vec!["redis".to_owned()],
                model,
                differs: String::new(),
            },
            versions: "Jedis 8".to_owned(),
            rounds: vec![round; n_rounds],
        }
    }

    #[track_caller]
    fn check(real_tcp: f64, n_rounds: usize, words: &[&str]) {
        let text = render_table(&[measured(real_tcp, n_rounds)]);
        let n_cells: Vec<usize> = text.lines().map(|line| line.matches('|').count()).collect();
        assert_eq!(n_cells, [15, 15, 15]);
        for word in words {
            assert!(text.contains(word), "`{word}` is not in\n{text}");
        }
    }

    #[test]
    fn agreement_needs_the_whole_interval() {
        check(82_000.0, 7, &["| block, poll |", "-2.0 [-2.0, -2.0] | yes |"]);
        check(90_000.0, 7, &["| 10.0 [10.0, 10.0] |", "-10.0 [-10.0, -10.0] | no |"]);
        check(82_000.0, 2, &["-2.0 [open] | by its centre |"]);
        check(90_000.0, 2, &["-10.0 [open] | open |"]);
        check(82_000.0, 0, &["| n/a |"]);
    }
}
