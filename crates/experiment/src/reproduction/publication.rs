//! The claims of publications and the measurements for them, from the files in `data/`. Only these files have figures
//! that other people published.
//!
//! Figures that a publication shows only in charts are left out. In a pair of numbers, the first number is for a quick
//! run, the second number for a usual run. A reason may contain names of the comparison's figures in braces.

use std::sync::LazyLock;

use looptax_bench::ClientModel;
use looptax_model::analysis::claim::Claim;
use looptax_model::analysis::effect::Effect;
use looptax_model::dsn::Arm;
use looptax_model::dsn::Kind;
use looptax_model::record::{Article, Client, Comparison, Placement, ReproductionUnit};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::part::Part;
use super::programs::on_path;

/// The contents of those files of `data/` that have the key `article`.
const FILES: &[&[u8]] = include!(concat!(env!("OUT_DIR"), "/publications.rs"));

static PUBLICATIONS: LazyLock<Vec<Publication>> = LazyLock::new(|| {
    let read =
        |text: &&[u8]| -> Publication { serde_json::from_slice(text).expect("the data are read by a test, too") };
    let mut all: Vec<Publication> = FILES.iter().map(read).collect();
    all.sort_by_cached_key(|it| (it.extra == Some(Extra::Ports), it.published.clone()));
    all
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Publication {
    /// The name of the publication on the command line.
    pub(crate) name: String,
    /// A line that describes the publication's measurement.
    pub(crate) about: String,
    /// The date as precisely as it is known: 2019, 2020-04, undated.
    pub(crate) published: String,
    pub(crate) article: Article,
    /// A kind of measurement that the publication needs besides its steps.
    pub(crate) extra: Option<Extra>,
    /// The differences that always make the repetition smaller than the original, one sentence each.
    #[serde(default)]
    pub(crate) smaller: Vec<String>,
    #[serde(default, rename = "step")]
    pub(crate) steps: Vec<StepPlan>,
    /// The rows: each has a claim and the measurement for it.
    #[serde(default, rename = "row")]
    pub(crate) rows: Vec<RowPlan>,
    /// Storms of many connections, each with its row.
    #[serde(default, rename = "storm")]
    pub(crate) storms: Vec<StormPlan>,
    /// The rows about pages of WordPress.
    #[serde(default, rename = "page")]
    pub(crate) pages: Vec<PagePlan>,
}

impl Publication {
    pub(crate) fn all() -> &'static [Self] {
        &PUBLICATIONS
    }

    pub(crate) fn for_part(part: Part) -> &'static Self {
        &PUBLICATIONS[part.0]
    }
}

/// A measurement that a publication needs in addition to its steps; each kind has a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Extra {
    /// How much smaller the dump is than the published one.
    Dump,
    /// The points of a sweep, and the functions in which the server spends the most time.
    Sweep,
    /// Other patterns in which data are written.
    Writes,
    /// Pages of WordPress.
    Pages,
    /// How much of a published port's cost is due to the proxy, and how much to the transport.
    Ports,
    /// Storms of many connections.
    Storms,
}

