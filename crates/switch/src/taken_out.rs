//! Removes a switch's lines from a file that another process has changed since: the other process's lines stay, and the
//! old lines are put back.
//!
//! Compares lines byte for byte. If the switch's lines are not as the switch wrote them, returns nothing: a person has
//! to decide what to do.

use std::ops::Range;

use diffy::{DiffOptions, Line};

/// Lines that the switch wrote, and the lines that they replaced. Either range may be empty.
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

/// Returns the present file with the old lines in place of the new lines; `None` if the position of the new lines is
/// not certain.
pub(crate) fn take_out(old: &[u8], new: &[u8], now: &[u8]) -> Option<Vec<u8>> {
    let texts = Texts { old: lines(old), new: lines(new), now: lines(now), kept: pairing(new, now) };
    let mut result: Vec<&[u8]> = Vec::new();
    let mut done = 0;
    for change in changes(&pairing(new, old), texts.old.len()) {
        let place = texts.place(&change)?;
        result.extend(texts.now.get(done..place.start)?);
        let is_last = place.end == texts.now.len();
        if !place.is_back {
            let back = &texts.old[change.old];
            let ends_line = back.last().is_none_or(|it| it.ends_with(b"\n"));
            result.extend(back);
            if !ends_line && !is_last {
                return None;
            }
        }
        done = if place.is_back { place.start } else { place.end };
    }
    result.extend(&texts.now[done..]);
    Some(result.concat())
}

/// The position of one of the switch's changes in the present file.
struct Place {
    start: usize,
    end: usize,
    /// Whether another process or person has already put the old lines back.
    is_back: bool,
}

struct Texts<'a> {
    old: Vec<&'a [u8]>,
    new: Vec<&'a [u8]>,
    now: Vec<&'a [u8]>,
    /// For each line of `new`, the index of the same line in `now`; `None` if `now` does not have the line.
    kept: Vec<Option<usize>>,
}

impl Texts<'_> {
    fn place(&self, change: &Change) -> Option<Place> {
        let Range { start, end } = change.new;
        // `after`: where the preceding line ends in the present file. `until`: where the following line starts. The
        // file's beginning and end count as neighbouring lines.
        let after = start.checked_sub(1).map_or(Some(0), |it| self.kept[it].map(|it| it + 1));
        let until = self.kept.get(end).copied().unwrap_or(Some(self.now.len()));
        let found = if start == end {
            // The switch only removed lines, so a neighbouring line shows the position.
            after.or(until).map(|at| at..at)
        } else {
            self.written(start..end, after, until)
        };
        // If `now` contains the removed lines at this position, somebody has put them back.
        let is_back = |at: usize| start == end && self.now[at..].starts_with(&self.old[change.old.clone()]);
        let place = |it: Range<usize>| Place { start: it.start, end: it.end, is_back: is_back(it.start) };
        let is_gone = change.new.clone().all(|it| self.kept[it].is_none());
        found.map(place).or_else(|| self.back(change).filter(|_| is_gone))
    }

    /// Finds the lines that the switch wrote, if they are unchanged.
    fn written(&self, new: Range<usize>, after: Option<usize>, until: Option<usize>) -> Option<Range<usize>> {
        let first = self.kept[new.start]?;
        let end = first + new.len();
        let is_whole = new.clone().zip(first..end).all(|(new, now)| self.kept[new] == Some(now));
        let block = &self.new[new];
        let places = |text: &[&[u8]]| text.windows(block.len()).filter(|it| *it == block).count();
        let (n_new, n_now) = (places(&self.new), places(&self.now));
        // If several lines are equal, a neighbouring line shows which one the switch wrote.
        let is_near = after == Some(first) || until == Some(end);
        (is_whole && n_new == n_now && (n_now == 1 || is_near)).then_some(first..end)
    }

    /// Finds the old lines with their neighbours, if this sequence is in the present file exactly once.
    fn back(&self, change: &Change) -> Option<Place> {
        let before = change.old.start.saturating_sub(1);
        let around = &self.old[before..(change.old.end + 1).min(self.old.len())];
        let mut found = self.now.windows(around.len().max(1)).enumerate().filter(|(_, it)| *it == around);
        let (at, _) = found.next().filter(|_| found.next().is_none())?;
        let start = at + (change.old.start - before);
        Some(Place { start, end: start, is_back: true })
    }
}

