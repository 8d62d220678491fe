//! The comparison of WordPress pages: time in queries of one page over TCP and over the socket.
//!
//! [`crate::pages`] loads and proves the pages; here its figures stand beside the published ones.

use std::time::Duration;

use looptax_experiment::Machine;
use looptax_experiment::spec::new_seed;
use looptax_experiment::{Host, ask_nobody};
use looptax_failure::Failure;
use looptax_record::{
    Figure, ReplayPages, ReplayPart, ReplayProof, ReplayRow, ReplaySide, ReplayStep, ReplayUnit,
    ServerCount, SideUnit,
};
use looptax_servers::wordpress::{Site, Transport};
use looptax_stats::Estimate;

use super::claim::{Claim, in_unit};
use super::published::WORDPRESS;
use super::{Amounts, Runner};
use crate::pages::{
    Contrast, Fifteen, Measured, Options, SideFigures, SiteMeasured, measure, told,
};

/// The file with the figures of every page, in the folder of the records.
const FILE: &str = "wordpress.json";

/// What is done, and how long that may take.
pub(crate) fn beside(amounts: &Amounts) -> (&'static str, Duration) {
    let what = "pages of two WordPress sites, socket, TCP and `looptax run` in turns";
    (what, Duration::from_secs(amounts.either(75, 180)))
}

pub(crate) fn run(mut part: ReplayPart, amounts: &Amounts, runner: &mut Runner<'_>) -> ReplayPart {
    if runner.is_interrupted() {
        return part;
    }
    runner.say("loading pages of WordPress");
    match pages(amounts, runner) {
        Ok(measured) => add(&mut part, &measured, runner),
        Err(failure) => part.missing.push(super::runner::told("pages", &failure)),
    }
    part
}

fn pages(amounts: &Amounts, runner: &Runner<'_>) -> Result<Measured, Failure> {
    let options = Options {
        is_quick: amounts.is_quick,
        seed: new_seed()?,
        epochs: amounts.epochs.map(|n| n as usize),
    };
    measure(
        &options,
        &Host::new(Machine::plain(), ask_nobody)?,
        runner.stop(),
    )
}

fn add(part: &mut ReplayPart, measured: &Measured, runner: &Runner<'_>) {
    let path = runner.folder().join(FILE);
    match looptax_store::save_value(&told::json(measured), &path) {
        Ok(()) => part.steps.push(ReplayStep {
            what: "pages of two WordPress sites".to_owned(),
            command: "looptax replay wordpress".to_owned(),
            run: None,
            path: Some(path.display().to_string()),
        }),
        Err(error) => part
            .missing
            .push(format!("the pages' own figures: {error}")),
    }
    let without = measured.without_redirect.iter();
    part.missing
        .extend(without.map(|why| format!("pages under looptax run: {why}")));
    for site in &measured.sites {
        let rows = rows(site, measured);
        part.rows.extend(rows.into_iter().flatten());
    }
    part.findings
        .extend(measured.sites.iter().filter_map(finding));
}

/// The rows of one site; only the full one has what was published.
fn rows(site: &SiteMeasured, measured: &Measured) -> Vec<Option<ReplayRow>> {
    let is_published = site.site == Site::Full;
    let claim = |name| is_published.then(|| WORDPRESS.claim(name));
    let n = site.counted.queries[0];
    let of = Maker { site };
    let query = of.contrast(Transport::Tcp, Transport::Unix, &QUERY);
    let mut rows = vec![of.row(
        claim("query_time"),
        format!("time in the {n} queries of a page"),
        ReplayUnit::AddedPct,
        query,
        reasons(site, measured),
    )];
    if is_published {
        rows.push(of.row(
            claim("query_time_variation"),
            "its standard deviation".to_owned(),
            ReplayUnit::AddedPct,
            of.contrast(Transport::Tcp, Transport::Unix, &QUERY_SD),
            vec!["the few slowest pages make a standard deviation, so that it takes many loads to know it".to_owned()],
        ));
        rows.push(of.row(
            claim("share_of_page"),
            "share of queries in the page".to_owned(),
            ReplayUnit::SharePct,
            of.share(),
            vec![
                "the rest of a page is PHP's own work: its version, its opcode cache, the theme and the plugins decide it"
                    .to_owned(),
            ],
        ));
    }
    rows.push(of.row(
        None,
        format!("the whole page of {n} queries"),
        ReplayUnit::AddedPct,
        of.contrast(Transport::Tcp, Transport::Unix, &PAGE),
        Vec::new(),
    ));
    rows.push(of.row(
        None,
        format!("time in {n} queries, DB_HOST left at 127.0.0.1 under looptax run"),
        ReplayUnit::AddedPct,
        of.contrast(Transport::Redirect, Transport::UnixBeside, &QUERY),
        vec!["over the socket by its own name in the same php-fpm".to_owned()],
    ));
    rows
}

/// Why the two differ.
fn reasons(site: &SiteMeasured, measured: &Measured) -> Vec<String> {
    let mut reasons = vec![
        "time in queries by $wpdb's own timer is mostly the server's work and mysqli's, which no transport changes"
            .to_owned(),
        format!(
            "WordPress {}, PHP {} and MariaDB {} here; nothing is pinned, the scheduler decides where PHP and MariaDB \
             run",
            measured.wordpress, measured.php, measured.mariadb
        ),
    ];
    reasons.extend(site.fifteen.as_ref().map(fifteen));
    reasons
}

