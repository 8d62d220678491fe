//! A fleet as one page: what it loses, which clients to move first, what differs by condition, and what needs
//! attention. The page has tables and pictures, and no script.

use looptax_model::record::Fleet;

use super::forest::forest;
use super::markup::{Markup, TEXT};
use super::{head, host};
use crate::words::fleet::{Section, sections, summary};

/// Returns the page. It loads nothing, and its size depends only on the length of its lists, not on the number of
/// machines.
pub fn fleet_page(fleet: &Fleet) -> String {
    let mut out = Markup::default();
    out.verbatim("<!doctype html>\n").open("html", &[("lang", "en")]);
    head("looptax fleet", &mut out);
    out.open("body", &[]).open("header", &[]);
    out.element("p", &[("class", "brand")], "looptax fleet");
    out.element("h1", &[], "The cost of local TCP on these machines");
    let at = format!("As reported by {}", host::moment(&fleet.at));
    out.element("p", &[("class", "about")], &at);
    out.close("header").open("main", &[("id", "main"), ("class", "record")]);
    for line in summary(fleet, TEXT) {
        out.open("p", &[]);
        with_commands(&sentence(&line), &mut out);
        out.close("p");
    }
    out.element(
        "p",
        &[("class", "note")],
        "A core is a second of CPU time per second. Brackets contain the 95 % interval. A rate is in requests per second. \
         If a machine's kernel did not count requests, the rate is the number of TCP segments with data.",
    );
    let mut effects = fleet.effects.iter();
    for section in sections(fleet, TEXT) {
        out.open("section", &[]).element("h2", &[], &section.title);
        for line in &section.lines {
            out.open("p", &[("class", "note")]);
            with_commands(&sentence(line), &mut out);
            out.close("p");
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
                if idx == 0 && *name == "machine" {
                    out.element("th", &[("scope", "row"), ("class", "whole")], cell);
                } else if idx == 0 {
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

/// Writes a text; the parts between backticks become commands.
fn with_commands(words: &str, out: &mut Markup) {
    for (idx, piece) in words.split('`').enumerate() {
        if idx % 2 == 0 {
            out.text(piece);
        } else {
            out.element("code", &[], piece);
        }
    }
}

/// Makes the first letter a capital, and adds a full stop.
fn sentence(words: &str) -> String {
    let mut chars = words.chars();
    let first = chars.next().map(|it| it.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), chars.as_str())
}

#[cfg(test)]
mod tests {
    use looptax_model::record::{
        Estimate, FLEET_SCHEMA_VERSION, FleetEffects, FleetGroup, FleetList, FleetLost, FleetMove, FleetUnmeasured,
    };

    use super::*;

    const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'`$(reboot)`";

    fn nothing<T>() -> FleetList<T> {
        FleetList { rows: Vec::new(), n: 0, has_more_than_n: false }
    }

    fn estimate(value: f64) -> Estimate {
        Estimate { value, lo: Some(value - 1.0), hi: Some(value + 1.0), n: 3 }
    }

    fn fleet() -> Fleet {
        let group = |label: &str, us| FleetGroup {
            label: label.to_owned(),
            cpu_us: estimate(us),
            one_more: estimate(us),
            tau_us: Some(0.5),
            i_squared: Some(0.9),
        };
        Fleet {
            schema_version: FLEET_SCHEMA_VERSION,
            looptax_version: "0".to_owned(),
            at: "2026-11-25T04:43:18Z".to_owned(),
            hosts: 2,
            hosts_over_tcp: 1,
            tcp_requests_per_s: 1e6,
            lost: Some(FleetLost {
                cores: estimate(3.0),
                n_measured: 1,
                n_predicted: 1,
                error_of_measured: 0.1,
                error_of_predicted: 0.1,
                error_of_means: 0.1,
            }),
            not_measured: FleetList {
                rows: vec![FleetUnmeasured { server: HOSTILE.to_owned(), requests_per_s: 2540.0 }],
                n: 2,
                has_more_than_n: false,
            },
            pairs: nothing(),
            first: FleetList {
                rows: vec![FleetMove {
                    host: HOSTILE.to_owned(),
                    client: HOSTILE.to_owned(),
                    server: HOSTILE.to_owned(),
                    requests_per_s: 1e6,
                    connections: 3,
                    has_socket: true,
                    cores: Some(estimate(3.0)),
                    is_measured: true,
                    top_probability: Some(0.5),
                }],
                n: 7,
                has_more_than_n: false,
            },
            effects: vec![FleetEffects {
                condition: "kernel".to_owned(),
                groups: vec![group(HOSTILE, 3.0), group("6.1", 2.0)],
                n_more: 0,
                p: Some(0.01),
            }],
            unlike: nothing(),
            conditions: nothing(),
            fell_back: nothing(),
            movers: nothing(),
            silent: nothing(),
            shared: nothing(),
        }
    }

    #[test]
    fn no_name_becomes_markup_or_a_command() {
        let page = fleet_page(&fleet());
        assert!(!page.contains("<img") && !page.contains("<script"), "{page}");
        assert!(page.contains("&lt;script&gt;alert(1)"));
        // A command would contain the machine's name, and this name must not be part of a command.
        assert!(!page.contains("ssh"));
        assert!(page.contains("and 6 more"));
        // Nor must the name of a kind of server be part of a command, if no machine has measured this kind.
        assert!(!page.contains("<code>$(reboot)"), "{page}");
        assert!(page.contains("(2.54K/s), and 1 more."), "{page}");
    }

    #[test]
    fn a_condition_has_a_line_for_each_group() {
        let page = fleet_page(&fleet());
        // Two bars and a mark for each of the two groups; the lines of the axis are not rectangles.
        assert_eq!(page.matches("<rect").count(), 6);
        assert!(page.contains("The means differ (p = 0.010)."), "{page}");
    }
}
