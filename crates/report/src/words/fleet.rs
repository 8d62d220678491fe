//! The report about a fleet: sentences and tables, which are the same for a terminal and a page.

use std::collections::BTreeSet;

use looptax_model::record::{Estimate, Fleet, FleetEffects, FleetGroup, FleetHost, FleetList, FleetMachine};

use crate::format::{GLUE, Text, counted, fixed, rate};

/// Maximum number of characters of a program's name that are shown; JSON has the whole name.
const MOST_CHARS: usize = 28;

/// Number of characters of a name's keyed hash.
const HASH_CHARS: usize = 12;
/// Minimum difference between two clocks that is reported, in seconds: no network delays a report by ten minutes.
const CLOCKS_APART_S: u64 = 600;

/// A list, and the text about it.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) title: String,
    /// The meaning of the list, and how to use it.
    pub(crate) lines: Vec<String>,
    pub(crate) head: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
    /// The number of rows that are left out, and similar remarks, below the list.
    pub(crate) closing: Option<String>,
    /// Whether the list is about conditions by which the costs differ.
    pub(crate) is_of_effects: bool,
}

/// Returns what a fleet loses, in sentences.
pub(crate) fn summary(fleet: &Fleet, text: Text) -> Vec<String> {
    if fleet.hosts_over_tcp == 0 {
        let all = counted(fleet.hosts, "machine");
        return vec![format!("{all}, none of them with a client over TCP")];
    }
    let mut lines = vec![format!(
        "{}, {} of them with clients over TCP: {} requests a second",
        counted(fleet.hosts, "machine"),
        fleet.hosts_over_tcp,
        rate(fleet.tcp_requests_per_s).trim_end_matches("/s"),
    )];
    let Some(lost) = &fleet.lost else {
        lines.push(
            "the cost for all machines is not known: at least two machines have to measure the same kind of server \
             with `looptax compare`; some dozens of machines of each kind, chosen at random, are better"
                .to_owned(),
        );
        lines.extend(not_measured(fleet, "not measured on any machine", text));
        return lines;
    };
    lines.push(format!(
        "together these requests cost {} cores more than over the socket",
        cores(Some(&lost.cores), text)
    ));
    lines.push(format!(
        "the cost was measured on {} of {} in this sum; for the other servers looptax predicts the cost from measured \
        servers of the same kind",
        lost.n_measured,
        counted(lost.n_measured + lost.n_predicted, "server"),
    ));
    lines.extend(not_measured(fleet, "not measured on any machine, so not in the sum", text));
    lines
}

/// Returns the line about kinds of server whose cost is unknown: `postgres (2.54K/s), mariadb (1.78K/s)`.
fn not_measured(fleet: &Fleet, words: &str, text: Text) -> Option<String> {
    let list = &fleet.not_measured;
    // Backticks are replaced, because a page shows text between backticks as a command.
    let kind = |server: &str| text.clean(server).replace('`', "'");
    let kinds = list.rows.iter().map(|it| format!("{} ({})", kind(&it.server), rate(it.requests_per_s)));
    let kinds: Vec<String> = kinds.chain(more(list)).collect();
    (!list.rows.is_empty()).then(|| format!("{words}: {}", kinds.join(", ")))
}

/// Returns all lists of a report, the most urgent first.
pub(crate) fn sections(fleet: &Fleet, text: Text) -> Vec<Section> {
    let mut sections = vec![first(fleet, text), pairs(fleet, text), fell_back(fleet, text)];
    sections.extend(fleet.effects.iter().map(|it| effects(it, text)));
    sections.extend([unlike(fleet, text), movers(fleet, text), shared(fleet, text), silent(fleet, text)]);
    sections.push(conditions(fleet, text));
    sections.retain(|it| !it.rows.is_empty() || !it.lines.is_empty());
    sections
}

