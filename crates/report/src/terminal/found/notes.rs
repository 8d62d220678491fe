//! The notes about obstacles; each sentence and each next step is printed only once.

use looptax_model::record::{Note, NoteCode};

use crate::format::Text;

/// Notes are merged into one sentence only if they have at least this many words in common, at the beginning or at the
/// end.
const LEAST_SHARED: usize = 3;

/// Returns the notes. Notes with the same next step are next to each other, and notes with the same sentence become one
/// note with all names.
pub(super) fn told(notes: &[Note], most_names: usize, text: Text) -> Vec<String> {
    let mut by_next: Vec<(Option<&str>, Vec<&Note>)> = Vec::new();
    for note in notes {
        let next = note.next.as_deref();
        match by_next.iter_mut().find(|it| next.is_some() && it.0 == next) {
            Some((_, same)) => same.push(note),
            None => by_next.push((next, vec![note])),
        }
    }
    let first_of = |code| notes.iter().position(|it| it.code == code);
    by_next.sort_by_key(|(_, notes)| first_of(notes[0].code));
    let mut lines = Vec::new();
    let mut before: Option<(NoteCode, String)> = None;
    for (next, notes) in by_next {
        let code = notes[0].code;
        let merged = merged(&notes, most_names);
        let n_lines = merged.len();
        for (idx, line) in merged.into_iter().enumerate() {
            let same = before.as_ref().filter(|it| it.0 == code).map_or(0, |it| n_shared(&it.1, &line));
            let words: Vec<&str> = line.split(' ').collect();
            let mut short = match words.len().checked_sub(same) {
                Some(n_own @ 1..) if same >= LEAST_SHARED => {
                    format!("{}, too", words[..n_own].join(" ").trim_end_matches(':'))
                }
                _ => line.clone(),
            };
            if let Some(next) = next.filter(|_| idx + 1 == n_lines) {
                short.extend([": ", next]);
            }
            lines.push(text.clean(&short));
            before = Some((code, line));
        }
    }
    lines
}

/// Counts the words at the end that two sentences have in common.
fn n_shared(one: &str, other: &str) -> usize {
    let (one, other): (Vec<&str>, Vec<&str>) = (one.split(' ').collect(), other.split(' ').collect());
    n_equal(one.iter().rev(), other.iter().rev())
}

/// For all notes with the same code: returns one line if the notes have a common sentence, otherwise one line for each
/// note.
fn merged(notes: &[&Note], most_names: usize) -> Vec<String> {
    let mut groups: Vec<Vec<&Note>> = Vec::new();
    for note in notes {
        match groups.iter_mut().find(|it| it[0].code == note.code) {
            Some(group) => group.push(note),
            None => groups.push(vec![note]),
        }
    }
    let lines = groups.iter().flat_map(|group| {
        let whats: Vec<&str> = group.iter().map(|it| &*it.what).collect();
        one(&whats, most_names).map_or_else(|| whats.iter().map(|it| (*it).to_owned()).collect(), |it| vec![it])
    });
    lines.collect()
}

/// Returns `memcached 5, memcached 9 can be reached only over TCP`; `None` if the notes have too few words in common.
fn one(whats: &[&str], most_names: usize) -> Option<String> {
    let [first, others @ ..] = whats else { return None };
    let first: Vec<&str> = first.split(' ').collect();
    let (mut before, mut after) = (first.len(), first.len());
    for other in others {
        let other: Vec<&str> = other.split(' ').collect();
        before = before.min(n_equal(first.iter(), other.iter()));
        after = after.min(n_equal(first.iter().rev(), other.iter().rev()));
    }
    // If fewer words than the minimum are common, they do not count. For example, if the notes have the same program
    // name before different numbers, this program name is part of the names.
    let [before, after] = [before, after].map(|it| if it < LEAST_SHARED { 0 } else { it });
    if before.max(after) < LEAST_SHARED {
        return None;
    }
    let mut after = after.min(first.len().saturating_sub(before));
    let middles_of = |after: usize| -> Vec<String> {
        let middles = whats.iter().map(|what| {
            let words: Vec<&str> = what.split(' ').collect();
            let end = words.len().saturating_sub(after).max(before);
            words[before..end].join(" ")
        });
        middles.collect()
    };
    let mut middles = middles_of(after);
    // Words in brackets stay together.
    while after > 0 && middles.iter().any(|it| it.matches('(').count() > it.matches(')').count()) {
        after -= 1;
        middles = middles_of(after);
    }
    if before.max(after) < LEAST_SHARED {
        return None;
    }
    let n_empty = middles.iter().filter(|it| it.is_empty()).count();
    if n_empty == middles.len() {
        return Some(whats[0].to_owned());
    }
    if n_empty > 0 {
        return None;
    }
    let mark = middles[0].chars().next_back().filter(|it| matches!(it, ':' | ',' | ';'));
    let mark = mark.filter(|mark| middles.iter().all(|it| it.ends_with(*mark)));
    let named = middles.iter().take(most_names).map(|it| mark.map_or(&**it, |mark| it.trim_end_matches(mark)));
    let mut named: Vec<String> = named.map(str::to_owned).collect();
    let n_more = middles.len() - named.len();
    if n_more > 0 {
        named.push(format!("{n_more} more"));
    }
    let middle = named.join(", ") + &mark.map_or_else(String::new, String::from);
    let parts = [first[..before].join(" "), middle, first[first.len() - after..].join(" ")];
    Some(parts.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" "))
}

fn n_equal<'a>(one: impl Iterator<Item = &'a &'a str>, other: impl Iterator<Item = &'a &'a str>) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(whats: &[&str], expected: Option<&str>) {
        assert_eq!(one(whats, 9).as_deref(), expected);
    }

    #[test]
    fn notes_that_share_their_sentence_are_one_line() {
        check(
            &["memcached 5 can be reached only over TCP", "redis 9 can be reached only over TCP"],
            Some("memcached 5, redis 9 can be reached only over TCP"),
        );
        check(
            &["no process listens on /a: a server left it", "no process listens on /b: a server left it"],
            Some("no process listens on /a, /b: a server left it"),
        );
        check(
            &[
                "5 a second to redis were closed (1 per second); they also pay",
                "9 a second to mysqld were closed (2 per second); they also pay",
            ],
            Some(
                "5 a second to redis were closed (1 per second), 9 a second to mysqld were closed (2 per second); they \
                 also pay",
            ),
        );
        check(&["one", "two"], None);
        check(&["the same words", "the same words"], Some("the same words"));
        check(&["a b c", "a b c d e f"], None);
        check(&["alone it is as it was"], Some("alone it is as it was"));
    }
}
