//! Runs a trial from its start to its record: the first look, the turns of the arms, the verdict.
//!
//! The application starts, the first look inspects it, the arms take turns, and each contrast becomes a comparison in
//! the record. If a later step fails, earlier measurements are kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::observer::{Scene, Unit};
use crate::{Observer, RecordWriter};
use looptax_bench::pages::{PageLoad, PageLoadPlan, PageOpener};
use looptax_bench::path::TlsClient;
use looptax_bench::{Course, WarmUp, run_slices};
use looptax_model::failure::Failure;
use looptax_model::record::{TrialArm, TrialDesign};

use crate::trial::arms::Turns;
use crate::trial::ask::{Ask, Way};
use crate::trial::behind::with_names;
use crate::trial::counted::Counters;
use crate::trial::first_look::{FirstLook, look};
use crate::trial::opener::Opener;
use crate::trial::program::Program;
use crate::trial::ready::wait_for_answer;
use crate::trial::record;
use crate::trial::shape::{Shape, contrasts, plan_text, shape};

/// Maximum size of the latencies that are kept, in bytes.
const MOST_SAMPLE_BYTES: usize = 256 << 20;

/// Tries the application and adds the results to the record. `tell` is called with the findings of the first look.
///
/// # Errors
/// A fault of the application, of its pages or of their connections, with the next step. Earlier measurements are then
/// already in the record.
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
    wait_for_answer(program, &mut load, ask.start_limit, stop)?;
    let ask = &with_names(ask, program);
    observer.say("trying the application's pages over TCP and over the socket");
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
    observer.begin(scene(ask, &seen));
    let contrasts = contrasts(ask, &seen);
    let n_contrasts = contrasts.len();
    let mut turns = Turns {
        ask,
        program,
        load,
        contrasts,
        pages_per_slice: shape.pages_per_slice,
        stop,
        counters: Counters::open(ask),
        seen: vec![[TrialArm::default(), TrialArm::default()]; n_contrasts],
        supervisor_ns: vec![[0; 2]; n_contrasts],
        first_failure: None,
        is_flipped: seen.design == TrialDesign::Flip,
    };
    let course = course(ask, &seen, &shape);
    let outcome = run_slices(&course, &mut turns, observer, stop);
    observer.end();
    let added =
        record::add_comparisons(&record::Done { ask, seen: &seen, course: &course, turns: &turns }, outcome, writer);
    observer.kept(&writer.record);
    added
}

fn page_load(ask: &Ask) -> Result<PageLoad, Failure> {
    let tls = TlsClient::trusting_anybody().map_err(|error| Failure::new(format!("cannot prepare TLS: {error}")))?;
    let mut opener = Opener { addresses: Vec::new(), tls, limit: ask.page_limit };
    let pages = ask.load.pages().iter().map(|page| page.for_load(&mut opener.addresses));
    let pages: Result<Vec<_>, _> = pages.collect();
    let plan = PageLoadPlan { seed: ask.seed, n_clients: ask.clients, answer_limit: ask.page_limit };
    let pages = pages?;
    let opener: Arc<dyn PageOpener> = Arc::new(opener);
    Ok(PageLoad::start(plan, pages, &opener)?)
}

fn course(ask: &Ask, seen: &FirstLook, shape: &Shape) -> Course {
    let arms = ask.arms.map(Way::name).join(", ");
    let name = |only: Option<usize>| match only {
        Some(only) => format!("only {}: {arms}", ask.servers[only].kind),
        None => arms.clone(),
    };
    Course {
        seed: ask.seed,
        names: contrasts(ask, seen).into_iter().map(name).collect(),
        connections: ask.clients,
        shape: shape.slices,
        warm_up: match seen.design {
            TrialDesign::Flip => WarmUp::steady(2, Duration::from_secs(1), Duration::from_secs(10)),
            // Each start of the application has its own warm-up.
            TrialDesign::Restart => WarmUp::NONE,
        },
        stopping: ask.effort.stopping(shape.analyses.clone(), None),
        max_sample_bytes: MOST_SAMPLE_BYTES,
    }
}

fn scene(ask: &Ask, seen: &FirstLook) -> Scene {
    let arms = ask.arms.map(|way| way.name().to_owned());
    Scene {
        title: ask.load.pages().first().map_or_else(String::new, |page| page.url.clone()),
        arms: vec![arms; contrasts(ask, seen).len()],
        news: "warming up".to_owned(),
        unit: Unit::Requests,
        processes: Vec::new(),
    }
}
