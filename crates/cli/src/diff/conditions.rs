//! What was not the same around two runs: machine, versions, settings.

use std::collections::BTreeMap;

use looptax_record::{Comparison, Condition, Host, Record};

/// The circumstances that differ, in the order from the machine to the server.
pub(super) fn of(
    before: &Record,
    after: &Record,
    pairs: &[(&Comparison, &Comparison)],
) -> Vec<Condition> {
    let mut found = Vec::new();
    let mut add = |name: &str, before: String, after: String| {
        if before != after {
            found.push(Condition {
                name: name.to_owned(),
                before,
                after,
            });
        }
    };
    add(
        "looptax",
        before.looptax_version.clone(),
        after.looptax_version.clone(),
    );
    for ((name, one), (_, other)) in facts(&before.host).into_iter().zip(facts(&after.host)) {
        add(name, one, other);
    }
    let tables = [
        ("", &before.host.sysctls, &after.host.sysctls),
        (
            "mitigation ",
            &before.host.mitigations,
            &after.host.mitigations,
        ),
    ];
    for (prefix, one, other) in tables {
        for (key, one, other) in differing(one, other) {
            add(&format!("{prefix}{key}"), one, other);
        }
    }
    for (one, other) in pairs {
        let kind = &one.target.kind;
        add(
            &format!("{kind} version"),
            one.target.version.clone(),
            other.target.version.clone(),
        );
        for (key, one, other) in differing(&one.target.settings, &other.target.settings) {
            add(&format!("{kind} {key}"), one, other);
        }
        add(
            &format!("{kind} slice"),
            format!("{} ms", one.schedule.slice_ms),
            format!("{} ms", other.schedule.slice_ms),
        );
    }
    found.dedup();
    found
}

fn facts(host: &Host) -> [(&'static str, String); 11] {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    let word = |value: Option<bool>| match value {
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
        None => "-".to_owned(),
    };
    [
        ("kernel", host.kernel.clone()),
        ("architecture", text(&host.arch)),
        ("CPU", text(&host.cpu_model)),
        ("CPUs", host.cpus.to_string()),
        ("clock source", text(&host.clocksource)),
        ("governor", text(&host.governor)),
        ("virtual machine", word(host.hypervisor)),
        ("SMT", word(host.smt)),
        ("cpu.max", text(&host.cgroup_cpu_max)),
        ("huge pages", text(&host.thp)),
        ("interrupt time apart", word(host.irq_time_accounting)),
    ]
}

/// The keys whose values differ; `-` where one side has none.
fn differing(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<(String, String, String)> {
    let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    let value = |of: &BTreeMap<String, String>, key: &String| {
        of.get(key).cloned().unwrap_or_else(|| "-".to_owned())
    };
    keys.into_iter()
        .map(|key| (key.clone(), value(before, key), value(after, key)))
        .filter(|(_, one, other)| one != other)
        .collect()
}
