//! Compares the CPU time of two runs, layer by layer.

use crate::record::{Comparison, DiffLayer, DiffLayers, Figure, Why, WhyRow};
use crate::stats::{LEAST_OCCURRENCES, holm, tested_difference};

use crate::analysis::figures::{plain, with_ends};
use crate::analysis::why;
use crate::analysis::words::name;

const ALPHA: f64 = 0.05;

/// The part of a row that is compared: an arm's own time, or the difference of two arms.
#[derive(Clone, Copy)]
enum Part {
    Arm(usize),
    Difference,
}

/// Returns the layers of each arm, and of each pair of arms, that both runs sampled.
pub(super) fn layers(before: &Comparison, after: &Comparison) -> Vec<DiffLayers> {
    let mut found: Vec<DiffLayers> = Vec::new();
    for one in &before.why {
        let arms = arms(before, one);
        let other = after.why.iter().find(|it| self::arms(after, it) == arms);
        let Some(other) = other.filter(|other| is_comparable(one, other)) else {
            continue;
        };
        for (part, arm, over) in [
            (Part::Arm(0), arms[0], None),
            (Part::Arm(1), arms[1], None),
            (Part::Difference, arms[1], Some(arms[0].to_owned())),
        ] {
            // The baseline is in each pair; only its first occurrence is used.
            if found.iter().any(|it| it.arm == arm && it.over == over) {
                continue;
            }
            found.push(DiffLayers { arm: arm.to_owned(), over, rows: rows(one, other, part) });
        }
    }
    found
}

/// Lists the comparisons whose layers are not compared, and why.
pub(super) fn left_out(pairs: &[(&Comparison, &Comparison)]) -> Vec<String> {
    let mut lines = Vec::new();
    for (before, after) in pairs {
        let is_sampled = [before, after].map(|it| !it.why.is_empty());
        let name = name(before);
        match is_sampled {
            [true, false] => lines.push(format!("only A was sampled: {name}")),
            [false, true] => lines.push(format!("only B was sampled: {name}")),
            _ => {}
        }
        for (run, of_run) in [("A", before), ("B", after)] {
            let invalid = of_run.why.iter().flat_map(|it| &it.invalid);
            lines.extend(invalid.map(|it| format!("the layers of {run} cannot be used: {it}")));
        }
        let sees = |it: &Comparison| it.why.first().map(|it| it.sampling.sees_kernel);
        if let (Some(one), Some(other)) = (sees(before), sees(after))
            && one != other
        {
            let [run, rest] = if one { ["A", "B"] } else { ["B", "A"] };
            lines.push(format!(
                "{run} saw the kernel's part of the CPU time and {rest} did not, so the layers of the two runs \
                cannot be compared"
            ));
        }
    }
    lines.dedup();
    lines
}

fn arms<'a>(comparison: &'a Comparison, why: &Why) -> [&'a str; 2] {
    why.pair.map(|idx| {
        let arm = comparison.arms.get(idx as usize);
        arm.map_or("", |arm| arm.name.as_str())
    })
}

/// Checks whether the layers of two runs can be compared: both runs must be valid, and either both or neither must
/// have sampled the kernel.
fn is_comparable(before: &Why, after: &Why) -> bool {
    let is_valid = before.invalid.is_empty() && after.invalid.is_empty();
    is_valid && before.sampling.sees_kernel == after.sampling.sees_kernel
}