pub(crate) fn first(fleet: &Fleet, text: Text) -> Section {
    let mut lines = Vec::new();
    if let Some(host) = fleet.first.rows.iter().find(|it| is_host_name(&it.host)) {
        lines
            .push(format!("`looptax find` on each machine shows the next step: `ssh {} sudo looptax find`", host.host));
    }
    let rows = fleet.first.rows.iter().map(|it| {
        vec![
            text.clean(&it.host),
            pair(&it.client, &it.server, text),
            rate(it.requests_per_s),
            it.connections.to_string(),
            cores(it.cores.as_ref(), text),
            it.top_probability.map_or_else(dash, percent),
            if it.is_measured { "here" } else { "others" }.to_owned(),
            if it.has_socket { "yes" } else { "no" }.to_owned(),
        ]
    });
    Section {
        title: "Where to begin".to_owned(),
        lines,
        head: vec![
            "machine",
            "client and server",
            "over TCP",
            "connections",
            "cores lost",
            "among the first",
            "measured",
            "socket",
        ],
        closing: more(&fleet.first),
        is_of_effects: false,
        rows: rows.collect(),
    }
}

pub(crate) fn pairs(fleet: &Fleet, text: Text) -> Section {
    let rows = fleet.pairs.rows.iter().map(|it| {
        vec![
            pair(&it.client, &it.server, text),
            it.hosts.to_string(),
            it.hosts_with_socket.to_string(),
            rate(it.requests_per_s),
            cores(it.cores.as_ref(), text),
        ]
    });
    Section {
        title: "Programs and servers".to_owned(),
        lines: Vec::new(),
        head: vec!["client and server", "machines", "with a socket", "over TCP", "cores lost"],
        closing: more(&fleet.pairs),
        is_of_effects: false,
        rows: rows.collect(),
    }
}

pub(crate) fn fell_back(fleet: &Fleet, text: Text) -> Section {
    let rows = fleet.fell_back.rows.iter().map(|it| {
        vec![
            text.clean(&it.host),
            pair(&it.client, &it.server, text),
            it.connections.to_string(),
            it.requests_per_s.map_or_else(dash, rate),
        ]
    });
    let lines = if fleet.fell_back.rows.is_empty() {
        vec!["none of the clients that were moved has gone back to TCP".to_owned()]
    } else {
        vec![
            "moved to the socket before, and using TCP again: `looptax switch --list` on that machine shows the changes"
                .to_owned(),
        ]
    };
    Section {
        title: "Fell back".to_owned(),
        lines,
        head: vec!["machine", "client and server", "connections", "over TCP"],
        closing: more(&fleet.fell_back),
        is_of_effects: false,
        rows: rows.collect(),
    }
}

fn effects(effects: &FleetEffects, text: Text) -> Section {
    let rows = effects.groups.iter().map(|it| group(it, text));
    let differ = match effects.p {
        None => Vec::new(),
        Some(p) if p < 0.05 => vec![format!("the means differ (p = {})", probability(p))],
        Some(p) => vec![format!("no sign that the means differ (p = {})", probability(p))],
    };
    let closing = (effects.n_more > 0).then(|| format!("{} are not shown", counted(effects.n_more, "smaller group")));
    Section {
        title: format!("CPU time that TCP adds to a request, by {}", text.clean(&effects.condition)),
        lines: differ,
        head: vec!["", "measured", "mean", "another machine", "differ by (τ)", "not by chance (I²)"],
        closing,
        is_of_effects: true,
        rows: rows.collect(),
    }
}

fn group(group: &FleetGroup, text: Text) -> Vec<String> {
    vec![
        match group.label.as_str() {
            "" => "not known".to_owned(),
            label => text.clean(label),
        },
        group.cpu_us.n.to_string(),
        micros(&group.cpu_us, text),
        micros_range(&group.one_more, text),
        group.tau_us.map_or_else(dash, |it| text.micros(it)),
        group.i_squared.map_or_else(dash, percent),
    ]
}

