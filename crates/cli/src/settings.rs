//! Translates the arguments of `compare` into experiments, one for each workload.

pub(crate) mod site;
pub(crate) mod trial;

use std::time::Duration;

use looptax_bench::{Arrivals, ClientModel};
use looptax_experiment::Experiment;
use looptax_experiment::comparison::parts::Asked;
use looptax_experiment::servers::pooler::PoolMode;
use looptax_experiment::spec::exec::Exec;
use looptax_experiment::spec::load::Load;
use looptax_experiment::spec::requests::{Requests, distribution, workloads};
use looptax_experiment::spec::target;
use looptax_experiment::spec::{Clients, EchoAsked, Effort, effort, installed, new_seed, remedies, seed, sweep};
use looptax_model::dsn::Arm;
use looptax_model::failure::Failure;
use looptax_wire::Sent;

use crate::args::echo::{EchoArgs, Switch};
use crate::args::{ArrivalsWord, CompareArgs, ExecArgs, PoolModeWord, ProtocolWord};

const KNOWN_ARMS: &str = "`looptax help targets` lists the arms";

/// Returns the experiments that the arguments describe.
///
/// # Errors
/// A usage failure if an option does not accept its value, or if options exclude each other.
pub(crate) fn asked(args: &CompareArgs) -> Result<Asked, Failure> {
    let words = workloads(args.workload.as_deref());
    if args.remedies {
        if words.len() > 1 {
            return Err(Failure::usage(
                "--remedies works only with one workload",
                "a remedy for one workload may not help another: run looptax once for each workload",
            ));
        }
        return asked_remedies(args, words.into_iter().next().flatten());
    }
    let arms = arms(args)?;
    let first = experiment(args, arms, None)?;
    let of_workload = |workload| {
        let mut experiment = first.clone();
        experiment.requests.workload = workload;
        experiment.check().map(|()| experiment)
    };
    let all: Result<Vec<Experiment>, Failure> = words.into_iter().map(of_workload).collect();
    let asked = Asked::workloads(all?);
    let is_of_all = args.targets.is_empty() && args.exec.exec.is_none() && args.exec.exec_unix.is_none();
    Ok(if is_of_all { asked.naming_unfit_servers() } else { asked })
}

fn asked_remedies(args: &CompareArgs, workload: Option<String>) -> Result<Asked, Failure> {
    let typed = args.baseline.as_ref().or(args.arms.first());
    let today = typed.map_or(Ok(Arm::Tcp), |word| word.parse());
    let today = today.map_err(|error| Failure::usage(error, remedies::TODAY))?;
    let base = experiment(args, vec![today, Arm::Unix], workload)?;
    let parts = remedies::parts(base, today, words(&args.arms, "--arms")?)?;
    Ok(Asked::remedies(today, parts))
}

/// Returns an experiment for these arguments and this workload, without checking it.
fn experiment(args: &CompareArgs, arms: Vec<Arm>, workload: Option<String>) -> Result<Experiment, Failure> {
    let exec = exec(&args.exec)?;
    let targets = if args.targets.is_empty() && exec.is_none() {
        installed(&args.client_like)?
    } else {
        let specs = args.targets.iter().map(|word| target::parse(word));
        specs.collect::<Result<_, _>>()?
    };
    let sweep = args.sweep.as_deref().map(sweep).transpose()?;
    let connections = (!args.connections.is_empty()).then(|| args.connections.clone());
    Ok(Experiment {
        targets,
        arms,
        adds_tls: adds_tls(args),
        is_sweep: sweep.is_some(),
        connections: sweep.or(connections),
        requests: requests(args, workload)?,
        load: load(args)?,
        sample_bytes: (args.max_samples as usize) << 20,
        placements: words(&args.placement, "--placement")?,
        clients: clients(args)?,
        socket: args.socket.clone(),
        rows: args.rows,
        pool_mode: match args.pool_mode {
            PoolModeWord::Session => PoolMode::Session,
            PoolModeWord::Transaction => PoolMode::Transaction,
            PoolModeWord::Statement => PoolMode::Statement,
        },
        effort: how_long(args)?,
        slice: args.slice_ms.map(|ms| Duration::from_millis(u64::from(ms))),
        warm_up: args.warm_up.as_deref().map(effort::warm_up).transpose()?,
        seed: args.seed.as_deref().map_or_else(new_seed, seed)?,
        may_write: args.write,
        is_own_server: args.own_server,
        is_from_namespace: args.from_namespace,
        is_agreed: args.yes,
        exec,
        is_sampled: false,
        remedy: None,
        inject_ns: None,
        deadline: None,
    })
}

/// Whether TLS is added to the arms. It is added only if the user named targets and no arms, and not to a sweep, to
/// fixed rates or to whole commands, which take long enough without TLS.
fn adds_tls(args: &CompareArgs) -> bool {
    let exec = &args.exec;
    let has_commands = exec.exec.is_some() || exec.exec_unix.is_some();
    let has_rate = !args.rate.is_empty() || args.rate_sweep;
    let is_plain = !has_commands && !has_rate && args.sweep.is_none();
    args.arms.is_empty() && !args.targets.is_empty() && is_plain
}

