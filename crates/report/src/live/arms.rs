//! Draws the table of a pair: each arm's rate, median and 99th percentile, its rate by epoch, and the tax so far.

use hdrhistogram::Histogram;

use super::layout::{COLORS, Rows};
use super::view::{ArmView, Pair, Unit};
use crate::format::{Text, counted, rate, run_time};

/// Number of epochs whose mean is the shown rate: enough for a steady number that is at most some seconds old.
const SHOWN_EPOCHS: usize = 8;
const LEVELS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
const ASCII_LEVELS: [&str; 9] = [" ", "_", "_", ".", "-", "-", "=", "=", "#"];

pub(super) fn draw(pair: &Pair, unit: Unit, rows: &mut Rows<'_>) {
    let text = rows.style.text();
    rows.words(&format!("{}: {}", text.clean(&pair.name), progress(pair)));
    let names = pair.arms.iter().map(|arm| text.clean(&arm.name));
    let widest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    for (idx, arm) in pair.arms.iter().enumerate() {
        let name = format!("  {:widest$}", text.clean(&arm.name));
        let numbers = numbers(arm, unit, text);
        let taken = name.chars().count() + numbers.chars().count() + 4;
        let columns = rows.width().saturating_sub(taken);
        let history = history(pair, idx, columns, rows.style.unicode);
        rows.parts(&[(&name, Some(COLORS[idx])), (&numbers, None), ("  ", None), (&history, Some(COLORS[idx]))]);
    }
    if let Some(tax) = tax(pair, text) {
        rows.strong(&format!("  {:widest$}  {tax} so far", "tax"));
    }
}

fn numbers(arm: &ArmView, unit: Unit, text: Text) -> String {
    let recent = &arm.rates_per_s[arm.rates_per_s.len().saturating_sub(SHOWN_EPOCHS)..];
    if recent.is_empty() {
        return "  nothing yet".to_owned();
    }
    let per_s = recent.iter().sum::<f64>() / recent.len() as f64;
    match unit {
        Unit::Runs => format!("  {:>9} a run", run_time(1e6 / per_s)),
        Unit::Requests => format!(
            "  {:>9}  p50 {:>9}  p99 {:>9}",
            rate(per_s),
            quantile(&arm.latencies_ns, 0.5, text),
            quantile(&arm.latencies_ns, 0.99, text)
        ),
    }
}

fn quantile(latencies_ns: &Histogram<u64>, quantile: f64, text: Text) -> String {
    if latencies_ns.is_empty() {
        return "n/a".to_owned();
    }
    text.micros(latencies_ns.value_at_quantile(quantile) as f64 / 1e3)
}

/// Returns a small chart of the arm's rate by epoch, with the newest epoch at the right. Its scale goes from zero to
/// the highest rate of both arms.
fn history(pair: &Pair, arm_idx: usize, columns: usize, is_unicode: bool) -> String {
    let newest = |arm: &ArmView| arm.rates_per_s.len().saturating_sub(columns);
    let shown = |arm: &'_ ArmView| arm.rates_per_s[newest(arm)..].to_vec();
    let most = pair.arms.iter().flat_map(shown).fold(0.0, f64::max);
    let levels = if is_unicode { LEVELS } else { ASCII_LEVELS };
    let level = |per_s: f64| levels[(per_s / most * 8.0).round() as usize];
    shown(&pair.arms[arm_idx]).into_iter().map(level).collect()
}

/// Returns `epoch 14 of at most 120, next judged after 20`.
fn progress(pair: &Pair) -> String {
    if pair.is_warming_up {
        return format!("warm-up, {}", counted(pair.n_epochs as u64, "epoch"));
    }
    let look = match pair.next_look {
        Some(look) if look == pair.n_epochs_at_most => String::new(),
        Some(look) => format!(", next judged after {look}"),
        None => ", ended".to_owned(),
    };
    format!("epoch {} of at most {}{look}", pair.n_epochs, pair.n_epochs_at_most)
}

fn tax(pair: &Pair, text: Text) -> Option<String> {
    let pct = pair.tax_pct.as_ref()?;
    let has_interval = pct.lo.is_some() && pct.hi.is_some();
    Some(if has_interval { text.percent(pct) } else { format!("{:.1} %", pct.value) })
}