fn unlike(fleet: &Fleet, text: Text) -> Section {
    let rows = fleet.unlike.rows.iter().map(|it| {
        vec![
            text.clean(&it.host),
            text.clean(&it.server),
            micros(&it.cpu_us, text),
            text.micros(it.mean_us),
            percent(it.q),
        ]
    });
    let rows: Vec<_> = rows.collect();
    let lines = if rows.is_empty() {
        Vec::new()
    } else {
        vec!["of the machines on this list, on average at most one in twenty is here by chance".to_owned()]
    };
    Section {
        title: "Measured differently from their kind".to_owned(),
        lines,
        head: vec!["machine", "server", "measured", "mean of its kind", "by chance"],
        closing: more(&fleet.unlike),
        is_of_effects: false,
        rows,
    }
}

pub(crate) fn movers(fleet: &Fleet, text: Text) -> Section {
    let rows = fleet.movers.rows.iter().map(|it| {
        vec![
            text.clean(&it.host),
            pair(&it.client, &it.server, text),
            text.clean(&it.before),
            text.clean(&it.now),
            it.requests_per_s.map_or_else(dash, rate),
            cores(it.cores.as_ref(), text),
        ]
    });
    Section {
        title: "Transport changed since a week ago".to_owned(),
        lines: if fleet.movers.rows.is_empty() {
            Vec::new()
        } else {
            vec![
                "compared with a machine's report of a week ago or, if its first report is newer, with the first report"
                    .to_owned(),
            ]
        },
        head: vec!["machine", "client and server", "before", "now", "requests", "cores saved"],
        closing: more(&fleet.movers),
        is_of_effects: false,
        rows: rows.collect(),
    }
}

fn silent(fleet: &Fleet, text: Text) -> Section {
    let rows = fleet.silent.rows.iter();
    let rows = rows.map(|it| vec![text.clean(&it.host), counted(it.days, "day")]);
    Section {
        title: "Silent machines".to_owned(),
        lines: Vec::new(),
        head: vec!["machine", "since"],
        closing: more(&fleet.silent),
        is_of_effects: false,
        rows: rows.collect(),
    }
}

fn shared(fleet: &Fleet, text: Text) -> Section {
    let rows = fleet.shared.rows.iter();
    let rows = rows.map(|it| vec![text.clean(&it.host), text.clean(&it.host_id), counted(it.reports, "report")]);
    Section {
        title: "Machines with the same machine id".to_owned(),
        lines: if fleet.shared.rows.is_empty() {
            Vec::new()
        } else {
            vec![
                "these machines report in turn under one number, so looptax counts them as one machine; give each \
                 copy its own id: `rm -f /etc/machine-id /var/lib/dbus/machine-id && systemd-machine-id-setup`, then \
                 restart the copy"
                    .to_owned(),
            ]
        },
        head: vec!["machine", "number", "in three days"],
        closing: more(&fleet.shared),
        is_of_effects: false,
        rows: rows.collect(),
    }
}

fn conditions(fleet: &Fleet, text: Text) -> Section {
    let rows = fleet.conditions.rows.iter().map(|it| {
        vec![
            text.clean(&it.kernel),
            text.clean(&it.cpu_model),
            text.clean(&it.virtualised),
            it.hosts.to_string(),
            rate(it.tcp_requests_per_s),
        ]
    });
    Section {
        title: "The machines".to_owned(),
        lines: Vec::new(),
        head: vec!["kernel", "CPU", "virtualised", "machines", "over TCP"],
        closing: more(&fleet.conditions),
        is_of_effects: false,
        rows: rows.collect(),
    }
}