/// Returns a row for each layer that occurs in at least one of the runs, then a row with the sum.
fn rows(before: &Why, after: &Why, part: Part) -> Vec<DiffLayer> {
    let mut names: Vec<&str> = Vec::new();
    for row in before.rows.iter().chain(&after.rows) {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
    }
    let find = |why: &Why, name: &str| {
        let row = why.rows.iter().find(|it| it.name == name);
        row.map_or_else(|| figure(&why::unseen(why, name), part), |row| figure(row, part))
    };
    let rows = names.iter().map(|name| {
        let row = changed(name, find(before, name), find(after, name));
        let is_rare = is_rare([before, after], name, part);
        DiffLayer { p: row.p.filter(|_| !is_rare), ..row }
    });
    let mut rows: Vec<DiffLayer> = rows.collect();
    let ps: Vec<f64> = rows.iter().map(|it| it.p.unwrap_or(f64::NAN)).collect();
    for (row, p) in rows.iter_mut().zip(holm(&ps)) {
        row.p = p.is_finite().then_some(p);
    }
    let whole = |row: fn(&Why) -> &Option<WhyRow>| {
        let [one, other] = [before, after].map(|why| row(why).as_ref());
        let (one, other) = one.zip(other)?;
        Some(changed(&one.name, figure(one, part), figure(other, part)))
    };
    rows.extend(whole(|it| &it.sum));
    if before.sampling.sees_kernel {
        rows.extend(whole(|it| &it.without_sampler));
    }
    rows
}

/// Checks whether a layer has so few samples that no difference may be called a change. The samples of both runs are
/// counted together.
fn is_rare(runs: [&Why; 2], name: &str, part: Part) -> bool {
    let sides = match part {
        Part::Arm(side) => side..side + 1,
        Part::Difference => 0..2,
    };
    let counts = runs.iter().flat_map(|run| sides.clone().map(|side| why::n_samples(run, name, side)));
    let n_samples: Option<f64> = counts.sum();
    n_samples.is_some_and(|n| n < LEAST_OCCURRENCES)
}

fn figure(row: &WhyRow, part: Part) -> Figure {
    match part {
        Part::Arm(side) => row.arms[side].clone(),
        Part::Difference => row.difference.clone(),
    }
}

fn changed(name: &str, before_us: Figure, after_us: Figure) -> DiffLayer {
    let found = before_us.known().zip(after_us.known());
    let found = found.map(|(one, other)| tested_difference(with_ends(one), with_ends(other), ALPHA));
    DiffLayer {
        name: name.to_owned(),
        change_us: found
            .map_or_else(|| Figure::missing("one of the runs has no figure"), |it| plain(Some(it.estimate))),
        p: found.and_then(|it| it.p),
        before_us,
        after_us,
    }
}

#[cfg(test)]
mod tests {
    use crate::record::{Epoch, SampledEpoch, Sampling, Slice};

    use super::*;

    /// Makes twelve epochs with 10,000 requests over each arm.
    fn epochs(layer_us: &[[f64; 2]]) -> Vec<SampledEpoch> {
        let slice = || Slice { requests: 10_000, ..Slice::default() };
        let epoch = SampledEpoch {
            raw: Epoch { order: "bo".to_owned(), slices: vec![slice(), slice()], ..Epoch::default() },
            layer_ns: [0, 1].map(|side| {
                let us = layer_us.iter().map(|us| us[side]);
                us.map(|us| (us * 1e7) as u64).collect()
            }),
            counts: [Vec::new(), Vec::new()],
        };
        vec![epoch; 12]
    }

    fn sampled(rows: &[(&str, [f64; 2])]) -> Comparison {
        let row = |name: &str, us: [f64; 2]| {
            let around = |us: f64| Figure::new(us, us - 0.1, us + 0.1, 12);
            WhyRow { name: name.to_owned(), arms: us.map(around), difference: around(us[1] - us[0]), p: None }
        };
        let total = |side: usize| rows.iter().map(|(_, us)| us[side]).sum();
        let mut comparison = crate::analysis::made_up::comparison();
        comparison.arms = ["unix", "tcp"].map(crate::analysis::made_up::unmeasured_arm).to_vec();
        let sampling = Sampling { period_ns: 1_000_000, ..Sampling::default() };
        let names = rows.iter().map(|(name, _)| (*name).to_owned());
        let layer_us: Vec<[f64; 2]> = rows.iter().map(|(_, us)| *us).collect();
        comparison.why = vec![Why {
            epochs: epochs(&layer_us),
            rows: rows.iter().map(|(name, us)| row(name, *us)).collect(),
            sum: Some(row("sum", [total(0), total(1)])),
            ..Why::unmeasured([0, 1], sampling, names.collect())
        }];
        comparison
    }

