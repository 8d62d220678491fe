//! Turns a survey into findings, in the form in which they are shown and saved.

use looptax_host::discover::{
    Client, Endpoint, Listener, OtherConnections, Peer, Place, Problem, Process, SealedFlow, Server, SocketFile,
    Survey, asks_by_its_files, known_as,
};
use looptax_host::eyes::Look;
use looptax_model::record::{
    CostSource, CountedBy, EndpointTransport, FILE_GONE, FILE_REPLACED, FILE_UNSEEN, FOUND_SCHEMA_VERSION, Found,
    FoundClient, FoundEndpoint, FoundListener, FoundPeer, FoundServer, Way,
};

use super::chains::chains;
use super::counts::Counts;
use super::names::Names;
use super::notes::{notes, sealed_notes};
use super::rates::{Asked, Rates, cost, is_sealed, source_of};

/// Lists the findings of the later survey. If there is an earlier survey, the list has rates; if there is also a source
/// of costs, the list has costs too. `counted` holds the kernel's counts between the two surveys, and `sealed` the
/// encrypted connections that the kernel showed in that time.
pub fn listing(
    earlier: Option<&Survey>,
    survey: &Survey,
    counted: Option<&Look>,
    sealed: &[SealedFlow],
    sources: &[CostSource],
) -> Found {
    let names = Names::new();
    let rates = earlier.map(|earlier| Rates::between(earlier, survey));
    let rate = |peer: &Peer| { rates.as_ref() }?.requests_per_s(peer.way, &peer.connections);
    let counts = counted.map(|look| Counts::new(look, survey));
    let mut clients: Vec<FoundClient> = Vec::new();
    for client in &survey.clients {
        let by_segments = rate(&client.peer);
        let asked = counts.as_ref().and_then(|it| it.of(client)).filter(|it| !it.lacks(by_segments));
        let rate = asked.map_or(by_segments, |it| Some(it.requests_per_s));
        let found = found_client(client, survey, sealed, rate, sources, &names);
        let opened_per_s = asked.map(|it| it.opened_per_s);
        let p50_us = asked.and_then(|it| it.p50_us);
        clients.push(FoundClient { peer: FoundPeer { opened_per_s, p50_us, ..found.peer }, ..found });
    }
    clients.extend(counts.iter().flat_map(Counts::without_connection).map(|(client, name, asked)| {
        let found = found_client(&client, survey, sealed, Some(asked.requests_per_s), sources, &names);
        let program = found.peer.program.clone().or(Some(name));
        let opened_per_s = Some(asked.opened_per_s);
        FoundClient { peer: FoundPeer { program, opened_per_s, p50_us: asked.p50_us, ..found.peer }, ..found }
    }));
    Found {
        schema_version: FOUND_SCHEMA_VERSION,
        looptax_version: env!("CARGO_PKG_VERSION").to_owned(),
        at: super::now(),
        rates_over_s: rates.as_ref().map(Rates::seconds),
        counted_by: if counted.is_some() { CountedBy::Kernel } else { CountedBy::Segments },
        cost_sources: sources.to_vec(),
        sees_all: !{ survey.problems.iter() }
            .any(|it| matches!(it, Problem::HiddenProcesses { .. } | Problem::UnlistedProcesses)),
        servers: survey
            .servers
            .iter()
            .zip(&survey.others)
            .map(|(server, others)| FoundServer {
                network: network(server, survey),
                ..found_server(server, others, &names)
            })
            .collect(),
        clients,
        chains: chains(survey, rates.as_ref(), counts.as_ref(), sealed, sources),
        listeners: { survey.listeners.iter() }
            .map(|it| {
                let clients = { it.clients.iter() }.map(|peer| found_peer(peer, rate(peer), &names));
                found_listener(it, clients.collect(), survey, &names)
            })
            .collect(),
        notes: notes(survey, counted.is_some()).into_iter().chain(sealed_notes(sealed, survey)).collect(),
    }
}

fn found_server(server: &Server, others: &OtherConnections, names: &Names) -> FoundServer {
    FoundServer {
        kind: server.kind.name().to_owned(),
        version: server.version.clone(),
        pid: server.process.pid,
        program: server.name(),
        user: names.user_of(&server.process),
        home: names.home_of(&server.process),
        is_hidden: server.is_hidden,
        endpoints: server.endpoints.iter().map(|it| found_endpoint(it, &server.process, names)).collect(),
        network: None,
        n_remote: others.n_remote as u64,
        n_closed_last_minute: others.closed.len() as u64,
    }
}

/// Returns the name of the server's network namespace, if it is not looptax's own.
fn network(server: &Server, survey: &Survey) -> Option<String> {
    let tcp = server.endpoints.iter().find(|it| matches!(it.place, Place::Tcp(_)))?;
    (Some(tcp.network) != survey.own_network).then(|| format!("net:[{}]", tcp.network))
}

fn found_endpoint(endpoint: &Endpoint, at: &Process, names: &Names) -> FoundEndpoint {
    let (transport, address) = shown(&endpoint.place);
    FoundEndpoint {
        transport,
        address,
        file: match &endpoint.place {
            Place::Path { file, .. } => Some(file_words(*file, at, names)),
            Place::Tcp(_) | Place::Abstract(_) => None,
        },
        n_waiting: endpoint.queue.waiting,
        backlog: endpoint.queue.backlog,
        known: endpoint.known,
    }
}

