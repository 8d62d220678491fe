//! Builds markup: all text is escaped, so that no string of a record becomes markup.
//!
//! The names of elements and attributes are constants of the page; values are escaped, and never become markup.

use std::fmt::Write;

use crate::format::Text;

/// How strings from outside are cleaned: a page can show all of Unicode, except characters that mislead the reader.
pub(super) const TEXT: Text = Text { is_unicode: true };

/// An attribute and its value; an empty value means that the attribute is written without a value.
pub(super) type Attribute<'a> = (&'static str, &'a str);

#[derive(Debug, Default)]
pub(super) struct Markup {
    out: String,
}

impl Markup {
    pub(super) fn open(&mut self, name: &'static str, attributes: &[Attribute]) -> &mut Self {
        self.out.push('<');
        self.out.push_str(name);
        for (attribute, value) in attributes {
            self.out.push(' ');
            self.out.push_str(attribute);
            if !value.is_empty() {
                self.out.push_str("=\"");
                escape(value, &mut self.out);
                self.out.push('"');
            }
        }
        self.out.push('>');
        self
    }

    pub(super) fn close(&mut self, name: &'static str) -> &mut Self {
        let _ = writeln!(self.out, "</{name}>");
        self
    }

    /// Writes text that needs no cleaning, because the report itself has written it; the text is escaped.
    pub(super) fn text(&mut self, words: &str) -> &mut Self {
        escape(words, &mut self.out);
        self
    }

    /// Writes an element that contains only text, which needs no cleaning.
    pub(super) fn element(&mut self, name: &'static str, attributes: &[Attribute], words: &str) -> &mut Self {
        self.open(name, attributes).text(words).close(name)
    }

    /// Writes a row of cells; if `has_head` is set, the first cell is a heading.
    pub(super) fn row<S: AsRef<str>>(&mut self, has_head: bool, cells: &[S]) -> &mut Self {
        self.open("tr", &[]);
        for (idx, cell) in cells.iter().enumerate() {
            if idx == 0 && has_head {
                self.element("th", &[("scope", "row")], cell.as_ref());
            } else {
                self.element("td", &[], cell.as_ref());
            }
        }
        self.close("tr")
    }

    pub(super) fn head<S: AsRef<str>>(&mut self, cells: &[S]) -> &mut Self {
        self.open("thead", &[]).open("tr", &[]);
        for cell in cells {
            self.element("th", &[("scope", "col")], cell.as_ref());
        }
        self.close("tr").close("thead")
    }

    /// Writes a table with a caption, in its own box, which can be scrolled if the table is wider than the page.
    pub(super) fn table(&mut self, caption: &str, body: impl FnOnce(&mut Self)) -> &mut Self {
        self.table_of("wide", caption, body)
    }

    /// Does the same as [`Self::table`], but on a narrow screen each row becomes a block whose cells show their
    /// `data-label`.
    pub(super) fn stacked_table(&mut self, caption: &str, body: impl FnOnce(&mut Self)) -> &mut Self {
        self.table_of("wide stacked", caption, body)
    }

    /// Does the same as [`Self::stacked_table`] for a table with verdicts, whose cells need more space.
    pub(super) fn judged_table(&mut self, caption: &str, body: impl FnOnce(&mut Self)) -> &mut Self {
        self.table_of("wide judged", caption, body)
    }

    fn table_of(&mut self, class: &str, caption: &str, body: impl FnOnce(&mut Self)) -> &mut Self {
        let region = [("class", class), ("role", "region"), ("tabindex", "0"), ("aria-label", caption)];
        self.open("div", &region).open("table", &[]);
        self.element("caption", &[("class", "unseen")], caption);
        body(self);
        self.close("table").close("div")
    }

    /// Writes a part of the page that is hidden until the reader opens it.
    pub(super) fn folded(&mut self, summary: &str, body: impl FnOnce(&mut Self)) -> &mut Self {
        self.open("details", &[]).element("summary", &[], summary);
        body(self);
        self.close("details")
    }

    /// Writes the page's own script, style or data unchanged; must not be called with a string of a record.
    pub(super) fn verbatim(&mut self, own: &str) -> &mut Self {
        self.out.push_str(own);
        self
    }

    /// Writes JSON for the script. The JSON may contain any text, and is written so that no text in it can end the
    /// element.
    pub(super) fn json(&mut self, json: &str) -> &mut Self {
        for c in json.chars() {
            match c {
                '<' => self.out.push_str("\\u003c"),
                '>' => self.out.push_str("\\u003e"),
                '&' => self.out.push_str("\\u0026"),
                '\u{2028}' => self.out.push_str("\\u2028"),
                '\u{2029}' => self.out.push_str("\\u2029"),
                _ => self.out.push(c),
            }
        }
        self
    }

    pub(super) fn finish(self) -> String {
        self.out
    }
}

fn escape(words: &str, out: &mut String) {
    for c in words.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_values_never_become_markup() {
        let mut markup = Markup::default();
        markup.element("p", &[("title", "a\"b'>")], "<b>&</b>");
        assert_eq!(markup.finish(), "<p title=\"a&quot;b&#39;&gt;\">&lt;b&gt;&amp;&lt;/b&gt;</p>\n");
    }

    #[test]
    fn json_cannot_end_its_element() {
        let mut markup = Markup::default();
        markup.json("\"</script><!--&\u{2028}\"");
        assert_eq!(markup.finish(), "\"\\u003c/script\\u003e\\u003c!--\\u0026\\u2028\"");
    }
}