    #[test]
    fn a_layer_that_became_dearer_is_told_and_the_others_are_not() {
        let before = sampled(&[("Unix socket", [1.0, 0.0]), ("TCP, IP", [0.0, 3.0])]);
        let after = sampled(&[("TCP, IP", [0.0, 4.0]), ("Unix socket", [1.02, 0.0])]);
        let found = layers(&before, &after);
        let shown: Vec<(&str, Option<&str>)> =
            { found.iter() }.map(|it| (it.arm.as_str(), it.over.as_deref())).collect();
        assert_eq!(shown, [("unix", None), ("tcp", None), ("tcp", Some("unix"))]);
        let value = |figure: &Figure| figure.known().unwrap().value;
        for layers in &found[1..] {
            let [unix, tcp, sum] = &layers.rows[..] else {
                panic!("{layers:?}");
            };
            assert_eq!((tcp.name.as_str(), sum.name.as_str()), ("TCP, IP", "sum"));
            assert!((value(&tcp.change_us) - 1.0).abs() < 1e-9);
            assert!(tcp.p.unwrap() < 1e-6, "{tcp:?}");
            assert!(unix.p.is_none_or(|p| p > 0.5), "{unix:?}");
        }
    }

    #[test]
    fn a_layer_that_one_run_alone_has_took_nothing_in_the_other() {
        let before = sampled(&[("TCP, IP", [0.0, 3.0])]);
        let after = sampled(&[("TCP, IP", [0.0, 3.0]), ("bridge, firewall", [0.0, 1.5])]);
        let tcp = &layers(&before, &after)[1];
        let bridge = tcp.rows.iter().find(|it| it.name == "bridge, firewall");
        let change = bridge.unwrap().change_us.known().unwrap().value;
        assert!((change - 1.5).abs() < 1e-9);
    }

    #[test]
    fn a_handful_of_stray_samples_in_one_run_is_no_change() {
        let tcp = ("TCP, IP", [0.0, 3.0]);
        let before = sampled(&[tcp]);
        let change = |us: f64| {
            let mut after = sampled(&[tcp, ("files, storage", [0.0, us])]);
            // With few epochs and one sample in each epoch, an interval can be as narrow as this one.
            let row = &mut after.why[0].rows[1];
            row.arms[1] = Figure::new(us, us / 2.0, 1.5 * us, 12);
            let found = layers(&before, &after);
            let rows = found[1].rows.iter();
            { rows }.find(|it| it.name == "files, storage").unwrap().p
        };
        // Nine samples of 1 ms over 120,000 requests do not show a change; sixty samples show it.
        assert_eq!(change(9.0 / 120.0), None);
        assert!(change(60.0 / 120.0).unwrap() < 0.01);
    }

    #[test]
    fn what_is_not_to_be_believed_is_not_held_against_anything() {
        let before = sampled(&[("TCP, IP", [0.0, 3.0])]);
        let mut after = before.clone();
        after.why[0].invalid = vec!["samples were lost".to_owned()];
        assert_eq!(layers(&before, &after), []);
        let told = left_out(&[(&before, &after)]);
        assert_eq!(told, ["the layers of B cannot be used: samples were lost"]);
        after.why.clear();
        let told = left_out(&[(&before, &after)]);
        assert!(told[0].starts_with("only A was sampled"), "{told:?}");
        let mut after = before.clone();
        after.why[0].sampling.sees_kernel = true;
        assert_eq!(layers(&before, &after), []);
        assert!(left_out(&[(&before, &after)])[0].starts_with("B saw the kernel's part"));
    }
}
