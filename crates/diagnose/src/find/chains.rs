//! What is said of chains of hops: what a page goes through, and what that costs.
//!
//! Which hops belong to a chain, `paths` knows.

use std::collections::BTreeSet;

use looptax_discover::{Closed, Link, Survey};
use looptax_record::{CostSource, FoundChain, FoundHop, Way};

use super::paths::{Graph, Path};
use super::rates::{Asked, Rates, cost, source_of, sum};
use super::shares::{Shares, charged, rate_of};

/// The chains of a look; a database's clients that nothing else is connected to are none.
pub(super) fn chains(
    survey: &Survey,
    rates: Option<&Rates<'_>>,
    sources: &[CostSource],
) -> Vec<FoundChain> {
    let graph = Graph::new(survey);
    let view = View {
        survey,
        rates,
        sources,
    };
    let paths = graph.paths();
    let links = survey.stack.links.iter();
    let shares = Shares {
        stack: &survey.stack,
        paths: &paths,
        rates: links.map(|it| rate_of(&view.hop(it))).collect(),
    };
    paths.iter().map(|it| view.chain(it, &shares)).collect()
}

/// What is said of the links of a path.
struct View<'a> {
    survey: &'a Survey,
    rates: Option<&'a Rates<'a>>,
    sources: &'a [CostSource],
}

impl View<'_> {
    fn chain(&self, path: &Path, shares: &Shares<'_>) -> FoundChain {
        let stack = &self.survey.stack;
        let first = &stack.services[path.first];
        let unseen = self.unseen(path.first);
        // Any server but a web server is asked by somebody.
        let begins_here = first.is_web_server || first.server_idx.is_none();
        let links = path.links.iter().map(|idx| {
            let is_shared = shares.is_shared(*idx);
            FoundHop {
                is_shared,
                share: shares.of(path, *idx).filter(|_| is_shared),
                ..self.hop(&stack.links[*idx])
            }
        });
        let hops: Vec<FoundHop> = unseen.into_iter().chain(links).collect();
        let without = |is_per_connection: bool| {
            let hops = hops.iter().filter(|it| it.way.is_tcp());
            let open = hops.filter(|it| self.is_without_cost(it, is_per_connection));
            let kinds = open.map(|it| it.kind.clone().unwrap_or_else(|| it.server.clone()));
            kinds.collect::<BTreeSet<String>>().into_iter().collect()
        };
        FoundChain {
            cpu_ms_per_s: sum(hops.iter().filter_map(charged)),
            kinds_without_cost: without(false),
            kinds_without_connection_cost: without(true),
            begins_here,
            hops,
        }
    }

    /// Whether a part of its requests has no figure, whatever their rate.
    fn is_without_cost(&self, hop: &FoundHop, is_per_connection: bool) -> bool {
        let mut parts = parts(hop).into_iter();
        parts.any(|(_, it)| it == is_per_connection && self.source(hop, it).is_none())
    }

    /// The place of what prices requests over it.
    fn source(&self, hop: &FoundHop, is_per_connection: bool) -> Option<usize> {
        let servers = &self.survey.servers;
        let client = { servers.iter() }.find(|it| Some(it.process.pid) == hop.client_pid);
        let asked = Asked {
            kind: hop.kind.as_deref().unwrap_or_default(),
            client_kind: client.map(|it| it.kind.name()),
            is_per_connection,
        };
        source_of(asked, self.sources)
    }

    fn hop(&self, link: &Link) -> FoundHop {
        let client = link.client.map(|idx| &self.survey.stack.services[idx]);
        let rate = |it: &Rates<'_>| it.requests_per_s(link.way, &link.connections);
        let closed_per_s = if link.n_passing > 0 && self.is_only_passing(link) {
            self.closed_per_s(link.server, link.way)
        } else {
            None
        };
        self.with_cost(FoundHop {
            client_pid: client.map(|it| it.process.pid),
            client: client.map(|it| it.name.clone()),
            n_processes: link.processes.len() as u64,
            n_connections: link.connections.len() as u64,
            n_passing: link.n_passing as u64,
            requests_per_s: self.rates.and_then(rate),
            closed_per_s,
            ..self.empty(link.server, link.way)
        })
    }

    /// Whether nobody else was seen to connect to that server for a moment: then what was closed was this one's.
    fn is_only_passing(&self, link: &Link) -> bool {
        let mut links = self.survey.stack.links.iter();
        !links.any(|it| {
            let is_same = (it.server, it.way) == (link.server, link.way);
            is_same && it.client != link.client && it.n_passing > 0
        })
    }

    /// Connections to a server that nobody is seen to ask: those that came and went, and others' whose process is
    /// not seen.
    fn unseen(&self, service: usize) -> Vec<FoundHop> {
        let Some(idx) = self.survey.stack.services[service].server_idx else {
            return Vec::new();
        };
        let closed = self.survey.others[idx].closed.iter();
        let mut ways: BTreeSet<Way> = closed.filter_map(Closed::way).collect();
        let links = self.survey.stack.links.iter();
        let hidden = links.filter(|it| it.client.is_none() && it.server == service);
        let mut hops = Vec::new();
        for link in hidden {
            ways.remove(&link.way);
            let closed_per_s = self.closed_per_s(service, link.way);
            hops.push(self.with_cost(FoundHop {
                closed_per_s,
                ..self.hop(link)
            }));
        }
        hops.extend(ways.into_iter().map(|way| {
            self.with_cost(FoundHop {
                closed_per_s: self.closed_per_s(service, way),
                ..self.empty(service, way)
            })
        }));
        hops
    }

    fn closed_per_s(&self, service: usize, way: Way) -> Option<f64> {
        let idx = self.survey.stack.services[service].server_idx?;
        self.rates?.closed_per_s(self.survey, idx, way)
    }

    fn empty(&self, server: usize, way: Way) -> FoundHop {
        let server = &self.survey.stack.services[server];
        let kind = server.server_idx.map(|idx| self.survey.servers[idx].kind);
        FoundHop {
            client_pid: None,
            client: None,
            n_processes: 0,
            server_pid: server.process.pid,
            server: server.name.clone(),
            kind: kind.map(|it| it.name().to_owned()),
            way,
            n_connections: 0,
            n_passing: 0,
            requests_per_s: None,
            closed_per_s: None,
            is_shared: false,
            share: None,
            cpu_ms_per_s: None,
            cost_from: Vec::new(),
        }
    }

    fn with_cost(&self, hop: FoundHop) -> FoundHop {
        let mut costs = Vec::new();
        let mut cost_from = Vec::new();
        for (rate, is_per_connection) in parts(&hop) {
            let source = rate.and_then(|_| self.source(&hop, is_per_connection));
            costs.extend(
                rate.zip(source)
                    .and_then(|(rate, idx)| cost(rate, &self.sources[idx])),
            );
            cost_from.extend(source);
        }
        FoundHop {
            cpu_ms_per_s: sum(costs.into_iter()),
            cost_from,
            ..hop
        }
    }
}

