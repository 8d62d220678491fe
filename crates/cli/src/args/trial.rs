//! What `trial` takes.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use looptax_experiment::spec::typed;

use super::{MovingArgs, ResultArgs, TurnArgs};

/// Options of `trial`.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that is typed or not")]
pub(crate) struct TrialArgs {
    /// A page of the application; may be repeated.
    ///
    /// A page of the application, by http:// or https:// at an address of this machine. Several are asked for in a
    /// drawn order.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Vec<String>,
    /// File with one address per line.
    #[arg(long, value_name = "FILE")]
    pub(crate) urls: Option<PathBuf>,
    /// Access log with the pages to request.
    ///
    /// An access log in the combined format: its pages that were asked for by GET and answered with 200, as often as they
    /// were; --url says where.
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) from_log: Option<PathBuf>,
    /// Header of every request.
    ///
    /// A header of every request: `Cookie: session=…`. What follows a name that is secret is kept in no record.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// HTTP method.
    ///
    /// How pages are asked for. Whatever a method changes in the application, the trial changes many times.
    #[arg(hide_short_help = true, long, default_value = "GET", value_name = "METHOD")]
    pub(crate) method: String,
    /// Pages requested at a time.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) clients: u32,
    /// Pages per second (default: as fast as they are answered).
    ///
    /// Ask for so many pages per second, due at random, whether answers are in or not; a page's time then counts from
    /// when it was due. Default: each client asks as soon as it has its answer.
    #[arg(long, value_name = "N", value_parser = rate)]
    pub(crate) rate: Option<f64>,
    /// Restart the application for each turn.
    ///
    /// Start the application anew for each turn, with a warm-up of its own: for one that keeps its connections. Found out
    /// where it is not said.
    #[arg(long)]
    pub(crate) restart: bool,
    /// Make the load with this command.
    ///
    /// This command makes the load, whole runs of it: it should do a fixed amount of work, for the time of a run is
    /// what is measured. Words are split as a shell would; there is no shell, so that pipes and loops need `sh -c '…'`.
    /// --url is for the first look.
    #[arg(long, value_name = "CMD", conflicts_with_all = ["rate", "clients"])]
    pub(crate) exec_load: Option<String>,
    /// Stop a run of --exec-load after this time.
    ///
    /// A run of --exec-load that takes longer is stopped, and ends the trial.
    #[arg(hide_short_help = true, long, default_value = "10m", value_name = "TIME", requires = "exec_load")]
    pub(crate) exec_timeout: String,
    /// Address that shows that the application is ready.
    ///
    /// The application is ready when this address takes connections. Default: that of the first page.
    #[arg(long, value_name = "URL")]
    pub(crate) ready: Option<String>,
    /// How long the application may take to start.
    #[arg(hide_short_help = true, long, default_value = "30s", value_name = "TIME")]
    pub(crate) start_limit: String,
    /// How long a page may take.
    #[arg(hide_short_help = true, long, default_value = "30s", value_name = "TIME")]
    pub(crate) page_limit: String,
    /// Run the application as this user (needs root).
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Also try each server by itself, at most three.
    ///
    /// Try each server's way by itself as well, where the application uses several: at most three.
    #[arg(long)]
    pub(crate) each: bool,
    /// The two ways: unix,tcp, or tcp,tcp for no difference.
    #[arg(hide_short_help = true, long, default_value = "unix,tcp", value_name = "ARM,ARM")]
    pub(crate) arms: String,
    /// Which servers' connections are moved.
    #[command(flatten)]
    pub(crate) moving: MovingArgs,
    /// Measure for a fixed time (60s) or number of epochs (20).
    ///
    /// One look after a fixed time (60s) or number of epochs (20), without early stopping.
    #[arg(long, value_name = "T", conflicts_with_all = ["quick", "precise"])]
    pub(crate) fixed: Option<String>,
    /// At most 40 epochs.
    #[arg(long, conflicts_with = "precise")]
    pub(crate) quick: bool,
    /// Continue until the interval is narrow.
    #[arg(long)]
    pub(crate) precise: bool,
    /// Repeat the order of an earlier trial.
    ///
    /// Repeat the order of an earlier trial (the seed is in its record).
    #[arg(hide_short_help = true, long, value_name = "HEX")]
    pub(crate) seed: Option<String>,
    /// Print the plan and exit.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// What becomes of the result.
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
    /// Wait so many microseconds in each page of the second arm (for tests).
    #[arg(long, hide = true, value_name = "US")]
    pub(crate) inject_us: Option<u64>,
    /// Measure the pages of a start for so many milliseconds (for tests).
    #[arg(long, hide = true, default_value_t = 2_000, value_name = "MS")]
    pub(crate) start_ms: u64,
    /// Start the application, leave its connections on TCP, say `ready`, and end it when the input ends (for tests).
    #[arg(long, hide = true)]
    pub(crate) hold: bool,
    /// The application's command: a second instance on its own port.
    ///
    /// The application's command: a second instance of it, in the foreground, on a port of its own.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD", required = true)]
    pub(crate) command: Vec<OsString>,
}

fn rate(typed: &str) -> Result<f64, &'static str> {
    let parsed = typed::rate(typed).filter(|it| (0.01..=1e6).contains(it));
    parsed.ok_or("pages per second, as 50, 1.5k or 0.5")
}
