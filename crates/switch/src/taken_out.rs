//! What a switch wrote, taken out of a file that somebody else wrote since: their lines stay, the old ones are back.
//!
//! Knows lines of bytes alone. Where the switch's own lines are not there as it wrote them, between the neighbours that
//! they had, it gives nothing: what was meant then is for a person to say.

use std::ops::Range;

/// The lines in which two texts differ, in each of them, without what both begin and end with.
struct Difference {
    old: Range<usize>,
    new: Range<usize>,
}

/// The file as it is now with the old lines in place of the new ones; `None` where that cannot be told.
pub(crate) fn take_out(old: &[u8], new: &[u8], now: &[u8]) -> Option<Vec<u8>> {
    let between = difference(old, new);
    let before = last_line(&new[..between.new.start]);
    let behind = first_line(&new[between.new.end..]);
    let around = |middle: &[u8]| [before, middle, behind].concat();
    let [was, is] = [around(&old[between.old]), around(&new[between.new])];
    match places_of(&is, now)[..] {
        [at] => Some([&now[..at], &was, &now[at + is.len()..]].concat()),
        // Somebody has put the old lines back already.
        [] if places_of(&was, now).len() == 1 => Some(now.to_owned()),
        _ => None,
    }
}

fn difference(old: &[u8], new: &[u8]) -> Difference {
    let head: usize = { lines(old).zip(lines(new)) }.take_while(|(a, b)| a == b).map(|(line, _)| line.len()).sum();
    let tail: usize = { lines(&old[head..]).rev().zip(lines(&new[head..]).rev()) }
        .take_while(|(a, b)| a == b)
        .map(|(line, _)| line.len())
        .sum();
    Difference { old: head..old.len() - tail, new: head..new.len() - tail }
}

/// The lines of a text, with their ends.
fn lines(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

fn last_line(text: &[u8]) -> &[u8] {
    lines(text).next_back().unwrap_or_default()
}

fn first_line(text: &[u8]) -> &[u8] {
    lines(text).next().unwrap_or_default()
}

/// Where whole lines stand in a text.
fn places_of(wanted: &[u8], text: &[u8]) -> Vec<usize> {
    let mut start = 0;
    let mut found = Vec::new();
    for line in lines(text) {
        let rest = &text[start..];
        let ends_line = wanted.ends_with(b"\n") || rest.len() == wanted.len();
        if !wanted.is_empty() && ends_line && rest.starts_with(wanted) {
            found.push(start);
        }
        start += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
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
        // A line that went away, and one that came, at the file's end too.
        check("a\nport\n", "a\n", "x\na\n", Some("x\na\nport\n"));
        check("a\n", "a\nsocket\n", "x\na\nsocket\n", Some("x\na\n"));
        check("host\nport", "/s\nport", "/s\nport", Some("host\nport"));
        check("h\r\nb\r\n", "s\r\nb\r\n", "s\r\nb\r\nc", Some("h\r\nb\r\nc"));
    }

    #[test]
    fn what_somebody_put_back_is_left() {
        let (old, new) = ("a\nhost=tcp\nb\n", "a\nhost=/s\nb\n");
        check(old, new, "a\nhost=tcp\nb\nmine\n", Some("a\nhost=tcp\nb\nmine\n"));
    }

    #[test]
    fn lines_that_are_not_as_they_were_written_are_for_people() {
        let (old, new) = ("a\nhost=tcp\nb\n", "a\nhost=/s\nb\n");
        check(old, new, "a\nhost=/other\nb\n", None);
        check(old, new, "a\nhost=/s\nmine\nb\n", None);
        check(old, new, "a\nhost=/s\nb\na\nhost=/s\nb\n", None);
        check(old, new, "", None);
        check("host", "/s", "/s more", None);
    }
}
