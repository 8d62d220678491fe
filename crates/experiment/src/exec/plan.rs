//! The plan of `--exec`, and the reasons why a run is not possible. The plan is printed before the runs.

use std::fmt::Write;

use looptax_bench::Stopping;
use looptax_model::dsn::Arm;
use looptax_model::dsn::Protocol;
use looptax_model::failure::Failure;
use looptax_model::stats::InterimAnalyses;

use crate::measure::plan::{minutes, target_line};
use crate::observer::PlannedStep;
use crate::spec::exec::{Exec, Given, joined};
use crate::spec::target::TargetSpec;
use crate::spec::tool::without_passwords;
use crate::spec::{Effort, Experiment};

/// Returns the rules by which the runs end. They are the same as for other comparisons, with one exception: only
/// `--precise` allows up to 120 epochs, because whole commands take long.
pub(crate) fn stopping(settings: &Experiment) -> Stopping {
    let analyses = { settings.effort }.analyses(InterimAnalyses::quick(), None);
    Stopping {
        time: match settings.effort {
            Effort::Time(time) => Some(time),
            _ => None,
        },
        ..settings.effort.stopping(analyses, settings.deadline)
    }
}

/// Returns the two arms, baseline first. An earlier check has made sure that there are exactly two arms.
pub(super) fn pair_of_arms(settings: &Experiment) -> [Arm; 2] {
    [settings.arms[0], settings.arms[1]]
}

/// The failure for a tool without a server: looptax cannot direct a tool to a server that the user has not named.
pub(crate) fn needs_target() -> Failure {
    Failure::usage(
        "--exec needs a server that the command connects to",
        "for example: looptax compare private:mariadb --exec 'mysqldump {transport} looptax'; if each command already \
         names the server that it connects to, use --exec-unix and --exec-tcp",
    )
}

/// Returns the plan as text.
///
/// # Errors
/// A usage failure for a command that cannot be run.
pub(crate) fn text(settings: &Experiment, exec: &Exec) -> Result<String, Failure> {
    check(settings, exec)?;
    let mut text = String::from("plan (Ctrl-C ends it and keeps what was measured)\n");
    for spec in &settings.targets {
        let _ = writeln!(text, "  {}", target_line(settings, spec));
    }
    if settings.targets.is_empty() {
        let _ = writeln!(text, "  looptax starts no server: the commands connect to their own servers");
    }
    for line in lines(settings, exec) {
        let _ = writeln!(text, "    {line}");
    }
    let _ = writeln!(text, "  seed {:016x}; the warm-up shows how long a run takes", settings.seed);
    Ok(text)
}

/// Returns one comparison per server, or a single comparison if no server is named.
pub(crate) fn steps(settings: &Experiment, exec: &Exec) -> Vec<PlannedStep> {
    let step = |label| PlannedStep {
        label,
        // The longest time is unknown until the first run of the command has ended.
        at_most_s: None,
    };
    if settings.targets.is_empty() {
        return vec![step(program(exec))];
    }
    let on = |spec: &TargetSpec| step(format!("{} on {}", program(exec), spec.name()));
    settings.targets.iter().map(on).collect()
}

/// Returns the program of the command, as the user typed it.
pub(crate) fn program(exec: &Exec) -> String {
    match &exec.given {
        Given::Template(template) => joined(&template.words[..=template.program_idx]),
        Given::PerArm { unix, .. } => joined(&unix[..1]),
    }
}

fn check(settings: &Experiment, exec: &Exec) -> Result<(), Failure> {
    if settings.arms.contains(&Arm::Redirect) {
        return Err(Failure::usage(
            "the arm redirect moves only looptax's own connections, but a whole command opens its own",
            "put `looptax run` before the command: --exec-unix 'looptax run -q -- CMD' --exec-tcp 'CMD'",
        ));
    }
    let known = [Arm::Unix, Arm::Tcp];
    if let Some(arm) = settings.arms.iter().find(|arm| !known.contains(arm)) {
        return Err(Failure::usage(
            format!("a whole command opens its own connections, which looptax cannot route over {arm}"),
            "use --arms unix,tcp; --exec-unix and --exec-tcp accept two commands of any kind",
        ));
    }
    if settings.is_from_namespace {
        return Err(Failure::usage(
            "--from-namespace is for looptax's own connections, but a whole command opens its own",
            "leave --from-namespace out, or start the command in the namespace: --exec-unix 'nsenter …'",
        ));
    }
    if settings.arms.len() != 2 {
        return Err(Failure::usage(
            "looptax compares whole commands over exactly two arms",
            "use --arms unix,tcp, or unix,unix for an A/A run",
        ));
    }
    if settings.targets.is_empty() && matches!(exec.given, Given::Template(_)) {
        return Err(needs_target());
    }
    for spec in &settings.targets {
        let protocol = match spec {
            TargetSpec::Private(kind) => crate::servers::protocol_of(*kind)?,
            TargetSpec::Running(running) => running.protocol,
        };
        if protocol == Protocol::Memcached {
            return Err(Failure::usage(
                "looptax cannot compare whole commands on memcached, because each arm has separate memcached processes",
                "use --workload get, set or mixed; or leave out the target, and pass commands that connect to their \
                 own servers",
            ));
        }
        check_tool(exec, protocol, &spec.name())?;
        if matches!(spec, TargetSpec::Running(_)) && !settings.is_own_server {
            return Err(Failure::usage(
                "looptax cannot limit what a whole command does to a running server",
                "pass --own-server if the server is yours and no other program uses it",
            ));
        }
    }
    Ok(())
}

fn check_tool(exec: &Exec, protocol: Protocol, name: &str) -> Result<(), Failure> {
    match &exec.given {
        Given::Template(template) if !template.tool.speaks(protocol) => Err(Failure::usage(
            format!("`{}` does not talk to {name}", template.words[template.program_idx]),
            "pass a server that this program can talk to",
        )),
        _ => Ok(()),
    }
}

fn lines(settings: &Experiment, exec: &Exec) -> Vec<String> {
    let [baseline, other] = pair_of_arms(settings);
    let mut lines = match &exec.given {
        Given::Template(template) => vec![
            format!("whole runs of: {}", joined(&without_passwords(&template.words))),
            format!(
                "looptax replaces {{transport}} with the tool's options for each arm's address and account, without \
                 TLS; the password is passed {}",
                template.tool.password_way()
            ),
        ],
        Given::PerArm { unix, tcp } => vec![
            format!("whole runs on unix: {}", joined(&without_passwords(unix))),
            format!("whole runs on tcp:  {}", joined(&without_passwords(tcp))),
        ],
    };
    lines.push(format!(
        "{baseline} against {other}, nothing pinned: {}; each epoch has four runs in random order; one run over each \
         arm before the first epoch does not count; a run may take at most {}",
        how_many(settings),
        minutes(exec.timeout)
    ));
    lines
}

fn how_many(settings: &Experiment) -> String {
    let Stopping { analyses, time, .. } = stopping(settings);
    let most = analyses.n_max();
    match time {
        Some(time) => format!("as many epochs as fit into {}, at least {most}", minutes(time)),
        None if analyses.iter().count() > 1 => format!("{most} epochs at most"),
        None => format!("{most} epochs"),
    }
}
