//! Measures the requested parts: the targets of each part, one after the other.

use std::sync::atomic::{AtomicBool, Ordering};

use looptax_bench::path::WaitOnce;
use looptax_model::dsn::Arm;
use looptax_model::failure::Failure;

use super::parts::Part;
use crate::arms::Machine;
use crate::exec;
use crate::measure::plan::{Case, TargetPlan};
use crate::measure::{self, RecordWriter};
use crate::observer::Observer;
use crate::target::{AskPassword, Host, Target};

/// Measures the parts one after the other, until a part fails or the user stops the run.
///
/// # Errors
/// The failure that ended the measurement. If `stop` is set, only a failure of the clean-up is returned.
pub fn measure_all(
    parts: &[Part<'_>],
    (machine, ask): (Machine, AskPassword),
    writer: &mut RecordWriter,
    stage: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let settings = parts[0].settings;
    if let (Some(exec), []) = (&settings.exec, settings.targets.as_slice()) {
        let measured = exec::measure(None, settings, exec, writer, stage, stop);
        return unless_stopped(measured, stop);
    }
    let host = Host::new(machine, ask)?;
    for part in parts {
        measure_part(part, &host, writer, stage, stop)?;
    }
    Ok(())
}

fn measure_part(
    Part { settings, plan, .. }: &Part<'_>,
    host: &Host,
    writer: &mut RecordWriter,
    stage: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    for (target_idx, spec) in settings.targets.iter().enumerate() {
        if stop.load(Ordering::Relaxed) || settings.is_over() {
            break;
        }
        stage.say(&spec.before_measuring());
        // If a server was once silent for a whole time limit, looptax does not wait for this server again: neither for
        // a later query nor for clean-up.
        let _remembering = WaitOnce::begin();
        let planned = plan.targets.get(target_idx);
        let arms = planned.map_or(&settings.arms, |it| &it.arms);
        let opened = Target::open(spec, arms, settings, host);
        if opened.is_err() && stop.load(Ordering::Relaxed) {
            break;
        }
        let mut target = opened?;
        let measured = match (&settings.exec, planned) {
            (Some(exec), _) => exec::measure(Some(&mut target), settings, exec, writer, stage, stop),
            (None, Some(planned)) => offered(planned, &target, writer)
                .and_then(|cases| measure::target(&mut target, settings, &cases, writer, stage, stop)),
            (None, None) => Ok(()),
        };
        // Even after a failure, looptax's data is removed and its servers are stopped.
        let closed = target.close();
        unless_stopped(measured, stop)?;
        closed?;
    }
    Ok(())
}

/// Drops a failure if the user has pressed Ctrl-C: the failure then comes from an action that was interrupted.
fn unless_stopped(measured: Result<(), Failure>, stop: &AtomicBool) -> Result<(), Failure> {
    if stop.load(Ordering::Relaxed) {
        return Ok(());
    }
    measured
}

/// Returns the comparisons of a target without the arms that the server lacks, and without the arms on which it refuses
/// this account: only the running server shows which arms these are.
///
/// # Errors
/// The reason why an arm cannot be measured, if no other arm would be left.
fn offered(planned: &TargetPlan, target: &Target, writer: &mut RecordWriter) -> Result<Vec<Case>, Failure> {
    let name = &target.name;
    let mut arms = planned.arms.clone();
    let refused = refused(&arms, target);
    arms.retain(|it| !refused.contains(it));
    if arms.len() < 2 || refused.contains(&planned.arms[0]) {
        let words: Vec<&str> = refused.iter().map(|it| it.name()).collect();
        let [over_socket, over_tcp] = target.asks;
        return Err(Failure::usage(
            format!("{name}: over {} the server accepts this account only with TLS", words.join(" and ")),
            format!(
                "pass --arms {over_socket},{over_tcp} to measure the transports that the server allows; `looptax \
                 check` shows how to remove the requirement"
            ),
        ));
    }
    let why = "is not measured: over this arm the server accepts this account only with TLS";
    let problems = refused.iter().map(|arm| format!("{name}: {arm} {why}"));
    writer.record.problems.extend(problems);
    for arm in [Arm::Tls, Arm::TlsUnix] {
        let is_unsure = planned.unsure == Some(arm);
        if !arms.contains(&arm) || target.is_private() && !is_unsure {
            continue;
        }
        let is_offered = target.offers_tls == Some(true);
        let Err(error) = target.converse(arm) else {
            continue;
        };
        if arms.len() <= 2 || arms[0] == arm {
            return Err(error.into());
        }
        arms.retain(|it| *it != arm);
        if is_offered || !is_unsure {
            let why = format!("{name}: {arm} is not measured: {error}");
            writer.record.problems.push(why);
        }
    }
    Ok(planned.only(&arms))
}

/// Returns the arms without TLS over which a running server refuses the account because the server requires TLS.
fn refused(arms: &[Arm], target: &Target) -> Vec<Arm> {
    let [over_socket, over_tcp] = target.asks;
    let is_refused = |arm: &Arm| match arm {
        // A redirected connection reaches the server over the socket.
        Arm::Unix | Arm::Redirect => over_socket.is_tls(),
        Arm::Tcp => over_tcp.is_tls(),
        _ => false,
    };
    arms.iter().copied().filter(is_refused).collect()
}
