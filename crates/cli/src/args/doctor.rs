//! Options of `doctor`.

use clap::{Args, ValueEnum};

use super::{JsonArgs, TurnArgs};

/// Options of `doctor`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DoctorArgs {
    /// A private server (private:redis, ...) or echo.
    #[arg(value_name = "TARGET", default_value = "echo")]
    pub(crate) target: String,
    /// Number of A/A runs (a transport compared with itself) per transport.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) runs: u32,
    /// Number of epochs per run.
    ///
    /// Every run has exactly this many epochs; no run stops early.
    #[arg(long, value_name = "EPOCHS", num_args = 0..=1, default_missing_value = "20", default_value_t = 20,
          value_parser = clap::value_parser!(u32).range(6..=1_000))]
    pub(crate) fixed: u32,
    /// Which tests to run.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Test::Aa, Test::Inject, Test::Slices], value_name = "TEST,…")]
    pub(crate) tests: Vec<Test>,
    /// How the client waits, as in `compare --client`.
    #[arg(long, default_value = "poll", value_name = "MODEL")]
    pub(crate) client: String,
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
    /// Seed of the first run; each further run uses the next number.
    #[arg(long, value_name = "HEX")]
    pub(crate) seed: Option<String>,
    #[command(flatten)]
    pub(crate) json: JsonArgs,
}

/// A test that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Test {
    /// The same arm on both sides must show no difference.
    Aa,
    /// A known delay must be found.
    Inject,
    /// 50 ms and 500 ms slices must agree.
    Slices,
}