/// A comparison to measure. The fields correspond to `compare`'s options.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepPlan {
    /// The part of the record's file name that names the step.
    pub name: String,
    /// A description of the comparison for the user.
    pub what: String,
    #[serde(deserialize_with = "kind")]
    pub target: Kind,
    /// The arms, the baseline first.
    #[serde(deserialize_with = "words")]
    pub arms: Vec<Arm>,
    pub connections: Option<Vec<u32>>,
    /// The highest number of connections in a sweep that starts at 1.
    pub sweep_to: Option<[u32; 2]>,
    #[serde(default)]
    pub workloads: Vec<String>,
    pub exec: Option<String>,
    /// Programs that the command may run, the published one first.
    #[serde(default)]
    pub programs: Vec<String>,
    pub package: Option<String>,
    #[serde(default, deserialize_with = "words")]
    pub placement: Vec<Placement>,
    #[serde(default, deserialize_with = "words")]
    pub client: Vec<ClientModel>,
    /// Rates, in percent of the slower arm's capacity.
    #[serde(default)]
    pub rates_pct: Vec<f64>,
    pub pipeline: Option<u32>,
    pub value_bytes: Option<usize>,
    pub message_bytes: Option<u64>,
    /// Size of a stream in bytes; `write_bytes` is the size of one write.
    pub stream_bytes: Option<u64>,
    pub write_bytes: Option<u64>,
    /// Whether both ends set `TCP_NODELAY`; if `false`, TCP may combine small writes.
    pub nodelay: Option<bool>,
    /// Whether the text of a statement is sent with each execution, as pgbench does by default.
    #[serde(default)]
    pub is_text: bool,
    pub rows: Option<Rows>,
    pub slice_ms: Option<u32>,
    pub epochs: [u64; 2],
    /// The time limit for measuring, in seconds. When this time is over, the step is ended.
    pub budget_s: [u64; 2],
    /// The amount of data. If the user requests a share of the published amount, the number of epochs follows from this
    /// amount.
    pub amount: Option<Amount>,
    /// Reasons why published and measured values may differ, for all claims of the step.
    #[serde(default)]
    pub reasons: Vec<String>,
}

impl StepPlan {
    /// Returns the first of the step's programs that is installed.
    pub(crate) fn program(&self) -> Option<&str> {
        let mut programs = self.programs.iter().map(String::as_str);
        programs.find(|program| on_path(program))
    }

    pub(crate) fn missing(&self) -> Option<String> {
        (!self.programs.is_empty() && self.program().is_none()).then(|| {
            format!(
                "the {}: neither {} is on PATH; install the package {}",
                self.name,
                self.programs.join(" nor "),
                self.package.as_deref().unwrap_or("that has it")
            )
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rows {
    pub published: u64,
    /// Number of rows if the user requests no share. With `None`, the published number is used.
    pub usual: Option<[u64; 2]>,
    /// The time that a million rows may take, in seconds.
    #[serde(default)]
    pub s_per_million: u64,
}

/// The amount of data that is streamed or sent on each arm.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Amount {
    pub published: u64,
    pub per_epoch: u64,
    /// The time that an epoch may take, in seconds.
    pub s_per_epoch: u64,
}

/// A claim, or a part of a claim, and the measurement for it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowPlan {
    pub step: String,
    /// `None` if this part of a claim was not published as a separate figure.
    pub claim: Option<Claim>,
    pub what: String,
    /// The arm that is compared with the baseline.
    #[serde(default = "tcp")]
    pub arm: String,
    pub unit: ReproductionUnit,
    #[serde(default)]
    pub effect: Effect,
    /// Further reasons why the published and the measured value may differ.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// This field and the next two fields select a comparison of the step: the first comparison that matches all fields
    /// that are set.
    workload: Option<String>,
    connections: Option<u32>,
    share_pct: Option<f64>,
    /// Selects the comparison in which the baseline had the highest throughput, instead of the first match.
    #[serde(default)]
    is_at_most: bool,
}

impl RowPlan {
    /// Returns the comparison that the row is about.
    pub(crate) fn comparison<'a>(&self, all: &'a [Comparison]) -> Option<&'a Comparison> {
        if self.is_at_most {
            // At one of its points a sweep also has comparisons with threads; only comparisons with client model
            // `event` count.
            let sweep = all.iter().filter(|it| it.client == Client::Event);
            return sweep.max_by(|one, other| served(one).total_cmp(&served(other)));
        }
        all.iter().find(|comparison| {
            self.workload.as_ref().is_none_or(|name| *name == comparison.workload.name)
                && self.connections.is_none_or(|n| n == comparison.connections)
                && (self.share_pct.is_none() || self.share_pct == comparison.load.share_pct)
        })
    }
}

fn served(comparison: &Comparison) -> f64 {
    let baseline = comparison.arms.first();
    let per_s = baseline.and_then(|arm| arm.throughput_per_s.known());
    per_s.map_or(0.0, |it| it.value)
}

