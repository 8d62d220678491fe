//! The comparison of WordPress pages: the time that a page spends in queries over TCP, and over the socket.
//!
//! [`crate::reproduction::pages`] loads and proves the pages; this module compares the figures with the published ones.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Machine;
use crate::servers::wordpress::{Site, Transport};
use crate::spec::{Effort, new_seed};
use crate::{Host, ask_nobody};
use looptax_model::analysis::claim::in_unit;
use looptax_model::failure::Failure;
use looptax_model::record::{
    Figure, ReproductionFinding, ReproductionPages, ReproductionPart, ReproductionProof, ReproductionReason,
    ReproductionRow, ReproductionSide, ReproductionStep, ReproductionUnit, ServerCount, SideUnit,
};
use looptax_model::stats::Estimate;

use super::publication::{PageFigure, PagePlan, Publication};
use super::{Amounts, Runner};
use crate::reproduction::pages::{Measured, SiteMeasured, measure};

/// The name of the file with the figures of every page, in the folder of the records.
const FILE: &str = "wordpress.json";

/// Describes the work, and returns its longest time.
pub(crate) fn extra_work(amounts: &Amounts) -> (&'static str, Duration) {
    let what = "pages of two WordPress sites, alternately over the socket, over TCP and under `looptax run`";
    (what, Duration::from_secs(amounts.either(75, 180)))
}

/// Adds the pages, their rows, and the findings.
pub(crate) fn add(part: &mut ReproductionPart, publication: &Publication, amounts: &Amounts, runner: &Runner<'_>) {
    if runner.is_interrupted() {
        return;
    }
    runner.say("loading pages of WordPress");
    match pages(amounts, runner) {
        Ok(measured) => add_measured(part, publication, &measured, runner),
        Err(failure) => part.missing.push(super::runner::in_one_line("pages", &failure)),
    }
}

fn pages(amounts: &Amounts, runner: &Runner<'_>) -> Result<Measured, Failure> {
    let usual = amounts.either(Effort::Quick, Effort::Full);
    let effort = { amounts.epochs }.map_or(usual, |n| Effort::Epochs(n as usize));
    let host = Host::new(Machine::plain(), ask_nobody)?;
    measure(effort, new_seed()?, &host, runner.stop())
}

fn add_measured(part: &mut ReproductionPart, publication: &Publication, measured: &Measured, runner: &Runner<'_>) {
    let path = runner.folder().join(FILE);
    match looptax_store::save_value(measured, &path) {
        Ok(()) => part.steps.push(ReproductionStep {
            what: "pages of two WordPress sites".to_owned(),
            command: "looptax reproduce wordpress".to_owned(),
            run: None,
            path: Some(path.display().to_string()),
        }),
        Err(error) => part.missing.push(format!("the pages' own figures: {error}")),
    }
    let without = measured.without_redirect.iter();
    part.missing.extend(without.map(|why| format!("pages under looptax run: {why}")));
    for site in &measured.sites {
        let rows = { publication.pages.iter() }.filter_map(|plan| row(site, plan, measured));
        part.rows.extend(rows);
    }
    part.findings.extend(measured.sites.iter().filter_map(finding));
}

fn reasons(site: &SiteMeasured, plan: &PagePlan, measured: &Measured) -> Vec<ReproductionReason> {
    let known =
        plan.reasons.iter().map(|words| ReproductionReason::Known { words: words.clone(), figures: BTreeMap::new() });
    let mut reasons: Vec<ReproductionReason> = known.collect();
    if plan.of == PageFigure::Query {
        reasons.push(ReproductionReason::PageVersions {
            wordpress: measured.wordpress.clone(),
            php: measured.php.clone(),
            mariadb: measured.mariadb.clone(),
        });
        // The result on this machine for as many pages as were loaded for the article.
        let first = site.fifteen.as_ref().and_then(|it| added_pct(it.figures["query"]));
        reasons.extend(first.map(|added_pct| ReproductionReason::FirstPages { added_pct }));
    }
    reasons
}

/// Returns by how many percent the slower transport is slower.
fn added_pct(ratio: Estimate) -> Option<looptax_model::record::Estimate> {
    let pct = ratio.map_monotone(|ratio| in_unit(ReproductionUnit::AddedPct, ratio));
    figure(pct).known().copied()
}