pub(crate) fn hosts(hosts: &FleetList<FleetHost>, text: Text) -> Section {
    let kinds: BTreeSet<&String> = hosts.rows.iter().flat_map(|it| &it.not_measured).collect();
    let kinds: Vec<String> = kinds.into_iter().map(|it| text.clean(it)).collect();
    let lines = if kinds.is_empty() {
        Vec::new()
    } else {
        vec![format!(
            "no machine has measured these kinds of server, so \"cores lost\" excludes them: {}",
            kinds.join(", ")
        )]
    };
    let rows = hosts.rows.iter().map(|it| {
        vec![
            text.clean(&it.host),
            it.pairs.to_string(),
            it.connections.to_string(),
            rate(it.requests_per_s),
            cores(it.cores.as_ref(), text),
        ]
    });
    Section {
        title: "Machines with clients over TCP".to_owned(),
        lines,
        head: vec!["machine", "pairs", "connections", "over TCP", "cores lost"],
        closing: more(hosts),
        is_of_effects: false,
        rows: rows.collect(),
    }
}

/// Returns the sections about one machine: its connections, and its measurements.
pub(crate) fn machine(machine: &FleetMachine, text: Text) -> [Section; 2] {
    let clients = machine.findings.iter().map(|it| {
        vec![
            pair(&it.client, &it.server, text),
            text.clean(&it.client_user),
            text.clean(&it.way),
            it.connections.to_string(),
            it.requests_per_s.map_or_else(dash, rate),
            if it.has_socket { "yes" } else { "no" }.to_owned(),
            if it.fell_back { "fell back" } else { "" }.to_owned(),
        ]
    });
    let measured = machine
        .measured
        .iter()
        .map(|it| vec![text.clean(&format!("{} {}", it.server, it.server_version)), micros(&it.cpu_us, text)]);
    let mut lines = vec![
        format!(
            "{}, {}, {}; looptax {}",
            text.clean(&machine.kernel),
            text.clean(&machine.cpu_model),
            counted(machine.cpus, "CPU"),
            text.clean(&machine.looptax)
        ),
        format!("machine number {}", text.clean(&machine.host_id)),
        reported(machine),
    ];
    if !machine.sees_all {
        let missing = "looptax could not inspect everything on this machine, so clients may be missing; `looptax find` \
                       on the machine shows why";
        lines.push(missing.to_owned());
    }
    [
        Section {
            title: text.clean(&machine.host),
            lines,
            head: vec!["client and server", "user", "way", "connections", "requests", "socket", ""],
            closing: None,
            is_of_effects: false,
            rows: clients.collect(),
        },
        Section {
            title: "Time that TCP adds to a request, measured on the machine".to_owned(),
            lines: Vec::new(),
            head: vec!["server", "CPU time"],
            closing: None,
            is_of_effects: false,
            rows: measured.collect(),
        },
    ]
}

/// Returns when a machine was last observed; reports if the machine's clock is wrong.
fn reported(machine: &FleetMachine) -> String {
    let own = utc(machine.at_s);
    if machine.at_s.abs_diff(machine.received_s) < CLOCKS_APART_S {
        return format!("seen {own}");
    }
    format!("seen {own} by the machine's own clock; arrived {}", utc(machine.received_s))
}

