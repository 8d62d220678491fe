//! Options of storms of connections.

use std::time::Duration;

use clap::Args;
use looptax_experiment::spec::typed;

/// Options of `--workload storm`.
#[derive(Debug, Clone, Args)]
pub(crate) struct StormArgs {
    /// Workload storm: stop the server this long at the first connection.
    ///
    /// looptax stops the private server with SIGSTOP, to imitate a fork or a slow disk.
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = stall)]
    pub(crate) stall: Option<Duration>,
    /// Workload storm: length of the accept queue (default: Debian's setting).
    ///
    /// The length applies to the socket and to the port.
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=65_535))]
    pub(crate) queue: Option<u32>,
    /// Workload storm: number of storms over each transport (default: 10).
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub(crate) storms: Option<u32>,
}

impl StormArgs {
    /// Returns the name of the first storm option that was typed.
    pub(crate) fn typed(&self) -> Option<&'static str> {
        let Self { stall, queue, storms } = self;
        let all = [(stall.is_some(), "--stall"), (queue.is_some(), "--queue"), (storms.is_some(), "--storms")];
        all.into_iter().find_map(|(is_typed, name)| is_typed.then_some(name))
    }
}

/// The longest stall: a server that is stopped for longer counts as down.
const LONGEST_STALL: Duration = Duration::from_secs(60);

fn stall(typed: &str) -> Result<Duration, String> {
    let time = typed::time(typed).filter(|it| *it <= LONGEST_STALL);
    time.ok_or_else(|| "give a time of at most a minute, for example 300ms or 2s".to_owned())
}
