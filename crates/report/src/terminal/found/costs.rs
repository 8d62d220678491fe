//! Where rates and costs come from.

use looptax_record::{CostSource, Found, NoteCode};

use super::super::lines::Lines;
use super::cells::shown;

pub(super) fn write(found: &Found, lines: &mut Lines) {
    let Some(seconds) = found.rates_over_s else {
        return;
    };
    let kinds: Vec<&str> = paying_kinds(found);
    if kinds.is_empty() {
        return;
    }
    lines.item(
        0,
        &format!("requests/s: TCP segments with data over {seconds:.1} s; several requests in one segment count as one"),
    );
    let text = lines.style.text();
    let used = used(found, &kinds);
    if used.is_empty() {
        // What --measure did not find out is told below.
        let was_measured = { found.notes.iter() }.any(|it| it.code == NoteCode::CostNotMeasured);
        if !was_measured {
            lines.item(
                0,
                "what that costs is not known: no run with a figure for these servers is in the history; --measure finds out in ten seconds, --record names one",
            );
        }
        return;
    }
    lines.item(
        0,
        "CPU time lost, an estimate on the low side: requests/s times what a request costs more over TCP at full speed here:",
    );
    for source in used {
        let Some(cost) = source.cpu_us_per_request.known() else {
            continue;
        };
        let uncertain = match (source.is_size_uncertain, source.is_undecided) {
            (true, _) => "; the size is uncertain, for it differed within that run",
            (false, true) => "; that run decided nothing, so the interval is wide",
            (false, false) => "",
        };
        let line = format!(
            "{}: {} ({}){uncertain}",
            source
                .kind
                .as_deref()
                .map_or_else(|| "every server".to_owned(), |kind| shown(kind, text)),
            text.signed_micros_interval(cost),
            shown(&source.source, text),
        );
        lines.item(2, &line);
    }
}

/// The kinds of server that somebody reaches over TCP.
fn paying_kinds(found: &Found) -> Vec<&str> {
    let paying = found.clients.iter().filter(|it| it.peer.way.is_tcp());
    let mut kinds: Vec<&str> = paying
        .filter_map(|client| {
            let server = found.servers.iter().find(|it| it.pid == client.server_pid);
            server.map(|it| &*it.kind)
        })
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// Their sources; the one for all where a kind has none of its own.
fn used<'a>(found: &'a Found, kinds: &[&str]) -> Vec<&'a CostSource> {
    let has_own = |kind: &str| {
        let mut sources = found.cost_sources.iter();
        sources.any(|it| it.kind.as_deref() == Some(kind))
    };
    let is_used = |source: &&CostSource| match source.kind.as_deref() {
        Some(kind) => kinds.contains(&kind),
        None => kinds.iter().any(|kind| !has_own(kind)),
    };
    found.cost_sources.iter().filter(is_used).collect()
}