/// The rates of its requests, and whether each of them has a connection of its own. A connection that was closed
/// counts as one request; where there are more of those than requests over the open ones, these are alike.
fn parts(hop: &FoundHop) -> Vec<(Option<f64>, bool)> {
    let open = hop.requests_per_s.filter(|_| hop.n_connections > 0);
    match (open, hop.closed_per_s.filter(|it| *it > 0.0)) {
        (None, None) => vec![(None, hop.n_connections == 0)],
        (Some(open), None) => vec![(Some(open), false)],
        (open, Some(closed)) if closed > open.unwrap_or(0.0) => {
            vec![(Some(open.unwrap_or(0.0) + closed), true)]
        }
        (open, closed) => vec![(open, false), (closed, true)],
    }
}

#[cfg(test)]
mod tests {
    use looptax_discover::{OtherConnections, Process, Server, Service, Stack};
    use looptax_dsn::Kind;

    use super::*;

    fn process(pid: u32) -> Process {
        let own = looptax_discover::process(std::process::id()).unwrap();
        Process { pid, ..own }
    }

    /// A survey of servers and others by name, and of who asks whom; a process's number is its place.
    fn survey(servers: &[Kind], others: &[&str], links: &[(usize, usize)]) -> Survey {
        let places = (0..).zip(servers);
        let listed = places.map(|(pid, kind)| Server {
            kind: *kind,
            version: None,
            name: kind.name().to_owned(),
            process: process(pid),
            endpoints: Vec::new(),
            is_hidden: false,
        });
        let listed: Vec<Server> = listed.collect();
        let service = |idx: usize, name: &str, is_server: bool| Service {
            process: process(u32::try_from(idx).unwrap()),
            name: name.to_owned(),
            server_idx: is_server.then_some(idx),
            is_web_server: name == "nginx",
            hands_on: ["nginx", "haproxy", "pgbouncer"].contains(&name),
        };
        let own = listed.iter().enumerate();
        let own = own.map(|(idx, it)| service(idx, &it.name, true));
        let more = (servers.len()..).zip(others);
        let more = more.map(|(idx, name)| service(idx, name, false));
        let links = links.iter().map(|(client, server)| Link {
            client: Some(*client),
            server: *server,
            way: Way::Loopback,
            connections: Vec::new(),
            n_passing: 0,
            processes: BTreeSet::new(),
        });
        Survey {
            others: vec![OtherConnections::default(); listed.len()],
            stack: Stack {
                services: own.chain(more).collect(),
                links: links.collect(),
            },
            servers: listed,
            ..Survey::default()
        }
    }

