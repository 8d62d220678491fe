//! What a person sees of `run`, each line with the program's name before it, since the lines stand among
//! those of another program.

use std::fmt::Write;

use looptax_redirect::{Event, Mapping, Stats};

use super::candidate::{Candidate, shown};

/// Puts the program's name before a line and ends it.
pub fn line(text: &str) -> String {
    format!("looptax: {text}\n")
}

/// What is moved; and what is not, where that is wanted.
pub fn plan(candidates: &[Candidate], is_whole: bool) -> String {
    let mut text = String::new();
    for candidate in candidates {
        let from = from(candidate);
        match &candidate.stays {
            None => {
                text += &line(&format!("{from} -> {}", shown(&candidate.to)));
                if is_whole || candidate.server.is_none() {
                    for words in &candidate.checked {
                        text += &line(&format!("  {words}"));
                    }
                }
                if let Some(words) = &candidate.warning {
                    text += &line(&format!("  warning: {words}"));
                }
            }
            Some(why) if is_whole => {
                text += &line(&format!("{from} stays on TCP: {why}"));
            }
            Some(_) => {}
        }
    }
    text
}

/// The addresses as people list them.
pub(super) fn addresses(candidate: &Candidate) -> String {
    let addresses: Vec<String> = candidate.from.iter().map(ToString::to_string).collect();
    addresses.join(", ")
}

fn from(candidate: &Candidate) -> String {
    let mut text = addresses(candidate);
    if let Some((name, pid)) = &candidate.server {
        let _ = write!(text, " ({name}, pid {pid})");
    }
    text
}

/// Why nothing is moved.
pub fn nothing(candidates: &[Candidate], only: &[u16]) -> String {
    if !candidates.is_empty() {
        return "every server here stays on TCP; --dry-run says why".to_owned();
    }
    let ports: Vec<String> = only.iter().map(ToString::to_string).collect();
    let port = match &*ports {
        [] => "a loopback port".to_owned(),
        ports => format!("port {}", ports.join(" or ")),
    };
    format!(
        "no server that can be looked into from here has both {port} and a socket; root sees those of other users, --map 127.0.0.1:3306=/run/mysqld/mysqld.sock needs to see none"
    )
}

/// The counts at the end.
pub fn summary(stats: &Stats, mapping: &Mapping, is_whole: bool) -> String {
    let n_moved = stats.n_moved();
    let connections = if n_moved == 1 {
        "connection"
    } else {
        "connections"
    };
    let hint = if is_whole { "" } else { " (--stats)" };
    let mut text = line(&format!(
        "{n_moved} {connections} moved, {} left on TCP{hint}",
        stats.n_left()
    ));
    if is_whole {
        for (idx, route) in mapping.routes.iter().enumerate() {
            let n_moved = stats.n_moved[idx];
            text += &line(&format!(
                "  {}: {n_moved} moved to {}",
                route.from,
                shown(&route.to)
            ));
            for (reason, n) in &stats.left[idx] {
                text += &line(&format!(
                    "  {}: {n} left on TCP: {}",
                    route.from,
                    reason.words()
                ));
            }
        }
    }
    text
}

/// A connection, as it happens.
pub fn event(event: Event, mapping: &Mapping) -> String {
    let from = |idx: usize| mapping.routes[idx].from;
    match event {
        Event::Moved { route_idx, pid } => line(&format!(
            "pid {pid}: {} moved to {}",
            from(route_idx),
            shown(&mapping.routes[route_idx].to)
        )),
        Event::Left {
            route_idx,
            pid,
            reason,
            errno,
        } => {
            let error = match errno {
                0 => String::new(),
                errno => format!(" ({})", std::io::Error::from_raw_os_error(errno)),
            };
            let from = from(route_idx);
            line(&format!(
                "pid {pid}: {from} left on TCP: {}{error}",
                reason.words()
            ))
        }
        Event::SupervisorDied => line("the supervisor died; another goes on in its place"),
    }
}

#[cfg(test)]
mod tests {
    use looptax_redirect::{FallbackReason, SocketName};

    use super::*;

    fn candidate(stays: Option<&str>) -> Candidate {
        Candidate {
            from: vec!["127.0.0.1:3306".parse().unwrap()],
            to: SocketName::Path("/run/mysqld/mysqld.sock".into()),
            server: Some(("mariadbd".to_owned(), 4711)),
            stays: stays.map(str::to_owned),
            demands: Vec::new(),
            checked: Vec::new(),
            warning: None,
        }
    }

    #[test]
    fn the_plan_says_what_is_moved_and_if_asked_what_is_not() {
        assert_eq!(
            plan(&[candidate(None)], false),
            "looptax: 127.0.0.1:3306 (mariadbd, pid 4711) -> /run/mysqld/mysqld.sock\n"
        );
        let stays = [candidate(Some("no"))];
        assert_eq!(plan(&stays, false), "");
        assert_eq!(
            plan(&stays, true),
            "looptax: 127.0.0.1:3306 (mariadbd, pid 4711) stays on TCP: no\n"
        );
    }

    #[test]
    fn the_summary_counts() {
        let mapping = super::super::candidate::mapping(&[candidate(None)]);
        let stats = Stats {
            n_moved: vec![1],
            left: vec![vec![(FallbackReason::Full, 2)]],
        };
        assert_eq!(
            summary(&stats, &mapping, false),
            "looptax: 1 connection moved, 2 left on TCP (--stats)\n"
        );
        let whole = summary(&stats, &mapping, true);
        assert!(whole.contains("127.0.0.1:3306: 2 left on TCP: the socket's queue is full\n"));
    }
}
