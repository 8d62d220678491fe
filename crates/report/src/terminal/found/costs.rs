//! Explains where the rates and costs come from.

use std::collections::BTreeSet;

use looptax_advise::check::{measures_proxy, measures_tls};
use looptax_model::record::{CostSource, CountedBy, Found, FoundHop, FoundPeer, NoteCode};

use super::super::lines::Lines;
use super::cells::shown;
use super::most::{Most, Part};
use crate::format::Text;

pub(super) fn write(found: &Found, most: Most, lines: &mut Lines) {
    let Some(seconds) = found.rates_over_s else {
        return;
    };
    let kinds = paying_kinds(found);
    if kinds.is_empty() {
        return;
    }
    let words = match found.counted_by {
        CountedBy::Segments => {
            format!(
                "requests/s: TCP segments with data over {seconds:.1} s; several requests in one segment count as one"
            )
        }
        CountedBy::Kernel => {
            let is_estimated = |it: &FoundPeer| it.requests_per_s.is_some() && it.opened_per_s.is_none();
            let has_estimates = found.clients.iter().any(|it| is_estimated(&it.peer));
            let estimates = "; for clients without new/s, looptax counted TCP segments with data instead";
            format!(
                "requests/s: counted by the kernel over {seconds:.1} s, including requests of closed connections; \
                 several requests sent together count as one{}",
                if has_estimates { estimates } else { "" }
            )
        }
    };
    if most.of(Part::Explanations) > 0 {
        lines.item(0, &words);
    }
    let text = lines.style.text();
    let used = used(found);
    if used.is_empty() {
        // A note with this code shows that `--measure` was requested but could not determine all costs.
        let was_measured = { found.notes.iter() }.any(|it| it.code == NoteCode::CostNotMeasured);
        if !was_measured && !has_source(found, &kinds) {
            lines.item(
                0,
                "the cost is not known: no run in the history has a figure; measure it with --measure (ten seconds) or \
                 pass a run with --record",
            );
        }
        return;
    }
    lines.item(
        0,
        "CPU time lost: requests/s times the cost of TCP per request, measured at full speed (probably higher at lower \
         rates):",
    );
    for source in lines.first_of(&used, most.of(Part::Sources), "costs") {
        let Some(cost) = source.cpu_us_per_request.known() else {
            continue;
        };
        let uncertain = match (source.is_size_uncertain, source.is_undecided) {
            (true, _) => "; the size of this cost is uncertain, because the cost differed within that run",
            (false, true) => "; that run decided nothing, so the interval is wide",
            (false, false) => "",
        };
        let line = format!(
            "{}: {} ({}){uncertain}",
            asked(source, text),
            text.signed_micros_interval(cost),
            shown(&source.source, text),
        );
        lines.item(2, &line);
    }
    for kind in priced_without_tls(found) {
        let next = match measures_tls(kind) {
            Some(measures) => format!("{measures} the cost with TLS"),
            None => "looptax has no private server of this kind with which it can measure the cost of TLS".to_owned(),
        };
        lines.item(2, &format!("{}: this cost excludes TLS; {next}", shown(kind, text)));
    }
    for (kind, proxy) in priced_without_proxy(found) {
        let next = measures_proxy(kind, proxy).map_or_else(String::new, |it| format!("; {it} it"));
        let (kind, proxy) = (shown(kind, text), shown(proxy, text));
        lines.item(2, &format!("{kind} through {proxy}: this cost excludes the proxy's own CPU time{next}"));
    }
}

/// Returns the kinds of server that clients reach through a proxy, each with the name of the proxy's program.
fn priced_without_proxy(found: &Found) -> BTreeSet<(&str, &str)> {
    let priced = found.clients.iter().filter(|it| it.peer.way.is_tcp() && !it.cost_from.is_empty());
    let through = priced.filter_map(|client| {
        let server = found.servers.iter().find(|it| it.pid == client.server_pid)?;
        Some((&*server.kind, client.via.as_deref()?.split(' ').next()?))
    });
    through.collect()
}

/// Returns the kinds of server whose encrypted requests are counted at the cost of unencrypted requests.
fn priced_without_tls(found: &Found) -> BTreeSet<&str> {
    let is_plain = |places: &[usize]| {
        let mut sources = places.iter().filter_map(|it| found.cost_sources.get(*it));
        sources.any(|it| !it.is_sealed)
    };
    let of_clients = { found.clients.iter() }.filter(|it| it.peer.is_sealed && is_plain(&it.cost_from));
    let of_clients = of_clients.filter_map(|client| {
        let server = found.servers.iter().find(|it| it.pid == client.server_pid);
        server.map(|it| &*it.kind)
    });
    let of_hops = hops(found).filter(|it| it.is_sealed && is_plain(&it.cost_from)).filter_map(|it| it.kind.as_deref());
    of_clients.chain(of_hops).collect()
}

/// Names the requests to which a source applies: `mariadb`, `pgbouncer to postgres`, `php-fpm, a connection per
/// request`.
fn asked(source: &CostSource, text: Text) -> String {
    let kind = source.kind.as_ref();
    let kind = kind.map_or_else(|| "every server".to_owned(), |it| shown(it, text));
    let asked = match &source.client_kind {
        Some(client) => format!("{} to {kind}", shown(client, text)),
        None => kind,
    };
    let tls = if source.is_sealed { " with TLS" } else { "" };
    let per = if source.is_per_connection { ", a connection per request" } else { "" };
    format!("{asked}{tls}{per}")
}

/// Returns the kinds of server that have clients over TCP.
fn paying_kinds(found: &Found) -> BTreeSet<&str> {
    let paying = found.clients.iter().filter(|it| it.peer.way.is_tcp());
    let of_clients = paying.filter_map(|client| {
        let server = found.servers.iter().find(|it| it.pid == client.server_pid);
        server.map(|it| &*it.kind)
    });
    let hops = hops(found).filter(|it| it.way.is_tcp());
    let of_hops = hops.filter_map(|it| it.kind.as_deref());
    of_clients.chain(of_hops).collect()
}

fn hops(found: &Found) -> impl Iterator<Item = &FoundHop> {
    found.chains.iter().flat_map(|it| &it.hops)
}

/// Whether some source has a figure for one of these kinds, even if no request to this kind was seen.
fn has_source(found: &Found, kinds: &BTreeSet<&str>) -> bool {
    let mut sources = found.cost_sources.iter();
    sources.any(|it| it.kind.as_deref().is_none_or(|kind| kinds.contains(kind)))
}

/// Returns every source from which a shown figure was computed.
fn used(found: &Found) -> Vec<&CostSource> {
    let of_clients = found.clients.iter().flat_map(|it| &it.cost_from);
    let of_hops = hops(found).flat_map(|it| &it.cost_from);
    let places: BTreeSet<usize> = of_clients.chain(of_hops).copied().collect();
    let sources = places.into_iter();
    sources.filter_map(|it| found.cost_sources.get(it)).collect()
}
