//! Differences between the conditions of two runs: machine, versions, settings.

use std::collections::BTreeMap;

use crate::record::{Comparison, Condition, Host, Record};

/// The beginning of the folder names of private servers.
const SCRATCH: &str = "/looptax-";

/// Returns the conditions that differ, sorted from the machine to the server.
pub(super) fn compare_conditions(
    before: &Record,
    after: &Record,
    pairs: &[(&Comparison, &Comparison)],
) -> Vec<Condition> {
    let mut found = Vec::new();
    let mut add = |name: &str, before: String, after: String| {
        let is_known = |it: &Condition| it.name == name && it.before == before && it.after == after;
        if before != after && !found.iter().any(is_known) {
            found.push(Condition { name: name.to_owned(), before, after });
        }
    };
    add("looptax", before.looptax_version.clone(), after.looptax_version.clone());
    for ((name, one), (_, other)) in facts(&before.host).into_iter().zip(facts(&after.host)) {
        add(name, one, other);
    }
    let tables = [
        ("", &before.host.sysctls, &after.host.sysctls),
        ("cgroup ", &before.host.cgroup_limits, &after.host.cgroup_limits),
        ("mitigation ", &before.host.mitigations, &after.host.mitigations),
    ];
    for (prefix, one, other) in tables {
        for (key, one, other) in differing(one, other) {
            add(&format!("{prefix}{key}"), one, other);
        }
    }
    for (one, other) in pairs {
        let kind = &one.target.kind;
        add(&format!("{kind} version"), one.target.version.clone(), other.target.version.clone());
        for (key, one, other) in differing(&one.target.settings, &other.target.settings) {
            if without_scratch(&one) != without_scratch(&other) {
                add(&format!("{kind} {key}"), one, other);
            }
        }
        add(
            &format!("{kind} slice"),
            format!("{} ms", one.schedule.slice_ms),
            format!("{} ms", other.schedule.slice_ms),
        );
    }
    found
}

fn facts(host: &Host) -> [(&'static str, String); 13] {
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
        ("preemption", text(&host.preemption)),
        ("scheduler features", text(&host.sched_features)),
        ("huge pages", text(&host.thp)),
        ("separate interrupt time", word(host.irq_time_accounting)),
    ]
}

/// Removes the folder name of a private server from a value, because this name differs in every run and has no meaning.
fn without_scratch(value: &str) -> String {
    let mut parts = value.split(SCRATCH);
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        rest.push_str(SCRATCH);
        rest.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    rest
}

/// Returns the keys whose values differ, with both values; the value of a run without the key is `-`.
fn differing(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<(String, String, String)> {
    let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    let value = |of: &BTreeMap<String, String>, key: &String| of.get(key).cloned().unwrap_or_else(|| "-".to_owned());
    keys.into_iter()
        .map(|key| (key.clone(), value(before, key), value(after, key)))
        .filter(|(_, one, other)| one != other)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_private_server_is_no_difference() {
        let check = |one: &str, other: &str, is_same: bool| {
            let found = without_scratch(one) == without_scratch(other);
            assert_eq!(found, is_same, "{one} {other}");
        };
        check("/tmp/looptax-dd8ab7b7/srv", "/tmp/looptax-4a3c908c/srv", true);
        check("/tmp/looptax-dd8ab7b7/srv", "/var/looptax-4a3c908c/srv", false);
        check("/tmp/looptax-1/a /x/looptax-2/b", "/tmp/looptax-3/a /x/looptax-4/b", true);
        check("yes", "no", false);
    }
}