fn arms(args: &CompareArgs) -> Result<Vec<Arm>, Failure> {
    let mut arms: Vec<Arm> = words(&args.arms, "--arms")?.unwrap_or_else(|| vec![Arm::Unix, Arm::Tcp]);
    if let Some(word) = &args.baseline {
        let baseline: Arm = word.parse().map_err(|error| Failure::usage(error, KNOWN_ARMS))?;
        let Some(idx) = arms.iter().position(|arm| *arm == baseline) else {
            return Err(Failure::usage(
                format!("the baseline `{word}` is not in --arms"),
                format!("for example --arms {word},unix --baseline {word}"),
            ));
        };
        arms.swap(0, idx);
    }
    Ok(arms)
}

fn requests(args: &CompareArgs, workload: Option<String>) -> Result<Requests, Failure> {
    Ok(Requests {
        workload,
        sent: match args.protocol {
            ProtocolWord::Prepared => Sent::Prepared,
            ProtocolWord::Text => Sent::Text,
        },
        pipeline: args.pipeline,
        value_bytes: args.value_size.map(|bytes| bytes as usize),
        defined: args.define.clone(),
        distribution: distribution(&args.distribution)?,
        echo: echo(&args.echo),
        reconnect_every: args.reconnect_every,
    })
}

fn echo(args: &EchoArgs) -> EchoAsked {
    EchoAsked {
        request_bytes: args.request_size,
        reply_bytes: args.reply_size,
        stream_bytes: args.stream_bytes,
        write_bytes: args.write_size,
        is_nodelay: args.nodelay.map(|switch| switch == Switch::On),
    }
}

fn load(args: &CompareArgs) -> Result<Load, Failure> {
    let arrivals = match args.arrivals {
        ArrivalsWord::Poisson => Arrivals::Poisson,
        ArrivalsWord::Fixed => Arrivals::Fixed,
    };
    Load::new(args.think.as_deref(), &args.rate, args.rate_sweep, arrivals)
}

fn clients(args: &CompareArgs) -> Result<Option<Clients>, Failure> {
    if !args.client_like.is_empty() {
        return Ok(Some(Clients::Like(args.client_like.clone())));
    }
    if args.client.iter().any(|word| word == "all") {
        return Ok(Some(Clients::All));
    }
    Ok(words::<ClientModel>(&args.client, "--client")?.map(Clients::Models))
}

fn how_long(args: &CompareArgs) -> Result<Effort, Failure> {
    if let Some(fixed) = &args.fixed {
        return effort::fixed(fixed);
    }
    Ok(match (args.quick || args.targets.is_empty(), args.precise) {
        (_, true) => Effort::Precise,
        (true, _) => Effort::Quick,
        _ => Effort::Full,
    })
}

fn exec(args: &ExecArgs) -> Result<Option<Exec>, Failure> {
    let timeout = &args.exec_timeout;
    match (&args.exec, &args.exec_unix, &args.exec_tcp) {
        (Some(line), _, _) => Exec::one_line(line, timeout).map(Some),
        (None, Some(unix), Some(tcp)) => Exec::line_per_arm(unix, tcp, timeout).map(Some),
        _ => Ok(None),
    }
}

