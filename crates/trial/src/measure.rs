//! A trial from its start to its record: first look, turns, judgement.
//!
//! The straight way: the application starts, is looked at, takes turns, and each contrast becomes a comparison of the
//! record. What ends it on the way leaves what was measured before.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_bench::pages::{PageLoad, PageLoadPlan, PageOpener};
use looptax_bench::{SliceSource, SlicesPlan, Stopping, WarmUp, run_slices};
use looptax_experiment::observer::{Scene, Unit};
use looptax_experiment::plan::{DELTA, minutes};
use looptax_experiment::spec::Effort;
use looptax_experiment::{Observer, RecordWriter};
use looptax_failure::Failure;
use looptax_path::TlsClient;
use looptax_record::{TrialArm, TrialDesign};
use looptax_stats::{InterimAnalyses, StopRule};

use crate::arms::{Flip, Restart, Turns};
use crate::ask::{Ask, Load, Way};
use crate::first_look::{FirstLook, look};
use crate::opener::Opener;
use crate::program::Program;
use crate::record;

/// A slice of several clients has so many pages of each, so that they wait for each other only now and then.
const PAGES_PER_CLIENT: usize = 4;
/// An epoch should last so long: its pauses and looks at the machine then cost little.
const EPOCH: Duration = Duration::from_millis(500);
/// Most octets of slices in one.
const MOST_OCTETS: usize = 8;
/// Epochs longer than this are planned as those of whole commands: forty at most.
const LONG_EPOCH: Duration = Duration::from_millis(1_500);
/// So long the pages of one start are measured.
const START: Duration = Duration::from_secs(2);
/// Pages that a start's slice should have at least.
const LEAST_PER_START: usize = 20;
/// Pages of an open loop's slice at least: their median decides.
const LEAST_PER_RATE: usize = 10;
/// Of a start that is measured so long, the rest is starting, warming up and ending: a guess for the plan.
const OVERHEAD: u32 = 2;
/// An interval at the level of a single look takes so many epochs.
const LEAST_EPOCHS: usize = 6;
/// A time that would hold more epochs ends earlier.
const MOST_EPOCHS: usize = 10_000;
/// Latencies beyond so many bytes are not kept.
const MOST_SAMPLE_BYTES: usize = 256 << 20;
/// Epochs of the warm-up have numbers from here on.
const FIRST_UNCOUNTED: u64 = 1 << 32;

/// How slices make epochs, and epochs a trial.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) pages_per_slice: usize,
    pub(crate) slices_per_epoch: usize,
    pub(crate) analyses: InterimAnalyses,
    pub(crate) epoch: Duration,
}

/// Tries the application, and puts what came of it into the record; `tell` hears what the first look found.
///
/// # Errors
/// What is wrong with the application, its pages or their ways, with the next step; what was measured before is in the
/// record.
pub fn measure(
    ask: &Ask,
    mut program: Program,
    writer: &mut RecordWriter,
    observer: &mut dyn Observer,
    tell: &dyn Fn(&str),
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let measured = run(ask, &mut program, writer, observer, tell, stop);
    let ended = program.end();
    writer.record.interrupted |= stop.load(Ordering::Relaxed);
    writer.save_early();
    if stop.load(Ordering::Relaxed) {
        return Ok(());
    }
    measured.and(ended)
}