fn shown(place: &Place) -> (EndpointTransport, String) {
    match place {
        Place::Tcp(address) => (EndpointTransport::Tcp, address.to_string()),
        Place::Abstract(name) => (EndpointTransport::Abstract, name.to_string_lossy().into_owned()),
        Place::Path { path, .. } => (EndpointTransport::Unix, path.to_string_lossy().into_owned()),
    }
}

fn found_listener(listener: &Listener, clients: Vec<FoundPeer>, survey: &Survey, names: &Names) -> FoundListener {
    let (transport, address) = shown(&listener.endpoint.place);
    let pid_of = |idx: &usize| survey.servers[*idx].process.pid;
    let program_of = |it: &Process| format!("{} {}", it.program_name(), it.pid);
    FoundListener {
        transport,
        address,
        user: listener.uid.map(|uid| names.user(uid, None)),
        likely: listener.likely.map(str::to_owned),
        server_pids: listener.servers.iter().map(pid_of).collect(),
        web_servers: listener.web_servers.iter().map(program_of).collect(),
        n_connections: clients.iter().map(|it| it.n_connections).sum(),
        clients,
        n_closed_last_minute: listener.n_closed as u64,
    }
}

fn found_peer(peer: &Peer, requests_per_s: Option<f64>, names: &Names) -> FoundPeer {
    let process = peer.process.as_ref();
    FoundPeer {
        pid: process.map(|it| it.pid),
        program: process.map(known_as),
        user: process.map_or_else(|| Some(names.user(peer.uid?, None)), |it| Some(names.user_of(it))),
        home: process.and_then(|it| names.home_of(it)),
        asks_by_its_files: process.is_some_and(asks_by_its_files),
        way: peer.way,
        is_sealed: false,
        n_connections: peer.connections.len() as u64,
        requests_per_s,
        opened_per_s: None,
        p50_us: None,
    }
}

fn file_words(file: SocketFile, at: &Process, names: &Names) -> String {
    match file {
        SocketFile::Present { uid, gid, mode } => {
            format!("{}:{} {mode:04o}", names.user(uid, Some(at)), names.group(gid, Some(at)))
        }
        SocketFile::Replaced => FILE_REPLACED.to_owned(),
        SocketFile::Missing => FILE_GONE.to_owned(),
        SocketFile::Unknown => FILE_UNSEEN.to_owned(),
    }
}

fn found_client(
    client: &Client,
    survey: &Survey,
    sealed: &[SealedFlow],
    requests_per_s: Option<f64>,
    sources: &[CostSource],
    names: &Names,
) -> FoundClient {
    let server = &survey.servers[client.server_idx];
    let process = client.peer.process.as_ref();
    let is_sealed = process.is_some_and(|it| is_sealed(sealed, &known_as(it), client.server_idx, client.peer.way));
    let asked = Asked {
        kind: server.kind.name(),
        client_kind: server_of(&client.peer, survey).map(|it| it.kind.name()),
        is_per_connection: false,
        is_sealed,
    };
    let source = requests_per_s.filter(|_| client.peer.way.is_tcp()).and_then(|_| source_of(asked, sources));
    let priced = source.zip(requests_per_s);
    FoundClient {
        peer: FoundPeer { is_sealed, ..found_peer(&client.peer, requests_per_s, names) },
        server_pid: server.process.pid,
        via: client.via.as_ref().map(|hop| {
            let shared = if hop.leads_elsewhere { " (which leads to other servers too)" } else { "" };
            let onward = match hop.onward {
                Way::Unix => ", then by unix",
                _ => "",
            };
            format!("{} {}{onward}{shared}", hop.program, hop.pid)
        }),
        onward: onward(server, survey),
        cpu_ms_per_s: priced.and_then(|(idx, rate)| cost(rate, &sources[idx])),
        cost_from: source.into_iter().collect(),
    }
}

/// Returns the server whose process is the client, or whose process started the client's process.
fn server_of<'a>(peer: &Peer, survey: &'a Survey) -> Option<&'a Server> {
    let process = peer.process.as_ref()?;
    let mut servers = survey.servers.iter();
    servers.find(|it| {
        let is_parent = it.process.pid == process.parent;
        let has_started_it = is_parent && it.process.program_name() == process.program_name();
        it.process.pid == process.pid || has_started_it
    })
}

/// Returns the destination of a pooler's own connections: the server that the pooler's clients finally reach.
fn onward(server: &Server, survey: &Survey) -> Option<String> {
    if !server.kind.is_pooler() {
        return None;
    }
    let is_own = |it: &&Client| {
        let client = server_of(&it.peer, survey);
        client.is_some_and(|it| it.process.pid == server.process.pid)
    };
    let own = survey.clients.iter().find(is_own)?;
    let end = &survey.servers[own.server_idx];
    Some(format!("{} {} by {}", end.name(), end.process.pid, own.peer.way))
}