fn utc(seconds: i64) -> String {
    let at = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// Returns `php-fpm → mariadb`.
fn pair(client: &str, server: &str, text: Text) -> String {
    let arrow = if text.is_unicode { "→" } else { "->" };
    let client = match client.char_indices().nth(MOST_CHARS) {
        _ if client.is_empty() => "unknown".to_owned(),
        Some((at, _)) => format!("{}…", &client[..at]),
        None => client.to_owned(),
    };
    text.clean(&format!("{client} {arrow} {server}"))
}

/// Formats cores: `0.161 [0.150, 0.172]`.
fn cores(estimate: Option<&Estimate>, text: Text) -> String {
    let Some(estimate) = estimate else {
        return dash();
    };
    let decimals = decimals(estimate.value);
    let digits = |value: f64| fixed(value, decimals);
    format!("{}{GLUE}{}", digits(estimate.value), text.interval(estimate, digits))
}

fn decimals(value: f64) -> usize {
    match value.abs() {
        it if it >= 99.5 => 0,
        it if it >= 9.95 => 1,
        it if it >= 0.995 => 2,
        it if it >= 0.0995 => 3,
        _ => 4,
    }
}

/// Formats a time: `3.5 [3.4, 3.6] µs`.
fn micros(estimate: &Estimate, text: Text) -> String {
    let digits = |value: f64| fixed(value, 2);
    let known =
        (estimate.lo.is_some() || estimate.hi.is_some()).then(|| format!("{GLUE}{}", text.interval(estimate, digits)));
    let known = known.unwrap_or_default();
    format!("{}{known}{GLUE}{}", digits(estimate.value), text.micro())
}

fn micros_range(estimate: &Estimate, text: Text) -> String {
    match (estimate.lo, estimate.hi) {
        (Some(lo), Some(hi)) => format!("{} to {}", fixed(lo, 2), text.micros(hi)),
        _ => dash(),
    }
}

fn percent(share: f64) -> String {
    let pct = 100.0 * share;
    let decimals = usize::from(pct < 9.95 && pct > 0.0);
    format!("{}{GLUE}%", fixed(pct, decimals))
}

fn probability(p: f64) -> String {
    if p < 0.001 { "below 0.001".to_owned() } else { fixed(p, 3) }
}

fn dash() -> String {
    "-".to_owned()
}

/// Returns a line about the rows of a list that are not shown.
fn more<T>(list: &FleetList<T>) -> Option<String> {
    let n_more = list.n.saturating_sub(list.rows.len() as u64);
    match (n_more, list.has_more_than_n) {
        (0, false) => None,
        (0, true) => Some("and more".to_owned()),
        (n, false) => Some(format!("and {n} more")),
        (n, true) => Some(format!("and more than {n} more")),
    }
}

/// Whether a name is a machine's real name and not a hash, and can be used safely as a word of a command.
fn is_host_name(name: &str) -> bool {
    let is_of_one = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_hash = name.len() == HASH_CHARS && name.chars().all(|c| c.is_ascii_hexdigit());
    !name.is_empty() && !name.starts_with('-') && !is_hash && name.chars().all(is_of_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_made_of_host_names_alone() {
        assert!(is_host_name("web-01.example"));
        for name in ["", "a; reboot", "$(reboot)", "-oProxyCommand=reboot", "a b", "a\nb", "1f3c5a7b9d0e"] {
            assert!(!is_host_name(name), "{name}");
        }
    }

    #[test]
    fn a_kind_that_no_machine_measured_is_named_above_the_list_of_machines() {
        let host = |kinds: &[&str]| FleetHost {
            host: "web1".to_owned(),
            pairs: 1,
            connections: 1,
            requests_per_s: 9.0,
            cores: None,
            not_measured: kinds.iter().map(|it| (*it).to_owned()).collect(),
        };
        let lines = |rows: Vec<FleetHost>| {
            let list = FleetList { rows, n: 2, has_more_than_n: false };
            hosts(&list, Text { is_unicode: true }).lines
        };
        assert!(lines(vec![host(&[])]).is_empty());
        let named = lines(vec![host(&["postgres", "mariadb"]), host(&["mariadb"])]);
        let words = "no machine has measured these kinds of server, so \"cores lost\" excludes them: mariadb, postgres";
        assert_eq!(named, [words]);
    }

    #[test]
    fn cores_have_three_digits() {
        let of = |value: f64| {
            let estimate = Estimate { value, lo: Some(value / 2.0), hi: None, n: 3 };
            cores(Some(&estimate), Text { is_unicode: true }).replace(GLUE, " ")
        };
        assert_eq!(of(96.42), "96.4 [48.2, ∞]");
        assert_eq!(of(0.1612), "0.161 [0.081, ∞]");
        assert_eq!(of(1234.0), "1234 [617, ∞]");
    }
}
