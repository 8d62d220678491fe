//! Places lines in an area from the top down as long as there is space, and one line at the bottom.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style as Look};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::format::GLUE;
use crate::terminal::Style;

/// Colours of the first and the second arm. Colour is never the only difference.
pub(super) const COLORS: [Color; 2] = [Color::Cyan, Color::Yellow];

pub(super) struct Rows<'a> {
    pub(super) style: Style,
    area: Rect,
    buffer: &'a mut Buffer,
    /// The next free row, counted from the top of the area.
    next: u16,
    /// Number of rows at the bottom that are reserved, and not available for lines from the top.
    kept: u16,
}

impl<'a> Rows<'a> {
    pub(super) fn new(style: Style, area: Rect, buffer: &'a mut Buffer) -> Self {
        Self { style, area, buffer, next: 0, kept: 0 }
    }

    pub(super) fn width(&self) -> usize {
        usize::from(self.area.width)
    }

    pub(super) fn left(&self) -> u16 {
        self.area.height.saturating_sub(self.next + self.kept)
    }

    /// Reserves rows at the bottom of the area.
    pub(super) fn keep_for_the_end(&mut self, rows: u16) {
        self.kept = rows;
    }

    pub(super) fn words(&mut self, words: &str) {
        self.spans(vec![span(words, Look::new())]);
    }

    pub(super) fn strong(&mut self, words: &str) {
        self.spans(vec![span(words, Look::new().add_modifier(Modifier::BOLD))]);
    }

    pub(super) fn faint(&mut self, words: &str) {
        self.spans(vec![span(words, Look::new().add_modifier(Modifier::DIM))]);
    }

    pub(super) fn parts(&mut self, parts: &[(&str, Option<Color>)]) {
        let spans = parts.iter().map(|(words, color)| {
            let color = color.filter(|_| self.style.color);
            span(words, color.map_or(Look::new(), |it| Look::new().fg(it)))
        });
        self.spans(spans.collect());
    }

    /// Writes an empty line, unless only one row is left.
    pub(super) fn blank(&mut self) {
        if self.left() > 1 {
            self.next += 1;
        }
    }

    /// Writes a list under a heading; if not all items fit, also writes how many are missing.
    pub(super) fn list(&mut self, word: &str, lines: &[String]) {
        let room = usize::from(self.left());
        if lines.is_empty() || room == 0 {
            return;
        }
        let n_shown = if lines.len() > room { room - 1 } else { lines.len() };
        for (idx, line) in lines.iter().take(n_shown).enumerate() {
            let word = if idx == 0 { word } else { "" };
            self.faint(&format!("{word:4}  {line}"));
        }
        if n_shown < lines.len() {
            let word = if n_shown == 0 { word } else { "" };
            self.faint(&format!("{word:4}  {} more", lines.len() - n_shown));
        }
    }

    /// Returns the area of the next rows for a chart; `None` if there is no space.
    pub(super) fn chart(&mut self, rows: u16) -> Option<(Rect, &mut Buffer)> {
        if self.left() < rows {
            return None;
        }
        let area = Rect { y: self.area.y + self.next, height: rows, ..self.area };
        self.next += rows;
        Some((area, self.buffer))
    }

    /// Writes the last line of the area.
    pub(super) fn at_the_end(&mut self, words: &str) {
        self.next = self.area.height.saturating_sub(1);
        self.kept = 0;
        self.faint(words);
    }

    fn spans(&mut self, spans: Vec<Span<'_>>) {
        if self.left() == 0 {
            return;
        }
        let row = Rect { y: self.area.y + self.next, height: 1, ..self.area };
        Line::from(spans).render(row, self.buffer);
        self.next += 1;
    }
}

fn span(words: &str, look: Look) -> Span<'static> {
    Span::styled(words.replace(GLUE, " "), look)
}
