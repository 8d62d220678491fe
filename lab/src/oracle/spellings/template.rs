//! A template: a file as an application has it, with slots for random settings.
//!
//! This file does no I/O. `[[name|…]]` is left out if the value `name` is missing, `[[=one||other]]` is one of several
//! texts, and `{name}` or `{name:escape}` is a value. The names are those of `pools`; other braces are ordinary text.

use anyhow::{Context, Result, bail};

use super::escape::Escape;
use super::pools::{NAMES, Pools};
use crate::coin::Coin;

/// A text with slots for settings.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
    slots: Vec<Slot>,
}

#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    Value { slot: usize, escape: Option<Escape> },
    If { slot: usize, inside: Vec<Self> },
    One { slot: usize, of: Vec<Vec<Self>> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Slot {
    /// A value from the pool with this name.
    Value(String),
    /// A choice from this number of texts.
    Text(usize),
}

/// The choice for each slot of a template, as an index into the possible choices; the first choice is the simplest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Draw(Vec<usize>);

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut template = Self { pieces: Vec::new(), slots: Vec::new() };
        let (pieces, rest) = template.pieces(text, &[])?;
        if !rest.is_empty() {
            bail!("`{rest}` follows the end of a slot that was never begun");
        }
        template.pieces = pieces;
        Ok(template)
    }

    /// Parses the pieces up to the first of these ends; returns them with the text from that end on.
    fn pieces<'a>(&mut self, text: &'a str, ends: &[&str]) -> Result<(Vec<Piece>, &'a str)> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        loop {
            let piece = if rest.is_empty() || ends.iter().any(|it| rest.starts_with(it)) {
                pieces.push(Piece::Text(plain));
                return Ok((pieces, rest));
            } else if let Some(inside) = rest.strip_prefix("[[=") {
                let (piece, after) = self.one(inside)?;
                rest = after;
                piece
            } else if let Some(inside) = rest.strip_prefix("[[") {
                let (name, inside) = inside.split_once('|').context("a slot without a name")?;
                let slot = self.value(name)?;
                let (inside, after) = self.pieces(inside, &["]]"])?;
                rest = after.strip_prefix("]]").context("a slot without an end")?;
                Piece::If { slot, inside }
            } else if let Some((slot, escape, after)) = self.filled(rest)? {
                rest = after;
                Piece::Value { slot, escape }
            } else {
                let n_bytes = rest.chars().next().map_or(0, char::len_utf8);
                plain.push_str(&rest[..n_bytes]);
                rest = &rest[n_bytes..];
                continue;
            };
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(piece);
        }
    }

    /// Parses `one||other]]`.
    fn one<'a>(&mut self, text: &'a str) -> Result<(Piece, &'a str)> {
        let slot = self.slots.len();
        self.slots.push(Slot::Text(0));
        let mut of = Vec::new();
        let mut rest = text;
        loop {
            let (pieces, after) = self.pieces(rest, &["||", "]]"])?;
            of.push(pieces);
            if let Some(after) = after.strip_prefix("]]") {
                self.slots[slot] = Slot::Text(of.len());
                return Ok((Piece::One { slot, of }, after));
            }
            rest = after.strip_prefix("||").context("a choice without an end")?;
        }
    }

    /// Parses `{name}` or `{name:escape}`; `None` if the text does not begin with one of these.
    fn filled<'a>(&mut self, text: &'a str) -> Result<Option<(usize, Option<Escape>, &'a str)>> {
        let Some((inside, after)) = text.strip_prefix('{').and_then(|it| it.split_once('}')) else {
            return Ok(None);
        };
        let (name, escape) = inside.split_once(':').map_or((inside, None), |(name, escape)| (name, Some(escape)));
        if !NAMES.contains(&name) {
            return Ok(None);
        }
        let escape = escape.map(Escape::parse).transpose()?;
        Ok(Some((self.value(name)?, escape, after)))
    }

    /// Returns the slot of a value; all uses of a name have the same slot.
    fn value(&mut self, name: &str) -> Result<usize> {
        if !NAMES.contains(&name) {
            bail!("no values are called `{name}`");
        }
        let wanted = Slot::Value(name.to_owned());
        if let Some(slot) = self.slots.iter().position(|it| *it == wanted) {
            return Ok(slot);
        }
        self.slots.push(wanted);
        Ok(self.slots.len() - 1)
    }

    pub(crate) fn draw(&self, pools: &Pools, coin: &mut Coin) -> Draw {
        let one = |slot: &Slot| match slot {
            Slot::Value(name) => pools.draw(name, coin),
            Slot::Text(n) => (coin.number() % *n as u64) as usize,
        };
        Draw(self.slots.iter().map(one).collect())
    }

    /// Returns the text of a draw. `quotes` is how a value is written if its place does not specify another escape.
    pub(crate) fn render(&self, draw: &Draw, pools: &Pools, quotes: Escape) -> String {
        let value = |slot: usize| match &self.slots[slot] {
            Slot::Value(name) => pools.value(name, draw.0[slot]),
            Slot::Text(_) => None,
        };
        let mut text = String::new();
        write(&self.pieces, draw, &value, quotes, &mut text);
        text
    }
}

impl Draw {
    /// Returns draws that are simpler in one slot, the simplest first.
    pub(crate) fn simpler(&self) -> Vec<Self> {
        let with = |slot: usize, idx: usize| {
            let mut other = self.clone();
            other.0[slot] = idx;
            other
        };
        let slots = self.0.iter().enumerate();
        slots.flat_map(|(slot, &now)| (0..now).map(move |idx| with(slot, idx))).collect()
    }
}

fn write(pieces: &[Piece], draw: &Draw, value: &dyn Fn(usize) -> Option<String>, quotes: Escape, text: &mut String) {
    for piece in pieces {
        match piece {
            Piece::Text(plain) => text.push_str(plain),
            Piece::Value { slot, escape } => {
                text.push_str(&escape.unwrap_or(quotes).around(&value(*slot).unwrap_or_default()));
            }
            Piece::If { slot, inside } if value(*slot).is_some() => write(inside, draw, value, quotes, text),
            Piece::If { .. } => {}
            Piece::One { slot, of } => write(&of[draw.0[*slot]], draw, value, quotes, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use looptax_model::dsn::Protocol;

    use super::*;

    #[test]
    fn a_value_is_written_where_it_is_there_and_a_choice_is_one_of_its_texts() {
        let pools = Pools::of(Protocol::Mysql);
        let template = Template::parse("a {b}[[host| h={host}[[=!||?]]]] {host:url}").unwrap();
        let render = |draw: &[usize]| template.render(&Draw(draw.to_vec()), &pools, Escape::Php);
        assert_eq!(render(&[0, 0]), "a {b} ");
        assert_eq!(render(&[1, 0]), "a {b} h='localhost'! localhost");
        assert_eq!(render(&[1, 1]), "a {b} h='localhost'? localhost");
        assert_eq!(Draw(vec![2, 1]).simpler(), [vec![0, 1], vec![1, 1], vec![2, 0]].map(Draw));
        for broken in ["[[host|", "[[nothing|x]]", "[[=a||b", "]]{host:nothing}"] {
            assert!(Template::parse(broken).is_err(), "{broken}");
        }
    }
}
