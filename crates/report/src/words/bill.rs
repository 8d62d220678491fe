//! The bill as text: how much each part of an arm adds to a request.

use looptax_model::record::{Bill, BillStep, Comparison, Figure};

use super::small_table::SmallTable;
use crate::format::Text;

/// The maximum remainder when all steps are subtracted from the measured total, as a share of this total. A larger
/// remainder is also accepted if it is within the interval of the total.
const MOST_LEFT_OVER: f64 = 0.1;

/// Returns the table of a comparison's bill, if the comparison has one.
pub(crate) fn bill_table(comparison: &Comparison, text: Text) -> Option<SmallTable> {
    let bill = comparison.bill.as_ref()?;
    let s = if comparison.connections == 1 { "" } else { "s" };
    let own = |figure: &Figure| {
        let known = figure.known();
        known.map_or_else(|| "n/a".to_owned(), |us| text.micros_interval(us))
    };
    let root = [text.clean(&bill.root), own(&bill.root_time_us), own(&bill.root_cpu_us), String::new()];
    // If a verdict does not show the size of an arm's tax, the bill does not show it either.
    let is_withheld = |arm: &str| comparison.tax.iter().any(|it| it.arm == arm && !it.has_size());
    let steps = bill.steps.iter().map(|step| {
        let has_time = !is_withheld(&step.arm) && !is_withheld(&step.over);
        row(step, bill, has_time, text)
    });
    Some(SmallTable {
        title: format!(
            "the bill at {} connection{s}, {}, per request",
            comparison.connections,
            comparison.placement.asked.name()
        ),
        header: ["", "time", "CPU, both ends", "in all"].map(str::to_owned),
        rows: [root].into_iter().chain(steps).collect(),
        closing: closing(bill, text).filter(|_| !bill.steps.iter().any(|it| is_withheld(&it.arm))),
    })
}

fn row(step: &BillStep, bill: &Bill, has_time: bool, text: Text) -> [String; 4] {
    let added = |figure: &Figure| {
        let known = figure.known();
        known.map_or_else(|| "n/a".to_owned(), |us| text.signed_micros_interval(us))
    };
    let in_all = if step.over == bill.root || !has_time {
        String::new()
    } else {
        let known = step.in_all_us.known();
        known.map_or_else(String::new, |us| text.signed_micros(us.value))
    };
    let time = if has_time { added(&step.time_us) } else { "n/a".to_owned() };
    [format!("+ {}", part(step, text)), time, added(&step.cpu_us), in_all]
}

fn part(step: &BillStep, text: Text) -> String {
    let words = match (step.arm.as_str(), step.over.as_str()) {
        ("tcp+unix", _) => "loopback TCP to the pooler",
        ("unix+tcp", "unix+unix") => "loopback TCP only between the pooler and the server",
        ("tcp+tcp", "tcp+unix") => "loopback TCP also between the pooler and the server",
        ("tcp", "unix") => "loopback TCP",
        ("tcp6", "unix") => "loopback TCP, IPv6",
        ("tls", "tcp") => "TLS on tcp",
        ("tls-unix", "unix") => "TLS on unix",
        ("bridge", "tcp") => "container bridge on tcp",
        ("nat", "bridge") => "address translation on bridge",
        ("pasta", "tcp") => "pasta on tcp, with its copies",
        ("proxy", "bridge") => "port proxy on bridge",
        ("redirect", "unix") => "move to the socket by looptax run",
        ("abstract", "unix") => "abstract name of the socket",
        (arm, over) => return format!("{} on {}", text.clean(arm), text.clean(over)),
    };
    words.to_owned()
}

/// Returns a remark if the bill contains a step that is not part of the sum: the separate row of the hop behind a
/// pooler.
fn beside(bill: &Bill) -> &'static str {
    let is_alone = |step: &BillStep| (step.arm.as_str(), step.over.as_str()) == ("unix+tcp", "unix+unix");
    let has_sum = bill.steps.iter().any(|step| step.arm == "tcp+tcp");
    if has_sum && bill.steps.iter().any(is_alone) {
        "; the row \"loopback TCP only between the pooler and the server\" is not part of the sum"
    } else {
        ""
    }
}

/// Returns how much of the cost of the longest arms remains when the costs of their steps are subtracted.
fn closing(bill: &Bill, text: Text) -> Option<String> {
    let unfinished = bill.steps.iter().filter_map(|step| {
        let left = step.left_over_us?;
        let in_all = step.in_all_us.known()?;
        // A remainder within the interval of the whole does not contradict the sum.
        let half = (in_all.hi? - in_all.lo?) / 2.0;
        (left.abs() > (MOST_LEFT_OVER * in_all.value.abs()).max(half))
            .then(|| format!("{} of {}", text.signed_micros(left), text.clean(&step.arm)))
    });
    let unfinished: Vec<String> = unfinished.collect();
    let has_ways = bill.steps.iter().any(|step| step.left_over_us.is_some());
    match (has_ways, unfinished.is_empty()) {
        (false, _) => None,
        (true, true) => Some(format!("the steps add up to the measured total{}", beside(bill))),
        (true, false) => {
            Some(format!("the steps do not add up to the measured total: the rest is {}", unfinished.join(", ")))
        }
    }
}