/// The content of a row: the two transports, the ratio or share, and the figure of each transport.
struct Shown {
    arms: [Transport; 2],
    ratio: Estimate,
    sides: [ReproductionSide; 2],
}

/// Returns the content of a page's row; `None` if one of the transports was not measured.
fn shown(site: &SiteMeasured, of: PageFigure) -> Option<Shown> {
    let arms = match of {
        PageFigure::MovedQuery => [Transport::UnixBeside, Transport::Redirect],
        _ => [Transport::Unix, Transport::Tcp],
    };
    let mut contrasts = site.contrasts.iter();
    let contrast = contrasts.find(|it| [it.over, it.of] == arms)?;
    let (of_side, of_contrast, unit) = match of {
        PageFigure::Query | PageFigure::MovedQuery => ("query_us", Some("query"), SideUnit::Us),
        PageFigure::QuerySd => ("query_sd_us", Some("query_sd"), SideUnit::Us),
        PageFigure::Page => ("page_us", Some("page"), SideUnit::Us),
        PageFigure::Share => ("share_pct", None, SideUnit::Pct),
    };
    let side = |transport| {
        let side = site.sides.iter().find(|it| it.transport == transport)?;
        Some(side.figures[of_side])
    };
    let sides = [side(arms[0])?, side(arms[1])?];
    Some(Shown {
        arms,
        // A share is not a ratio of two transports. If the figure is a share, the row has the share over TCP: the part
        // of a page's time that its queries take.
        ratio: of_contrast.map_or(sides[1], |of| contrast.figures[of]),
        sides: sides.map(|it| ReproductionSide { figure: figure(it), unit }),
    })
}

/// Makes the row of a page. Published figures exist only for the full site; for the other site, rows that make no sense
/// without a published figure are left out.
fn row(site: &SiteMeasured, plan: &PagePlan, measured: &Measured) -> Option<ReproductionRow> {
    let claim = plan.claim.as_ref().filter(|_| site.site == Site::Full);
    if claim.is_none() && matches!(plan.of, PageFigure::QuerySd | PageFigure::Share) {
        return None;
    }
    let Shown { arms, ratio, sides } = shown(site, plan.of)?;
    let mut reasons = reasons(site, plan, measured);
    let verdict = claim.map(|claim| {
        let judged = claim.judge(&figure(ratio));
        reasons.extend(judged.why);
        judged.verdict
    });
    let queries = site.counted.queries[0].to_string();
    Some(ReproductionRow {
        claim: claim.map_or("part", |claim| &claim.name).to_owned(),
        what: plan.what.replace("{queries}", &queries),
        arms: arms.map(|it| name(it).to_owned()),
        unit: plan.unit,
        published: claim.map(|claim| claim.published(plan.unit)),
        measured: figure(ratio.map_monotone(|ratio| in_unit(plan.unit, ratio))),
        sides,
        verdict,
        proof: proof(site),
        reasons,
        step_idx: 0,
    })
}

fn proof(site: &SiteMeasured) -> ReproductionProof {
    let counted = &site.counted;
    ReproductionProof {
        pages: Some(ReproductionPages { n: counted.pages, queries: counted.queries }),
        server_count: Some(ServerCount {
            counter: "`Questions` of the pages' own connections".to_owned(),
            sent: counted.all_queries,
            counted: counted.server_count,
        }),
        ..ReproductionProof::default()
    }
}

fn name(transport: Transport) -> &'static str {
    match transport {
        Transport::Unix | Transport::UnixBeside => "unix",
        Transport::Tcp => "tcp",
        Transport::Redirect => "redirect",
    }
}

fn figure(it: Estimate) -> Figure {
    Figure::new(it.value, it.lo, it.hi, it.n as u64)
}

/// Returns the finding about the page.
fn finding(site: &SiteMeasured) -> Option<ReproductionFinding> {
    let tcp = { site.sides.iter() }.find(|it| it.transport == Transport::Tcp)?;
    let mut contrasts = site.contrasts.iter();
    let page = contrasts.find(|it| (it.of, it.over) == (Transport::Tcp, Transport::Unix))?;
    Some(ReproductionFinding::Page {
        queries: site.counted.queries[0],
        page_us: tcp.figures["page_us"].value,
        share_pct: tcp.figures["share_pct"].value,
        added_pct: added_pct(page.figures["page"])?,
    })
}
