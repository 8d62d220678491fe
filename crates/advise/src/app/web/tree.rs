//! An nginx file as a tree of its directives, each with its place.
//!
//! Takes a text, and returns places. Made from the words that `words` finds; `switch` uses the tree to write copies of
//! nginx files.

use std::ops::Range;

use super::words::{Ends, Piece, pieces};

/// Maximum depth of nested blocks that are read. No real file nests blocks as deeply.
const MOST_DEPTH: usize = 32;

/// A directive of nginx, with the directives in its block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The places of the directive's words, without the quotes around them. The first word is the name.
    pub words: Vec<Range<usize>>,
    /// The place of the whole directive, including the semicolon or the block.
    pub at: Range<usize>,
    /// The directives in the block; `None` if the directive has no block.
    pub block: Option<Vec<Statement>>,
}

impl Statement {
    /// The directive's word at an index; an empty text if the directive has fewer words.
    pub fn word<'a>(&self, text: &'a str, idx: usize) -> &'a str {
        self.words.get(idx).and_then(|it| text.get(it.clone())).unwrap_or_default()
    }

    /// The place after the brace that opens the directive's block.
    pub fn inside(&self, text: &str) -> Option<usize> {
        self.block.as_ref()?;
        let behind = self.words.last().map_or(self.at.start, |it| it.end);
        text.get(behind..)?.find('{').map(|at| behind + at + 1)
    }
}

/// Returns the directives of an nginx file.
///
/// `None` if the braces do not match, or if blocks are nested too deeply.
pub fn statements(text: &str) -> Option<Vec<Statement>> {
    // The open blocks. Each has the words of its directive, and the directives that were read so far inside the block.
    let mut open: Vec<(Vec<Range<usize>>, Vec<Statement>)> = vec![(Vec::new(), Vec::new())];
    for piece in pieces(text, Ends::Semicolon) {
        match piece {
            Piece::Directive(words) => {
                let at = start(text, &words)?..end(text, &words)?;
                open.last_mut()?.1.push(Statement { words, at, block: None });
            }
            Piece::Opened(words) => {
                if open.len() > MOST_DEPTH {
                    return None;
                }
                open.push((words, Vec::new()));
            }
            Piece::Closed(brace) => {
                let (words, block) = open.pop()?;
                let at = start(text, &words)?..brace + 1;
                open.last_mut()?.1.push(Statement { words, at, block: Some(block) });
            }
        }
    }
    let (_, all) = open.pop()?;
    open.is_empty().then_some(all)
}

fn start(text: &str, words: &[Range<usize>]) -> Option<usize> {
    let first = words.first()?.start;
    let is_quoted = text[..first].ends_with(['"', '\'']);
    Some(first - usize::from(is_quoted))
}

/// The byte after the semicolon. If there is no semicolon, as before the end of a block, the byte at which the block
/// ends.
fn end(text: &str, words: &[Range<usize>]) -> Option<usize> {
    let last = words.last()?.end;
    let rest = &text[last..];
    let at = rest.find([';', '}', '{'])?;
    Some(last + at + usize::from(rest[at..].starts_with(';')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directive_has_its_place_and_its_block() {
        let text = "a 'b;c' ;\nd { e ${f}; # g; }\n h { i; } }\n";
        let all = statements(text).unwrap();
        assert_eq!(all.iter().map(|it| &text[it.at.clone()]).collect::<Vec<_>>(), ["a 'b;c' ;", text[10..].trim()]);
        assert_eq!(all[0].word(text, 1), "b;c");
        let inner = all[1].block.as_ref().unwrap();
        assert_eq!((inner[0].word(text, 1), inner[1].word(text, 0)), ("${f}", "h"));
        assert_eq!(&text[all[1].inside(text).unwrap()..][..3], " e ");
        assert_eq!(statements("a { b;"), None);
        assert_eq!(statements("a; }"), None);
    }
}