    #[track_caller]
    fn check(survey: &Survey, expected: &[&str]) {
        let all = chains(survey, None, &[]);
        let each = all.iter().map(|chain| {
            let hops = chain.hops.iter();
            let named = hops.map(|it| format!("{}>{}", it.client.as_deref().unwrap(), it.server));
            named.collect::<Vec<_>>().join(" ")
        });
        assert_eq!(each.collect::<Vec<_>>(), expected);
    }

    const PHP: [Kind; 4] = [Kind::PhpFpm, Kind::Mariadb, Kind::Redis, Kind::Http];

    #[test]
    fn a_web_server_parts_chains_and_an_application_keeps_all_that_it_asks() {
        let links = [(4, 0), (4, 3), (0, 1), (0, 2), (3, 2)];
        let survey = survey(&PHP, &["nginx"], &links);
        let php = "nginx>php-fpm php-fpm>mariadb php-fpm>redis";
        check(&survey, &[php, "nginx>http http>redis"]);
    }

    #[test]
    fn a_program_with_its_databases_is_no_chain_and_with_a_pooler_it_is_one() {
        let kinds = [Kind::Pgbouncer, Kind::Postgres, Kind::Redis];
        let app = ["ruby"];
        check(&survey(&kinds, &app, &[(3, 1), (3, 2)]), &[]);
        let links = [(3, 0), (3, 2), (0, 1)];
        let expected = "ruby>pgbouncer ruby>redis pgbouncer>postgres";
        check(&survey(&kinds, &app, &links), &[expected]);
    }

    #[test]
    fn a_replica_of_a_database_belongs_to_no_page() {
        let kinds = [Kind::PhpFpm, Kind::Redis, Kind::Redis];
        let links = [(3, 0), (0, 1), (1, 2)];
        let expected = "nginx>php-fpm php-fpm>redis";
        check(&survey(&kinds, &["nginx"], &links), &[expected]);
        check(&survey(&kinds, &[], &[(1, 2)]), &[]);
    }

    #[test]
    fn services_that_ask_each_other_end_in_one_chain() {
        let kinds = [Kind::Http, Kind::Uwsgi];
        check(
            &survey(&kinds, &[], &[(0, 1), (1, 0)]),
            &["http>uwsgi uwsgi>http"],
        );
        let web = ["nginx", "haproxy"];
        let found = chains(&survey(&[], &web, &[(0, 1), (1, 0)]), None, &[]);
        assert_eq!(found.len(), 1, "{found:#?}");
    }

    #[test]
    fn a_cost_that_nobody_measured_is_named_by_its_kind() {
        let survey = survey(&PHP, &["nginx"], &[(4, 0), (0, 1)]);
        let found = chains(&survey, None, &[of_mariadb(3.0, true)]);
        // None of its connections is open.
        assert_eq!(found[0].kinds_without_connection_cost, ["php-fpm"]);
        assert_eq!(found[0].cpu_ms_per_s, None);
    }

