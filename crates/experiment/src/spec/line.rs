//! Makes the command line for an experiment.

use std::time::Duration;

use crate::servers::pooler::PoolMode;
use looptax_bench::{Arrivals, Distribution};
use looptax_wire::Sent;

use super::exec::{Exec, Given};
use super::load::{Load, Rate};
use super::target::TargetSpec;
use super::{Clients, EchoAsked, Effort, Experiment, MOST_SAMPLES_MIB, ROWS, Requests};

impl Experiment {
    /// Returns the words of a command line that makes the same experiment, without passwords.
    pub fn command(&self) -> Vec<String> {
        let mut words = self.command_without_seed();
        words.extend(["--seed".to_owned(), format!("{:x}", self.seed)]);
        words
    }

    /// Returns the words of a command line that makes the same comparison, with a new random order of slices.
    pub fn command_without_seed(&self) -> Vec<String> {
        let mut line = Line(vec!["looptax".to_owned(), "compare".to_owned()]);
        line.0.extend(self.targets.iter().map(TargetSpec::name));
        self.add_arms(&mut line);
        line.add_requests(&self.requests);
        line.add_load(&self.load);
        if let Some(placements) = &self.placements {
            line.list("--placement", placements);
        }
        match &self.clients {
            None => {}
            Some(Clients::All) => line.option("--client", "all"),
            Some(Clients::Models(models)) => line.list("--client", models),
            Some(Clients::Like(words)) => line.list("--client-like", words),
        }
        self.add_amounts(&mut line);
        for (flag, is_set) in [
            ("--from-namespace", self.is_from_namespace),
            ("--write", self.may_write),
            ("--own-server", self.is_own_server),
            ("--yes", self.is_agreed),
        ] {
            line.flag(flag, is_set);
        }
        if let Some(exec) = &self.exec {
            line.add_exec(exec);
        }
        line.0
    }

    fn add_arms(&self, line: &mut Line) {
        if !self.adds_tls {
            line.list("--arms", &self.arms);
        }
        if let Some(connections) = &self.connections {
            if self.is_sweep {
                line.option("--sweep", &super::sweep_word(connections));
            } else {
                line.list("-c", connections);
            }
        }
        if let Some(socket) = &self.socket {
            line.option("--socket", &socket.display().to_string());
        }
    }

    fn add_amounts(&self, line: &mut Line) {
        if self.rows != ROWS {
            line.option("--rows", &self.rows.to_string());
        }
        if self.pool_mode != PoolMode::default() {
            line.option("--pool-mode", self.pool_mode.name());
        }
        match self.effort {
            Effort::Full => {}
            Effort::Quick => line.flag("--quick", true),
            Effort::Precise => line.flag("--precise", true),
            Effort::Epochs(n) => line.option("--fixed", &n.to_string()),
            Effort::Time(time) => line.option("--fixed", &typed(time)),
        }
        if let Some(warm_up) = self.warm_up {
            line.option("--warm-up", &typed(warm_up));
        }
        if let Some(slice) = self.slice {
            line.option("--slice-ms", &slice.as_millis().to_string());
        }
        let samples_mib = self.sample_bytes >> 20;
        if samples_mib != MOST_SAMPLES_MIB as usize {
            line.option("--max-samples", &samples_mib.to_string());
        }
    }
}

/// The default of `--exec-timeout`.
const USUAL_TIMEOUT: Duration = Duration::from_secs(10 * 60);

struct Line(Vec<String>);

impl Line {
    fn flag(&mut self, name: &str, is_set: bool) {
        if is_set {
            self.0.push(name.to_owned());
        }
    }

    fn option(&mut self, name: &str, value: &str) {
        self.0.extend([name.to_owned(), value.to_owned()]);
    }

    fn list<T: ToString>(&mut self, name: &str, values: &[T]) {
        let words: Vec<String> = values.iter().map(ToString::to_string).collect();
        self.option(name, &words.join(","));
    }

    fn number(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.option(name, &value.to_string());
        }
    }

    fn add_requests(&mut self, requests: &Requests) {
        if let Some(workload) = &requests.workload {
            self.option("--workload", workload);
        }
        if requests.sent == Sent::Text {
            self.option("--protocol", "text");
        }
        if requests.pipeline != 1 {
            self.option("--pipeline", &requests.pipeline.to_string());
        }
        self.number("--value-size", requests.value_bytes);
        for variable in &requests.defined {
            self.option("-D", variable);
        }
        if let Distribution::Zipf(exponent) = requests.distribution {
            self.option("--distribution", &format!("zipf:{exponent}"));
        }
        self.number("--reconnect-every", requests.reconnect_every);
        self.add_echo(&requests.echo);
    }

    fn add_echo(&mut self, echo: &EchoAsked) {
        self.number("--request-size", echo.request_bytes);
        self.number("--reply-size", echo.reply_bytes);
        self.number("--stream-bytes", echo.stream_bytes);
        self.number("--write-size", echo.write_bytes);
        let word = |is_on| if is_on { "on" } else { "off" };
        self.number("--nodelay", echo.is_nodelay.map(word));
    }

    fn add_load(&mut self, load: &Load) {
        match load {
            Load::Closed { think } if think.is_zero() => {}
            Load::Closed { think } => self.option("--think", &typed(*think)),
            Load::Open { rates, arrivals } => {
                let word = |rate: &Rate| match rate {
                    Rate::PerSecond(per_s) => per_s.to_string(),
                    Rate::OfCapacity(pct) => format!("{pct}%"),
                };
                let words: Vec<String> = rates.iter().map(word).collect();
                self.list("--rate", &words);
                if *arrivals == Arrivals::Fixed {
                    self.option("--arrivals", "fixed");
                }
            }
        }
    }

    fn add_exec(&mut self, exec: &Exec) {
        let options: &[&str] = match &exec.given {
            Given::Template(_) => &["--exec"],
            Given::PerArm { .. } => &["--exec-unix", "--exec-tcp"],
        };
        for (option, (_, shown)) in options.iter().zip(&exec.typed) {
            self.option(option, shown);
        }
        if exec.timeout != USUAL_TIMEOUT {
            self.option("--exec-timeout", &typed(exec.timeout));
        }
    }
}

/// Formats a time as people type it, in the largest unit that represents it exactly.
fn typed(time: Duration) -> String {
    let us = time.as_micros();
    match us {
        _ if us.is_multiple_of(1_000_000) => format!("{}s", us / 1_000_000),
        _ if us.is_multiple_of(1_000) => format!("{}ms", us / 1_000),
        _ => format!("{us}us"),
    }
}