/// Returns the changes between the old text and the new one. `kept` has the index of each new line in the old text.
fn changes(kept: &[Option<usize>], n_old: usize) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut next = Change { old: 0..0, new: 0..0 };
    for (new, old) in kept.iter().copied().chain([Some(n_old)]).enumerate() {
        let Some(old) = old else { continue };
        next = Change { old: next.old.start..old, new: next.new.start..new };
        if next.old.len() == next.new.len() {
            // Each line is a separate change, because somebody may have added a line between two of them.
            changes.extend(
                next.old
                    .clone()
                    .zip(next.new.clone())
                    .map(|(old, new)| Change { old: old..old + 1, new: new..new + 1 }),
            );
        } else {
            changes.push(Change { old: next.old.clone(), new: next.new.clone() });
        }
        next = Change { old: old + 1..old + 1, new: new + 1..new + 1 };
    }
    changes
}

/// Returns, for each line of the first text, the index of the same line in the second text, as a diff pairs the lines.
fn pairing(from: &[u8], to: &[u8]) -> Vec<Option<usize>> {
    let n_from = lines(from).len();
    let mut options = DiffOptions::new();
    let patch = options.set_context_len(usize::MAX).create_patch_bytes(from, to);
    let [hunk] = patch.hunks() else { return (0..n_from).map(Some).collect() };
    let mut to_idx = 0;
    let mut pairs = Vec::with_capacity(n_from);
    for line in hunk.lines() {
        match line {
            Line::Context(_) => pairs.push(Some(to_idx)),
            Line::Delete(_) => pairs.push(None),
            Line::Insert(_) => {}
        }
        to_idx += usize::from(!matches!(line, Line::Delete(_)));
    }
    pairs
}

/// Splits a text into lines, with their line ends.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

