//! A fleet as one page: what it loses, where to begin, what differs and what needs a look. Tables and pictures, no script.

use looptax_record::Fleet;

use super::forest::forest;
use super::markup::{Markup, TEXT};
use super::{head, host};
use crate::words::fleet::{Section, sections, summary};

/// The page; it needs nothing outside itself, and grows with its lists alone, not with the fleet.
pub fn fleet_page(fleet: &Fleet) -> String {
    let mut out = Markup::default();
    out.verbatim("<!doctype html>\n")
        .open("html", &[("lang", "en")]);
    head("looptax fleet", &mut out);
    out.open("body", &[]).open("header", &[]);
    out.element("p", &[("class", "brand")], "looptax fleet");
    out.element("h1", &[], "What local TCP costs these machines");
    let at = format!("As reported by {}", host::moment(&fleet.at));
    out.element("p", &[("class", "about")], &at);
    out.close("header")
        .open("main", &[("id", "main"), ("class", "record")]);
    for line in summary(fleet, TEXT) {
        out.element("p", &[], &sentence(&line));
    }
    out.element(
        "p",
        &[("class", "note")],
        "A core is a second of CPU time per second. Brackets hold the 95 % interval. Rates count segments with data, so \
         that they are near requests where one segment asks one thing.",
    );
    let mut effects = fleet.effects.iter();
    for section in sections(fleet, TEXT) {
        out.open("section", &[]).element("h2", &[], &section.title);
        for line in &section.lines {
            out.element("p", &[("class", "note")], &sentence(line));
        }
        if section.is_of_effects {
            effects.by_ref().take(1).for_each(|it| forest(it, &mut out));
        }
        table(&section, &mut out);
        out.close("section");
    }
    out.close("main").close("body").close("html");
    out.finish()
}

fn table(section: &Section, out: &mut Markup) {
    if section.rows.is_empty() {
        return;
    }
    out.stacked_table(&section.title, |out| {
        out.head(&section.head).open("tbody", &[]);
        for row in &section.rows {
            out.open("tr", &[]);
            for (idx, (name, cell)) in section.head.iter().zip(row).enumerate() {
                if idx == 0 {
                    out.element("th", &[("scope", "row")], cell);
                } else {
                    out.element("td", &[("data-label", name)], cell);
                }
            }
            out.close("tr");
        }
        out.close("tbody");
    });
    if let Some(closing) = &section.closing {
        out.element("p", &[("class", "note")], closing);
    }
}

/// With a capital and a full stop.
fn sentence(words: &str) -> String {
    let mut chars = words.chars();
    let first = chars.next().map(|it| it.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), chars.as_str())
}
