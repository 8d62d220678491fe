//! The results of the rounds as Markdown: medians over the rounds with their range. Differences and ratios are computed
//! within a round, because the machine's speed drifts between rounds.

use super::dialler::Measured;
use crate::peers::case::Place;
use crate::peers::spread::Spread;

/// The highest costs that `looptax run` may have: limits that the project has set for itself.
const MOST_CONNECT_US: f64 = 20.0;
const MOST_DATA_RATIO: f64 = 1.03;
const MOST_UNRELATED_NS: f64 = 10.0;
const MOST_MEMORY_KIB: f64 = 4096.0;

/// The results of the three arms, measured one directly after the other.
pub(super) struct Round {
    pub(super) tcp: Measured,
    pub(super) unix: Measured,
    pub(super) redirect: Measured,
}

/// Returns a table for one placement and pause.
pub(super) fn table(place: Place, pause_us: u64, rounds: &[Round]) -> String {
    let pause = match pause_us {
        0 => "one connection right after another".to_owned(),
        us => format!("{us} us between connections"),
    };
    let mut lines = vec![
        format!("**{}, {pause}**", place.words()),
        String::new(),
        "| | TCP | native socket | looptax run |".to_owned(),
        "|---|---|---|---|".to_owned(),
    ];
    for (name, of, n_decimals) in [
        ("connect, p50, us", (|it| it.connect_us) as fn(&Measured) -> f64, 1),
        ("connect, p99, us", |it| it.connect_p99_us, 0),
        ("then an option and two names, us", |it| it.names_us, 1),
        ("answer to a byte, us", |it| it.ping_us, 2),
        ("all of it with 20 answers, us", |it| it.whole_us, 0),
        ("unrelated system call, ns", |it| it.unrelated_ns, 0),
    ] {
        let cell = |arm: fn(&Round) -> &Measured| {
            let values = rounds.iter().map(|round| of(arm(round))).collect();
            text(values, n_decimals)
        };
        let cells = [cell(|it| &it.tcp), cell(|it| &it.unix), cell(|it| &it.redirect)];
        lines.push(format!("| {name} | {} |", cells.join(" | ")));
    }
    lines.push(String::new());
    lines.extend(judged(rounds));
    lines.push(String::new());
    lines.join("\n")
}

/// Returns the four figures that have a limit.
fn judged(rounds: &[Round]) -> Vec<String> {
    let over = |of: fn(&Round) -> f64| rounds.iter().map(of).collect::<Vec<f64>>();
    let connect = over(|it| it.redirect.connect_us - it.tcp.connect_us);
    let data = over(|it| it.redirect.ping_us / it.unix.ping_us);
    // Some rounds are slower as a whole by more than this call takes; the fastest round of each arm shows how long the
    // call takes.
    let least = |of: fn(&Round) -> f64| over(of).into_iter().fold(f64::INFINITY, f64::min);
    let unfiltered = least(|it| it.unix.unrelated_ns.min(it.tcp.unrelated_ns));
    let unrelated = vec![least(|it| it.redirect.unrelated_ns) - unfiltered];
    let memory = over(|it| it.redirect.parent_kib as f64);
    [
        ("connect over TCP, us", connect, 1, MOST_CONNECT_US),
        ("answers, looptax run : native socket", data, 3, MOST_DATA_RATIO),
        ("unrelated system call over unfiltered, ns", unrelated, 0, MOST_UNRELATED_NS),
        ("supervisor's largest memory, KiB", memory, 0, MOST_MEMORY_KIB),
    ]
    .into_iter()
    .map(|(name, values, n_decimals, most)| {
        let holds = Spread::from_values(values.clone()).is_some_and(|it| it.median <= most);
        let verdict = if holds { "holds" } else { "does not hold" };
        format!("- {name}: {}; wanted: at most {most}: {verdict}", text(values, n_decimals))
    })
    .collect()
}

fn text(values: Vec<f64>, n_decimals: usize) -> String {
    Spread::from_values(values).map_or_else(|| "none".to_owned(), |it| it.text(n_decimals))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(connect_us: f64, ping_us: f64) -> Measured {
        Measured {
            transport: "unix".to_owned(),
            connect_us,
            connect_p99_us: 2.0 * connect_us,
            names_us: 1.0,
            ping_us,
            whole_us: 20.0 * ping_us,
            unrelated_ns: 100.0,
            parent_kib: 3_900,
        }
    }

    #[test]
    fn limits_are_held_against_differences_within_a_round() {
        let round = |drift: f64| Round {
            tcp: measured(10.0 + drift, 9.0),
            unix: measured(4.0 + drift, 7.0),
            redirect: measured(29.0 + drift, 7.7),
        };
        let table = table(Place::OneCore, 200, &[round(0.0), round(5.0), round(50.0)]);
        assert!(table.contains("| connect, p50, us | 15.0 (10.0 to 60.0) |"), "{table}");
        assert!(table.contains("connect over TCP, us: 19.0 (19.0 to 19.0); wanted: at most 20: holds"), "{table}");
        assert!(table.contains("1.100 (1.100 to 1.100); wanted: at most 1.03: does not hold"), "{table}");
    }
}
