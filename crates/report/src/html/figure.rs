//! A figure of the page: an empty box in which the script draws, with its title and a description.

use super::markup::Markup;

pub(super) struct Figure<'a> {
    pub(super) kind: &'static str,
    pub(super) idx: usize,
    pub(super) part: usize,
    pub(super) title: &'a str,
    /// The description of the picture for screen readers.
    pub(super) says: &'a str,
}

/// Writes a box for the script with title and description, and `below` under it.
pub(super) fn figure(about: &Figure, out: &mut Markup, below: impl FnOnce(&mut Markup)) {
    let (idx, part) = (about.idx.to_string(), about.part.to_string());
    let label = format!("{}. {} Arrow keys go from figure to figure.", about.title, about.says);
    out.open("figure", &[("class", about.kind)]);
    out.element("figcaption", &[], about.title);
    let attributes = [
        ("class", "chart"),
        ("data-chart", about.kind),
        ("data-idx", idx.as_str()),
        ("data-part", &part),
        ("role", "application"),
        ("aria-roledescription", "chart"),
        ("tabindex", "0"),
        ("aria-label", &label),
    ];
    out.open("div", &attributes).close("div");
    below(out);
    out.close("figure");
}

/// Writes that a figure is missing, with the reason.
pub(super) fn absent(title: &str, why: &str, out: &mut Markup) {
    out.open("figure", &[("class", "absent")]);
    out.element("figcaption", &[], title);
    out.element("p", &[("class", "note")], &format!("Not shown: {why}."));
    out.close("figure");
}