/// What the published number of loads would have said here.
fn fifteen(first: &Fifteen) -> String {
    let pct = first
        .query
        .map_monotone(|ratio| in_unit(ReplayUnit::AddedPct, ratio));
    let decides = if pct.covers(0.0) {
        ", which decides nothing"
    } else {
        ""
    };
    format!(
        "the first fifteen loads of each, as published, give {:+.1} % [{:.1}, {:.1}]{decides}",
        pct.value, pct.lo, pct.hi
    )
}

/// A time of a page: how the ways compare in it, and what each way has, in µs.
struct Quantity {
    ratio: fn(&Contrast) -> Estimate,
    of_side: fn(&SideFigures) -> Estimate,
}

const QUERY: Quantity = Quantity {
    ratio: |it| it.query,
    of_side: |it| it.query_us,
};
const QUERY_SD: Quantity = Quantity {
    ratio: |it| it.query_sd,
    of_side: |it| it.query_sd_us,
};
const PAGE: Quantity = Quantity {
    ratio: |it| it.page,
    of_side: |it| it.page_us,
};

/// Makes the rows of a site.
struct Maker<'a> {
    site: &'a SiteMeasured,
}

/// What a row shows: the two ways, the ratio or share, and each way by itself.
struct Shown {
    arms: [Transport; 2],
    ratio: Estimate,
    sides: [ReplaySide; 2],
}

impl Maker<'_> {
    fn side(&self, transport: Transport) -> Option<&SideFigures> {
        self.site.sides.iter().find(|it| it.transport == transport)
    }

    /// `of` over `over`; `None` where one of them was not measured.
    fn contrast(&self, of: Transport, over: Transport, what: &Quantity) -> Option<Shown> {
        let mut contrasts = self.site.contrasts.iter();
        let contrast = contrasts.find(|it| (it.of, it.over) == (of, over))?;
        let side = |transport| {
            let figure = (what.of_side)(self.side(transport)?);
            Some(shown(figure, SideUnit::Us))
        };
        Some(Shown {
            arms: [over, of],
            ratio: (what.ratio)(contrast),
            sides: [side(over)?, side(of)?],
        })
    }

    /// Of the queries over TCP in the page.
    fn share(&self) -> Option<Shown> {
        let arms = [Transport::Unix, Transport::Tcp];
        let [unix, tcp] = arms.map(|transport| self.side(transport).map(|it| it.share_pct));
        Some(Shown {
            arms,
            ratio: tcp?,
            sides: [shown(unix?, SideUnit::Pct), shown(tcp?, SideUnit::Pct)],
        })
    }

    fn row(
        &self,
        claim: Option<&Claim>,
        what: String,
        unit: ReplayUnit,
        shown: Option<Shown>,
        mut reasons: Vec<String>,
    ) -> Option<ReplayRow> {
        let Shown { arms, ratio, sides } = shown?;
        let judged = claim.map(|claim| claim.judge(&figure(ratio)));
        let why = judged.map_or("", |it| it.why);
        reasons.extend((!why.is_empty()).then(|| why.to_owned()));
        Some(ReplayRow {
            claim: claim.map_or("part", |claim| claim.name).to_owned(),
            what,
            arms: arms.map(|it| name(it).to_owned()),
            unit,
            published: claim.map(|claim| claim.published(unit)),
            measured: figure(ratio.map_monotone(|ratio| in_unit(unit, ratio))),
            sides,
            verdict: judged.map(|it| it.verdict),
            proof: self.proof(),
            reasons,
            step_idx: 0,
        })
    }

    fn proof(&self) -> ReplayProof {
        let counted = &self.site.counted;
        ReplayProof {
            pages: Some(ReplayPages {
                n: counted.pages,
                queries: counted.queries,
            }),
            server_count: Some(ServerCount {
                counter: "Questions of the pages' own connections".to_owned(),
                sent: counted.all_queries,
                counted: counted.server_count,
            }),
            ..ReplayProof::default()
        }
    }
}

fn name(transport: Transport) -> &'static str {
    match transport {
        Transport::Unix | Transport::UnixBeside => "unix",
        Transport::Tcp => "tcp",
        Transport::Redirect => "redirect",
    }
}

fn shown(estimate: Estimate, unit: SideUnit) -> ReplaySide {
    ReplaySide {
        figure: figure(estimate),
        unit,
    }
}

fn figure(it: Estimate) -> Figure {
    Figure::new(it.value, it.lo, it.hi, it.n as u64)
}

/// What it means for the page.
fn finding(site: &SiteMeasured) -> Option<String> {
    let tcp = { site.sides.iter() }.find(|it| it.transport == Transport::Tcp)?;
    let mut contrasts = site.contrasts.iter();
    let page = contrasts.find(|it| (it.of, it.over) == (Transport::Tcp, Transport::Unix))?;
    let added = page
        .page
        .map_monotone(|ratio| in_unit(ReplayUnit::AddedPct, ratio));
    let whole = if added.covers(0.0) {
        format!(
            "whether the page as a whole is slower for it is not decided: {:+.1} % [{:.1}, {:.1}]",
            added.value, added.lo, added.hi
        )
    } else {
        format!(
            "the page as a whole takes {:+.1} % [{:.1}, {:.1}] over TCP",
            added.value, added.lo, added.hi
        )
    };
    Some(format!(
        "a page of {} queries takes {:.1} ms over TCP, {:.1} % of it in queries; {whole}",
        site.counted.queries[0],
        tcp.page_us.value / 1e3,
        tcp.share_pct.value
    ))
}
