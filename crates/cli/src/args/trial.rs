//! Options of `trial`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use looptax_experiment::spec::typed;

use super::{MovingArgs, ResultArgs, TurnArgs};

/// Options of `trial`.
#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each of these fields is an option of the command line")]
pub(crate) struct TrialArgs {
    /// Try private copies of this nginx site and its PHP-FPM.
    ///
    /// FILE is a file of the running nginx, such as /etc/nginx/sites-enabled/shop. looptax starts copies of nginx and
    /// of the PHP-FPM pool on free ports, and also moves the connections from nginx to PHP-FPM. With --site, pass no
    /// CMD; --url names pages of the original site (default: its front page).
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["command", "urls", "ready", "user", "exec_load", "map"]
    )]
    pub(crate) site: Option<PathBuf>,
    /// A page of the application; may be repeated.
    ///
    /// An http:// or https:// URL at an address of this machine. Several pages are requested in random order.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Vec<String>,
    /// File with one URL of a page per line.
    #[arg(long, value_name = "FILE")]
    pub(crate) urls: Option<PathBuf>,
    /// Access log with the pages to request.
    ///
    /// The log has the combined format. looptax requests the pages of lines with GET and status 200, in the log's
    /// proportions, from the host in --url.
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) from_log: Option<PathBuf>,
    /// Header of every request.
    ///
    /// For example `Cookie: session=…`. The value is not written to the record.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// HTTP method.
    ///
    /// If a request with this method changes something in the application, the trial changes it many times.
    #[arg(hide_short_help = true, long, default_value = "GET", value_name = "METHOD")]
    pub(crate) method: String,
    /// How many pages are requested at the same time.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) clients: u32,
    /// Pages per second (default: as fast as they are answered).
    ///
    /// Requests are due at random times and are sent even if earlier answers are still missing. The time of a page
    /// then counts from the time at which its request was due.
    #[arg(long, value_name = "N", value_parser = rate)]
    pub(crate) rate: Option<f64>,
    /// Restart the application for each turn.
    ///
    /// For an application that keeps its connections open. Each turn then has its own warm-up. Default: looptax
    /// finds out whether this is needed.
    #[arg(long)]
    pub(crate) restart: bool,
    /// Create the load with this command.
    ///
    /// looptax measures the time of whole runs of the command, so each run should do a fixed amount of work. Words
    /// are split as in a shell, but no shell runs: pipes and loops need `sh -c '…'`. --url is used only to check the
    /// application first.
    #[arg(long, value_name = "CMD", conflicts_with_all = ["rate", "clients"])]
    pub(crate) exec_load: Option<String>,
    /// Stop a run of --exec-load after this time.
    ///
    /// This also ends the trial.
    #[arg(hide_short_help = true, long, default_value = "10m", value_name = "TIME", requires = "exec_load")]
    pub(crate) exec_timeout: String,
    /// Wait until this address accepts connections (default: the page's).
    ///
    /// The application then counts as ready. Default: the address of the first page.
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
    /// Also measure the move of each server separately (at most three).
    ///
    /// For an application that uses two or three servers.
    #[arg(long)]
    pub(crate) each: bool,
    /// The two arms: unix,tcp; or tcp,tcp to compare TCP with itself.
    #[arg(hide_short_help = true, long, default_value = "unix,tcp", value_name = "ARM,ARM")]
    pub(crate) arms: String,
    /// Which servers' connections are moved.
    #[command(flatten)]
    pub(crate) moving: MovingArgs,
    /// Measure for a fixed time (such as 60s) or number of epochs (20).
    ///
    /// The result is judged once, at the end; the trial does not stop early.
    #[arg(long, value_name = "T", conflicts_with_all = ["quick", "precise"])]
    pub(crate) fixed: Option<String>,
    /// At most 40 epochs.
    #[arg(long, conflicts_with = "precise")]
    pub(crate) quick: bool,
    /// Measure until the 95 % interval of the tax is narrow.
    #[arg(long)]
    pub(crate) precise: bool,
    /// Repeat the order of an earlier trial.
    ///
    /// The seed is in the record of that trial.
    #[arg(hide_short_help = true, long, value_name = "HEX")]
    pub(crate) seed: Option<String>,
    /// Print the plan and exit.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Which files to write for the result.
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    #[command(flatten)]
    pub(crate) turn: TurnArgs,
    /// Wait N microseconds in each page of the second arm (for tests).
    #[arg(long, hide = true, value_name = "US")]
    pub(crate) inject_us: Option<u64>,
    /// Measure the pages of a start for N milliseconds (for tests).
    #[arg(long, hide = true, default_value_t = 2_000, value_name = "MS")]
    pub(crate) start_ms: u64,
    /// Start the application, leave its connections on TCP, say `ready`, and end it when the input ends (for tests).
    #[arg(long, hide = true)]
    pub(crate) hold: bool,
    /// Command that starts a second instance of the application, on a free port.
    ///
    /// It has to stay in the foreground.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD", required_unless_present = "site")]
    pub(crate) command: Vec<OsString>,
}

fn rate(typed: &str) -> Result<f64, &'static str> {
    let parsed = typed::rate(typed).filter(|it| (0.01..=1e6).contains(it));
    parsed.ok_or("give pages per second, for example 50, 1.5k or 0.5")
}