fn run(
    ask: &Ask,
    program: &mut Program,
    writer: &mut RecordWriter,
    observer: &mut dyn Observer,
    tell: &dyn Fn(&str),
    stop: &AtomicBool,
) -> Result<(), Failure> {
    observer.say("starting the application");
    let mut load = page_load(ask)?;
    program.steer(0);
    if program.start(ask.ready, ask.start_limit, stop)?.is_none() {
        return Ok(());
    }
    observer.say("looking at its pages over TCP and over the socket");
    let Some(seen) = look(ask, program, &mut load, stop)? else {
        return Ok(());
    };
    for (page_idx, expected) in seen.expected.iter().enumerate() {
        load.expect(page_idx, expected.clone());
    }
    if seen.design == TrialDesign::Restart {
        program.end()?;
    }
    let shape = shape(ask, &seen);
    observer.say("warming up");
    tell(&plan_text(ask, &seen, &shape));
    observer.begin(scene(ask));
    let n_contrasts = contrasts(ask).len();
    let turns = Turns {
        ask,
        program,
        load,
        pages_per_slice: shape.pages_per_slice,
        stop,
        seen: vec![[TrialArm::default(), TrialArm::default()]; n_contrasts],
        supervisor_ns: vec![[0; 2]; n_contrasts],
        first_uncounted: FIRST_UNCOUNTED,
        first_failure: None,
        is_flipped: seen.design == TrialDesign::Flip,
    };
    let plan = slices_plan(ask, &seen, &shape);
    let (outcome, turns) = match seen.design {
        TrialDesign::Flip => {
            let mut flip = Flip(turns);
            let source: &mut dyn SliceSource = &mut flip;
            (run_slices(&plan, source, observer, stop), flip.0)
        }
        TrialDesign::Restart => {
            let mut restart = Restart(turns);
            let source: &mut dyn SliceSource = &mut restart;
            (run_slices(&plan, source, observer, stop), restart.0)
        }
    };
    observer.end();
    record::add_comparisons(
        &record::Done {
            ask,
            seen: &seen,
            shape: &shape,
            turns: &turns,
        },
        outcome,
        writer,
    )
}

fn page_load(ask: &Ask) -> Result<PageLoad, Failure> {
    let tls = TlsClient::trusting_anybody()
        .map_err(|error| Failure::new(format!("cannot prepare TLS: {error}")))?;
    let mut opener = Opener {
        addresses: Vec::new(),
        tls,
        limit: ask.page_limit,
    };
    let pages = ask
        .load
        .pages()
        .iter()
        .map(|page| page.for_load(&mut opener.addresses));
    let pages: Result<Vec<_>, _> = pages.collect();
    let plan = PageLoadPlan {
        seed: ask.seed,
        n_clients: ask.clients,
        answer_limit: ask.page_limit,
    };
    let pages = pages?;
    let opener: Arc<dyn PageOpener> = Arc::new(opener);
    Ok(PageLoad::start(plan, pages, &opener)?)
}

fn shape(ask: &Ask, seen: &FirstLook) -> Shape {
    let page_s = seen.page.as_secs_f64().max(1e-6);
    let per_s = ask.rate_per_s.unwrap_or(ask.clients as f64 / page_s);
    let within = |time: Duration| (per_s * time.as_secs_f64()).ceil() as usize;
    if let Load::Command { .. } = ask.load {
        return whole_runs(ask);
    }
    let (pages_per_slice, slices_per_epoch, overhead) = match seen.design {
        TrialDesign::Restart => (within(START).max(LEAST_PER_START), 4, OVERHEAD),
        TrialDesign::Flip => {
            let n = match ask.rate_per_s {
                Some(_) => within(EPOCH / 2).max(LEAST_PER_RATE),
                None if ask.clients > 1 => PAGES_PER_CLIENT * ask.clients,
                None => 1,
            };
            let octet_s = 8.0 * n as f64 / per_s;
            let octets = (EPOCH.as_secs_f64() / octet_s).ceil() as usize;
            (n, 8 * octets.clamp(1, MOST_OCTETS), 1)
        }
    };
    let slice_s = pages_per_slice as f64 / per_s;
    let epoch = Duration::from_secs_f64(slice_s * slices_per_epoch as f64) * overhead;
    let n_contrasts = contrasts(ask).len() as f64;
    let analyses = match ask.effort {
        Effort::Precise => InterimAnalyses::full(),
        Effort::Full if epoch <= LONG_EPOCH => InterimAnalyses::full(),
        Effort::Full | Effort::Quick => InterimAnalyses::quick(),
        Effort::Epochs(n) => InterimAnalyses::fixed(n),
        Effort::Time(time) => {
            let n = time.as_secs_f64() / epoch.as_secs_f64() / n_contrasts;
            InterimAnalyses::fixed((n as usize).clamp(LEAST_EPOCHS, MOST_EPOCHS))
        }
    };
    Shape {
        pages_per_slice,
        slices_per_epoch,
        analyses,
        epoch,
    }
}