#[cfg(test)]
mod tests {
    use looptax_testkit::dice::Dice;

    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, now: &str, expected: Option<&str>) {
        let found = take_out(old.as_bytes(), new.as_bytes(), now.as_bytes());
        let found = found.map(|it| String::from_utf8(it).unwrap());
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn lines_of_others_stay() {
        let (old, new) = ("a\nhost=tcp\nb\n", "a\nhost=/s\nb\n");
        check(old, new, new, Some(old));
        check(old, new, "a\nhost=/s\nb\nmine\n", Some("a\nhost=tcp\nb\nmine\n"));
        check(old, new, "mine\na\nhost=/s\nb\n", Some("mine\na\nhost=tcp\nb\n"));
        // A line that the switch removed, and a line that it added, also at the end of the file.
        check("a\nport\n", "a\n", "x\na\n", Some("x\na\nport\n"));
        check("a\n", "a\nsocket\n", "x\na\nsocket\n", Some("x\na\n"));
        check("host\nport", "/s\nport", "/s\nport", Some("host\nport"));
        // Other edits next to the switch's lines, and between two of them.
        check(old, new, "a2\nhost=/s\nb2\n", Some("a2\nhost=tcp\nb2\n"));
        check(old, new, "a\nhost=/s\nmine\nb\n", Some("a\nhost=tcp\nmine\nb\n"));
        check("h\na\np\n", "s\na\n", "s\na2\n", Some("h\na2\np\n"));
        check("p\nb\n", "b\n", "b2\n", Some("p\nb2\n"));
        check("h\r\nb\r\n", "s\r\nb\r\n", "s\r\nb\r\nc", Some("h\r\nb\r\nc"));
    }

    #[test]
    fn what_somebody_put_back_is_left() {
        check("a\nport\nb\n", "a\nb\n", "a\nport\nb\nmine\n", Some("a\nport\nb\nmine\n"));
        let (old, new) = ("a\nhost=tcp\nb\n", "a\nhost=/s\nb\n");
        check(old, new, "a\nhost=tcp\nb\nmine\n", Some("a\nhost=tcp\nb\nmine\n"));
    }

    #[test]
    fn lines_that_are_not_as_they_were_written_are_for_people() {
        let (old, new) = ("a\nhost=tcp\nb\n", "a\nhost=/s\nb\n");
        check(old, new, "a\nhost=/other\nb\n", None);
        check(old, new, "a\nhost=/s\nb\na\nhost=/s\nb\n", None);
        check(old, new, "", None);
        check("host", "/s", "/s more", None);
    }

    /// A line of a file in three states: before the switch, as the switch wrote it, and as another process changed it
    /// since.
    struct Cell {
        old: Option<String>,
        new: Option<String>,
        now: Option<String>,
        added: Option<String>,
    }

    impl Cell {
        fn random(idx: usize, dice: &mut Dice) -> Self {
            let line = |what: &str| Some(format!("{what}{idx}\n"));
            let is_of_switch = dice.below(3) == 0;
            let old = line("line").filter(|_| !is_of_switch || dice.below(4) > 0);
            let new = if is_of_switch { line("switched").filter(|_| dice.below(4) > 0) } else { old.clone() };
            let now = if is_of_switch || dice.below(2) == 0 {
                new.clone()
            } else {
                line("edited").filter(|_| dice.below(3) > 0)
            };
            Self { old, new, now, added: line("added").filter(|_| dice.below(4) == 0) }
        }

        fn is_of_switch(&self) -> bool {
            self.old != self.new
        }
    }

    /// Edits by other processes next to the switch's lines stay, and the old lines are put back. If the switch wrote
    /// more or fewer lines than before, their position may not be certain: their neighbours are gone, or another line
    /// is between them.
    #[test]
    fn every_edit_beside_the_switch_s_lines_stays() {
        let mut dice = Dice::new(49);
        let mut n_told = 0;
        for _ in 0..5_000 {
            let cells: Vec<Cell> = (0..=dice.below(8)).map(|idx| Cell::random(idx, &mut dice)).collect();
            let text = |of: &dyn Fn(&Cell) -> Vec<Option<&String>>| -> String {
                cells.iter().flat_map(of).flatten().map(String::as_str).collect()
            };
            let old = text(&|it| vec![it.old.as_ref()]);
            let new = text(&|it| vec![it.new.as_ref()]);
            let now = text(&|it| vec![it.now.as_ref(), it.added.as_ref()]);
            let expected =
                text(&|it| vec![if it.is_of_switch() { it.old.as_ref() } else { it.now.as_ref() }, it.added.as_ref()]);
            let Some(found) = take_out(old.as_bytes(), new.as_bytes(), now.as_bytes()) else {
                let is_open = |it: &Cell| it.is_of_switch() && (it.new.is_none() || it.old.is_none());
                assert!(cells.iter().any(is_open), "{old}\n{new}\n{now}");
                continue;
            };
            n_told += 1;
            let found = String::from_utf8(found).unwrap();
            let sorted = |text: &str| {
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                lines.sort_unstable();
                lines
            };
            assert_eq!(sorted(&found), sorted(&expected), "{old}\n{new}\n{now}");
            // Only an added line may be in another order: it may be on the other side of a line that was put back.
            let without_added =
                |text: &str| text.lines().filter(|it| !it.starts_with("added")).collect::<Vec<_>>().join("\n");
            assert_eq!(without_added(&found), without_added(&expected), "{old}\n{new}\n{now}");
        }
        assert!(n_told > 4_000, "{n_told}");
    }
}
