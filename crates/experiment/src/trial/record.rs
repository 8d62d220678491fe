//! Adds the measurements to the record as comparisons. Their verdicts are computed from the raw numbers, as the
//! verdicts of all other comparisons are.

use crate::RecordWriter;
use crate::measure::judging::{ending_of, placement_used, schedule};
use looptax_bench::{Course, Outcome, Placement};
use looptax_model::analysis::proved_arm::ProvedArm;
use looptax_model::failure::{Failure, with_causes};
use looptax_model::record;
use looptax_redirect::SocketName;
use record::{Comparison, Trial, TrialArm, TrialPage, TrialServer};

use crate::trial::arms::Turns;
use crate::trial::ask::{Ask, Load, Server, Way};
use crate::trial::first_look::FirstLook;

/// The error level (alpha) of a comparison that ended early, between two interim analyses.
const CUT_SHORT_ALPHA: f64 = 0.002;
/// Maximum number of pages that a record names.
const MOST_PAGES: usize = 50;

pub(crate) struct Done<'a> {
    pub(crate) ask: &'a Ask,
    pub(crate) seen: &'a FirstLook,
    pub(crate) course: &'a Course,
    pub(crate) turns: &'a Turns<'a>,
}

/// Adds a comparison for each contrast to the record.
///
/// # Errors
/// The failure that ended the measurement, or that made it invalid. The comparisons are added to the record
/// nevertheless, marked as invalid.
pub(crate) fn add_comparisons(done: &Done<'_>, mut outcome: Outcome, writer: &mut RecordWriter) -> Result<(), Failure> {
    let mut wrong = Ok(());
    let runs = std::mem::take(&mut outcome.contrasts);
    for (contrast_idx, (only, run)) in done.turns.contrasts.iter().copied().zip(runs).enumerate() {
        if run.epochs.is_empty() {
            continue;
        }
        let mut ending = ending_of(&run, CUT_SHORT_ALPHA, outcome.failure.as_ref());
        if let Err(objection) = done.turns.check(contrast_idx) {
            ending.invalid.push(with_causes(&objection));
            wrong = wrong.and(Err(objection));
        }
        let schedule = schedule(done.course, &outcome, done.ask.effort);
        let mut comparison = done.skeleton(contrast_idx, only, schedule);
        writer.take(&mut comparison, run);
        writer.add(comparison, &done.arms(contrast_idx), &[ending]);
    }
    looptax_model::analysis::add_trial_bill(&mut writer.record.comparisons);
    outcome.failure.map_or(wrong, |failure| Err(failure.into()))
}

impl Done<'_> {
    fn skeleton(&self, contrast_idx: usize, only: Option<usize>, schedule: record::Schedule) -> Comparison {
        let ask = self.ask;
        let first = ask.load.pages().first();
        let target = record::Target {
            kind: "application".to_owned(),
            name: first.map_or_else(String::new, |page| page.url.clone()),
            ..record::Target::default()
        };
        let workload =
            record::Workload { name: "page".to_owned(), statements: 1, pipeline: 1, ..record::Workload::default() };
        let load = record::Load {
            rate_per_s: ask.rate_per_s,
            arrivals: ask.rate_per_s.map(|_| "poisson".to_owned()),
            ..record::Load::default()
        };
        Comparison {
            connections: ask.clients as u32,
            load,
            trial: Some(self.trial(contrast_idx, only)),
            ..Comparison::unmeasured(
                target,
                workload,
                placement_used(Placement::Free),
                record::Client::Command,
                schedule,
            )
        }
    }

    fn trial(&self, contrast_idx: usize, only: Option<usize>) -> Trial {
        let ask = self.ask;
        let pages = ask.load.pages();
        let named = pages.iter().zip(&self.seen.expected).zip(&self.seen.body_bytes);
        let named = named.take(MOST_PAGES).map(|((page, expected), body_bytes)| TrialPage {
            url: page.url.clone(),
            status: expected.status,
            body_bytes: *body_bytes,
        });
        let mut arms = self.turns.seen[contrast_idx].clone();
        for (arm, ns) in arms.iter_mut().zip(self.turns.supervisor_ns[contrast_idx]) {
            arm.supervisor_us_per_page = ns as f64 / 1e3 / (arm.n_pages.max(1)) as f64;
        }
        Trial {
            command: ask.command.clone(),
            design: self.seen.design,
            pages: named.collect(),
            n_pages: pages.len() as u64,
            load_command: match &ask.load {
                Load::Command { shown, .. } => Some(shown.clone()),
                Load::Pages(_) => None,
            },
            servers: ask.servers.iter().map(server).collect(),
            only: only.map(|only| only as u32),
            arms,
            p95_us: [unknown(), unknown()],
            p95_added_us: unknown(),
            added_by_configuration_us: unknown(),
            counted: self.turns.counters.per_page(),
            bill: None,
        }
    }

    fn arms(&self, contrast_idx: usize) -> [ProvedArm; 2] {
        let seen = &self.turns.seen[contrast_idx];
        [0, 1].map(|idx| {
            let way = self.ask.arms[idx];
            let servers = self.ask.servers.iter();
            let ends = servers.map(|server| match way {
                Way::Socket => shown(&server.to),
                Way::Tcp => server.from.first().map(ToString::to_string).unwrap_or_default(),
            });
            let ends: Vec<String> = ends.collect();
            ProvedArm {
                name: way.name().to_owned(),
                endpoint: ends.join(", "),
                verified: is_proved(way, &seen[idx]),
                proof: record::Proof {
                    family: match way {
                        Way::Socket => "AF_UNIX".to_owned(),
                        Way::Tcp => "AF_INET".to_owned(),
                    },
                    ..record::Proof::default()
                },
            }
        })
    }
}

/// Returns the figure of a comparison that is not judged yet.
fn unknown() -> record::Figure {
    record::Figure::missing("not judged")
}

/// Whether at least one connection proves the arm's transport. For the socket, the proof is that the supervisor moved a
/// connection to the socket; for TCP, that the supervisor left a connection on TCP.
fn is_proved(way: Way, seen: &TrialArm) -> bool {
    let sum = |of: fn(&record::TrialConnections) -> u64| seen.connections.iter().map(of).sum::<u64>();
    let (moved, left) = (sum(|it| it.n_moved), sum(|it| it.n_left));
    match way {
        Way::Socket => moved > 0,
        Way::Tcp => left > 0,
    }
}

fn server(server: &Server) -> TrialServer {
    TrialServer {
        kind: server.kind.clone(),
        from: server.from.iter().map(ToString::to_string).collect(),
        socket: shown(&server.to),
        pid: server.pid,
    }
}

fn shown(socket: &SocketName) -> String {
    match socket {
        SocketName::Path(path) => path.display().to_string(),
        SocketName::Abstract(name) => format!("@{}", String::from_utf8_lossy(name)),
    }
}