/// A measurement with many simultaneous connections: how many of them fail over the socket, compared with TCP.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StormPlan {
    #[serde(deserialize_with = "kind")]
    pub target: Kind,
    /// The client whose behaviour at connecting is imitated.
    pub client: String,
    pub connections: u32,
    /// Length of the listening socket's queue; `None` for the server's default.
    pub queue: Option<u32>,
    pub storms: [u32; 2],
    pub budget_s: u64,
    /// `None` if no figure was published.
    pub claim: Option<Claim>,
    pub what: String,
    #[serde(default)]
    pub reasons: Vec<String>,
}

/// A claim about a page, or a figure that was not published.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PagePlan {
    pub claim: Option<Claim>,
    /// The row's text; it may contain a placeholder in braces for the page's number of queries.
    pub what: String,
    pub unit: ReproductionUnit,
    pub of: PageFigure,
    #[serde(default)]
    pub reasons: Vec<String>,
}

/// A figure of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PageFigure {
    Query,
    QuerySd,
    /// The share of a page's time that its queries take.
    Share,
    /// The time of the whole page.
    Page,
    /// The time in queries under `looptax run`, compared with the socket in the same process.
    MovedQuery,
}

fn tcp() -> String {
    Arm::Tcp.name().to_owned()
}

/// Reads a kind of server, by its name in an option.
fn kind<'de, D: Deserializer<'de>>(from: D) -> Result<Kind, D::Error> {
    let word = String::deserialize(from)?;
    crate::servers::startable(&word).map_err(Error::custom)
}

fn words<'de, D: Deserializer<'de>, T>(from: D) -> Result<Vec<T>, D::Error>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let words = String::deserialize(from)?;
    let each = words.split(',').map(|word| word.parse().map_err(Error::custom));
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(part: &str, name: &str, expected: f64) {
        let publication = Publication::for_part(Part::named(part).unwrap());
        let rows = publication.rows.iter().filter_map(|row| row.claim.as_ref());
        let pages = publication.pages.iter().filter_map(|row| row.claim.as_ref());
        let claim = rows.chain(pages).find(|claim| claim.name == name).unwrap();
        let ratios = claim.says.ratios();
        assert!((ratios.value - expected).abs() < 0.005, "{name}: {ratios:?}");
        assert!(ratios.lo <= ratios.value && ratios.value <= ratios.hi, "{name}");
    }

    #[test]
    fn claims_are_the_published_figures() {
        check("percona", "point_select_1_thread", 1.0 / 0.65);
        check("percona", "point_select_64_threads", 1.0 / 0.67);
        check("percona", "mysqldump_10M_rows_2GB", 1.11);
        check("percona", "inject_100k_qps_mean", 1.54);
        check("percona", "inject_100k_qps_p99", 1.5);
        check("percona", "inject_200k_qps_mean", 3.7);
        check("percona", "inject_200k_qps_p99", 12.0);
        check("dimitri", "broadwell_2s_max", 1.18);
        check("dimitri", "skylake_2s_max", 1.06);
        check("dimitri", "broadwell_4s_max", 1.07);
        check("dimitri", "broadwell_4s_32_users", 1.29);
        check("wordpress", "query_time", 1.0 / 0.75);
        check("wordpress", "query_time_variation", 1.25);
        check("wordpress", "share_of_page", 4.5);
        check("moonen", "stream_100GB", 2.81);
        check("moonen", "message_8_bytes_100M", 78.36);
        check("moonen", "message_8_bytes_100M_spread", 19.97);
        check("kawin", "redis_read", 3.27);
        check("kawin", "redis_write", 2.86);
        check("kawin", "mariadb_read", 2.82);
        check("kawin", "mariadb_latency", 2.82);
    }

    #[test]
    fn every_row_has_its_step_and_an_arm_of_it() {
        for publication in Publication::all() {
            for row in &publication.rows {
                let step = publication.steps.iter().find(|step| step.name == row.step).unwrap();
                let mut arms = step.arms.iter();
                assert!(arms.any(|arm| arm.name() == row.arm), "{}", row.what);
            }
        }
        let last = Publication::all().last().unwrap();
        assert_eq!(last.extra, Some(Extra::Ports), "it leaves the network of the others");
    }
}