    fn of_mariadb(us: f64, is_per_connection: bool) -> CostSource {
        CostSource {
            kind: Some("mariadb".to_owned()),
            client_kind: None,
            is_per_connection,
            cpu_us_per_request: looptax_record::Figure::new(us, us, us, 20),
            source: "run x".to_owned(),
            is_size_uncertain: false,
            is_undecided: false,
        }
    }

    /// The cost of PHP's requests to MariaDB, at these rates, and the kinds without one of either sort.
    fn priced(open: f64, closed: f64, sources: &[CostSource]) -> (Option<f64>, [bool; 2]) {
        let survey = survey(&PHP, &["nginx"], &[(4, 0), (0, 1)]);
        let view = View {
            survey: &survey,
            rates: None,
            sources,
        };
        let hop = view.with_cost(FoundHop {
            n_connections: 2,
            requests_per_s: Some(open),
            closed_per_s: Some(closed),
            ..view.empty(1, Way::Loopback)
        });
        let cost = hop
            .cpu_ms_per_s
            .as_ref()
            .and_then(looptax_record::Figure::known);
        let without = [false, true].map(|it| view.is_without_cost(&hop, it));
        (cost.map(|it| it.value), without)
    }

    #[test]
    fn r25_connections_of_one_request_and_kept_ones_have_each_their_own_price() {
        let [kept, short] = [of_mariadb(3.0, false), of_mariadb(20.0, true)];
        let of_kept = std::slice::from_ref(&kept);
        let of_short = std::slice::from_ref(&short);
        assert_eq!(priced(100.0, 0.0, of_kept), (Some(0.3), [false, false]));
        assert_eq!(priced(100.0, 0.0, of_short), (None, [true, false]));
        assert_eq!(priced(0.0, 100.0, of_short), (Some(2.0), [false, false]));
        assert_eq!(priced(10.0, 90.0, of_kept), (None, [false, true]));
        assert_eq!(priced(100.0, 50.0, of_kept), (Some(0.3), [false, true]));
        let both = [kept.clone(), short.clone()];
        assert_eq!(priced(100.0, 50.0, &both), (Some(1.3), [false, false]));
    }

    /// Two programs at one pooler, at these rates, `None` for one over the socket: what each is charged of the
    /// pooler's 100 requests per second, as a part.
    fn parts_of(rates: [Option<f64>; 2]) -> [Option<f64>; 2] {
        let kinds = [Kind::Pgbouncer, Kind::Postgres];
        let survey = survey(&kinds, &["ruby", "idle"], &[(2, 0), (3, 0), (0, 1)]);
        let paths = Graph::new(&survey).paths();
        let shares = Shares {
            stack: &survey.stack,
            paths: &paths,
            rates: vec![rates[0], rates[1], Some(100.0)],
        };
        assert!(
            shares.is_shared(2) && !shares.is_shared(0),
            "{}",
            paths.len()
        );
        [0, 1].map(|idx| shares.of(&paths[idx], 2))
    }

    #[test]
    fn r25_a_hop_that_two_chains_share_is_charged_to_each_by_what_comes_in_from_it() {
        assert_eq!(parts_of([Some(75.0), Some(25.0)]), [Some(0.75), Some(0.25)]);
        assert_eq!(parts_of([Some(90.0), Some(0.0)]), [Some(1.0), Some(0.0)]);
        assert_eq!(parts_of([None, Some(0.0)]), [None, Some(0.0)]);
        assert_eq!(parts_of([None, Some(10.0)]), [None, None]);
        assert_eq!(parts_of([Some(0.0), Some(0.0)]), [None, None]);
    }

    #[test]
    fn a_way_that_several_chains_begin_with_is_nobodys_alone() {
        let kinds = [Kind::PhpFpm, Kind::Http];
        let survey = survey(&kinds, &["haproxy", "nginx"], &[(2, 3), (3, 0), (3, 1)]);
        let found = chains(&survey, None, &[]);
        let shared = { found.iter() }.map(|it| it.hops.iter().map(|it| it.is_shared).collect());
        let shared: Vec<Vec<bool>> = shared.collect();
        assert_eq!(shared, [[true, false], [true, false]]);
        assert_eq!(found[0].hops[0].share, None);
    }
}