fn words<T: std::str::FromStr<Err = String>>(typed: &[String], option: &str) -> Result<Option<Vec<T>>, Failure> {
    let parsed: Result<Vec<T>, String> = typed.iter().map(|word| word.parse()).collect();
    let parsed = parsed
        .map_err(|error| Failure::usage(format!("{option}: {error}"), "`looptax help compare` explains the options"))?;
    Ok((!parsed.is_empty()).then_some(parsed))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use looptax_bench::{Distribution, Placement};
    use looptax_experiment::spec::load::Rate;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::args::{Cli, Command};

    struct Dice(Xoshiro256PlusPlus);

    impl Dice {
        fn below(&mut self, n: u64) -> u64 {
            self.0.next_u64() % n
        }

        fn one<T: Clone>(&mut self, of: &[T]) -> T {
            of[self.below(of.len() as u64) as usize].clone()
        }

        fn maybe<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
            (self.below(2) == 0).then(|| value(self))
        }

        /// Returns a random experiment; its parts need not fit together.
        fn experiment(&mut self) -> Experiment {
            let targets =
                ["echo", "private:redis", "private:mariadb", "private:pgbouncer", "postgres://u@[::1]:5433/d%20b"];
            let target = self.one(&targets);
            let is_pooler = target == "private:pgbouncer";
            let target = target::parse(target).unwrap();
            let mut experiment = Experiment::new(target, self.below(u64::MAX));
            experiment.arms = (0..2 + self.below(2)).map(|_| self.one(&Arm::ALL)).collect();
            self.place(&mut experiment);
            self.ask(&mut experiment.requests);
            if experiment.exec.is_none() {
                experiment.load = self.load();
            }
            experiment.effort = self.effort();
            experiment.warm_up = self.maybe(|dice| Duration::from_secs(dice.below(600)));
            experiment.rows = self.one(&[1, 100_000, 500_000, u32::MAX]);
            // Targets other than poolers refuse a pool mode, so few random experiments with a pool mode would be valid.
            if is_pooler || self.below(16) == 0 {
                experiment.pool_mode = self.one(&PoolMode::ALL);
            }
            experiment.sample_bytes = (self.below(257) as usize) << 20;
            experiment.socket = self.maybe(|_| "/run/a b.sock".into());
            experiment.is_from_namespace = self.below(2) == 0;
            experiment.may_write = self.below(2) == 0;
            experiment.is_own_server = self.below(2) == 0;
            experiment.is_agreed = self.below(2) == 0;
            experiment
        }

        /// Chooses random connections and placements, or a random whole command.
        fn place(&mut self, experiment: &mut Experiment) {
            let lines = ["mysqldump '--where=a b' {transport} looptax", "psql -c 'select 1' {transport}"];
            experiment.exec = match self.below(6) {
                0 => Some(Exec::one_line(self.one(&lines), "10m").unwrap()),
                1 => Some(Exec::line_per_arm("./a 'b c'", "true", "90s").unwrap()),
                _ => None,
            };
            if experiment.exec.is_some() {
                return;
            }
            match self.below(3) {
                0 => experiment.connections = Some(vec![1, 16]),
                1 => {
                    let typed = self.one(&["1..48", "1,16,256"]);
                    experiment.connections = Some(sweep(typed).unwrap());
                    experiment.is_sweep = true;
                }
                _ => {}
            }
            experiment.placements =
                self.maybe(|dice| dice.one(&[vec![Placement::Same], vec![Placement::Free, Placement::Split]]));
            experiment.slice = self.maybe(|dice| Duration::from_millis(10 + dice.below(1_000)));
            experiment.clients = self.maybe(|dice| {
                let models = vec![ClientModel::PollFirst, ClientModel::Event];
                let words = vec!["php".to_owned(), "jdbc".to_owned()];
                dice.one(&[Clients::All, Clients::Models(models), Clients::Like(words)])
            });
            experiment.requests.pipeline = self.one(&[1, 16]);
            experiment.requests.sent = self.one(&[Sent::Prepared, Sent::Text]);
        }

        fn ask(&mut self, requests: &mut Requests) {
            let words = ["get", "point-select", "connect", "dump", "script:/a,b c.sql"];
            requests.workload = self.maybe(|dice| dice.one(&words).to_owned());
            requests.value_bytes = self.maybe(|dice| 1 + dice.below(1_000) as usize);
            requests.defined = self.maybe(|_| vec!["a=b c".to_owned()]).unwrap_or_default();
            requests.distribution = self.one(&[Distribution::Uniform, Distribution::Zipf(0.99)]);
            requests.reconnect_every = self.maybe(|dice| 1 + dice.below(9) as u32);
            requests.echo = EchoAsked {
                request_bytes: self.maybe(|dice| 8 + dice.below(99)),
                reply_bytes: self.maybe(|dice| 8 + dice.below(99)),
                stream_bytes: self.maybe(|_| 4 << 30),
                write_bytes: self.maybe(|_| 1 << 20),
                is_nodelay: self.maybe(|dice| dice.below(2) == 0),
            };
        }

        fn load(&mut self) -> Load {
            match self.below(3) {
                0 => Load::Open {
                    rates: vec![Rate::PerSecond(1_500.5), Rate::OfCapacity(40.0)],
                    arrivals: self.one(&[Arrivals::Poisson, Arrivals::Fixed]),
                },
                1 => Load::Closed { think: self.one(&[Duration::from_micros(200), Duration::from_secs(1)]) },
                _ => Load::flat_out(),
            }
        }

        fn effort(&mut self) -> Effort {
            self.one(&[
                Effort::Full,
                Effort::Quick,
                Effort::Precise,
                Effort::Epochs(20),
                Effort::Time(Duration::from_secs(2 * 60)),
            ])
        }
    }

    fn read(words: &[String]) -> Result<Asked, Failure> {
        let command = Cli::try_parse_from(words).expect("a printed line is one").command;
        let Some(Command::Compare(args)) = command else {
            panic!("{words:?}");
        };
        asked(&args)
    }

    #[test]
    fn a_printed_command_line_gives_the_same_experiment() {
        let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(17));
        let mut n_whole = 0;
        for _ in 0..4_000 {
            let experiment = dice.experiment();
            let words = experiment.command();
            let found = read(&words);
            if experiment.check().is_err() {
                assert!(found.is_err(), "{words:?}");
                continue;
            }
            let found = found.unwrap();
            assert_eq!(format!("{:?}", found.all[0].1), format!("{experiment:?}"), "{words:?}");
            n_whole += 1;
        }
        assert!(n_whole > 1_000, "{n_whole} went together");
    }

    #[test]
    fn what_is_no_experiment_is_refused() {
        for words in ["--arms unix", "-c 0", "-c 1,99999", "--baseline tls"] {
            let line = format!("looptax compare echo {words}");
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert!(read(&words).is_err(), "{line}");
        }
    }
}