/// How long a run of a load command takes shows in the first one.
fn whole_runs(ask: &Ask) -> Shape {
    let analyses = match ask.effort {
        Effort::Full | Effort::Quick => InterimAnalyses::quick(),
        Effort::Precise => InterimAnalyses::full(),
        Effort::Epochs(n) => InterimAnalyses::fixed(n),
        Effort::Time(_) => InterimAnalyses::fixed(LEAST_EPOCHS),
    };
    Shape {
        pages_per_slice: 1,
        slices_per_epoch: 4,
        analyses,
        epoch: Duration::ZERO,
    }
}

/// All servers together, then each by itself where that is asked for.
pub(crate) fn contrasts(ask: &Ask) -> Vec<Option<usize>> {
    let each = (0..ask.servers.len()).filter(|_| ask.is_each);
    std::iter::once(None).chain(each.map(Some)).collect()
}

fn slices_plan(ask: &Ask, seen: &FirstLook, shape: &Shape) -> SlicesPlan {
    let arms = ask.arms.map(Way::name).join(", ");
    let name = |only: Option<usize>| match only {
        Some(only) => format!("{} alone: {arms}", ask.servers[only].kind),
        None => arms.clone(),
    };
    let warm_up = match seen.design {
        TrialDesign::Flip => WarmUp {
            least_epochs: 2,
            least: Duration::from_secs(1),
            at_most: Duration::from_secs(10),
        },
        // Each start has its own.
        TrialDesign::Restart => WarmUp {
            least_epochs: 0,
            least: Duration::ZERO,
            at_most: Duration::ZERO,
        },
    };
    SlicesPlan {
        seed: ask.seed,
        contrasts: contrasts(ask).into_iter().map(name).collect(),
        slices_per_epoch: shape.slices_per_epoch,
        connections: ask.clients,
        warm_up,
        stopping: Stopping {
            analyses: shape.analyses.clone(),
            rule: StopRule {
                is_precise: ask.effort == Effort::Precise,
            },
            delta: DELTA,
            deadline: None,
        },
        max_sample_bytes: MOST_SAMPLE_BYTES,
    }
}

fn scene(ask: &Ask) -> Scene {
    let arms = ask.arms.map(|way| way.name().to_owned());
    Scene {
        title: ask
            .load
            .pages()
            .first()
            .map_or_else(String::new, |page| page.url.clone()),
        arms: vec![arms; contrasts(ask).len()],
        news: "warming up".to_owned(),
        unit: Unit::Requests,
    }
}

/// What the first look found, and what follows.
fn plan_text(ask: &Ask, seen: &FirstLook, shape: &Shape) -> String {
    let how = match seen.design {
        TrialDesign::Flip => "one process, its new connections moved or left in turns",
        TrialDesign::Restart => "the application is started anew for each turn",
    };
    let n_epochs = shape.analyses.n_max() as u32 * contrasts(ask).len() as u32;
    if shape.epoch.is_zero() {
        let n_runs = 4 * n_epochs;
        return format!("{}: {how}; at most {n_runs} runs of the load", seen.why);
    }
    let n_pages = n_epochs as usize * shape.slices_per_epoch * shape.pages_per_slice;
    format!(
        "{}: {how}; at most {n_pages} pages, about {}",
        seen.why,
        minutes(shape.epoch * n_epochs)
    )
}
