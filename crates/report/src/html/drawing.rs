//! The parts of pictures: lines and text in the page's own colours, without a script. The callers escape the text.

use super::markup::Markup;

/// Begins a picture of this size, given in its own units, with a description for screen readers.
pub(super) fn open_picture((width, height): (f64, f64), said: &str, out: &mut Markup) {
    let view = format!("0 0 {width} {height}");
    let [width, height] = [width, height].map(|it| format!("{it}"));
    out.open("div", &[("class", "wide")]).open(
        "svg",
        &[
            ("role", "img"),
            ("aria-label", said),
            ("width", width.as_str()),
            ("height", height.as_str()),
            ("viewBox", view.as_str()),
        ],
    );
}

pub(super) fn close_picture(out: &mut Markup) {
    out.close("svg").close("div");
}

pub(super) fn line([from, to]: [(f64, f64); 2], colour: &str, out: &mut Markup) {
    let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(|at| format!("{at:.1}"));
    let drawn =
        [("x1", x1.as_str()), ("y1", y1.as_str()), ("x2", x2.as_str()), ("y2", y2.as_str()), ("stroke", colour)];
    out.open("line", &drawn).close("line");
}

pub(super) fn words((x, y): (f64, f64), anchor: &str, words: &str, out: &mut Markup) {
    let [x, y] = [x, y].map(|at| format!("{at:.1}"));
    let drawn =
        [("x", x.as_str()), ("y", y.as_str()), ("text-anchor", anchor), ("font-size", "12"), ("fill", "var(--muted)")];
    out.element("text", &drawn, words);
}
