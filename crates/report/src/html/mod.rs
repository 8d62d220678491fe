//! Records as one page that loads nothing: tables that can be read without a script, charts that a script draws, and
//! raw data to download.
//!
//! Pure: the same records give the same bytes. Texts and digits come from `words`, so the page shows the same as the
//! terminal. Called by the command line, which reads the samples and summarizes them first.

mod assets;
mod behind;
mod bill;
mod charts;
mod data;
mod drawing;
mod figure;
mod fleet;
mod forest;
mod form;
mod host;
mod markup;
mod method;
mod reproduction;
mod series;
mod shown;
mod sweep;
mod tail;
mod unit;
mod verdicts;
mod why;

pub use fleet::fleet_page;
pub use reproduction::reproduction_page;
pub use shown::{ChainsShown, Detail, Distribution, EpochShown, FrameShown, PercentileShown, Shown};

use looptax_model::record::{Comparison, Record};

use crate::heading::server;
use crate::words::{self, GroupStory, Story, answer};
use markup::{Markup, TEXT};

/// Returns one page for these records, with a section for each record, and a list of the records if there are several.
pub fn page(records: &[Shown]) -> String {
    let mut out = Markup::default();
    out.verbatim("<!doctype html>\n").open("html", &[("lang", "en")]);
    head(&format!("{} - looptax", heading(records)), &mut out);
    out.open("body", &[]);
    top(records, &mut out);
    out.open("main", &[("id", "main")]);
    for (idx, shown) in records.iter().enumerate() {
        section(idx, shown, &mut out);
    }
    out.close("main");
    foot(&mut out);
    out.open("script", &[]).verbatim(&assets::SCRIPT).close("script");
    out.close("body").close("html");
    out.finish()
}

fn head(title: &str, out: &mut Markup) {
    let policy = assets::policy();
    out.open("head", &[]).open("meta", &[("charset", "utf-8")]);
    let csp = [("http-equiv", "Content-Security-Policy"), ("content", policy.as_str())];
    out.open("meta", &csp);
    out.open("meta", &[("name", "viewport"), ("content", "width=device-width, initial-scale=1")]);
    out.open("meta", &[("name", "color-scheme"), ("content", "light dark")]);
    out.open("meta", &[("name", "referrer"), ("content", "no-referrer")]);
    out.element("title", &[], title);
    out.open("style", &[]).verbatim(assets::STYLE).close("style");
    out.close("head");
}

fn top(records: &[Shown], out: &mut Markup) {
    out.element("a", &[("class", "skip"), ("href", "#main")], "Skip to the results");
    out.open("header", &[]);
    out.element("p", &[("class", "brand")], "looptax report");
    out.element("h1", &[], &heading(records));
    out.close("header");
    if records.len() > 1 {
        out.open("nav", &[("aria-label", "Records")]).open("ol", &[]);
        for (idx, shown) in records.iter().enumerate() {
            let to = format!("#record-{idx}");
            let words = format!("{}, {}", title(shown.record), host::moment(&shown.record.started_at));
            out.open("li", &[]).element("a", &[("href", &to)], &words).close("li");
        }
        out.close("ol").close("nav");
    }
}

/// Returns the page's heading: "MariaDB 10.11.19, Redis 7.0.15: TCP and socket".
fn heading(records: &[Shown]) -> String {
    let mut comparisons = records.iter().flat_map(|it| &it.record.comparisons);
    let has = |comparison: &Comparison, name: &str| {
        let mut arms = comparison.arms.iter();
        arms.any(|arm| arm.name == name)
    };
    let is_both = comparisons.any(|it| has(it, "tcp") && has(it, "unix"));
    let about = if is_both { ": TCP and socket" } else { "" };
    match records {
        [one] => format!("{}{about}", title(one.record)),
        many => format!("{} records{about}", many.len()),
    }
}

/// Returns the servers of a record: "MariaDB 10.11.19, Redis 7.0.15".
fn title(record: &Record) -> String {
    let mut servers: Vec<String> = Vec::new();
    let judged = record.comparisons.iter().map(|it| &it.target);
    for target in judged.chain(record.looks.iter().map(|it| &it.target)) {
        let name = match target.kind.as_str() {
            "none" => "whole command".to_owned(),
            "echo" => "echo".to_owned(),
            _ => server(target, TEXT),
        };
        if !servers.contains(&name) {
            servers.push(name);
        }
    }
    if servers.is_empty() { "nothing was measured".to_owned() } else { servers.join(", ") }
}

fn section(idx: usize, shown: &Shown, out: &mut Markup) {
    let record = shown.record;
    let story = words::story_for(record, TEXT);
    let (id, data_id) = (format!("record-{idx}"), format!("data-{idx}"));
    let heading_id = format!("title-{idx}");
    let named = [("id", id.as_str()), ("class", "record"), ("data-record", &data_id), ("aria-labelledby", &heading_id)];
    out.open("section", &named);
    out.element("h2", &[("id", &heading_id)], &format!("Measured {}", host::moment(&record.started_at)));
    out.element("p", &[("class", "machine")], &host::in_short(record, shown.name));
    verdicts::alarms(&story.run, out);
    verdicts::answers(&answer::answers(record, TEXT), out);
    out.element(
        "p",
        &[("class", "about")],
        "This page shows what a local client loses through its transport to the database. A tax above zero is the \
         loss of an arm compared with the baseline; the baseline is the name after \"vs\". Brackets contain an \
         interval of 95 % or more.",
    );
    let mut charts = charts::Charts::new(shown, idx);
    for server in &story.servers {
        verdicts::server(record, server, &mut charts, out);
    }
    verdicts::remedies(&story.remedies, out);
    verdicts::run_words(&story.run, out);
    method::write(record, out);
    host::write(shown, out);
    let packed = data::packed(record);
    host::downloads(shown, packed.is_some(), out);
    let drawn = drawn(shown, &story);
    let json = [("type", "application/json"), ("id", data_id.as_str())];
    out.open("script", &json).json(&drawn).close("script");
    if let Some(packed) = packed {
        let packed_id = format!("{data_id}-record");
        out.open("script", &[("type", "text/plain"), ("id", &packed_id)]);
        out.json(&packed).close("script");
    }
    out.close("section");
}

fn drawn(shown: &Shown, story: &Story) -> String {
    let groups: Vec<&GroupStory> = story.servers.iter().flat_map(|it| &it.groups).collect();
    let sweeps = groups.iter().filter_map(|group| charts::sweep(shown.record, group));
    let drawn = data::drawn_for(shown, &groups, sweeps.collect());
    serde_json::to_string(&drawn).expect("JSON can contain numbers and strings")
}

fn foot(out: &mut Markup) {
    out.open("footer", &[]);
    out.open("details", &[("class", "screen")]);
    out.element("summary", &[], "Notices of the software that draws the charts");
    out.element("pre", &[("tabindex", "0")], assets::NOTICES);
    out.close("details").close("footer");
    out.element("p", &[("id", "told"), ("class", "unseen"), ("role", "status"), ("aria-live", "polite")], "");
}
