//! Writes the messages of `run`. Each line begins with the name `looptax`, because the lines appear among the output of
//! another program.

use std::fmt::Write;

use looptax_redirect::{Event, Mapping, Stats};

use super::candidate::{Candidate, shown};

/// Puts the name `looptax` before a line, and a line end after it.
pub fn line(text: &str) -> String {
    format!("looptax: {text}\n")
}

/// Lists the candidates that are moved; with `is_whole` also those that are not moved.
pub fn plan(candidates: &[Candidate], is_whole: bool) -> String {
    let mut text = String::new();
    for candidate in candidates {
        let from = from(candidate);
        match &candidate.stays {
            None => {
                text += &line(&format!("{from} -> {}", shown(&candidate.to)));
                let checked = candidate.checked.iter().filter(|_| is_whole);
                for words in checked.chain(&candidate.idle) {
                    text += &line(&format!("  {words}"));
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

/// Explains why each of these ports stays on TCP.
pub fn stays(candidates: &[Candidate]) -> Vec<String> {
    let stays = candidates.iter().filter_map(|candidate| {
        let why = candidate.stays.as_ref()?;
        Some(format!("{} stays on TCP: {why}", from(candidate)))
    });
    stays.collect()
}

/// Lists the warnings about the connections that are moved.
pub fn warnings(candidates: &[Candidate]) -> String {
    candidates.iter().filter(|it| it.stays.is_none()).map(warnings_of).collect()
}

/// Lists the warnings for one route of [`super::mapping()`].
pub fn route_warnings(candidates: &[Candidate], route_idx: usize) -> String {
    let moved = candidates.iter().filter(|it| it.stays.is_none());
    let by_route = moved.flat_map(|it| it.from.iter().map(move |_| it));
    by_route.skip(route_idx).take(1).map(warnings_of).collect()
}

fn warnings_of(candidate: &Candidate) -> String {
    let from = addresses(candidate);
    candidate.warnings.iter().map(|words| warning(&format!("{from}: {words}"))).collect()
}

pub fn warning(text: &str) -> String {
    line(&format!("warning: {text}"))
}

/// Lists the addresses as people write them.
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

/// Explains why nothing is moved; `is_told` means that the reason of each candidate was already printed.
pub fn nothing(candidates: &[Candidate], only: &[u16], is_told: bool) -> String {
    if !candidates.is_empty() {
        let how = if is_told { "" } else { "; --dry-run shows why" };
        return format!("every server that looptax found stays on TCP{how}");
    }
    let ports: Vec<String> = only.iter().map(ToString::to_string).collect();
    let port = match &*ports {
        [] => "a loopback port".to_owned(),
        ports => format!("port {}", ports.join(" or ")),
    };
    let root = if rustix::process::geteuid().is_root() { "" } else { "root can also inspect servers of other users; " };
    format!(
        "looptax sees no server that has both {port} and a socket; {root}to move connections to another server, pass \
         its port and socket, for example --map 127.0.0.1:3306=/run/mysqld/mysqld.sock"
    )
}

/// Summarises the connections; empty if there were no connections, unless `is_whole` is set.
pub fn summary(stats: &Stats, mapping: &Mapping, is_whole: bool) -> String {
    let (n_moved, n_left) = (stats.n_moved(), stats.n_left());
    if n_moved + n_left == 0 && !is_whole {
        return String::new();
    }
    let connections = if n_moved == 1 { "connection" } else { "connections" };
    let mut text = format!("{n_moved} {connections} moved, {n_left} left on TCP");
    if !is_whole {
        let moved = mapping.routes.iter().zip(&stats.n_moved).filter(|it| *it.1 > 0);
        let routes: Vec<String> = moved.map(|(it, _)| format!("{} -> {}", it.from, shown(&it.to))).collect();
        let colon = if routes.is_empty() { "" } else { ": " };
        let _ = write!(text, "{colon}{} (--stats)", routes.join(", "));
    }
    text = line(&text);
    if is_whole {
        for (idx, route) in mapping.routes.iter().enumerate() {
            let n_moved = stats.n_moved[idx];
            text += &line(&format!("  {}: {n_moved} moved to {}", route.from, shown(&route.to)));
            for (reason, n) in &stats.left[idx] {
                text += &line(&format!("  {}: {n} left on TCP: {}", route.from, reason.words()));
            }
        }
    }
    text
}

pub fn event(event: Event, mapping: &Mapping) -> String {
    let from = |idx: usize| mapping.routes[idx].from;
    match event {
        Event::Moved { route_idx, pid } => {
            line(&format!("pid {pid}: {} moved to {}", from(route_idx), shown(&mapping.routes[route_idx].to)))
        }
        Event::Left { route_idx, pid, reason, errno } => {
            let error = match errno {
                0 => String::new(),
                errno => format!(" ({})", std::io::Error::from_raw_os_error(errno)),
            };
            let from = from(route_idx);
            line(&format!("pid {pid}: {from} left on TCP: {}{error}", reason.words()))
        }
        Event::SupervisorDied => line("the supervisor died; a new supervisor continues the work"),
    }
}

#[cfg(test)]
mod tests {
    use looptax_redirect::{FallbackReason, SocketName};

    use super::*;

    fn candidate(stays: Option<&str>) -> Candidate {
        Candidate {
            server: Some(("mariadbd".to_owned(), 4711)),
            stays: stays.map(str::to_owned),
            ..Candidate::new(
                vec!["127.0.0.1:3306".parse().unwrap()],
                SocketName::Path("/run/mysqld/mysqld.sock".into()),
            )
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
        assert_eq!(plan(&stays, true), "looptax: 127.0.0.1:3306 (mariadbd, pid 4711) stays on TCP: no\n");
    }

    #[test]
    fn a_route_has_the_warnings_of_its_server() {
        let warned = Candidate { warnings: vec!["careful".to_owned()], ..candidate(None) };
        let all = [candidate(Some("no")), candidate(None), warned];
        assert_eq!(route_warnings(&all, 0), "");
        assert_eq!(route_warnings(&all, 1), "looptax: warning: 127.0.0.1:3306: careful\n");
        assert_eq!(route_warnings(&all, 2), "");
    }

    #[test]
    fn the_summary_counts() {
        let mapping = super::super::candidate::mapping(&[candidate(None)]);
        let stats = Stats { n_moved: vec![1], left: vec![vec![(FallbackReason::Full, 2)]] };
        let short = "1 connection moved, 2 left on TCP: 127.0.0.1:3306 -> /run/mysqld/mysqld.sock (--stats)\n";
        assert_eq!(summary(&stats, &mapping, false), format!("looptax: {short}"));
        let none = Stats { n_moved: vec![0], left: vec![Vec::new()] };
        assert_eq!(summary(&none, &mapping, false), "");
        assert_eq!(summary(&none, &mapping, true).lines().next(), Some("looptax: 0 connections moved, 0 left on TCP"));
        let whole = summary(&stats, &mapping, true);
        assert!(whole.contains("127.0.0.1:3306: 2 left on TCP: the socket's queue is full\n"));
    }
}
